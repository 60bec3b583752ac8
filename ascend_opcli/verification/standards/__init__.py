"""Acceptance rules: our own, those of other tools, and which one judges."""
