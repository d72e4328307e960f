"""The files of document state, and how tasks read and write them: Zarr arrays, one for each part and pass.

```
<folder>/
  zarr.json                       attributes["bigtopic-documents"]: the parts in order, what is remembered, the plan
  parts/<key>/offsets             int64 (n_docs + 1,): entries offsets[d] : offsets[d + 1] are those of document d
  parts/<key>/token_offsets       the same of tokens, where something is remembered of them
  pass-<n>/<key>/<array>          the state when n passes were complete, a row per entry, token or document
  pass-<n>/<key>/.checksums       of what was written together, a row per document (`state_checksums`)
  spare/<key>                     files of an earlier pass, without checksums, for the next pass to write over
```

A key is a hash of the part's content. Pass n is read and pass n + 1 written, never in place, so that a task that runs
twice writes the same bytes twice. State is addressed by documents of a part: slices of any size find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.errors import ON_THREADS, ClusterError, CorpusDamaged, StoreError
from bigtopic.state.contract.kernel_results import check_state, check_state_names
from bigtopic.state.documents.state_checksums import Checksums, WrittenSpan, checksum
from bigtopic.storage.place import Place
from bigtopic.storage.row_arrays import RowArray
from bigtopic.storage.zarr_metadata import ROOT, group_json
from bigtopic.types import Hyper, StateSpec

__all__ = ["REMEDY", "SPARE", "State", "StateFiles", "StatePart", "resolved", "state_sizes"]

REMEDY = (
    "this method keeps labels of documents in files of the driver's machine: use workers on this machine, "
    f"or {ON_THREADS}"
)
_CANNOT = "the model counts what it remembers of documents (such as labels) and cannot go on without it"
_RESTORE = f"{_CANNOT}: restore this file from a copy, or fit the model again"

SPARE = "spare"
_MANY = {"entry": "entries", "token": "tokens"}

State = Mapping[str, np.ndarray]


@dataclass(frozen=True)
class StatePart:
    """Some documents whose state is kept.

    Attributes
    ----------
    key : a hash of the content, the same for the same documents in the same order
    n_docs, n_entries : number of documents, and of their distinct words, summed over the documents
    first_pass : number of complete passes of the model when it first saw them
    n_tokens : sum of the counts; 0 where nothing is remembered of tokens
    """

    key: str
    n_docs: int
    n_entries: int
    first_pass: int
    n_tokens: int = 0

    def n_rows(self, kind: str) -> int:
        """Rows of an array that has one for each "entry", "token" or "document"."""
        return {"entry": self.n_entries, "token": self.n_tokens, "document": self.n_docs}[kind]


@dataclass(frozen=True)
class StateFiles:
    """The files of the state of a corpus' documents; small and picklable.

    Parameters
    ----------
    place : a folder of this machine, or one that all workers see under this path
    parts : in the order of the corpus
    arrays : {name: its `StateSpec`, with a shape of numbers}
    run : a hash of what the run began with, see `About`
    sent : whether another process sent this here, as a driver does to its workers
    """

    place: Place
    parts: tuple[StatePart, ...] = ()
    arrays: Mapping[str, StateSpec] = field(default_factory=dict, hash=False)
    run: str = ""
    sent: bool = field(default=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "sent": True}

    def read(self, part: int, start: int, stop: int, n_passes: int) -> State | None:
        """The state of documents start:stop of a part after `n_passes` passes; None where the model had not seen them.

        Raises
        ------
        ClusterError
            When a worker does not see the folder.
        CorpusDamaged
            When a file is missing or cut short, or does not hold what was written.
        """
        if n_passes <= self.parts[part].first_pass:
            self._require()
            return None
        try:
            return self._checked(part, start, stop, n_passes)
        except CorpusDamaged:
            self._require()
            raise

    def _checked(self, part: int, start: int, stop: int, n_passes: int) -> State:
        """The same; what was written together is read whole, because its checksum is that of the whole."""
        spans = self._checksums(part, n_passes).spans(start, stop)
        first = min([start, *(span.start for span in spans)])
        begins = self._begins(part, first, max([stop, *(span.stop for span in spans)]))
        found = {}
        for number, (name, spec) in enumerate(self.arrays.items()):
            begin, array = begins[spec.rows], self._array(part, n_passes, name)
            rows = array.read(int(begin[0]), int(begin[-1]))
            begin = begin - begin[0]
            for span in spans:
                of_span = rows[begin[span.start - first] : begin[span.stop - first]]
                if checksum(of_span, self._owner(n_passes)) != span.sums[number]:
                    raise CorpusDamaged(
                        f"{array.place.url} does not hold what was written of documents {span.start} to {span.stop}; "
                        f"{_RESTORE}"
                    )
            found[name] = rows[begin[start - first] : begin[stop - first]]
        return found

    def write(self, part: int, start: int, stop: int, n_passes: int, state: State) -> None:
        """Keep the state of documents start:stop of a part.

        Raises
        ------
        ClusterError, CorpusDamaged
            As `read` does.
        ModelError
            When the kernel returned other arrays than it declares.
        StoreError
            When the disk is full, or the system refuses a file for another reason.
        """
        check_state_names(state, self.arrays)
        if not self.has(part, n_passes):
            self._require()
            self._create(part, n_passes)
        begins = self._begins(part, start, stop)
        for name, spec in self.arrays.items():
            first, last = int(begins[spec.rows][0]), int(begins[spec.rows][-1])
            check_state(name, state[name], spec, last - first)
            self._array(part, n_passes, name).write(first, state[name])
        sums = tuple(checksum(state[name], self._owner(n_passes)) for name in self.arrays)
        self._checksums(part, n_passes).write(WrittenSpan(start, stop, sums))

    def missing(self, part: int, start: int, stop: int) -> State:
        """The state of documents that no kernel has seen."""
        begins = self._begins(part, start, stop)
        n_rows = {kind: int(begin[-1] - begin[0]) for kind, begin in begins.items()}
        return {
            name: np.full((n_rows[spec.rows], *_numbers(spec)), spec.missing, spec.dtype)
            for name, spec in self.arrays.items()
        }

    def has(self, part: int, n_passes: int) -> bool:
        """Whether there is state of a part after `n_passes` passes."""
        return Path((self._of_pass(part, n_passes) / ROOT).url).exists()

    def require_group(self, part: int, n_passes: int) -> None:
        """Refuse state of a part without its group, by which `has` knows that it is there.

        Raises
        ------
        CorpusDamaged
        """
        if n_passes > self.parts[part].first_pass and not self.has(part, n_passes):
            raise CorpusDamaged(f"{(self._of_pass(part, n_passes) / ROOT).url} is missing; {_RESTORE}")

    def has_offsets(self, part: int) -> bool:
        """Whether there are the offsets of a part."""
        return all(self.offsets(part, kind).exists for kind in self.kinds())

    def offsets(self, part: int, kind: str = "entry") -> RowArray:
        """Where the entries, or the tokens, of each document begin."""
        about, name = self.parts[part], {"entry": "offsets", "token": "token_offsets"}[kind]
        return RowArray(self.place / f"parts/{about.key}/{name}", about.n_docs + 1, "int64", remedy=_RESTORE)

    def kinds(self) -> set[str]:
        """What the rows of the arrays stand for, where documents have several: entries, tokens."""
        return {spec.rows for spec in self.arrays.values()} - {"document"}

    def pass_bytes(self, part: int) -> int:
        """Bytes on disk of the arrays of a part for one pass, and of their checksums."""
        arrays = sum(self._array(part, 0, name).nbytes for name in self.arrays)
        return arrays + self._checksums(part, 0).records.nbytes

    def bytes_in_memory(self) -> int:
        """Bytes of the arrays of all parts for one pass."""
        return sum(
            about.n_rows(spec.rows) * np.dtype(spec.dtype).itemsize * prod(_numbers(spec))
            for about in self.parts
            for spec in self.arrays.values()
        )

    def offsets_bytes(self, part: int) -> int:
        """Bytes on disk of the offsets of a part."""
        return sum(self.offsets(part, kind).nbytes for kind in self.kinds())

    def _owner(self, n_passes: int) -> str:
        """What checksums begin with, so that rows of other runs and passes do not match; of unnamed runs, nothing."""
        return f"{self.run}/{n_passes}/" if self.run else ""

    def _array(self, part: int, n_passes: int, name: str) -> RowArray:
        spec, about = self.arrays[name], self.parts[part]
        place = self._of_pass(part, n_passes) / name
        return RowArray(place, about.n_rows(spec.rows), spec.dtype, _numbers(spec), spec.missing, _RESTORE)

    def _of_pass(self, part: int, n_passes: int) -> Place:
        return self.place / f"pass-{n_passes}/{self.parts[part].key}"

    def _checksums(self, part: int, n_passes: int) -> Checksums:
        place = self._of_pass(part, n_passes) / ".checksums"
        return Checksums(place, self.parts[part].n_docs, len(self.arrays), _RESTORE)

    def _begins(self, part: int, start: int, stop: int) -> dict[str, np.ndarray]:
        """Where the rows of these documents, and of the one after them, begin in arrays of each kind."""
        begins = {"document": np.arange(start, stop + 1)}
        for kind in self.kinds():
            offsets = self.offsets(part, kind)
            found = begins[kind] = offsets.read(start, stop + 1)
            if not 0 <= found[0] <= found[-1] <= self.parts[part].n_rows(kind):
                raise CorpusDamaged(f"{offsets.place.url} does not say where {_MANY[kind]} begin; {_RESTORE}")
        return begins

    def _create(self, part: int, n_passes: int) -> None:
        """Make the arrays of a part; its group comes last, because that says that the arrays are there."""
        if self._take_spare(part, n_passes):
            return
        for name in self.arrays:
            self._array(part, n_passes, name).create()
        self._checksums(part, n_passes).records.create()
        (self._of_pass(part, n_passes) / ROOT).write(group_json())

    def spare(self, n_passes: int) -> None:
        """Keep the files of a pass whose state nobody needs, for the next pass to write over: making and removing
        folders takes longer than writing into them. Leaves them where they are if there are spare files already, or if
        a copy of the folder shares them by hard links: the copy must not change."""
        there = [part for part in range(len(self.parts)) if self.has(part, n_passes)]
        if not there or any(self._is_shared(part, n_passes) for part in there):
            return
        for part in there:
            self._checksums(part, n_passes).records.clear()
        with suppress(StoreError):  # there are spare files already
            (self.place / f"pass-{n_passes}").move(self.place / SPARE)

    def _is_shared(self, part: int, n_passes: int) -> bool:
        """Whether the files of a part have other names, as far as that of its group tells."""
        return Path((self._of_pass(part, n_passes) / ROOT).url).stat().st_nlink > 1

    def _take_spare(self, part: int, n_passes: int) -> bool:
        """Make the spare files of a part those of this pass; whether there were any."""
        spare = self.place / f"{SPARE}/{self.parts[part].key}"
        try:
            spare.move(self._of_pass(part, n_passes))
        except StoreError:  # there are none, or another task was faster
            return False
        return True

    def _require(self) -> None:
        """Refuse a folder that is not there: it was removed, or a worker that joined later has no access to it."""
        if Path(self.place.url).is_dir():
            return
        if self.sent:
            raise ClusterError(f"a worker does not see the files of {self.place.url}; {REMEDY}")
        raise CorpusDamaged(
            f"{self.place.url} is missing; {_CANNOT}: restore this folder from a copy, or fit the model again"
        )


def state_sizes(hyper: Hyper) -> dict[str, Any]:
    """What the names in the shapes of document state stand for."""
    return {**hyper.options, **hyper.components, "n_components": hyper.n_components}


def resolved(arrays: Mapping[str, StateSpec], sizes: Mapping[str, Any]) -> dict[str, StateSpec]:
    """The same arrays, with the names in their shapes replaced by `sizes`."""
    return {
        name: StateSpec(
            spec.rows,
            spec.dtype,
            tuple(sizes[n] if isinstance(n, str) else n for n in spec.shape),
            spec.missing,
        )
        for name, spec in arrays.items()
    }


def _numbers(spec: StateSpec) -> tuple[int, ...]:
    return tuple(int(n) for n in spec.shape)
