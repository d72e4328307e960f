"""Stores of the topics of documents: written, read, and searched for documents that are alike."""
