"""Phase 1: rules with their statuses, the terms in which they are written, and how a call breaks them."""
