"""Finding and running a reference: golden, host result, blocks, derived data."""
