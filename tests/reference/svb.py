"""The first turn of SVB is variational Bayes of each document."""

from reference.vb import infer

__all__ = ["infer"]
