"""The dual topic model: a pair of topics, one of the row and one of the column, for each record."""
