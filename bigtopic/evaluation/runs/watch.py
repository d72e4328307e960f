"""Measures of a model while it learns, recorded in its history."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation import measures as folder
from bigtopic.evaluation.base import Measure, Result
from bigtopic.evaluation.measuring import checked_names, evaluation_of
from bigtopic.evaluation.subject import CorpusOrPath, Subject, documents_of
from bigtopic.learning.events import Event
from bigtopic.state.model import TopicModel
from bigtopic.support.numbers import is_whole

__all__ = ["Watch"]


class Watch:
    """A callback that measures a model while it learns: `LDA(callbacks=[Watch(corpus, ["npmi"])])`.

    What it finds is in `history_`, in a row of its own after `every` updates, or in the row of the pass:
    `{"pass": 1, "measures": {"npmi": 0.1}, ...}`. It does not change what is learned. A run that is resumed from a
    checkpoint, with the same `Watch`, has the history of an uninterrupted one.

    Parameters
    ----------
    corpus : the documents, or the path of their corpus; None for measures that use only topics
    measures : a name or several, or `Measure` objects; None for the defaults; see `measure`. Measures that score
        documents also record "NAME standard error", and "NAME own" where they score by the method's own inference, too
    every : updates between measurements, which are taken at the end of an exchange; None for one per pass
    client, n_threads, train, settings : see `measure`; the default is threads of this process

    Raises
    ------
    SettingError
        As `measure`, or when `every` is not allowed.

    Examples
    --------
    >>> from bigtopic import LDA, from_matrix
    >>> from bigtopic.datasets import lda_corpus
    >>> corpus = from_matrix(lda_corpus(200, 40, 3, random_state=0).counts)
    >>> here = {"max_iter": 2, "progress": False, "callbacks": [Watch(corpus, "npmi")]}
    >>> model = LDA(3, method="online-cvb0", **here).fit(corpus)
    >>> [list(row["measures"]) for row in model.history_]
    [['npmi'], ['npmi']]
    """

    def __init__(
        self,
        corpus: CorpusOrPath | None = None,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        every: int | None = None,
        client: Any = False,
        n_threads: int | None = None,
        *,
        train: CorpusOrPath | None = None,
        **settings: Any,
    ) -> None:
        self._measures = folder.chosen(measures)
        self._settings = checked_names(self._measures, settings)
        for one in self._measures:
            one.complete(self._settings)
        if not self._measures:
            raise SettingError(f"{argument('measures')}: there are none; give one, or more")
        if corpus is None and (needy := [one.name for one in self._measures if one.of_block is not None]):
            raise SettingError(
                f"{argument('corpus')}: {needy[0]!r} is a measure of documents; give them, or their path"
            )
        self._corpus = None if corpus is None else documents_of(corpus)
        self._train = None if train is None else documents_of(train, "train")
        self._workers = {"client": client, "n_threads": n_threads}
        if every is not None and (not is_whole(every) or every < 1):
            raise SettingError(
                f"{argument('every', every)}: must be a whole number of updates, 1 or more, or None for one "
                "measurement per pass"
            )
        self.every = every

    @property
    def names(self) -> list[str]:
        """Names of the measures."""
        return [measure.name for measure in self._measures]

    def measure(self, model: TopicModel) -> dict[str, float | None]:
        """The figures of the model as it is, by name; None stands for nan."""
        subject = Subject(_Learning(model), self._corpus, train=self._train)
        found: dict[str, float | None] = {}
        results = evaluation_of(self._measures, subject, self._settings, **self._workers)
        for name, result in results.items():
            by = {name: result, f"{name} own": getattr(result, "own", None)}
            for title, one in by.items():
                if isinstance(one, Result):
                    found[title] = one.value
                    if (error := getattr(one, "standard_error", None)) is not None:
                        found[f"{title} standard error"] = error
        return {
            name: None if value is None or value != value else float(value) for name, value in found.items()
        }

    def __call__(self, event: Event) -> None:
        """Nothing: the run calls `measure`."""

    def __repr__(self) -> str:
        every = "" if self.every is None else f", every={self.every}"
        return f"Watch({', '.join(map(repr, self.names))}{every})"


class _Learning:
    """A model that learns, as measures take an estimator."""

    def __init__(self, model: TopicModel) -> None:
        self._model = model

    def topic_source(self) -> Any:
        return self._model.topic_source()
