"""The memory of a run, from corpus, settings and params: a sum of arrays, each as large as it can be. An upper bound.

    run      = params + T lookups + index + read blocks + prepared + state + T work(slice) + results + step + flights
    worker   = documents + index + 2 params + T (lookup + read blocks + state + work(slice)) + results + step

    T          threads
    work       = documents + view + statistics + scratch of a slice; for a replica, of one of its slices, with the
                 documents of its share, and its rows, which become its changes
    flight     = documents + rows + statistics of a minibatch, T + 2 of them, in asynchronous runs
    results    = statistics(exchange) for each round of an exchange, or, of slices and replicas, (T + levels of the
                 merge tree + 1) sums
    step       = rows(minibatch) x columns x 24 where a mean follows, or where inner iterations are provisional

where the statistics of n documents have rows(n) rows. Freed arrays rest in `buffers`, whose pieces
are up to `PIECES` times as large.

Of N documents, df_v contain word v. A draw of n of them without replacement misses the word with probability about
(1 - n / N)^df_v, so that

    rows(n) = sum over v of 1 - (1 - n / N)^df_v,    N = (sum over v of df_v) / (ids of a document, mean)

which for n = N is the number of words that occur. Without document frequencies, the number of ids of n documents is the
estimate: an upper bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property
from math import prod
from typing import Any

import numpy as np

from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.part import PartView
from bigtopic.corpus.stored.schema import CHUNK
from bigtopic.corpus.stored.stored_part import OPEN_PARTS
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.learning import remembering
from bigtopic.learning.documents import ENTRY_BYTES, keeps_all, keeps_prepared
from bigtopic.learning.executors.choice import begins_whole
from bigtopic.learning.pushes import READ_AHEAD
from bigtopic.learning.reduce import depth, sum_dtype
from bigtopic.learning.rounds import moved_arrays
from bigtopic.learning.run import Run
from bigtopic.plan import reading
from bigtopic.state.contract.kernels import check_scratch, statistics_dtype
from bigtopic.state.documents.state_files import resolved, state_sizes
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.state.running_mean import MEAN
from bigtopic.state.views import can_be_in_place
from bigtopic.types import CallSize

__all__ = ["ExpectedRows", "Footprint"]

PIECES = 1.25
_SAMPLE = 1 << 13  # documents, the first ones, among which the longest are looked for
_INDEX_BYTES = 16  # for each document of a read block, and of a part that is open
_CHECKED_BYTES = 8  # for each document of a part that is being opened
_DOCUMENT_BYTES = 36  # for each document of a slice: index and source row, twice, and order


class Footprint:
    """Bytes of a run.

    Parameters
    ----------
    run, params : of the model
    axes : vocabularies of the axes of the params, with document frequencies
    """

    def __init__(self, run: Run, params: Params, axes: Mapping[str, Vocabulary]) -> None:
        self._run, self._plan, self._params = run, run.plan, params
        self._rows = ExpectedRows(axes, params.axis_sizes(), run.plan.n_docs, run.plan.entries_per_doc)
        self._batch_docs = min(self._plan.batch_size, self._plan.n_docs)
        self._slice_docs = min(self._plan.slice_size, self._batch_docs)

    @property
    def has_whole_rounds(self) -> bool:
        """Whether one worker does the rounds before replicas begin."""
        return begins_whole(self._run)

    def on_threads(self, n_threads: int, compares: bool = False, whole: bool = False) -> int:
        """Bytes of the whole run on threads of one process; `whole` are rounds that no replicas share."""
        replicas = 1 if whole else self._plan.replicas
        work = n_threads * max(self._work(self._slice_docs), self._share() if replicas > 1 else 0.0)
        moving = (
            work
            + self._results(n_threads, replicas)
            + self._step()
            + (n_threads + READ_AHEAD) * self._flight()
        )
        documents = self._index() + self._read_blocks() + self._prepared() + self._state(whole=True)
        compared = 2 * self._topics() if compares else 0.0
        return int(self.of_params() + n_threads * self._lookup() + documents + compared + PIECES * moving)

    def of_params(self) -> int:
        """Bytes of the params, and their priors; of sparse rows, what they grow to."""
        arrays = self._params.arrays.values()
        return sum(int(a.n_rows * self._row_bytes(a)) + a.prior.nbytes for a in arrays)

    def of_documents(self) -> int:
        """Bytes of the documents that are sent to workers, since they are in memory and not in a store."""
        return sum(part.n_bytes for part in self._bases if isinstance(part, MemoryPart))

    def of_tasks(self, n_threads: int, mapped: bool, all_threads: int) -> int:
        """Bytes of a worker that does tasks of the graphs executor, its params `mapped` or sent. It has two versions of
        them; `all_threads` of a cluster share a round."""
        params = self._read_rows() if mapped else float(self.of_params())
        work = max(self._work(self._slice_docs), self._share() if self._plan.replicas > 1 else 0.0)
        own = self._lookup() + min(reading.KEPT + 1, self._n_read_blocks) * self._read_block() + self._state()
        moving = n_threads * work + self._results(n_threads, self._plan.replicas) + self._step()
        return int(self.of_documents() + self._index() + 2 * params + n_threads * own + PIECES * moving)

    def of_pushes(self, n_threads: int) -> int:
        """Bytes of a worker of an asynchronous run, which has no params but the rows of its minibatches."""
        own = self._lookup() + self._read_block() + self._state()
        moving = n_threads * self._work(self._slice_docs) + (n_threads + READ_AHEAD) * self._flight()
        return int(self.of_documents() + self._index() + n_threads * own + PIECES * moving)

    # ------------------------------------------------------------------ work of a thread

    def _work(self, n_docs: int) -> float:
        """Bytes that a thread needs for a slice."""
        kernel, size = self._run.work.kernel, self._call_size(n_docs)
        documents = n_docs * _DOCUMENT_BYTES + size.n_entries * ENTRY_BYTES + 4 * self._rows("word", n_docs)
        joined = n_docs * _INDEX_BYTES + size.n_entries * ENTRY_BYTES if self._plan.whole_minibatches else 0.0
        view = 0.0
        for name, kind in kernel.views.items():
            if self._params[name].is_sparse:  # read in place
                continue
            entries = size.rows[name] * size.columns[name]
            view += entries * _view_itemsize(kind, self._params[name]) + 8 * size.rows[name]
            if not self._run.settings.one_iteration and name in self._moved:
                view += 24 * entries
        scratch = check_scratch(kernel, kernel.scratch(size, self._run.work.hyper.options))
        state = n_docs * (self._state_read + 2 * self._state_written)
        used = sum(scratch.pooled) + scratch.transient + sum(scratch.derived)
        return documents + joined + view + used + state + self._statistics(n_docs)

    def _share(self) -> float:
        """Bytes that a thread needs for a replica: its documents and rows, and one of its updates."""
        n_docs = self._share_docs
        documents = n_docs * (_DOCUMENT_BYTES + self._plan.entries_per_doc * ENTRY_BYTES + 4)
        ids = 4 * n_docs / self._slice_docs * self._rows("word", self._slice_docs) + self._lookup()
        update = self._work(self._slice_docs)
        if self._slice_docs < self._batch_docs:
            update += self._statistics(self._batch_docs)
        return documents + ids + self._changes(n_docs) + update + self._read_block()

    def _flight(self) -> float:
        """A minibatch on its way in an asynchronous run: its documents, the rows that it needs, and its statistics."""
        if not self._run.settings.asynchronous:
            return 0.0
        n_docs = self._batch_docs
        documents = n_docs * (_DOCUMENT_BYTES + self._plan.entries_per_doc * ENTRY_BYTES + 4) + self._lookup()
        arrays = self._params.arrays.values()
        rows = sum(self._rows(a.axis, n_docs) * (self._row_bytes(a) + 4) for a in arrays)
        return documents + rows + self._statistics(n_docs)

    @property
    def _share_docs(self) -> int:
        """Documents of a replica in an exchange, at most."""
        plan = self._plan
        return (
            -(-min(plan.replicas * plan.replica_updates, plan.n_rounds) // plan.replicas) * self._batch_docs
        )

    def _results(self, n_threads: int, replicas: int) -> float:
        """Statistics, or changes, that wait to be added."""
        if self._plan.concurrent > 1:
            return self._plan.concurrent * self._statistics(self._batch_docs)
        n_slices = -(-self._batch_docs // self._slice_docs)
        sums = self._sums(self._statistics, self._slice_docs, n_slices, n_threads)
        if replicas > 1:
            sums = max(sums, self._sums(self._changes, self._share_docs, replicas, n_threads))
        return sums

    def _sums(self, of: Callable[[int], float], n_docs: int, n_leaves: int, n_threads: int) -> float:
        """Sums that wait in a merge tree whose leaves have `n_docs` documents each: one for each level, and for each
        thread one that it adds up, of different leaves."""
        levels = [min(n_docs << level, n_docs * n_leaves) for level in range(depth(n_leaves) + 1)]
        made = min(n_threads, n_leaves) * of(-(-n_docs * n_leaves // min(n_threads, n_leaves)))
        return sum(map(of, levels[1:])) + made if n_leaves > 1 else 0.0

    def _step(self) -> float:
        """Temporary arrays of a step."""
        names = {*self._run.work.kernel.statistics}
        means = [self._params.arrays.get(f"{name}.{MEAN}") for name in names]
        averaged = sum(
            24 * self._rows(a.axis, self._batch_docs) * a.n_columns for a in means if a is not None
        )
        if self._run.settings.one_iteration:
            return averaged
        moved = (self._params[name] for name in self._moved)
        return averaged + 2 * sum(24 * self._rows(a.axis, self._batch_docs) * a.n_columns for a in moved)

    def _statistics(self, n_docs: int) -> float:
        """Bytes of the statistics of `n_docs` documents."""
        work = self._run.work
        dtype = sum_dtype(statistics_dtype(work.kernel, work.hyper.options), self._run.settings.total_tokens)
        arrays = [self._params[name] for name in work.kernel.statistics]
        lists = sum(self._lists(n_docs) for a in arrays if a.is_sparse)
        dense = (a for a in arrays if not a.is_sparse)
        return lists + sum(self._rows(a.axis, n_docs) * (a.n_columns * dtype.itemsize + 4) for a in dense)

    def _changes(self, n_docs: int) -> float:
        """Bytes of the changes by replicas that saw `n_docs` documents, or of the rows of one of them."""
        arrays = [self._params[name] for name in self._moved]
        return sum(self._rows(a.axis, n_docs) * (self._row_bytes(a) + 4) for a in arrays)

    def _lists(self, n_docs: int) -> float:
        """Bytes of sparse statistics of `n_docs` documents: a number of each candidate of each of their words."""
        return 8.0 * n_docs * self._plan.entries_per_doc * (self._run.work.n_candidates or 0)

    def _row_bytes(self, array: LazyArray) -> float:
        """Bytes of a row of the params, on average; of a sparse one, when its documents have half of the topics that
        remain to them, with the room that it has to grow."""
        if not array.is_sparse:
            return array.n_columns * array.raw.itemsize
        half = (self._run.work.n_candidates or 0) / 2
        return 24 + 8 * 1.5 * self._rows.mean_of_least(array.axis, array.n_columns, half)

    def _read_rows(self) -> float:
        """The rows of the params that tasks read of mapped files."""
        n_docs = self._batch_docs if self._plan.replicas == 1 else self._plan.n_docs
        arrays = [self._params[name] for name in self._run.work.kernel.views]
        return sum(self._rows(a.axis, n_docs) * self._row_bytes(a) for a in arrays)

    @cached_property
    def _moved(self) -> list[str]:
        return moved_arrays(self._run.settings.schemes)

    def _call_size(self, n_docs: int) -> CallSize:
        kernel, (longest, longest_tokens) = self._run.work.kernel, self._longest
        arrays = {name: self._params[name] for name in kernel.views}
        return CallSize(
            n_docs,
            int(n_docs * self._plan.entries_per_doc),
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

    def _lookup(self) -> int:
        """A thread's table of ids, which is as long as the longest axis that documents have ids on."""
        rows = [a.n_rows for a in self._params.arrays.values() if a.axis in ("word", "author")]
        return 4 * max(self._run.work.n_words, *rows, 0)

    def _topics(self) -> int:
        """The topics as `stopping.PassMeasure` keeps them."""
        words = [a for a in self._params.arrays.values() if a.axis in ("word", "column")]
        return sum(int(array.n_rows * self._row_bytes(array)) for array in words[:1])

    # ------------------------------------------------------------------ documents

    def _read_blocks(self) -> float:
        """The read blocks in memory, and the next one."""
        kept = self._n_read_blocks if keeps_all(self._plan) else min(reading.KEPT, self._n_read_blocks)
        return (kept + 1) * self._read_block()

    @property
    def _n_read_blocks(self) -> int:
        return -(-self._plan.n_docs // max(1, self._plan.read_block_docs))

    def _read_block(self) -> float:
        """A read block; chunks are decoded whole."""
        if all(map(_is_in_memory, self._run.parts)):
            return 0.0
        n_docs = max(1, min(self._plan.n_docs, self._plan.read_block_docs))
        return (n_docs * self._plan.entries_per_doc + CHUNK) * ENTRY_BYTES + n_docs * _INDEX_BYTES

    def _index(self) -> int:
        """Where documents begin, and their source rows, in the parts that are open; chunks are decoded whole. One of
        the parts is being checked."""
        stored: list[int] = [part.n_docs for part in self._bases if not isinstance(part, MemoryPart)]
        largest = sorted(stored, reverse=True)[:OPEN_PARTS]
        decoded = sum(-(-n // CHUNK) * CHUNK if n >= CHUNK else n for n in largest)
        return _INDEX_BYTES * decoded + _CHECKED_BYTES * max(largest, default=0)

    @property
    def _bases(self) -> list[Any]:
        """The parts, each once; of views, what they are views of."""
        bases = [part.base if isinstance(part, PartView) else part for part in self._run.parts]
        return list({id(base): base for base in bases}.values())

    def _prepared(self) -> float:
        """The prepared slices that stay in memory from pass to pass."""
        if not keeps_prepared(self._run):
            return 0.0
        n_slices = self._plan.n_docs / max(1, self._slice_docs)
        size = self._call_size(self._slice_docs)
        scratch = self._run.work.kernel.scratch(size, self._run.work.hyper.options)
        derived = sum(check_scratch(self._run.work.kernel, scratch).derived)
        own = self._plan.n_docs * (self._plan.entries_per_doc * ENTRY_BYTES + _DOCUMENT_BYTES)
        return own + n_slices * (4 * self._rows("word", self._slice_docs) + derived)

    def _state(self, whole: bool = False) -> float:
        """The document state in memory, apart from slices at work: of a minibatch, at the beginning and at the end
        of an inner iteration ("round"); or of the slices that are read ahead ("run"), or of all (`whole`)."""
        if self._run.work.kernel.state == "round":
            return 2 * self._batch_docs * self._state_bytes
        of_pass = self._plan.n_docs * self._state_written
        if whole and remembering.keeps_state(of_pass):
            return of_pass
        return remembering.MOST_BUFFERED * self._slice_docs * self._state_read

    @property
    def _state_read(self) -> float:
        """Bytes of the state of one document that are read: none in a first pass."""
        n_steps = self._run.settings.n_steps
        return self._state_written if n_steps is None or n_steps > self._plan.n_rounds else 0.0

    @property
    def _state_written(self) -> float:
        return self._state_bytes if self._run.work.kernel.state == "run" else 0.0

    @property
    def _state_bytes(self) -> float:
        """Bytes of the state of one document."""
        specs = resolved(self._run.work.kernel.remembers, state_sizes(self._run.work.hyper))
        rows = {"entry": self._plan.entries_per_doc, "token": self._tokens_per_doc, "document": 1.0}
        return sum(
            np.dtype(spec.dtype).itemsize * prod(int(n) for n in spec.shape) * rows[spec.rows]
            for spec in specs.values()
        )

    @property
    def _tokens_per_doc(self) -> float:
        settings = self._run.settings
        return settings.total_tokens / max(1.0, settings.total_docs)


def _view_itemsize(kind: str, array: LazyArray) -> int:
    """Bytes of an entry of a view, and of what it is computed from."""
    if kind == "stored" and can_be_in_place(array):
        return 0
    if kind == "expected_log" and array.normalised_over == "components":
        return 12
    return 8 if array.raw.dtype.kind == "i" else array.raw.itemsize


def _is_in_memory(part: Any) -> bool:
    """Whether the part is in memory, so that reading it takes no more."""
    if isinstance(part, PartView):
        return isinstance(part.documents, range) and part.word_map is None and _is_in_memory(part.base)
    return isinstance(part, MemoryPart)


_WORDS = ("word", "column")


class ExpectedRows:
    """Distinct ids of documents drawn at random.

    Parameters
    ----------
    axes : vocabularies of the axes that documents have ids on, with `document_frequency` where it is known
    sizes : {axis: rows of the params}
    n_docs : documents that minibatches are drawn from
    entries_per_doc : mean number of distinct words of a document
    """

    def __init__(
        self, axes: Mapping[str, Vocabulary], sizes: Mapping[str, int], n_docs: int, entries_per_doc: float
    ) -> None:
        self._sizes = {axis: len(known) for axis, known in axes.items()} | dict(sizes)
        self._ids_per_doc = dict.fromkeys(_WORDS, entries_per_doc)
        self._frequencies = {axis: _tabulated(known) for axis, known in axes.items()}
        if (authors := self._frequencies.get("author")) is not None:
            self._ids_per_doc["author"] = _sum(authors) / max(n_docs, 1)
        self._of = cache(self._expected)

    def __call__(self, axis: str, n_docs: int) -> float:
        """Rows of an axis that `n_docs` documents need; all rows of an axis on which documents have no ids."""
        return self._of(axis, n_docs)

    def mean_of_least(self, axis: str, most: int, each: float) -> float:
        """The mean over an axis of `each` times a row's documents, at most `most`."""
        found = self._frequencies.get("word" if axis == "column" else axis)
        if found is None:
            return float(most)
        df, times = found
        return float(times @ np.minimum(df * each, most)) / max(1.0, float(times.sum()))

    def _expected(self, axis: str, n_docs: int) -> float:
        size = float(self._sizes[axis])
        if axis == "row":
            return min(size, n_docs)
        if axis not in (*_WORDS, "author"):
            return size
        n_ids = n_docs * self._ids_per_doc.get(axis, 1.0)
        found = self._frequencies.get("word" if axis == "column" else axis)
        if found is None:
            return min(size, n_ids)
        df, times = found
        share = min(1.0, n_ids / max(_sum(found), 1.0))
        return min(size, n_ids, float(times @ (1.0 - (1.0 - share) ** df)))


def _tabulated(known: Vocabulary) -> tuple[np.ndarray, np.ndarray] | None:
    """The distinct document frequencies, and how many rows have each; None where there are none."""
    df = known.document_frequency
    if df is None or not df.any():
        return None
    return np.unique(df, return_counts=True)


def _sum(found: tuple[np.ndarray, np.ndarray]) -> float:
    return float(found[0] @ found[1])
