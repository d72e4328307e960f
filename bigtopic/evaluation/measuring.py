"""Several measures in one pass over a corpus, and their results as a table."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
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

__all__ = ["Evaluation", "checked_names", "evaluation_of", "free_label", "measure", "result_of", "results_of"]


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


def free_label(label: str, measure: Measure, taken: Mapping[str, Any]) -> str:
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
    return evaluation_of(asked, subject, settings, client, n_threads)


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
            f"{argument(foreign[0])}: is not a setting of these measures; their settings are: "
            f"{', '.join(map(argument, sorted(known))) or 'none'}"
        )
    return current


def evaluation_of(
    measures: Sequence[Measure],
    subject: Subject,
    settings: Mapping[str, Any],
    client: Any = None,
    n_threads: int | None = None,
) -> Evaluation:
    """The results of measures by name, see `results_of`."""
    found = results_of(measures, subject, settings, client, n_threads)
    return Evaluation(list(zip(measures, found, strict=True)))


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
    answers = []
    for one in measures:
        own = one.for_words(subject, settings).complete(settings)
        same = (q for q in questions if q.settings == own and q.measure.asks_the_same(one))
        question = next(same, None)
        if question is None:
            question = _Question(one, subject, own)
            questions.append(question)
        answers.append((one, question))
    title = ", ".join(one.title for one in measures)
    if of_blocks := [question for question in questions if question.measure.of_block is not None]:
        inference = subject.inference if any(q.measure.doc_topics for q in of_blocks) else None
        asked = [(q.measure.name, q.measure.of_block, q.state) for q in of_blocks]
        texts = any(q.measure.texts for q in of_blocks)
        n = 1 if inference is None else subject.n_components
        ask = partial(_pieces, asked, inference)
        for pieces in over_blocks(ask, subject.corpus, title, client, n_threads, texts, n):
            for question, piece in zip(of_blocks, pieces, strict=True):
                question.add(piece)
    return [_finished(one, question, subject) for one, question in answers]


class _Question:
    """What a measure computes from the blocks: its state, and the total so far; None if it uses no blocks."""

    def __init__(self, measure: Measure, subject: Subject, settings: Mapping[str, Any]) -> None:
        self.measure, self.settings = measure, settings
        with noting(f"measure {measure.name!r}: prepare"):
            self.state = measure.prepare(subject, settings)
        self.total: Any = None
        if measure.start is not None:
            with noting(f"measure {measure.name!r}: start"):
                self.total = measure.start(self.state)

    def add(self, piece: Any) -> None:
        if self.total is None:
            self.total = piece
            return
        assert self.measure.combine is not None
        with noting(f"measure {self.measure.name!r}: combine"):
            self.total = self.measure.combine(self.total, piece)


def _pieces(
    asked: Sequence[tuple[str, Any, Any]],
    inference: Inference | None,
    block: Block,
    texts: np.ndarray | None = None,
) -> list[Any]:
    """The pieces of one block, for each measure that is asked, with its state: pure, and sent to workers."""
    documents, pieces = Documents(block, inference, texts), []
    for name, of_block, state in asked:
        with noting(f"measure {name!r}: of_block"):
            pieces.append(of_block(state, documents))
    return pieces


def _finished(measure: Measure, question: _Question, subject: Subject) -> Result:
    with noting(f"measure {measure.name!r}: finish"):
        result: Any = measure.finish(question.state, question.total)
    where = f"measure {measure.name!r}: finish returned"
    if not isinstance(result, Result) or not isinstance(getattr(result, "value", None), Real):
        raise SettingError(
            f"{where} {result!r}; it must return a Result whose value is a number, such as Score(0.5)"
        )
    if np.isinf(result.value):
        raise SettingError(f"{where} the value {result.value}; values are finite, or nan")
    if (values := result.per_topic) is None:
        return result
    shape: Any = (subject.n_components,)
    if not isinstance(values, np.ndarray) or values.shape != shape:
        found = f"of shape {values.shape}" if isinstance(values, np.ndarray) else repr(values)
        raise SettingError(f"{where} per_topic {found}; it must be an array of shape ({shape[0]},)")
    if values.dtype.kind not in "iuf" or np.isinf(values).any():
        raise SettingError(f"{where} per_topic with {values.dtype} values {values}; they are finite, or nan")
    object.__setattr__(result, "topic_labels", subject.topic_labels)  # results are frozen
    return result
