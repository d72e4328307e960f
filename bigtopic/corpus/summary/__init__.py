"""What is said of a corpus: its figures, and what the last ingest took and left out."""
