"""How long a round will take, roughly; it only decides where rounds run."""

from __future__ import annotations

from math import prod

from bigtopic.learning.run import Run
from bigtopic.learning.work import Work
from bigtopic.state.contract.kernels import check_cost

__all__ = ["round_seconds"]

NANOSECONDS_PER_ENTRY = 0.4  # distinct word of a document, for each topic and pass over them (`Kernel.cost`)


def round_seconds(run: Run) -> float:
    """A rough estimate of one core's time for one round."""
    work, entries = run.work, run.plan.batch_size * run.plan.entries_per_doc
    passes = check_cost(work.kernel, work.kernel.cost(work.hyper.options))
    return entries * _n_topics(work) * passes * NANOSECONDS_PER_ENTRY * 1e-9


def _n_topics(work: Work) -> int:
    """Topics of an entry; pairs of topics, where the kernel reads all arrays that it has statistics of."""
    if set(work.kernel.statistics) <= set(work.kernel.views):
        return prod(work.hyper.components.values())
    return work.hyper.n_components
