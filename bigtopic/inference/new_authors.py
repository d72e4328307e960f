"""Topics of authors that a model does not know, from their documents, with everything that it knows held fixed.

gamma_a of each new author is iterated to rest, from alpha plus its tokens shared evenly among the topics:

    gamma_a = alpha + S_a,    S_a the expected counts of `author_vb`

So documents of known and new authors are shared among both, and the documents of an author who wrote all of them alone
count as one. A pass over the documents is an iteration.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import WITH_AUTHORS, SettingError
from bigtopic.kernels import load
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.models.author_topic import AUTHOR_TOPIC, AUTHOR_TOPICS
from bigtopic.schemes.replace import ReplaceRows
from bigtopic.state.axes import axes_of, mapping
from bigtopic.state.model import TopicModel
from bigtopic.state.params import Params

__all__ = ["learn_authors"]


def learn_authors(
    model: TopicModel,
    corpus: Any,
    max_iter: int,
    tol: float,
    client: Any = None,
    n_threads: int | None = None,
) -> TopicModel:
    """A model with the authors of a corpus alone: those that `model` knows, as it knows them, then the new ones.

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
    method = _method(n_known)
    return TopicModel(method, params, axes, model.components, method.kernel_options({})), n_known


def _method(n_known: int) -> Method:
    known: Mapping[str, str] = load("author_vb").statistics
    kernel = replace(load("author_vb"), statistics={AUTHOR_TOPICS: known[AUTHOR_TOPICS]})
    return Method("new-authors", kernel, {AUTHOR_TOPICS: ReplaceRows(n_known)}, AUTHOR_TOPIC, batch_size=None)
