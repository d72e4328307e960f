"""What held-out likelihoods have in common: a log probability of each document, their ratio to tokens, and its error.

    value = sum_d l_d / sum_d n_d,        standard error = sqrt(D / (D - 1) sum_d (l_d - value n_d)^2) / sum_d n_d

for D documents with log probability l_d of n_d tokens: the delta method for a ratio. Documents are independent draws,
tokens of a document are not. Pieces are keyed by source row and added in source order, so chunks and workers change
nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError, argument, either
from bigtopic.evaluation.base import Result
from bigtopic.evaluation.subject import Documents, Inference, Subject, learned_model
from bigtopic.inference.known import check_known, unknown_words
from bigtopic.models.dual import DUAL
from bigtopic.types import Block
from bigtopic.wording import counted

__all__ = [
    "HeldOut",
    "Scores",
    "Scoring",
    "check_tokens",
    "is_paired",
    "kernel_seed",
    "mean_and_error",
    "paired_difference",
    "ratio_of_sums",
    "refuse_dual",
    "result_of_scores",
    "scores_of_block",
    "scoring_of",
    "settings_of",
    "sums",
    "unigram",
]


@dataclass(frozen=True)
class HeldOut(Result):
    """A held-out log probability, in nats per token.

    Attributes
    ----------
    value : pooled over all scored tokens
    standard_error : of `value`, over documents (delta method for a ratio)
    per_document : mean over documents of each document's own figure: nats per token, unless the measure says otherwise
    n_tokens : scored tokens, over all repeats
    n_docs : documents with scored tokens
    unigram : `value` of the unigram baseline, or None if the training frequencies are unknown
    unknown_share : share of the corpus' tokens that the model does not know, other than words that were left out of its
        training texts, such as stop words; neither is scored
    rows, log_likelihood, tokens : int64, float64, float64 (n_docs,): source row, summed log probability and scored
        tokens of each document, in source order
    divided_by : the settings that determine which tokens are scored
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
    divided_by: str = field(default="", repr=False)

    reported: ClassVar[tuple[str, ...]] = (
        "value", "standard_error", "per_document", "perplexity", "n_tokens", "n_docs", "unigram", "unknown_share",
    )  # fmt: skip

    @property
    def baselines(self) -> Mapping[str, float]:
        return {} if self.unigram is None else {"unigram model": self.unigram}

    def _further(self) -> dict[str, str]:
        """The lines that the measure has besides the common ones."""
        return {}

    def details(self) -> dict[str, str]:
        return {
            **self._further(),
            "perplexity": f"{self.perplexity:,.1f}",
            "unigram model": "" if self.unigram is None else f"{self.unigram:.4f} nats per token",
            "scored": f"{counted(self.n_tokens, 'token')} of {counted(self.n_docs, 'document')}",
            "unknown words": f"{self.unknown_share:.1%} of the tokens" if self.unknown_share else "",
        }

    @property
    def perplexity(self) -> float:
        """exp(-value)."""
        return float(np.exp(-self.value))

    def minus(self, other: HeldOut) -> tuple[float, float]:
        """Difference of the values and its standard error, paired by document.

        Give both the same `random_state`: the same numbers of other tokens are not noticed, and make the error larger.

        Raises
        ------
        SettingError
            When the two are of different measures or documents, or of another number of tokens of a document.
        """
        if type(self) is not type(other):
            raise SettingError(
                f"other: {type(other).__name__} is the result of another measure; give a {type(self).__name__}"
            )
        if self.divided_by != other.divided_by:
            raise SettingError(
                f"other: was scored with {other.divided_by}, not with {self.divided_by}; score both with the same"
            )
        return paired_difference(self, other)

    def __repr__(self) -> str:
        base = "" if self.unigram is None else f", unigram {self.unigram:.4f}"
        further = "".join(f"; {label} {text}" for label, text in self._further().items() if text)
        return (
            f"{type(self).__name__}({self.text()} nats per token, perplexity "
            f"{self.perplexity:.1f}{base}; {counted(self.n_tokens, 'held-out token')} of "
            f"{counted(self.n_docs, 'document')}{further})"
        )


class Scores(NamedTuple):
    """Per document, (n_docs,): source row, log probability, scored tokens, log probability of the unigram baseline
    (nan without one), all tokens, those that the model does not know, and the log probability by the method's own
    inference (nan where it is not asked for)."""

    rows: np.ndarray
    log_likelihood: np.ndarray
    tokens: np.ndarray
    unigram: np.ndarray
    all_tokens: np.ndarray
    unknown_tokens: np.ndarray
    own: np.ndarray

    @classmethod
    def joined(cls, pieces: Iterable[Scores]) -> Scores:
        """The scores of several pieces, one after the other."""
        return cls(*(np.concatenate(arrays) for arrays in zip(*pieces, strict=True)))


def scores_of_block(
    ask: Callable[[Block], Sequence[np.ndarray]], documents: Documents
) -> list[Sequence[np.ndarray]]:
    """What `ask`, the state of a measure, finds in a block: a list, so that pieces add up."""
    return [ask(documents.block)]


_Kind = TypeVar("_Kind", bound=HeldOut)


