"""Topics of documents under a fixed model, streamed: the method's kernel, slice by slice, on threads or Dask."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from weakref import finalize

import numpy as np

from bigtopic import kernels
from bigtopic.corpus.order import checked_seed, mix
from bigtopic.errors import OR_NONE, SettingError, argument, did_you_mean, noting
from bigtopic.learning import sharing
from bigtopic.learning.estep import gather
from bigtopic.learning.run import Work
from bigtopic.parallel import cluster
from bigtopic.parallel.mapping import bounded_map
from bigtopic.parallel.shared_files import corpus_in_reach, shares_files
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import READ_BLOCK_SLICES, Plan, SliceRef, ascending
from bigtopic.state.contract.declarations import check_options
from bigtopic.state.contract.kernels import check_doc_topics
from bigtopic.state.model import TopicModel
from bigtopic.types import Block, Docs, Kernel

__all__ = [
    "Inferred",
    "in_order",
    "infer",
    "inferring",
    "keyed_by_content",
    "topics_in_slices",
    "topics_of_block",
    "work_of",
]

_AUTHOR = np.uint64(1 << 63)  # distinguishes an author from a word
_TOPICS = 1 << 24  # documents x topics at once: 64 MiB
_ROWS = 1 << 28  # words x topics of a kernel call that reads dense rows: 1 GiB
_S1, _S32 = np.uint64(1), np.uint64(32)


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
    """What all tasks share; when a worker has no copy of it any more, it forgets the arrays, as after a `Run`."""

    parts: Any
    work: Work
    seed: int

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        self.__dict__.update(state)
        finalize(self, sharing.give_back).atexit = False


def infer(
    model: TopicModel,
    corpus: Any,
    *,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
) -> Iterator[Inferred]:
    """Topics of every document of a corpus, in stored order, a million entries or 64 MiB of topics at a time.

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
    work = work_of(model, corpus)
    part_docs, entries = [p.n_docs for p in corpus.parts], corpus.nnz / max(1, corpus.n_docs)
    plan = Plan(part_docs, entries, None, None, shuffled=False)
    if plan.slice_size > (most := _most_docs(work, entries)):
        plan = Plan(part_docs, entries, None, most, shuffled=False)
    slices = next(plan.rounds(0)).slices if plan.n_docs else ()
    n = _TOPICS // (plan.slice_size * model.n_components)
    n = min(max(n, 1), READ_BLOCK_SLICES)  # slices that are read at once
    tasks = [slices[i : i + n] for i in range(0, len(slices), n)]
    if client is None and len(tasks) < 4 * (n_threads or 2):
        tasks = [(ref,) for ref in slices]  # a small corpus still keeps every thread busy
    over = partial(
        bounded_map,
        _infer_task,
        client=client,
        n_threads=n_threads or cluster.default_threads(),
        name="bt-infer",
    )
    context, arrays, n_done, published = _Context(corpus.parts, work, seed), model.estimates(), 0, None
    with corpus_in_reach(client, corpus):
        # arrays reach workers in files, and are sent from where one does not find them
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
        if n_done < len(tasks):
            yield from over(tasks[n_done:], shared=(context, arrays))


def _most_docs(work: Work, entries_per_doc: float) -> int:
    """Documents of one kernel call, at most: what it takes grows with them times the topics."""
    n = work.hyper.n_components
    most = _TOPICS // n
    if "sparse_mean" not in work.kernel.views.values():
        most = min(most, int(_ROWS / (n * max(entries_per_doc, 1.0))))
    return max(1, most)


def work_of(model: TopicModel, corpus: Any) -> Work:
    """What inferring the documents of a corpus needs, except the arrays."""
    return Work(
        model.load_inference(),
        model.inference_hyper(),
        len(corpus.vocabulary),
        corpus.n_authors,
        model.id_maps(corpus),
    )


def topics_of_block(block: Block, arrays: Any, work: Work, seed: int = 0) -> np.ndarray:
    """Topics of each document of a block, float32 (n_docs, n_components), the same as from `infer`."""
    found = list(topics_in_slices(block, arrays, work, seed))
    return found[0] if len(found) == 1 else np.concatenate(found)


def topics_in_slices(block: Block, arrays: Any, work: Work, seed: int = 0) -> Iterator[np.ndarray]:
    """The same, of some of the documents at a time."""
    block = in_order(block, work.id_maps)
    step = _most_docs(work, len(block.words) / max(1, block.n_docs))
    for start in range(0, max(1, block.n_docs), step):
        yield _doc_topics(block[start : start + step] if block.n_docs > step else block, arrays, work, seed)


def _infer_task(context: _Context, shared: Any, slices: tuple[SliceRef, ...]) -> Inferred:
    arrays = sharing.load_arrays(shared)
    reader = BlockReader(context.parts, ahead=0)
    rows, topics, tokens = [], [], []
    for ref in slices:
        # A read block may be larger than the slices asked for: a slice that stands alone reads its own range only.
        own = ref if len(slices) > 1 else SliceRef(ref.part, ref.start, ref.stop, ref.start, ref.stop)
        block = reader.block(own)
        rows.append(block.rows)
        topics.append(topics_of_block(block, arrays, context.work, context.seed))
        id_map = context.work.id_maps.get("word")
        known = block.counts if id_map is None else np.where(id_map[block.words] >= 0, block.counts, 0)
        tokens.append(_sums(block.indptr, known.astype(np.float64)))
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


