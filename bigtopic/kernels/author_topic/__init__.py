"""Author-topic models: a token has the topics of one of its document's authors."""
