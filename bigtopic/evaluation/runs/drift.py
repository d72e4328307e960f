"""Drift of a stream: which topics grew, shrank, moved, split, died or were born between two windows of documents.

A snapshot takes the expected tokens n_kv of word v in topic k of the window's documents, by the topics at its end:

    n_kv = sum_d n_dv theta_dk p(v | k) / sum_j theta_dj p(v | j)

Let n_k = sum_v n_kv, N = sum_k n_k, and m_kv be the expectation of n_kv if a topic had the same words in both windows.
With t_dk tokens of topic k among the N_d of document d, K topics, and 1 % for false alarms in all of a report's tests:

    share      s_k = n_k / N, error^2 = sum_d (t_dk - s_k N_d)^2 / N^2    grew, shrank: its change is beyond chance
    prior      sum_d N_d alpha_k / (sum_j alpha_j + N_d) / N             died, born: s_k fell to it, or rose from it
    words      G_k = 2 sum n_kv log(n_kv / m_kv) over both windows and all words with 5 tokens or more, the rest as one;
               chi-squared, times the bursts b_k = mean over words of sum_d n_dkv^2 / n_kv    moved: twice its quantile
    owners     tau_kj, the share of topic k's earlier tokens whose words are now topic j's    split: a fifth went to j

Twice the quantile, because the topics move a little even if the stream does not. Topics keep their numbers.

References: Rao and Scott (1981), "The analysis of categorical data from complex sample surveys", for b_k; Lin (1991),
"Divergence measures based on the Shannon entropy", for the distance, which is from 0 to 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import InputError, SettingError, argument
from bigtopic.evaluation.base import with_error
from bigtopic.evaluation.runs.alignment import align
from bigtopic.evaluation.runs.compare import ScoreTable
from bigtopic.evaluation.source import DenseTopics, labels_of
from bigtopic.evaluation.subject import CorpusOrPath, Documents, Subject, documents_of, over_blocks
from bigtopic.support.table import Table
from bigtopic.wording import counted

__all__ = ["Drift", "Snapshot", "drift", "snapshot"]

_ALARM = 0.01  # of any false report, in each of the tests of a window
_LEAST = 5.0  # tokens of a word that counts for itself
_SPLIT = 0.2
_SHOWN = 5  # words


@dataclass(frozen=True, eq=False)
class Snapshot(DenseTopics):
    """The topics at the end of a window, and the documents of the window in them.

    Attributes
    ----------
    topic_words, doc_topic_prior, vocabulary : see `topics_of`, which takes a snapshot as a model
    tokens : float32 (n_words, n_components), expected tokens of each word in each topic
    shares, errors : float64 (n_components,), of the tokens, and their standard errors over documents
    prior_shares : float64 (n_components,), of a topic that no document is about
    bursts : float64 (n_components,), b_k in the module's equations
    n_docs : documents of the window
    labels : what people call the topics
    """

    tokens: np.ndarray
    shares: np.ndarray
    errors: np.ndarray
    prior_shares: np.ndarray
    bursts: np.ndarray
    n_docs: int
    labels: list[str]

    def __repr__(self) -> str:
        return f"Snapshot({self.n_components} topics in {counted(self.n_docs, 'document')})"


class _Block(NamedTuple):
    ids: np.ndarray
    tokens: np.ndarray  # (n_ids, n_components)
    squares: np.ndarray  # the same, of the tokens of each document
    sums: np.ndarray  # (5, n_components): t, t^2, t N, N^2 and tokens of the prior, over documents


@dataclass(frozen=True)
class _Counting:
    inference: Any

    def __call__(self, block: Any) -> _Block:
        from scipy.sparse import csr_array

        documents = Documents(block, self.inference)
        docs, theta, n = documents.docs, documents.doc_topics.astype(np.float64), documents.tokens[:, None]
        of = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
        tokens = theta[of] * self.inference.source.gather(documents.ids)[docs.words]
        tokens *= (docs.counts / tokens.sum(axis=1))[:, None]
        entries = np.arange(len(of) + 1), np.ones(len(of))
        by_word, by_document = (
            csr_array((entries[1], at, entries[0]), shape=(len(of), size)).T
            for at, size in ((docs.words, len(documents.ids)), (of, docs.n_docs))
        )
        t, prior = by_document @ tokens, self.inference.source.doc_topic_prior
        sums = [t, t**2, t * n, np.broadcast_to(n**2, t.shape), n * prior / (prior.sum() + n)]
        return _Block(
            documents.ids, by_word @ tokens, by_word @ tokens**2, np.array([x.sum(axis=0) for x in sums])
        )


def snapshot(
    model: Any,
    corpus: CorpusOrPath,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
) -> Snapshot:
    """The topics of a model now, with the documents of a window: what `drift` compares.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` is passed
    corpus : the documents of the window, or the path of their corpus
    client, n_threads : see `measure`

    Raises
    ------
    InputError
        When the model knows no word of the documents.
    """
    subject = Subject(model, documents_of(corpus), vocabulary)
    source, known = subject.source, subject.inference
    tokens, squares = np.zeros((2, source.n_words, source.n_components))
    sums = np.zeros((5, source.n_components))
    for ids, own, own_squares, own_sums in over_blocks(
        _Counting(known), subject.corpus, "drift", client, n_threads
    ):
        tokens[ids] += own
        squares[ids] += own_squares
        sums += own_sums
    if not (n := sums[0].sum()):
        raise InputError(
            f"{argument('corpus')}: the model knows no word of these documents; pass documents that have some"
        )
    shares = sums[0] / n
    errors = np.sqrt(np.maximum(sums[1] - 2 * shares * sums[2] + shares**2 * sums[3], 0)) / n
    some = tokens >= _LEAST
    bursts = np.divide(squares, tokens, out=np.zeros_like(tokens), where=some).sum(axis=0)
    bursts = np.maximum(bursts / np.maximum(some.sum(axis=0), 1), 1.0)
    topics = source.gather(np.arange(source.n_words, dtype=np.int32))
    prior = np.asarray(source.doc_topic_prior)
    found = tokens.astype(np.float32), shares, errors, sums[4] / n, bursts
    return Snapshot(topics, prior, source.vocabulary, *found, subject.corpus.n_docs, labels_of(source))


class Drift(ScoreTable):
    """What changed between two windows, one topic per row; text and notebooks show the topics that changed.

    Attributes
    ----------
    events : [(what, topic)], such as ("grew", 3), ("moved", 5), ("split", 7), ("died", 2) or ("born", 9)
    new_words : [(word, tokens, topic)], words that the first window's model lacks, most frequent first
    aligned : int64 (n_components,), the topic of the second window whose words are most like each topic's of the first
    columns : {name: values}: "topic", "label", "what" (of `events`), "share", "change" of the share, "standard error"
        of the change, "distance" (Jensen-Shannon) of the words and "noise" (its value if nothing changed), "came" and
        "gone" (words), "into" (the topic with which a topic split)
    """

    def __init__(
        self, columns: dict[str, Any], new_words: list[Any], aligned: np.ndarray, sizes: Any
    ) -> None:
        super().__init__(columns)
        self.new_words, self.aligned, self._sizes = new_words, aligned, sizes
        self.events = [(what, k) for k, own in enumerate(self["what"]) for what in own]

    def _shown(self) -> Table:
        rows = [k for k, what in enumerate(self["what"]) if what]
        own = {name: [values[k] for k in rows] for name, values in self.columns.items()}
        into = [f" with {k}" * (k is not None) for k in own["into"]]
        return Table(
            {
                "topic": [
                    f"{k} {label}".rstrip() for k, label in zip(own["topic"], own["label"], strict=True)
                ],
                "what": [", ".join(what) + more for what, more in zip(own["what"], into, strict=True)],
                "share": own["share"],
                "change": list(map(partial(with_error, sign="+"), own["change"], own["standard error"])),
                **{name: own[name] for name in ("distance", "came", "gone")},
            }
        )

    def _notes(self) -> list[str]:
        n, kept = len(self), int((self.aligned == np.arange(len(self))).sum())
        new = ", ".join(f"{word} ({k})" for word, _, k in self.new_words[:_SHOWN])
        before, after = (counted(size, "document") for size in self._sizes)
        changed = sum(map(bool, self["what"]))
        return [
            f"{changed} of {counted(n, 'topic')} changed, {before} against {after}; {kept} are most like themselves",
            *([f"new words, with their topics: {new}"] if new else []),
        ]


def drift(before: Snapshot, after: Snapshot) -> Drift:
    """What changed between two windows of a stream, from snapshots of the same model at the end of each.

    Raises
    ------
    SettingError
        When one of them is not a `Snapshot`, or they have different numbers of topics.
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
        if not isinstance(one, Snapshot):
            raise SettingError(
                f"{argument(name)}: {type(one).__name__} is not a snapshot; model.snapshot(documents) gives one"
            )
    if before.n_components != after.n_components:
        raise SettingError(
            f"{argument('after')}: it has {counted(after.n_components, 'topic')}, but {argument('before')} has "
            f"{before.n_components}; take both of one model"
        )
    aligned, ids = align(before, after).topics, before.vocabulary.mapping_to(after.vocabulary)
    words = np.concatenate(
        [np.array(after.vocabulary[:], object), np.array(before.vocabulary[:], object)[ids < 0]]
    )
    tokens = np.zeros((2, len(words), after.n_components))
    tokens[1, : after.n_words] = after.tokens
    tokens[0, ids[ids >= 0]], tokens[0, after.n_words :] = before.tokens[ids >= 0], before.tokens[ids < 0]
    what, into, columns = _judged(before, after, tokens)
    p = tokens / np.maximum(tokens.sum(axis=1, keepdims=True), 1e-300)
    p = np.where(tokens.sum(axis=0) >= _LEAST, p, 0.0)
    told = [bool({"moved", "split", "born", "died"} & {*own}) for own in what]
    for name, rise in (("came", p[1] - p[0]), ("gone", p[0] - p[1])):
        best = np.argsort(-rise, axis=0, kind="stable")[:_SHOWN]
        columns[name] = [[words[v] for v in best[:, k] if rise[v, k] > 0] * told[k] for k in range(len(what))]
    new = np.setdiff1d(np.arange(after.n_words), ids)
    sizes = after.tokens[new].sum(axis=1)
    new = new[np.argsort(-sizes, kind="stable")]
    new_words = [(words[v], float(after.tokens[v].sum()), int(after.tokens[v].argmax())) for v in new]
    first = {"topic": [*range(len(what))], "label": after.labels, "what": what}
    return Drift({**first, **columns, "into": into}, new_words, aligned, (before.n_docs, after.n_docs))


def _judged(before: Snapshot, after: Snapshot, tokens: np.ndarray) -> tuple[Any, Any, dict[str, Any]]:
    """What happened to each topic, with which topic it split, and the numbers that say so."""
    from scipy.special import chdtri, ndtri, xlogy

    n_topics, n = after.n_components, tokens.sum(axis=1)
    change, error = after.shares - before.shares, np.hypot(before.errors, after.errors)
    beyond = np.abs(change) > -ndtri(_ALARM / 2 / n_topics) * error
    dead = [one.shares <= one.prior_shares for one in (before, after)]
    cells = tokens.sum(axis=0) >= _LEAST
    own = np.where(cells, tokens, 0.0)
    own = np.concatenate([own, (n - own.sum(axis=1))[:, None]], axis=1)
    size = np.maximum(n, 1e-300)[:, None]
    mean = own.sum(axis=0) * size / size.sum(axis=0)
    surprise = 2 * xlogy(own, np.divide(own, mean, out=np.ones_like(own), where=mean > 0)).sum(axis=(0, 1))
    middle = (own / size).mean(axis=0)
    apart = own / size
    apart = (
        xlogy(apart, np.divide(apart, middle, out=np.ones_like(own), where=middle > 0)).sum(axis=(0, 1)) / 2
    )
    df, bursts = np.maximum(cells.sum(axis=0), 1), np.maximum(before.bursts, after.bursts)
    moved = surprise > 2 * bursts * chdtri(df, _ALARM / n_topics)
    noise = bursts * df * (1 / size).sum(axis=(0, 1)) / 8
    owners = tokens / np.maximum(tokens.sum(axis=2, keepdims=True), 1e-300)
    kept = tokens[0] * (tokens[1].sum(axis=1) > 0)[:, None]
    was, now = (kept.T @ one / np.maximum(kept.sum(axis=0), 1e-300)[:, None] for one in owners)
    gain = now - was
    np.fill_diagonal(gain, 0.0)
    to = gain.argmax(axis=1)
    split = (gain.max(axis=1) >= _SPLIT) & (now.diagonal() >= _SPLIT) & ~dead[0] & ~dead[1]
    what = []
    for k in range(n_topics):
        died, born = dead[1][k] and not dead[0][k], dead[0][k] and not dead[1][k]
        size_of = (
            ("died" if died else "born" if born else "grew" if change[k] > 0 else "shrank")
            if beyond[k]
            else ""
        )
        if dead[0][k] and dead[1][k]:
            what.append([])
            continue
        changed = moved[k] and not (dead[0][k] or dead[1][k])
        what.append(
            [one for one, true in ((size_of, size_of), ("moved", changed), ("split", split[k])) if true]
        )
    columns = {
        "share": after.shares.tolist(), "change": change.tolist(), "standard error": error.tolist(),
        "distance": np.sqrt(np.maximum(apart, 0) / np.log(2)).tolist(),
        "noise": np.sqrt(noise / np.log(2)).tolist(),
    }  # fmt: skip
    return what, [int(to[k]) if split[k] else None for k in range(n_topics)], columns
