"""Ids of documents, and words of their texts, in a SQLite database: for search. Texts themselves are not in it.

documents   position (in the store of topics) and id
texts       FTS5 without content: the words of ids and texts, by position in the corpus

In scripts without spaces between words, each character is a word, in the index and in what is searched for, so any run
of characters is found as a phrase. FTS5's own `trigram` would not find words of two characters, as most of Chinese are.
"""

from __future__ import annotations

import errno
import re
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any

from bigtopic.corpus.store import Corpus
from bigtopic.corpus.text.segmentation import UNSPACED
from bigtopic.errors import SettingError, warn

__all__ = ["MOST_COUNTED", "MOST_IDS", "MOST_WORDS", "Texts", "words_left_out", "write_ids", "write_texts"]

MOST_COUNTED = 100_000  # documents that a search finds
_MOST_RANKED = 10_000  # documents that are put in the order of their relevance; more are in stored order
MOST_WORDS = 64  # and phrases that are searched for, of one search
_SECONDS = 5.0  # that a query may take, while others wait
_STEPS = 1000  # of SQLite's machine between two looks at the clock
MOST_IDS = 1000  # documents that are found by the beginning of their id
_CACHE = 1 << 16  # KiB, while an index is written
_SPAN = 1 << 18  # entries of documents whose texts are read at once
_LAST = "\U0010ffff"
_TOKENIZER = "unicode61 remove_diacritics 2 categories 'L* N* Co M*'"  # marks are vowels in Thai and Hindi
_UNSPACED = re.compile(f"[{UNSPACED}]+")
_PIECES = re.compile(r'"([^"]*)"|(\S+)')


@contextmanager
def _new(path: Path) -> Iterator[sqlite3.Connection]:
    """A database that no process reads before it is complete, so that nothing need be undone. Raises OSError."""
    database = sqlite3.connect(path, isolation_level=None)
    try:
        for setting in ("journal_mode = OFF", "synchronous = OFF", f"cache_size = -{_CACHE}"):
            database.execute(f"PRAGMA {setting}")
        yield database
    except sqlite3.OperationalError as error:
        code = errno.ENOSPC if error.sqlite_errorcode == sqlite3.SQLITE_FULL else errno.EIO
        raise OSError(code, str(error)) from error
    finally:
        database.close()


def write_ids(
    path: Path, batches: Iterable[tuple[int, Sequence[str]]], tell: Callable[[int], object]
) -> None:
    """Write the ids of documents, of which each batch has the position of its first."""
    with _new(path) as database:
        database.execute(
            "CREATE TABLE documents (position INTEGER PRIMARY KEY, id TEXT NOT NULL COLLATE NOCASE)"
        )
        database.execute("BEGIN")
        for start, ids in batches:
            database.executemany("INSERT INTO documents VALUES (?, ?)", enumerate(ids, start))
            tell(len(ids))
        database.execute("CREATE INDEX by_id ON documents (id)")
        database.execute("COMMIT")


def write_texts(path: Path, corpus: Corpus, tell: Callable[[int], object]) -> bool:
    """Add the words of a corpus' texts and ids; whether there are any. Warns where SQLite has no full-text search."""
    if not corpus.has_text:
        return False
    with _new(path) as database:
        try:
            database.execute(
                f'CREATE VIRTUAL TABLE texts USING fts5(id, text, content="", tokenize="{_TOKENIZER}")'
            )
        except sqlite3.OperationalError as error:
            if "no such module" not in str(error):
                raise
            warn(
                "texts are not searched: Python's SQLite was built without FTS5; install a Python that has it"
            )
            return False
        database.execute("BEGIN")
        rows = enumerate(_texts(corpus, tell))
        database.executemany(
            "INSERT INTO texts (rowid, id, text) VALUES (?, ?, ?)", ((i, *row) for i, row in rows)
        )
        database.execute("COMMIT")
    return True


