"""Options that several commands share, a group a module, and the decorator that opens the groups."""
