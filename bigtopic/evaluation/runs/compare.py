"""Models side by side: measures of several models on the same documents, and their paired differences.

    difference = sum_d (a_d - b_d) / sum_d N_d,    a_d, b_d log likelihoods of the N_d tokens of document d

Its standard error, over documents (delta method), leaves out what makes a document hard for both models, and so is
smaller than the errors of the two scores. Models with different vocabularies are compared on the words that all of them
know: the documents are narrowed to these, and a topic is p(word | topic, the word is one of these).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from bigtopic.errors import SettingError, VocabularyMismatch, argument, noting
from bigtopic.evaluation import measures as folder
from bigtopic.evaluation.base import Measure, Result, with_error
from bigtopic.evaluation.held_out import is_paired, paired_difference, ratio_of_sums
from bigtopic.evaluation.measuring import Evaluation, checked_names, evaluation_of, free_label
from bigtopic.evaluation.runs.common_words import CommonWords, common_words
from bigtopic.evaluation.source import topics_of
from bigtopic.evaluation.subject import CorpusOrPath, Subject, documents_of
from bigtopic.support import cards
from bigtopic.support.table import Table
from bigtopic.wording import counted, printable

__all__ = [
    "Comparison",
    "PooledScore",
    "ScoreTable",
    "best_of",
    "compare",
    "has_documents",
    "pooled",
]


class ScoreTable(Table):
    """A table of numbers that people see with a value and its error in one cell, and notes below."""

    def _shown(self) -> Table:
        return Table(self.columns)

    def _notes(self) -> list[str]:
        return []

    def text(self, widest: int = 60) -> str:
        """Aligned lines, and notes; cells longer than `widest` characters are cut."""
        return "\n".join([self._shown().text(widest), *map(printable, self._notes())])

    def _repr_html_(self) -> str:
        notes = "".join(f"<div>{cards.shown(note)}</div>" for note in self._notes())
        return f"{self._shown()._repr_html_()}{notes}"


class Comparison(ScoreTable):
    """Models and their measures, one model per row.

    Attributes
    ----------
    results : {name of the model: its `Evaluation`}
    scores : {name of the measure: {model: result}}; "NAME own" are the scores by the methods' own inference, where a
        measure has both
    reference : {name of the measure: the model that the others are compared with}, for measures that score documents,
        the same ones of all models
    note : the words on which models with different vocabularies were compared; "" where they agree
    columns : {name: values}: "model"; of each measure, its value, and, if it scores documents, its standard error, the
        difference to `reference`, and the standard error of that difference
    """

    def __init__(
        self, results: Mapping[str, Evaluation], reference: Mapping[str, str], note: str = ""
    ) -> None:
        self.results, self.reference, self.note = dict(results), dict(reference), note
        self.scores = _scores(self.results)
        columns: dict[str, list[Any]] = {"model": [*self.results]}
        for name, found in self.scores.items():
            columns[name] = [result.value for result in found.values()]
            if name in self.reference:
                errors = [pooled([result]).standard_error for result in found.values()]
                pairs = [self.difference(name, model) for model in self.results]
                columns[f"{name} standard error"] = errors
                columns[f"{name} difference"] = [difference for difference, _ in pairs]
                columns[f"{name} difference standard error"] = [error for _, error in pairs]
        super().__init__(columns)

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures by name."""
        return next(iter(self.results.values())).measures

    def difference(self, measure: str, model: str, other: str | None = None) -> tuple[float, float]:
        """Score of a model minus the score of another, and the standard error of this difference, paired by document.

        Parameters
        ----------
        measure : name of a measure that scores documents
        other : name of the other model; None for `reference[measure]`

        Raises
        ------
        SettingError
            When there is no such model, or the measure does not score the same documents of all models.
        """
        names = model, self.reference.get(measure) if other is None else other
        for name in names:
            if name is not None and name not in self.results:
                raise SettingError(f"there is no model {name!r}; there are: {', '.join(self.results)}")
        if measure not in self.reference:
            known = ", ".join(self.reference) or "none"
            raise SettingError(
                f"{argument('measure', measure)}: choose one that scores the same documents of all: {known}"
            )
        mine, theirs = (pooled([self.scores[measure][str(name)]]) for name in names)
        return mine.minus(theirs)

    def to_dict(self) -> dict[str, Any]:
        """The table as JSON values: {"models": {model: {measure: {attribute: value}}}, "reference", "note"}."""
        models = {name: found.to_dict() for name, found in self.results.items()}
        for name in self.reference:
            for model, found in models.items():
                difference, error = self.difference(name, model)
                told = found.setdefault(name, self.scores[name][model].to_dict())
                told |= {
                    "difference": difference,
                    "difference_standard_error": None if error != error else error,
                }
        return {"models": models, "reference": self.reference, "note": self.note}

    def _shown(self) -> Table:
        columns: dict[str, list[Any]] = {"model": [*self.results]}
        for name, found in self.scores.items():
            measure = self.measures[name.removesuffix(_OWN)]
            title = free_label(measure.title, measure, columns) if name in self.measures else "own inference"
            errors = [getattr(result, "standard_error", None) for result in found.values()]
            values = [result.value for result in found.values()]
            columns[title] = list(map(with_error, values, errors))
            if name in self.reference and len(found) > 1:
                pairs = {model: with_error(*self.difference(name, model), sign="+") for model in found}
                columns[f"{title}, difference"] = [*{**pairs, self.reference[name]: "reference"}.values()]
        return Table(columns)

    def _notes(self) -> list[str]:
        units = [f"{one.title}: {one.unit}" for one in self.measures.values() if one.unit]
        paired = "± one standard error; differences are paired by document" if self.reference else ""
        return [line for line in ("; ".join([*units, *filter(None, [paired])]), self.note) if line]


