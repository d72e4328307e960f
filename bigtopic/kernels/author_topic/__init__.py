"""Author-topic models: the topics of a token are those of one of its document's authors."""
