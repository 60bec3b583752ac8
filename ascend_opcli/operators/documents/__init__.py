"""What documents, registrations and sources say of every operator, with or without a reference."""
