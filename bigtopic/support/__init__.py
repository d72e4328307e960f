"""What several layers use: discovery of families, aliases and deprecations, buffers, threads, and random numbers."""
