"""Sizes of a run's arrays: of a slice and its statistics, of documents as they are read, of their state.

The equations are those of `footprint`.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from math import prod
from typing import Any

import numpy as np

from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.part import PartView
from bigtopic.corpus.stored.schema import CHUNK
from bigtopic.corpus.stored.stored_part import OPEN_PARTS
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.learning import remembering
from bigtopic.learning.executors.documents import ENTRY_BYTES, keeps_all, keeps_prepared, params_are_still
from bigtopic.learning.executors.protocol import Run
from bigtopic.learning.executors.until_end import may_wait
from bigtopic.learning.loops import works_on
from bigtopic.learning.memory.crew_sizes import crew_sizes
from bigtopic.learning.memory.expected_rows import ExpectedRows
from bigtopic.learning.memory.replay import CrewSizes, SliceSizes
from bigtopic.learning.putting_off import puts_off
from bigtopic.learning.reduce import sum_dtype
from bigtopic.learning.rounds import moved_arrays
from bigtopic.plan import reading
from bigtopic.plan.delays import Groups
from bigtopic.state.contract.kernel_declarations import statistics_dtype
from bigtopic.state.contract.kernel_results import check_scratch
from bigtopic.state.documents.state_files import resolved, state_sizes
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.state.running_mean import MEAN
from bigtopic.state.views import can_be_in_place
from bigtopic.types import CallSize, Scratch

__all__ = ["Sizes"]

_SAMPLE = 1 << 13  # documents, the first ones, among which the longest are looked for
_INDEX_BYTES = 16  # for each document of a read block, and of a part that is open
_CHECKED_BYTES = 8  # for each document of a part that is being opened
_DOCUMENT_BYTES = 36  # for each document of a slice: index and source row, twice, and order


class Sizes:
    """Bytes of each array, or group of arrays, that a run has in memory.

    Parameters
    ----------
    run, params : of the model
    axes : what is on the axes of the params, with document frequencies
    """

    def __init__(self, run: Run, params: Params, axes: Mapping[str, Vocabulary]) -> None:
        self._run = run
        self._params = params
        self._rows = ExpectedRows(axes, params.axis_sizes(), run.plan.n_docs, run.plan.entries_per_doc)

    def params(self) -> int:
        """The params, and their priors."""
        return sum(array.nbytes + array.prior.nbytes for array in self._params.arrays.values())

    def read(self, n_docs: int) -> float:
        """The rows of the params that `n_docs` documents need."""
        arrays = [self._params[name] for name in self._run.work.kernel.views]
        return sum(self._rows(a.axis, n_docs) * a.n_columns * a.raw.itemsize for a in arrays)

    def lookup(self) -> int:
        """A thread's table of ids, which is as long as the longest axis that documents have ids on."""
        longest = max(
            (a.n_rows for a in self._params.arrays.values() if a.axis in ("word", "author")), default=0
        )
        return 4 * max(self._run.work.n_words, longest)

    def topics(self) -> int:
        """The topics as `stopping.PassMeasure` keeps them."""
        words = [a for a in self._params.arrays.values() if a.axis in ("word", "column")]
        return sum(4 * array.n_rows * array.n_columns for array in words[:1])

    def averaged(self, n_docs: int) -> float:
        """Temporary arrays of a step that a mean follows: rows before it, rows after it, and their difference."""
        means = [self._params.arrays.get(f"{name}.{MEAN}") for name in self.returned]
        return sum(24 * self._rows(mean.axis, n_docs) * mean.n_columns for mean in means if mean is not None)

    @cached_property
    def returned(self) -> dict[str, LazyArray]:
        """The arrays that the kernel returns statistics for."""
        return {name: self._params[name] for name in self._run.work.kernel.statistics}

    def row_bytes(self, name: str) -> int:
        """Bytes of a row of statistics, with its id."""
        return self._params[name].n_columns * self._statistics_dtype.itemsize + 4

    @cached_property
    def _statistics_dtype(self) -> np.dtype:
        """Of statistics, and of their sums, see `reduce.sum_dtype`."""
        work = self._run.work
        return sum_dtype(statistics_dtype(work.kernel, work.hyper.options), self._run.settings.total_tokens)

    def stats(self, n_docs: int) -> list[float]:
        """Bytes of each array's statistics of `n_docs` documents."""
        return [self._rows(a.axis, n_docs) * self.row_bytes(name) for name, a in self.returned.items()]

    def all_rows(self) -> list[float]:
        """Bytes of each array's statistics where they cover all rows."""
        return [float(array.n_rows * self.row_bytes(name)) for name, array in self.returned.items()]

    def of_slice(self, n_docs: int) -> SliceSizes:
        """A slice of `n_docs` documents, the rows that it needs, and the scratch memory of the kernel."""
        kernel, size = self._run.work.kernel, self._call_size(n_docs)
        entries = {name: size.rows[name] * size.columns[name] for name in kernel.views}
        gathered = [n_docs * _DOCUMENT_BYTES, *[size.n_entries * 4] * 2, self._rows("word", n_docs) * 4]
        for name, kind in kernel.views.items():
            gathered.append(entries[name] * self._view_itemsize(kind, self._params[name]))
            if kind == "expected_log":
                gathered.append(size.rows[name] * 8)
        provisional = (
            0 if self._run.settings.one_iteration else sum(entries[n] for n in entries if n in self._moved)
        )
        by_row = sum(entries[name] for name, kind in kernel.views.items() if self._takes_float64(name, kind))
        scratch = check_scratch(kernel, kernel.scratch(size, self._run.work.hyper.options))
        state = n_docs * self._state_read, n_docs * self._state_written
        gathered.extend(scratch.derived)
        passing = 24 * provisional + 8 * by_row + self._joined(n_docs)
        return SliceSizes(gathered, passing, scratch, *state)

    def _joined(self, n_docs: int) -> float:
        """The documents of a slice that parts end in, joined."""
        if not self._joins:
            return 0.0
        return n_docs * (self._run.plan.entries_per_doc * ENTRY_BYTES + _INDEX_BYTES)

    @cached_property
    def _joins(self) -> bool:
        return self._run.plan.whole_minibatches and bool(self._run.plan.cut_minibatches())

    @cached_property
    def may_crew(self) -> bool:
        """Whether a crew does rounds that miss some updates."""
        run, arrays = self._run, self._params.without_means().arrays
        return works_on(arrays, run.work) and puts_off(arrays, run.settings, run.plan.delay)

    def of_crew(self, n_docs: int, groups: Groups) -> CrewSizes:
        """A crew whose slices have `n_docs` documents each."""
        (array,) = self.returned.values()
        return crew_sizes(self._run, array, self._call_size(n_docs), self._spread, groups)

    def _takes_float64(self, name: str, kind: str) -> bool:
        """Whether the view is computed in float64: expected logarithms of rows that are distributions."""
        return kind == "expected_log" and self._params[name].normalised_over == "components"

    def _view_itemsize(self, kind: str, array: LazyArray) -> int:
        if kind == "stored" and params_are_still(self._run.plan) and can_be_in_place(array):
            return 0
        if kind in ("counts", "stored"):
            return 8 if array.raw.dtype.kind == "i" else array.raw.itemsize
        if kind == "mean" and array.normalised_over == "components":
            return array.raw.itemsize
        return 4

    def of_share(self, n_docs: int) -> SliceSizes:
        """What a replica holds for its documents, and what one of its updates needs besides, as if it were scratch. Its
        rows are not counted: they become its changes."""
        one = self.of_slice(min(n_docs, self._run.plan.slice_size, self._run.plan.batch_size))
        entries = n_docs * self._run.plan.entries_per_doc
        slice_docs = min(self._run.plan.slice_size, self._run.plan.batch_size)
        ids = 4 * (n_docs / slice_docs * self._rows("word", slice_docs) + self._rows("word", n_docs))
        held = [n_docs * _DOCUMENT_BYTES + entries * ENTRY_BYTES + ids + self.lookup()]
        pooled = [
            *one.gathered,
            *one.scratch.pooled,
            *self.stats(self._run.plan.batch_size),
            *2 * [one.written],
        ]
        passing = one.passing + sum(self.read_block(self.read_block_docs))
        transient = int(one.scratch.transient + one.read + self.state())
        return SliceSizes(held, passing, Scratch([int(size) for size in pooled], transient))

    def changes(self, n_docs: int) -> list[float]:
        """Bytes of each array's changes by replicas that saw `n_docs` documents, or of its rows in one of them."""
        return [self._rows(a.axis, n_docs) * (a.n_columns * a.raw.itemsize + 4) for a in self._moved_arrays]

    def all_changes(self) -> list[float]:
        """Bytes of each array's changes where they cover all rows."""
        return [float(a.n_rows * (a.n_columns * a.raw.itemsize + 4)) for a in self._moved_arrays]

    def _call_size(self, n_docs: int) -> CallSize:
        kernel, (longest, longest_tokens) = self._run.work.kernel, self._longest
        arrays = {name: self._params[name] for name in kernel.views}
        return CallSize(
            n_docs,
            int(n_docs * self._run.plan.entries_per_doc),
            longest,
            {name: int(self._rows(array.axis, n_docs)) for name, array in arrays.items()},
            {name: array.n_columns for name, array in arrays.items()},
            self._run.work.hyper.n_components,
            int(n_docs * self._tokens_per_doc),
            longest_tokens,
            tuple(kernel.statistics),
        )

    @cached_property
    def _longest(self) -> tuple[int, int]:
        """The most distinct words, and the most tokens, of a document of a sample."""
        part = self._run.parts[0]
        n_docs = min(part.n_docs, _SAMPLE)
        return int(part.entries(0, n_docs).max(initial=1)), int(part.tokens(0, n_docs).max(initial=1))

    @cached_property
    def _spread(self) -> float:
        """The standard deviation of the entries of a document of the sample, as a share of their mean."""
        part = self._run.parts[0]
        entries = part.entries(0, min(part.n_docs, _SAMPLE))
        return float(entries.std() / max(1.0, entries.mean())) if len(entries) else 0.0

    @property
    def _moved(self) -> list[str]:
        return moved_arrays(self._run.settings.schemes)

    @property
    def _moved_arrays(self) -> list[LazyArray]:
        return [self._params[name] for name in self._moved]

    def moved_entries(self, n_docs: int) -> list[float]:
        """Entries of the rows that a step moves, for each array that it moves."""
        return [self._rows(array.axis, n_docs) * array.n_columns for array in self._moved_arrays]

    def kept_read_blocks(self) -> int:
        """The read blocks in memory, besides one that is read."""
        n_read_blocks = -(-self._run.plan.n_docs // self.read_block_docs)
        return n_read_blocks if keeps_all(self._run.plan) else min(reading.KEPT, n_read_blocks)

    @property
    def read_block_docs(self) -> int:
        """Documents of a read block."""
        return max(1, min(self._run.plan.n_docs, self._run.plan.read_block_docs))

    def documents(self) -> int:
        """The documents in memory, of which a worker has a copy; views of them are sent with all."""
        return sum(part.n_bytes for part in self._bases if isinstance(part, MemoryPart))

    def read_block(self, n_docs: int) -> list[float]:
        """Each array of a read block of `n_docs` documents; chunks are decoded whole."""
        if all(map(_is_in_memory, self._run.parts)):
            return []
        entries = n_docs * self._run.plan.entries_per_doc + CHUNK
        return [entries * ENTRY_BYTES / 2] * 2 + [float(n_docs * _INDEX_BYTES)]

    def index(self) -> int:
        """Where documents begin, and their source rows, in the parts that are open; chunks are decoded whole. One
        of the parts is being checked."""
        stored: list[int] = [part.n_docs for part in self._bases if not isinstance(part, MemoryPart)]
        largest = sorted(stored, reverse=True)[:OPEN_PARTS]
        decoded = sum(-(-n // CHUNK) * CHUNK if n >= CHUNK else n for n in largest)
        return _INDEX_BYTES * decoded + _CHECKED_BYTES * max(largest, default=0)

    @property
    def _bases(self) -> list[Any]:
        """The parts, each once; of views, what they are views of."""
        bases = [part.base if isinstance(part, PartView) else part for part in self._run.parts]
        return list({id(base): base for base in bases}.values())

    def prepared(self) -> float:
        """The prepared slices that stay in memory from pass to pass."""
        plan = self._run.plan
        if not keeps_prepared(self._run):
            return 0.0
        words = plan.n_docs / plan.slice_size * self._rows("word", plan.slice_size) * 4
        derived = plan.n_docs / plan.slice_size * sum(self.of_slice(plan.slice_size).scratch.derived)
        return plan.n_docs * (plan.entries_per_doc * ENTRY_BYTES + _DOCUMENT_BYTES) + words + derived

    def state(self, whole: bool = False) -> float:
        """The document state in memory besides what kernels at work write: that of a minibatch, at the beginning and at
        the end of an inner iteration ("round"); or that of the slices that are read ahead ("run").

        Parameters
        ----------
        whole : whether that of all documents may stay in memory, as on threads; see `remembering`
        """
        plan, kernel = self._run.plan, self._run.work.kernel
        slice_docs = min(plan.slice_size, plan.batch_size, plan.n_docs)
        if kernel.state == "round":
            return (2 * plan.batch_size - slice_docs) * self._state_bytes
        of_pass = plan.n_docs * self._state_written
        if whole and remembering.keeps_state(of_pass):
            return 2 * of_pass if self._run.unseen and may_wait(self._run) else of_pass
        return remembering.MOST_BESIDE * slice_docs * self._state_read

    @property
    def _state_read(self) -> float:
        """Bytes of the state of one document that are read: none in a first pass."""
        n_steps = self._run.settings.n_steps
        return self._state_written if n_steps is None or n_steps > self._run.plan.n_rounds else 0.0

    @property
    def _state_written(self) -> float:
        return self._state_bytes if self._run.work.kernel.state == "run" else 0.0

    @property
    def _state_bytes(self) -> float:
        """Bytes of the state of one document."""
        hyper, entries = self._run.work.hyper, self._run.plan.entries_per_doc
        specs = resolved(self._run.work.kernel.remembers, state_sizes(hyper))
        rows = {"entry": entries, "token": self._tokens_per_doc, "document": 1.0}
        return sum(
            np.dtype(spec.dtype).itemsize * prod(int(n) for n in spec.shape) * rows[spec.rows]
            for spec in specs.values()
        )

    @property
    def _tokens_per_doc(self) -> float:
        settings = self._run.settings
        return settings.total_tokens / max(1.0, settings.total_docs)


def _is_in_memory(part: Any) -> bool:
    """Whether the part is in memory, so that reading it takes none."""
    if isinstance(part, PartView):
        return isinstance(part.documents, range) and part.word_map is None and _is_in_memory(part.base)
    return isinstance(part, MemoryPart)
