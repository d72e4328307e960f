"""Checkpoints: versions of a run, saved while it goes on, from which another process can resume it.

```
run.ckpt/                   zarr.json: attributes["bigtopic-checkpoint"] says which run it is, written first
  .bigtopic.lock            held by the process of the run
  step-000000001200/        the model after 1200 updates (`model_store`); the newest complete version counts
  documents/                what the model remembers of documents (`document_state`), if anything
```
Everything a run remembers is in the model and in the state of its documents, so a resumed run gives the bits of an
uninterrupted one, provided that corpus and settings are the same. The root says which they were.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from numbers import Integral, Real
from os import PathLike
from types import TracebackType
from typing import Any

from bigtopic.errors import ModelError, SettingError, StoreError, argument
from bigtopic.methods import Method
from bigtopic.plan.cursor import Cursor
from bigtopic.state import model_store
from bigtopic.state.checkpoints.versions import (
    STEP,
    CheckpointRoot,
    load_version,
    name_of,
    newest_intact,
    versions,
)
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.model import TopicModel
from bigtopic.storage import local
from bigtopic.storage.place import Place

__all__ = ["Checkpoint", "CheckpointFolder"]


@dataclass(frozen=True)
class Checkpoint:
    """Where and how often a run is saved.

    Parameters
    ----------
    path : a folder, new or made by the same run
    seconds : save when so many seconds have passed since the last version. A version costs a copy of the params on the
        disk; a resumed run repeats at most about this much
    rounds : save also when so many updates were done since, whichever comes first; None for time alone. A run is saved
        between exchanges, which the default method has every 32 updates, or up to 256 in a large corpus: a resumed run
        repeats at most `rounds` + 31 (255) updates, and without exchanges at most `rounds`; on a client perhaps two
        seconds' updates more
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
        self._settings = settings
        self._place = Place.of(settings.path)
        self._root = CheckpointRoot(self._place, identity, resume)
        self._saved_at, self._saved_step = time.monotonic(), 0
        self._state: DocumentState | None = None
        self._made: list[str] = []  # folders that were not there before

    @property
    def run(self) -> str:
        """Tells this run from others, see `identity_hash`."""
        return self._root.run

    def __enter__(self) -> CheckpointFolder:
        self._root.check()
        self._made = local.missing_folders(self._place.url)
        try:
            self._root.begin()
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._state is not None:  # the model may learn on, but not in this folder
            self._state.lend(self._root.holds_this_run)
        new = self._root.is_new and self._root.lock.held  # else another process may have it by now
        if kind is not None and new and not versions(self._place):
            # A run that failed before it was saved is in nobody's way.
            for name in ("zarr.json", "documents"):
                with suppress(StoreError):  # the first failure is raised instead
                    (self._place / name).remove()
        self._root.lock.__exit__(kind, error, trace)
        if kind is not None:
            local.remove_made(self._made)

    def newest(
        self, method: Method | None, contradictions: Callable[[TopicModel], Sequence[str]] = lambda model: ()
    ) -> tuple[TopicModel, dict[str, Any]] | None:
        """The model of the newest intact version, and what was saved with it; None where there is no version yet.

        Parameters
        ----------
        method : the one it was learned with, if that is not in the table
        contradictions : says how a model differs from what the run began with; one that does is damaged

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
            self._saved_step = found[0].cursor.step
        return found

    def attach(self, model: TopicModel) -> None:
        """Keep what the model remembers of documents in this folder.

        Raises
        ------
        CorpusDamaged
            When what the model remembers is damaged.
        ModelError
            When the model has counted documents, and the folder is of others, or stands where no run over them can.
        """
        place = self._place / "documents"
        place.refuse_link()
        state = DocumentState(place.url, self.run)
        counted = None if model.document_state is None else model.document_state.description
        if model.cursor != Cursor() and state.description != counted:
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
        state.kept, state.most_kept = self._kept_passes(), 2 * self._settings.keep
        self._state = model.document_state = state

    def due(self, step: int) -> bool:
        """Whether the next version should be saved after update `step`."""
        rounds = self._settings.rounds
        late = time.monotonic() - self._saved_at >= self._settings.seconds
        return step > self._saved_step and (
            late or (rounds is not None and step - self._saved_step >= rounds)
        )

    def save(self, model: TopicModel, extra: Mapping[str, Any]) -> None:
        """Write a version, in one step, and remove those that are too old.

        Raises
        ------
        CorpusExists, CorpusLocked, ModelError
            When another process has used the folder since this one entered it.
        StoreError
            When the system refuses a write.
        """
        self._root.restore()
        if model.document_state is not None:
            model.document_state.sync()
        name = name_of(model)
        place = self._place / name
        place.refuse_link()
        if model_store.describe(place.url) is None:
            self._remove(name)
        model_store.save(model, place.url, dict(extra), overwrite=True)
        # Later ones were passed over when the run went on, because they are damaged.
        kept = [version for version in versions(self._place) if version <= name]
        self._remove_others(kept[-self._settings.keep :])
        if model.document_state is not None:
            model.document_state.kept = self._kept_passes()
            model.document_state.end_pass(model.cursor.pass_number)
        self._saved_at, self._saved_step = time.monotonic(), model.cursor.step

    def _remove_others(self, kept: Sequence[str]) -> None:
        """Remove other versions, and what a killed process left of one."""
        for name in self._place.names():
            if STEP.fullmatch(name) and name not in kept:
                self._remove(name)

    def _remove(self, name: str) -> None:
        (self._place / name / "zarr.json").remove()  # first: without it, it is not a model
        (self._place / name).remove()

    def _kept_passes(self) -> set[int]:
        """Passes whose document state the versions need: inside a pass, documents that it has reached have the next."""
        passes = set()
        for version in versions(self._place):
            with suppress(KeyError, TypeError, ValueError):  # of a damaged one
                cursor = model_store.describe((self._place / version).url)["cursor"]
                inside = cursor["round"] > 0 or bool(cursor.get("ahead"))
                passes |= {int(cursor["epoch"]), int(cursor["epoch"]) + inside}
        return passes
