"""Losses and their gradients: by element, of classes, with margins."""
