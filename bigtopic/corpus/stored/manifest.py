"""The manifest: what a corpus consists of. Nothing else in a store changes, and it changes in one write.

A store may come from any source, and compiled loops trust its figures, so each field has a rule.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

from bigtopic.corpus.columns import array_name
from bigtopic.corpus.stored.ingestion_record import INGESTION, Ingestion
from bigtopic.corpus.stored.schema import (
    COLUMN_TYPES,
    FORMAT,
    FORMAT_VERSION,
    MANIFEST,
    MOST_NUMBERS,
    MOST_WORDS,
)
from bigtopic.errors import CorpusDamaged, CorpusVersionError, InputError, either
from bigtopic.storage.json_rules import (
    FieldError,
    any_of,
    anything,
    flag,
    listing,
    mapping,
    number,
    one_of,
    optional,
    record,
    text,
    whole,
)
from bigtopic.storage.place import Place
from bigtopic.storage.writers import WRITER
from bigtopic.storage.zarr_metadata import NotAGroup, group_attributes

__all__ = [
    "ANEW",
    "TEXT",
    "Manifest",
    "NameList",
    "PartRecord",
    "Unfinished",
    "check_manifest",
    "checked_manifest",
    "read_manifest",
]

ANEW = "store the corpus anew, at another path: bigtopic.ingest(bigtopic.open_corpus(path), another)"


@dataclass(frozen=True)
class PartRecord:
    """A committed part: its path below the root, figures, and the CRC-32 of the bytes of each array (hex).

    `authors` is the path of authors that were attached later, which take the place of those in the part.
    """

    path: str
    n_docs: int
    nnz: int
    n_tokens: float
    n_bytes: int
    crc32: Mapping[str, str]
    authors: str | None = None

    @property
    def has_text(self) -> bool:
        """Whether the part holds the text of its documents."""
        return "text/utf8" in self.crc32

    def path_of(self, array: str) -> str:
        """Path of an array, below the root."""
        if self.authors is not None and array.startswith("authors/"):
            return f"{self.authors}/{array.removeprefix('authors/')}"
        return f"{self.path}/{array}"


@dataclass(frozen=True)
class NameList:
    """A stored list of words or authors."""

    path: str
    size: int
    named: bool
    fingerprint: str


@dataclass(frozen=True)
class Manifest:
    """Everything about a corpus but its documents.

    Attributes
    ----------
    generation : number of commits before this one
    next_part : number of the next part; numbers are never used twice
    n_rows : rows of the sources so far, dropped documents included; an append continues from here
    seed, shuffled : of the order
    vocabulary, authors : where the words and author names are
    columns : {name: Zarr data type}
    has_ids : whether the source named its documents
    text, words : settings of the tokeniser, and limits on the vocabulary
    replaced : paths of authors that were replaced last, for readers that have the corpus open
    ingestion : what the last ingest took and left out; None in a corpus of an earlier version
    """

    generation: int
    next_part: int
    n_rows: int
    seed: int
    shuffled: bool
    vocabulary: NameList
    authors: NameList | None
    columns: Mapping[str, str]
    has_ids: bool
    text: Mapping[str, Any] | None
    words: Mapping[str, Any]
    parts: tuple[PartRecord, ...] = field(default_factory=tuple)
    replaced: tuple[str, ...] = ()
    ingestion: Ingestion | None = None

    @property
    def author_paths(self) -> set[str]:
        """Paths of the author names, and of authors that were attached later."""
        layers = {part.authors.rpartition("/")[0] for part in self.parts if part.authors is not None}
        return layers if self.authors is None else layers | {self.authors.path}

    @property
    def has_text(self) -> bool:
        """Whether the text of its documents was kept."""
        return any(part.has_text for part in self.parts)

    def to_dict(self) -> dict[str, Any]:
        figures = {
            "n_docs": sum(part.n_docs for part in self.parts),
            "n_words": self.vocabulary.size,
            "nnz": sum(part.nnz for part in self.parts),
            "n_tokens": sum(part.n_tokens for part in self.parts),
        }
        return {"format": FORMAT, "version": self._version, **figures, **asdict(self)}

    @property
    def _version(self) -> int:
        """The first version of the format that has all that this corpus has."""
        if self.has_text:
            return FORMAT_VERSION
        return 1 if all(part.authors is None for part in self.parts) else 2

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], where: str = "the manifest") -> Manifest:
        """The manifest that `to_dict` gave.

        Raises
        ------
        FieldError
            Naming the field that is missing, or holds what it must not.
        """
        check_manifest(values, where)
        known = {name: values[name] for name in cls.__dataclass_fields__ if name in values}
        known["vocabulary"] = _of(NameList, known["vocabulary"])
        known["authors"] = None if known["authors"] is None else _of(NameList, known["authors"])
        known["parts"] = tuple(_of(PartRecord, part) for part in known["parts"])
        known["replaced"] = tuple(known.get("replaced", ()))
        if known.get("ingestion") is not None:
            known["ingestion"] = Ingestion.from_dict(known["ingestion"])
        return cls(**known)


Record = TypeVar("Record", PartRecord, NameList)


def _of(kind: type[Record], values: Mapping[str, Any]) -> Record:
    return kind(**{name: values[name] for name in kind.__dataclass_fields__ if name in values})


class Unfinished(CorpusVersionError):
    """There is only what an ingest that has not ended, or was killed, has written."""


def _what(attributes: Mapping[str, Any]) -> str:
    """What a Zarr group that is not a corpus is, and what to do."""
    if "bigtopic-model" in attributes:
        return f"a model, not a corpus: {either('bigtopic.load_model opens it, or ', '')}give the path of a corpus"
    found = ", ".join(map(ascii, sorted(attributes)))
    return f"a Zarr group but not a bigtopic corpus (it has {found}); give another path"


def read_manifest(root: Place) -> Manifest:
    """The manifest of the corpus at `root`.

    Raises
    ------
    CorpusVersionError
        When there is no corpus, or one of a newer format.
    CorpusDamaged
        When the manifest cannot be understood.
    """
    attributes = _attributes(root)
    values = attributes.get(MANIFEST)
    if not isinstance(values, dict) or values.get("format") != FORMAT:
        raise CorpusVersionError(f"{root.url} is {_what(attributes)}")
    version = values.get("version")
    if type(version) is int and version > FORMAT_VERSION:
        raise CorpusVersionError(
            f"{root.url} has format version {version}, but this version of bigtopic reads up to "
            f"{FORMAT_VERSION}; upgrade bigtopic"
        )
    where = f"the manifest in {root.url}/zarr.json is incomplete or damaged:"
    try:
        record({"version": whole(1)})(values, where)
        return Manifest.from_dict(values, where)
    except FieldError as error:
        raise CorpusDamaged(
            f"{error}; restore the corpus from a copy, or remove the folder and ingest the source again"
        ) from error


def _attributes(root: Place) -> dict[str, Any]:
    try:
        attributes = group_attributes(root)
    except NotAGroup as error:
        raise CorpusDamaged(
            f"{root.url}/zarr.json does not describe a corpus: {error}; restore it from a copy, or remove the folder "
            "and ingest the source again"
        ) from error
    if attributes is None and root.local and Path(root.url).is_file():
        command = f"'bigtopic ingest {root.url} CORPUS'"
        raise CorpusVersionError(
            f"{root.url} is a file, not a corpus; make a corpus of it with "
            f"{either(f'bigtopic.ingest({root.url!r}, store)', command)}"
        )
    if attributes is None:
        made = either(f"bigtopic.ingest(source, {root.url!r})", f"'bigtopic ingest SOURCE {root.url}'")
        raise CorpusVersionError(
            f"there is no corpus at {root.url}" + (root.nearest() or f"; make one with {made}")
        )
    if not set(attributes) - {WRITER}:
        raise Unfinished(
            f"{root.url} is not a finished corpus: an ingest is at work or was killed; ingest into it again"
        )
    return attributes


def checked_manifest(root: Place, manifest: Manifest) -> dict[str, Any]:
    """The attributes of the root with a new manifest, as a reader finds them.

    Raises
    ------
    CorpusDamaged
        When a reader would refuse it.
    """
    values: dict[str, Any] = json.loads(json.dumps(manifest.to_dict()))
    try:
        check_manifest(values, "the new manifest:")
    except FieldError as error:
        raise CorpusDamaged(f"{root.url} stays as it was, because {error}; {ANEW}") from error
    return {MANIFEST: values}


_MOST_DOCUMENTS = (1 << 31) - 1  # of a part: positions in it are int32

# Arrays are files below the part: no name may lead out of it, or to the metadata of the folder.
_SEGMENT = r"(?!\.{1,2}(?:/|$)|zarr\.json(?:/|$))[^/\\\x00]+"
_ARRAY = text(
    rf"(?s)X/(?:indptr|indices|data)|authors/(?:indptr|indices)|text/(?:indptr|utf8)|obs/{_SEGMENT}",
    "an array of X, obs, authors or text",
)
_HEX8 = text(r"[0-9a-f]{8}", "8 hexadecimal digits")
_HEX32 = text(r"[0-9a-f]{32}", "32 hexadecimal digits")
_NUMBER = r"[0-9]{8,12}(-[0-9a-f]{12})?"


def _path(folder: str) -> Any:
    allowed = f"{folder}/ and a number of 8 to 12 digits, perhaps with the id of a writer"
    return text(f"{folder}/{_NUMBER}", allowed)


_LAYER = text(f"authors/{_NUMBER}/{_NUMBER}", "authors/ and two numbers of 8 to 12 digits")


def _column_name(value: Any, where: str) -> None:
    try:
        array_name(value)
    except InputError as error:
        raise FieldError(f"{where}: {error}") from error


def _names(folder: str) -> Any:
    return record({"path": _path(folder), "size": whole(0, MOST_WORDS), "named": flag, "fingerprint": _HEX32})


_PART = record(
    {
        "path": _path("parts"),
        "n_docs": whole(0, _MOST_DOCUMENTS),
        "nnz": whole(),
        "n_tokens": number(),
        "n_bytes": whole(),
        "crc32": record(
            dict.fromkeys(("X/indptr", "X/indices", "X/data", "obs/source_row", "obs/n_tokens"), _HEX8)
        ),
    },
    {"authors": optional(_LAYER)},
)
_CHECKSUMS = mapping(_ARRAY, _HEX8)

_WORDS = listing(text())
_PAIRS = listing(listing(text(), length=2))
TEXT = record(
    {},
    {
        "token_pattern": text(),
        "lowercase": flag,
        "stop_words": optional(any_of(_WORDS, one_of("english"))),
        "ngram_range": listing(whole(1, 1000), length=2),
        "collocations": optional(any_of(_PAIRS, number(-1.0, 1.0))),
        "token_filter": optional(text()),
        "tokenizer": optional(text()),
        "min_doc_length": whole(),
        "encoding": text(),
        "encoding_errors": one_of("strict", "replace", "ignore"),
        "rules": whole(1, 2),
        "collocation_pairs": _PAIRS,
        "known_share": number(0.0, 1.0 + 1e-9),
        "max_df": number(0.0),
        "common_words": _WORDS,
    },
)
"""Settings of a tokeniser, in a corpus or a model."""

_RULES = record(
    {
        "n_docs": whole(),
        "n_words": whole(),
        "nnz": whole(),
        "n_tokens": number(),
        "generation": whole(0, MOST_NUMBERS - 1),
        "next_part": whole(0, MOST_NUMBERS),
        "n_rows": whole(),
        "seed": whole(-(1 << 63), (1 << 64) - 1),
        "shuffled": flag,
        "vocabulary": _names("vocabulary"),
        "authors": optional(_names("authors")),
        "columns": mapping(_column_name, one_of(*COLUMN_TYPES)),
        "has_ids": flag,
        "text": optional(TEXT),
        "words": record({}, {"closed": flag, "pruned": flag}),
        "parts": listing(_PART),
    },
    {"replaced": listing(_path("authors")), "ingestion": optional(INGESTION)},
)


def check_manifest(values: Mapping[str, Any], where: str) -> None:
    """Check every field, then their consistency.

    Raises
    ------
    FieldError
        Naming the field.
    """
    _RULES(values, where)
    for name in ("text", "words"):
        anything(values[name], f"{where} {name}")
    for i, part in enumerate(values["parts"]):
        _CHECKSUMS(part["crc32"], f"{where} parts[{i}].crc32")
    paths = [part["path"] for part in values["parts"]]
    for first, second in pairwise(sorted(paths)):
        if first == second:
            raise FieldError(f"{where} parts lists {first} twice")
    last = max((int(path.split("/")[1].split("-")[0]) for path in paths), default=-1)
    if values["next_part"] <= last:
        raise FieldError(f"{where} next_part is {values['next_part']}, but part {last} already exists")
    expected = {"n_words": values["vocabulary"]["size"]}
    for name in ("n_docs", "nnz", "n_tokens"):
        expected[name] = sum(part[name] for part in values["parts"])
    for name, value in expected.items():
        if not math.isclose(values[name], value, rel_tol=1e-9 if name == "n_tokens" else 0.0):
            raise FieldError(
                f"{where} {name} is {values[name]}, but the manifest's other figures give {value}"
            )
    if values["n_rows"] < values["n_docs"]:
        raise FieldError(
            f"{where} n_rows is {values['n_rows']}, but {values['n_docs']} documents need one row each"
        )