def result_of_scores(kind: type[_Kind], scores: Scores, source: Any, nothing: str, **more: Any) -> _Kind:
    """The result of scores in source order.

    Parameters
    ----------
    kind : `HeldOut` or a class derived from it
    source : the topics
    nothing : what to do when no document has scored tokens, for the error
    more : fields of the derived class, or replacements

    Raises
    ------
    InputError
        When no document has scored tokens.
    VocabularyMismatch
        See `inference.known`.
    """
    n_unknown, n_all = float(scores.unknown_tokens.sum()), float(scores.all_tokens.sum())
    check_known(source, n_unknown, n_all)
    scored = scores.tokens > 0
    if not scored.any():
        raise InputError(f"{argument('corpus')}: {nothing}")
    total, tokens, base = scores.log_likelihood[scored], scores.tokens[scored], scores.unigram[scored]
    value, error = ratio_of_sums(total, tokens)
    fields: dict[str, Any] = {
        "value": value,
        "standard_error": error,
        "per_document": float(np.mean(total / tokens)),
        "n_tokens": float(tokens.sum()),
        "n_docs": int(scored.sum()),
        "unigram": None if np.isnan(base).any() else ratio_of_sums(base, tokens)[0],
        "unknown_share": n_unknown / n_all,
        "rows": scores.rows[scored],
        "log_likelihood": total,
        "tokens": tokens,
    }
    return kind(**{**fields, **more})


def ratio_of_sums(total: np.ndarray, tokens: np.ndarray) -> tuple[float, float]:
    """sum(total) / sum(tokens) and its standard error over documents (delta method); nan for one document."""
    value = total.sum() / tokens.sum()
    n_docs = len(tokens)
    if n_docs < 2:
        return float(value), float("nan")
    residual = total - value * tokens
    return float(value), float(np.sqrt(n_docs / (n_docs - 1) * (residual**2).sum()) / tokens.sum())


def mean_and_error(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error, which is nan for one value."""
    return ratio_of_sums(values, np.ones(len(values)))


def is_paired(one: Any, other: Any) -> bool:
    """Whether two scores are of the same documents and the same number of tokens of each."""
    return np.array_equal(one.rows, other.rows) and np.array_equal(one.tokens, other.tokens)


def paired_difference(one: Any, other: Any) -> tuple[float, float]:
    """Difference of two scores of documents and its standard error, paired by document.

    Raises
    ------
    SettingError
        When they are of different documents or tokens.
    """
    if not is_paired(one, other):
        raise SettingError("other: was measured on other documents, or on other held-out tokens of them")
    return ratio_of_sums(one.log_likelihood - other.log_likelihood, one.tokens)


_LARGEST_COUNT = 1 << 24  # beyond, float32 does not hold each whole number


def check_tokens(counts: np.ndarray, remedy: str) -> None:
    """Refuse counts that are not tokens, which can be divided one by one.

    Raises
    ------
    InputError
        When counts are fractional, or more than 16 777 216; `remedy` ends the message.
    """
    if (counts != np.floor(counts)).any():
        raise InputError(f"the corpus has fractional counts, which are not tokens; {remedy}")
    if counts.max(initial=0) > _LARGEST_COUNT:
        raise InputError(
            f"the corpus has a word {counts.max():,.0f} times in one document, too often to divide its tokens: at most "
            f"{_LARGEST_COUNT:,} are possible; {remedy}"
        )


def kernel_seed(seed: int) -> int:
    """The seed modulo 2^64, as int64."""
    return (seed + (1 << 63)) % (1 << 64) - (1 << 63)


def sums(indptr: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sum of the entries of each document, float64 (n_docs,); independent of the other documents."""
    lengths = np.diff(indptr)
    found = np.zeros(len(lengths))
    if len(values):
        found[lengths > 0] = np.add.reduceat(values.astype(np.float64), indptr[:-1][lengths > 0])
    return found


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


def _unigram_log(subject: Subject) -> np.ndarray:
    """Log probability of each of the model's words in the training documents, float64 (n_words,); nan if unknown."""
    source, train = subject.source, subject.train
    if train is None and isinstance(subject.vocabulary, Corpus):
        train = subject.vocabulary
    # Never from the held-out corpus: a baseline must not see the documents that it predicts.
    known = source.vocabulary if train is None else train.recounted().vocabulary
    baseline = unigram(known, source.vocabulary)
    return np.full(source.n_words, np.nan) if baseline is None else np.log(baseline)


@dataclass(frozen=True, eq=False)
class Scoring(Inference):
    """What held-out measures score blocks of documents with. Picklable for workers.

    source, id_map, n_words : see `Inference`
    unknown : bool (n_words,), the words of the corpus that the model does not know, see `inference.known`
    unigram_log : float64, log probability of the model's words in the training documents; nan if unknown
    """

    unknown: np.ndarray
    unigram_log: np.ndarray

    def tokens_of(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        """Tokens of each document, and those among them that the model does not know, float64 (n_docs,)."""
        unknown = block.counts * self.unknown[block.words]
        return sums(block.indptr, block.counts), sums(block.indptr, unknown)


def settings_of(scoring: Any, *names: str) -> str:
    """These settings as text, for `HeldOut.divided_by`."""
    return ", ".join(argument(name, getattr(scoring, name)) for name in names)


def scoring_of(subject: Subject) -> dict[str, Any]:
    """The fields of `Scoring`."""
    unknown = unknown_words(subject.source, subject.corpus.vocabulary)
    return {**vars(subject.inference), "unknown": unknown, "unigram_log": _unigram_log(subject)}


def refuse_dual(model: Any, name: str) -> None:
    """Refuse a dual topic model for the measure `name`, which is of documents.

    Raises
    ------
    SettingError
        When it is one; names the function that scores it.
    """
    known = learned_model(model)
    if known is not None and set(DUAL.arrays) <= set(known.params.arrays):
        raise SettingError(
            f"{argument('model')}: a dual topic model has topics of rows and of columns, which {name!r} does not "
            "score; use "
            + either(
                "bigtopic.evaluate.log_records with the held-out records of split_records",
                "'bigtopic task items' with the held-out records of 'bigtopic split --records'",
            )
        )
