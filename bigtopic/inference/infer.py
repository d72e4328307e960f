"""Topics of documents under a fixed model, streamed: the method's kernel, slice by slice, on threads or Dask."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bigtopic.corpus.order import checked_seed
from bigtopic.errors import noting
from bigtopic.inference.content import in_order, keyed_by_content
from bigtopic.learning import sharing
from bigtopic.learning.estep import gather
from bigtopic.learning.run import Work
from bigtopic.parallel import cluster
from bigtopic.parallel.shared_files import corpus_in_reach, shares_files
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import READ_BLOCK_SLICES, Plan, SliceRef
from bigtopic.state.contract.kernel_results import check_doc_topics
from bigtopic.state.model import TopicModel
from bigtopic.types import Block

__all__ = ["Inferred", "infer"]


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
    seed: int


def infer(
    model: TopicModel,
    corpus: Any,
    *,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
) -> Iterator[Inferred]:
    """Topics of every document of a corpus, in stored order, a million entries at a time.

    The topics of a document are a function of the model, the document's words and authors that the model knows, and
    `random_state`, from which kernels draw. Other documents, the order of documents, the ids of the corpus and the
    number of workers change no bit.

    Raises
    ------
    SettingError
        When `random_state` is not a whole number.
    """
    seed = checked_seed(random_state) % (1 << 62)
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
        yield from _with_arrays(over, tasks, _Context(corpus.parts, work, seed), model.estimates(), client)


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
        topics.append(_doc_topics(in_order(block, context.work.id_maps), arrays, context.work, context.seed))
        tokens.append(_known_tokens(block, context.work.id_maps.get("word")))
    return Inferred(np.concatenate(rows), np.concatenate(topics), np.concatenate(tokens))


def _doc_topics(block: Block, arrays: Any, work: Work, seed: int) -> np.ndarray:
    """Topics of documents; one document at a time if the documents of a slice influence each other."""
    if work.kernel.interacts and block.n_docs > 1:
        alone = [_doc_topics(block[i : i + 1], arrays, work, seed) for i in range(block.n_docs)]
        return np.concatenate(alone)
    gathered = gather(block, arrays, work)
    docs = keyed_by_content(gathered.docs, gathered.axes)
    with noting(f"kernel {work.kernel.name!r}"):
        result = work.kernel.run(docs, gathered.view, gathered.hyper, seed, None)
    return check_doc_topics(work.kernel, docs, gathered.hyper, result)


def _known_tokens(block: Block, id_map: np.ndarray | None) -> np.ndarray:
    counts = block.counts if id_map is None else np.where(id_map[block.words] >= 0, block.counts, 0)
    sums = np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)])
    return sums[block.indptr[1:]] - sums[block.indptr[:-1]]
