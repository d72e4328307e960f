"""Word and document intrusion: can a reader tell which word, or document, does not belong to a topic?

A question shows the n top words (or documents) of a topic and an intruder, in random order. The intruder is drawn at
random among the top ones of the other topics, from the half of them that have the lowest probability in the topic, so
that it is out of place but not rare:

    words       by p(word | topic)
    documents   by theta_dk, inferred the same way for every model

Questions are a CSV file for raters, human or machine, who write the number of the intruder into the column `answer`.
The solution is a second file, which raters must not see. With several raters, each answers a copy of the first file.

    precision of topic k = raters who found the intruder / raters who answered
    value                = mean over the questions with an answer, with its standard error over them

A rater who guesses finds 1 / (n + 1). Text from a corpus is data: cells that a spreadsheet would take for formulas
begin with an apostrophe. The same seed gives the same files, byte by byte.

References
----------
Chang, Boyd-Graber, Gerrish, Wang, Blei: Reading tea leaves: how humans interpret topic models. NIPS 2009, section 3.
Lau, Newman, Baldwin: Machine reading tea leaves. EACL 2014 (machine raters).
Bhatia, Lau, Baldwin: Topic intrusion for automatic topic model evaluation. EMNLP 2018.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import blake2b
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from bigtopic.corpus.order import checked_seed, document_keys
from bigtopic.corpus.store import Corpus
from bigtopic.errors import InputError, SettingError, argument, either
from bigtopic.evaluation.base import Result
from bigtopic.evaluation.held_out import mean_and_error
from bigtopic.evaluation.measures.prevalence import prevalence
from bigtopic.evaluation.source import top_words, topics_of
from bigtopic.evaluation.subject import CorpusOrPath, Documents, Subject, documents_of
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.storage.local import store_errors
from bigtopic.storage.output_file import check_replaceable, write_output
from bigtopic.storage.place import Place
from bigtopic.support.numbers import is_whole
from bigtopic.wording import counted, printable

__all__ = ["IntrusionScore", "document_intrusion", "score_intrusion", "word_intrusion"]

_LONGEST = 1000  # characters of a document
_FORMULA = re.compile(
    r'(^|[;,\t|])([\s"]*)(?=[=+\-@＝＋－＠])'
)  # a cell, also where ; or a tab divides cells
_KEY = ("set", "question", "topic", "intruder", "choices")
_LARGEST = 1 << 24  # bytes of an answered file


@dataclass(frozen=True, repr=False)
class IntrusionScore(Result):
    """How often raters found the intruders. See the module for the formulas.

    Attributes
    ----------
    value : mean precision of the questions with an answer
    standard_error : of `value`, over questions; nan for one question
    per_topic : float64 (n_components,), precision of each topic; nan without an answer
    chance : expected precision of a rater who guesses
    n_raters, n_answers, n_unanswered : files, answers, and questions that a rater left out
    """

    value: float
    standard_error: float
    per_topic: np.ndarray = field(repr=False)
    chance: float
    n_raters: int
    n_answers: int
    n_unanswered: int

    reported: ClassVar[tuple[str, ...]] = (
        "value", "standard_error", "per_topic", "chance", "n_raters", "n_answers", "n_unanswered",
    )  # fmt: skip

    @property
    def baselines(self) -> Mapping[str, float]:
        return {"chance": self.chance}

    def details(self) -> dict[str, str]:
        left_out = f", {self.n_unanswered:,} left out" if self.n_unanswered else ""
        return {
            "rated": f"{counted(self.n_answers, 'answer')} of {counted(self.n_raters, 'rater')}{left_out}"
        }


def word_intrusion(
    model: Any, path: str | PathLike[str], n_top: int = 5, random_state: int = 0, *, vocabulary: Any = None
) -> tuple[Path | str, Path | str]:
    """Write a question for each topic: which of these words does not belong to the others?

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` is passed
    path : file or URL of the questions, ending in .csv; the solution is beside it, ending in .key.csv
    n_top : top words of a topic in a question
    random_state : seed of intruders and orders

    Returns
    -------
    questions, key : paths of the two files

    Raises
    ------
    SettingError
        When `path` does not end in .csv, `n_top` is not allowed, or topics have the same top words.
    StoreError
        When one of the files exists, or cannot be written.
    """
    seed, places, source = checked_seed(random_state), _places(path), topics_of(model, vocabulary)
    own, _ = top_words(source, n_top)
    pool = np.unique(own)
    _check_room(len(pool), source.n_components)
    weights = source.gather(pool.astype(np.int32))
    names = {int(i): str(source.vocabulary[int(i)]) for i in pool}
    return _write(places, "word", own, pool, weights, names, seed)


def document_intrusion(
    model: Any,
    corpus: CorpusOrPath,
    path: str | PathLike[str],
    n_documents: int = 4,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
) -> tuple[Path | str, Path | str]:
    """Write a question for each topic: which of these documents does not belong to the others?

    A document is shown by the first 1000 characters of its text, or, where the text was not kept, by its words, the
    most frequent first.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` is passed
    corpus : documents to choose from, or the path of their corpus
    path : file or URL of the questions, ending in .csv; the solution is beside it, ending in .key.csv
    n_documents : documents of a topic in a question, those with the largest weights of it
    random_state : seed of intruders and orders
    client, n_threads : see `measure`

    Returns
    -------
    questions, key : paths of the two files

    Raises
    ------
    SettingError
        When `path` does not end in .csv, `n_documents` is not between 1 and the number of documents less 1, or topics
        have the same top documents.
    StoreError
        When one of the files exists, or cannot be written.
    """
    seed, places, corpus = checked_seed(random_state), _places(path), documents_of(corpus)
    if not is_whole(n_documents) or not 1 <= n_documents < corpus.n_docs:
        raise SettingError(
            f"{argument('n_documents', n_documents)}: must be a whole number from 1 to {corpus.n_docs - 1}, one less "
            "than there are documents"
        )
    own = prevalence(model, corpus, n_documents, client, n_threads, vocabulary=vocabulary).rows
    pool = np.unique(own)
    few = corpus.select(rows=pool)
    _check_room(len(pool), own.shape[0])
    weights = Documents(few.read(), Subject(model, few, vocabulary).inference).doc_topics
    return _write(places, "document", own, pool, weights, _shown(few), seed)


def score_intrusion(
    answers: str | PathLike[str] | Sequence[str | PathLike[str]], key: str | PathLike[str] | None = None
) -> IntrusionScore:
    """Score answered questions of `word_intrusion` or `document_intrusion`.

    Parameters
    ----------
    answers : path of the answered file, or a list of them, one for each rater. Files that a spreadsheet saved as CSV,
        with semicolons or tabs too, are read; questions without an answer are left out
    key : path of the solution; None for the file ending in .key.csv beside the first of `answers`

    Raises
    ------
    SettingError
        When `answers` has no path, or one twice.
    InputError
        When a file does not have the columns, belongs to another key, or has an answer that is not a number of its
        choices; names the file and the line.
    StoreError
        When a file cannot be read.
    """
    several = isinstance(answers, Iterable) and not isinstance(answers, str | PathLike)
    paths: list[Any] = [*answers] if several else [answers]  # type: ignore[misc]
    if not paths or answers is None:
        raise SettingError(f"{argument('answers')}: give the path of an answered file, or several")
    if len({Place.of(path).url for path in paths}) < len(paths):
        raise SettingError(f"{argument('answers')}: a file is there twice; give one for each rater")
    of_key = _places(paths[0])[1] if key is None else Place.of(key)
    if key is None and not of_key.exists():
        raise SettingError(
            f"{argument('key')}: there is no {of_key.url} beside the answers; give the path of the file that "
            "ends in .key.csv and was written with the questions"
        )
    solutions: dict[tuple[str, str], tuple[int, int, int]] = {}
    for line, row in _read(of_key, _KEY):
        topic, intruder, choices = (_number(of_key, line, row, name) for name in _KEY[2:])
        if not 1 <= intruder <= choices:
            raise InputError(
                f"{of_key.url}, line {line}: there is no choice {intruder}; give the key as it was written"
            )
        solutions[row["set"], row["question"]] = topic, intruder, choices
    if not solutions or sorted(topic for topic, _, _ in solutions.values()) != list(range(len(solutions))):
        raise InputError(
            f"{of_key.url}: does not have a question for each topic; give the key as it was written"
        )
    found, asked = np.zeros(len(solutions)), np.zeros(len(solutions))
    for path in paths:
        place, seen = Place.of(path), set()
        for line, row in _read(place, ("set", "question", "answer")):
            question = row["set"], row["question"]
            if question not in solutions or question in seen:
                fault = "there twice" if question in seen else f"not in {of_key.url}"
                raise InputError(
                    f"{place.url}, line {line}: question {row['question']!r:.60} of set {row['set']!r:.60} is {fault}; "
                    "answer each question of a set once, and give the key that was written with it"
                )
            seen.add(question)
            topic, intruder, choices = solutions[question]
            if row["answer"]:
                answer = _number(place, line, row, "answer")
                if not 1 <= answer <= choices:
                    raise InputError(
                        f"{place.url}, line {line}: the answer {answer} must be the number of a choice, 1 to {choices}"
                    )
                asked[topic] += 1
                found[topic] += answer == intruder
    if not asked.any():
        raise InputError(
            f"{argument('answers')}: no question has an answer; write the number of the intruder into the column answer"
        )
    per_topic = np.divide(found, asked, out=np.full(len(asked), np.nan), where=asked > 0)
    scored = per_topic[asked > 0]
    value, error = mean_and_error(scored)
    return IntrusionScore(
        value=value,
        standard_error=error,
        per_topic=per_topic,
        chance=float(np.mean([1 / choices for _, _, choices in solutions.values()])),
        n_raters=len(paths),
        n_answers=int(asked.sum()),
        n_unanswered=int(len(paths) * len(asked) - asked.sum()),
    )


def _check_room(n: int, n_components: int) -> None:
    refuse_beyond(
        8 * n * n_components,
        "give fewer documents or words in a question, or a model of fewer topics",
        f"questions about {n_components:,} topics need",
    )


def _places(path: Any) -> tuple[Place, Place]:
    """Where questions and their solution are."""
    place = Place.of(path)
    if not place.url.lower().endswith(".csv") or place.url.lower().endswith(".key.csv"):
        raise SettingError(
            f"{place.url}: give a name of the questions that ends in .csv, and not in .key.csv"
        )
    return place, Place(f"{place.url[:-4]}.key.csv", place.options)


def _shown(corpus: Corpus) -> dict[int, str]:
    """What raters see of each document, by its row in the source."""
    shown = {}
    for document in corpus:
        text = document.text
        if not text:
            text = " ".join(sorted(document.counts, key=lambda word, n=document.counts: -n[word]))  # type: ignore[misc]
        text = " ".join(text.split())
        shown[document.row] = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return shown


def _write(
    places: tuple[Place, Place],
    kind: str,
    own: np.ndarray,
    pool: np.ndarray,
    weights: np.ndarray,
    names: Mapping[int, str],
    seed: int,
) -> tuple[Path | str, Path | str]:
    """Write the two files.

    Parameters
    ----------
    own : (n_components, n), the top words or documents of each topic
    pool : (m,), all of them in ascending order
    weights : (m, n_components), their weight in each topic
    """
    n_components, n = own.shape
    questions = [_question(k, own[k], pool, weights[:, k], seed, kind) for k in range(n_components)]
    cells = [[_safe(names[i]) for i in shown] for shown, _ in questions]
    digest = blake2b(repr((kind, seed, cells)).encode(), digest_size=6).hexdigest()
    order = np.argsort(document_keys(seed, n_components * (n + 2) + np.arange(n_components)), kind="stable")
    asked = [["set", "question", *(f"{kind}_{i}" for i in range(1, n + 2)), "answer"]]
    solved: list[list[Any]] = [list(_KEY)]
    for number, topic in enumerate(order.tolist(), 1):
        label = [f"set-{digest}", f"q{number}"]
        asked.append([*label, *cells[topic], ""])
        solved.append([*label, topic, questions[topic][1], n + 1])
    checks = [partial(check_replaceable, place, (), "an empty file") for place in places]
    for check in checks:
        check()
    written = write_output(places[0], _csv(asked), checks[0])
    try:
        return written, write_output(places[1], _csv(solved), checks[1])
    except BaseException:
        places[0].remove()
        raise


def _question(
    topic: int, own: np.ndarray, pool: np.ndarray, weights: np.ndarray, seed: int, kind: str
) -> tuple[list[int], int]:
    """What a question shows, in order, and the position of the intruder, from 1."""
    others = ~np.isin(pool, own)
    if not others.any():
        raise SettingError(
            f"{argument('model')}: no other topic has a top {kind} that topic {topic} lacks; give a model of at least "
            f"two different topics, or fewer {kind}s a question"
        )
    candidates = pool[others][np.argsort(weights[others], kind="stable")]
    draws = document_keys(seed, topic * (len(own) + 2) + np.arange(len(own) + 2))
    intruder = candidates[int(draws[0] % np.uint64((len(candidates) + 1) // 2))]
    order = np.argsort(draws[1:], kind="stable")
    shown = np.append(own, intruder)[order]
    return shown.tolist(), int(np.flatnonzero(order == len(own))[0]) + 1


def _safe(text: str) -> str:
    """A text on one line that no spreadsheet takes for a formula."""
    return _FORMULA.sub(r"\1\2'", printable(" ".join(text.split())))


def _csv(rows: Sequence[Sequence[Any]]) -> bytes:
    """In UTF-8 with the mark at the beginning by which Excel recognises it."""
    file = StringIO()
    csv.writer(file, lineterminator="\r\n").writerows(rows)
    return file.getvalue().encode("utf-8-sig")


def _read(place: Place, wanted: Sequence[str]) -> Iterator[tuple[int, dict[str, str]]]:
    """Number of the line and the wanted columns of each row that is not empty."""
    with store_errors("read", place.url):
        data = place.read(0, _LARGEST + 1)
    if len(data) > _LARGEST:
        raise InputError(f"{place.url}: has more than {_LARGEST:,} bytes; give a file of answers")
    text = data.decode("utf-8-sig", "replace")  # of which only columns in ASCII are read
    dividers = re.match(r'"?set"?([,;\t])', text)
    rows = csv.reader(StringIO(text, newline=""), delimiter=dividers[1] if dividers else ",")
    try:
        header = next(rows, [])
        if missing := [name for name in wanted if name not in header]:
            raise InputError(
                f"{place.url}, line 1: there is no column {missing[0]!r}; give a file that "
                + either("word_intrusion or document_intrusion", "'bigtopic intrusion write'")
                + " wrote, saved as CSV"
            )
        for row in rows:
            if any(row):
                cells = dict(zip(header, row, strict=False))
                yield rows.line_num, {name: cells.get(name, "").strip() for name in wanted}
    except csv.Error as error:
        raise InputError(f"{place.url}, line {rows.line_num}: {error}; save the file as CSV") from error


def _number(place: Place, line: int, row: Mapping[str, str], name: str) -> int:
    digits = re.fullmatch(r"([0-9]{1,9})(?:[.,]0*)?", row[name], re.ASCII)
    if digits is None:
        raise InputError(f"{place.url}, line {line}: {name} {row[name]!r:.60} must be a whole number")
    return int(digits[1])
