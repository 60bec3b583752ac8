"""Quantisation: by given scales, by scales found in the data, of products and norms."""