_OWN = " own"  # the same score by the method's own inference


def _scores(results: Mapping[str, Evaluation]) -> dict[str, dict[str, Result]]:
    """{name of a measure: {model: result}}; a result with another one, by its method's `own` inference, gives both."""
    found: dict[str, dict[str, Result]] = {}
    for name in next(iter(results.values())):
        found[name] = {model: evaluation[name] for model, evaluation in results.items()}
        by_own = {model: getattr(result, "own", None) for model, result in found[name].items()}
        there = {model: result for model, result in by_own.items() if isinstance(result, Result)}
        if len(there) == len(by_own):
            found[name + _OWN] = there
    return found


@dataclass(frozen=True, repr=False)
class PooledScore(Result):
    """A score of documents, measured in one or several pieces, such as the batches of a stream or the folds of a split.

    Attributes
    ----------
    value, standard_error : sum of `log_likelihood` over sum of `tokens`; its error over documents (delta method)
    rows, log_likelihood, tokens : int64, float64, float64 (n_docs,): source row, log probability and scored tokens of
        each document
    """

    value: float
    standard_error: float
    rows: np.ndarray = field(repr=False)
    log_likelihood: np.ndarray = field(repr=False)
    tokens: np.ndarray = field(repr=False)

    reported: ClassVar[tuple[str, ...]] = ("value", "standard_error")

    @classmethod
    def of(cls, rows: np.ndarray, log_likelihood: np.ndarray, tokens: np.ndarray) -> PooledScore:
        """The score of these documents."""
        return cls(*ratio_of_sums(log_likelihood, tokens), rows, log_likelihood, tokens)

    def text(self) -> str:
        return with_error(self.value, self.standard_error)

    def minus(self, other: Any) -> tuple[float, float]:
        """Difference of the values and its standard error, paired by document.

        Raises
        ------
        SettingError
            When the two were measured on different documents or tokens.
        """
        return paired_difference(self, other)


def has_documents(result: Any) -> bool:
    """Whether a result has a score for each document, so that it has an error and can be compared paired."""
    return all(hasattr(result, name) for name in ("rows", "log_likelihood", "tokens"))


def pooled(results: Iterable[Any]) -> PooledScore:
    """The score of the documents of all these results; each `has_documents`."""
    found = [(result.rows, result.log_likelihood, result.tokens) for result in results]
    rows, log_likelihood, tokens = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    return PooledScore.of(rows, log_likelihood, tokens)


def best_of(values: Mapping[str, float]) -> str:
    """The name with the largest value, the first of several."""
    return max(values, key=lambda name: values[name] if values[name] == values[name] else -np.inf)


