"""Cases of what a source is taken for: a small source, and the right answer.

A module `rows_<subject>.py` holds a list `CASES`; `test_recognition.py` runs those of all modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Case", "Files", "Read", "Refused", "Warned"]


@dataclass(frozen=True)
class Files:
    """Files below a folder, {path: text or bytes}. The source is the file if there is one, else the folder.

    whole : the source is the folder in any case
    """

    contents: Mapping[str, str | bytes]
    whole: bool = False

    def write(self, folder: Path) -> Path:
        for name, content in self.contents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        return folder if self.whole or len(self.contents) > 1 else folder / next(iter(self.contents))


@dataclass(frozen=True)
class Read:
    """Read without a warning.

    documents : how many
    words : {word: how often}, all of them; None is not compared
    ids, columns : in the source's order; None is not compared
    authors : names of each document, in the source's order, those of a document in any order
    """

    documents: int
    words: Mapping[str, float] | None = None
    ids: Sequence[str] | None = None
    columns: Mapping[str, Sequence[Any]] | None = None
    authors: Sequence[Sequence[str]] | None = None


@dataclass(frozen=True)
class Warned:
    """Read, but with a warning that contains this: only where both readings are sensible."""

    message: str
    read: Read


@dataclass(frozen=True)
class Refused:
    """Refused with an error that contains all of these, and no store is left."""

    message: str | Sequence[str]


@dataclass(frozen=True)
class Case:
    """A source and the right answer.

    name : what it is, as people would say it
    source : `Files`, a function of a folder that makes the source in it, or any other object as it is
    right : `Read`, `Warned` or `Refused`
    options : of `ingest`; all words are kept unless these say otherwise
    """

    name: str
    source: Files | Callable[[Path], Any] | Any
    right: Read | Warned | Refused
    options: Mapping[str, Any] = field(default_factory=dict)
