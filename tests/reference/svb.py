"""The first inner iteration of SVB is variational Bayes of each document."""

from reference.vb import infer

__all__ = ["infer"]
