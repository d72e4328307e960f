"""Document completion: how well a model predicts one part of a document from the other.

    theta_d = fold-in of the observed tokens;   log p_d = sum over held-out tokens w of log sum_k theta_dk p(w | k)
    value = sum_d log p_d / number of held-out tokens                                    nats per token

The fold-in is the same for every model: mean-field variational Bayes with the topics fixed at their posterior mean, 50
iterations from gamma = 1, so scores compare topics, not inference. It is deterministic. (random_state, repeat, source
row) determines which tokens are observed: neither chunks nor workers change it.

Never compare a value of the token split with one of the type split: when types are divided, a held-out word is never
observed in its document.

References
----------
Than, Doan: Dual online inference for latent Dirichlet allocation. ACML 2014, and its successors, appendix A.
Hoffman, Blei, Wang, Paisley: Stochastic variational inference. JMLR 14 (2013), section 4.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError, argument, either
from bigtopic.evaluation.base import Measure, Result, Setting
from bigtopic.evaluation.measuring import result_of
from bigtopic.evaluation.source import TopicSource
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    Documents,
    Subject,
    documents_of,
    fold_in,
    local_docs,
    topic_rows,
    with_counts,
)
from bigtopic.inference.known import check_known, unknown_words
from bigtopic.state.axes import mapping
from bigtopic.support.deprecations import renamed
from bigtopic.types import Block, Docs
from bigtopic.wording import counted

__all__ = ["MEASURE", "Completion", "LogPredictive", "Scores", "log_predictive", "ratio_of_sums", "unigram"]


@dataclass(frozen=True)
class LogPredictive(Result):
    """Held-out log probability, in nats per token.

    Attributes
    ----------
    value : pooled over all held-out tokens
    standard_error : of `value`, over documents (delta method for a ratio)
    per_document : mean over documents of each document's own nats per token
    n_tokens : held-out tokens, over all repeats
    n_docs : documents with held-out tokens; shorter ones are left out
    unigram : `value` of the unigram baseline, or None if the training frequencies are unknown
    unknown_share : share of the corpus' tokens of words that the model does not know and its training texts were not
        left without; both are left out of the score
    rows, log_likelihood, tokens : int64, float64, float64 (n_docs,): source row, summed log probability and held-out
        tokens of each document, in source order
    """

    value: float
    standard_error: float
    per_document: float
    n_tokens: float
    n_docs: int
    unigram: float | None
    unknown_share: float
    rows: np.ndarray = field(repr=False)
    log_likelihood: np.ndarray = field(repr=False)
    tokens: np.ndarray = field(repr=False)

    reported: ClassVar[tuple[str, ...]] = (
        "value", "standard_error", "per_document", "perplexity", "n_tokens", "n_docs", "unigram", "unknown_share",
    )  # fmt: skip

    @property
    def baselines(self) -> Mapping[str, float]:
        return {} if self.unigram is None else {"unigram model": self.unigram}

    def text(self) -> str:
        return f"{self.value:.4f} ± {self.standard_error:.4f}"

    def details(self) -> dict[str, str]:
        return {
            "perplexity": f"{self.perplexity:,.1f}",
            "unigram model": "" if self.unigram is None else f"{self.unigram:.4f} nats per token",
            "scored": f"{counted(self.n_tokens, 'token')} of {counted(self.n_docs, 'document')}",
            "unknown words": f"{self.unknown_share:.1%} of the tokens" if self.unknown_share else "",
        }

    @property
    def perplexity(self) -> float:
        """exp(-value)."""
        return float(np.exp(-self.value))

    def minus(self, other: LogPredictive) -> tuple[float, float]:
        """Difference of the values and its standard error, paired by document.

        Raises
        ------
        SettingError
            When the two were measured on different documents or splits.
        """
        if not np.array_equal(self.rows, other.rows) or not np.array_equal(self.tokens, other.tokens):
            raise SettingError("other: was measured on other documents, or on other held-out tokens of them")
        return ratio_of_sums(self.log_likelihood - other.log_likelihood, self.tokens)

    def __repr__(self) -> str:
        base = "" if self.unigram is None else f", unigram {self.unigram:.4f}"
        return (
            f"LogPredictive({self.value:.4f} ± {self.standard_error:.4f} nats per token, perplexity "
            f"{self.perplexity:.1f}{base}; {counted(self.n_tokens, 'held-out token')} of "
            f"{counted(self.n_docs, 'document')})"
        )


@renamed(seed="random_state")
def log_predictive(
    model: Any,
    corpus: CorpusOrPath,
    split: str = "token",
    ratio: float = 0.5,
    repeats: int = 1,
    random_state: int = 0,
    client: Any = None,
    n_threads: int | None = None,
    *,
    vocabulary: Any = None,
    doc_topic_prior: Any = None,
    train: CorpusOrPath | None = None,
) -> LogPredictive:
    """Score a model by document completion on unseen documents.

    Parameters
    ----------
    model : see `topics_of`, to which `vocabulary` and `doc_topic_prior` are passed
    corpus : held-out documents, or the path of their corpus; words are matched by name
    split : "token" divides a document's tokens, "type" its distinct words
    ratio : observed share of a document, between 0 and 1
    repeats : number of random splits of each document, pooled
    random_state : seed of the splits
    client : a Dask client or its address; None for the current one, if there is one; False for threads
    n_threads : threads in this process; None for all processors
    train : documents that give the unigram baseline its frequencies, or the path of their corpus; None for those the
        model learned from, if it counted them, or for `vocabulary` if that is a corpus

    Returns
    -------
    LogPredictive

    Raises
    ------
    SettingError
        When a setting has a value that is not allowed.
    VocabularyMismatch
        When the model knows too few of at least 300 tokens (it warns of fewer), see `LDA.transform`.
    InputError
        When no document is long enough to divide, or counts are fractional and `split` is "token".

    Examples
    --------
    >>> import numpy as np
    >>> from bigtopic import from_matrix
    >>> log_predictive(np.ones((2, 4)), from_matrix(np.ones((5, 4)))).perplexity
    4.0
    """
    train = None if train is None else documents_of(train, "train")
    subject = Subject(model, documents_of(corpus), vocabulary, doc_topic_prior, train)
    settings = {"split": split, "ratio": ratio, "repeats": repeats, "random_state": random_state}
    return result_of(MEASURE, subject, settings, client, n_threads)


def _prepare(subject: Subject, settings: Mapping[str, Any]) -> Completion:
    ratio, repeats = settings["ratio"], settings["repeats"]
    if not 0 < ratio < 1:
        raise SettingError(f"{argument('ratio')}: must be between 0 and 1, found {ratio!r}")
    if repeats < 1:
        raise SettingError(f"{argument('repeats')}: must be at least 1, found {repeats!r}")
    corpus, source, train = subject.corpus, subject.source, subject.train
    if train is None and isinstance(subject.vocabulary, Corpus):
        train = subject.vocabulary
    # Never from the held-out corpus: a baseline must not see the documents that it predicts.
    known = source.vocabulary if train is None else train.recounted().vocabulary
    baseline = unigram(known, source.vocabulary)
    return Completion(
        source,
        mapping(corpus.vocabulary, source.vocabulary),
        unknown_words(source, corpus.vocabulary),
        corpus.n_words,
        None if baseline is None else np.log(baseline),
        **settings,
    )


def _of_block(completion: Completion, documents: Documents) -> list[Scores]:
    return [completion(documents.block)]


def _finish(completion: Completion, pieces: list[Scores]) -> LogPredictive:
    arrays = [np.concatenate(own) for own in zip(*pieces, strict=True)]
    scores = Scores(*(array[np.argsort(arrays[0])] for array in arrays))  # in source order
    n_unknown, n_all = float(scores.unknown_tokens.sum()), float(scores.all_tokens.sum())
    check_known(completion.source, n_unknown, n_all)
    scored = scores.tokens > 0
    if not scored.any():
        raise InputError(
            f"{argument('corpus')}: no document has two tokens that the model knows, to divide into observed and "
            "held-out ones"
        )
    total, tokens = scores.log_likelihood[scored], scores.tokens[scored]
    value, error = ratio_of_sums(total, tokens)
    with_unigram = completion.unigram_log is not None
    return LogPredictive(
        value=value,
        standard_error=error,
        per_document=float(np.mean(total / tokens)),
        n_tokens=float(tokens.sum()),
        n_docs=int(scored.sum()),
        unigram=ratio_of_sums(scores.unigram[scored], tokens)[0] if with_unigram else None,
        unknown_share=n_unknown / n_all,
        rows=scores.rows[scored],
        log_likelihood=total,
        tokens=tokens,
    )


def ratio_of_sums(total: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """sum(total) / sum(tokens) and its standard error over documents (delta method); nan for one document."""
    value = total.sum() / tokens.sum()
    n_docs = len(tokens)
    if n_docs < 2:
        return float(value), float("nan")
    residual = total - value * tokens
    return float(value), float(np.sqrt(n_docs / (n_docs - 1) * (residual**2).sum()) / tokens.sum())


MEASURE = Measure(
    name="log-predictive",
    prepare=_prepare,
    of_block=_of_block,
    combine=operator.iadd,
    finish=_finish,
    settings={
        "split": Setting("token", "Divide a document's tokens, or its distinct words.", ("token", "type")),
        "ratio": Setting(0.5, "Observed share of a document."),
        "repeats": Setting(1, "Random splits of each document."),
        "random_state": Setting(0, "Seed of the random splits.", formerly="seed"),
    },
    held_out=True,
    default=True,
    title="held-out score",
    unit="nats per token",
    meaning="log probability of the held-out part of unseen documents, in nats per token; higher is better",
    paper="Hoffman et al. 2013, section 4",
)


_SLICE_ENTRIES = 1 << 16


class Scores(NamedTuple):
    """Per document, (n_docs,): source row, log probability, held-out tokens, log probability of the unigram baseline,
    all tokens, and those that the model does not know."""

    rows: np.ndarray
    log_likelihood: np.ndarray
    tokens: np.ndarray
    unigram: np.ndarray
    all_tokens: np.ndarray
    unknown_tokens: np.ndarray


@dataclass(frozen=True, eq=False)
class Completion:
    """The completion of one block of documents: pure, and picklable for workers.

    unknown : bool (n_words,), the words of the corpus that the model does not know, see `inference.known`
    """

    source: TopicSource
    id_map: np.ndarray | None
    unknown: np.ndarray
    n_words: int
    unigram_log: np.ndarray | None
    split: str
    ratio: float
    repeats: int
    random_state: int

    def __call__(self, block: Block) -> Scores:
        step = max(1, _SLICE_ENTRIES * block.n_docs // max(1, len(block.words)))
        pieces = [self._slice(block[start : start + step]) for start in range(0, block.n_docs, step)]
        return Scores(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))

    def _slice(self, block: Block) -> Scores:
        from bigtopic.evaluation import _kernels

        docs, ids = local_docs(block, self.n_words, self.id_map)
        topic_words = topic_rows(self.source, ids)
        base = np.zeros((docs.n_words, 1)) if self.unigram_log is None else self.unigram_log[ids, None]
        total, held, unigram_total = (np.zeros(docs.n_docs) for _ in range(3))
        for repeat in range(self.repeats):
            observed = self._observed(docs, repeat)
            held_out = docs.counts - observed
            held_out[np.repeat(_sums(docs.indptr, observed) == 0, np.diff(docs.indptr))] = 0
            theta = fold_in(with_counts(docs, observed), topic_words, self.source)
            _kernels.held_out_log(docs.indptr, docs.words, held_out, theta, topic_words, total)
            unigram_total += _sums(docs.indptr, held_out * base[docs.words, 0])
            held += _sums(docs.indptr, held_out)
        everything = _sums(block.indptr, block.counts)
        unknown = _sums(block.indptr, block.counts * self.unknown[block.words])
        return Scores(docs.rows, total, held, unigram_total, everything, unknown)

    def _observed(self, docs: Docs, repeat: int) -> np.ndarray:
        """Observed count of each entry, float32 (nnz,)."""
        from bigtopic.evaluation import _kernels

        if self.split == "token" and (docs.counts != np.floor(docs.counts)).any():
            raise InputError(
                "the corpus has fractional counts, which are not tokens; "
                f"{either('use bigtopic.evaluate.log_predictive with', 'pass')} {argument('split', 'type')}"
            )
        divide = _kernels.observed_tokens if self.split == "token" else _kernels.observed_types
        observed = np.empty(len(docs.counts), np.float32)
        seed = self.random_state * 1_000_003 + repeat
        divide(docs.indptr, docs.counts, docs.rows, seed, self.ratio, observed)
        return observed


def _sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of the entries of each document, float64 (n_docs,); independent of the other documents."""
    lengths = np.diff(indptr)
    sums = np.zeros(len(lengths))
    if len(values):
        sums[lengths > 0] = np.add.reduceat(values.astype(np.float64), indptr[:-1][lengths > 0])
    return sums


_SMOOTHING = 0.5


def unigram(counted: Vocabulary, words: Vocabulary | None = None) -> np.ndarray | None:
    """Probability of each word of `words`, float64 (n_words,); None when `counted` has no frequencies.

    Frequencies plus half a token for every word, normalised.

    Parameters
    ----------
    counted : a vocabulary with frequencies, such as a training corpus'
    words : the vocabulary wanted; None for `counted` itself
    """
    frequency = counted.frequency
    if frequency is None:
        return None
    if words is not None:
        ids = words.mapping_to(counted)
        frequency = np.where(ids >= 0, frequency[ids], 0)
    smoothed = frequency + _SMOOTHING
    return smoothed / smoothed.sum()
