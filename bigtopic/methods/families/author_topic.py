"""Authors, tags or labels whose topics their documents' tokens have, for `AuthorTopicModel`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from bigtopic.methods.method import Method
from bigtopic.models.author_topic import (
    AUTHOR_DOCUMENTS,
    AUTHOR_TOPIC,
    AUTHOR_TOPIC_ONLINE,
    AUTHOR_TOPIC_PRIOR,
    AUTHOR_TOPIC_WITH_VARIANCES,
    AUTHOR_TOPICS,
    COUNTED,
)
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate, InterpolateRows
from bigtopic.schemes.replace import Keep, Replace
from bigtopic.types import Scheme

__all__ = ["METHODS"]

_GAMMA = {TOPIC_WORDS: ("gamma", None)}
_COST = "K per distinct word, K per author"
_TOL = 1e-5  # from a random start the bound first rests: 1e-4 may stop a run after three passes
_APART = "K I exp per distinct word"
_KEEPS = "nothing kept of a document"
_ONLINE: dict[str, Scheme] = {
    TOPIC_WORDS: Interpolate(learning_decay=0.55, learning_offset=1.0),
    AUTHOR_TOPICS: InterpolateRows(learning_decay=0.55, learning_offset=1.0, documents=AUTHOR_DOCUMENTS),
    AUTHOR_DOCUMENTS: Keep(),
}
# An author is in a dozen updates per pass, not in thousands: its steps are twice as large
_COUNTED_ONLINE: dict[str, Scheme] = {
    **_ONLINE,
    AUTHOR_TOPICS: replace(_ONLINE[AUTHOR_TOPICS], learning_scale=2.0),  # type: ignore[type-var]
}
# One document per update, and one step size for its authors and all topics, which the kernel takes, too
_ALGORITHM_2: dict[str, Scheme] = {
    TOPIC_WORDS: Interpolate(learning_decay=0.5, learning_offset=1.0),
    AUTHOR_TOPICS: InterpolateRows(
        learning_decay=0.5, learning_offset=1.0, documents=AUTHOR_DOCUMENTS, own_steps=False
    ),
    AUTHOR_DOCUMENTS: Keep(),
}

_batch = partial(
    Method,
    model=AUTHOR_TOPIC,
    batch_size=None,
    max_iter=200,
    tol=_TOL,
    init=_GAMMA,
    inference="author_documents",
)
_online = partial(
    Method,
    model=AUTHOR_TOPIC_ONLINE,
    batch_size=500,
    least_rounds=20,
    init=_GAMMA,
    inference="author_documents",
)
_kept = partial(
    Method,
    model=AUTHOR_TOPIC,
    batch_size=20_000,
    slice_size=10_000,
    max_iter=100,
    priors={AUTHOR_TOPIC_PRIOR: 0.1, "topic_word_prior": 0.03},
    init={TOPIC_WORDS: None, AUTHOR_TOPICS: None},
    inference="author_documents",
)

METHODS = (
    _online(
        "online-author-cvb0",
        "author_vb_mean",
        _COUNTED_ONLINE,
        max_iter=20,
        priors={AUTHOR_TOPIC_PRIOR: 0.1, "topic_word_prior": 0.03},
        init={TOPIC_WORDS: ("uniform", 1.0)},
        summary="zero-order collapsed variational inference by minibatches, with a step size for each author",
        complexity=f"{_COST}; {_KEEPS}",
        use="first choice for most corpora with authors",
        paper="Asuncion et al. 2009 and Foulds et al. 2013, for authors",
    ),
    _batch(
        "author-vb",
        "author_vb",
        {TOPIC_WORDS: Replace(), AUTHOR_TOPICS: Replace()},
        summary="batch variational Bayes, author and topic of a token together; the bound never decreases",
        complexity=f"{_COST}, per pass; {_KEEPS}",
        use="corpora of which many passes are affordable, and when the bound is wanted",
        paper="Mortensen 2017",
        aliases=("mortensen:blocking-VB",),
    ),
    _online(
        "online-author-vb",
        "author_vb",
        _ONLINE,
        max_iter=50,
        enough_rounds=1000,
        summary="author-vb by minibatches, with a step size for each author",
        complexity=f"{_COST}; {_KEEPS}",
        use="when a variational bound is wanted and batches are too slow",
        paper="Mortensen 2017, section 3.2",
    ),
    _online(
        "online-author-vb-local",
        "author_vb_local",
        _ONLINE,
        max_iter=20,
        enough_rounds=400,
        summary="the same, and each document first moves its authors",
        complexity="K I per distinct word, K I exp per author; nothing kept of a document",
        use="documents by several authors of whom much is known",
        paper="Mortensen 2017, after algorithm 2",
    ),
    Method(
        "sequential-author-vb",
        "author_vb_local",
        _ALGORITHM_2,
        AUTHOR_TOPIC_ONLINE,
        batch_size=1,
        max_iter=10,
        init=_GAMMA,
        options={"local_decay": 0.5, "local_offset": 1.0},
        inference="author_documents",
        summary="document by document: its authors move until they rest, at the step size of the topics",
        complexity="K I per distinct word, K I exp per author; an update of all topics; nothing kept of a document",
        use="to compare with the thesis",
        paper="Mortensen 2017, algorithm 2; decay and offset of gensim",
        aliases=("mortensen:algorithm-2",),
    ),
    _batch(
        "author-mean-field",
        "author_mean_field",
        {TOPIC_WORDS: Replace(), AUTHOR_TOPICS: Replace()},
        summary="batch variational Bayes, author and topic of a token apart",
        complexity=f"{_APART}, per pass; {_KEEPS}",
        use="to compare with author-vb, which has the tighter bound and is faster",
        paper="Mortensen 2017, appendix A",
        aliases=("mortensen:standard-VB",),
    ),
    _online(
        "online-author-mean-field",
        "author_mean_field",
        _ONLINE,
        max_iter=50,
        enough_rounds=1000,
        summary="the same by minibatches",
        complexity=f"{_APART}; {_KEEPS}",
        use="to compare with online-author-vb",
        paper="Mortensen 2017, appendix A",
    ),
    _kept(
        "author-cgs",
        "author_cgs",
        {TOPIC_WORDS: Add(), AUTHOR_TOPICS: Add()},
        max_iter=500,
        summary="collapsed Gibbs sampling: an author and a topic for each token, drawn together",
        complexity="K (authors + 1) per token and pass; 4 bytes per token on disk, twice",
        use="small corpora, given time; to compare with variational methods",
        paper="Rosen-Zvi, Griffiths, Steyvers, Smyth 2004",
        aliases=("rosen-zvi:Gibbs",),
    ),
    _kept(
        "author-cvb0",
        "author_cvb0",
        {TOPIC_WORDS: Add(), AUTHOR_TOPICS: Add()},
        summary="batch zero-order collapsed variational inference of authors and topics",
        complexity="K per distinct word, author and pass; K M numbers per distinct word on disk, twice; M most authors",
        use="small corpora, where responsibilities fit on the disk",
        paper="Asuncion et al. 2009, for authors",
    ),
    _kept(
        "author-cvb",
        "author_cvb",
        dict.fromkeys(COUNTED, Add()),
        model=AUTHOR_TOPIC_WITH_VARIANCES,
        priors={AUTHOR_TOPIC_PRIOR: 0.5, "topic_word_prior": 0.1},
        summary="batch collapsed variational Bayes of second order of authors and topics",
        complexity="K exponentials per distinct word, author and pass; on disk as author-cvb0",
        use="to compare with author-cvb0: what the variances of counts change",
        paper="Mortensen 2017, appendix B",
        aliases=("mortensen:CVB",),
    ),
)
