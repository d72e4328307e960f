"""Mean-field variational Bayes for the topics of a document, against point estimates of the topics' words.

The kernel `vb` with weights W_vk = p(word | topic), for models that do not learn a distribution of each topic: those
of online expectation-maximisation.

Reference: Dupuy and Bach (2017), "Online but accurate inference for latent variable models with local Gibbs sampling".
"""

from __future__ import annotations

from dataclasses import replace

from bigtopic.kernels.variational import vb

__all__ = ["KERNEL"]

KERNEL = replace(
    vb.KERNEL,
    name="vb_mean",
    views={"topic_words": "mean"},
    bound=False,
    posteriors=(),
    paper="Dupuy and Bach 2017",
)
