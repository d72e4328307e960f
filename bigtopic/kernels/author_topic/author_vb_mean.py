"""Zero-order collapsed inference for the author-topic model: means in place of exp E[log].

Topics and authors are fixed during a call. The kernel `author_vb` with e_ak = p(topic k | author a) and
W_vk = p(word v | topic k), the posterior means:

    q(author a, topic k | word v)  ~  (n_ak + alpha_k) / (n_a + sum alpha)  (n_vk + eta_v) / (n_k + sum eta)

exp E[log theta] of an author of few tokens is next to nothing but in the topics that happen to lead: while topics are
still alike, variational Bayes so fixes authors to topics by chance. Means leave them open until topics differ. No
token is taken out of the counts, which an update by minibatches does not have of its tokens alone. They are expected
counts, and not parameters of posteriors: no prior is learned from them, see docs/decisions/learned-priors.md.

References: Asuncion, Welling, Smyth, Teh (2009), "On smoothing and inference for topic models" (zero order); Foulds,
Boyles, DuBois, Smyth, Welling (2013), "Stochastic collapsed variational Bayesian inference for LDA" (by minibatches).
"""

from __future__ import annotations

from dataclasses import replace

from bigtopic.kernels.author_topic import author_vb

__all__ = ["KERNEL"]

KERNEL = replace(
    author_vb.KERNEL,
    name="author_vb_mean",
    views={"topic_words": "mean", "author_topics": "mean"},
    options={},
    meanings={},
    bound=False,
    posteriors=(),
    paper="Asuncion et al. 2009; Foulds et al. 2013",
)
