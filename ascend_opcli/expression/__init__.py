"""The language of one-line references: what may be called, its shapes, what it costs."""
