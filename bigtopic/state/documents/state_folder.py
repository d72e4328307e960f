"""The folder of document state: its description, passes, copies and size. `state_files` describes its files.

A temporary folder is removed with its owner.
"""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping, Set
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from bigtopic.corpus.vocabulary import Vocabulary, fingerprint_words
from bigtopic.errors import (
    CorpusExists,
    ModelError,
    ModelVersionError,
    SettingError,
    StoreError,
    argument,
    either,
    warn,
)
from bigtopic.state.documents.state_files import StateFiles, StatePart
from bigtopic.storage.json_rules import (
    FieldError,
    Rule,
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
from bigtopic.storage.local import store_errors
from bigtopic.storage.place import Place
from bigtopic.storage.private_folders import new_folder, remove_folder
from bigtopic.storage.row_arrays import DTYPES
from bigtopic.storage.zarr_metadata import DRAFT, ROOT, NotAGroup, group_attributes, replace_group
from bigtopic.types import StateSpec

__all__ = [
    "About",
    "DiskNeed",
    "copy_state",
    "disk_need",
    "parsed",
    "passes",
    "read_about",
    "refuse_full",
    "remove_passes",
    "restore_about",
    "temporary_folder",
    "write_about",
]

FORMAT = "bigtopic-documents"
VERSION = 2
_PASS = re.compile(r"pass-(\d+)")


def temporary_folder(owner: Any) -> Place:
    """A new folder, removed when its owner is."""
    folder = new_folder(Path(tempfile.gettempdir()), "bigtopic-state-")
    process = os.getpid()

    def remove() -> None:
        if os.getpid() == process:  # a fork only looks at it
            remove_folder(folder)

    weakref.finalize(owner, remove)
    return Place(folder)


def copy_state(source: Place, target: Place, chosen: Callable[[int], bool]) -> None:
    """Copy the state of chosen passes from one folder to another, where it can be written."""
    with store_errors("written", target.url):
        for name in [*(f"pass-{n}" for n in passes(source) if chosen(n)), "parts"]:
            for file in Path(source.url, name).rglob("*"):
                if file.is_file():
                    copy = Path(target.url, file.relative_to(source.url))
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(file, copy)  # without its permissions: the source may be read-only


def passes(folder: Place) -> list[int]:
    """The passes whose state is in a folder."""
    return [int(found[1]) for found in map(_PASS.fullmatch, folder.names()) if found]


def remove_passes(folder: Place, chosen: Callable[[int], bool]) -> None:
    """Remove the state of chosen passes.

    An abandoned task, on a worker that the scheduler has lost, may still write there: those files stay until the next
    call.
    """
    for n in filter(chosen, passes(folder)):
        try:
            (folder / f"pass-{n}").remove()
        except StoreError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise


class DiskNeed(NamedTuple):
    """Disk space that the state of documents may take.

    n_bytes : of all passes that exist at once
    n_passes : how many these are
    folder : where they are
    """

    n_bytes: int
    n_passes: int
    folder: str


def disk_need(files: StateFiles, n_passes: int) -> DiskNeed:
    """Disk space that the state of so many passes takes."""
    n_bytes = sum(
        n_passes * files.pass_bytes(part) + files.offsets_bytes(part) for part in range(len(files.parts))
    )
    return DiskNeed(n_bytes, n_passes, files.place.url)


def refuse_full(files: StateFiles, there: Set[int], n_passes: int) -> None:
    """Refuse a run whose state does not fit on the disk.

    Parameters
    ----------
    there : passes whose state stays, if it exists
    n_passes : passes whose state may exist at once

    Raises
    ------
    SettingError
        With the bytes that are needed and free, and what to do.
    """
    need, _, folder = disk_need(files, n_passes)
    for part in range(len(files.parts)):  # without the files that exist already
        need -= min(n_passes, sum(files.has(part, number) for number in there)) * files.pass_bytes(part)
        if all(files.offsets(part, kind).exists for kind in files.kinds()):
            need -= files.offsets_bytes(part)
    free = shutil.disk_usage(_existing(folder)).free
    if need > free:
        raise SettingError(
            f"what this method remembers of documents needs {need:,} bytes for up to {n_passes} passes, and {folder} "
            f"has {free:,} free; free space, or put the folder on a larger disk with {argument('checkpoint', ...)} or, "
            "without one, the environment variable TMPDIR"
            f"{either(', or keep fewer versions with Checkpoint(keep=)', '')}"
        )


def _existing(folder: str) -> Path:
    """The folder, or the first above it that is there."""
    path = Path(folder).absolute()
    return next(each for each in (path, *path.parents) if each.exists())


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

    def as_json(self) -> dict[str, Any]:
        """The description as JSON can hold it."""
        return {"version": VERSION, **asdict(self), "plan": self.plan or None}

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
_PLAN: tuple[Mapping[str, Rule], Mapping[str, Rule]] = (
    {
        "part_docs": listing(whole()),
        "entries_per_doc": number(),
        "batch_size": optional(whole(1)),
        "slice_size": optional(whole(1)),
        "shuffled": flag,
        "seed": whole(most=1 << 64),
    },
    {
        "concurrent": whole(1),
        "replicas": whole(1),
        "replica_updates": whole(1),
        "undivided_rounds": whole(),
        "whole_minibatches": flag,
    },
)
_RULES = record(
    {
        "version": whole(1, VERSION),
        "parts": listing(_PART),
        "arrays": mapping(text(r"\w[\w.-]*"), _ARRAY),
        "plan": optional(record(*_PLAN)),
        "n_words": whole(),
        "words": text(),
    },
    {"run": text(r"([0-9a-f]{32})?", "32 hexadecimal digits")},
)


def parsed(found: Any, where: str) -> About:
    """The inverse of `About.as_json`, for a description from a file.

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
    parts = tuple(StatePart(**part) for part in found["parts"])
    known = {*_PLAN[0], *_PLAN[1]}  # earlier versions wrote settings that are gone, such as a delay
    plan = {name: value for name, value in (found["plan"] or {}).items() if name in known}
    if plan and plan["part_docs"] != [part.n_docs for part in parts]:
        raise FieldError(f"{where} plan is of other parts")
    arrays = {
        name: StateSpec(**{**about, "shape": tuple(about["shape"])})
        for name, about in found["arrays"].items()
    }
    return About(parts, arrays, plan, found["n_words"], found["words"], found.get("run", ""))


def write_about(place: Place, about: About) -> None:
    """Replace the description in a folder, durably and in one step."""
    replace_group(place, {FORMAT: about.as_json()}, sweep=True)


def restore_about(place: Place, about: About) -> None:
    """Write the description again, with a warning, if something has removed or changed it."""
    found = None
    with suppress(NotAGroup):
        found = group_attributes(place)
    if json.dumps(found) != json.dumps({FORMAT: about.as_json()}):
        write_about(place, about)
        warn(
            f"{place.url}/{ROOT} was missing or damaged, and was written again; find out what else changes files in "
            "this folder"
        )


def read_about(place: Place) -> About | None:
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
            try:
                return parsed(attributes[FORMAT], f"{place.url}:")
            except FieldError as error:
                raise ModelError(f"the state of documents is damaged: {error}") from error
    if "parts" in names:
        raise ModelError(
            f"{place.url}/{ROOT} is missing or damaged: restore it from a copy, or begin the run again in another "
            "folder; the topics in this one can still be read"
        )
    raise CorpusExists(f"{place.url} exists but holds no state of documents; choose another folder")
