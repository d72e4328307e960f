"""The description in a folder of document state: JSON in the attributes of its Zarr group, checked when it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

from bigtopic.corpus.vocabulary import Vocabulary, fingerprint_words
from bigtopic.errors import CorpusExists, ModelError, ModelVersionError, warn
from bigtopic.state.documents.state_files import StatePart
from bigtopic.storage.json_rules import (
    FieldError,
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
from bigtopic.storage.row_arrays import DTYPES
from bigtopic.storage.zarr_metadata import DRAFT, ROOT, NotAGroup, group_attributes, replace_group
from bigtopic.types import StateSpec

__all__ = ["About", "as_json", "parsed", "read", "restore", "write"]

FORMAT = "bigtopic-documents"
VERSION = 2


@dataclass(frozen=True)
class About:
    """Which documents and arrays the state belongs to.

    Attributes
    ----------
    parts : of the corpus, in order
    arrays : {name: its `StateSpec`, with a shape of numbers}
    plan : the settings of the run's `Plan`; none before the first run
    n_words, words : size and fingerprint of the corpus' vocabulary
    run : a hash of what the run began with, which the checksums contain; none outside of checkpoints and in version 1
    """

    parts: tuple[StatePart, ...] = ()
    arrays: Mapping[str, StateSpec] = field(default_factory=dict)
    plan: Mapping[str, Any] = field(default_factory=dict)
    n_words: int = 0
    words: str = ""
    run: str = ""

    def knows(self, vocabulary: Vocabulary) -> bool:
        """Whether word ids still mean the same: the vocabulary is the same, or has grown at its end."""
        if vocabulary.size == self.n_words:
            return vocabulary.fingerprint == self.words
        if vocabulary.size < self.n_words or vocabulary.words is None:
            return False
        return fingerprint_words(vocabulary.words[: self.n_words], self.n_words) == self.words


_PART = record(
    {"key": text(r"[0-9a-f]{24}-\d+"), "n_docs": whole(), "n_entries": whole(), "first_pass": whole()},
    {"n_tokens": whole()},
)
_ARRAY = record(
    {
        "rows": one_of("entry", "token", "document"),
        "dtype": one_of(*DTYPES),
        "shape": listing(whole()),
        "missing": number(-1e300),
    }
)
_PLAN = record(
    {
        "part_docs": listing(whole()),
        "entries_per_doc": number(),
        "batch_size": optional(whole(1)),
        "slice_size": optional(whole(1)),
        "shuffled": flag,
        "seed": whole(most=1 << 64),
    },
    {"delay": whole(), "replicas": whole(1), "replica_updates": whole(1), "undivided_rounds": whole()},
)
_RULES = record(
    {
        "version": whole(1, VERSION),
        "parts": listing(_PART),
        "arrays": mapping(text(r"\w[\w.-]*"), _ARRAY),
        "plan": optional(_PLAN),
        "n_words": whole(),
        "words": text(),
    },
    {"run": text(r"([0-9a-f]{32})?", "32 hexadecimal digits")},
)


def as_json(about: About) -> dict[str, Any]:
    """The description as JSON can hold it."""
    return {"version": VERSION, **asdict(about), "plan": about.plan or None}


def parsed(found: Any, where: str) -> About:
    """The inverse of `as_json`, for a description from a file.

    Raises
    ------
    FieldError
        When a field is wrong; names it.
    ModelVersionError
        When it is of a newer format.
    """
    version = found.get("version") if isinstance(found, dict) else None
    if type(version) is int and version > VERSION:
        raise ModelVersionError(
            f"{where.removesuffix(':')} has format version {version}, this version of bigtopic reads up to {VERSION}; "
            "upgrade bigtopic"
        )
    _RULES(found, where)
    parts, plan = tuple(StatePart(**part) for part in found["parts"]), found["plan"] or {}
    if plan and plan["part_docs"] != [part.n_docs for part in parts]:
        raise FieldError(f"{where} plan is of other parts")
    arrays = {
        name: StateSpec(**{**about, "shape": tuple(about["shape"])})
        for name, about in found["arrays"].items()
    }
    return About(parts, arrays, plan, found["n_words"], found["words"], found.get("run", ""))


def write(place: Place, about: About) -> None:
    """Replace the description in a folder, durably and in one step."""
    replace_group(place, {FORMAT: as_json(about)}, sweep=True)


def restore(place: Place, about: About) -> None:
    """Write the description again, with a warning, if something has removed or changed it."""
    found = None
    with suppress(NotAGroup):
        found = group_attributes(place)
    if json.dumps(found) != json.dumps({FORMAT: as_json(about)}):
        write(place, about)
        warn(
            f"{place.url}/{ROOT} was missing or damaged, and was written again; look for what else changes files in "
            "this folder"
        )


def read(place: Place) -> About | None:
    """The description in a folder; None when the folder is empty.

    Raises
    ------
    CorpusExists
        When the folder holds something else.
    ModelError
        When the description is damaged, or of a newer format.
    """
    names = set(place.names()) - {DRAFT}
    with suppress(NotAGroup):
        attributes = group_attributes(place)
        if attributes is None and not names:
            return None
        if attributes is not None and FORMAT in attributes:
            return _checked(attributes[FORMAT], place)
    if "parts" in names:
        raise ModelError(
            f"{place.url}/{ROOT} is missing or damaged: restore it from a copy, or begin the run again in another "
            "folder; the topics in this one can still be read"
        )
    raise CorpusExists(f"{place.url} exists but holds no state of documents; choose another folder")


def _checked(found: Any, place: Place) -> About:
    try:
        return parsed(found, f"{place.url}:")
    except FieldError as error:
        raise ModelError(f"the state of documents is damaged: {error}") from error
