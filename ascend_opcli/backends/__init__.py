"""What executes a call. Each backend turns a Call into an Outcome."""
