"""Random outputs: draws, and dropout with its masks."""
