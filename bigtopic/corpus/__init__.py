"""Corpora: sources are read once into a chunked sparse store; everything after that reads blocks of documents."""
