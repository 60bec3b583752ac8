"""Text on disk -> :class:`~ascend_opcli.model.Case`: the YAML loader, matrix expansion, the inline form."""
