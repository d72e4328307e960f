"""What a model remembers of the documents it learns from (labels, responsibilities), from pass to pass.

It belongs to one model, and to the corpus that the model saw last, whose parts are recognised by their content. A
kernel that subtracts what it added in the last pass must find it again, or documents would be counted twice; so
learning from documents whose state is lost is refused.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import ModelError, SettingError, either
from bigtopic.kernels.support.tokens import TAKES_WEIGHTS
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import Plan, SliceRef
from bigtopic.state.documents.state_files import State, StateFiles, StatePart
from bigtopic.state.documents.state_folder import (
    About,
    DiskNeed,
    copy_state,
    disk_need,
    parsed,
    passes,
    read_about,
    refuse_full,
    remove_passes,
    restore_about,
    temporary_folder,
    write_about,
)
from bigtopic.storage.place import Place
from bigtopic.types import StateSpec

__all__ = ["DocumentState"]

_LOST = (
    "the model has counted these documents, but what it remembers of them (such as labels) is not with it: that stays "
    "with the model that was fitted, or in the folder of its checkpoint, from which "
    + either("fit(..., resume=True)", "'bigtopic train --checkpoint FOLDER --resume'")
    + " continues; go on with that model, or fit a new one"
)
_OTHER = (
    "what the model remembers of documents (such as labels) does not belong to the earlier documents of this corpus, "
    "which it would count twice: append to the corpus that it learned from last, or fit a new model"
)


class DocumentState:
    """The state of a model's documents, in a folder.

    A copy of a model has a copy of the folder (`copy.deepcopy`), or none (`pickle`), and a folder that is lent is
    copied before anything is written: no model changes or removes the folder of another one, or of a checkpoint.

    Parameters
    ----------
    place : a folder that keeps it, new or made by another run of the same model; None for a temporary one, which is
        removed with this object
    run : a hash of what the run began with, where another run of the same documents must not be taken for it

    Attributes
    ----------
    kept : passes whose state is kept although later ones are complete, because a run may be resumed from there
    most_kept : the most passes that are kept for that reason

    Raises
    ------
    CorpusExists
        When there is something else in the folder.
    ModelError
        When the folder is damaged.
    """

    def __init__(self, place: Any = None, run: str = "") -> None:
        self._place = None if place is None else Place.of(place)
        self._about, self._run = About(), run
        self.kept: Set[int] = frozenset()
        self.most_kept = 0
        self._still_lent: Callable[[], bool] | None = None
        if self._place is not None:
            self._about = read_about(self._place) or self._about

    @classmethod
    def at(cls, place: Place) -> DocumentState:
        """State that will be in a folder, in which nothing is looked for yet: for `check_room`."""
        state = cls()
        state._place = place
        return state

    @property
    def files(self) -> StateFiles:
        """The files, as tasks need them."""
        assert self._place is not None, "there is nothing before a run has begun"
        return StateFiles(self._place, self._about.parts, self._about.arrays, self._about.run)

    @property
    def disk(self) -> DiskNeed:
        """Disk space that a run may take."""
        return disk_need(self.files, self.most_kept + 2)

    def begin(
        self,
        parts: Sequence[Any],
        vocabulary: Vocabulary,
        plan: Plan,
        arrays: Mapping[str, StateSpec],
        cursor: Cursor,
    ) -> Cursor:
        """Make ready for a run over a corpus; returns the cursor at which it begins.

        That is the cursor given, or, where another plan or another corpus cuts the pass short, the start of the next
        pass: no document is seen twice in one pass.

        Parameters
        ----------
        parts, vocabulary : of the corpus
        plan : of the run
        arrays : with shapes of numbers

        Raises
        ------
        ModelError
            When the model has counted documents whose state is lost.
        SettingError
            When the disk is too small for it, or tokens are to be remembered of documents whose counts are weights.
        """
        keys = _keys(parts)
        known = self._known(vocabulary, cursor)
        if cursor.inside_pass and not (keys == list(known) and plan.settings == self._about.plan):
            self.leave_pass(cursor)
            cursor = cursor.next_pass()
        found = _state_parts(parts, known, arrays, cursor.pass_number)
        if self._place is None:
            self._place = temporary_folder(self)
        if not (self._place / "zarr.json").exists():  # describe it at once
            write_about(self._place, About())
        run = self._about.run if known else self._run
        files = StateFiles(self._folder, found, dict(arrays), run)
        counted = known.keys() & {*keys}
        if (counted and self._about.arrays != files.arrays) or not _are_there(files, plan, cursor):
            raise ModelError(_LOST)
        refuse_full(files, self._passes(cursor), self.most_kept + 2)
        self._keep_only(counted, cursor)
        for number, part in enumerate(parts):
            for kind in files.kinds() if keys[number] not in known else ():
                lengths = part.entries if kind == "entry" else part.tokens
                files.offsets(number, kind).create()
                begins = np.concatenate([[0], np.cumsum(lengths(0, part.n_docs), dtype=np.int64)])
                files.offsets(number, kind).write(0, begins)
        self._about = About(
            files.parts, files.arrays, plan.settings, vocabulary.size, vocabulary.fingerprint, run
        )
        write_about(self._folder, self._about)
        return cursor

    def check_room(self, parts: Sequence[Any], arrays: Mapping[str, StateSpec]) -> DiskNeed:
        """The disk space that a run over a corpus would take, before it begins. For the arguments see `begin`.

        Raises
        ------
        SettingError
            Like `begin`.
        """
        place = Place(tempfile.gettempdir()) if self._place is None else self._place
        files = StateFiles(place, _state_parts(parts, {}, arrays, 0), dict(arrays))
        there = frozenset(passes(place)) if self._place is not None else frozenset()
        refuse_full(files, there, self.most_kept + 2)
        return disk_need(files, self.most_kept + 2)

    def end_pass(self, n_passes: int) -> None:
        """After `n_passes` complete passes: remove the state of earlier ones that is not `kept`, once this one's is
        written."""
        if any(self.files.has(part, n_passes) for part in range(len(self.files.parts))):
            remove_passes(self._folder, lambda number: number < n_passes and number not in self.kept)

    def leave_pass(self, cursor: Cursor) -> None:
        """End the pass at the cursor early: documents that it did not reach keep the state that they had."""
        if self._place is not None and self._plan is not None:
            for part, refs in sorted(_left(self._plan, cursor).items()):
                for ref in refs:
                    state = _known(self.files, part, ref.start, ref.stop, cursor.pass_number)
                    self.files.write(part, ref.start, ref.stop, cursor.pass_number + 1, state)

    def read(self, part: int, start: int, stop: int, cursor: Cursor) -> State:
        """The state of documents start:stop of a part of the corpus, in stored order.

        Parameters
        ----------
        cursor : of the model; in the middle of a pass, some documents still have the state of the pass before

        Returns
        -------
        {array name: (n_entries, ...), (n_tokens, ...) or (n_docs, ...)}; in the order of the part's documents

        Raises
        ------
        ModelError
            When there is none: before the first run, and in a pickled or saved model.
        """
        plan = self._plan
        if plan is None or not self._is_there(cursor):
            raise ModelError(_LOST)
        files, old, newest = self.files, cursor.pass_number, cursor.pass_number + cursor.inside_pass
        pieces, first = [files.missing(part, start, start)], start
        for ref in _left(plan, cursor).get(part, ()):
            a, b = max(first, ref.start), min(stop, ref.stop)
            if a < b:
                pieces += [_known(files, part, first, a, newest), _known(files, part, a, b, old)]
                first = b
        pieces.append(_known(files, part, first, stop, newest))
        return {name: np.concatenate([piece[name] for piece in pieces]) for name in files.arrays}

    def has_counted(self, parts: Sequence[Any], vocabulary: Vocabulary, cursor: Cursor) -> bool:
        """Whether a model at the cursor has counted all these parts, and would recognise them."""
        return self._known(vocabulary, cursor).keys() >= {*_keys(parts)}

    def require_counted(
        self, parts: Sequence[Any], vocabulary: Vocabulary, cursor: Cursor, n_docs: int
    ) -> None:
        """Refuse parts unless exactly `n_docs` of their documents have state: others would be counted twice, or lost.

        Raises
        ------
        ModelError
            When the model does not recognise so many documents, or remembers none.
        """
        known = self._known(vocabulary, cursor)
        if sum(part.n_docs for key, part in zip(_keys(parts), parts, strict=True) if key in known) != n_docs:
            raise ModelError(_OTHER)

    def allows(self, cursor: Cursor) -> bool:
        """Whether the run whose state this is can stand at the cursor."""
        return self._plan is None or cursor.fits(self._plan.n_rounds)

    def check(self, cursor: Cursor) -> None:
        """Read all that a run at the cursor begins with; 0.5 to 2 GB/s from memory.

        Raises
        ------
        CorpusDamaged
            When a file is missing or cut short, or does not hold what was written.
        """
        if (plan := self._plan) is None:
            return
        left, groups = {ref for refs in _left(plan, cursor).values() for ref in refs}, set()
        for rnd in plan.rounds(cursor.pass_number):
            for ref in rnd.slices:
                n_passes = cursor.pass_number + (cursor.inside_pass and ref not in left)
                self.files.read(ref.part, ref.start, ref.stop, n_passes)
                groups.add((ref.part, n_passes))
        for part, n_passes in sorted(groups):
            self.files.require_group(part, n_passes)

    def lend(self, still: Callable[[], bool]) -> None:
        """Leave the folder to its owner: from now on, it is read here and no longer written.

        Parameters
        ----------
        still : whether the folder still holds the state that was lent
        """
        self.kept, self.most_kept, self._still_lent = frozenset(), 0, still

    def to_write(self, cursor: Cursor) -> DocumentState:
        """This object, or a copy, for a run at the cursor, where the folder is lent."""
        if self._still_lent is None:
            return self
        passes = self._passes(cursor)
        return self._copied(self._source if self._is_there(cursor) else None, lambda number: number in passes)

    def sync(self) -> None:
        """Flush everything written to the disk, and write the description again if it was lost."""
        self._folder.sync()
        restore_about(self._folder, self._about)

    @property
    def _folder(self) -> Place:
        assert self._place is not None
        return self._place

    @property
    def _plan(self) -> Plan | None:
        """Of the run that the files are of, if there was one."""
        return Plan(**self._about.plan) if self._about.plan else None

    @property
    def _source(self) -> Place | None:
        """The folder to read, if it is there; one that was lent may be gone, or belong to another run."""
        return self._place if self._still_lent is None or self._still_lent() else None

    def _is_there(self, cursor: Cursor) -> bool:
        """Whether the folder is there, and, if it was lent, its owner has left the state that the cursor needs."""
        return self._source is not None and (
            self._still_lent is None or _are_there(self.files, self._plan, cursor)
        )

    def _known(self, vocabulary: Vocabulary, cursor: Cursor) -> dict[str, StatePart]:
        """Parts that the model has counted and would recognise."""
        if not self._about.knows(vocabulary) or not cursor.has_begun:
            return {}
        return {part.key: part for part in self._about.parts}

    def _keep_only(self, keys: Set[str], cursor: Cursor) -> None:
        """Remove what this run does not read: other passes, and parts of other corpora."""
        passes = self._passes(cursor)
        remove_passes(self._folder, lambda number: number not in passes)
        for key in {part.key for part in self._about.parts} - keys:
            for folder in ("parts", *(f"pass-{number}" for number in passes)):
                (self._folder / f"{folder}/{key}").remove()

    def _passes(self, cursor: Cursor) -> set[int]:
        """Passes whose state a run at the cursor reads, or to which a run may go back."""
        kept = {number for number in self.kept if number < cursor.pass_number}
        return kept | {cursor.pass_number, cursor.pass_number + cursor.inside_pass}

    def _copied(self, source: Place | None, chosen: Callable[[int], bool]) -> DocumentState:
        """A copy with a separate folder and the chosen passes; without files if there is no source."""
        other = type(self)()
        other._about = self._about
        if source is not None:
            other._place = temporary_folder(other)
            copy_state(source, other._place, chosen)
        return other

    def __deepcopy__(self, memo: dict[int, Any]) -> DocumentState:
        return self._copied(self._source, lambda number: True)

    def __getstate__(self) -> dict[str, Any]:
        """Which documents were counted, without their state: the files stay with this object."""
        return {**vars(type(self)()), "_about": self._about}

    @property
    def description(self) -> dict[str, Any]:
        """Which documents were counted, as JSON can hold it; see `without_files`."""
        return self._about.as_json()

    @classmethod
    def without_files(cls, description: Any) -> DocumentState:
        """State without its files, as in a pickle, from the description in a file.

        Raises
        ------
        FieldError
            When it is not one.
        ModelVersionError
            When it is of a newer format.
        """
        state = cls()
        state._about = parsed(description, "the state of documents:")
        return state


def _state_parts(
    parts: Sequence[Any], known: Mapping[str, StatePart], arrays: Mapping[str, StateSpec], n_passes: int
) -> tuple[StatePart, ...]:
    """The parts of a corpus, those that are known as they are, which a model sees after so many passes."""
    tokens = [name for name, spec in arrays.items() if spec.rows == "token"]
    return tuple(
        known.get(key)
        or StatePart(key, part.n_docs, part.nnz, n_passes, _n_tokens(part, tokens) if tokens else 0)
        for key, part in zip(_keys(parts), parts, strict=True)
    )


def _n_tokens(part: Any, names: Sequence[str]) -> int:
    """Number of tokens of a part, for the arrays of these names."""
    tokens = part.tokens(0, part.n_docs)
    weighted = np.flatnonzero(tokens % 1)
    if len(weighted):
        block = part.read(0, int(weighted[0]) + 1)
        entry = np.flatnonzero(block.counts % 1)[0]
        row = block.rows[np.searchsorted(block.indptr, entry, side="right") - 1]
        raise SettingError(
            f"document {row} has a count of {block.counts[entry]:g}, but the method remembers "
            f"{', '.join(map(repr, names))} of each token, so counts must be whole numbers; {TAKES_WEIGHTS}"
        )
    return int(tokens.sum())


def _keys(parts: Sequence[Any]) -> list[str]:
    """Hashes of the content of parts; equal ones are numbered."""
    seen: Counter[str] = Counter()
    keys = []
    for part in parts:
        digest = hashlib.blake2b(part.fingerprint.encode(), digest_size=12).hexdigest()
        keys.append(f"{digest}-{seen[digest]}")
        seen[digest] += 1
    return keys


def _known(files: StateFiles, part: int, start: int, stop: int, n_passes: int) -> State:
    found = files.read(part, start, stop, n_passes) if start < stop else None
    return found or files.missing(part, start, stop)


def _are_there(files: StateFiles, plan: Plan | None, cursor: Cursor) -> bool:
    """Whether there are files of every pass that a run at a cursor of the plan reads; None before the first run."""
    numbers = range(len(files.parts))
    written = not cursor.inside_pass or any(files.has(number, cursor.pass_number + 1) for number in numbers)
    reads = _left(plan, cursor) if plan is not None and cursor.inside_pass else numbers
    old = [number for number in reads if files.parts[number].first_pass < cursor.pass_number]
    return written and all(files.has(number, cursor.pass_number) for number in old)


def _left(plan: Plan, cursor: Cursor) -> dict[int, list[SliceRef]]:
    """Slices that the pass has not reached, by part, in the order of the documents; none between two passes."""
    left: dict[int, list[SliceRef]] = {}
    for rnd in plan.rounds(cursor.pass_number, cursor.round, cursor.ahead) if cursor.inside_pass else ():
        for ref in rnd.slices:
            left.setdefault(ref.part, []).append(ref)
    return {part: sorted(refs, key=lambda ref: ref.start) for part, refs in left.items()}
