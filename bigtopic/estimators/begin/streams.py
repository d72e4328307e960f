"""Streams: their size, the mass of their start, and new words and frequencies."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import either, warn
from bigtopic.methods.method import SMALLEST_BATCH, Method
from bigtopic.state.axes import mapping
from bigtopic.state.contract.declarations import array_specs
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import begin_rows, count_documents

__all__ = [
    "as_counted",
    "end_pass",
    "grow",
    "n_documents",
    "scale",
    "warn_of_left_out",
    "warn_of_small_calls",
]

SHORT_STREAM = 4000  # documents
OUTWEIGH = 10  # tokens for each of the prior
_SHOWN = 5  # words


def n_documents(model: TopicModel, corpus: Corpus, declared: float | None, n_seen: int) -> float:
    """Assumed size of a stream: as declared, else the documents seen so far, at least enough to separate topics.

    If the topic-word prior outweighs the tokens, every topic is the same mixture, and a single pass over documents does
    not separate them: the first documents therefore count as part of a stream with `OUTWEIGH` times as many tokens as
    the prior, but at most `SHORT_STREAM` documents, so that a prior that is meant to be strong remains strong.
    """
    if declared is not None:
        return float(declared)
    tokens = OUTWEIGH * float(model.topic_words.prior_totals.sum())
    return max(float(n_seen), min(SHORT_STREAM, tokens * corpus.n_docs / max(corpus.n_tokens, 1.0)))


def scale(model: TopicModel, factor: float) -> None:
    """Scale a start that is a share of the corpus' tokens from the first documents to the whole stream."""
    for name, spec in array_specs(model.method).items():
        if spec.start is not None and spec.start[1] is not None and factor != 1.0:
            array = model.params[name]
            array.raw *= array.raw.dtype.type(factor)
            array.fold()


def as_counted(model: TopicModel, corpus: Corpus) -> Corpus:
    """Documents in memory in the order in which `fit` counted them, if it did and the model remembers them."""
    state = model.document_state
    if (
        state is None
        or corpus.author_vocabulary is not None
        or not all(isinstance(part, MemoryPart) for part in corpus.parts)
    ):
        return corpus
    shuffled = from_matrix(corpus.to_scipy(), corpus.vocabulary, random_state=model.seed)
    if not state.has_counted(shuffled.parts, shuffled.vocabulary, model.cursor):
        return corpus
    return replace(shuffled, text_settings=corpus.text_settings)


def end_pass(model: TopicModel) -> None:
    """End a pass that was cut short: other documents do not continue it."""
    if model.cursor.inside_pass:
        if model.document_state is not None:
            model.document_state = model.document_state.to_write(model.cursor)
            model.document_state.leave_pass(model.cursor)
        model.cursor = model.cursor.next_pass()


def grow(model: TopicModel, axes: Mapping[str, Vocabulary], *, of_all: bool = False) -> None:
    """Extend each axis by the names of more documents, and add their frequencies.

    With `of_all`, the frequencies are those of all documents, earlier ones included, and replace those known.

    Raises
    ------
    VocabularyMismatch
        When words have no names and the widths differ.
    """
    for axis, new in axes.items():
        known = model.axes[axis]
        model.axes[axis] = max(known, new, key=len) if axis == "row" else _extended(known, new, of_all)
    for name, array in model.params.arrays.items():
        if array.axis in axes:
            n_rows = array.n_rows
            array.grow(len(model.axes[array.axis]))
            begin_rows(model, name, n_rows)
    count_documents(model.method, model.params.arrays, model.axes)


def _extended(known: Vocabulary, new: Vocabulary, of_all: bool) -> Vocabulary:
    """The known names followed by the new ones, with their joint frequencies, or those of `new` alone."""
    ids = mapping(new, known)
    if ids is not None and (ids < 0).any():
        assert new.words is not None
        known = known.extended(new.words[ids < 0].tolist())
        ids = mapping(new, known)
    if known.frequency is None:  # those of a part of the documents would be wrong
        return known
    seen = slice(None) if ids is None else ids
    counts = tuple(np.zeros_like(counts) if of_all else counts.copy() for counts in known.counted)
    for own, more in zip(counts, new.counted, strict=True):
        own[seen] += more
    return known.with_counts(*counts)


def warn_of_left_out(model: TopicModel, corpus: Corpus) -> None:
    """Warn of words that are new to the model because they were left out of the texts of its first documents."""
    if not (model.vocabulary.named and corpus.vocabulary.named):
        return
    words = sorted(model.left_out)
    unknown = (model.vocabulary.index_of(words) < 0) & (corpus.vocabulary.index_of(words) >= 0)
    found = [word for word, new in zip(words, unknown, strict=True) if new]
    if found:
        shown = ", ".join([*found[:_SHOWN], *["..."] * (len(found) > _SHOWN)])
        warn(
            f"partial_fit: the documents have words that were left out of the first documents ({shown}), which become "
            "words of the topics"
            + either("; to leave them out, pass corpus.filter_vocabulary(drop=[...])", ""),
        )


def warn_of_small_calls(method: Method, n_calls: int, n_seen: int) -> None:
    """Warn, at the second call of a stream, that updates of few documents are noisy; the last call may be short."""
    has_step_size = any(hasattr(scheme, "learning_decay") for scheme in method.schemes.values())
    if n_calls == 2 and n_seen < n_calls * SMALLEST_BATCH and has_step_size:
        warn(
            f"partial_fit: each call is an update of the topics, and updates of fewer than {SMALLEST_BATCH} documents "
            "are noisy; collect documents and pass several hundred at a time",
        )
