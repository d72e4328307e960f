"""Latent Dirichlet allocation: translates the user's parameter names and decides nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.estimators import checkpoints, saving, starts, streams
from bigtopic.estimators.inference import TopicInference
from bigtopic.estimators.inputs import as_corpus
from bigtopic.learning.events import Callback
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import Saver, train
from bigtopic.methods import Method, get
from bigtopic.methods.learned_priors import learning
from bigtopic.state.axes import axes_of
from bigtopic.state.checkpoint import CheckpointFolder
from bigtopic.state.contract.declarations import check_method
from bigtopic.state.contract.kernel_declarations import check_slice_size
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model

__all__ = ["LDA"]


class LDA(TopicInference):
    """Topics of a corpus, learnt by any of the methods in `bigtopic.methods()`.

    Parameters
    ----------
    n_components : number of topics; in the literature K
    method : name of a method, or a `bigtopic.Method`; None for the default, which suits most corpora
    doc_topic_prior : number or (n_components,); None for the method's default, usually 1 / n_components. In the
        literature alpha
    topic_word_prior : number, (n_words,), or (n_components, n_words); None for the method's default. In the literature
        eta. `bigtopic.seed_prior` builds one from seed words
    learn_doc_topic_prior, learn_topic_word_prior : learn that prior, beginning with the one given: "symmetric" for one
        number, "asymmetric" for one per topic or word; None keeps it. Some methods cannot, see 'Learned priors' in
        the documentation
    batch_size : largest number of documents per update; a pass is divided evenly. None for the method's default
    max_iter : passes over the corpus; None for the method's default
    max_time : time limit in seconds; it truncates the run and changes nothing before that
    tol : stop when a pass changes less than this: relative growth of the bound, or, without one, mean total variation
        distance of the topics; None for the method's default, 0 never
    learning_decay, learning_offset : step size (offset + t) ** -decay of online methods; decays up to 0.5 need not
        converge; None for the method's default. In the literature kappa and tau
    max_doc_update_iter, mean_change_tol : largest number of local iterations per document, and the mean change below
        which they stop earlier; None for the method's default
    options : further settings of the kernel, by name
    total_samples : number of documents in the stream that `partial_fit` sees in pieces; for None see `partial_fit`
    init : start from the topics of another model (an estimator, the path of a model, a scikit-learn or gensim model,
        or an array (n_components, n_words)), matched by word; None starts from random topics
    random_state : the same seed gives bit-identical topics on any number of workers; None draws a seed
    order : "shuffled", or "stored" to follow the order of the store
    slice_size : documents per kernel call; None for the method's default
    validation : held-out documents (a corpus or matrix), or a share of the corpus, to score while learning
    evaluate_every : updates between scores; None for one score per pass
    patience : stop after this many scores without an improvement; None disables early stopping
    callbacks : functions that are called with each event (`bigtopic.learning.events.Event`)
    progress : show a progress bar; None shows it in terminals and notebooks
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; None for all processors. Does not change the result

    Attributes
    ----------
    components_ : (n_components, n_words), topic weights, not normalised; `get_topics()` returns probabilities
    exp_dirichlet_component_ : (n_components, n_words), exp of the expected log probabilities
    vocabulary_ : `Vocabulary`, the words of the columns
    history_ : list of dict, one per pass and per score
    doc_topic_prior_, topic_word_prior_ : as used, or learned
    n_iter_, n_batch_iter_ : passes and updates done
    n_features_in_ : n_words
    random_state_ : the seed used

    Examples
    --------
    >>> import numpy as np
    >>> counts = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))
    >>> model = LDA(2, max_iter=20, random_state=0).fit(counts)
    >>> model.transform(counts).argmax(axis=1).reshape(2, 20).std(axis=1)
    array([0., 0.])
    """

    def __init__(
        self,
        n_components: int = 10,
        *,
        method: str | Method | None = None,
        doc_topic_prior: float | np.ndarray | None = None,
        topic_word_prior: float | np.ndarray | None = None,
        learn_doc_topic_prior: str | None = None,
        learn_topic_word_prior: str | None = None,
        batch_size: int | None = None,
        max_iter: int | None = None,
        max_time: float | None = None,
        tol: float | None = None,
        learning_decay: float | None = None,
        learning_offset: float | None = None,
        max_doc_update_iter: int | None = None,
        mean_change_tol: float | None = None,
        options: Mapping[str, Any] | None = None,
        total_samples: float | None = None,
        init: Any = None,
        random_state: int | None = 0,
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
        self.n_components = n_components
        self.method = method
        self.doc_topic_prior = doc_topic_prior
        self.topic_word_prior = topic_word_prior
        self.learn_doc_topic_prior = learn_doc_topic_prior
        self.learn_topic_word_prior = learn_topic_word_prior
        self.batch_size = batch_size
        self.max_iter = max_iter
        self.max_time = max_time
        self.tol = tol
        self.learning_decay = learning_decay
        self.learning_offset = learning_offset
        self.max_doc_update_iter = max_doc_update_iter
        self.mean_change_tol = mean_change_tol
        self.options = options
        self.total_samples = total_samples
        self.init = init
        self.random_state = random_state
        self.order = order
        self.slice_size = slice_size
        self.validation = validation
        self.evaluate_every = evaluate_every
        self.patience = patience
        self.callbacks = callbacks
        self.progress = progress
        self.client = client
        self.n_threads = n_threads

    # Learning

    def fit(self, X: Any, y: Any = None, *, checkpoint: Any = None, resume: bool = False) -> LDA:
        """Learn topics from a corpus, its path, a matrix (n_docs, n_words), or texts.

        Parameters
        ----------
        checkpoint : folder in which to save the run, every ten minutes and at its end; or a `Checkpoint`, which sets
            how often
        resume : continue the run from its last checkpoint in that folder; if there is none, start one. With the same
            corpus and settings, the result is bit-identical to that of an uninterrupted run

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
            raise SettingError("resume=True needs checkpoint=: the folder in which the run was saved")
        seed = self._seed()
        corpus = as_corpus(X, shuffle=self.order != "stored", seed=seed)
        corpus, held_out = starts.held_out(self.validation, corpus, seed)
        if checkpoint is None:
            self._model = self._begun(corpus, seed)
            self._learn(corpus, self._passes(corpus), held_out)
        else:
            with checkpoints.folder(checkpoint, self, corpus, held_out, resume) as saved:
                self._fit_saved(corpus, held_out, saved, seed)
        self.n_iter_ = self._fitted().cursor.pass_number
        return self

    def _begun(self, corpus: Any, seed: int) -> TopicModel:
        """A model that is ready to learn from this corpus."""
        model = self._new_model(corpus, seed)
        if self.init is not None:
            starts.begin_with(model, self.init, corpus.n_tokens)
        self.n_docs_seen_ = corpus.n_docs
        return model

    def _fit_saved(self, corpus: Any, held_out: Any, saved: CheckpointFolder, seed: int) -> None:
        found = checkpoints.newest(saved, self, *self._method_and_options(), seed)
        if found is None:
            self._model, counts = self._begun(corpus, seed), None
            if self._model.method.load_kernel().state == "run":
                saved.attach(self._model)
        else:
            self._model, counts = found[0], found[1].get("counts", checkpoints.NOTHING)
            self.n_docs_seen_ = corpus.n_docs
        left = self._passes(corpus) - self._model.cursor.pass_number
        if left > 0:
            self._learn(corpus, left, held_out, saver=checkpoints.SavedFit(self, saved, counts))

    def partial_fit(self, X: Any, y: Any = None) -> LDA:
        """Continue learning: one pass over the documents, in their order. New words are added at the end.

        Texts are tokenised like those of the first call. `total_samples` gives the size of the stream; without it, the
        size is the number of documents seen so far or, at the start of a stream, enough to outweigh the topic-word
        prior, at most 4000.
        """
        self._check()
        corpus = as_corpus(X, shuffle=False, text=None if self._model is None else self._model.text)
        if self._model is None:
            model = self._new_model(corpus, self._seed())
            self.n_docs_seen_, self.n_iter_ = corpus.n_docs, 0
            total = streams.n_documents(model, corpus, self.total_samples, self.n_docs_seen_)
            streams.scale(model, total / corpus.n_docs)
            if self.init is not None:
                starts.begin_with(model, self.init, corpus.n_tokens * total / corpus.n_docs)
            self._model = model
        else:
            model = self._model
            streams.end_pass(model)
            streams.grow(model, axes_of(model.method.model, corpus, self._client(), self.n_threads))
            self.n_docs_seen_ += corpus.n_docs
            streams.warn_of_small_calls(model.method, self.n_iter_ + 1, self.n_docs_seen_)
            total = streams.n_documents(model, corpus, self.total_samples, self.n_docs_seen_)
        self._learn(corpus, 1, None, order="stored", total=total)
        self.n_iter_ += 1
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """`fit(X).transform(X)`."""
        return self.fit(X).transform(X)

    def _learn(
        self,
        corpus: Any,
        max_iter: int,
        held_out: Any,
        order: str | None = None,
        total: float | None = None,
        saver: Saver | None = None,
    ) -> None:
        limits = Limits(
            max_iter,
            self.max_time,
            self._or_method("tol"),
            None
            if held_out is None
            else lambda model: _score(model, held_out, self._client(), self.n_threads),
            self.evaluate_every,
            self.patience,
            tuple(self.callbacks),
            self.progress,
        )
        train(
            self._fitted(),
            corpus,
            limits,
            batch_size=self._batch_size(corpus.n_docs if total is None else int(total)),
            slice_size=self._or_method("slice_size"),
            order=order or self.order,
            total_docs=total,
            client=self._client(),
            n_threads=self.n_threads,
            saver=saver,
        )

    def _new_model(self, corpus: Any, seed: int) -> TopicModel:
        starts.check_corpus(corpus)
        method, options = self._method_and_options()
        return new_model(
            method,
            self.n_components,
            axes_of(method.model, corpus, self._client(), self.n_threads),
            n_tokens=corpus.n_tokens,
            priors={"doc_topic_prior": self.doc_topic_prior, "topic_word_prior": self.topic_word_prior},
            options=options,
            seed=seed,
            text=None if corpus.text_settings is None else dict(corpus.text_settings),
        )

    def _method_and_options(self) -> tuple[Method, dict[str, Any]]:
        method = get(self.method).with_schedule(self.learning_decay, self.learning_offset)
        method = learning(method, self.learn_doc_topic_prior, self.learn_topic_word_prior)
        options = dict(self.options or {})
        for name in ("max_doc_update_iter", "mean_change_tol"):
            if getattr(self, name) is not None:
                options[name] = getattr(self, name)
        if (
            self._or_method("tol") > 0
            and method.load_kernel().bound
            and self._or_method("batch_size") is None
        ):
            options.setdefault("bound", True)
        return method, options

    def save(self, url: Any, storage_options: Mapping[str, Any] | None = None) -> None:
        """Write the model to a path or URL, as Zarr and JSON. An existing model is replaced in one write.

        `storage_options` are passed to fsspec when `url` is a URL.
        """
        saving.save_model(self, url, storage_options)

    def _or_method(self, name: str) -> Any:
        value = getattr(self, name)
        return getattr(get(self.method), name) if value is None else value

    def _batch_size(self, n_docs: int) -> int | None:
        return self.batch_size or get(self.method).batch_size_for(n_docs)

    def _passes(self, corpus: Any) -> int:
        return self.max_iter or get(self.method).max_iter_for(corpus.n_docs, self._batch_size(corpus.n_docs))

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.SeedSequence().entropy % (1 << 62))  # type: ignore[operator]
        if isinstance(self.random_state, bool) or not isinstance(self.random_state, int | np.integer):
            raise SettingError(f"random_state={self.random_state!r}: must be a whole number or None")
        return int(self.random_state) % (1 << 62)

    def _check(self) -> None:
        method = get(self.method)
        check_method(method)
        if len(method.model.components) != 1:
            raise SettingError(
                f"method {method.name!r}: model {method.model.name!r} counts {', '.join(method.model.components)}, but "
                "LDA fits models with one component count; see 'Add a model' in the documentation"
            )
        starts.check_settings(self)
        check_slice_size(method.load_kernel(), self._or_method("slice_size"))


def _score(model: TopicModel, held_out: Any, client: Any, n_threads: int | None) -> float:
    from bigtopic.evaluation import log_predictive

    return log_predictive(model, held_out, client=client or False, n_threads=n_threads).value
