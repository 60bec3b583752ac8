"""What a run looks like: on a terminal, in a pipe, as JSON."""
