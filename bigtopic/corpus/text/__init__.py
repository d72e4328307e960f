"""Text into tokens: decoding, tokenising, stop words, collocations."""
