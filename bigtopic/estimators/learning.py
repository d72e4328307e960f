"""Learning of topics from documents: `fit`, `partial_fit` and what they need, for every model of topics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import InputError, SettingError, VocabularyMismatch, argument
from bigtopic.estimators.inputs import as_corpus, kept_vocabulary, require_positive, words_to_remember
from bigtopic.estimators.questions import DocumentQuestions
from bigtopic.estimators.support import checkpoints, fits, preparation, run_record, streams
from bigtopic.estimators.support.initialization import begin_with
from bigtopic.estimators.support.phases import Phase, first_options, phases_after, phases_over
from bigtopic.estimators.support.phases import n_passes as n_passes_of
from bigtopic.evaluation import log_predictive
from bigtopic.learning.events import Callback
from bigtopic.learning.history import note_fitted
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import Ended, Saver, train
from bigtopic.methods import Method, get
from bigtopic.methods.settings import check_learns, learning, named, with_settings
from bigtopic.models.base import Model
from bigtopic.state.axes import axes_of
from bigtopic.state.contract.declarations import check_method
from bigtopic.state.contract.kernels import check_slice_size
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model, note_dense
from bigtopic.support.aliases import answering
from bigtopic.support.numbers import is_whole

__all__ = ["TopicLearning"]


class TopicLearning(DocumentQuestions):
    """Estimators that learn, with the parameters of `LDA`."""

    # Each with a learn_ beside it
    _priors: ClassVar[Sequence[str]] = ("doc_topic_prior", "topic_word_prior")
    _counts: ClassVar[Sequence[str]] = ("n_components",)
    _models: ClassVar = "one component count"  # that it fits

    n_components: int
    method: str | Method | None
    topic_word_prior: float | np.ndarray | None
    learn_topic_word_prior: str | None
    batch_size: int | None
    max_iter: int | None
    max_time: float | None
    tol: float | None
    learning_decay: float | None
    learning_offset: float | None
    average: float | None = None
    replicas: int | None = None
    replica_updates: int | None = None
    asynchronous: bool | None = None
    staleness: int | None = None
    max_words: int | None = None
    half_life: float | str | None = None
    max_doc_update_iter: int | None
    mean_change_tol: float | None
    options: Mapping[str, Any] | None
    total_samples: float | None
    init: Any
    random_state: int | np.random.RandomState | None
    order: str
    slice_size: int | None
    validation: Any
    evaluate_every: int | None
    patience: int | None
    callbacks: Sequence[Callback]
    progress: bool | None
    run_: dict[str, Any] | None = None  # see `run_record`

    @answering
    def fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, checkpoint: Any = None, resume: bool = False
    ) -> Self:
        """Learn topics from a corpus, its path, a matrix (n_docs, n_words), or whatever else `ingest` reads: texts,
        lists of tokens, tables and so on, which are then read into memory.

        Parameters
        ----------
        vocabulary : the words of a matrix' columns or of gensim's (id, count) pairs: a list, a gensim Dictionary, a
            fitted vectoriser; for texts and tokens, the only words to keep
        checkpoint : folder in which to save the run, every ten minutes and at its end; or a `Checkpoint`, which sets
            how often
        resume : continue the run from its last checkpoint in that folder; if there is none, start one. With the same
            corpus and settings, an interrupted and an uninterrupted run have bit-identical results

        Raises
        ------
        SettingError
            When a parameter has a value that is not allowed.
        InputError
            When the corpus has no documents or no words.
        CorpusExists
            When `checkpoint` already holds a run and `resume` is false, or holds something else.
        ModelError
            When `checkpoint` holds a run with another corpus or other settings; names the differences.
        """
        self._check()
        if resume and checkpoint is None:
            raise SettingError(
                f"{argument('resume', True)} needs {argument('checkpoint', ...)}: the folder in which the run was saved"
            )
        seed = self._seed()
        shuffle = self.order != "stored"
        corpus = self._first_documents(X, vocabulary, shuffle, seed)
        run = run_record.begun(self, corpus, seed)
        corpus, held_out = preparation.held_out(self.validation, corpus, seed)
        later = phases_over(self._later_phases(), corpus, self._components(), self.progress)
        run["passes"] = self._passes(corpus) + sum(phase.max_iter for phase in later)
        before = self._model
        try:
            if checkpoint is None:
                self._model, self.run_ = self._begun(corpus, seed), run
                fits.learn(self, [None, *later], corpus, held_out)
            else:
                with checkpoints.folder(checkpoint, self, corpus, held_out, resume) as saved:
                    run["checkpoint"] = saved.run
                    fits.learn_saved(self, later, corpus, held_out, saved, seed, run)
        finally:
            if self._model is not before:  # a run that failed leaves a model too
                self.n_iter_ = n_passes_of(self)
        note_fitted(self._fitted(), self.progress)
        return self

    def _begun(self, corpus: Any, seed: int) -> TopicModel:
        """A model that is ready to learn from this corpus."""
        model = self._new_model(corpus, seed)
        self._begin(model, corpus.n_tokens, corpus.n_docs)
        self.n_docs_seen_, self._labels = corpus.n_docs, None
        return model

    def _begin(self, model: TopicModel, n_tokens: float, n_docs: float) -> None:
        """Begin with the given `init`, if any, for a corpus or a stream of so many tokens and documents."""
        note_dense(model, self.progress)
        if self.init is not None:
            begin_with(model, self.init, n_tokens, n_docs, self.progress)

    def _given(self, model: Model) -> Sequence[str]:
        """The arrays that `init` gives."""
        return [
            n for n, spec in model.arrays.items() if spec.rows == "word" and spec.normalised_over == "axis"
        ]

    def _later_phases(self) -> list[Phase]:
        """The phases of the method after the first."""
        method = get(self.method)
        if not method.then:
            return []
        own = self._method_and_options()[1]
        return phases_after(
            method, self.options, self._learned(), self._given(method.model), self.average, own
        )

    @answering
    def partial_fit(
        self, X: Any, y: Any = None, *, vocabulary: Any = None, time: Any = None, score: bool = False
    ) -> Self:
        """Continue learning: one pass over the documents, in their order. New words are added at the end.

        Texts are tokenised as in the first call, without the words that were too common there. `total_samples` gives
        the size of the stream; without it, the size is the number of documents seen so far (with `half_life`, at most
        the weight of all of them) or, at the start of a stream, enough to outweigh the topic-word prior, at most 4000.

        Topics keep their numbers. Words beyond `max_words` are forgotten after the documents were learned from, the
        lightest first; the row of `history_` says how many, and names the most frequent, as "forgotten".

        Parameters
        ----------
        vocabulary : as in `fit`
        time : when the documents arrived: a datetime, a date, text or number that says one, or the name of a column of
            dates, of which the latest counts, and some may be missing; a `half_life` that is a duration needs it. A
            datetime with a zone counts in UTC, a text with a zone as it is written
        score : whether to score the documents before they are learned from, as `score` does; the row of `history_` has
            it as "score", unless no topic knows their words, as at the first call

        Raises
        ------
        SettingError
            When `time` is missing or is not a date, or `max_words` is to forget words without names.
        InputError
            When `time` is before the time of the last call.
        """
        self._check()
        corpus = self._next_documents(X, vocabulary)
        if self._model is not None:
            return self._go_on(corpus, 1, time=time, score=score)
        half_life, instant = streams.forgets(self, corpus, time)
        model = self._new_model(corpus, self._seed())
        self.n_docs_seen_, self.n_iter_ = corpus.n_docs, 0
        total = streams.size(self, model, corpus, half_life)
        preparation.scale(model, total / corpus.n_docs)
        self._begin(model, corpus.n_tokens * total / corpus.n_docs, total)
        self._model = model
        self._learn(corpus, 1, None, order="stored", total=total, half_life=half_life)
        streams.after_call(self, {}, instant)
        self.n_iter_ += 1
        return self

    @answering
    def update(
        self,
        corpus: Any,
        *,
        first_new: int | None = None,
        only_new: bool = True,
        max_iter: int | None = None,
        time: Any = None,
    ) -> Self:
        """Go on with a corpus to which documents were appended since it was learned from.

        A method with minibatches learns from the new documents, in one pass; a batch method, and one that remembers
        documents, from all. Step sizes go on where they were. A model that is past the first phase of its method goes
        back to it for that, and then through the later phases anew, over all documents of the corpus.

        Parameters
        ----------
        corpus : the earlier documents and the new ones, as `bigtopic.append` leaves them, or its path
        first_new : source row of the first new document; None for the first that `fit` and updates have not seen,
            which the record of the run (`run_`) has for a stored corpus
        only_new : learn from the new documents alone; False for all
        max_iter : passes over these documents, in the first phase of methods that have several; None for 1 over new
            documents, and the estimator's over all
        time : when they arrived, see `partial_fit`

        Raises
        ------
        InputError
            When there are no new documents, although only these are to be learned from.
        ModelError
            When the method remembers documents, and not all of the earlier ones.
        SettingError
            When `max_iter` is below 1, or `first_new` is not given, and the model learned from another corpus.
        """
        self._check()
        if max_iter is not None:
            require_positive("max_iter", max_iter)
        model, corpus = self._fitted(), self._next_documents(corpus, None)
        new = run_record.since(
            corpus, run_record.first_new_row(self.run_, corpus) if first_new is None else first_new
        )
        later = self._phases_anew(corpus)
        state = None if model.cursor.phase else model.document_state  # of the first phase
        needs_all = self._or_method("batch_size") is None or state is not None
        if not new.n_docs and only_new:
            raise InputError(
                f"there are no new documents: the model has learned from all {corpus.n_docs:,} of {corpus.url}"
            )
        if only_new and not needs_all:
            return self._go_on(new, max_iter or 1, time=time, then=(later, corpus))
        n_earlier = corpus.n_docs - new.n_docs + run_record.n_gone(self.run_, corpus)
        if state is not None:
            state.require_counted(corpus.parts, corpus.vocabulary, model.cursor, n_earlier)
        n_passes = max_iter or self._passes(corpus)
        return self._go_on(corpus, n_passes, of_all=n_earlier > 0, time=time, then=(later, corpus))

    def _phases_anew(self, corpus: Corpus) -> list[Phase]:
        """The later phases that an update of all these documents goes through, if the model is past the first."""
        if not self._fitted().cursor.phase:
            return []
        return phases_over(self._later_phases(), corpus, self._components(), self.progress)

    def _go_on(
        self,
        corpus: Corpus,
        n_passes: int,
        of_all: bool = False,
        time: Any = None,
        score: bool = False,
        then: tuple[Sequence[Phase], Corpus | None] = ((), None),
    ) -> Self:
        """Learn from more documents, in the first phase of the method; with `of_all`, from all that the model shall
        have seen, earlier ones included; `then` in these phases, from these documents."""
        model = self._fitted()
        corpus = preparation.as_counted(model, corpus)
        preparation.refuse_empty(corpus)
        half_life, instant = streams.forgets(self, corpus, time, of_all)
        told: dict[str, Any] = {}
        if score:
            with suppress(InputError, VocabularyMismatch):  # all words are new
                told["score"] = log_predictive(self, corpus, **self._workers(False)).value
        preparation.warn_of_left_out(model, corpus)
        model = fits.go_back(self)
        self._extend(corpus, of_all)
        self.n_docs_seen_ = corpus.n_docs if of_all else self.n_docs_seen_ + corpus.n_docs
        preparation.warn_of_small_calls(model.method, self.n_iter_ + 1, self.n_docs_seen_)
        total = streams.size(self, model, corpus, half_life)
        done = self._learn(
            corpus, n_passes, None, order=None if of_all else "stored", total=total, half_life=half_life
        )
        streams.after_call(self, told, instant)
        self.n_iter_ += n_passes
        phases, documents = then
        if phases and done.reason not in fits.CUT:
            before = n_passes_of(self)
            try:
                fits.learn(self, phases, documents, counts=done.counts)
            finally:
                self.n_iter_ += n_passes_of(self) - before
        return self

    def _extend(self, corpus: Corpus, of_all: bool) -> None:
        """End a pass that was cut short, and give the model the new words and authors of the documents."""
        model = self._fitted()
        preparation.end_pass(model)
        axes = axes_of(model.method.model, corpus, **self._workers())
        preparation.grow(model, axes, of_all=of_all)

    def _first_documents(self, X: Any, vocabulary: Any, shuffle: bool, seed: int = 0) -> Corpus:
        vocabulary = kept_vocabulary(vocabulary)
        corpus = as_corpus(
            X, shuffle=shuffle, seed=seed, vocabulary=vocabulary, limited=True, n_threads=self.n_threads
        )
        self._pair_words = words_to_remember(X, corpus, vocabulary)
        return corpus

    def _next_documents(self, X: Any, vocabulary: Any) -> Corpus:
        if self._model is None:
            return self._first_documents(X, vocabulary, shuffle=False)
        vocabulary = kept_vocabulary(vocabulary)
        corpus = self._documents(X, vocabulary, limited=True)
        self._pair_words = words_to_remember(X, corpus, vocabulary) or self._pair_words
        return corpus

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """`fit(X).transform(X)`."""
        if isinstance(X, Iterator):  # it can be read once
            X = self._first_documents(X, None, self.order != "stored", self._seed())
        return self.fit(X).transform(X)

    def _learn(
        self,
        corpus: Any,
        max_iter: int,
        held_out: Any,
        order: str | None = None,
        total: float | None = None,
        saver: Saver | None = None,
        half_life: float | None = None,
        phase: Phase | None = None,
        before: Mapping[str, float] | None = None,
        seconds: float = 0.0,
    ) -> Ended:
        """Learn in one phase.

        Parameters
        ----------
        phase, before, seconds : None, or a later phase, with the counts and the seconds of those before it
        """

        def score(model: TopicModel) -> float:
            return log_predictive(model, held_out, **self._workers(False)).value

        limits = Limits(
            max_iter,
            None if self.max_time is None else max(0.0, self.max_time - seconds),
            self._or_method("tol") if phase is None else phase.setting("tol"),
            None if held_out is None else score,
            self.evaluate_every,
            self.patience,
            tuple(self.callbacks),
            self.progress,
        )
        if phase is None:
            how = {
                "batch_size": self._batch_size(corpus.n_docs if total is None else int(total)),
                "slice_size": self._or_method("slice_size"),
                "replicas": self.replicas if half_life is None else 1,
                "replica_updates": self.replica_updates,
                "asynchronous": self._or_method("asynchronous"),
                "staleness": self.staleness,
            }
        else:
            how = {name: phase.setting(name) for name in ("batch_size", "slice_size")}
        workers = self._workers()
        if phase is not None and phase.here:
            workers["client"] = None
        done = train(
            self._fitted(),
            corpus,
            limits,
            order=order or self.order,
            total_docs=total,
            **workers,
            saver=saver,
            half_life=half_life,
            before=before,
            **how,
        )
        if total is not None:
            record = run_record.continued(self.run_, corpus)
            self.run_ = run_record.ended(record, *done, self.history_)
        return done

    def _new_model(self, corpus: Any, seed: int) -> TopicModel:
        preparation.check_corpus(corpus)
        method, options = self._method_and_options()
        return new_model(
            method,
            self._components(),
            axes_of(method.model, corpus, **self._workers()),
            n_tokens=corpus.n_tokens,
            priors={name: getattr(self, name) for name in self._priors},
            options=options,
            seed=seed,
            text=None if corpus.text_settings is None else dict(corpus.text_settings),
        )

    def _components(self) -> int | Mapping[str, int]:
        """The number of each component count."""
        return self.n_components

    def _fits(self, model: Model) -> bool:
        return len(model.components) == 1

    def _method_and_options(self) -> tuple[Method, dict[str, Any]]:
        given = first_options(get(self.method), self.options)
        method, _ = with_settings(get(self.method), named(self, ("learning_decay", "learning_offset"), given))
        method = learning(method, **self._learned())
        if self.init is not None:
            method = method.begun_with(self._given(method.model))
        if self.average is not None:
            method = replace(method, average=float(self.average))
        method, options = with_settings(method, given)
        options |= check_learns(method, named(self, ("max_doc_update_iter", "mean_change_tol"), given))
        kernel = method.load_kernel()
        if kernel.bound and "bound" in kernel.options and self._or_method("batch_size") is None:
            options.setdefault("bound", True)
        return method, options

    def _learned(self) -> dict[str, str]:
        """{name of a prior: shape} of those that are learned."""
        shapes = {name: getattr(self, f"learn_{name}") for name in self._priors}
        return {name: shape for name, shape in shapes.items() if shape is not None}

    def save(
        self, url: Any, storage_options: Mapping[str, Any] | None = None, *, overwrite: bool = False
    ) -> None:
        """Write the model to a path or URL, as Zarr and JSON.

        Parameters
        ----------
        storage_options : passed to fsspec when `url` is a URL
        overwrite : whether to replace the model that is there, which is done in one write

        Raises
        ------
        CorpusExists
            When a model is there and `overwrite` is false, or something else is.
        """
        checkpoints.save_model(self, url, storage_options, overwrite=overwrite)

    def _save_over(self, url: Any, check: Callable[[], None]) -> None:
        """Replace the model at a path; `check`, called with its lock, raises when that may not be replaced."""
        checkpoints.save_model(self, url, overwrite=True, check=check)

    def _or_method(self, name: str) -> Any:
        value = getattr(self, name)
        return getattr(get(self.method), name) if value is None else value

    def _batch_size(self, n_docs: int) -> int | None:
        return self.batch_size or get(self.method).batch_size_for(n_docs, self._components())

    def _passes(self, corpus: Any) -> int:
        method, n_docs = get(self.method), corpus.n_docs
        return self.max_iter or method.max_iter_for(n_docs, self.batch_size or method.batch_size_for(n_docs))

    def _seed(self) -> int:
        if isinstance(self.random_state, np.random.RandomState):
            return int(self.random_state.randint(1 << 31))
        if self.random_state is None:
            return int(np.random.SeedSequence().entropy % (1 << 62))  # type: ignore[operator]
        if not is_whole(self.random_state):
            raise SettingError(
                f"{argument('random_state', self.random_state)}: must be a whole number, a RandomState, or None"
            )
        return int(self.random_state) % (1 << 62)

    def _check(self) -> None:
        method = get(self.method, self._fits)
        check_method(method)
        if not self._fits(method.model):
            raise SettingError(
                f"method {method.name!r}: model {method.model.name!r} counts {', '.join(method.model.components)}, but "
                f"{type(self).__name__} fits models with {self._models}; see 'Add a model' in the documentation"
            )
        preparation.check_settings(self)
        streams.check(self, method)
        self._later_phases()
        sizes = self._or_method("slice_size"), self._or_method("batch_size")
        check_slice_size(method.load_kernel(), *sizes)
