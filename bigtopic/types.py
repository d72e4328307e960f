"""The data types that the layers exchange. Plain data: no behaviour beyond views of itself.

`Block` carries documents with corpus word ids (between readers, store and runtime); `Docs` carries a slice of
documents with ids local to the slice (between runtime and kernels). A kernel never sees the whole vocabulary; a reader
never sees a topic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from sys import getsizeof
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from bigtopic.documents import Block, Docs

__all__ = [
    "ArraySpec",
    "AxisStats",
    "Block",
    "Bound",
    "CallSize",
    "Docs",
    "Hyper",
    "Kernel",
    "KernelResult",
    "Lists",
    "MutableArray",
    "RoundInfo",
    "Scheme",
    "Scratch",
    "SliceLoop",
    "StateSpec",
    "Stats",
    "View",
    "nbytes_of",
    "no_scratch",
]


class View(NamedTuple):
    """What a kernel reads of the params: the rows of the slice's ids, in the form the kernel declared.

    arrays : {array name: (n_local, n_columns)}; columns are padded with zeros to a multiple of 16. `Lists` of an array
        of sparse rows, in the form "sparse_mean".
    totals : {array name: float64 (n_columns,)}, the sum of the weights over the whole axis, prior included.
    """

    arrays: Mapping[str, Any]
    totals: Mapping[str, np.ndarray]


class Lists(NamedTuple):
    """Rows of an array of sparse rows, in place: nothing moves them while the view is used.

    starts, stops : int64 (n_local,), where the list of each row begins and ends
    columns, values : int32 and float32; the columns of a list ascend
    factor, offset : float32 (n_columns,): row i has values[t] * factor[k] + offset[k] in the columns k = columns[t] of
        its list, and offset[k] in others
    offset_sums : float64 (n_columns,), of the offsets up to each column
    """

    starts: np.ndarray
    stops: np.ndarray
    columns: np.ndarray
    values: np.ndarray
    factor: np.ndarray
    offset: np.ndarray
    offset_sums: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """(n_local, n_columns)"""
        return len(self.starts), len(self.factor)


class Hyper(NamedTuple):
    """All kernel inputs other than documents and view.

    doc_topic_prior : float64 (n_components,), in the literature alpha; (0,) in a model without one
    n_components : K, without padding; the first of several component counts
    options : the kernel's own settings, complete (defaults filled in)
    priors : {array name: float}, scalar prior of each array, for kernels that need it (mean of a vector prior)
    axis_sizes : {axis: size}, for kernels that need V or the number of authors
    components : {name: number}, every component count of the model
    step, iteration : the update that the statistics are for, and the inner iteration of its round, both from 1; 0 and 1
        outside learning. The inner iterations of a round share a seed
    doc_topics : whether the caller needs `doc_topics`
    statistics : the arrays whose statistics the caller needs; those that a kernel only offers are returned if named
    begun : whether the run began with given topics, so that new documents begin given what is counted, not at random
    total_tokens : of the corpus or stream, whose size is declared, or estimated from the documents so far; 0 outside
        learning
    """

    doc_topic_prior: np.ndarray
    n_components: int
    options: Mapping[str, Any]
    priors: Mapping[str, float] = {}
    axis_sizes: Mapping[str, int] = {}
    components: Mapping[str, int] = {}
    step: int = 0
    iteration: int = 1
    doc_topics: bool = True
    statistics: Collection[str] = ()
    begun: bool = False
    total_tokens: float = 0.0


class KernelResult(NamedTuple):
    """Result of one kernel call.

    stats : {array name: (n_local, n_columns)} aligned with the view's rows
    doc_topics : (n_docs, n_components), rows sum to 1; may be None if the caller does not need them
    state : {name: array} to keep for these documents, as the kernel declares, or None
    info : {name: float}, additive over slices: "bound" (nats), "iterations" (of all documents together), ...
    """

    stats: Mapping[str, np.ndarray]
    doc_topics: np.ndarray | None
    state: Mapping[str, np.ndarray] | None
    info: Mapping[str, float]


@dataclass(frozen=True)
class SliceLoop:
    """A kernel's compiled loop over the documents of a slice: the bits of `run`, without document state, topics of
    documents and statistics that are only offered.

    Attributes
    ----------
    infer : numba's function of the types `kernels.support.slice_loop.SIGNATURE`; writes statistics and figures, and
        allocates little
    options : (hyper) -> float64 (n,), those that the loop needs
    scratch : (most entries of a document, n_columns) -> length of float32 scratch memory
    figures : names of the figures, see `KernelResult.info`
    """

    infer: Callable[..., None]
    options: Callable[[Hyper], np.ndarray]
    scratch: Callable[[int, int], int]
    figures: Sequence[str] = ()

    def __reduce__(self) -> tuple[Any, ...]:
        """The function by its name, where another process finds it: numba would send the code, which each process
        would have to compile again."""
        infer, others = self.infer, (self.options, self.scratch, self.figures)
        module, name = _module(infer), getattr(infer, "__qualname__", "")
        if module != "__main__" and getattr(sys.modules.get(module), name, None) is infer:
            return _named_loop, (module, name, *others)
        return SliceLoop, (infer, *others)


def _named_loop(module: str, name: str, *others: Any) -> SliceLoop:
    return SliceLoop(getattr(import_module(module), name), *others)


@dataclass(frozen=True)
class StateSpec:
    """One array of document state: what a kernel remembers about documents.

    Attributes
    ----------
    rows : "entry", a row for each distinct word of a document; "token", a row for each of its counts, where these are
        whole numbers: c rows for an entry of count c, in the order of the entries; or "document"
    dtype : NumPy's name
    shape : shape of a row: numbers, names of component counts ("n_components"), or names of options of the kernel
    missing : value in the rows of entries that the kernel has not seen because the params did not have their word
    """

    rows: str
    dtype: str
    shape: tuple[int | str, ...] = ()
    missing: float = 0


@dataclass(frozen=True)
class Bound:
    """The variational bound of the models that a kernel learns, for `bigtopic.evaluate.bound`.

    Attributes
    ----------
    of : what it is a lower bound of, and by which approximation
    views : {array name: form}, the arrays that are posteriors, as in `Kernel.views`
    documents : (docs, view, hyper) -> float64 (n_docs,), in nats: the terms that belong to each document, with what is
        inferred of the document at rest
    options : all that `documents` reads of `hyper.options`; the same for every model, so that bounds can be compared
    """

    of: str
    views: Mapping[str, str]
    documents: Callable[[Docs, View, Hyper], np.ndarray]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ArraySpec:
    """One global array, row-major: (size of its axis, number of its columns).

    Attributes
    ----------
    rows : the axis. Documents have ids on "word" (also called "column"), "author" and "row" (the documents themselves,
        by source row), so that a minibatch reads and moves its own rows alone. On any other axis every task reads every
        row: "none" has one, a component count has one for each component, and the size of an axis of the model's own
        is given when a model is made
    columns : the component count of the columns by name, or 1
    prior : name of the setting that holds its prior, or None for an array without one
    normalised_over : "axis" when a column sums to one over the axis (topics over words), "components" when a row sums
        to one over the columns (an author's topics), None when the array is not a set of distributions
    start : initial statistics, (distribution, share) as in `Method.init`; None for zeros
    dtype : "float32", "float64", or "int32" or "int64" for counts
    """

    rows: str
    columns: str | int = "topic"
    prior: str | None = None
    normalised_over: str | None = "axis"
    start: tuple[str, float | None] | None = None
    dtype: str = "float32"


class CallSize(NamedTuple):
    """Approximate size of a kernel call.

    n_docs, n_entries, longest : documents; their distinct words, summed, and of the document with the most
    rows, columns : {array name: number in the view}; columns include padding
    n_components : as in `Hyper`
    n_tokens, longest_tokens : counts of the documents, summed, and of the document with the most
    statistics : the arrays whose statistics the call returns
    """

    n_docs: int
    n_entries: int
    longest: int
    rows: Mapping[str, int]
    columns: Mapping[str, int]
    n_components: int
    n_tokens: int = 0
    longest_tokens: int = 0
    statistics: Collection[str] = ()


class Scratch(NamedTuple):
    """Memory that a kernel call allocates besides documents, view, statistics and document state.

    pooled, derived : bytes of each large array from `buffers`, of a call and of `Kernel.derives`; a kernel with pooled
        arrays, or with document state, takes its statistics from there too
    transient : peak bytes allocated elsewhere; without either, freed before the statistics are allocated
    """

    pooled: Sequence[int] = ()
    transient: int = 0
    derived: Sequence[int] = ()


def no_scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """Of a kernel that allocates only its results."""
    return Scratch()


def _one_pass(options: Mapping[str, Any]) -> float:
    return 1.0


def _none(options: Mapping[str, Any]) -> int:
    return 0


KernelRun = Callable[["Docs", View, Hyper, int, "Mapping[str, np.ndarray] | None"], KernelResult]


@dataclass(frozen=True)
class Kernel:
    """A local inference algorithm: one file in `kernels/` defines one `KERNEL`.

    Attributes
    ----------
    name : as used in the table of methods
    run : (docs, view, hyper, seed, state) -> KernelResult; pure
    views : {array name: "mean" | "sparse_mean" | "expected_log" | "counts" | "stored"}. "mean" is the posterior mean
        over the axis (weights / totals), "sparse_mean" the same, or lists of an array of sparse rows, "expected_log" is
        exp(psi(weights) - psi(totals)) up to a factor per row, "counts" is the weights themselves with their totals,
        and "stored" the same, in place where possible, see `state.views`
    statistics : {array name: axis}, the arrays whose statistics the kernel returns, each with its axis
    offers : {array name: axis}, further statistics that the kernel returns where `hyper.statistics` names them
    posteriors : arrays whose weights are the parameters of the topics' Dirichlet posterior, given responsibilities or
        labels, so that their prior can be learned from them
    options : {name: default}
    meanings : {name of an option: what it sets; "in the literature T" gives it the paper's symbol}
    of_statistics : options that change statistics and figures alone: inference of documents does not read them
    cost : function of the options: about how often a call passes over the topics of an entry (a distinct word of a
        document)
    burn_in : function of the options: how many of the first inner iterations of a round have no statistics yet; the
        params stay as they are
    scratch : function of (`CallSize`, options): memory that a call allocates for itself; to estimate a run's memory
    components : name of the component count that the columns of `doc_topics` have; None for the model's first
    interacts : documents of a slice influence each other: the slice size is a hyper-parameter and must be given, unless
        slices are whole minibatches
    whole_minibatches : a call gets all documents of a minibatch: topics begin anew in each call, so the topics of two
        calls are different ones and cannot be added. `slice_size` is then not a setting
    state : "none", "round" or "run": how long document state lives
    remembers : {array name: its `StateSpec`}, the document state; the kernel gets None instead in the first inner
        iteration of a round ("round"), and for documents that the model has not seen ("run")
    bound : whether there is a variational bound: info["bound"], where there is an option of that name and it is true;
        a `Bound` instead of True also computes the bound of a fitted model
    dtype : NumPy's name for the dtype of the statistics, or a function of the options; to estimate a run's memory
    paper : source of the equations
    changes : arrays whose statistics are changes of counts, since documents are remembered from pass to pass; only
        schemes that declare `takes_changes` may move them
    derives : function of documents -> {name: array}, which `run` finds in `Docs.derived`; see docs/extend/kernel.md
    loop : what replicas call instead of `run`, without Python, where the kernel reads the means of one array
        and returns statistics of its words; if it is defined in the module of `run`
    """

    name: str
    run: KernelRun
    views: Mapping[str, str]
    statistics: Mapping[str, str]
    options: Mapping[str, Any] = field(default_factory=dict)
    cost: Callable[[Mapping[str, Any]], float] = _one_pass
    burn_in: Callable[[Mapping[str, Any]], int] = _none
    scratch: Callable[[CallSize, Mapping[str, Any]], Scratch] = no_scratch
    components: str | None = None
    interacts: bool = False
    whole_minibatches: bool = False
    state: str = "none"
    remembers: Mapping[str, StateSpec] = field(default_factory=dict)
    bound: bool | Bound = False
    dtype: str | Callable[[Mapping[str, Any]], str] = "float32"
    paper: str = ""
    offers: Mapping[str, str] = field(default_factory=dict)
    posteriors: Collection[str] = ()
    changes: Collection[str] = ()
    derives: Callable[[Docs], Mapping[str, np.ndarray]] | None = None
    loop: SliceLoop | None = None
    meanings: Mapping[str, str] = field(default_factory=dict)
    of_statistics: Collection[str] = ("bound",)

    @property
    def own_loop(self) -> SliceLoop | None:
        """The loop, if it is of the same module as `run`: not where another `run` was put in its place."""
        return self.loop if self.loop and _module(self.loop.infer) == _module(self.run) else None


def _module(function: Any) -> Any:
    return getattr(function, "__module__", None)


def nbytes_of(values: Any) -> int:
    """Bytes of an array, or of the arrays of a `csr_array`."""
    parts = (values,) if isinstance(values, np.ndarray) else (values.data, values.indices, values.indptr)
    return sum(int(part.nbytes) for part in parts)


@dataclass(frozen=True)
class AxisStats:
    """`values[i]` belongs to row `ids[i]`, unique, None on axis "none"; `replace` forgets `sums`, float64 by column.

    values : an array, or of an array of sparse rows `scipy.sparse.csr_array`, the columns of each row ascending"""

    ids: np.ndarray | None
    values: Any
    sums: np.ndarray | None = field(default=None, init=False)

    def __sizeof__(self) -> int:
        """Bytes of the arrays. Dask adds sums where most of their bytes are."""
        return nbytes_of(self.values) + (0 if self.ids is None else self.ids.nbytes)

    def summed(self, sums: np.ndarray | None) -> AxisStats:
        """The same, with these sums."""
        stats = AxisStats(self.ids, self.values)
        object.__setattr__(stats, "sums", sums)
        return stats

    def totals(self) -> np.ndarray:
        """Sum over the rows, float64 (n_columns,)."""
        return np.asarray(self.values.sum(axis=0, dtype=np.float64))


@dataclass(frozen=True)
class Stats:
    """Sufficient statistics of some documents. Adds elementwise (`learning.reduce.add`).

    n_docs, n_tokens : covered; info : additive figures of the kernel; prior : of documents' topics, if provisional."""

    arrays: Mapping[str, AxisStats]
    n_docs: int
    n_tokens: float
    info: Mapping[str, float] = field(default_factory=dict)
    prior: np.ndarray | None = None

    def __sizeof__(self) -> int:
        return sum(map(getsizeof, self.arrays.values()))


class RoundInfo(NamedTuple):
    """What a scheme knows about a round.

    step : number of this update, t = 1, 2, ...
    n_docs, n_tokens : of this minibatch; total_docs, total_tokens : of the corpus, or the declared size of a stream
    seed : for schemes with noise; n_steps : updates of the whole run, or None if unknown (a stream)
    arrays : the params by name; those that the method lists before this one are already updated
    stats : statistics of the whole round for every array, and the kernel's figures
    companions : companion arrays of the array to update, by the names that the scheme gave them
    largest_step : of schemes whose changes add up: no step size is larger
    missed : how many of the updates before this one its statistics do not know
    retained : of what was learned before this update, the share that a half-life leaves; None without a half-life
    """

    step: int
    n_docs: int
    n_tokens: float
    total_docs: float
    total_tokens: float
    seed: int = 0
    n_steps: int | None = None
    arrays: Mapping[str, MutableArray] = {}
    stats: Stats | None = None
    companions: Mapping[str, MutableArray] = {}
    largest_step: float = 1.0
    missed: int = 0
    retained: float | None = None


class MutableArray(Protocol):
    """One array of the params, as a scheme sees it. There is nothing else, so growth, memory-mapping and sharding
    need no other interface. `weights = prior + statistics`; a scheme updates the statistics."""

    @property
    def n_components(self) -> int:
        """Columns without padding."""

    @property
    def n_columns(self) -> int:
        """Columns, padding included."""

    @property
    def n_rows(self) -> int:
        """Size of the axis."""

    @property
    def prior(self) -> np.ndarray:
        """float64 (1 or n_rows, 1 or n_components), read-only: `set_prior` replaces it."""

    def gather(self, ids: np.ndarray | None) -> np.ndarray:
        """Weights of these rows, prior included: (len(ids), n_columns); float64 for an array of integers."""

    def add(
        self,
        stats: AxisStats,
        weight: float | np.ndarray = 1.0,
        decay: float | np.ndarray = 1.0,
        row_weight: np.ndarray | None = None,
        row_decay: np.ndarray | None = None,
    ) -> None:
        """statistics <- decay * statistics + weight * stats, for the whole axis; decay and weight are numbers or
        (n_columns,). Rows of `stats` are multiplied by `row_weight`, and the array's values in them by `row_decay`,
        each (n_ids,). Costs the rows given, never the axis, except that decay 0 clears the array once.

        An array of integers accepts only decays of 0 and 1, and rounds the values it adds."""

    def set_prior(self, prior: np.ndarray) -> None:
        """Replace the prior, by one of such a shape. Costs the axis if it has a value per row."""

    def totals(self) -> np.ndarray:
        """Sum of the statistics over the axis, prior excluded: float64 (n_columns,)."""

    def fold(self) -> None:
        """Apply the lazy scale; costs the whole axis."""


@runtime_checkable
class Scheme(Protocol):
    """How statistics update one array. One file in `schemes/` per rule; a frozen dataclass of its settings.

    A class attribute `dtype` requests an array of another dtype than the model's. A class attribute `companions`,
    {name: `arrays.ArraySpec`}, requests further arrays with the same rows: they hold what a scheme remembers about rows
    (such as how often each was updated), so it is saved, shared and grown with the params. A class attribute
    `takes_changes`, if true, says that statistics may be changes of counts; `forgets_start`, which may be a setting
    that a run with `init` sets, that nothing of what the array begins with is left after the first update of a run;
    `averages_documents`, that the array is a mean over documents, as heavy as one of them; `takes_expected_logs`, that
    statistics must be the sums of E[log theta] that kernels offer for "doc_topic_prior"; `own_prior`, that the prior of
    the array is a setting of the scheme, so that the array must have none; `sets_prior`, that the scheme sets the prior
    of its array and uses no statistics, so that it belongs in `prior_schemes`; `of_rows`, that this is the prior of
    rows that are distributions over the columns; `is_linear`, that changes made to the same params may be
    added, as in an exchange: a step is `add` with a weight and a decay for all rows alike, and 1 - decay is at most
    `RoundInfo.largest_step`; `takes_half_life`, that a step heeds `RoundInfo.retained`; `names_arrays`, which settings
    name another array, or none with "". An attribute `reads` names other arrays whose weights and statistics a step
    reads, so that each needs a scheme, too; a property `unread`, {name of a setting: why}, says which settings others
    turn off.
    """

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Apply one update to `array`."""
