"""Variational Bayes: a document's topics have a Dirichlet distribution."""
