"""The seconds that tasks of a cluster take on this machine, and the shape of the corpus: see `simulate`."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import islice
from types import SimpleNamespace
from typing import Any

import numpy as np
import scale
from simulated import Costs

__all__ = ["BATCH_SIZE", "N_DOCS", "N_ENTRIES", "N_TOKENS", "N_WORDS", "made_run", "measured_costs", "shape"]

N_DOCS, N_WORDS, N_TOKENS, N_ENTRIES = 8_200_000, 141_043, 730_000_000, 483_000_000  # PubMed
TRUTH = replace(scale.TRUTH, n_words=N_WORDS)  # what words its documents have
PART_DOCS = 141_000
BATCH_SIZE = 500
SAMPLE_DOCS = 33_000  # 66 minibatches
SAMPLED_SLICES = 16
PARTS = 32  # workers


def measured_costs(n_topics: int, n_updates: int = 0) -> Costs:
    """Processor seconds of this machine, on documents of `scale`; of replicas that make so many updates, or of rounds
    of `vb` for 0. The network takes no time."""
    documents = np.unique(np.geomspace(1, N_DOCS, 200).astype(int))
    n_columns = made_run("vb", n_topics, shape(), {})[1]["topic_words"].n_columns
    return Costs(
        4 * n_columns,
        n_topics / n_columns,
        documents,
        distinct_words(documents),
        0.0 if n_updates else estep_seconds(n_topics),
        *(replica_seconds(n_topics, n_updates) if n_updates else (0.0, 0.0)),
        *moving_seconds(n_topics),
        byte=0.0,
    )


@cache
def sampled() -> Any:
    """Some documents of `scale`."""
    from bigtopic.corpus.memory import from_matrix

    return from_matrix(TRUTH.documents(SAMPLE_DOCS).counts)


def distinct_words(documents: np.ndarray) -> np.ndarray:
    """How many distinct words so many documents of `scale` have; all words at last."""
    shares = TRUTH.components_.mean(axis=0) * N_TOKENS / N_DOCS
    found = np.array([-np.expm1(-n * shares).sum() for n in documents])
    return np.append(found[:-1], N_WORDS)


@cache
def estep_seconds(n_topics: int) -> float:
    """Of a document of a node of `vb`, with the sums inside it, after the first update."""
    from bigtopic.learning.estep import estep_task
    from bigtopic.learning.remembering import remembering
    from bigtopic.learning.rounds import iteration_of, step
    from bigtopic.plan.reading import BlockReader

    n_slices = max(2, SAMPLED_SLICES * 100 // n_topics)
    run, params, cursor = made_run("vb", n_topics, sampled(), {})
    slices = next(run.plan.rounds(0)).slices[:n_slices]
    iteration, seconds = iteration_of(cursor, 1, run.settings), 0.0
    for _ in range(2):
        begun, reader = time.thread_time(), BlockReader(run.parts, ahead=0)
        stats = estep_task(slices, reader.block, params.arrays, run.work, iteration, remembering(run.work))
        seconds = time.thread_time() - begun
        step(params, cursor, stats, run.settings)
    return seconds / stats.n_docs


@cache
def replica_seconds(n_topics: int, n_updates: int) -> tuple[float, float]:
    """Of a document of a replica's updates, of which there are so many in an exchange; and what of it is before them.
    Documents are in memory, so that reading them takes no time."""
    from bigtopic.learning.replicas.share import Share, share_changes, share_documents
    from bigtopic.plan.cursor import Cursor
    from bigtopic.plan.reading import BlockReader

    replicas = {"replicas": 2, "replica_updates": n_updates}
    run, params, cursor = made_run("online-cvb0", n_topics, sampled(), replicas)
    rounds = list(islice(run.plan.rounds(cursor.pass_number), min(n_updates, SAMPLE_DOCS // BATCH_SIZE)))
    cursors = [Cursor(cursor.pass_number, rnd.number, cursor.step + i) for i, rnd in enumerate(rounds)]
    share, read = Share(rounds, cursors, PARTS * n_updates), BlockReader(run.parts, ahead=0).block
    works = (
        lambda: share_changes(run, share, read, params.arrays),
        lambda: share_documents(run, share, read).prepare_all(params.arrays),
    )
    whole, before = (thread_seconds(work) / sum(rnd.n_docs for rnd in rounds) for work in works)
    return whole, before


@cache
def moving_seconds(n_topics: int) -> tuple[float, ...]:
    """Of a byte of changes of all words: to add, divide and join them; of the params: to copy and to move them."""
    from bigtopic.learning.all_reduce.rows import joined_rows, split_rows

    from bigtopic.learning.reduce import add_axis
    from bigtopic.learning.replicas.changes import Changes, add_changes
    from bigtopic.state.params import Params
    from bigtopic.types import AxisStats

    _, params, _ = made_run("online-cvb0", n_topics, shape(), {})
    name, array = "topic_words", params["topic_words"]
    stats = AxisStats(np.arange(N_WORDS, dtype=np.int32), np.ones(array.raw.shape, np.float32))
    sums = np.ones(array.n_columns)
    changes = Changes({name: stats}, {name: sums}, {name: 0.1 * sums}, ())
    columns = {name: n_topics}
    divided = [part for _, ((_, part),) in split_rows([(1, changes)], range(PARTS), columns=columns)]
    works = (
        lambda: add_axis(stats, stats),
        lambda: list(split_rows([(1, changes)], range(PARTS), columns=columns)),
        lambda: joined_rows(divided),
        array.copy,
        lambda: add_changes(Params({name: array}), divided),
    )
    return tuple(thread_seconds(work) / stats.values.nbytes for work in works)


def thread_seconds(work: Callable[[], Any], n: int = 3) -> float:
    """Processor seconds of this thread; the least of some runs."""
    times = []
    for _ in range(n):
        begun = time.thread_time()
        work()
        times.append(time.thread_time() - begun)
    return min(times)


def shape() -> Any:
    """What a run needs to know of PubMed."""
    from bigtopic.corpus.vocabulary import Vocabulary

    whole, rest = divmod(N_DOCS, PART_DOCS)
    return SimpleNamespace(
        parts=[SimpleNamespace(n_docs=n) for n in [PART_DOCS] * whole + [rest]],
        n_docs=N_DOCS, nnz=N_ENTRIES, n_tokens=N_TOKENS, n_authors=0,
        vocabulary=Vocabulary([f"w{i}" for i in range(N_WORDS)]),
    )  # fmt: skip


def made_run(method: str, n_topics: int, corpus: Any, replicas: dict[str, int]) -> tuple[Any, Any, Any]:
    """A run, its params, and where exchanges have grown."""
    from bigtopic import methods
    from bigtopic.learning.new_run import make_run
    from bigtopic.plan.cursor import Cursor
    from bigtopic.state.new_model import new_model

    sizes = {"batch_size": None if method == "vb" else BATCH_SIZE, "slice_size": None}
    model = new_model(methods.get(method), n_topics, corpus.vocabulary, n_tokens=corpus.n_tokens)
    model.cursor = Cursor(1, 0, 1_000_000) if replicas else model.cursor
    return make_run(model, corpus, order="shuffled", **sizes, **replicas), model.params, model.cursor
