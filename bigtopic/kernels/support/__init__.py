"""What kernels share: rows of topics, digamma, random numbers, draws, tokens, labels."""

from bigtopic.support import deprecations

deprecations.moved(__name__, rows=["stored"])
