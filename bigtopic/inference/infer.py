"""Topics of documents under a fixed model, streamed: the method's kernel, slice by slice, on threads or Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bigtopic.errors import noting
from bigtopic.learning import sharing
from bigtopic.learning.estep import gather
from bigtopic.learning.work import Work
from bigtopic.parallel import cluster
from bigtopic.parallel.shared_files import corpus_in_reach, shares_files
from bigtopic.plan.counting import counted_vocabulary
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import READ_BLOCK_SLICES, Plan, SliceRef
from bigtopic.state.contract.kernel_results import check_doc_topics
from bigtopic.state.model import TopicModel
from bigtopic.types import Block

__all__ = ["Inferred", "infer", "unknown_share"]

INFER_SEED = 0x5EED


@dataclass(frozen=True)
class Inferred:
    """Topics of consecutive documents, in stored order.

    rows : int64 (n_docs,), source rows; doc_topics : float32 (n_docs, n_components), rows sum to 1
    n_tokens : float64 (n_docs,), tokens the model knows
    """

    rows: np.ndarray
    doc_topics: np.ndarray
    n_tokens: np.ndarray


@dataclass(frozen=True)
class _Context:
    parts: Any
    work: Work


def infer(
    model: TopicModel, corpus: Any, *, client: Any = None, n_threads: int | None = None
) -> Iterator[Inferred]:
    """Topics of every document of a corpus, in stored order, a million entries at a time.

    Identical for any number of workers; random kernels are seeded by the documents' source rows.
    """
    if not corpus.n_docs:
        return
    work = Work(
        model.method.load_inference(),
        model.inference_hyper(),
        len(corpus.vocabulary),
        corpus.n_authors,
        model.id_maps(corpus),
    )
    plan = Plan(
        [p.n_docs for p in corpus.parts], corpus.nnz / max(1, corpus.n_docs), None, None, shuffled=False
    )
    slices = next(plan.rounds(0)).slices if plan.n_docs else ()
    tasks = [slices[i : i + READ_BLOCK_SLICES] for i in range(0, len(slices), READ_BLOCK_SLICES)]
    if client is None and len(tasks) < 4 * (n_threads or 2):
        tasks = [(ref,) for ref in slices]  # a small corpus still keeps every thread busy
    over = partial(
        cluster.bounded_map, _infer_task, client=client, n_threads=n_threads or cluster.default_threads()
    )
    with corpus_in_reach(client, corpus):
        yield from _with_arrays(over, tasks, _Context(corpus.parts, work), model.estimates(), client)


def _with_arrays(
    over: Callable[..., Iterator[Inferred]],
    tasks: Sequence[tuple[SliceRef, ...]],
    context: _Context,
    arrays: Any,
    client: Any,
) -> Iterator[Inferred]:
    """The results of the tasks; arrays reach workers in files, and are sent from where one does not find them."""
    n_done, published = 0, None
    if client is not None and shares_files(client, sharing.places()):
        published = sharing.publish(arrays)
    if published is not None:
        try:
            for piece in over(tasks, shared=(context, published)):
                n_done += 1
                yield piece
        except sharing.OutOfSight:
            pass
        finally:
            published.remove()
    yield from over(tasks[n_done:], shared=(context, arrays))


def _infer_task(context: _Context, shared: Any, slices: tuple[SliceRef, ...]) -> Inferred:
    arrays = sharing.load_arrays(shared)
    reader = BlockReader(context.parts, ahead=0)
    rows, topics, tokens = [], [], []
    for ref in slices:
        # A read block may be larger than what is asked for here: a slice that stands alone reads its own range only.
        own = ref if len(slices) > 1 else SliceRef(ref.part, ref.start, ref.stop, ref.start, ref.stop)
        block = reader.block(own)
        rows.append(block.rows)
        topics.append(_doc_topics(block, arrays, context.work))
        tokens.append(_known_tokens(block, context.work.id_maps.get("word")))
    return Inferred(np.concatenate(rows), np.concatenate(topics), np.concatenate(tokens))


def _doc_topics(block: Block, arrays: Any, work: Work) -> np.ndarray:
    """Topics of documents; one document at a time if the documents of a slice influence each other."""
    if work.kernel.interacts and block.n_docs > 1:
        alone = [_doc_topics(block[i : i + 1], arrays, work) for i in range(block.n_docs)]
        return np.concatenate(alone)
    gathered = gather(block, arrays, work)
    with noting(f"kernel {work.kernel.name!r}"):
        result = work.kernel.run(gathered.docs, gathered.view, gathered.hyper, INFER_SEED, None)
    return check_doc_topics(work.kernel, gathered.docs, gathered.hyper, result)


def _known_tokens(block: Block, id_map: np.ndarray | None) -> np.ndarray:
    counts = block.counts if id_map is None else np.where(id_map[block.words] >= 0, block.counts, 0)
    sums = np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)])
    return sums[block.indptr[1:]] - sums[block.indptr[:-1]]


def unknown_share(
    model: TopicModel, corpus: Any, *, client: Any = None, n_threads: int | None = None
) -> float:
    """Share of the corpus' tokens whose words the model does not know."""
    mapping = model.word_map(corpus.vocabulary)
    if mapping is None:
        return 0.0
    # Of exactly these documents: a view may be the part of a multilingual corpus in the model's language.
    frequency = counted_vocabulary(corpus, client, n_threads).frequency
    assert frequency is not None
    total = float(np.sum(frequency))
    return float(np.sum(frequency[mapping < 0])) / total if total > 0 else 0.0
