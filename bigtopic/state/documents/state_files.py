"""The files of document state, and how tasks read and write them: Zarr arrays, one for each part and pass.

```
<folder>/
  zarr.json                       attributes["bigtopic-documents"]: the parts in order, what is remembered, the plan
  parts/<key>/offsets             int64 (n_docs + 1,): document d has the entries offsets[d] : offsets[d + 1]
  parts/<key>/token_offsets       the same for tokens, where something is remembered about them
  pass-<n>/<key>/<array>          the state when n passes were complete, a row per entry, token or document
  pass-<n>/<key>/.checksums       documents written together and their checksums, a row per document
```

Each document has a record among the checksums: the documents written together with it, first to last, and the CRC-32C
of their rows in each array, so that an edited or damaged file is noticed when it is read, before a kernel sees it.
Slices with other bounds read all rows written together, check them, and keep theirs. About 8 GB/s, and 12 bytes on disk
for each document and pass, where one array is remembered.

A key is a hash of the part's content. Pass n is read and pass n + 1 written, never in place, so that a task that runs
twice writes the same bytes twice. State is addressed by documents of a part: slices of any size find it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import prod
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np

from bigtopic.errors import ON_THREADS, ClusterError, CorpusDamaged
from bigtopic.storage.place import Place
from bigtopic.storage.row_arrays import RowArray
from bigtopic.storage.zarr_metadata import ROOT, group_json
from bigtopic.types import Hyper, StateSpec

__all__ = ["REMEDY", "State", "StateFiles", "StatePart", "resolved", "state_sizes"]

REMEDY = (
    "this method keeps labels of documents in files of the driver's machine: use workers on this machine, "
    f"or {ON_THREADS}"
)
_CANNOT = "the model counts what it remembers of documents (such as labels) and cannot go on without it"
_RESTORE = f"{_CANNOT}: restore this file from a copy, or fit the model again"

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
            When a file is missing, cut short or changed.
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
        """The same; rows that were written together are read together, because they share a checksum."""
        spans = self._written(part, start, stop, n_passes)
        first = min([start, *(span[0] for span in spans)])
        begins = self._begins(part, first, max([stop, *(span[1] for span in spans)]))
        found = {}
        for number, (name, spec) in enumerate(self.arrays.items()):
            begin, array = begins[spec.rows], self._array(part, n_passes, name)
            rows = array.read(int(begin[0]), int(begin[-1]))
            begin = begin - begin[0]
            for a, b, *sums in spans:
                if self._checksum(rows[begin[a - first] : begin[b - first]], n_passes) != sums[number]:
                    raise CorpusDamaged(
                        f"{array.place.url} does not hold the state written for documents {a} to {b}; {_RESTORE}"
                    )
            found[name] = rows[begin[start - first] : begin[stop - first]]
        return found

    def _written(self, part: int, start: int, stop: int, n_passes: int) -> list[list[int]]:
        """Documents written together with start:stop, in order: [first, last, checksum of each array] of each write."""
        records = self._records(part, n_passes)
        rows = records.read(start, stop)
        new = np.append(True, (rows[1:] != rows[:-1]).any(axis=1))[: len(rows)]
        spans: list[list[int]] = rows[new].tolist()
        ends = [span[1] for span in spans] or [stop]
        firsts = [span[0] for span in spans] or [start]
        in_turn = firsts[1:] == ends[:-1] and all(a < b for a, b, *_ in spans)
        if not (in_turn and firsts[0] <= start and stop <= ends[-1] <= self.parts[part].n_docs):
            raise CorpusDamaged(
                f"{records.place.url} does not describe documents {start} to {stop}; {_RESTORE}"
            )
        return spans

    def write(self, part: int, start: int, stop: int, n_passes: int, state: State) -> None:
        """Keep the state of documents start:stop of a part.

        Raises
        ------
        ClusterError, CorpusDamaged
            As `read` does.
        StoreError
            When the disk is full, or the system refuses a file for another reason.
        """
        if not self.has(part, n_passes):
            self._require()
            for name in self.arrays:
                self._array(part, n_passes, name).create()
            self._records(part, n_passes).create()
            # the group comes last, because it says that the arrays are there
            (self._of_pass(part, n_passes) / ROOT).write(group_json())
        begins = self._begins(part, start, stop)
        for name, spec in self.arrays.items():
            self._array(part, n_passes, name).write(int(begins[spec.rows][0]), state[name])
        sums = [self._checksum(state[name], n_passes) for name in self.arrays]
        record = np.array([start, stop, *sums], np.uint32)
        self._records(part, n_passes).write(start, np.tile(record, (stop - start, 1)))

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
        return arrays + self._records(part, 0).nbytes

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

    def _checksum(self, rows: np.ndarray, n_passes: int) -> int:
        """CRC-32C of rows as on disk, after a text that tells named runs, and their passes, apart."""
        owner = f"{self.run}/{n_passes}/" if self.run else ""
        data = np.ascontiguousarray(rows, rows.dtype.newbyteorder("<")).reshape(-1)
        return int(google_crc32c.extend(google_crc32c.value(owner.encode()), data.view(np.uint8)))

    def _array(self, part: int, n_passes: int, name: str) -> RowArray:
        spec, about = self.arrays[name], self.parts[part]
        place = self._of_pass(part, n_passes) / name
        return RowArray(place, about.n_rows(spec.rows), spec.dtype, _numbers(spec), spec.missing, _RESTORE)

    def _of_pass(self, part: int, n_passes: int) -> Place:
        return self.place / f"pass-{n_passes}/{self.parts[part].key}"

    def _records(self, part: int, n_passes: int) -> RowArray:
        """uint32 (n_docs, 2 + n_arrays): start and stop of the documents written together, and the checksums."""
        place, shape = self._of_pass(part, n_passes) / ".checksums", (2 + len(self.arrays),)
        return RowArray(place, self.parts[part].n_docs, "uint32", shape, remedy=_RESTORE)

    def _begins(self, part: int, start: int, stop: int) -> dict[str, np.ndarray]:
        """Where the rows of these documents, and of the one after them, begin in arrays of each kind."""
        begins = {"document": np.arange(start, stop + 1)}
        for kind in self.kinds():
            offsets = self.offsets(part, kind)
            found = begins[kind] = offsets.read(start, stop + 1)
            if not 0 <= found[0] <= found[-1] <= self.parts[part].n_rows(kind):
                raise CorpusDamaged(f"{offsets.place.url} does not say where {_MANY[kind]} begin; {_RESTORE}")
        return begins

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
        name: replace(spec, shape=tuple(sizes[n] if isinstance(n, str) else n for n in spec.shape))
        for name, spec in arrays.items()
    }


def _numbers(spec: StateSpec) -> tuple[int, ...]:
    return tuple(int(n) for n in spec.shape)
