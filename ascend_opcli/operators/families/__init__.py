"""The mathematics: one module a family. A module lists its operators in OPERATORS."""
