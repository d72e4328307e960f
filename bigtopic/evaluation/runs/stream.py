"""Prequential scores of a stream: each batch is scored by the model that has learned from the batches before it, and is
learned from only then.

    score of batch b = sum_d log p(held-out tokens of d | model after b - 1 batches) / sum_d N_d,    d in batch b

Every document is scored as unseen, and none is lost for learning. The curve shows how soon a method learns, and whether
it follows a stream that drifts.

References
----------
Dawid: Statistical theory: the prequential approach. JRSS A 147 (1984).
Gao et al.: Streaming Gibbs sampling for LDA model (2016), figure 2c.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument, noting
from bigtopic.evaluation import measures as folder
from bigtopic.evaluation.base import Measure, with_error
from bigtopic.evaluation.measuring import Evaluation, checked_names, evaluation_of, free_label
from bigtopic.evaluation.runs.compare import PooledScore, ScoreTable, has_documents, pooled
from bigtopic.evaluation.subject import CorpusOrPath, Subject, documents_of
from bigtopic.parallel.progress import Progress
from bigtopic.support.numbers import is_whole
from bigtopic.support.table import Table

__all__ = ["StreamCurve", "stream"]


class StreamCurve(ScoreTable):
    """Scores along a stream, one batch per row.

    Attributes
    ----------
    results : the `Evaluation` of each batch
    measures : the measures by name
    columns : {name: values}: "documents", from the stream, that the model had learned from when it was scored; of each
        measure, its value, and, if it scores documents, its standard error
    """

    def __init__(self, documents: Sequence[int], results: Sequence[Evaluation]) -> None:
        self.results = [*results]
        self.measures = self.results[0].measures
        columns: dict[str, list[Any]] = {"documents": [*documents]}
        for name in self.measures:
            found = [result[name] for result in self.results]
            columns[name] = [result.value for result in found]
            if all(map(has_documents, found)):
                columns[f"{name} standard error"] = [pooled([result]).standard_error for result in found]
        super().__init__(columns)

    def pooled(self, measure: str | None = None, start: int = 0) -> PooledScore:
        """The score of all documents of the stream; two streams of the same documents are compared with `minus`.

        Parameters
        ----------
        measure : name of a measure that scores documents; None for the first one
        start : leave out batches that were scored after fewer documents, such as the burst at the beginning

        Raises
        ------
        SettingError
            When the measure does not score documents, or no batch is left.
        """
        known = [name for name in self.measures if f"{name} standard error" in self.columns]
        if measure is None and known:
            measure = known[0]
        if measure not in known:
            raise SettingError(
                f"{argument('measure', measure)}: choose one that scores documents: {', '.join(known) or 'none'}"
            )
        found = [
            result[measure] for n, result in zip(self["documents"], self.results, strict=True) if n >= start
        ]
        if not found:
            raise SettingError(
                f"{argument('start', start)}: the last batch was scored after {self['documents'][-1]:,} documents; "
                "give at most that"
            )
        return pooled(found)

    def to_dict(self) -> dict[str, Any]:
        """The curve as JSON values: {"curve": [{column: value}]}; None stands for nan."""
        rows = ([None if value != value else value for value in row] for row in self.rows())
        return {"curve": [dict(zip(self.columns, row, strict=True)) for row in rows]}

    def _shown(self) -> Table:
        columns: dict[str, list[Any]] = {"documents": [f"{n:,}" for n in self["documents"]]}
        for name, measure in self.measures.items():
            errors = self.columns.get(f"{name} standard error", [None] * len(self))
            title = f"{measure.title}, {measure.unit}" if measure.unit else measure.title
            columns[free_label(title, measure, columns)] = [
                with_error(value, error) for value, error in zip(self[name], errors, strict=True)
            ]
        return Table(columns)


def stream(
    model: Any,
    corpus: CorpusOrPath,
    batch_size: int,
    measures: str | Measure | Iterable[str | Measure] = "log-predictive",
    client: Any = None,
    n_threads: int | None = None,
    **settings: Any,
) -> StreamCurve:
    """Learn from a corpus batch by batch, and score each batch before the model learns from it.

    Parameters
    ----------
    model : an estimator with `partial_fit`, of this package or of scikit-learn, which learns. One that has no topics
        yet learns from the first batch without a score
    corpus : the documents, or the path of their corpus. Batches follow the order of the store: a random one, unless the
        corpus was made with `shuffle=False`. All its words are known from the first batch on
    batch_size : documents of a batch; the last batch may have fewer
    measures, client, n_threads, settings : see `measure`

    Returns
    -------
    StreamCurve

    Raises
    ------
    SettingError
        When the model has no `partial_fit`, `batch_size` leaves no batch to score, or as for `measure`.

    Examples
    --------
    >>> from bigtopic import LDA, from_matrix
    >>> from bigtopic.datasets import lda_corpus
    >>> corpus = from_matrix(lda_corpus(300, 40, 3, random_state=0).counts)
    >>> curve = stream(LDA(3, progress=False), corpus, 100)
    >>> curve["documents"]
    [100, 200]
    """
    documents, asked = documents_of(corpus), folder.chosen(measures)
    settings = {
        "held_out": True,
        **checked_names(asked, settings),
    }  # no batch is learned from before its score
    for one in asked:
        one.complete(settings)  # before anything is learned
    if isinstance(model, type):
        raise SettingError(
            f"{argument('model')}: {model.__name__} is a class; give a model of it, such as LDA(10)"
        )
    if not callable(getattr(model, "partial_fit", None)):
        raise SettingError(
            f"{argument('model')}: {type(model).__name__} has no partial_fit, so it cannot learn from a stream"
        )
    n_least = 1 if _has_topics(model) else 2
    if not is_whole(batch_size) or batch_size < 1 or (n_least - 1) * batch_size >= documents.n_docs:
        raise SettingError(
            f"{argument('batch_size', batch_size)}: must be a whole number, 1 or more, that divides the "
            f"{documents.n_docs:,} documents into {n_least} batches or more"
        )
    learned, results = [], []
    with Progress("stream", documents.n_docs, " docs", getattr(model, "progress", None)) as bar:
        for start in range(0, documents.n_docs, int(batch_size)):
            batch = documents.run(start, start + batch_size, order="stored")
            if _has_topics(model):
                subject = Subject(model, batch, _words(model, batch))
                with noting(f"the batch after {start:,} documents"):
                    results.append(evaluation_of(asked, subject, settings, client, n_threads))
                learned.append(start)
            model.partial_fit(batch if hasattr(model, "topic_source") else batch.to_scipy())
            if (getattr(model, "run_", None) or {}).get("ended") == "interrupt":
                raise KeyboardInterrupt  # the first Ctrl-C ends not only the run of this batch
            bar.update(batch.n_docs)
    if not results:
        raise SettingError(
            f"{argument('model')}: {type(model).__name__} learned from the stream, but has no topics"
        )
    return StreamCurve(learned, results)


def _has_topics(model: Any) -> bool:
    """Whether a model has learned from documents."""
    fitted = getattr(model, "__sklearn_is_fitted__", None)
    return bool(fitted()) if fitted is not None else hasattr(model, "components_")


def _words(model: Any, batch: Corpus) -> Any:
    """The words of the columns of a model that has none."""
    return None if hasattr(model, "topic_source") else batch.vocabulary
