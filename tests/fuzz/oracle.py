"""What must be true after an input was read: accepted right, or refused with an error of ours and nothing left."""

from __future__ import annotations

import re
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from reference.parsers import Document, Invalid, Unsure

__all__ = ["Failure", "Refused", "attempt", "check_corpus", "judge", "only_our_warnings", "snapshot"]


class Failure(Exception):
    """The input shows a defect. `cause` is short and equal for equal causes."""

    def __init__(self, cause: str, detail: str = "") -> None:
        super().__init__(f"{cause}\n{detail}".strip())
        self.cause = cause


@dataclass(frozen=True)
class Refused:
    """An error of ours."""

    kind: str
    message: str


@dataclass
class Case:
    """Something to be read.

    run : reads it and returns a corpus, or raises
    named : one of these must be in the message of every error
    expected : the documents, by an independent reader; it raises `Invalid` or `Unsure`. None when there is no such
    peer : the documents as another library reads what was accepted; it raises `Unsure`. None when there is no such
    how : the mutations
    """

    run: Callable[[], Any]
    named: Sequence[str]
    expected: Callable[[], list[Document]] | None = None
    how: str = ""
    peer: Callable[[], list[Document]] | None = None
    notes: list[str] = field(default_factory=list)


def attempt(run: Callable[[], Any], named: Sequence[str]) -> Any:
    """What `run` returns, or `Refused`.

    Raises
    ------
    Failure
        For any other exception, and for an error that does not say what it is about.
    """
    from bigtopic.errors import BigtopicError

    try:
        return run()
    except Failure:
        raise
    except BigtopicError as error:
        message = str(error)
        if not any(name in message for name in named):
            cause = f"{type(error).__name__} names none of {', '.join(named[:3])}: {_general(message)}"
            raise Failure(cause, message) from error
        if len(message) > 5000:
            raise Failure(
                f"{type(error).__name__}: a message of {len(message)} characters", message[:500]
            ) from error
        return Refused(type(error).__name__, message)
    except MemoryError as error:
        raise Failure(f"memory bomb: MemoryError {_place(error)}", traceback.format_exc()[-3000:]) from error
    except BaseException as error:
        text = traceback.format_exc()
        raise Failure(f"{type(error).__name__} {_place(error)}", text[-4000:]) from error


def _general(message: str) -> str:
    """A message without numbers, quoted values and folders, so that equal causes are equal."""
    message = re.sub(r"'[^']*'", "'...'", message[:150])
    return re.sub(r"\d+", "N", re.sub(r"/\S*/", "", message))[:90]


