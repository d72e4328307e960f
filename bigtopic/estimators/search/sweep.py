"""Sweep: learn a topic model with each combination of settings, score all on the same held-out documents, choose one.

The choice is the one-standard-error rule: of the candidates whose score is at most one standard error below the best,

    sum_d (best_d - own_d) / sum_d N_d  <=  its standard error over documents, paired,

the one with the fewest topics; among equals, the one with the highest score. A smaller model that the held-out
documents do not tell from the best one is easier to read, and cheaper.

Candidates learn one after the other, each with all threads or workers, and each reads the corpus again: reading takes a
few per cent of the time of learning, and candidates with different seeds read blocks in different orders, so sharing
them would take a corpus in memory (docs/decisions/sweep.md). A candidate therefore has the bits of `fit`.

References
----------
Breiman, Friedman, Olshen, Stone: Classification and regression trees (1984), section 3.4.3: the rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from bigtopic.corpus.order import document_keys
from bigtopic.corpus.store import Corpus
from bigtopic.errors import ArgumentError, SettingError, argument, either, noting
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.learning import TopicLearning
from bigtopic.evaluation import measures as folder
from bigtopic.evaluation.base import Measure, with_error
from bigtopic.evaluation.measuring import Evaluation, evaluation_of, free_label
from bigtopic.evaluation.runs.compare import PooledScore, ScoreTable, has_documents, pooled
from bigtopic.evaluation.subject import CorpusOrPath, Subject, documents_of
from bigtopic.parallel.progress import Progress
from bigtopic.support import aliases
from bigtopic.support.numbers import is_whole
from bigtopic.support.table import Table
from bigtopic.wording import counted

__all__ = ["Sweep", "sweep"]

_SEED = 0x666F6C64  # of splits: independent of the seeds of candidates, and of the order of the store


class Sweep(ScoreTable):
    """Candidates and their scores, one candidate per row, in the order in which they were learned.

    Attributes
    ----------
    candidates : the settings of each, as dicts, of those with several values
    measures : the measures by name; the first one decides
    scores : {name of the measure: its `PooledScore` for each candidate}: over the documents of all folds, or, of
        measures that do not score documents, over the folds
    results : for each candidate, the `Evaluation` of each fold
    best_index_ : the chosen candidate
    best_params_ : its settings
    best_score_ : its score
    best_estimator_ : an estimator with these settings that has learned from all documents
    columns : {name: values}: the settings; for each measure its value and standard error, for the first one also the
        difference to the highest score and its standard error, paired by document; "chosen"
    """

    def __init__(
        self,
        candidates: Sequence[Mapping[str, Any]],
        results: Sequence[Sequence[Evaluation]],
        sizes: Sequence[int],
        n_docs: int,
    ) -> None:
        self.candidates, self.results = [*map(dict, candidates)], [*map(list, results)]
        self.measures = self.results[0][0].measures
        self.scores = {name: [_pooled(name, own) for own in self.results] for name in self.measures}
        self._n_docs = n_docs
        self._decides = next(iter(self.measures))
        self.best_index_ = self._chosen(sizes)
        self.best_params_, self.best_estimator_ = self.candidates[self.best_index_], None
        self.best_score_ = self.scores[self._decides][self.best_index_].value
        super().__init__({**self._settings(), **dict(self._figures()), "chosen": self._marks(True, False)})

    @property
    def differences(self) -> list[tuple[float, float]]:
        """Score of each candidate minus the highest score, and the standard error of this difference."""
        scores = self.scores[self._decides]
        highest = scores[self._highest]
        return [score.minus(highest) for score in scores]

    def topic_source(self) -> Any:
        """The topics of the chosen candidate."""
        return self.best_estimator_.topic_source()  # type: ignore[attr-defined]

    def plot(self, **settings: Any) -> Any:
        """The plot "sweep": scores of the candidates with their errors, see `bigtopic.plots.draw`."""
        from bigtopic.plots import draw

        return draw("sweep", self, **settings)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON values: {"candidates": [{column: value}], "best": settings of the chosen one}."""
        rows = [dict(zip(self.columns, map(_plain, row), strict=True)) for row in self.rows()]
        best = {name: _plain(value) for name, value in self.best_params_.items()}
        return {"candidates": rows, "best": best}

    @property
    def _highest(self) -> int:
        values = [score.value for score in self.scores[self._decides]]
        return int(np.argmax([-np.inf if value != value else value for value in values]))

    def _chosen(self, sizes: Sequence[int]) -> int:
        """The smallest of the candidates within one standard error of the best."""
        values = [score.value for score in self.scores[self._decides]]
        close = [i for i, (less, error) in enumerate(self.differences) if less + np.nan_to_num(error) >= 0]
        return min(close or [self._highest], key=lambda i: (sizes[i], -values[i]))

    def _settings(self) -> dict[str, list[Any]]:
        return {name: [own[name] for own in self.candidates] for name in self.candidates[0]}

    def _figures(self) -> Iterator[tuple[str, list[float]]]:
        for name, scores in self.scores.items():
            yield name, [score.value for score in scores]
            yield f"{name} standard error", [score.standard_error for score in scores]
            if name == self._decides:
                yield f"{name} difference", [difference for difference, _ in self.differences]
                yield f"{name} difference standard error", [error for _, error in self.differences]

    def _marks(self, chosen: Any, other: Any) -> list[Any]:
        return [chosen if i == self.best_index_ else other for i in range(len(self.candidates))]

    def _shown(self) -> Table:
        columns: dict[str, list[Any]] = {**self._settings()}
        for name, scores in self.scores.items():
            measure = self.measures[name]
            columns[free_label(measure.title, measure, columns)] = [score.text() for score in scores]
            if name == self._decides:
                cells = [with_error(*difference, sign="+") for difference in self.differences]
                cells[self._highest] = "highest"
                columns["difference"] = cells
        return Table({**columns, "": self._marks("chosen", "")})

    def _notes(self) -> list[str]:
        deciding, n_folds = self.measures[self._decides], len(self.results[0])
        unit = f", in {deciding.unit}" if deciding.unit else ""
        split = "held out" if n_folds == 1 else f"each held out once, in {n_folds} folds"
        of = f"of {counted(self._n_docs, 'document')} {split}"
        scores = self.scores[self._decides]
        if all(np.isnan(score.standard_error) for score in scores):
            return [
                f"{deciding.title}{unit}, {of}",
                "chosen: the highest score; it has a standard error only between folds, see folds=",
            ]
        paired = "document" if has_documents(self.results[0][0][self._decides]) else "fold"
        return [
            f"{deciding.title}{unit}, ± one standard error, {of}",
            f"chosen: the fewest topics within one standard error of the highest score, paired by {paired}",
        ]


