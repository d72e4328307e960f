"""What is given beside a source: ids, authors and columns of its documents, as values or in files of their own."""
