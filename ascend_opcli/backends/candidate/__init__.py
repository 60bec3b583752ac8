"""A candidate in the operator's place: a Python function, or a program that reads and writes files."""
