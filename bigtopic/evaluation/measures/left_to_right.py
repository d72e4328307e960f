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

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation.base import Measure, Setting
from bigtopic.evaluation.held_out import (
    HeldOut,
    Scores,
    Scoring,
    check_tokens,
    kernel_seed,
    refuse_dual,
    result_of_scores,
    scores_of_block,
    scoring_of,
    settings_of,
    sums,
)
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    Subject,
    documents_of,
    in_source_order,
    slices_of,
    topic_rows,
)
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
    client, n_threads : see `measure`
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
        When the model knows no token, or counts are fractional or beyond 2^24.

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
    return _Estimator(**scoring_of(subject), **settings)


def _finish(estimator: _Estimator, pieces: list[tuple[np.ndarray, ...]]) -> LeftToRight:
    *arrays, cut = in_source_order(pieces)
    scores = Scores(*arrays)
    return result_of_scores(
        LeftToRight,
        scores,
        estimator.source,
        "the model knows no word of these documents; pass documents that have some",
        per_document=float(scores.log_likelihood[scores.tokens > 0].mean()) if scores.tokens.any() else 0.0,
        form=estimator.form,
        particles=estimator.particles,
        max_tokens=estimator.max_tokens,
        n_cut=int(cut.sum()),
        divided_by=settings_of(estimator, "max_tokens", "random_state"),
    )


@dataclass(frozen=True, eq=False)
class _Estimator(Scoring):
    """The `Scores` of one block of documents, and which of them are cut: pure, and picklable for workers."""

    form: str
    particles: int
    max_tokens: int
    random_state: int

    def __call__(self, block: Block) -> tuple[np.ndarray, ...]:
        slices = [self._slice(own) for own in slices_of(block, self.source.n_components)]
        return tuple(np.concatenate(arrays) for arrays in zip(*slices, strict=True))

    def _slice(self, block: Block) -> tuple[np.ndarray, ...]:
        from bigtopic.evaluation import _kernels

        docs, ids = self.known(block)
        check_tokens(docs.counts, f"ask for 'log-predictive' with {argument('split', 'type')}")
        n_all = sums(docs.indptr, docs.counts).astype(np.int64)
        n_tokens = np.minimum(n_all, self.max_tokens)
        starts = np.concatenate([[0], np.cumsum(n_tokens)])
        tokens = np.empty(starts[-1], np.int32)
        order, draws = (kernel_seed(self.random_state * 1_000_003 + i) for i in (0, 1))
        _kernels.shuffled_tokens(docs.indptr, docs.words, docs.counts, docs.rows, order, starts, tokens)
        topics = topic_rows(self.source, ids)[:, : self.source.n_components].astype(np.float64)
        alpha = np.asarray(self.source.doc_topic_prior, np.float64)
        sequential = self.form == "sequential"
        n_chains, n_sweeps = (1, self.particles) if sequential else (self.particles, 1)
        by_position, by_chain = np.zeros(docs.n_docs), np.zeros(docs.n_docs)
        _kernels.left_to_right(
            starts, tokens, docs.rows, draws, topics, alpha, n_chains, n_sweeps // 2, n_sweeps, by_position, by_chain
        )  # fmt: skip
        scores = Scores(
            docs.rows,
            by_chain if self.form == "weighted" else by_position,
            n_tokens.astype(np.float64),
            sums(starts, self.unigram_log[ids][tokens]),
            *self.tokens_of(block),
            np.full(docs.n_docs, np.nan),
        )
        return (*scores, n_all > self.max_tokens)


MEASURE = Measure(
    name="left-to-right",
    prepare=_prepare,
    of_block=scores_of_block,
    combine=operator.iadd,
    finish=_finish,
    settings={
        "form": Setting("sequential", "How the draws are averaged.", ("sequential", "wallach", "weighted")),
        "particles": Setting(20, "Sweeps or chains of a document."),
        "max_tokens": Setting(200, "Tokens of a document that are scored at most."),
        "random_state": Setting(0, "Seed of the order of tokens and of the draws.", formerly="seed"),
    },
    held_out=True,
    title="left-to-right",
    unit="nats per token",
    meaning="log probability of unseen documents with their topics integrated out, in nats per token; higher is better",
    paper="Wallach et al. 2009; Buntine 2009",
)
