"""Norms: of layers and groups, of batches, by given statistics, renorms."""
