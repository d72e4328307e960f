"""Collapsed Gibbs sampling (CGS), with a label for each token, and its replicated form.

Each token, a word v of a document d, has R labels, each worth 1 / R of it. In its turn all of them are removed at once,
and R are drawn from one conditional:

    p_k  prop. to  (alpha_k + N_dk) (eta_v + N_kv) / (sum_v eta_v + N_k)

R = 1 is collapsed Gibbs sampling. As R grows, the labels of a token come to be its responsibilities, and the method
iterative CVB0 (kernel `ilr`). The documents of a slice see each other's newest labels, and the labels of other slices
as they were when the params were read (AD-LDA). A token without a label, of a document that is new, is drawn given the
tokens that have one, so that the first sweep is a progressive start. Statistics: what the labels of a word have changed
by. With R = 1, a call may sweep its documents several times (`sweeps`); other slices see the last labels.

Taken out of a sum, a lone token leaves nothing of a tiny prior. So eta_v + N_kv and sum_v eta_v + N_k are at least
1e-10.

How it is computed: words are visited in the order of their ids, the tokens of a word in the order of documents, either
with a number of labels for all topics of a document (`_few_topics.py`, up to 256 topics) or
for those that it has (`_many_topics.py`).

Cost of a token, in each sweep: topics of its document, a few operations each. Of a word of a slice: topics.

References: Griffiths and Steyvers (2004), "Finding scientific topics", equation 5; Newman, Asuncion, Smyth, Welling
(2009), "Distributed algorithms for topic models", for slices.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.kernels.sampling._few_topics import FewTopics
from bigtopic.kernels.sampling._many_topics import ManyTopics
from bigtopic.kernels.support.entry import State, frozen, uncounted, whole_number
from bigtopic.kernels.support.expected_logs import expected_logs_of_labels
from bigtopic.kernels.support.rows import StoredRows, stored_rows
from bigtopic.kernels.support.tokens import frozen_by_word, sorted_by_word
from bigtopic.kernels.support.vector import LANES
from bigtopic.support import buffers
from bigtopic.types import CallSize, Docs, Hyper, Kernel, KernelResult, Scratch, StateSpec, View

__all__ = ["FEW_TOPICS", "KERNEL", "run", "sampler", "statistics"]

_MOST_TOPICS = 1 << 15  # that a label of two bytes can name
FEW_TOPICS = 256  # topics, of which a document has all


@uncounted
def _take_out(rows, starts, entries, token_starts, labels, in_order, others, change):
    """Fill the labels in the order of words, the weights of words without them, and minus their numbers."""
    for v in range(change.shape[0]):
        row, p = np.uint64(rows.ids[v]), token_starts[v]
        for k in range(change.shape[1]):
            others[v, k] = rows.array[row, np.uint64(k)] * rows.scale[k] + rows.prior[k]
            change[v, k] = 0
        for e in range(starts[v], starts[v + 1]):
            for t in range(entries[e, 1], entries[e, 1] + entries[e, 2]):
                k = labels[t]
                in_order[p], p = k, p + 1
                if k >= 0:
                    others[v, np.uint64(k)] -= 1.0
                    change[v, np.uint64(k)] -= 1


@uncounted
def _put_in(token_starts, in_order, change):
    """Add the numbers of the labels."""
    for v in range(change.shape[0]):
        for p in range(token_starts[v], token_starts[v + 1]):
            change[v, np.uint64(in_order[p])] += 1


def run(docs: Docs, view: View, hyper: Hyper, seed: int, state: State = None) -> KernelResult:
    """Draw the labels of these documents `sweeps` times more, or for the first time; see the module.

    Parameters
    ----------
    docs : the documents, counts are whole numbers; authors are ignored
    view : "topic_words" as "stored", rows of n_columns, with their totals; the labels in `state` are among them
    hyper : for its options see `KERNEL`
    seed : with the sweep, a document's source row and a label's place in it, the key of its draw
    state : "labels" int16 (n_tokens, replicas), -1 where there is none yet; None for documents that are new

    Returns
    -------
    KernelResult
        stats["topic_words"] (n_words, n_columns), by how many tokens the labels have changed, int32 where a token has
        one label; stats["doc_topic_prior"] (1, n_columns), the sum of E[log theta] given the first label of each token,
        if wanted; doc_topics (n_docs, n_components) if wanted; state["labels"]; no info.

    Raises
    ------
    InputError
        When a count is not a whole number.
    SettingError
        When `replicas` or `sweeps` is not a whole number of at least 1, when both are larger, or when there are more
        topics than a label can name.
    """
    n_replicas, n_sweeps = _numbers(hyper.options)
    by_word = sorted_by_word(docs) if docs.derived is None else docs.derived
    tokens, n_columns = by_word["tokens"], view.arrays["topic_words"].shape[1]
    labels = np.full((tokens[-1], n_replicas), -1, np.int16) if state is None else state["labels"].copy()
    change = buffers.empty((docs.n_words, n_columns), _dtype(hyper.options))
    topic_words, totals = stored_rows(view, "topic_words"), view.totals["topic_words"].astype(np.float64)
    if n_sweeps == 1:
        drawn = sampler(docs, by_word, topic_words, totals, hyper, labels, change)
        drawn.sweep(seed)
    else:
        drawn = _sweep_often(docs, by_word, topic_words, totals, hyper, labels, change, seed, n_sweeps)
    doc_topics = None
    if hyper.doc_topics:
        doc_topics = np.empty((docs.n_docs, hyper.n_components), topic_words.array.dtype)
        drawn.fill_doc_topics(doc_topics)
    stats = {"topic_words": change, **statistics(tokens, hyper, labels, n_columns)}
    return KernelResult(stats, doc_topics, {"labels": labels}, {})


def _sweep_often(
    docs: Docs,
    by_word: Mapping[str, np.ndarray],
    topic_words: StoredRows,
    totals: np.ndarray,
    hyper: Hyper,
    labels: np.ndarray,
    change: np.ndarray,
    seed: int,
    n_sweeps: int,
) -> FewTopics | ManyTopics:
    """Several sweeps, against the weights of each word without the labels of these documents."""
    in_order = np.empty(len(labels), np.int16)  # labels in the order of words
    others = buffers.empty(change.shape, np.float64)
    starts, entries, token_starts = frozen_by_word(by_word)
    _take_out(topic_words, starts, entries, token_starts, labels[:, 0], in_order, others, change)
    rows = stored_rows(View({"topic_words": frozen(others, np.float64)}, {}), "topic_words")
    drawn = sampler(docs, by_word, rows, totals, hyper, labels, drawn=in_order)
    for sweep in range(n_sweeps):
        drawn.sweep(seed + sweep)
    _put_in(token_starts, in_order, change)
    return drawn


def sampler(
    docs: Docs,
    by_word: Mapping[str, np.ndarray],
    topic_words: StoredRows,
    totals: np.ndarray,
    hyper: Hyper,
    labels: np.ndarray,
    change: np.ndarray | None = None,
    drawn: np.ndarray | None = None,
) -> FewTopics | ManyTopics:
    """What draws `labels` in each sweep; see `tokens.Sampler`.

    Raises
    ------
    SettingError
        When there are more topics than a label can name.
    """
    n = hyper.n_components
    assert len(totals) % LANES == 0, "rows come in whole vectors"
    if n > _MOST_TOPICS:
        raise SettingError(f"{argument('n_components', n)}: kernel 'cgs' has at most {_MOST_TOPICS}")
    kind = FewTopics if n <= FEW_TOPICS else ManyTopics
    return kind(docs, by_word, topic_words, totals, hyper.doc_topic_prior, labels, change, drawn)


def statistics(tokens: np.ndarray, hyper: Hyper, labels: np.ndarray, n_columns: int) -> dict[str, np.ndarray]:
    """What the labels say of the prior of documents' topics, if wanted."""
    if "doc_topic_prior" not in hyper.statistics:
        return {}
    logs = expected_logs_of_labels(tokens, labels[:, 0], hyper.doc_topic_prior, n_columns)
    return {"doc_topic_prior": logs}


