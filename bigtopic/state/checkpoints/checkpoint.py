"""Checkpoints: versions of a run, saved while it goes on, from which another process can resume it.

```
run.ckpt/                   zarr.json: attributes["bigtopic-checkpoint"] says which run it is, written first
  .bigtopic.lock            held by the process of the run
  step-000000001200/        the model after 1200 updates (`model_store`); the newest complete version counts
  documents/                what the model remembers of documents (`document_state`), if anything
  phase-01-step-.../        of the second phase of the method, and so on; with documents-01/
```
Everything a run remembers is in the model and in the state of its documents, so a resumed run gives the bits of an
uninterrupted one, provided that corpus and settings are the same. The root says which they were.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from types import TracebackType
from typing import Any

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
from bigtopic.methods import Method
from bigtopic.plan.cursor import Cursor
from bigtopic.state import model_store
from bigtopic.state.checkpoints.versions import (
    DOCUMENTS,
    FORMAT,
    VERSION_NAME,
    WHAT,
    documents_of,
    is_rest,
    load_version,
    name_of,
    newest_intact,
    record_of,
    versions,
    writer_of,
)
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.identity import differences, identity_hash
from bigtopic.state.model import TopicModel
from bigtopic.storage import local
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.place import Place
from bigtopic.storage.writers import require_free, root_attributes
from bigtopic.storage.zarr_metadata import ROOT, replace_group

__all__ = ["Checkpoint", "CheckpointFolder"]

VERSION = 2  # version 1 scheduled the rounds of a pass differently: resumed, its runs would give other bits
_LONGER = "run 'bigtopic train --continue-from MODEL --documents all'"


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run is saved.

    Parameters
    ----------
    path : a folder, new or made by the same run
    seconds : save when so many seconds have passed since the last version. A version costs a copy of the params on the
        disk; a resumed run repeats at most about this much
    rounds : save also when so many updates were done since, whichever comes first; None for time alone. A run is saved
        where it can be cut, between exchanges. An exchange of the default method has up to 32 updates in a corpus of
        many minibatches, so a resumed run repeats at most `rounds` + 31 updates; with other methods without replicas,
        at most `rounds`; on a client perhaps two seconds' updates more
    keep : number of versions to keep, the newest; with two, a damaged one loses no more than the work since the other

    Raises
    ------
    SettingError
        When a number is too small or none, or the path is a URL.
    """

    path: Any
    seconds: float = 600.0
    rounds: int | None = None
    keep: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.path, str | PathLike) or not self.path or not Place.of(self.path).local:
            raise SettingError(
                f"{argument('checkpoint', self.path)}: a run is saved in a folder; give the path of one"
            )
        for name, least, kind in (("seconds", 0, Real), ("rounds", 1, Integral), ("keep", 1, Integral)):
            value = getattr(self, name)
            if value is None and name == "rounds":
                continue
            if isinstance(value, bool) or not isinstance(value, kind) or not float(value) >= least:
                what = "a whole number, " if kind is Integral else "a number, "
                raise SettingError(
                    f"{argument('checkpoint')}: {argument(name, value)}: must be {what}at least {least}"
                )


