"""The root of a checkpoint: its `zarr.json` says which run the folder holds; its lock, which process has that run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from bigtopic.errors import CorpusExists, ModelError, ModelVersionError, argument, either, warn
from bigtopic.state.checkpoints.versions import FORMAT, is_rest, run_of, versions
from bigtopic.state.run_identity import differences, identity_hash
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.place import Place
from bigtopic.storage.writers import require_free, root_attributes
from bigtopic.storage.zarr_metadata import ROOT, replace_group

__all__ = ["CheckpointRoot"]

VERSION = 1
_WHAT = "a bigtopic checkpoint"
_LONGER = "run 'bigtopic train --continue-from MODEL --documents all'"


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
        if version != VERSION:
            raise CorpusExists(
                f"{self._place.url} exists and is not {_WHAT}; nothing was written: give another path"
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
            raise CorpusExists(
                f"{self._place.url} exists and is not {_WHAT}; nothing was written: give another path"
            )
        self._refuse_begun()
        runs = [run_of(self._place / version) for version in versions(self._place)]
        if self.run not in runs or any(run not in (None, self.run) for run in runs):
            raise ModelError(
                f"{self._place.url}/{ROOT}, which says what the run in this folder began with, is missing or damaged, "
                "and the versions are not of the run that you describe; restore that file from a copy, give what the "
                "run began with, or another path"
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
