"""What the kernels of the author-topic model share."""
