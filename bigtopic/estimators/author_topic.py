"""The author-topic model: its parameters, and new documents and authors for a fitted one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import InputError, SettingError, argument, either
from bigtopic.estimators.authors import AuthorQueries
from bigtopic.estimators.inputs import require_positive
from bigtopic.estimators.learning import TopicLearning
from bigtopic.estimators.reading import FittedArray
from bigtopic.estimators.support import preparation
from bigtopic.inference.authors import learn_authors
from bigtopic.kernels.support.entry import whole_number
from bigtopic.learning.events import Callback
from bigtopic.methods import Method
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.models.base import Model
from bigtopic.plan.counting import counted_authors
from bigtopic.state.model import TopicModel
from bigtopic.state.views import mean_rows
from bigtopic.types import Block

__all__ = ["AuthorTopicModel"]


class AuthorTopicModel(TopicLearning, AuthorQueries):
    """Topics of authors, tags or other labels: each document has some, and the topics of its tokens are theirs.

    Parameters
    ----------
    n_components : number of topics; in the literature K
    method : name of a method of the family "author topic" of `bigtopic.methods()`, or a `bigtopic.Method`
    author_topic_prior : number or (n_components,); None for the method's default, which differs between methods, see
        `bigtopic.methods()`. In the literature alpha
    topic_word_prior : number, (n_words,), or (n_components, n_words); None for the method's default, likewise. In the
        literature eta. `bigtopic.seed_prior` builds one from seed words
    learn_author_topic_prior, learn_topic_word_prior : learn that prior, beginning with the one given: "symmetric" for
        one number, "asymmetric" for one per topic or word; None keeps it. Some methods cannot, see 'Learned priors' in
        the documentation
    batch_size : largest number of documents per update; a pass is divided evenly. None for the method's default
    max_iter : passes over the corpus; None for the method's default
    max_time : time limit in seconds; it truncates the run after the update in which they pass, and changes nothing
        before that. Compiling on first use counts; what a resumed run took before does not
    tol : stop when a pass changes less than this: relative growth of the bound, or, without one, mean total variation
        distance of the topics; None for the method's default, 0 never
    learning_decay : of the step size (offset + t) ** -decay of update t of online methods; with decays up to 0.5 they
        need not converge; None for the method's default. In the literature kappa
    learning_offset : of that step size; a larger one makes the first steps smaller; None for the method's default. In
        the literature tau
    average : the topics of the fitted model are the mean over this share of the run's updates, at its end: 0.5 for the
        last half, True for all; None for the method's default, 0 for the latest topics. See 'Averaged topics' in the
        documentation
    replicas : copies of the topics that learn side by side, each from its own minibatches, so that a whole cluster
        learns from short minibatches; None for 1. It changes the result, which is the same on any number of workers.
        See 'Replicas' in the documentation
    replica_updates : updates of each replica before their changes are added; None for 8. It changes the result, too
    asynchronous : minibatches move the topics whenever they are done, so nothing waits for a slow worker, and the
        result depends on who is faster; None for the method's default, which only dsgs turns on. See 'Asynchronous
        learning' in the documentation
    staleness : updates that a minibatch may miss then, at most; None for no bound
    max_doc_update_iter : largest number of local iterations per document, of methods that learn with such; None for the
        method's default
    mean_change_tol : mean change below which they stop earlier, likewise
    options : further settings of the method, {name: value}, see `bigtopic.methods(name)`: of its kernels, and of its
        schemes, in all that have it ("decay") or in one ("topic_words.decay")
    total_samples : number of documents in the stream that `partial_fit` sees in pieces; for None see `partial_fit`
    init : start from the topics of another model (an estimator, the path of a model, a scikit-learn or gensim model,
        or an array (n_components, n_words)), matched by word, or by column where it has no words, as an array; None
        starts from random topics. Methods that count labels or responsibilities draw the first ones from it, and count
        documents alone; those that add to a random start (streaming-vb, svb, ...) keep its weight, `components_`; the
        others rescale it to the corpus, and say so
    random_state : the same seed gives bit-identical topics on any number of workers; None draws a seed, as does a
        `numpy.random.RandomState`
    order : "shuffled", or "stored" to follow the order of the store
    slice_size : documents per kernel call; None for the method's default
    validation : held-out documents (a corpus or matrix), or a share of the corpus, to score while learning
    evaluate_every : updates between scores; None for one score per pass
    patience : stop after this many scores without an improvement; None disables early stopping
    callbacks : functions that are called with each event (`bigtopic.learning.events.Event`)
    progress : show a progress bar; None shows it in terminals and notebooks. False also silences the line that says how
        much disk a method needs that remembers documents
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; None for all processors. Does not change the result

    Attributes
    ----------
    authors_ : `Vocabulary`, the authors with their documents and tokens in the training corpus
    author_topic_prior_, topic_word_prior_ : as used, or learned
    components_, vocabulary_, history_, n_iter_, n_batch_iter_, n_features_in_, random_state_, run_ : see `LDA`

    Raises
    ------
    InputError
        In `fit`, when the documents, or some of them, have no authors.

    References
    ----------
    Rosen-Zvi, Griffiths, Steyvers, Smyth (2004), "The author-topic model for authors and documents"; Mortensen (2017),
    "The author-topic model", for variational inference.

    Examples
    --------
    >>> import bigtopic as bt
    >>> cats, rain = {"text": "cat pet dog", "authors": ["Ann"]}, {"text": "rain sun wind", "authors": ["Bob"]}
    >>> corpus = bt.ingest([cats, rain] * 10, "memory://example.zarr", overwrite=True)
    >>> model = AuthorTopicModel(2, max_iter=20, progress=False).fit(corpus)
    >>> ann, bob = model.author_topics(["Ann", "Bob"]).argmax(axis=1)
    >>> bool(ann != bob)
    True
    """

    _priors: ClassVar = ("author_topic_prior", "topic_word_prior")
    _models: ClassVar = "topics of authors, as in method 'author-vb'"
    author_topic_prior: float | np.ndarray | None
    learn_author_topic_prior: str | None

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: str | Method = "online-author-cvb0",
        author_topic_prior: float | np.ndarray | None = None,
        topic_word_prior: float | np.ndarray | None = None,
        learn_author_topic_prior: str | None = None,
        learn_topic_word_prior: str | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        tol: float | None = None,
        learning_decay: float | None = None,
        learning_offset: float | None = None,
        average: float | None = None,
        replicas: int | None = None,
        replica_updates: int | None = None,
        asynchronous: bool | None = None,
        staleness: int | None = None,
        max_doc_update_iter: int | None = None,
        mean_change_tol: float | None = None,
        options: Mapping[str, Any] | None = None,
        total_samples: float | None = None,
        init: Any = None,
        random_state: int | np.random.RandomState | None = 0,
        order: str = "shuffled",
        slice_size: int | None = None,
        validation: Any = None,
        evaluate_every: int | None = None,
        patience: int | None = None,
        callbacks: Sequence[Callback] = (),
        progress: bool | None = None,
        client: Any = None,
        n_threads: int | None = None,
    ) -> None:
        self._keep(locals())

    def _new_model(self, corpus: Any, seed: int) -> TopicModel:
        self._check_signed(corpus)
        return super()._new_model(corpus, seed)

    def partial_fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, time: Any = None, score: bool = False
    ) -> Self:
        """Continue learning as `LDA.partial_fit` does, from documents that have authors, of whom some may be new."""
        corpus = self._next_documents(X, vocabulary)
        self._check_signed(corpus)
        return super().partial_fit(corpus, time=time, score=score)

    def _check_signed(self, corpus: Corpus) -> None:
        """Refuse documents without authors, or with more than there is room for, before anything is learned. One pass
        that reads."""
        from bigtopic.kernels.support.authors import unsigned

        method, given = self._method_and_options()
        options = {**method.load_kernel().options, **given}
        room = whole_number(options, "most_authors", 1) if "most_authors" in options else None
        if corpus.author_vocabulary is not None:  # otherwise the axes of the model are refused
            found = self._over(corpus, partial(_check_authors, room=room))
            if rows := [row for row in found if row is not None]:
                raise unsigned(min(rows))

    def update(  # type: ignore[override]  # without time, as authors are not forgotten
        self,
        corpus: Any,
        *,
        first_new: int | None = None,
        only_new: bool = False,
        max_iter: int | None = None,
    ) -> Self:
        """Go on with a corpus to which documents were appended, perhaps of new authors and with new words.

        So that authors do not forget their earlier documents, a method with minibatches learns from all documents, old
        and new, of every author of the new ones; a batch method, and one that remembers documents, from all. Step
        sizes go on where they were.

        Parameters
        ----------
        corpus : the earlier documents and the new ones, as `bigtopic.append` leaves them
        first_new : source row of the first new document, such as `corpus.n_docs` before the append; None for the number
            of documents seen so far, where these are the first ones of the corpus
        only_new : learn from the new documents alone; other authors stay as they are. For methods with minibatches that
            remember no documents
        max_iter : passes over these documents; None for the estimator's

        Raises
        ------
        InputError
            When there are no new documents, one of them has no author, or those before are not what was learned from.
        ModelError
            When the method remembers documents, and not all of the earlier ones.
        SettingError
            When `max_iter` is below 1, or the method needs all documents and `only_new` is set.
        """
        self._check()
        if max_iter is not None:
            require_positive("max_iter", max_iter)
        model = self._fitted()
        needs_all = self._or_method("batch_size") is None or model.document_state is not None
        if only_new and needs_all:
            raise SettingError(
                f"only_new=True: method {model.method.name!r} always learns from all documents; leave only_new out, or "
                f"fit with {argument('method', 'online-author-cvb0')}, which learns from the new ones alone"
            )
        corpus = self._documents(corpus)
        first = self.n_docs_seen_ if first_new is None else first_new
        rows = corpus.rows()
        new = corpus.select(rows=rows[rows >= first])
        if not new.n_docs:
            raise InputError(
                f"there are no documents from row {first} on; append them to the corpus"
                f"{either(', or give first_new=', '')}"
            )
        self._check_signed(new)
        self._check_earlier(corpus.select(rows=rows[rows < first]), first, exactly=first_new is None)
        if model.document_state is not None:
            n_earlier = corpus.n_docs - new.n_docs
            model.document_state.require_counted(corpus.parts, corpus.vocabulary, model.cursor, n_earlier)
        self._extend(corpus, of_all=True)
        chosen = new if only_new else corpus
        if not (only_new or needs_all):
            chosen = corpus.select(rows=_rows_of_authors(corpus, new))
        n_passes = max_iter or self._passes(chosen)
        self._learn(chosen, n_passes, None, total=corpus.n_docs)
        self.n_docs_seen_ = corpus.n_docs
        self.n_iter_ += n_passes
        return self

    def _check_earlier(self, earlier: Corpus, first: int, exactly: bool) -> None:
        """Refuse documents that are not those learned from, as far as the numbers of each author's documents tell."""
        known = self._fitted().axes["author"]
        if known.frequency is None:
            return
        if not earlier.n_docs:
            raise InputError(
                f"all documents are from row {first} on, and the ones that the model has learned from are missing: "
                "give the corpus of fit with documents appended; partial_fit learns from new documents alone"
            )
        found = counted_authors(earlier, **self._workers())
        assert found.words is not None
        names = known.extended(found.words[found.mapping_to(known) < 0].tolist())
        seen, there = np.zeros((2, len(names)), np.int64)  # documents of each author
        for n_docs, one in ((seen, known), (there, found)):
            n_docs[one.mapping_to(names)] = one.counted[0]
        wrong = there != seen if exactly else (there == 0) & (seen > 0)
        if wrong.any():
            assert names.words is not None
            worst = int(np.argmax(wrong))
            raise InputError(
                f"the model has learned from other documents than the ones before row {first}: {there[worst]} of them "
                f"are by {names.words[worst]!r}, and it has seen {seen[worst]}; give the corpus of fit with documents "
                "appended"
                f"{either(', and first_new=, the source row of the first new one, if fit had a part of it', '')}"
            )

    def transform_authors(self, X: Any, *, max_iter: int = 100, tol: float = 1e-3) -> FittedArray:
        """Topics of the authors of these documents: of those that the model knows, then of new ones.

        The topics of new authors are inferred with all that the model knows held fixed. Their documents may have known
        authors, too.

        Parameters
        ----------
        X : corpus with authors, or its path
        max_iter : passes over the documents at most
        tol : stop when a pass moves the new authors by less than this, in tokens (mean over authors and topics)

        Returns
        -------
        FittedArray
            values (n_authors, n_components), rows sum to 1; names (n_authors,)

        Raises
        ------
        InputError
            When there are no documents, or one of them has no author.
        SettingError
            When `max_iter` is below 1.
        """
        require_positive("max_iter", max_iter)
        corpus = self._known_corpus(X)
        preparation.check_corpus(corpus)
        self._check_signed(corpus)
        found = learn_authors(self._fitted(), corpus, max_iter, tol, **self._workers())
        topics = mean_rows(found.params[AUTHOR_TOPICS], None)[:, : found.n_components]
        return FittedArray(topics, found.axes["author"].words)

    def _fits(self, model: Model) -> bool:
        return AUTHOR_TOPICS in model.arrays and super()._fits(model)


def _check_authors(docs: Block, room: int | None) -> int | None:
    """The first row of the source without authors; documents with more than there is room for are refused."""
    from bigtopic.kernels.support.authors import authors_within, first_unsigned

    row = first_unsigned(docs)
    if row is None and room is not None:
        authors_within(docs, room)
    return row


def _rows_of_authors(corpus: Corpus, named: Corpus) -> np.ndarray:
    """Source rows of all documents of the authors that are named in others."""
    wanted = np.zeros(corpus.n_authors, bool)
    for block in named.blocks():
        wanted[block.authors] = True
    rows = [np.zeros(0, np.int64)]
    for block in corpus.blocks():
        if block.author_indptr is not None and block.authors is not None:
            n_wanted = np.concatenate([[0], np.cumsum(wanted[block.authors])])[block.author_indptr]
            rows.append(block.rows[np.diff(n_wanted) > 0])
    return np.concatenate(rows)
