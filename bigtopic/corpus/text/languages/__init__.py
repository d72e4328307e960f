"""Stop words: one file per language, with its function words by class. Its name is the value of `stop_words`."""
