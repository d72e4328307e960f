"""The folder of a checkpoint: its `zarr.json` names the run, its lock the process; and the versions that were saved."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from bigtopic.errors import CorpusDamaged, CorpusExists, ModelError, ModelVersionError, argument, either, warn
from bigtopic.methods import Method
from bigtopic.state import model_store
from bigtopic.state.identity import differences, identity_hash
from bigtopic.state.model import TopicModel
from bigtopic.storage.journal import require_free
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.names import LOCK
from bigtopic.storage.place import Place
from bigtopic.storage.remote_hold import root_attributes
from bigtopic.storage.zarr_group import DRAFT, ROOT, replace_group

__all__ = [
    "FORMAT",
    "STEP",
    "CheckpointRoot",
    "is_rest",
    "load_newest",
    "load_version",
    "name_of",
    "newest_intact",
    "versions",
]

FORMAT = "bigtopic-checkpoint"
VERSION = (
    2  # rounds of a pass are scheduled otherwise than in version 1: resumed, its runs would give other bits
)
STEP = re.compile(r"step-\d{12}")
_WHAT = "a bigtopic checkpoint"
_LONGER = "run 'bigtopic train --continue-from MODEL --documents all'"
_BESIDE = {ROOT, DRAFT, LOCK, "documents"}

Loaded = TypeVar("Loaded")


def name_of(model: TopicModel) -> str:
    """The name of the version that a model is saved in."""
    return f"step-{model.cursor.step:012d}"


def versions(place: Place) -> list[str]:
    """Names of the versions that were completed, the oldest first. They may be damaged by now."""
    names = [name for name in place.names() if STEP.fullmatch(name)]
    return sorted(name for name in names if (place / name / "zarr.json").exists())


def is_rest(place: Place) -> bool:
    """Whether a folder whose root is missing or damaged holds versions of a run, and nothing else than a checkpoint."""
    names = place.names() if versions(place) else []
    return bool(names) and all(name in _BESIDE or STEP.fullmatch(name) for name in names)


def _record_of(version: Place) -> Mapping[str, Any]:
    """The record of the run that was saved with a version; empty where it is damaged, or was saved by hand."""
    with suppress(KeyError, TypeError):
        record = model_store.describe(version.url)["extra"]["run"]
        return record if isinstance(record, Mapping) else {}
    return {}


def _writer(place: Place) -> str:
    """The version of bigtopic that wrote a checkpoint, as far as its newest version tells."""
    for version in reversed(versions(place)):
        known = _record_of(place / version).get("versions")
        if isinstance(known, Mapping) and known.get("bigtopic"):
            return f"bigtopic {known['bigtopic']}"
    return "an earlier version of bigtopic"


def newest_intact(place: Place, load: Callable[[Place], Loaded]) -> Loaded | None:
    """The newest version in a checkpoint that loads; None where there is no version yet. Warns of damaged ones.

    Parameters
    ----------
    load : reads a version; raises CorpusDamaged or ModelError when it is damaged

    Raises
    ------
    CorpusDamaged, ModelError
        When all versions are damaged; the message is about the newest.
    ModelVersionError
        When a newer bigtopic saved one of those that are tried.
    """
    damaged: list[CorpusDamaged | ModelError] = []
    for version in reversed(versions(place)):
        try:
            found = load(place / version)
        except ModelVersionError:  # intact: a run that goes on from the one before it would remove it
            raise
        except (CorpusDamaged, ModelError) as error:
            if version not in versions(place):  # a run that goes on has removed it, and has newer ones
                return newest_intact(place, load)
            damaged.append(error)
            continue
        for failure in damaged:
            what = str(failure).partition("; ")[0]  # what to do about it is of no use here
            warn(f"{what}; going on from the version before it, {version}")
        return found
    if damaged:
        raise damaged[0]
    return None


def load_version(version: Place, method: Method | None) -> tuple[TopicModel, dict[str, Any]]:
    """The model of a version, and what was saved with it.

    Raises
    ------
    ModelError
        When it is damaged, or is a model after another number of updates than its name says.
    """
    model, extra = model_store.load(version.url, method)
    if not version.url.endswith(name_of(model)):
        raise ModelError(f"{version.url} holds a model after {model.cursor.step} updates")
    return model, extra


def load_newest(
    url: Any, method: Method | None = None, storage_options: Mapping[str, Any] | None = None
) -> tuple[TopicModel, dict[str, Any], Any]:
    """The model at a path or URL, or the newest intact version of a checkpoint; what was saved with it; where it is.

    Raises
    ------
    ModelError
        As `model_store.load` does; and when the run has not been saved yet, or the root of its folder is lost.
    """
    place = Place.of(url)
    if not _is_checkpoint(place):
        if place.local and is_rest(place):
            raise ModelError(
                f"{place.url}/{ROOT}, which says that this is a checkpoint, is missing or damaged; resume the run, "
                f"which writes it again, or load a version: {(place / versions(place)[-1]).url}"
            )
        return *model_store.load(url, method, storage_options), url
    found = newest_intact(place, lambda version: (*load_version(version, method), version.url))
    if found is None:
        raise ModelError(f"{place.url} is a checkpoint of a run that has not been saved yet")
    return found


def _is_checkpoint(place: Place) -> bool:
    with suppress(CorpusExists):
        return place.local and FORMAT in (root_attributes(place, _WHAT) or {})
    return False


class CheckpointRoot:
    """What the root of a checkpoint must say while a run goes on.

    Parameters
    ----------
    place : the folder
    identity : {"corpus": {...}, "settings": {...}}, as JSON can hold it: what must be the same to resume the run
    resume : whether the folder may hold this run already

    Attributes
    ----------
    lock : held by the process of the run
    is_new : whether this object began the run
    """

    def __init__(self, place: Place, identity: Mapping[str, Any], resume: bool) -> None:
        self._place, self._resume = place, resume
        self._identity = json.loads(json.dumps(identity))
        self.lock = WriterLock(place)
        self.is_new = False

    @property
    def run(self) -> str:
        """Tells this run from others, see `identity_hash`."""
        return identity_hash(self._identity)

    def check(self, locked: bool = False) -> None:
        """Refuse a folder that is not free and does not hold this run, or holds it and is not to be resumed.

        Raises
        ------
        CorpusExists
            When the folder holds something else, or holds a run and `resume` is false.
        ModelError
            When it holds a run of another corpus or other settings; the message names what differs.
        ModelVersionError
            When another version of bigtopic began it, in another format.
        """
        about = self._about()
        if about is None:
            return self._check_without(locked)
        version = about.get("version")
        if type(version) is int and version > VERSION:
            raise ModelVersionError(
                f"{self._place.url} is a checkpoint of format version {version}, this version of bigtopic reads up to "
                f"{VERSION}; upgrade bigtopic, or give another path"
            )
        if type(version) is not int or version < 1:
            raise self._not_one()
        if version < VERSION:
            raise ModelVersionError(
                f"{self._place.url} is a checkpoint of format version {version}, which {_writer(self._place)} wrote; "
                f"this version of bigtopic resumes version {VERSION} alone. It opens as a model: "
                f"{either('load it with bigtopic.load_model and call partial_fit', _LONGER)} to learn longer, resume "
                "the run with the version that began it, or give another path to begin anew"
            )
        self._refuse_begun()
        found = differences(about.get("identity"), self._identity)
        if found:
            raise ModelError(
                f"{self._place.url} holds another run, so it cannot be resumed: {'; '.join(found)}. Give what the run "
                "began with, the version of bigtopic included, or another path; to learn longer, resume it as it "
                f"began, then {either('call partial_fit', _LONGER)}"
            )

    def begin(self) -> None:
        """Lock the folder and say in it which run it is of. Raises what `check` raises, and CorpusLocked."""
        self.lock.__enter__()
        self.check(locked=True)
        if self._about() is None:
            self.is_new = not versions(self._place)
            self._write(again=not self.is_new)
        self._resume = True  # from now on the folder holds this run

    def restore(self) -> None:
        """Take the lock and write the root again, as far as something has removed or damaged them since.

        Raises
        ------
        CorpusExists, CorpusLocked, ModelError
            When another process has used the folder meanwhile.
        StoreError
            When the system refuses a write.
        """
        if not self.lock.held:
            self.is_new = False  # another process may have begun a run here
            self.lock.__exit__(None, None, None)
            self.lock.__enter__()
            self.check(locked=True)
        if not self.holds_this_run():
            self._write(again=True)

    def holds_this_run(self) -> bool:
        """Whether the root says that the folder holds this run."""
        about = self._about()
        return about is not None and about.get("identity") == self._identity

    def _about(self) -> dict[str, Any] | None:
        """What the root says; None where it says nothing of a checkpoint."""
        with suppress(CorpusExists):
            about = (root_attributes(self._place, _WHAT) or {}).get(FORMAT)
            return about if isinstance(about, dict) else None
        return None

    def _check_without(self, locked: bool) -> None:
        """The same where the root is missing or damaged, but all the rest may be there: each version names its run."""
        if not is_rest(self._place):
            if root_attributes(self._place, _WHAT) is None:
                return require_free(self._place, _WHAT, locked)
            raise self._not_one()
        self._refuse_begun()
        runs = [_record_of(self._place / name).get("checkpoint") for name in versions(self._place)]
        if self.run not in runs or any(run not in (None, self.run) for run in runs):
            raise ModelError(
                f"{self._place.url}/{ROOT}, which says what the run in this folder began with, is missing or damaged, "
                "and the versions are not of the run that you describe; restore that file from a copy, give what the "
                "run began with, or another path"
            )

    def _not_one(self) -> CorpusExists:
        return CorpusExists(
            f"{self._place.url} exists and is not {_WHAT}; nothing was written: give another path"
        )

    def _refuse_begun(self) -> None:
        if not self._resume:
            raise CorpusExists(
                f"{self._place.url} holds a run already; pass {argument('resume', True)} to go on with it, or give "
                "another path"
            )

    def _write(self, again: bool) -> None:
        about = {FORMAT: {"version": VERSION, "identity": self._identity}}
        replace_group(self._place, about, sweep=True)
        if again:
            warn(
                f"{self._place.url}/{ROOT} was missing or damaged, and was written again; look for what else changes "
                "files in this folder"
            )
