"""What a tensor is made of: dtypes, strided layouts, generated data, files, hashes."""
