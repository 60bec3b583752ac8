"""What an operator is, what phase 1 accepts, what the documents say, and the mathematics."""
