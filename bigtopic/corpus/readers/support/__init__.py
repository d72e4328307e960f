"""What formats share: parsed entries, documents, columns, words."""
