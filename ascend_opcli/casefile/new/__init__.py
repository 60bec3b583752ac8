"""New case files: calls that an operator accepts, the suites made of them, and their text."""
