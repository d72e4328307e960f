"""What is decided once for every table: which row is the header, and which column is what."""
