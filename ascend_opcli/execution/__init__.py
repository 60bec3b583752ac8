"""From cases to a stream of results."""
