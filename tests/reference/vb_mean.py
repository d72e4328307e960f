"""Variational Bayes of one document: which weights a word has is no matter of the document."""

from reference.vb import infer

__all__ = ["infer"]
