"""What an author-topic model says of documents: how likely they are given their authors, and whose they may be.

    log p(document | authors) = sum_v c_v log( sum_k beta_kv mean_a theta_ak )

with theta and beta at their posterior means. Blocks of documents in, arrays out: pure, for threads and workers alike.

Reference: Rosen-Zvi, Griffiths, Steyvers, Smyth (2004), "The author-topic model for authors and documents".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import WITH_AUTHORS, InputError, SettingError
from bigtopic.inference.infer import in_order
from bigtopic.kernels import load
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.models.author_topic import AUTHOR_TOPIC, AUTHOR_TOPICS
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.plan.slices import make_docs
from bigtopic.schemes.replace import ReplaceRows
from bigtopic.state.axes import axes_of, mapping
from bigtopic.state.model import TopicModel
from bigtopic.state.params import Params
from bigtopic.state.views import mean_rows, take_view
from bigtopic.types import Block, Docs, Kernel

__all__ = [
    "MappedModel",
    "Ranking",
    "Values",
    "candidates",
    "check_signed",
    "known_tokens",
    "learn_authors",
    "likeliest",
    "log_probabilities",
]

_AUTHORS = 1 << 12  # at once


class Values(NamedTuple):
    """A number of each document.

    rows : int64 (n_docs,), source rows; values : float64 (n_docs,), in nats; n_tokens : float64 (n_docs,), of words
    that the model knows
    """

    rows: np.ndarray
    values: np.ndarray
    n_tokens: np.ndarray


class Ranking(NamedTuple):
    """The likeliest authors of each document.

    rows : int64 (n_docs,), source rows; ids : int64 (n_docs, n_top), authors of the model, the likeliest first
    values : float32 (n_docs, n_top), log probability of the document if it were theirs alone, in nats per token
    """

    rows: np.ndarray
    ids: np.ndarray
    values: np.ndarray


@dataclass(frozen=True)
class MappedModel:
    """A model as users read it, and the maps from ids of a corpus to ids of the model. Picklable for workers."""

    model: TopicModel
    n_words: int
    n_authors: int
    id_maps: Any

    @classmethod
    def of(cls, model: TopicModel, corpus: Any) -> MappedModel:
        read = replace(model, params=Params(model.estimates()))
        return cls(read, len(corpus.vocabulary), corpus.n_authors, model.id_maps(corpus))

    def docs(self, block: Block) -> tuple[Docs, dict[str, np.ndarray | None]]:
        """The documents without words and authors that the model does not know, and the model's ids by axis."""
        maps, block = self.id_maps, in_order(block, self.id_maps)
        return make_docs(block, self.n_words, maps.get("word"), self.n_authors, maps.get("author"))


def log_probabilities(mapped: MappedModel, block: Block) -> Values:
    """The log probability of each document given its known authors.

    Raises
    ------
    InputError
        When the model knows words of a document, and none of its authors.
    """
    from bigtopic.kernels.author_topic.author_vb import document_bounds

    docs, axes = mapped.docs(block)
    check_signed(docs)
    view = take_view(mapped.model.params.arrays, dict.fromkeys((TOPIC_WORDS, AUTHOR_TOPICS), "mean"), axes)
    return Values(docs.rows, document_bounds(docs, view), known_tokens(docs))


def check_signed(docs: Docs) -> None:
    """Refuse documents without a known author. Raises InputError like `log_probabilities`."""
    from bigtopic.kernels.support.authors import first_unsigned

    if (row := first_unsigned(docs)) is not None:
        raise InputError(
            f"the model knows no author of the document in row {row} of the source; leave it out, or learn its authors "
            "with update or transform_authors"
        )


def known_tokens(docs: Docs) -> np.ndarray:
    """Tokens of each document, float64 (n_docs,)."""
    of_doc = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    return np.bincount(of_doc, docs.counts, docs.n_docs)


