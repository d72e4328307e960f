"""Zero-order collapsed variational inference, with the topics fixed during a minibatch."""

from __future__ import annotations

from bigtopic.methods.method import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.interpolate import Interpolate

__all__ = ["METHODS"]


def _few_tokens(n_components: int) -> float:
    """In the literature alpha. Summed over topics: one pseudo-token for few topics, five for many."""
    return max(1 / n_components, min(0.1, 5 / n_components))


def _by_root(n_components: int) -> float:
    """In the literature eta. Smaller for more topics, because each then has fewer words."""
    least: float = 0.35 / n_components**0.5
    return max(1 / n_components, least)


METHODS = (
    Method(
        "online-cvb0",
        "cvb0",
        {TOPIC_WORDS: Interpolate(learning_decay=0.7, learning_offset=1.0, scale="tokens")},
        batch_size=500,
        delay=1,
        least_rounds=20,
        max_iter=5,
        enough_rounds=300,
        priors={"doc_topic_prior": _few_tokens, "topic_word_prior": _by_root},
        init={TOPIC_WORDS: ("uniform", 1.0)},
        summary="zero-order collapsed variational inference with topics fixed per minibatch; the default",
        paper="Foulds et al. 2013; Asuncion et al. 2009",
    ),
)
