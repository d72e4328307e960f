"""Latent Dirichlet allocation, for users: names are translated here, nothing is decided."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import BigtopicWarning, NotFitted, SettingError, VocabularyMismatch, require
from bigtopic.estimators import output, persistence, starts
from bigtopic.estimators.base import Estimator
from bigtopic.estimators.inputs import as_corpus, in_source_order
from bigtopic.methods import Method, get
from bigtopic.runtime import cluster
from bigtopic.runtime.events import Callback
from bigtopic.runtime.infer import Inferred, infer, unknown_share
from bigtopic.runtime.model import TopicModel, TopicSource, new_model
from bigtopic.runtime.progress import Progress
from bigtopic.runtime.train import Limits, train

__all__ = ["LDA"]


class LDA(Estimator):
    """Topics of a corpus, by any of the methods in `bigtopic.methods()`.

    Parameters
    ----------
    n_components : number of topics; in the literature K
    method : name of a method, or a `bigtopic.Method`; None for the default, which suits most corpora
    doc_topic_prior : number or (n_components,); None for the method's, usually 1 / n_components. In the literature
        alpha
    topic_word_prior : number, (n_words,), or (n_components, n_words); None for the method's. In the literature eta.
        `bigtopic.seed_prior` makes one from words
    batch_size : documents of one update; None for the method's
    max_iter : passes over the corpus; None for the method's
    max_time : seconds of learning; it is cut off there, nothing else changes
    tol : end when a pass changes less: relative growth of the bound where there is one, else mean total variation
        distance of the topics; None for the method's, 0 never
    learning_decay, learning_offset : step size (offset + t) ** -decay of online methods; None for the method's. In the
        literature kappa and tau
    max_doc_update_iter, mean_change_tol : local iterations per document, and when to stop earlier; None for the
        method's
    options : further settings of the kernel, by name
    total_samples : documents of the stream when `partial_fit` sees parts of it; None for those seen so far
    init : begin with the topics of another model (an estimator, the path of a model, a scikit-learn or gensim model,
        or an array (n_components, n_words)), matched by word; None for random ones
    random_state : seed; the same seed gives the same topics, to the last bit, on any number of workers. None draws
        one
    order : "shuffled", or "stored" to follow the order of the store
    slice_size : documents of one kernel call; None for the method's
    validation : held-out documents (a corpus or matrix), or a share of the corpus, to score while learning
    evaluate_every : updates between scores; None for once a pass
    patience : end after this many scores without a better one; None never
    callbacks : functions of an event (`bigtopic.runtime.events.Event`)
    progress : show a progress bar; None when someone is looking
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in process; None for all processors. Does not change the result

    Attributes
    ----------
    components_ : (n_components, n_words), topic weights, not normalised; `get_topics()` has probabilities
    exp_dirichlet_component_ : (n_components, n_words), exp of the expected log probabilities
    vocabulary_ : `Vocabulary`, the words of the columns
    history_ : list of dict, one per pass and per score
    doc_topic_prior_, topic_word_prior_ : as used
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

    def fit(self, X: Any, y: Any = None) -> LDA:
        """Learn topics from a corpus, its path, a matrix (n_docs, n_words), or texts.

        Raises
        ------
        SettingError
            When a parameter is outside what is allowed.
        InputError
            When there is nothing to learn from.
        """
        self._check()
        seed = self._seed()
        corpus = as_corpus(X, shuffle=self.order != "stored", seed=seed)
        corpus, held_out = starts.held_out(self.validation, corpus, seed)
        model = self._new_model(corpus, seed)
        if self.init is not None:
            starts.begin_with(model, self.init, corpus.n_tokens)
        self._model = model
        self.n_docs_seen_ = corpus.n_docs
        self._learn(corpus, self._passes(corpus), held_out)
        self.n_iter_ = model.cursor.epoch
        return self

    def partial_fit(self, X: Any, y: Any = None) -> LDA:
        """Go on with more documents, one pass over them in their order; new words are added at the end.

        The size of the stream is `total_samples`, or the documents seen so far.
        """
        self._check()
        corpus = as_corpus(X, shuffle=False)
        if not self._is_fitted():
            self._model = self._new_model(corpus, self._seed())
            self.n_docs_seen_, self.n_iter_ = 0, 0
        else:
            starts.grow(self._model, corpus.vocabulary)
        self.n_docs_seen_ += corpus.n_docs
        self._learn(corpus, 1, None, order="stored", total=float(self.total_samples or self.n_docs_seen_))
        self.n_iter_ += 1
        return self

    def fit_transform(self, X: Any, y: Any = None) -> np.ndarray:
        """`fit(X).transform(X)`."""
        return self.fit(X).transform(X)

    def _learn(
        self, corpus: Any, max_iter: int, held_out: Any, order: str | None = None, total: float | None = None
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
            self._model,
            corpus,
            limits,
            batch_size=self._batch_size(corpus),
            slice_size=self._or_method("slice_size"),
            order=order or self.order,
            total_docs=total,
            client=self._client(),
            n_threads=self.n_threads,
        )

    def _new_model(self, corpus: Any, seed: int) -> TopicModel:
        starts.check_corpus(corpus)
        method = get(self.method).with_schedule(self.learning_decay, self.learning_offset)
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
        return new_model(
            method,
            self.n_components,
            corpus.vocabulary,
            n_tokens=corpus.n_tokens,
            doc_topic_prior=self.doc_topic_prior,
            topic_word_prior=self.topic_word_prior,
            options=options,
            seed=seed,
            axis_sizes={"author": max(1, corpus.n_authors)},
            text=None if corpus.text_settings is None else dict(corpus.text_settings),
        )

    # Inference

    def transform(self, X: Any, *, order: str = "source", sparse: bool = False, **sparsity: Any) -> Any:
        """Topics of documents: float32 (n_docs, n_components), rows sum to 1, in the caller's order.

        Parameters
        ----------
        X : corpus, its path, a matrix, or texts (split as the model's own corpus was)
        order : of a stored corpus, "source" or "stored"
        sparse : a scipy CSR matrix instead, of entries chosen by `min_probability` (default 0.01) and `top_k`

        Raises
        ------
        VocabularyMismatch
            When the model does not know most of the tokens, or a matrix has another width.
        """
        corpus = self._known_corpus(X)
        rows, topics = [], []
        for piece in self._infer(corpus, "inferring"):
            rows.append(piece.rows)
            topics.append(piece.doc_topics)
        if not rows:
            return np.zeros((0, self.n_components), np.float32)
        result = np.concatenate(topics)
        if order == "source":
            result = result[in_source_order(np.concatenate(rows))]
        if not sparse:
            return result
        from scipy.sparse import csr_matrix

        settings = {"min_probability": 0.01, "top_k": None, **sparsity}
        indptr, indices, data = output.sparse_topics(result, **settings)
        return csr_matrix((data, indices, indptr), shape=result.shape)

    def transform_to(
        self,
        X: Any,
        url: Any,
        *,
        min_probability: float = 0.01,
        top_k: int | None = None,
        overwrite: bool = False,
    ) -> str:
        """Write the topics of documents as they are computed: an AnnData store in Zarr, X sparse, in stored order.

        `obs` has the document ids and source rows. Entries below `min_probability`, or beyond the `top_k` largest of a
        document, are left out; the largest always stays. Returns the path.

        Raises
        ------
        CorpusExists
            When the place is taken and `overwrite` is false.
        """
        corpus = self._known_corpus(X)
        return output.write_topics(
            self._infer(corpus, "inferring"),
            corpus,
            url,
            self._fitted().n_components,
            min_probability=min_probability,
            top_k=top_k,
            overwrite=overwrite,
        )

    def representative_documents(
        self, X: Any, n: int = 3, min_tokens: float = 10
    ) -> list[list[tuple[str, float]]]:
        """For each topic the documents it takes the largest share of: [(document id, share), ...].

        Documents with fewer than `min_tokens` tokens are passed over. One streaming pass.
        """
        corpus = self._known_corpus(X)
        best = starts.Largest(self._fitted().n_components, n)
        position = 0
        for piece in self._infer(corpus, "inferring"):
            long_enough = piece.n_tokens >= min_tokens
            positions = position + np.flatnonzero(long_enough)
            best.add(positions, piece.doc_topics[long_enough])
            position += len(piece.rows)
        return [[(str(corpus[int(p)].id), share) for p, share in topic] for topic in best.result()]

    def topic_shares(self, X: Any) -> np.ndarray:
        """Share of the corpus' tokens in each topic, float64 (n_components,), sums to 1. One streaming pass."""
        total = np.zeros(self._fitted().n_components)
        for piece in self._infer(self._known_corpus(X), "weighing topics"):
            total += piece.n_tokens @ piece.doc_topics
        return total / max(total.sum(), 1e-300)

    def _infer(self, corpus: Any, description: str) -> Iterator[Inferred]:
        with Progress(description, corpus.n_docs, " docs", self.progress) as bar:
            for piece in infer(self._fitted(), corpus, client=self._client(), n_threads=self.n_threads):
                bar.update(len(piece.rows))
                yield piece

    def _known_corpus(self, X: Any) -> Any:
        model = self._fitted()
        corpus = as_corpus(X, shuffle=False, text=model.text)
        share = unknown_share(model, corpus)
        if share > 0.5:
            raise VocabularyMismatch(
                f"the model does not know {share:.0%} of the tokens; give documents in the language and with the "
                "tokeniser settings it was trained with"
            )
        if share > 0.2:
            warnings.warn(
                f"{share:.0%} of the tokens are unknown to the model and left out", BigtopicWarning, 3
            )
        return corpus

    # Scores

    def score(self, X: Any, y: Any = None) -> float:
        """Held-out nats per token by document completion (`bigtopic.evaluate.log_predictive`); higher is better."""
        from bigtopic.evaluation import log_predictive

        corpus = as_corpus(X, shuffle=False, text=self._fitted().text)
        return log_predictive(self, corpus, client=self._client(), n_threads=self.n_threads).value

    def perplexity(self, X: Any) -> float:
        """exp(-score(X)); lower is better."""
        return float(np.exp(-self.score(X)))

    # Reading

    def topics(self, n: int = 10) -> list[list[tuple[str, float]]]:
        """The most probable words of each topic: [[(word, probability), ...], ...]."""
        from bigtopic.evaluation.source import top_words

        ids, probabilities = top_words(self.topic_source(), min(n, len(self.vocabulary_)))
        return [
            [(self.vocabulary_[int(i)], float(p)) for i, p in zip(row, values, strict=True)]
            for row, values in zip(ids, probabilities, strict=True)
        ]

    def topics_frame(self, n: int = 10) -> Any:
        """The same as a pandas DataFrame with columns topic, rank, word, probability.

        Raises
        ------
        MissingExtra
            Without pandas.
        """
        rows = [
            (k, rank, w, p) for k, topic in enumerate(self.topics(n)) for rank, (w, p) in enumerate(topic)
        ]
        return require("pandas", "pandas").DataFrame(rows, columns=["topic", "rank", "word", "probability"])

    def show_topic(self, topic: int, topn: int = 10) -> list[tuple[str, float]]:
        """The most probable words of one topic: [(word, probability), ...]."""
        if not 0 <= topic < self._fitted().n_components:
            raise SettingError(f"topic={topic}: there are topics 0 .. {self._fitted().n_components - 1}")
        return self.topics(topn)[topic]

    def show_topics(self, topn: int = 10) -> list[tuple[int, str]]:
        """The topics as text: [(topic, "word word ..."), ...]."""
        return [(k, " ".join(word for word, _ in topic)) for k, topic in enumerate(self.topics(topn))]

    def get_topics(self) -> np.ndarray:
        """Topic-word probabilities, float32 (n_components, n_words); rows sum to 1."""
        return np.ascontiguousarray(self.topic_source().gather(None).T)

    def topic_source(self) -> TopicSource:
        """The topics by rows, for evaluations."""
        return self._fitted().topic_source()

    def pyldavis_input(self, X: Any) -> dict[str, Any]:
        """Arguments of `pyLDAvis.prepare(**..., sort_topics=False, start_index=0)`, without a corpus in memory.

        pyLDAvis uses documents only through the topics' shares: one "document" per topic gives the same picture.
        """
        corpus = self._known_corpus(X)
        shares = self.topic_shares(corpus)
        frequency = corpus.recounted().vocabulary.frequency
        mapping = self._fitted().word_map(corpus.vocabulary)
        counts = np.zeros(len(self.vocabulary_))
        known = np.arange(len(counts)) if mapping is None else mapping
        counts[known[known >= 0]] = frequency[known >= 0]
        used = counts > 0
        topics = self.get_topics()[:, used].astype(np.float64)
        return {
            "topic_term_dists": topics / topics.sum(axis=1, keepdims=True),
            "doc_topic_dists": np.eye(len(shares)),
            "doc_lengths": shares * counts.sum(),
            "vocab": [w for w, u in zip(self.vocabulary_, used, strict=True) if u],
            "term_frequency": counts[used],
        }

    @property
    def components_(self) -> np.ndarray:
        weights = self._fitted().topic_words.gather(None)[:, : self._fitted().n_components]
        return np.ascontiguousarray(weights.T)

    @property
    def exp_dirichlet_component_(self) -> np.ndarray:
        from scipy.special import psi

        weights = self.components_.astype(np.float64)
        return np.exp(psi(weights) - psi(weights.sum(axis=1, keepdims=True)))

    @property
    def vocabulary_(self) -> Vocabulary:
        return self._fitted().vocabulary

    @property
    def history_(self) -> list[dict[str, Any]]:
        return self._fitted().history

    @property
    def doc_topic_prior_(self) -> np.ndarray:
        return self._fitted().doc_topic_prior

    @property
    def topic_word_prior_(self) -> Any:
        prior = self._fitted().topic_words.prior
        return float(prior[0, 0]) if prior.size == 1 else prior.T

    @property
    def n_features_in_(self) -> int:
        return len(self.vocabulary_)

    @property
    def n_batch_iter_(self) -> int:
        return self._fitted().cursor.step

    @property
    def random_state_(self) -> int:
        return self._fitted().seed

    def get_feature_names_out(self, input_features: Iterable[str] | None = None) -> np.ndarray:
        """Names of the columns of `transform`: lda0, lda1, ..."""
        prefix = type(self).__name__.lower()
        return np.asarray([f"{prefix}{k}" for k in range(self._fitted().n_components)], dtype=object)

    # Keeping

    def save(self, url: Any) -> None:
        """Write the model to a path or URL: Zarr and JSON. A model that is there is replaced, in one write."""
        persistence.save_model(self, url)

    # Contract

    def _fitted(self) -> TopicModel:
        if not self._is_fitted():
            raise NotFitted(f"this {type(self).__name__} has no topics yet; call fit first")
        return self._model

    def _is_fitted(self) -> bool:
        return getattr(self, "_model", None) is not None

    def __sklearn_is_fitted__(self) -> bool:
        return self._is_fitted()

    def _or_method(self, name: str) -> Any:
        value = getattr(self, name)
        return getattr(get(self.method), name) if value is None else value

    def _batch_size(self, corpus: Any) -> int | None:
        return self.batch_size or get(self.method).batch_size_for(corpus.n_docs)

    def _passes(self, corpus: Any) -> int:
        return self.max_iter or get(self.method).max_iter_for(corpus.n_docs, self._batch_size(corpus))

    def _client(self) -> Any:
        return cluster.resolve_client(self.client)

    def _seed(self) -> int:
        if self.random_state is None:
            return int(np.random.SeedSequence().entropy % (1 << 62))  # type: ignore[operator]
        if isinstance(self.random_state, bool) or not isinstance(self.random_state, int | np.integer):
            raise SettingError(f"random_state={self.random_state!r}: must be a whole number or None")
        return int(self.random_state) % (1 << 62)

    def _check(self) -> None:
        starts.check_settings(self)

    def _repr_html_(self) -> str:
        from html import escape

        if not self._is_fitted():
            return f"<pre>{escape(repr(self))}</pre>"
        rows = "".join(
            f"<tr><td>{k}</td><td>{escape(words)}</td></tr>" for k, words in self.show_topics(8)[:100]
        )
        return f"<pre>{escape(repr(self))}</pre><table><tr><th>topic</th><th>words</th></tr>{rows}</table>"


def _score(model: TopicModel, held_out: Any, client: Any, n_threads: int | None) -> float:
    from bigtopic.evaluation import log_predictive

    return log_predictive(model, held_out, client=client or False, n_threads=n_threads).value
