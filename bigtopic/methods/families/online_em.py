"""Online expectation-maximisation: topics are point estimates that follow means over documents."""

from __future__ import annotations

from dataclasses import replace

from bigtopic.methods.method import Formula, Method, Prior
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.gamma_prior import GammaPrior
from bigtopic.schemes.interpolate import Interpolate, InterpolateRaw

__all__ = ["METHODS"]

_PAPER = "Dupuy and Bach 2017"
_EVEN = {TOPIC_WORDS: ("even", 1.0)}  # labels tell topics apart


def _two_tokens(n_components: int) -> float:
    """In the literature alpha, as the authors' code begins."""
    return 2 / n_components


_TWO_TOKENS = Formula("2/K", _two_tokens)
_POINTS: dict[str, Prior] = {"doc_topic_prior": _TWO_TOKENS, "topic_word_prior": 0.0}

_V_OEM = Method(
    "v-oem",
    "v_oem",
    {TOPIC_WORDS: InterpolateRaw(learning_decay=0.5, learning_offset=1.0)},
    batch_size=100,
    priors=_POINTS,
    init={TOPIC_WORDS: None},
    options={"mean_change_tol": 1e-4},
    inference="vb_mean",
    summary="online EM with variational inference of documents",
    complexity="2 K I per distinct word, K I exp psi; nothing kept of a document",
    use="to compare with online-vb: topics without a prior; with learn_doc_topic_prior as in the paper",
    paper=_PAPER,
    aliases=("g-oem:V-OEM",),
)

METHODS = (
    _V_OEM,
    replace(
        _V_OEM,
        name="v-oem++",
        inner=20,
        options={**_V_OEM.options, "n_iter": 1},
        summary="v-oem that refreshes the topics after every iteration of the documents (boosting)",
        complexity="2 K I per distinct word, K I exp psi; K numbers per document of the minibatch",
        use="small corpora: an update says more, for 20 iterations that wait for each other",
        aliases=("g-oem:V-OEM++",),
    ),
    Method(
        "splda",
        "v_oem_expected_log",
        {TOPIC_WORDS: Interpolate(learning_decay=1.0, learning_offset=100.0)},
        batch_size=1,
        inner=20,
        priors={"doc_topic_prior": _TWO_TOKENS},
        init={TOPIC_WORDS: ("gamma", None)},
        options={"n_iter": 1, "mean_change_tol": 1e-4},
        inference="vb",
        prior_learner=GammaPrior,
        summary="single-pass LDA: one document per update, which refreshes the topics after every iteration",
        complexity="2 K I per distinct word, K I exp psi; K numbers of one document",
        use="to compare with the paper, with learn_doc_topic_prior, learning_decay=0.5 and learning_offset=1 as there; "
        "updates are too short to be shared among threads",
        paper="Sato, Kurihara, Nakagawa 2010; settings of Dupuy and Bach 2017, with steps that average",
        aliases=("g-oem:SPLDA",),
    ),
    Method(
        "g-oem",
        "gibbs",
        {TOPIC_WORDS: Interpolate(learning_decay=0.5, learning_offset=1.0)},
        batch_size=100,
        priors=_POINTS,
        init=_EVEN,
        options={"start": "words", "statistic": "conditionals", "burn_in": 15, "samples": 5},
        summary="online EM with Gibbs sampling of documents, its statistics free of the noise of labels",
        complexity="K S per token; nothing kept of a document",
        use="many topics; with learn_doc_topic_prior as in the paper",
        paper=_PAPER,
        aliases=("g-oem:G-OEM",),
    ),
    Method(
        "g-oem++",
        "gibbs_boosted",
        {TOPIC_WORDS: Interpolate(learning_decay=0.5, learning_offset=1.0)},
        batch_size=100,
        inner=20,
        priors=_POINTS,
        init=_EVEN,
        options={"start": "words", "burn_in": 15, "samples": 5},
        inference="gibbs",
        summary="g-oem that refreshes the topics after every kept sweep (boosting)",
        complexity="K S per token; K numbers per distinct word of the minibatch",
        use="small corpora: an update says more, for 20 iterations that wait for each other",
        paper=_PAPER,
        aliases=("g-oem:G-OEM++",),
    ),
)
