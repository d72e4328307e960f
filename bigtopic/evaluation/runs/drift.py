"""Drift of a stream: which topics grew, shrank, moved, split, died or were born between two windows of documents.

A snapshot takes the expected tokens n_kv of word v in topic k of the window's documents, by the topics at its end:

    n_kv = sum_d n_dv theta_dk p(v | k) / sum_j theta_dj p(v | j)

Let n_k = sum_v n_kv, N = sum_k n_k, t_dk the tokens of topic k among the N_d of document d, and m_kv the expectation of
n_kv if the topic had the same words in both windows. Chance exceeds each limit for any of the topics in 1 % of reports:

    share    s_k = n_k / N,  error^2 = sum_d (t_dk - s_k N_d)^2 / N^2     grew, shrank: it changed beyond chance
    prior    sum_d N_d alpha_k / (sum_j alpha_j + N_d) / N                died, born: fell to this, too, or rose from it
    words    G_k = 2 sum n_kv log(n_kv / m_kv) over both windows and the words with 5 tokens or more, the rest as one,
             is chi-squared, times bursts b_k = mean over words of sum_d n_dkv^2 / n_kv    moved: twice the limit
    owners   the share of topic k's earlier tokens whose words are now topic j's           split: a fifth went to j

Twice, because topics move a little even if the stream does not. Words differ by the Jensen-Shannon distance, 0 to 1.
Its square is f where a share f of the tokens has words that the other window lacks, and all others are as frequent. In
a topic that moved, it is at least 0.02 beyond noise, because rare words come and go all the time.

References: Rao and Scott (1981), "The analysis of categorical data from complex sample surveys", for b_k; Lin (1991),
"Divergence measures based on the Shannon entropy".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from bigtopic.errors import InputError, SettingError, argument
from bigtopic.evaluation.base import with_error
from bigtopic.evaluation.runs.alignment import align
from bigtopic.evaluation.runs.compare import ScoreTable
from bigtopic.evaluation.source import DenseTopics, labels_of
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    Documents,
    Inference,
    Subject,
    documents_of,
    over_blocks,
    topic_rows,
)
from bigtopic.state.machine_memory import refuse_beyond
from bigtopic.support.table import Table
from bigtopic.wording import counted

__all__ = ["Drift", "Snapshot", "drift", "snapshot"]

_ALARM = 0.01
_LEAST = 5.0  # tokens of a word that counts for itself
_MOVED, _SPLIT = 0.02, 0.2
_SHOWN = 5  # words
_TINY = 1e-300  # in place of zeros, to divide by
_CELLS = 1 << 21  # entries x topics at once


@dataclass(frozen=True, eq=False, repr=False)
class Snapshot(DenseTopics):
    """The topics at the end of a window, and its documents in them; measures take it as a model.

    Attributes
    ----------
    topic_words, doc_topic_prior, vocabulary : p(word | topic) (n_words, n_components), alpha, and the words
    tokens : float32 (n_words, n_components), expected tokens of each word in each topic
    shares, errors : float64 (n_components,), of the tokens, and their standard errors over documents
    prior_shares, bursts : float64 (n_components,), the share of a topic without documents, and b_k, see the module
    n_docs, labels : documents of the window, and what people call the topics
    """

    tokens: np.ndarray
    shares: np.ndarray
    errors: np.ndarray
    prior_shares: np.ndarray
    bursts: np.ndarray
    n_docs: int
    labels: list[str]

    def __repr__(self) -> str:
        return f"Snapshot({counted(self.n_components, 'topic')} in {counted(self.n_docs, 'document')})"


def _counted(inference: Inference, block: Any) -> tuple[np.ndarray, ...]:
    """Ids of the block's words, their tokens by topic, the squares of those, and five sums over documents."""
    from scipy.sparse import csr_array

    documents = Documents(block, inference)
    docs, n, prior = documents.docs, documents.tokens[:, None], inference.source.doc_topic_prior
    theta = documents.doc_topics
    topics = topic_rows(inference.source, documents.ids)[:, : theta.shape[1]]
    of = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    tokens, squares = np.zeros((2, *topics.shape))
    t = np.zeros(theta.shape)
    for start in range(0, len(of), step := max(1, _CELLS // theta.shape[1])):
        some = slice(start, start + step)
        own = theta[of[some]].astype(np.float64) * topics[docs.words[some]]
        own *= (docs.counts[some] / own.sum(axis=1))[:, None]
        for total, rows, values in ((tokens, docs.words, own), (squares, docs.words, own**2), (t, of, own)):
            adds = np.ones(len(own)), (rows[some], np.arange(len(own)))
            total += csr_array(adds, (len(total), len(own))) @ values
    sums = [t, t**2, t * n, np.broadcast_to(n**2, t.shape), n * prior / (prior.sum() + n)]
    return documents.ids, tokens, squares, np.array([x.sum(axis=0) for x in sums])


def snapshot(model: Any, corpus: CorpusOrPath, client: Any = None, n_threads: int | None = None) -> Snapshot:
    """The topics of a model now, with the documents of a window: what `drift` compares.

    Parameters
    ----------
    model : see `topics_of`
    corpus : the documents of the window, or the path of their corpus
    client, n_threads : see `measure`

    Raises
    ------
    InputError
        When the model knows no word of the documents.
    SettingError
        When the machine has no room for four numbers of each word and topic.
    """
    subject = Subject(model, documents_of(corpus))
    source, count = subject.source, partial(_counted, subject.inference)
    refuse_beyond(
        32 * source.n_words * source.n_components,
        "merge topics (merge_topics), or fit a model of fewer topics or words",
        f"a snapshot of {source.n_components:,} topics needs",
    )
    tokens, squares = np.zeros((2, source.n_words, source.n_components))
    sums = np.zeros((5, source.n_components))
    for ids, *own in over_blocks(
        count, subject.corpus, "snapshot", client, n_threads, n_components=source.n_components
    ):
        tokens[ids] += own[0]
        squares[ids] += own[1]
        sums += own[2]
    if not (n := sums[0].sum()):
        raise InputError(
            f"{argument('corpus')}: the model knows no word of these documents; pass documents that have some"
        )
    shares = sums[0] / n
    errors = np.sqrt(np.maximum(sums[1] - 2 * shares * sums[2] + shares**2 * sums[3], 0)) / n
    some = tokens >= _LEAST
    bursts = np.divide(squares, tokens, out=np.zeros_like(tokens), where=some).sum(axis=0)
    bursts = np.maximum(bursts / np.maximum(some.sum(axis=0), 1), 1.0)
    topics = source.gather(np.arange(source.n_words, dtype=np.int32)), np.asarray(source.doc_topic_prior)
    found = tokens.astype(np.float32), shares, errors, sums[4] / n, bursts
    return Snapshot(*topics, source.vocabulary, *found, subject.corpus.n_docs, labels_of(source))


class Drift(ScoreTable):
    """What changed between two windows, one topic per row; text and notebooks show the topics that changed.

    Attributes
    ----------
    events : [(what, topic)], such as ("grew", 3), ("moved", 5), ("split", 7), ("died", 2) or ("born", 9)
    new_words : [(word, tokens, topic)], words that the first window's model lacks, most frequent first
    aligned : int64 (n_components,), the topic of the second window whose words are most like each topic's of the first
    columns : {name: values}: "topic", "label", "what" (of `events`), "with" (the topic with which it split), "share",
        "change" of the share and its "standard error", "distance" of the words and "noise" (its value if nothing
        changed), "came" and "gone" (words)
    """

    def __init__(self, columns: dict[str, Any], new_words: list[Any], aligned: np.ndarray, note: str) -> None:
        super().__init__(columns)
        self.new_words, self.aligned, self._note = new_words, aligned, note
        self.events = [(what, k) for k, own in enumerate(self["what"]) for what in own]

    def _shown(self) -> Table:
        changed = [k for k, what in enumerate(self["what"]) if what]
        own = {name: [self[name][k] for k in changed] for name in self.columns}
        named = zip(own["topic"], own["label"], strict=True)
        split = zip(own["what"], own["with"], strict=True)
        change = map(partial(with_error, sign="+"), own["change"], own["standard error"])
        first = {"topic": [f"{k} {label}".rstrip() for k, label in named]}
        what = {"what": [", ".join(what) + ("" if k is None else f" with {k}") for what, k in split]}
        more = {name: own[name] for name in ("distance", "came", "gone")}
        return Table({**first, **what, "share": own["share"], "change": [*change], **more})

    def _notes(self) -> list[str]:
        new = ", ".join(f"{word} ({k})" for word, _, k in self.new_words[:_SHOWN])
        return [self._note, *([f"new words, with their topics: {new}"] if new else [])]


def drift(before: Snapshot, after: Snapshot) -> Drift:
    """What changed between two windows of a stream, from snapshots of the same model at the end of each.

    Raises
    ------
    SettingError
        When one of them is not a `Snapshot`, they have different numbers of topics, or the machine has no room.
    VocabularyMismatch
        When they share no word.

    Examples
    --------
    >>> from bigtopic import LDA, from_matrix
    >>> from bigtopic.datasets import lda_corpus
    >>> corpus = from_matrix(lda_corpus(400, 40, 3, random_state=0).counts)
    >>> model, windows = LDA(3, progress=False), []
    >>> for start in (0, 200):
    ...     day = corpus.run(start, start + 200)
    ...     windows.append(model.partial_fit(day).snapshot(day))
    >>> drift(*windows).new_words
    []
    """
    for name, one in (("before", before), ("after", after)):
        if not isinstance(one, Snapshot) or one.n_components != before.n_components:
            raise SettingError(
                f"{argument(name)}: give snapshots of one model, from model.snapshot(documents)"
            )
    n_words = before.n_words + after.n_words
    refuse_beyond(
        96 * n_words * after.n_components,
        "ask for topic_changes(), or take snapshots of a model of fewer topics or words",
        f"the drift of {after.n_components:,} topics needs",
    )
    aligned, ids = align(before, after).topics, before.vocabulary.mapping_to(after.vocabulary)
    known, n_topics = ids >= 0, after.n_components
    words = np.array([*after.vocabulary, *np.array(before.vocabulary[:], object)[~known]], object)
    tokens = np.zeros((2, len(words), n_topics))
    tokens[1, : after.n_words] = after.tokens
    tokens[0, ids[known]], tokens[0, after.n_words :] = before.tokens[known], before.tokens[~known]
    what, split, columns = _judged(before, after, tokens)
    rise = np.diff(tokens / np.maximum(tokens.sum(axis=1, keepdims=True), _TINY), axis=0)[0]
    rise[tokens.sum(axis=0) < _LEAST] = 0.0
    for name, change in (("came", rise), ("gone", -rise)):
        best = np.argsort(-change, axis=0, kind="stable")[:_SHOWN].T
        columns[name] = [
            [str(words[v]) for v in own if change[v, k] > 0 and {*what[k]} - {"grew", "shrank"}]
            for k, own in enumerate(best)
        ]
    new = np.setdiff1d(np.arange(after.n_words), ids)
    new = new[np.argsort(-after.tokens[new].sum(axis=1), kind="stable")]
    new_words = [(str(words[v]), float(after.tokens[v].sum()), int(after.tokens[v].argmax())) for v in new]
    note = (
        f"{sum(map(bool, what))} of {counted(n_topics, 'topic')} changed, {counted(before.n_docs, 'document')} against "
        f"{after.n_docs:,}; {(aligned == np.arange(n_topics)).sum()} are most like themselves"
    )
    first = {"topic": [*range(n_topics)], "label": after.labels, "what": what, "with": split}
    return Drift({**first, **columns}, new_words, aligned, note)


def _judged(before: Snapshot, after: Snapshot, tokens: np.ndarray) -> tuple[Any, Any, dict[str, Any]]:
    """What happened to each topic, with which topic it split, and the numbers that say so."""
    from scipy.special import ndtri

    topics, chance = range(after.n_components), _ALARM / after.n_components
    change, error = after.shares - before.shares, np.hypot(before.errors, after.errors)
    changed = np.abs(change) > -ndtri(chance / 2) * error
    absent, gone = (one.shares <= one.prior_shares for one in (before, after))
    stays = ~absent & ~gone
    moved, apart, noise = _words_apart(tokens, np.maximum(before.bursts, after.bursts), chance)
    split, other = _split(tokens)
    found = {
        "died": changed & gone & ~absent,
        "born": changed & absent & ~gone,
        "grew": changed & stays & (change > 0),
        "shrank": changed & stays & (change < 0),
        "moved": moved & stays,
        "split": split & stays,
    }
    what = [[name for name, of in found.items() if of[k]] for k in topics]
    numbers = {
        "share": after.shares, "change": change, "standard error": error,
        "distance": np.sqrt(np.maximum(apart, 0) / np.log(2)), "noise": np.sqrt(noise / np.log(2)),
    }  # fmt: skip
    with_topic = [int(other[k]) if found["split"][k] else None for k in topics]
    return what, with_topic, {name: values.tolist() for name, values in numbers.items()}


def _words_apart(tokens: np.ndarray, bursts: np.ndarray, chance: float) -> tuple[np.ndarray, ...]:
    """Whether the words of each topic moved; their Jensen-Shannon divergence in nats, and what noise adds to it.
    Tokens are (2, n_words, n_components)."""
    from scipy.special import chdtri, rel_entr

    sizes = np.maximum(tokens.sum(axis=1), _TINY)[:, None]
    frequent = tokens.sum(axis=0) >= _LEAST
    counts = np.where(frequent, tokens, 0.0)
    rest = np.maximum(sizes - counts.sum(axis=1, keepdims=True), 0.0)
    counts = np.concatenate([counts, rest], axis=1)
    g = 2 * rel_entr(counts, counts.sum(axis=0) * sizes / sizes.sum(axis=0)).sum(axis=(0, 1))
    apart = rel_entr(counts / sizes, (counts / sizes).mean(axis=0)).sum(axis=(0, 1)) / 2
    df = np.maximum(frequent.sum(axis=0), 1)
    noise = bursts * df * (1 / sizes).sum(axis=(0, 1)) / 8
    return (g > 2 * bursts * chdtri(df, chance)) & (apart - noise > _MOVED * np.log(2)), apart, noise


def _split(tokens: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Whether each topic split, and the topic that gained most of its earlier tokens."""
    owners = tokens / np.maximum(tokens.sum(axis=2, keepdims=True), _TINY)
    kept = tokens[0] * (tokens[1].sum(axis=1) > 0)[:, None]
    was, now = (kept.T @ one / np.maximum(kept.sum(axis=0), _TINY)[:, None] for one in owners)
    gain = (now - was) * (1 - np.eye(len(now)))
    return (gain.max(axis=1) >= _SPLIT) & (now.diagonal() >= _SPLIT), gain.argmax(axis=1)
