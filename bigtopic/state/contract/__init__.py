"""What methods, models, kernels and schemes may declare, return and do; checked before compiled loops see it."""