def _pooled(name: str, folds: Sequence[Evaluation]) -> PooledScore:
    """The score of a candidate over all folds: of the documents, or, where they have none, of the folds."""
    found = [fold[name] for fold in folds]
    if all(map(has_documents, found)):
        return pooled(found)
    values, ones = np.array([result.value for result in found]), np.ones(len(found))
    return PooledScore.of(np.arange(len(found)), values, ones)


def _plain(value: Any) -> Any:
    """A value of the table as JSON; a method by its name."""
    value = value.tolist() if isinstance(value, np.ndarray | np.generic) else value
    if not isinstance(value, bool | int | float | str | list | None):
        return str(getattr(value, "name", value))
    return None if value != value else value


def sweep(
    corpus: CorpusOrPath,
    estimator: Any = None,
    *,
    measure: str | Measure | Iterable[str | Measure] = "log-predictive",
    folds: int | None = None,
    test_size: float = 0.1,
    **settings: Any,
) -> Sweep:
    """Learn a model for each combination of settings, score all on the same held-out documents, and choose one.

    Chosen is the candidate with the fewest topics among those whose score is at most one standard error below the
    highest. It then learns from all documents.

    Parameters
    ----------
    corpus : the documents, or the path of their corpus
    estimator : with the settings that all candidates share; None for `LDA()`
    measure : of the held-out documents, higher is better, or several, of which the first decides; see
        `bigtopic.evaluate.measures.names()`
    folds : divide the documents into so many folds and hold out each once; None to hold out `test_size` once
    test_size : a share (float between 0 and 1) or a number of documents (int); without effect with `folds`
    settings : of the estimator; a list has the values of candidates, such as `n_components=[10, 20, 50]`,
        `doc_topic_prior=[0.05, 0.5]`, or `random_state=range(3)` for random starts; all combinations are candidates.
        Anything else is the setting of all. Settings that only the measures have, such as `n_top=5`, are the measures'

    Returns
    -------
    Sweep

    Raises
    ------
    SettingError
        When a candidate, `folds`, `measure`, `test_size` or a setting of a measure is not allowed, or no setting has a
        list; before anything is learned. When a measure does not fit the method or the documents, such as one by window
        without texts; once a candidate has learned.
    ArgumentError
        When neither the estimator nor a measure has a setting.

    References
    ----------
    Breiman, Friedman, Olshen, Stone: Classification and regression trees (1984), section 3.4.3.

    Examples
    --------
    >>> from bigtopic import from_matrix
    >>> from bigtopic.datasets import lda_corpus
    >>> corpus = from_matrix(lda_corpus(300, 50, 3, random_state=0).counts)
    >>> found = sweep(corpus, n_components=[2, 3, 6], max_iter=5, progress=False)
    >>> found.best_params_, len(found.best_estimator_.topics())
    ({'n_components': 3}, 3)
    """
    documents, asked = documents_of(corpus), folder.chosen(measure)
    if not asked:
        raise SettingError(
            f"{argument('measure')}: the list is empty; the first measure decides, so give one, or more"
        )
    if asked[0].describes:
        raise SettingError(
            f"{argument('measure', asked[0].name)}: describes topics, and no value is better than another; give a "
            "measure such as 'log-predictive' or 'npmi' first"
        )
    splits = _splits(documents, folds, test_size)
    estimator = LDA() if estimator is None else estimator
    own, of_measures = _divided(estimator, settings, asked)
    candidates, estimators = _candidates(estimator, own, documents)
    results: list[list[Evaluation]] = []
    progress = settings.get("progress", estimator.progress)
    with Progress("sweep", len(candidates) * len(splits) + 1, " fits", progress) as bar:
        for number, (candidate, make) in enumerate(zip(candidates, estimators, strict=True), 1):
            results.append([])
            for train, test in splits:
                with noting(f"candidate {candidate}"):
                    results[-1].append(_scored(make(), train, test, asked, of_measures))
                bar.update(1)
            score = f"{asked[0].title} {_pooled(asked[0].name, results[-1]).text()}"
            shown = ", ".join(f"{name}={_plain(value)}" for name, value in candidate.items())
            bar.note(f"candidate {number} of {len(candidates)}, {shown}: {score}")
        sizes = [sum(getattr(one, name) for name in one._counts) for one in (make() for make in estimators)]
        found = Sweep(candidates, results, sizes, sum(test.n_docs for _, test in splits))
        found.best_estimator_ = _fitted(estimators[found.best_index_](), documents)
    return found