def _place(error: BaseException) -> str:
    """Where our code was, last."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "/bigtopic/" in frame.filename]
    if not ours:
        return f"in the harness: {frames[-1].filename}:{frames[-1].lineno}"
    last = ours[-1]
    return f"at bigtopic/{last.filename.rpartition('/bigtopic/')[2]}:{last.lineno} in {last.name}"


def judge(case: Case, watched: Callable[[], Any]) -> Refused | None:
    """Read a case; `watched` describes everything that a refusal must leave as it was.

    Raises
    ------
    Failure
    """
    expected = _expected(case)  # before anything can write into the arrays of the source
    before = watched()
    corpus = attempt(case.run, case.named)
    if isinstance(corpus, Refused):
        _check_refusal(corpus, expected)
        if (after := watched()) != before:
            raise Failure("a refused input left something behind", _difference(before, after))
        return corpus
    found = check_corpus(corpus)
    _check_documents(found, expected)
    if case.peer is not None:
        with suppress(Unsure):
            _check_documents(found, case.peer())
    return None


def _expected(case: Case) -> list[Document] | Invalid | None:
    """The documents of a case, why there can be none, or None when nobody can say."""
    if case.expected is None:
        return None
    try:
        return case.expected()
    except Unsure:
        return None
    except Invalid as invalid:
        return invalid


def _check_refusal(refused: Refused, expected: list[Document] | Invalid | None) -> None:
    if isinstance(expected, list):
        raise Failure(f"a valid input is refused: {_general(refused.message)}", refused.message)
    places = r"line \d+|header|cells|entries|words|one kind|no rows|row \d+|decreas|offsets"
    if expected is not None and expected.line is not None and not re.search(places, refused.message):
        raise Failure("an error does not name the line", f"{expected}: {refused.message}")


def _check_documents(found: list[Document], expected: list[Document] | Invalid | None) -> None:
    if expected is None:
        return
    if isinstance(expected, Invalid):
        raise Failure(f"an invalid input is accepted: {expected}", f"line {expected.line}")
    if len(found) != len(expected):
        raise Failure("another number of documents", f"{len(found)}, not {len(expected)}")
    for i, (a, b) in enumerate(zip(found, expected, strict=True)):
        if set(a) != set(b) or not np.allclose([a[w] for w in b], list(b.values()), rtol=1e-6, atol=0):
            raise Failure("another document than the reference gives", f"document {i}: {a}, not {b}")


def check_corpus(corpus: Any) -> list[Document]:
    """Documents of a corpus that is sound in every respect, in the source's order.

    Raises
    ------
    Failure, or whatever reading raises
    """
    corpus.verify()
    matrix = corpus.to_scipy("source").tocsr()
    words = None if not corpus.vocabulary.named else [str(word) for word in corpus.vocabulary[:]]
    _expect(matrix.shape == (corpus.n_docs, corpus.n_words) and corpus.n_docs > 0, "shape")
    _expect(matrix.nnz == corpus.nnz, "nnz")
    _expect(bool(((matrix.indices >= 0) & (matrix.indices < corpus.n_words)).all()), "word ids")
    _expect(
        bool(np.isfinite(matrix.data).all() and (matrix.data > 0).all()), "counts not finite and positive"
    )
    _expect(bool(np.isclose(matrix.data.sum(dtype=np.float64), corpus.n_tokens, rtol=1e-6)), "n_tokens")
    _expect(words is None or (len(words) == corpus.n_words and len(set(words)) == len(words)), "words")
    rows = corpus.rows()
    _expect(len(rows) == corpus.n_docs and len(set(rows.tolist())) == len(rows) and (rows >= 0).all(), "rows")
    ids = corpus.document_ids()
    _expect(len(ids) == corpus.n_docs and all(isinstance(i, str) for i in ids), "ids")
    for values in corpus.read_columns().values():
        _expect(len(values) == corpus.n_docs, "columns")
    return [
        {
            str(w) if words is None else words[w]: float(n)
            for w, n in zip(matrix.indices[a:b], matrix.data[a:b], strict=True)
        }
        for a, b in zip(matrix.indptr, matrix.indptr[1:], strict=False)
    ]


def _expect(holds: bool, what: str) -> None:
    if not holds:
        raise Failure(f"an accepted corpus is wrong: {what}")


def snapshot(*roots: Path) -> dict[str, Any]:
    """What is where: bytes of files, targets of links, names of the rest."""
    found: dict[str, Any] = {}
    for root in roots:
        for path in _walk(root):
            if path.is_symlink():
                found[str(path)] = f"-> {path.readlink()}"
            elif path.is_file():
                found[str(path)] = path.read_bytes()
            else:
                found[str(path)] = "folder" if path.is_dir() else "pipe"
    return found


def _walk(root: Path) -> Iterator[Path]:
    """Everything below a folder; links are not followed."""
    if root.is_symlink() or not root.is_dir():
        return
    for path in sorted(root.iterdir()):
        yield path
        yield from _walk(path)


def _difference(before: Any, after: Any) -> str:
    if not isinstance(before, dict):
        return f"{before!r}, then {after!r}"[:1000]
    lost, new = sorted(set(before) - set(after)), sorted(set(after) - set(before))
    changed = [name for name in before if name in after and before[name] != after[name]]
    return f"lost {lost[:5]}, new {new[:5]}, changed {changed[:5]}"


@contextmanager
def only_our_warnings(ignored: Iterable[str] = ()) -> Iterator[None]:
    """A warning that is not a `BigtopicWarning` is a failure."""
    from bigtopic.errors import BigtopicWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "The 'future.infer_string' option")  # as in pyproject.toml
        yield
    for warning in caught:
        if not issubclass(warning.category, BigtopicWarning):
            where = f"{warning.filename.rpartition('/site-packages/')[2]}:{warning.lineno}"
            where = where.rpartition("/bigtopic/")[2]
            raise Failure(
                f"{warning.category.__name__}: {str(warning.message)[:70]} ({where})", str(warning.message)
            )
