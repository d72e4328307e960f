"""The global arrays of each model, and their axes."""

from bigtopic.support import deprecations

deprecations.moved(__name__, lda=["lda_samples"])