def _numbers(options: Mapping[str, Any]) -> tuple[int, int]:
    """Labels of a token, and draws of each. Raises SettingError like `run`."""
    n_replicas, n_sweeps = (whole_number(options, name, 1) for name in ("replicas", "sweeps"))
    if n_replicas > 1 and n_sweeps > 1:
        raise SettingError(
            f"{argument('sweeps', n_sweeps)}: labels of {n_replicas} replicas are swept once; give one of them as 1"
        )
    return n_replicas, n_sweeps


def _cost(options: Mapping[str, Any]) -> float:
    return float(_numbers(options)[1])


def _dtype(options: Mapping[str, Any]) -> str:
    """Of changes: whole numbers, in half as many bytes, where a token has one label."""
    return "int32" if whole_number(options, "replicas", 1) == 1 else "float64"


def _scratch(size: CallSize, options: Mapping[str, Any]) -> Scratch:
    """The topics of the documents, and their entries by word."""
    n_blocks = -(-size.columns["topic_words"] // LANES)
    n_held, n_replicas = size.n_docs * n_blocks, whole_number(options, "replicas", 1)
    if size.n_components <= FEW_TOPICS:
        documents = [n_held * LANES * 4]
    else:
        n_held = min(n_held, 2 * size.n_tokens * n_replicas)
        documents = [n_held * LANES * 4, n_held * 8, size.n_docs * n_blocks * 2]
    by_word = [size.n_entries * 12, *[size.rows["topic_words"] * 8] * 2]
    if whole_number(options, "sweeps", 1) > 1:  # labels in the order of words, and weights without them
        documents += [size.n_tokens * 2, size.rows["topic_words"] * size.columns["topic_words"] * 8]
    return Scratch(documents, transient=size.n_entries * 8, derived=by_word)


KERNEL = Kernel(
    name="cgs",
    run=run,
    views={"topic_words": "stored"},
    statistics={"topic_words": "word"},
    offers={"doc_topic_prior": "none"},
    posteriors=("topic_words",),
    options={"replicas": 1, "sweeps": 1},
    cost=_cost,
    meanings={
        "replicas": "labels of each token, from 1, each of which counts as much less; in the literature R",
        "sweeps": "draws of each label in a pass, from 1; documents of other slices see the last of them",
    },
    scratch=_scratch,
    interacts=True,
    state="run",
    remembers={"labels": StateSpec("token", "int16", ("replicas",), missing=-1)},
    dtype=_dtype,
    changes=("topic_words",),
    derives=sorted_by_word,
    paper="Griffiths and Steyvers 2004; Newman et al. 2009",
)
