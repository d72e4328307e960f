"""Several measures in one pass over a corpus, and their results as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument, noting
from bigtopic.evaluation import measures as folder
from bigtopic.evaluation.base import Measure, Result, renamed_settings
from bigtopic.evaluation.subject import CorpusOrPath, Documents, Inference, Subject, documents_of, over_blocks
from bigtopic.support import cards
from bigtopic.types import Block
from bigtopic.wording import printable

__all__ = ["Evaluation", "checked_names", "free_label", "measure", "result_of", "results_of"]


class Evaluation(Mapping[str, Result]):
    """Results of measures by name, in the order requested. Prints as a table."""

    def __init__(self, results: Sequence[tuple[Measure, Result]] = ()) -> None:
        self._found = {measure.name: (measure, result) for measure, result in results}

    def __getitem__(self, name: str) -> Result:
        return self._found[name][1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures by name."""
        return {name: measure for name, (measure, _) in self._found.items()}

    def lines(self) -> dict[str, str]:
        """The table: {label: text}. A label that is there already is followed by the name of the measure."""
        lines: dict[str, str] = {}
        for measure, result in self._found.values():
            value = f"{result.text()} {measure.unit}".rstrip()
            for label, text in [(measure.title, value), *result.details().items()]:
                if text:
                    lines[free_label(label, measure, lines)] = text
        return lines

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """The results as JSON values: {name: {attribute: value}}."""
        return {name: result.to_dict() for name, result in self.items()}

    def __repr__(self) -> str:
        lines = self.lines()
        size = max(map(len, lines), default=0)
        return "\n".join(printable(f"{label.ljust(size)}  {text}") for label, text in lines.items())

    def _repr_html_(self) -> str:
        return cards.figures(self.lines())


def free_label(label: str, measure: Measure, taken: Mapping[str, str]) -> str:
    """The label, followed by the name of the measure if it is taken."""
    return f"{label} ({measure.name})" if label in taken else label


def measure(
    model: Any,
    corpus: CorpusOrPath | None = None,
    measures: str | Measure | Iterable[str | Measure] | None = None,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
    train: CorpusOrPath | None = None,
    **settings: Any,
) -> Evaluation:
    """Compute several measures of a model in one pass over a corpus.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` and `doc_topic_prior` are passed
    corpus : the documents, or the path of their corpus; None for measures that use only topics
    measures : a name or several (`bigtopic.evaluate.measures.names()`), or `Measure` objects; None for the defaults
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; None for all processors
    train : the documents that the model learned from, or the path of their corpus; see `log_predictive`
    settings : settings of the measures; each takes those it has

    Returns
    -------
    Evaluation
        Results by name.

    Raises
    ------
    SettingError
        When a measure is unknown, two have the same name, none has a setting, a value is not allowed, or a measure does
        not return a `Result`.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import from_matrix
    >>> measure(np.eye(2), from_matrix([[2, 2], [3, 1]]), ["npmi", "umass"], n_top=2)
    NPMI   0.0000, mean of 2 topics
    UMass  0.4055, mean of 2 topics
    """
    asked = folder.chosen(measures)
    settings = checked_names(asked, settings)
    documents = None if corpus is None else documents_of(corpus)
    train = None if train is None else documents_of(train, "train")
    subject = Subject(model, documents, vocabulary, doc_topic_prior, train)
    return Evaluation(list(zip(asked, results_of(asked, subject, settings, client, n_threads), strict=True)))