def likeliest(mapped: MappedModel, n_top: int, min_documents: int, block: Block) -> Ranking:
    """The authors under whom each document is likeliest, of those with at least so many documents.

    Costs distinct words x authors x topics of each document.
    """
    docs, axes = mapped.docs(block)
    model, n = mapped.model, mapped.model.n_components
    words = mean_rows(model.params[TOPIC_WORDS], axes["word"])[:, :n]
    known = candidates(model, min_documents)
    ids = np.zeros((docs.n_docs, 0), np.int64)
    values = np.zeros((docs.n_docs, 0), np.float32)
    for start in range(0, len(known), _AUTHORS):
        some = known[start : start + _AUTHORS]
        topics = mean_rows(model.params[AUTHOR_TOPICS], some)[:, :n]
        found = np.stack([_per_token(docs, d, words, topics) for d in range(docs.n_docs)])
        ids = np.hstack([ids, np.broadcast_to(some.astype(np.int64), found.shape)])
        values = np.hstack([values, found])
        best = np.argsort(-values, axis=1, kind="stable")[:, :n_top]
        ids, values = np.take_along_axis(ids, best, 1), np.take_along_axis(values, best, 1)
    return Ranking(docs.rows, ids, values)


def candidates(model: TopicModel, min_documents: int) -> np.ndarray:
    """Ids of the authors with at least so many documents, int32."""
    documents = model.axes["author"].document_frequency
    n_rows = model.params[AUTHOR_TOPICS].n_rows
    enough = np.ones(n_rows, bool) if documents is None else documents >= min_documents
    return np.flatnonzero(enough).astype(np.int32)


def _per_token(docs: Docs, d: int, words: np.ndarray, topics: np.ndarray) -> np.ndarray:
    """Log probability of one document under each author, in nats per token; 0 for an empty one. (n_authors,)"""
    own = slice(docs.indptr[d], docs.indptr[d + 1])
    counts = docs.counts[own]
    logs = counts @ np.log(words[docs.words[own]] @ topics.T)
    return logs / max(float(counts.sum()), 1.0)


def learn_authors(
    model: TopicModel,
    corpus: Any,
    max_iter: int,
    tol: float,
    client: Any = None,
    n_threads: int | None = None,
) -> TopicModel:
    """A model with the authors of a corpus alone: those that `model` knows, as it knows them, then the new ones.

    With everything that the model knows held fixed, gamma_a of each new author is iterated to rest, from alpha plus its
    tokens shared evenly among the topics:

        gamma_a = alpha + S_a,    S_a the expected counts of `author_vb`

    So documents of known and new authors are shared among both, and the documents of an author who wrote all of them
    alone count as one. A pass over the documents is an iteration.

    Parameters
    ----------
    max_iter : passes at most
    tol : stop when a pass moves the new authors by less than this, in tokens (mean over authors and topics)

    Raises
    ------
    InputError
        When a document has no author.
    """
    found, n_known = _begun(model, axes_of(AUTHOR_TOPIC, corpus, client, n_threads)["author"])
    array = found.params[AUTHOR_TOPICS]
    for _ in range(max_iter if n_known < array.n_rows else 0):
        before = array.gather(None)[n_known:].copy()
        train(found, corpus, Limits(1, progress=False), client=client, n_threads=n_threads)
        array = found.params[AUTHOR_TOPICS]
        change = np.abs(array.gather(None)[n_known:] - before).sum()
        if change < tol * before.shape[0] * array.n_components:
            break
    return found


def _begun(model: TopicModel, authors: Vocabulary) -> tuple[TopicModel, int]:
    """The model before the first pass, and how many of its authors are known."""
    if authors.words is None:
        raise SettingError(f"the authors of these documents have no names to know them by; {WITH_AUTHORS}")
    ids = mapping(authors, model.axes["author"], "authors")
    ids = np.arange(len(authors), dtype=np.int32) if ids is None else ids
    order = np.concatenate([np.flatnonzero(ids >= 0), np.flatnonzero(ids < 0)])
    n_known = int((ids >= 0).sum())
    documents, tokens = (counts[order] for counts in authors.counted)
    known = model.estimates()
    array = known[AUTHOR_TOPICS].local(ids[order[:n_known]])
    array.fold()
    array.grow(len(order))
    array.raw[n_known:, : array.n_components] = tokens[n_known:, None] / array.n_components
    array.fold()
    axes = {"word": model.vocabulary, "author": Vocabulary(authors.words[order], None, documents, tokens)}
    params = Params({**{name: known[name] for name in AUTHOR_TOPIC.arrays}, AUTHOR_TOPICS: array})
    kernel: Kernel = load("author_vb")
    kernel = replace(kernel, statistics={AUTHOR_TOPICS: kernel.statistics[AUTHOR_TOPICS]})
    method = Method(
        "new-authors", kernel, {AUTHOR_TOPICS: ReplaceRows(n_known)}, AUTHOR_TOPIC, batch_size=None
    )
    return TopicModel(method, params, axes, model.components, method.kernel_options({})), n_known
