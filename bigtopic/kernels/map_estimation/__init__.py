"""Maximum a posteriori: a document has one best mixture of topics."""
