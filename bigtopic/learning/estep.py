"""One task: documents and params in, statistics out. Pure; threads and Dask workers call the same functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from bigtopic.errors import ModelError, noting
from bigtopic.kernels.support.slice_loop import add_up
from bigtopic.learning.remembering import Kept, Remembering
from bigtopic.learning.run import Iteration, Work
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.parallel.prometheus import count
from bigtopic.plan.slices import SliceRef, make_docs, tokens_of
from bigtopic.state.contract.kernels import check_result, check_state, check_state_names
from bigtopic.state.documents.state_files import State, resolved, state_sizes
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay
from bigtopic.state.views import take_view
from bigtopic.types import AxisStats, Block, Docs, Hyper, Kernel, KernelResult, Stats, View

__all__ = [
    "Gathered",
    "OnAxis",
    "Prepared",
    "check_finite",
    "evaluate",
    "gather",
    "look_up",
    "prepare",
    "with_params",
]

Arrays = Mapping[str, LazyArray | Overlay]


class OnAxis(Protocol):
    """As much of an array of the params as documents need to know.

    axis : of its rows
    n_rows : how many
    """

    @property
    def axis(self) -> str: ...
    @property
    def n_rows(self) -> int: ...


@dataclass(frozen=True)
class Prepared:
    """Documents with local ids.

    axes : {axis: the params' row of each local id}; kernels see all rows of the other axes
    n_tokens : tokens of words that the params know
    kept : which entries have such words, see `remembering.Kept`; also None where the kernel remembers no documents
    """

    docs: Docs
    axes: Mapping[str, np.ndarray | None]
    n_tokens: float
    kept: Kept


@dataclass(frozen=True)
class Gathered(Prepared):
    """What a kernel needs of some documents.

    view : the rows of the params at the local ids
    hyper : the hyper-parameters, with values of the params such as priors
    """

    view: View
    hyper: Hyper


def gather(block: Block, arrays: Arrays, work: Work) -> Gathered:
    """Documents with local ids, the rows of the params at these ids, and the hyper-parameters of the kernel."""
    return look_up(prepare(block, arrays, work), arrays, work)


def prepare(block: Block, arrays: Mapping[str, OnAxis], work: Work) -> Prepared:
    """Documents with local ids."""
    if block.authors is not None and not _uses_authors(work.kernel, arrays):
        block = replace(block, author_indptr=None, authors=None)  # renaming them would be for nothing
    docs, axes = make_docs(
        block, work.n_words, work.id_maps.get("word"), work.n_authors, work.id_maps.get("author")
    )
    if work.kernel.derives is not None:
        with noting(f"kernel {work.kernel.name!r}"):
            docs = replace(docs, derived=work.kernel.derives(docs))
    return Prepared(docs, axes, tokens_of(docs), _kept(block, docs, work))


def look_up(documents: Prepared, arrays: Arrays, work: Work) -> Gathered:
    """The rows of the params for these documents, and the hyper-parameters of the kernel."""
    view = take_view(arrays, work.kernel.views, documents.axes)
    known = documents.docs, documents.axes, documents.n_tokens, documents.kept
    return Gathered(*known, view, with_params(work.hyper, arrays))


def _kept(block: Block, docs: Docs, work: Work) -> Kept:
    known = work.id_maps.get("word")
    if known is None or work.kernel.state == "none" or len(docs.words) == len(block.words):
        return None
    entries = known[block.words] >= 0
    rows = {spec.rows for spec in work.kernel.remembers.values()}
    return {"entry": entries} | (
        {"token": np.repeat(entries, block.counts.astype(np.int64))} if "token" in rows else {}
    )


def with_params(hyper: Hyper, arrays: Arrays) -> Hyper:
    """The hyper-parameters, with the priors and sizes that the params have now."""
    alpha = arrays.get(DOC_TOPIC_PRIOR)
    return hyper._replace(
        doc_topic_prior=hyper.doc_topic_prior if alpha is None else alpha.first_row(),
        priors={name: array.prior_mean for name, array in arrays.items()},
        axis_sizes=hyper.axis_sizes or {array.axis: array.n_rows for array in arrays.values()},
    )


def _uses_authors(kernel: Kernel, arrays: Mapping[str, OnAxis]) -> bool:
    axes = {arrays[name].axis for name in kernel.views} | set(kernel.statistics.values())
    return "author" in axes


def evaluate(
    ref: SliceRef, gathered: Gathered, work: Work, iteration: Iteration, remembering: Remembering
) -> Stats:
    """The statistics of one slice.

    Raises
    ------
    ModelError
        When the kernel returns something it does not declare, or a number that is not finite; the params have not
        moved.
    """
    state = remembering.read(ref, iteration, gathered.kept)
    hyper = gathered.hyper._replace(step=iteration.step, iteration=iteration.number)
    with noting(f"kernel {work.kernel.name!r}"):
        result = work.kernel.run(gathered.docs, gathered.view, hyper, iteration.seed, state)
    count(gathered.n_tokens)
    check_result(work.kernel, result, gathered.view, hyper, gathered.axes)
    sums = _finite_sums(work.kernel, result, iteration)
    if result.state is not None:
        _check_state(work, gathered, result.state)
        remembering.write(ref, iteration, gathered.kept, result.state)
    stats = {
        name: AxisStats(gathered.axes.get(axis), result.stats[name]).summed(sums[name])
        for name, axis in work.kernel.statistics.items()
    }
    return Stats(stats, gathered.docs.n_docs, gathered.n_tokens, dict(result.info))


def _check_state(work: Work, gathered: Gathered, state: State) -> None:
    """Check state that compiled loops will read again."""
    arrays = resolved(work.kernel.remembers, state_sizes(work.hyper))
    check_state_names(state, arrays)
    docs, n_tokens = gathered.docs, int(gathered.n_tokens)
    n_rows = {"entry": len(docs.words), "token": n_tokens, "document": docs.n_docs}
    for name, spec in arrays.items():
        check_state(name, state[name], spec, n_rows[spec.rows])


def _finite_sums(kernel: Kernel, result: KernelResult, iteration: Iteration) -> dict[str, np.ndarray | None]:
    """The column sums of statistics of floats; refuses statistics that would make a model of NaN."""
    sums = {name: _column_sums(result.stats[name]) for name in kernel.statistics}
    for name, found in sums.items():
        if found is not None:
            check_finite(kernel, name, result.stats[name], found, iteration)
    return sums


def check_finite(kernel: Kernel, name: str, values: Any, sums: np.ndarray, iteration: Iteration) -> None:
    """Refuse statistics that hold NaN or infinity, given their column sums. Raises ModelError."""
    # sums in single precision may overflow where every number is finite
    if np.isfinite(sums).all():
        return
    if not np.isfinite(values if isinstance(values, np.ndarray) else values.data).all():
        raise ModelError(
            f"kernel {kernel.name!r}: stats[{name!r}] holds numbers that are not finite, at update "
            f"{iteration.step}; the model does not have this update. Look for a division by 0, a logarithm of 0 or "
            "an overflow in the kernel, and for extreme priors and options"
        )


def _column_sums(values: Any) -> np.ndarray | None:
    if not isinstance(values, np.ndarray):
        return np.bincount(values.indices, values.data, values.shape[1])
    if values.dtype.kind != "f":
        return None
    sums = np.zeros(values.shape[1])
    add_up(np.ascontiguousarray(values), sums)
    return sums
