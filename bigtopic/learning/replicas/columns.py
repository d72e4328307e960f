"""Columns of the table of a replica's updates: where the documents of each are, with ids of the replica's rows."""

__all__ = ["COUNTS", "IDS", "INDPTR", "NOT_AT_ONCE", "N_COLUMNS", "N_DOCS", "N_ENTRIES", "N_IDS", "WORDS"]

# Addresses of arrays, and their lengths
INDPTR, WORDS, COUNTS, IDS, N_DOCS, N_ENTRIES, N_IDS, N_COLUMNS = range(8)

NOT_AT_ONCE = -1  # in place of the number of documents