class CheckpointFolder:
    """Context manager: locks the folder of a run, finds its newest version, and saves further ones.

    Parameters
    ----------
    settings : where and how often
    identity : {"corpus": {...}, "settings": {...}}, as JSON can hold it: what must be the same to resume the run
    resume : resume the run in the folder, if there is one; else the folder must be new

    Raises
    ------
    CorpusExists
        When entered: the folder holds something else, or holds a run and `resume` is false.
    CorpusLocked
        When entered: another process has the folder.
    ModelError
        When entered: the folder holds a run of another corpus or other settings; the message names what differs.
    """

    def __init__(self, settings: Checkpoint, identity: Mapping[str, Any], resume: bool) -> None:
        self._settings, self._resume = settings, resume
        self._place = Place.of(settings.path)
        self._identity = json.loads(json.dumps(identity))
        self._lock = WriterLock(self._place)  # held by the process of the run
        self._is_new = False  # whether this object began the run
        self._saved_at, self._saved = time.monotonic(), Cursor()
        self._state: DocumentState | None = None
        self._made: list[str] = []  # folders that were not there before

    @property
    def path(self) -> str:
        """Of the folder."""
        return self._place.url

    @property
    def run(self) -> str:
        """Tells this run from others, see `identity_hash`."""
        return identity_hash(self._identity)

    def __enter__(self) -> CheckpointFolder:
        self._check()
        self._made = local.missing_folders(self._place.url)
        try:
            self._lock.__enter__()
            self._check(locked=True)
            if self._about() is None:
                self._is_new = not versions(self._place)
                self._write_root(again=not self._is_new)
            self._resume = True  # from now on the folder holds this run
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is not None:  # the model may learn on, but not in this folder
            self._state.lend(self._holds_this_run)
        new = self._is_new and self._lock.held  # else another process may have it by now
        if kind is not None and new and not versions(self._place):
            # A run that failed before it was saved is in nobody's way.
            for name in ("zarr.json", *filter(DOCUMENTS.fullmatch, self._place.names())):
                with suppress(StoreError):  # the first failure is raised instead
                    (self._place / name).remove()
        self._lock.__exit__(kind, error, trace)
        if kind is not None:
            local.remove_made(self._made)

    def newest(
        self, method: Method | None, contradictions: Callable[[TopicModel], Sequence[str]] = lambda model: ()
    ) -> tuple[TopicModel, dict[str, Any]] | None:
        """The model of the newest intact version, and the extra data saved with it; None where there is none yet.

        Parameters
        ----------
        method : the model's method, if it is not in the table
        contradictions : how a model differs from what the run began with; a model that does is damaged

        Raises
        ------
        CorpusDamaged, ModelError
            When all versions are damaged, or a newer bigtopic saved the newest one.
        """

        def load(version: Place) -> tuple[TopicModel, dict[str, Any]]:
            version.refuse_link()
            model, extra = load_version(version, method)
            if found := contradictions(model):
                raise ModelError(f"{version.url} contradicts what the run began with: {', '.join(found)}")
            if model.method.load_kernel().state == "run":
                self.attach(model)
            return model, extra

        found = newest_intact(self._place, load)
        if found is not None:
            self._saved = found[0].cursor
        return found

    def attach(self, model: TopicModel) -> None:
        """Keep what the model remembers of documents in this folder.

        Raises
        ------
        CorpusDamaged
            When what the model remembers is damaged.
        ModelError
            When the model has counted documents, and the folder holds the state of others, or the model stands where no
            run over them can.
        """
        place = self._place / documents_of(model.cursor.phase)
        place.refuse_link()
        state = DocumentState(place.url, self.run)
        counted = None if model.document_state is None else model.document_state.description
        if model.cursor.has_begun and state.description != counted:
            raise ModelError(
                f"{place.url} does not hold what the model remembers of the documents that {name_of(model)} has "
                "counted; restore it from a copy, or begin another run in another folder"
            )
        if not state.allows(model.cursor):
            raise ModelError(
                f"{name_of(model)} says that it was saved in pass {model.cursor.pass_number}, round "
                f"{model.cursor.round}, but passes over this corpus have other rounds; restore it from a copy, or "
                "begin another run in another folder"
            )
        state.check(model.cursor)
        state.kept, state.most_kept = self._kept_passes(model.cursor.phase), 2 * self._settings.keep
        self._state = model.document_state = state

    def state_of(self, phase: int) -> DocumentState:
        """The state of documents that this folder will keep of a phase that has not begun."""
        state = DocumentState.at(self._place / documents_of(phase))
        state.most_kept = 2 * self._settings.keep
        return state

    def due(self, cursor: Cursor) -> bool:
        """Whether the next version should be saved when the run stands at the cursor."""
        rounds, saved = self._settings.rounds, self._saved
        n_new = cursor.step - (saved.step if cursor.phase == saved.phase else 0)
        late = time.monotonic() - self._saved_at >= self._settings.seconds
        return n_new > 0 and (late or (rounds is not None and n_new >= rounds))

    def save(self, model: TopicModel, extra: Mapping[str, Any]) -> None:
        """Write a version, in one step, and remove those that are too old.

        Raises
        ------
        CorpusExists, CorpusLocked, ModelError
            When another process has used the folder since this one entered it.
        StoreError
            When the system refuses a write.
        """
        self._restore()
        if model.document_state is not None:
            model.document_state.sync()
        name = name_of(model)
        place = self._place / name
        place.refuse_link()
        if model_store.describe(place) is None:
            self._remove(name)
        model_store.save(model, place.url, dict(extra), overwrite=True)
        # Later versions are damaged, so the run was resumed from an earlier one.
        there = versions(self._place)
        kept = there[: there.index(name) + 1][-self._settings.keep :]
        for other in self._place.names():  # and what a killed process left of a version
            if VERSION_NAME.fullmatch(other) and other not in kept:
                self._remove(other)
        self._remove_documents(model.cursor.phase)
        if model.document_state is not None:
            model.document_state.kept = self._kept_passes(model.cursor.phase)
            model.document_state.end_pass(model.cursor.pass_number)
        self._saved_at, self._saved = time.monotonic(), model.cursor

    def _remove(self, name: str) -> None:
        (self._place / name / "zarr.json").remove()  # first: without it, it is not a model
        (self._place / name).remove()

    def _remove_documents(self, phase: int) -> None:
        """Remove the state of documents of phases of which there is no version, but for the one that goes on."""
        needed = {documents_of(phase), *(documents_of(cursor.get("phase", 0)) for cursor in self._cursors())}
        for name in self._place.names():
            if DOCUMENTS.fullmatch(name) and name not in needed:
                (self._place / name).remove()

    def _kept_passes(self, phase: int) -> set[int]:
        """Passes of a phase whose document state the versions need: inside a pass, documents already seen have the next
        one's."""
        passes = set()
        for cursor in self._cursors():
            with suppress(KeyError, TypeError, ValueError):  # of a damaged one
                inside = cursor["round"] > 0 or bool(cursor.get("ahead"))
                if cursor.get("phase", 0) == phase:
                    passes |= {int(cursor["epoch"]), int(cursor["epoch"]) + inside}
        return passes

    def _cursors(self) -> Iterator[Mapping[str, Any]]:
        """Where the versions stand, unchecked; without those that are damaged."""
        for version in versions(self._place):
            description = model_store.describe(self._place / version)
            if isinstance(description, dict) and isinstance(description.get("cursor"), dict):
                yield description["cursor"]

    def _check(self, locked: bool = False) -> None:
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
            longer = (
                f"{either('load it with bigtopic.load_model and call partial_fit', _LONGER)} to learn longer"
            )
            if "documents" in self._place.names():  # a model goes on with other documents only
                longer = (
                    f"begin another run with {argument('init', self._place.url)} to start from its topics"
                )
            raise ModelVersionError(
                f"{self._place.url} is a checkpoint of format version {version}, which {writer_of(self._place)} wrote; "
                f"this version of bigtopic resumes version {VERSION} alone. It opens as a model: {longer}, resume the "
                "run with the version that began it, or give another path to begin anew"
            )
        self._refuse_begun()
        found = differences(about.get("identity"), self._identity)
        if found:
            raise ModelError(
                f"{self._place.url} holds another run, so it cannot be resumed: {'; '.join(found)}. Give what the run "
                "began with, the version of bigtopic included, or another path; to learn longer, resume it as it "
                f"began, then {either('call partial_fit', _LONGER)}"
            )

    def _restore(self) -> None:
        """Take the lock and write the root again, as far as something has removed or damaged them since.

        Raises
        ------
        CorpusExists, CorpusLocked, ModelError
            When another process has used the folder meanwhile.
        StoreError
            When the system refuses a write.
        """
        if not self._lock.held:
            self._is_new = False  # another process may have begun a run here
            self._lock.__exit__(None, None, None)
            self._lock.__enter__()
            self._check(locked=True)
        if not self._holds_this_run():
            self._write_root(again=True)

    def _holds_this_run(self) -> bool:
        """Whether the root says that the folder holds this run."""
        about = self._about()
        return about is not None and about.get("identity") == self._identity

    def _about(self) -> dict[str, Any] | None:
        """What the root says; None where it says nothing of a checkpoint."""
        with suppress(CorpusExists):
            about = (root_attributes(self._place, WHAT) or {}).get(FORMAT)
            return about if isinstance(about, dict) else None
        return None

    def _check_without(self, locked: bool) -> None:
        """The same where the root is missing or damaged, but all the rest may be there: each version names its run."""
        if not is_rest(self._place):
            if root_attributes(self._place, WHAT) is None:
                return require_free(self._place, WHAT, locked)
            raise self._not_one()
        self._refuse_begun()
        runs = [record_of(self._place / name).get("checkpoint") for name in versions(self._place)]
        if self.run not in runs or any(run not in (None, self.run) for run in runs):
            raise ModelError(
                f"{self._place.url}/{ROOT}, which says what the run in this folder began with, is missing or damaged, "
                "and the versions are not of the run that you describe; restore that file from a copy, give what the "
                "run began with, or another path"
            )

    def _not_one(self) -> CorpusExists:
        return CorpusExists(
            f"{self._place.url} exists and is not {WHAT}; nothing was written: give another path"
        )

    def _refuse_begun(self) -> None:
        if not self._resume:
            raise CorpusExists(
                f"{self._place.url} holds a run already; pass {argument('resume', True)} to go on with it, or give "
                "another path"
            )

    def _write_root(self, again: bool) -> None:
        about = {FORMAT: {"version": VERSION, "identity": self._identity}}
        replace_group(self._place, about, sweep=True)
        if again:
            warn(
                f"{self._place.url}/{ROOT} was missing or damaged, and was written again; find out what else changes "
                "files in this folder"
            )