def checked_names(measures: Iterable[Measure], settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings under their current names; each is one of at least one measure.

    Raises
    ------
    SettingError
        When none of the measures has it.
    """
    known = {name: setting for measure in measures for name, setting in measure.settings.items()}
    current = renamed_settings(known, settings)
    if foreign := sorted(current.keys() - known.keys()):
        raise SettingError(
            f"{argument(foreign[0])}: is not a setting of these measures; theirs are: "
            f"{', '.join(map(argument, sorted(known))) or 'none'}"
        )
    return current


def result_of(
    measure: Measure,
    subject: Subject,
    settings: Mapping[str, Any],
    client: Any = None,
    n_threads: int | None = None,
) -> Any:
    """The result of one measure."""
    return results_of([measure], subject, settings, client, n_threads)[0]


def results_of(
    measures: Sequence[Measure],
    subject: Subject,
    settings: Mapping[str, Any],
    client: Any = None,
    n_threads: int | None = None,
) -> list[Result]:
    """A result for each measure; a block is read once for all of them. Measures take the settings that they have."""
    questions: list[_Question] = []
    places = []
    for one in measures:
        own = one.for_words(subject, settings).complete(settings)
        same = (i for i, q in enumerate(questions) if q.settings == own and q.measure.asks_the_same(one))
        places.append(next(same, len(questions)))
        if places[-1] == len(questions):
            with noting(f"measure {one.name!r}: prepare"):
                questions.append(_Question(one, own, one.prepare(subject, own)))
    title = ", ".join(one.title for one in measures)
    totals = _totals(questions, subject, title, client, n_threads)
    return [
        _finished(one, questions[place].state, totals[place], subject)
        for one, place in zip(measures, places, strict=True)
    ]


def _finished(measure: Measure, state: Any, total: Any, subject: Subject) -> Result:
    with noting(f"measure {measure.name!r}: finish"):
        result: Any = measure.finish(state, total)
    where = f"measure {measure.name!r}: finish returned"
    if not isinstance(result, Result) or not isinstance(getattr(result, "value", None), Real):
        raise SettingError(
            f"{where} {result!r}; it must return a Result whose value is a number, such as Score(0.5)"
        )
    if np.isinf(result.value):
        raise SettingError(f"{where} the value {result.value}; values are finite, or nan")
    if result.per_topic is not None:
        _check_per_topic(where, result.per_topic, subject.n_components)
        object.__setattr__(result, "topic_labels", subject.topic_labels)  # results are frozen
    return result


def _check_per_topic(where: str, per_topic: Any, n_components: int) -> None:
    if not isinstance(per_topic, np.ndarray) or per_topic.shape != (n_components,):
        found = f"of shape {per_topic.shape}" if isinstance(per_topic, np.ndarray) else repr(per_topic)
        raise SettingError(f"{where} per_topic {found}; it must be an array of shape ({n_components},)")
    if per_topic.dtype.kind not in "iuf" or np.isinf(per_topic).any():
        raise SettingError(
            f"{where} per_topic with {per_topic.dtype} values {per_topic}; they are finite, or nan"
        )


@dataclass(frozen=True, eq=False)
class _Question:
    """What a measure computes from the blocks."""

    measure: Measure
    settings: Mapping[str, Any]
    state: Any


def _totals(
    questions: Sequence[_Question], subject: Subject, title: str, client: Any, n_threads: int | None
) -> list[Any]:
    """The total of each question; None for those that use no blocks."""
    totals = [_start(question) for question in questions]
    of_blocks = [i for i, q in enumerate(questions) if q.measure.of_block is not None]
    if not of_blocks:
        return totals
    infers = any(questions[i].measure.doc_topics for i in of_blocks)
    task = _OfBlock(
        [(questions[i].measure.name, questions[i].measure.of_block, questions[i].state) for i in of_blocks],
        subject.inference if infers else None,
    )
    for pieces in over_blocks(task, subject.corpus, title, client, n_threads):
        for i, piece in zip(of_blocks, pieces, strict=True):
            totals[i] = piece if totals[i] is None else _combined(questions[i].measure, totals[i], piece)
    return totals


def _start(question: _Question) -> Any:
    if question.measure.start is None:
        return None
    with noting(f"measure {question.measure.name!r}: start"):
        return question.measure.start(question.state)


def _combined(measure: Measure, total: Any, piece: Any) -> Any:
    assert measure.combine is not None
    with noting(f"measure {measure.name!r}: combine"):
        return measure.combine(total, piece)


@dataclass(frozen=True, eq=False)
class _OfBlock:
    """All questions about one block of documents: pure, and picklable for workers."""

    questions: Sequence[tuple[str, Any, Any]]
    inference: Inference | None

    def __call__(self, block: Block) -> list[Any]:
        documents = Documents(block, self.inference)
        pieces = []
        for name, of_block, state in self.questions:
            with noting(f"measure {name!r}: of_block"):
                pieces.append(of_block(state, documents))
        return pieces
