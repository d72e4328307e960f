"""How a stream begins and goes on: its size, the mass of its start, words and frequencies as they come."""

from __future__ import annotations

import warnings

from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import BigtopicWarning
from bigtopic.methods import SMALLEST_BATCH, Method
from bigtopic.runtime.model import TopicModel
from bigtopic.runtime.rounds import Cursor

__all__ = ["end_pass", "grow", "n_documents", "scale", "warn_of_small_calls"]

SHORT_STREAM = 4000  # documents
OUTWEIGH = 10  # tokens for each of the prior


def n_documents(model: TopicModel, corpus: Corpus, declared: float | None, n_seen: int) -> float:
    """Documents a stream is taken to have: as declared, else those seen so far, at least enough to tell topics apart.

    Where the prior of the topics' words outweighs their tokens, every topic is the same mixture, and documents that
    are seen once do not separate them: the first ones count as part of a stream with `OUTWEIGH` times as many tokens,
    but never of more than `SHORT_STREAM` documents, or a prior that is meant to be strong would not be.
    """
    if declared is not None:
        return float(declared)
    tokens = OUTWEIGH * float(model.topic_words.prior_totals.sum())
    return max(float(n_seen), min(SHORT_STREAM, tokens * corpus.n_docs / max(corpus.n_tokens, 1.0)))


def scale(model: TopicModel, factor: float) -> None:
    """Scale a start that is a share of the corpus' tokens to more tokens than the first documents have."""
    for name, array in model.params.arrays.items():
        _, share = model.method.init.get(name, ("uniform", None))
        if share is not None and factor != 1.0:
            array.raw *= array.raw.dtype.type(factor)
            array.fold()


def end_pass(model: TopicModel) -> None:
    """Leave a pass that was cut short: other documents are no continuation of it."""
    if model.cursor.round > 0:
        model.cursor = Cursor(model.cursor.epoch + 1, 0, model.cursor.step)


def grow(model: TopicModel, vocabulary: Vocabulary) -> None:
    """Take in the words and frequencies of more documents; new words are appended.

    Raises
    ------
    VocabularyMismatch
        When words have no names and the widths differ.
    """
    mapping = model.word_map(vocabulary)
    if mapping is not None and (mapping < 0).any():
        assert vocabulary.words is not None
        model.vocabulary = model.vocabulary.extended(vocabulary.words[mapping < 0].tolist())
        for array in model.params.arrays.values():
            if array.axis == "word":
                array.grow(len(model.vocabulary))
        mapping = model.word_map(vocabulary)
    if model.vocabulary.frequency is not None:  # those of a part of the documents would be wrong
        seen = slice(None) if mapping is None else mapping
        counts = tuple(counts.copy() for counts in model.vocabulary.counted)
        for own, new in zip(counts, vocabulary.counted, strict=True):
            own[seen] += new
        model.vocabulary = model.vocabulary.with_counts(*counts)


def warn_of_small_calls(method: Method, n_calls: int, n_seen: int) -> None:
    """Say at the second call of a stream that updates of so few documents are noisy; the last call may be short."""
    has_step_size = any(hasattr(scheme, "learning_decay") for scheme in method.schemes.values())
    if n_calls == 2 and n_seen < n_calls * SMALLEST_BATCH and has_step_size:
        warnings.warn(
            f"partial_fit: each call is an update of the topics, and updates of fewer than {SMALLEST_BATCH} documents "
            "are noisy; collect documents and give some hundred at a time",
            BigtopicWarning,
            stacklevel=3,
        )
