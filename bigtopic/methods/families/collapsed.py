"""Collapsed variational inference: responsibilities, with the topics of documents summed out."""

from __future__ import annotations

from functools import partial

from bigtopic.methods.method import Formula, Method
from bigtopic.models.lda import LDA_WITH_VARIANCES, TOPIC_WORD_VARIANCES, TOPIC_WORDS
from bigtopic.schemes.add import Add, DecayAdd
from bigtopic.schemes.interpolate import Interpolate

__all__ = ["METHODS"]

# Every token is counted when its document is first seen.
_NOTHING = {TOPIC_WORDS: ("uniform", 0.0)}
_WHOLE = {TOPIC_WORDS: ("uniform", 1.0)}
_HALVES = {"doc_topic_prior": 0.5, "topic_word_prior": 0.5}
_STORED = "K numbers per distinct word on disk, twice"


def _few_tokens(n_components: int) -> float:
    """In the literature alpha. Summed over topics: one pseudo-token for few topics, five for many."""
    return max(1 / n_components, min(0.1, 5 / n_components))


def _few_words(n_components: int) -> float:
    """In the literature eta. Smaller for more topics, because each then has fewer words; beyond a thousand topics, each
    has few tokens, too, which the prior should not outnumber."""
    root: float = n_components**0.5
    return max(1 / n_components, min(0.35 / root, 350 / (n_components * root)))


_FITTED = {
    "doc_topic_prior": Formula("max(1/K, min(0.1, 5/K))", _few_tokens),
    "topic_word_prior": Formula("max(1/K, min(0.35/sqrt(K), 350/(K*sqrt(K))))", _few_words),
}

_kept = partial(Method, batch_size=20_000, slice_size=10_000, max_iter=100, init=_NOTHING, inference="cvb0")

_online = partial(
    Method, batch_size=500, least_rounds=20, max_iter=5, enough_rounds=300, priors=_FITTED, init=_WHOLE
)

METHODS = (
    _online(
        "online-cvb0",
        "cvb0",
        {TOPIC_WORDS: Interpolate(learning_decay=0.7, learning_offset=1.0, scale="tokens")},
        summary="zero-order collapsed variational inference with topics fixed per minibatch",
        complexity="K I per distinct word; nothing kept of a document",
        use="a tenth of the time of auto or less: searches over settings, large corpora, streams",
        paper="documents of Asuncion et al. 2009, update of Foulds et al. 2013; Than & Doan's Online-CVB0 is scvb0",
    ),
    _online(
        "sparse-cvb0",
        "sparse_cvb0",
        # Steps that stay large shake topics out of poor optima; at the end of a run they fall, and topics settle.
        {
            TOPIC_WORDS: Interpolate(
                learning_decay=0.5, learning_offset=1.0, scale="tokens", end=0.3, stream_decay=0.7
            )
        },
        docs_per_component=0.25,
        inference="cvb0",
        summary="online-cvb0 with larger steps; beyond 128 topics, of those that a document's words propose",
        complexity="as online-cvb0; beyond K = 128, 32 I per distinct word, and K per distinct word of a slice; from "
        "K = 2048, at most 8 (I + 6), up to 8 draws per token, and its topics instead of K",
        use="hundreds of topics, and no time for sampling",
        paper="documents of Asuncion et al. 2009, update of Foulds et al. 2013, candidates of Lücke and Eggert 2010",
    ),
    Method(
        "scvb0",
        "scvb0",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0, scale="tokens")},
        batch_size=5000,
        init=_WHOLE,
        summary="stochastic collapsed variational inference: running estimates, no token excluded",
        complexity="K (burn-in + 1) per distinct word; nothing kept of a document",
        use="to compare with the paper",
        paper="Foulds et al. 2013; settings of Than & Doan, Guaranteed inference in topic models",
        aliases=("foulds:SCVB0", "ope:Online-CVB0"),
    ),
    _kept(
        "cvb0",
        "ilr",
        {TOPIC_WORDS: Add()},
        priors=_FITTED,
        summary="batch zero-order collapsed variational inference, with the priors of online-cvb0",
        complexity=f"K per distinct word and pass; {_STORED}",
        use="short documents and small corpora, where responsibilities fit on the disk",
        paper="Asuncion et al. 2009",
        aliases=("asuncion:CVB0",),
    ),
    _kept(
        "ilr",
        "ilr",
        {TOPIC_WORDS: Add()},
        priors=_HALVES,
        summary="infinite latent state replication: the algorithm of cvb0, with its paper's priors",
        complexity=f"K per distinct word and pass; {_STORED}",
        use="to compare with the paper",
        paper="Rugeles et al., infinite latent state replication; Asuncion et al. 2009",
        aliases=("ilr:ILR",),
    ),
    _kept(
        "cvb",
        "cvb",
        {TOPIC_WORDS: Add(), TOPIC_WORD_VARIANCES: Add()},
        model=LDA_WITH_VARIANCES,
        priors=_HALVES,
        summary="collapsed variational Bayes of second order",
        complexity=f"K exponentials per distinct word and pass; {_STORED}",
        use="to compare with cvb0: what the variances of counts change",
        paper="Teh, Newman, Welling 2007",
        aliases=("teh:CVB",),
    ),
    Method(
        "streaming-ilr",
        "streaming_ilr",
        {TOPIC_WORDS: DecayAdd(0.7)},
        batch_size=3200,
        priors={"doc_topic_prior": 0.1, "topic_word_prior": 0.03},
        init=_NOTHING,
        inference="cvb0",
        summary="sgs without chance: ilr of one minibatch, given the decayed counts of earlier ones",
        complexity="K S per distinct word; K numbers per distinct word of the minibatch",
        use="streams that drift, when results must not depend on draws",
        paper="Asuncion et al. 2009, in the minibatches of Gao, Chen, Zhu 2016",
    ),
)