def compare(
    models: Mapping[str, Any] | Sequence[Any],
    corpus: CorpusOrPath | None = None,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    client: Any = None,
    n_threads: int | None = None,
    *,
    reference: str | None = None,
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
    train: CorpusOrPath | None = None,
    **settings: Any,
) -> Comparison:
    """Compare models on the same documents: their measures, and paired differences with standard errors.

    Parameters
    ----------
    models : {name: model}, or a list of models, which are named after their methods; each may be of any library, see
        `topics_of`, to which `vocabulary` and `doc_topic_prior` are passed. `topics_of(model, words)` is a model, too
    corpus, measures, client, n_threads, train, settings : see `measure`
    reference : name of the model that the others are compared with; None for the one with the highest score, which may
        differ between measures

    Returns
    -------
    Comparison

    Raises
    ------
    SettingError
        When there are no models, `reference` is none of them, or as for `measure`.
    VocabularyMismatch
        When the models share no word, the corpus has none that they share, or they have words without names and differ
        in number.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import from_matrix
    >>> corpus = from_matrix(np.kron(np.eye(2, dtype=int), np.full((9, 2), 3)))
    >>> topics = {"flat": np.ones((2, 4)), "apart": np.kron(np.eye(2), [1, 1])}
    >>> found = compare(topics, corpus, "npmi", n_top=2)
    >>> found
    model  NPMI
    flat   1.0000
    apart  1.0000
    """
    named = _named(models)
    if reference is not None and reference not in named:
        raise SettingError(f"{argument('reference', reference)}: choose one of the models {', '.join(named)}")
    asked = folder.chosen(measures)
    settings = checked_names(asked, settings)
    documents = None if corpus is None else documents_of(corpus)
    train = None if train is None else documents_of(train, "train")
    sources = {
        name: topics_of(model, vocabulary, doc_topic_prior, name=argument(f"models[{name!r}]"))
        for name, model in named.items()
    }
    words = common_words([source.vocabulary for source in sources.values()])
    note = ""
    if words is not None:
        named = {name: CommonWords.of(source, words) for name, source in sources.items()}
        note = f"on the {counted(len(words), 'word')} that all models know"
        if documents is not None:
            if not documents.vocabulary.mask_of(words).any():
                raise VocabularyMismatch(
                    f"{argument('corpus')}: has none of the {counted(len(words), 'word')} that all models know; "
                    "compare models of the same language and tokeniser, on documents that use these words"
                )
            n_tokens = documents.n_tokens
            documents = documents.filter_vocabulary(keep=words)
            note += f", {documents.n_tokens / n_tokens:.1%} of the tokens"
    results = {}
    for name, model in named.items():
        subject = Subject(model, documents, vocabulary, doc_topic_prior, train)
        with noting(f"model {name!r}"):
            results[name] = evaluation_of(asked, subject, settings, client, n_threads)
    return Comparison(results, _references(results, reference), note)


def _references(results: Mapping[str, Evaluation], reference: str | None) -> dict[str, str]:
    """The model to compare with, for each measure that scores the same documents and tokens of all models."""
    found = {}
    for name, own in _scores(results).items():
        first, *others = own.values()
        if has_documents(first) and all(has_documents(one) and is_paired(first, one) for one in others):
            found[name] = reference or best_of({model: result.value for model, result in own.items()})
    return found


def _named(models: Any) -> dict[str, Any]:
    """The models by name; those without a name are called by their method, or their class."""
    if isinstance(models, Mapping):
        found = {str(name): model for name, model in models.items()}
    elif isinstance(models, list | tuple):
        found = {}
        for model in models:
            method = getattr(getattr(model, "_model", None), "method", None)
            name = type(model).__name__ if method is None else method.name
            n_same = sum(one == name or one.startswith(f"{name} (") for one in found)
            found[f"{name} ({n_same + 1})" if n_same else name] = model
    else:
        raise SettingError(
            f"{argument('models')}: {type(models).__name__} is neither {{name: model}} nor a list of models; for one "
            "model, use measure"
        )
    if not found:
        raise SettingError(f"{argument('models')}: there are none; give one model, or more")
    return found
