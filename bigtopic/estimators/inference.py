"""Topics of documents under a fitted model, and how well it predicts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from bigtopic.corpus.memory import from_block
from bigtopic.corpus.order import by_source, source_order
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, VocabularyMismatch
from bigtopic.estimators.inputs import as_corpus, check_width, open_documents, require_positive
from bigtopic.estimators.reading import FittedTopics
from bigtopic.estimators.topic_stores.contents import check_sparsity, sparse_topics
from bigtopic.estimators.topic_stores.formats import FORMATS, STORE, target_format
from bigtopic.estimators.topic_stores.output import write_table, write_topics
from bigtopic.evaluation import Snapshot, log_predictive, prevalence, snapshot
from bigtopic.inference.infer import Inferred, infer, inferring
from bigtopic.inference.known import check_known, unknown_tokens
from bigtopic.inference.lazy import topics_of_corpus, topics_of_partitions
from bigtopic.ingestion.settings import Workers
from bigtopic.ingestion.text import with_collocations
from bigtopic.parallel import cluster
from bigtopic.parallel.progress import Progress, say
from bigtopic.plan.counting import counted_vocabulary
from bigtopic.state.identity import model_identity
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.state.model import TopicModel
from bigtopic.support.aliases import answering
from bigtopic.support.deprecations import renamed
from bigtopic.wording import counted

__all__ = ["TopicInference"]

_MANY = 2000  # topics, from which a table is said to be wide


def _csr(topics: np.ndarray, min_probability: float, top_k: int | None) -> Any:
    """Topics (n_docs, n_components) as a CSR matrix, see `sparse_topics`."""
    from scipy.sparse import csr_matrix

    indptr, indices, data = sparse_topics(topics, min_probability, top_k)
    return csr_matrix((data, indices, indptr), shape=topics.shape)


class TopicInference(FittedTopics):
    """Inference with the training kernel, streamed, on the estimator's threads or client."""

    n_components: int
    client: Any
    n_threads: int | None
    progress: bool | None

    @answering
    def transform(
        self,
        X: Any,
        *,
        vocabulary: Any = None,
        order: str = "source",
        sparse: bool = False,
        min_probability: float = 0.01,
        top_k: int | None = None,
        random_state: int = 0,
        inference: Any = None,
        options: Mapping[str, Any] | None = None,
        lazy: bool = False,
    ) -> Any:
        """Topics of documents: float32 (n_docs, n_components), rows sum to 1, in the caller's order; see `set_output`.

        The topics of a document depend on its words (for an author-topic model, its authors, too), the model and
        `random_state` alone: to the bit, they are the same whatever other documents there are, and in any order.

        Parameters
        ----------
        X : whatever `fit` takes; texts are tokenised like the model's training texts
        vocabulary : of the documents, see `fit`; their words are matched with the model's. (id, count) pairs
            without one have the vocabulary of the pairs that the model learned from
        order : order of the rows: "source", like `document_ids` and `read_columns` of the corpus, or "stored"
        sparse : return a scipy CSR matrix of the entries chosen by `min_probability` and `top_k`, see `transform_to`
        random_state : seed of the draws, where inference draws, as the kernels "ope" and "gibbs" do; the default gives
            the same topics at every call
        inference, options : name of the kernel that infers, and its options {name: value}; None for the method's
        lazy : return a Dask array, which infers when it is computed, as for a Dask bag, DataFrame or array, for which
            this always does: a chunk for each partition, of unknown length if the partition's is not known. Of a
            collection, the first 1000 documents show what it holds, and whether the model knows their words. With
            `sparse`, blocks are CSR matrices

        Raises
        ------
        VocabularyMismatch
            When the model knows too few of at least 300 tokens (it warns of fewer), or a matrix has another width.
        SettingError
            When `order`, `min_probability`, `top_k`, `random_state`, `inference` or one of the `options` is not
            allowed, a Dask array is to be the DataFrame of `set_output`, or the array is larger than the machine's
            memory.
        """
        wanted = by_source(order)
        check_sparsity(min_probability, top_k)
        model = inferring(self._fitted(), inference, options)
        finish = partial(_csr, min_probability=min_probability, top_k=top_k) if sparse else np.asarray
        if lazy or hasattr(X, "__dask_graph__"):
            return self._lazy_topics(X, vocabulary, model, random_state, finish, wanted)
        corpus = self._known_corpus(X, vocabulary)
        if sparse:
            return self._sparse_doc_topics(corpus, wanted, random_state, model, finish)
        topics = self._doc_topics(corpus, wanted, random_state, model)
        return self._output(topics, self.get_feature_names_out, X, corpus, order)

    def _lazy_topics(
        self,
        X: Any,
        vocabulary: Any,
        model: TopicModel,
        random_state: int,
        finish: Any,
        in_source_order: bool,
    ) -> Any:
        kind, client = self._output_kind(), self._workers()["client"]
        if kind != "default":
            raise SettingError(
                f"set_output(transform={kind!r}): topics of a Dask collection are a Dask array; choose 'default', and "
                "make a DataFrame of it with dask.dataframe.from_dask_array"
            )
        if not hasattr(X, "__dask_graph__"):
            corpus = self._known_corpus(X, vocabulary)
            return topics_of_corpus(model, corpus, random_state, finish, client, in_source_order)
        with cluster.computed_on(client, X):
            reader = open_documents(X, model.text or {}, vocabulary, self._pair_words)
        reader, _ = with_collocations(reader, reader.options.text, None, Workers(None, 1, False))
        n_words = len(model.vocabulary) if reader.n_words is None else reader.n_words
        first = from_block(reader.parse(reader.first_chunk()), reader.vocabulary, n_words)
        check_width(first.vocabulary, model.vocabulary, type(self).__name__)
        check_known(model, *unknown_tokens(model, first))
        return topics_of_partitions(model, reader, random_state, finish, client)

    def transform_to(
        self,
        X: Any,
        url: Any,
        *,
        min_probability: float = 0.01,
        top_k: int | None = None,
        order: str = "source",
        overwrite: bool = False,
        format: str | None = None,
        random_state: int = 0,
        storage_options: Mapping[str, Any] | None = None,
        inference: Any = None,
        options: Mapping[str, Any] | None = None,
    ) -> str:
        """Write the topics of documents, as they are computed, to an AnnData store in Zarr with a sparse X.

        `obs` has the documents' ids, source rows and all columns of the corpus. Memory is bounded for any number of
        documents: in source order, the default, they pass through a scratch file; `order="stored"` avoids it. Entries
        below `min_probability`, or beyond the `top_k` largest of a document, are left out; the largest always stays.
        `random_state`, `inference` and `options` are as in `transform`; `storage_options` are passed to fsspec when
        `url` is a URL. Returns the path.

        Parameters
        ----------
        url : of the store. With the ending .csv, .tsv, .jsonl, .parquet or .h5ad, a file of that kind is written
        format : "zarr" or one of these endings; None takes it from `url`, which may be an open binary file if the
            format is csv, tsv or jsonl

        Raises
        ------
        CorpusExists
            When the path is taken and `overwrite` is false, or it holds something other than topics.
        """
        kind = target_format(url, format)
        model = inferring(self._fitted(), inference, options)
        corpus, n_components = self._known_corpus(X), self._fitted().n_components
        own = partial(write_topics, model=model_identity(self._fitted()))
        write = own if kind == STORE else partial(write_table, kind)
        if kind != STORE and FORMATS[kind].wide and n_components > _MANY:
            others = ", ".join([STORE, *(name for name, each in FORMATS.items() if not each.wide)])
            columns = f"{kind} has a column for each of {n_components:,} topics"
            say(f"{columns}; others hold only the shares that are kept: {others}", self.progress)
        return write(
            url,
            self._infer(corpus, random_state, model),
            corpus,
            n_components,
            min_probability=min_probability,
            top_k=top_k,
            order=order,
            overwrite=overwrite,
            storage_options=storage_options,
        )

    @renamed(n="n_documents")
    def representative_documents(
        self, X: Any, n_documents: int = 3, min_tokens: float = 10
    ) -> list[list[tuple[str, float]]]:
        """For each topic, the documents in which its share is largest: [(document id, share), ...].

        Documents with fewer than `min_tokens` tokens are skipped. One streaming pass.

        Raises
        ------
        SettingError
            When `n_documents` is not a whole number from 1.
        """

        require_positive("n_documents", n_documents)
        from bigtopic.evaluation._kernels import add_documents

        corpus, n, start = self._known_corpus(X), self._fitted().n_components, 0
        rows, long_enough = corpus.rows(order="stored"), np.zeros(corpus.n_docs)
        places, shares = np.full((n, n_documents), -1), np.full((n, n_documents), -1.0, np.float32)
        for piece in self._infer(corpus):
            stop = start + len(piece.rows)
            long_enough[start:stop] = piece.n_tokens >= min_tokens
            add_documents(np.arange(start, stop), long_enough[start:stop], piece.doc_topics, places, shares)
            start = stop
        n_found = min(n_documents, int(long_enough.sum()))
        found_rows = rows[places[:, :n_found]]
        chosen = corpus.select(rows=np.unique(found_rows))
        ids = dict(zip(chosen.rows().tolist(), chosen.document_ids().tolist(), strict=True))
        found = zip(found_rows.tolist(), shares[:, :n_found].tolist(), strict=True)
        return [
            [(str(ids[row]), share) for row, share in zip(rows, shares, strict=True)]
            for rows, shares in found
        ]

    def similar_documents(
        self,
        query: Any,
        theta: Any,
        n_documents: int = 10,
        measure: str = "hellinger",
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[tuple[str, float]]:
        """The documents of a store of topics whose topics are most like the query's: [(document id, score), ...].

        One streaming pass; memory is bounded for any number of documents. Ties go to the document that comes first.

        Parameters
        ----------
        query : the id of a document of the store, which is left out of the result; else a text; or topics,
            (n_components,)
        theta : path or URL of a store that `transform_to` wrote with this model, or what `bigtopic.open_topics` opened
        n_documents : documents to return, best first
        measure : "hellinger", "jensen-shannon" (1 minus these distances) or "cosine"; all from 0, nothing in common,
            to 1, equal
        storage_options : passed to fsspec

        Raises
        ------
        SettingError
            When a setting is not allowed, or there is no store of topics of this model.
        VocabularyMismatch
            When the query is not a document of the store, and the model knows none of its words, or too few of them.
        InputError
            When the store is damaged.
        """
        from bigtopic.estimators.topic_stores.similarity import similar

        store = self._stored(theta, storage_options)
        return similar(query, store, self._topics_of_text, n_documents, measure, self.progress)

    def _stored(self, theta: Any, storage_options: Mapping[str, Any] | None) -> Any:
        from bigtopic.estimators.topic_stores.stored_topics import open_topics

        return open_topics(theta, storage_options).of_model(self._fitted())

    def plot(
        self, name: Any, X: Any = None, *, theta: Any = None, figure: Any = None, **settings: Any
    ) -> Any:
        """Draw a plot of the model, such as "history", "topics" or "prevalence"; see `bigtopic.plots.draw`.

        Parameters
        ----------
        name : of a plot (`bigtopic.plots.names()`), or a `bigtopic.plots.Plot`
        X : corpus, its path, a matrix, or texts, for shares of topics; some plots do without
        theta : store of the documents' topics, which then are not inferred, for plots of documents
        figure : an empty matplotlib `Figure` or `SubFigure` to draw on; None for a new one
        settings : of the plot

        Returns
        -------
        matplotlib.figure.Figure
            Notebooks show it; `savefig` writes it to a file.

        Raises
        ------
        SettingError
            When there is no such plot, it needs something that is not given, or a setting is not allowed.
        MissingExtra
            When matplotlib is not installed.
        """
        from bigtopic.plots import draw

        corpus = None if X is None else self._documents(X)
        return draw(name, self, corpus, theta=theta, figure=figure, **self._workers(False), **settings)

    def explore(
        self,
        X: Any = None,
        *,
        theta: Any = None,
        port: int = 0,
        index: Any = None,
        title: str = "Topics",
        model_path: Any = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Explore the topics and documents in a browser: start a server on this machine, in a thread.

        What answers need of all documents is made once, in one pass, and kept in a folder, see `index`.

        Parameters
        ----------
        X : corpus, its path, a matrix, or texts, for texts and words of documents; None for their topics alone
        theta : store of the topics of these documents, which then are not inferred
        port : of the server; 0 for any that is free
        index : folder to keep the index in; None for one in the user's cache
        title : of the page
        model_path : where this model is saved, so that new labels can be saved there; None to save to new paths only

        Returns
        -------
        bigtopic.explore.Exploration
            Notebooks show a link to its `url`; `close()` ends the server; `model` is this one with the changes made in
            the browser.

        Raises
        ------
        SettingError
            When neither X nor theta is given, they do not belong together, or the port is taken.
        MissingExtra
            When what draws the page is not installed.
        """
        from bigtopic.explore import explore

        return explore(
            self,
            None if X is None else self._documents(X),
            theta,
            lambda url: self._stored(url, storage_options),
            port=port,
            folder=index,
            title=title,
            model_path=None if model_path is None else str(model_path),
        )

    def pyldavis_input(self, X: Any) -> dict[str, Any]:
        """Arguments of `pyLDAvis.prepare(**..., sort_topics=False, start_index=0)`, without a corpus in memory.

        pyLDAvis uses documents only for the topics' shares, so one "document" per topic gives the same picture.
        """

        corpus = self._known_corpus(X)
        shares = prevalence(self, corpus, **self._workers(False)).share
        frequency = counted_vocabulary(corpus, **self._workers()).frequency
        assert frequency is not None
        mapping = self._fitted().word_map(corpus.vocabulary)
        counts = np.zeros(len(self.vocabulary_))
        known = np.arange(len(counts)) if mapping is None else mapping
        counts[known[known >= 0]] = frequency[known >= 0]
        used = counts > 0
        remedy = "merge topics (merge_topics), or explore() them"
        refuse_beyond(20 * len(shares) * len(counts), remedy, f"pictures of {len(shares):,} topics need")
        topics = self.get_topics()[:, used].astype(np.float64)
        return {
            "topic_term_dists": topics / topics.sum(axis=1, keepdims=True),
            "doc_topic_dists": np.eye(len(shares)),
            "doc_lengths": shares * counts.sum(),
            "vocab": [w for w, u in zip(self.vocabulary_, used, strict=True) if u],
            "term_frequency": counts[used],
        }

    def _doc_topics(
        self, corpus: Corpus, in_source_order: bool = True, random_state: int = 0, model: Any = None
    ) -> np.ndarray:
        """Topics of documents, float32 (n_docs, n_components). Raises SettingError where the machine has no room."""
        n_docs, n_components = corpus.n_docs, self._fitted().n_components
        remedy = "pass sparse=True, which leaves out entries below min_probability, or write them with transform_to"
        refuse_beyond(4 * n_docs * n_components, remedy, f"the topics of {counted(n_docs, 'document')} need")
        topics, places = np.empty((n_docs, n_components), np.float32), np.arange(n_docs)
        order = source_order(corpus.rows(order="stored")) if in_source_order and n_docs else None
        if order is not None:
            places[order] = np.arange(n_docs)
        start = 0
        for piece in self._infer(corpus, random_state, model):
            stop = start + len(piece.rows)
            topics[slice(start, stop) if order is None else places[start:stop]] = piece.doc_topics
            start = stop
        return topics

    def _sparse_doc_topics(
        self, corpus: Corpus, in_source_order: bool, random_state: int, model: Any, finish: Callable[..., Any]
    ) -> Any:
        """Topics of documents, a CSR matrix of what `finish` leaves of each piece."""
        from scipy.sparse import vstack

        pieces = [finish(piece.doc_topics) for piece in self._infer(corpus, random_state, model)]
        pieces = pieces or [finish(np.zeros((0, self._fitted().n_components), np.float32))]
        topics = vstack(pieces, format="csr")
        order = source_order(corpus.rows(order="stored")) if in_source_order and corpus.n_docs else None
        return topics if order is None else topics[order]

    def _infer(self, corpus: Any, random_state: int = 0, model: Any = None) -> Iterator[Inferred]:
        model = self._fitted() if model is None else model
        with Progress("inferring", corpus.n_docs, " docs", self.progress) as bar:
            for piece in infer(model, corpus, random_state=random_state, **self._workers()):
                bar.update(len(piece.rows))
                yield piece

    def _topics_of_text(self, text: str) -> np.ndarray:
        """Raises VocabularyMismatch for a text without words of the model, which would have the topics of the prior."""
        corpus = self._documents([text])
        if not corpus.n_tokens:
            raise VocabularyMismatch("the model's tokeniser finds no words in it")
        known = self._fitted().word_map(corpus.vocabulary)
        if known is not None and (known < 0).all():
            raise VocabularyMismatch("the model does not know any of its words")
        return self._doc_topics(self._known_corpus(corpus))[0]

    def _documents(self, X: Any, vocabulary: Any = None, limited: bool = False) -> Corpus:
        model = self._fitted()
        corpus = as_corpus(
            X,
            shuffle=False,
            text=model.text or {},
            vocabulary=vocabulary,
            limited=limited,
            known=model.vocabulary,
            remembered=self._pair_words,
            n_threads=self.n_threads,
        )
        check_width(corpus.vocabulary, model.vocabulary, type(self).__name__)
        return corpus

    def _known_corpus(self, X: Any, vocabulary: Any = None) -> Any:
        """The documents, if the model knows enough of their words; see `check_known`."""
        model, corpus = self._fitted(), self._documents(X, vocabulary)
        check_known(model, *unknown_tokens(model, corpus, **self._workers()))
        return corpus

    def score(self, X: Any, y: Any = None, *, vocabulary: Any = None) -> float:
        """Held-out log probability in nats per token, see `bigtopic.evaluate.log_predictive`; higher is better.

        `X` and `vocabulary` are as in `transform`.
        """

        corpus = self._documents(X, vocabulary)
        return log_predictive(self, corpus, **self._workers(False)).value

    def snapshot(self, X: Any, *, vocabulary: Any = None) -> Snapshot:
        """The topics now, and these documents in them; `bigtopic.evaluate.drift` compares two. `X` is as in `score`."""
        return snapshot(self, self._documents(X, vocabulary), **self._workers(False))

    def perplexity(self, X: Any) -> float:
        """exp(-score(X)); lower is better."""
        return float(np.exp(-self.score(X)))

    def _workers(self, without: bool | None = None) -> dict[str, Any]:
        """The arguments `client` and `n_threads` of what runs; False for functions that take the current client for
        None."""
        return {"client": cluster.resolve_client(self.client) or without, "n_threads": self.n_threads}
