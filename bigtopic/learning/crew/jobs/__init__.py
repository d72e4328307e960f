"""Which job a thread does next, and which threads to wake."""
