"""Gibbs sampling of the topics of a document's tokens, against topics that are uncertain.

The kernel `gibbs` with weights W_wk = exp(E log p(word | topic)) under the topics' Dirichlet distributions, which is
what makes a draw of all labels the best factor of a variational distribution given the topics' factor: stochastic
variational inference with sampled local statistics (sparse stochastic inference, online CGS).

Reference: Mimno, Hoffman, Blei (2012), "Sparse stochastic inference for latent Dirichlet allocation", section 3.
"""

from __future__ import annotations

from dataclasses import replace

from bigtopic.kernels.sampling import gibbs

__all__ = ["KERNEL"]

KERNEL = replace(
    gibbs.KERNEL,
    name="gibbs_expected_log",
    views={"topic_words": "expected_log"},
    posteriors=("topic_words",),
    paper="Mimno, Hoffman, Blei 2012",
)