def in_order(block: Block, id_maps: Mapping[str, np.ndarray | None]) -> Block:
    """The documents with words and authors in ascending order of the model's ids; sums depend on their order.

    Parameters
    ----------
    id_maps : {axis: the model's id of each id of the corpus, or None when they agree}
    """
    order = ascending(block.indptr, block.words, id_maps.get("word"))
    if order is not None:
        block = replace(block, words=block.words[order], counts=block.counts[order])
    if block.authors is None or block.author_indptr is None:
        return block
    order = ascending(block.author_indptr, block.authors, id_maps.get("author"))
    return block if order is None else replace(block, authors=block.authors[order])


def keyed_by_content(docs: Docs, axes: Mapping[str, np.ndarray | None]) -> Docs:
    """The documents with hashes of their content, int64 from 0, in place of source rows as keys of randomness.

    What a document holds in the model's ids determines the order that a kernel visits documents in, and the keys of the
    draws that it makes; rows in a source, ids of a corpus and other documents do not. A hash is `mix` of the sum over
    the document of `mix(id, count)`, of 64 bits, so that no order matters; two of a million different documents share
    one with a probability of 5e-8.

    Parameters
    ----------
    axes : {axis: the model's id of each local id}
    """
    words = axes["word"]
    assert words is not None
    pairs = (words[docs.words].astype(np.uint64) << _S32) | docs.counts.view(np.uint32)
    sums = _sums(docs.indptr, mix(pairs))
    authors = axes["author"]
    if docs.authors is not None and docs.author_indptr is not None and authors is not None:
        sums += _sums(docs.author_indptr, mix(authors[docs.authors].astype(np.uint64) | _AUTHOR))
    return replace(docs, rows=(mix(sums) >> _S1).astype(np.int64), source_rows=docs.rows)


def _sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of the values of each document; of whole numbers modulo 2^64."""
    below = np.concatenate([np.zeros(1, values.dtype), np.cumsum(values)])
    return below[indptr[1:]] - below[indptr[:-1]]


def inferring(
    model: TopicModel, inference: str | Kernel | None = None, options: Mapping[str, Any] | None = None
) -> TopicModel:
    """The model, with a kernel and options for the topics of documents.

    Parameters
    ----------
    inference : name of a kernel, or a `Kernel`; None for the method's. Another than the method's has its own defaults
    options : of the kernel, {name: value}; the others stay as they are

    Raises
    ------
    SettingError
        When there is no such kernel, it cannot infer under this model, or an option is unknown or of the wrong kind.
    """
    if inference is None and not options:
        return model
    if not isinstance(inference, str | Kernel | None) or not isinstance(options, Mapping | None):
        raise SettingError(
            f"{argument('inference', inference)}, {argument('options', options)}: give the name of a kernel and "
            f"{{name: value}}{OR_NONE}"
        )
    own = model.load_inference()
    if isinstance(inference, str) and inference not in kernels.names():
        fit = _fit(model)
        raise SettingError(
            f"{argument('inference', inference)}: there is no such kernel; choose one of: {', '.join(fit)}"
            f"{did_you_mean(inference, fit)}"
        )
    given = kernels.load(inference) if isinstance(inference, str) else inference
    kernel = given or own
    why = "" if kernel.name == own.name else _misfit(kernel, model)
    if why:
        raise SettingError(
            f"{argument('inference', kernel.name)}: {why}; choose one of: {', '.join(_fit(model))}"
        )
    known = [name for name in kernel.options if name not in kernel.of_statistics]
    for name in options or {}:
        if name not in known:
            raise SettingError(
                f"option {name!r}: kernel {kernel.name!r}, which infers topics of documents, has none of that name; "
                f"its options are: {', '.join(known) or 'none'}{did_you_mean(name, known)}"
            )
    method = replace(model.method, inference=kernel)
    before = {**kernel.options, **(model.options if kernel.name == own.name else {})}
    chosen = {**model.options, **before, **(options or {})}
    check_options(method, chosen)
    return replace(model, method=method, options=chosen)


def _fit(model: TopicModel) -> list[str]:
    """The kernels that can infer topics of documents under this model."""
    return [name for name in kernels.names() if not _misfit(kernels.load(name), model)]


def _misfit(kernel: Kernel, model: TopicModel) -> str:
    """Why a kernel cannot infer the topics of new documents under this model; "" if it can."""
    arrays = model.method.model.arrays
    if missing := [name for name in kernel.views if name not in arrays]:
        return f"it reads {' and '.join(missing)}, which model {model.method.model.name!r} does not have"
    if kernel.state == "run" or kernel.interacts:
        return "it infers documents together with others"
    if kernel.state == "round":
        return "it infers documents in the inner iterations of learning"
    if "author" in kernel.statistics.values():
        return "it infers authors, and no topics of documents"
    points = [
        name
        for name, form in kernel.views.items()
        if form not in ("mean", "sparse_mean") and not model.params[name].prior.any()
    ]
    if points:
        return f"it reads a distribution of {' and '.join(points)}, of which this model has an estimate without a prior"
    return ""
