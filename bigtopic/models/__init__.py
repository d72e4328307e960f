"""The global arrays of each model, and their axes."""