def _texts(corpus: Corpus, tell: Callable[[int], object]) -> Iterator[tuple[str, str]]:
    """The id and text of each document, in stored order."""
    for part, start, stop in corpus.spans(_SPAN):
        columns = part.ids(start, stop).tolist(), part.texts(start, stop).tolist()
        yield from zip(*(map(_separated, column) for column in columns), strict=True)
        tell(stop - start)


class Texts:
    """The database, for reading, from any thread.

    Raises
    ------
    sqlite3.Error
        When it is damaged.
    """

    def __init__(self, path: Path) -> None:
        self._database = sqlite3.connect(
            f"file:{_quoted(path)}?mode=ro&immutable=1", uri=True, check_same_thread=False
        )
        self._lock = threading.Lock()
        tables = {name for (name,) in self._rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "documents" not in tables:
            raise sqlite3.DatabaseError(f"{path} has no documents")
        self.searched = "texts" in tables

    def close(self) -> None:
        with self._lock:
            self._database.close()

    def _rows(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self._lock:
            until = monotonic() + _SECONDS
            self._database.set_progress_handler(lambda: monotonic() > until, _STEPS)
            try:
                return self._database.execute(query, values).fetchall()
            except sqlite3.OperationalError as error:
                if str(error) != "interrupted":
                    raise
                raise SettingError(
                    f"the search took more than {_SECONDS:g} seconds; search for fewer words, or less frequent ones"
                ) from error

    def ids(self, positions: Sequence[int]) -> list[str]:
        """Ids of the documents at these positions."""
        marks = ", ".join("?" * len(positions))
        found = dict(
            self._rows(f"SELECT position, id FROM documents WHERE position IN ({marks})", *positions)
        )
        return [found[position] for position in positions]

    def position(self, document_id: str) -> int | None:
        """The first document with exactly this id."""
        query = "SELECT min(position) FROM documents WHERE id = ? AND id = ? COLLATE BINARY"
        ((found,),) = self._rows(query, document_id, document_id)
        return found

    def beginning_with(self, text: str) -> list[int]:
        """The documents whose ids begin with a text, lower and upper case alike; those whose id it is come first."""
        query = "SELECT position FROM documents WHERE id >= ? AND id < ? ORDER BY id, position LIMIT ?"
        return [position for (position,) in self._rows(query, text, text + _LAST, MOST_IDS)]

    def matching(self, asked: str) -> tuple[list[int], bool]:
        """The documents with all the words, and phrases in quotation marks, by position in the corpus; and whether
        these are all of them. The most relevant come first, unless there are very many."""
        query = _query(asked)
        if not (query and self.searched):
            return [], True
        found = [
            row
            for (row,) in self._rows(
                "SELECT rowid FROM texts WHERE texts MATCH ? LIMIT ?", query, MOST_COUNTED + 1
            )
        ]
        if 1 < len(found) <= _MOST_RANKED:
            ranked = self._rows("SELECT rowid FROM texts WHERE texts MATCH ? ORDER BY rank, rowid", query)
            found = [row for (row,) in ranked]
        return found[:MOST_COUNTED], len(found) <= MOST_COUNTED


def _query(asked: str) -> str:
    """What FTS5 takes: every word or phrase in quotation marks, in which nothing has a meaning of its own."""
    return " ".join(f'"{piece}"' for piece in _pieces(asked)[:MOST_WORDS])


def words_left_out(asked: str) -> int:
    """How many words and phrases of a search are beyond `MOST_WORDS`."""
    return max(0, len(_pieces(asked)) - MOST_WORDS)


def _pieces(asked: str) -> list[str]:
    """The words and phrases of a search, each once."""
    found = ["".join(groups).replace('"', " ").replace("\0", " ") for groups in _PIECES.findall(asked)]
    pieces = map(_separated, dict.fromkeys(found))
    return [piece for piece in pieces if any(map(str.isalnum, piece))]


def _separated(text: str) -> str:
    """The text with spaces around each character of a script that has none between words."""
    return text if text.isascii() else _UNSPACED.sub(lambda run: f" {' '.join(run[0])} ", text)


def _quoted(path: Path) -> str:
    from urllib.parse import quote

    return quote(str(path))
