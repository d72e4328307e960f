"""What the files of a model may contain."""
