"""Gibbs sampling of one document: which weights a word has is no matter of the document."""

from reference.gibbs import infer

__all__ = ["infer"]