def _divided(
    estimator: Any, settings: Mapping[str, Any], asked: Sequence[Measure]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the estimator, and those that only the measures have.

    Raises
    ------
    SettingError
        When `estimator` is not an estimator, or a value is not allowed for a measure.
    ArgumentError
        When neither has a setting.
    """
    if not isinstance(estimator, TopicLearning):
        found = f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__
        raise SettingError(f"{argument('estimator')}: must be an estimator, such as LDA(), found {found}")
    params = estimator.get_params()
    own = {name: value for name, value in settings.items() if name in params}
    others = {name: value for name, value in settings.items() if name not in params}
    for name in others:
        if not any(name in one.settings for one in asked):
            answer = aliases.of_argument(name, [*params, "measure", "folds", "test_size"])
            raise ArgumentError(
                f"sweep() has no argument {name!r}, and {type(estimator).__name__} has no such setting{answer}"
            )
    for one in asked:
        one.complete(others)
    return own, others


def _candidates(
    estimator: Any, settings: Mapping[str, Any], corpus: Corpus
) -> tuple[list[dict[str, Any]], list[Any]]:
    """The settings of each candidate that differ, and for each a function that makes its estimator.

    Raises
    ------
    SettingError
        When a setting is not allowed, or a seed is none.
    """
    numbers = (*estimator._counts, "random_state")  # of which an array has the values of candidates, too
    several = {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in settings.items()
        if isinstance(value, list | tuple | range) or (name in numbers and np.ndim(value) == 1)
    }
    shared = {**estimator.get_params(), **{n: v for n, v in settings.items() if n not in several}}
    if not several:
        raise SettingError(
            f"no setting has a list of values; give one to choose from, such as {argument('n_components', [10, 20])}"
        )
    for name, values in several.items():
        if not len(values):
            raise SettingError(f"{argument(name)}: the list is empty; give a value, or more")
    candidates = [dict(zip(several, values, strict=True)) for values in product(*several.values())]

    def maker(own: Mapping[str, Any]) -> Any:
        return lambda: type(estimator)(**{**shared, **own})

    makers = [maker(own) for own in candidates]
    for own, make in zip(candidates, makers, strict=True):
        with noting(f"candidate {own}"):
            made = make()
            made._check()
            if not is_whole(made.random_state):
                raise SettingError(
                    f"{argument('random_state', made.random_state)}: give a whole number, or a list of them, so that "
                    "the chosen candidate can be learned again"
                )
            made._new_model(corpus, made.random_state)  # which refuses what it cannot learn with
    return candidates, makers


def _splits(corpus: Corpus, folds: int | None, test_size: float) -> list[tuple[Corpus, Corpus]]:
    """Train and test documents of each fold, as views; which documents, follows from their source rows alone."""
    if folds is None:
        return [corpus.split(test_size, _SEED)]
    if not is_whole(folds) or not 2 <= folds <= corpus.n_docs:
        raise SettingError(
            f"{argument('folds', folds)}: must be a whole number from 2 to the {corpus.n_docs:,} documents, "
            f"{either('or None', 'or leave it out')} to hold out some documents once"
        )
    rows = corpus.rows()
    of_row = np.empty(len(rows), np.int64)
    of_row[np.argsort(document_keys(_SEED, rows))] = np.arange(len(rows)) % folds
    return [
        (corpus.select(rows=rows[of_row != fold]), corpus.select(rows=rows[of_row == fold]))
        for fold in range(folds)
    ]


def _scored(
    estimator: Any, train: Corpus, test: Corpus, asked: Sequence[Measure], settings: Mapping[str, Any]
) -> Evaluation:
    subject = Subject(_fitted(estimator, train), test)
    return evaluation_of(asked, subject, {"held_out": True, **settings}, **estimator._workers(False))


def _fitted(estimator: Any, corpus: Corpus) -> Any:
    """The estimator, having learned; the first Ctrl-C ends not only its run, but the sweep."""
    estimator.fit(corpus)
    if estimator.run_["ended"] == "interrupt":
        raise KeyboardInterrupt
    return estimator
