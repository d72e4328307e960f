"""Left-to-right: the probability of whole documents, with the topics of each document integrated out.

    log p(w | beta, alpha) = sum_i log p(w_i | w_1 .. w_{i-1}),
    p(w_i | w_<i) = E[ sum_k (n_k + alpha_k) / (sum alpha + i - 1) beta_k,w_i ],   n_k the labels k among z_<i

The expectation is over labels z_<i given w_<i, which Gibbs sweeps over the prefix draw:

    z_j ~ (n_k without j + alpha_k) beta_k,w_j,   j < i;   then z_i ~ (n_k + alpha_k) beta_k,w_i

* "sequential" (Buntine 2009, the default): one chain; the mean over `particles` sweeps at each position, after half as
  many that are not counted. Consistent: the error vanishes as `particles` grows.
* "wallach" (Wallach et al. 2009, algorithm 3): `particles` chains of one sweep a position; the mean over chains at each
  position. Below the truth on average over documents, and more particles do not cure it. For reproducing papers.
* "weighted": the same chains, but the mean over chains of the product over positions. An unbiased estimate of p(w), so
  its logarithm is low on average, by less the more particles there are.

Tokens are shuffled by (random_state, source row), as a bag of words has no order; the first `max_tokens` are scored.
Cost per document: tokens^2 / 2 x particles x topics; sequential half as much again.

References
----------
Wallach, Murray, Salakhutdinov, Mimno: Evaluation methods for topic models. ICML 2009.
Buntine: Estimating likelihoods for topic models. ACML 2009.
Dupuy, Bach: Online but accurate inference for latent variable models with local Gibbs sampling. JMLR 18 (2017).
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from bigtopic.errors import InputError, SettingError, argument
from bigtopic.evaluation.base import Measure, Setting
from bigtopic.evaluation.held_out import HeldOut, Scores, refuse_dual, result_of_scores, sums, unigram_log_of
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.source import TopicSource
from bigtopic.evaluation.subject import CorpusOrPath, Documents, Subject, documents_of, local_docs, topic_rows
from bigtopic.inference.known import unknown_words
from bigtopic.state.axes import mapping
from bigtopic.types import Block
from bigtopic.wording import counted

__all__ = ["MEASURE", "LeftToRight", "left_to_right"]


@dataclass(frozen=True, repr=False)
class LeftToRight(HeldOut):
    """The result of left-to-right, see `HeldOut` for the other attributes.

    Attributes
    ----------
    per_document : mean log probability of a document, in nats per document
    per_document_error : its standard error
    form, particles, max_tokens : as asked for
    n_cut : documents of more than `max_tokens` tokens, of which only so many are scored
    """

    form: str = "sequential"
    particles: int = 20
    max_tokens: int = 200
    n_cut: int = 0

    reported: ClassVar[tuple[str, ...]] = (
        *HeldOut.reported, "per_document_error", "form", "particles", "max_tokens", "n_cut",
    )  # fmt: skip

    @property
    def per_document_error(self) -> float:
        if self.n_docs < 2:
            return float("nan")
        return float(self.log_likelihood.std(ddof=1) / np.sqrt(self.n_docs))

    def _further(self) -> dict[str, str]:
        cut = f"the first {self.max_tokens:,} shuffled tokens of {counted(self.n_cut, 'longer document')}"
        return {
            "per document": f"{self.per_document:,.2f} ± {self.per_document_error:,.2f} nats",
            "form": f"{self.form}, {counted(self.particles, 'particle')}",
            "cut": cut if self.n_cut else "",
        }


def left_to_right(
    model: Any,
    corpus: CorpusOrPath,
    form: str = "sequential",
    particles: int = 20,
    max_tokens: int = 200,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
    train: CorpusOrPath | None = None,
) -> LeftToRight:
    """Estimate the probability of unseen documents, with the topics of each integrated out.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` and `doc_topic_prior` are passed; a learned prior is used as it is
    corpus : held-out documents, or the path of their corpus; words are matched by name
    form : "sequential", "wallach" or "weighted", see the module
    particles : sweeps that are averaged, or chains
    max_tokens : tokens of a document that are scored at most, chosen at random
    random_state : seed of the order of tokens and of the draws
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; None for all processors
    train : documents that give the unigram baseline its frequencies, see `log_predictive`

    Returns
    -------
    LeftToRight

    Raises
    ------
    SettingError
        When a setting has a value that is not allowed, or `model` is a dual topic model.
    VocabularyMismatch
        When the model knows too few of at least 300 tokens (it warns of fewer), see `LDA.transform`.
    InputError
        When the model knows no token, or counts are fractional.

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import from_matrix
    >>> round(left_to_right(np.ones((2, 4)), from_matrix(np.ones((5, 4)))).perplexity, 6)
    4.0
    """
    train = None if train is None else documents_of(train, "train")
    subject = Subject(model, documents_of(corpus), vocabulary, doc_topic_prior, train)
    settings = {"form": form, "particles": particles, "max_tokens": max_tokens, "random_state": random_state}
    return result_of(MEASURE, subject, settings, client, n_threads)


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> _Estimator:
    for name in ("particles", "max_tokens"):
        if settings[name] < 1:
            raise SettingError(f"{argument(name)}: must be at least 1, found {settings[name]!r}")
    refuse_dual(subject.model, "left-to-right")
    corpus, source = subject.corpus, subject.source
    id_map = mapping(corpus.vocabulary, source.vocabulary)
    unknown = unknown_words(source, corpus.vocabulary)
    return _Estimator(source, id_map, unknown, corpus.n_words, unigram_log_of(subject), **settings)


def _of_block(estimator: _Estimator, documents: Documents) -> list[tuple[Scores, int]]:
    return [estimator(documents.block)]


def _finish(estimator: _Estimator, pieces: list[tuple[Scores, int]]) -> LeftToRight:
    scores = Scores.joined(piece for piece, _ in pieces).in_source_order()
    return result_of_scores(
        LeftToRight,
        scores,
        estimator.source,
        "the model knows no word of these documents; pass documents that have some",
        per_document=float(scores.log_likelihood[scores.tokens > 0].mean()) if scores.tokens.any() else 0.0,
        form=estimator.form,
        particles=estimator.particles,
        max_tokens=estimator.max_tokens,
        n_cut=sum(n for _, n in pieces),
    )


@dataclass(frozen=True, eq=False)
class _Estimator:
    """The estimate of one block of documents: pure, and picklable for workers."""

    source: TopicSource
    id_map: np.ndarray | None
    unknown: np.ndarray
    n_words: int
    unigram_log: np.ndarray
    form: str
    particles: int
    max_tokens: int
    random_state: int

    def __call__(self, block: Block) -> tuple[Scores, int]:
        from bigtopic.evaluation import _kernels

        docs, ids = local_docs(block, self.n_words, self.id_map)
        if (docs.counts != np.floor(docs.counts)).any():
            raise InputError(
                "the corpus has fractional counts, which are not tokens; ask for 'log-predictive' with "
                f"{argument('split', 'type')}"
            )
        n_all = sums(docs.indptr, docs.counts).astype(np.int64)
        n_tokens = np.minimum(n_all, self.max_tokens)
        starts = np.concatenate([[0], np.cumsum(n_tokens)])
        tokens = np.empty(starts[-1], np.int32)
        seed = self.random_state * 1_000_003
        _kernels.shuffled_tokens(docs.indptr, docs.words, docs.counts, docs.rows, seed, starts, tokens)
        topics = topic_rows(self.source, ids)[:, : self.source.n_components].astype(np.float64)
        alpha = np.asarray(self.source.doc_topic_prior, np.float64)
        sequential = self.form == "sequential"
        n_chains, n_sweeps = (1, self.particles) if sequential else (self.particles, 1)
        by_position, by_chain = np.zeros(docs.n_docs), np.zeros(docs.n_docs)
        _kernels.left_to_right(
            starts, tokens, docs.rows, seed + 1, topics, alpha, n_chains, n_sweeps // 2, n_sweeps, by_position, by_chain
        )  # fmt: skip
        scores = Scores(
            docs.rows,
            by_chain if self.form == "weighted" else by_position,
            n_tokens.astype(np.float64),
            sums(starts, self.unigram_log[ids][tokens]),
            sums(block.indptr, block.counts),
            sums(block.indptr, block.counts * self.unknown[block.words]),
            np.full(docs.n_docs, np.nan),
        )
        return scores, int((n_all > self.max_tokens).sum())


MEASURE = Measure(
    name="left-to-right",
    prepare=_prepare,
    of_block=_of_block,
    combine=operator.iadd,
    finish=_finish,
    settings={
        "form": Setting("sequential", "How the draws are averaged.", ("sequential", "wallach", "weighted")),
        "particles": Setting(20, "Sweeps or chains of a document."),
        "max_tokens": Setting(200, "Tokens of a document that are scored at most."),
        "random_state": Setting(0, "Seed of the random splits.", formerly="seed"),
    },
    held_out=True,
    title="left-to-right",
    unit="nats per token",
    meaning="log probability of unseen documents with their topics integrated out, in nats per token; higher is better",
    paper="Wallach et al. 2009; Buntine 2009",
)
