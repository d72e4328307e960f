"""State of documents: labels, responsibilities, in files that belong to a model."""
