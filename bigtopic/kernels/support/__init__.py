"""What kernels share: rows of topics, digamma, random numbers, draws, tokens, labels."""
