"""What users pass: to `fit` and `transform` a corpus, its path, or whatever `ingest` reads; to others, numbers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike
from pathlib import PurePath
from typing import Any

import numpy as np

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.readers import format_of, open_source
from bigtopic.corpus.readers.support.vocabulary import read_vocabulary
from bigtopic.corpus.sparse import checked_dense, is_array_like
from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import (
    BigtopicError,
    CorpusVersionError,
    InputError,
    ModelError,
    SettingError,
    VocabularyMismatch,
    argument,
)
from bigtopic.ingestion.text import left_out
from bigtopic.state.machine_memory import total_bytes
from bigtopic.support.numbers import is_whole

__all__ = [
    "as_corpus",
    "as_matrix",
    "check_width",
    "kept_vocabulary",
    "open_documents",
    "require_positive",
    "words_to_remember",
]


def as_corpus(
    data: Any,
    *,
    shuffle: bool,
    seed: int = 0,
    text: Mapping[str, Any] | None = None,
    vocabulary: Any = None,
    limited: bool = False,
    known: Vocabulary | None = None,
    remembered: Sequence[str] | None = None,
    n_threads: int | None = None,
) -> Corpus:
    """Convert a user's input to a corpus.

    Parameters
    ----------
    data : a `Corpus`; its path or URL; a scipy or NumPy matrix (n_docs, n_words); or any object that `ingest` reads,
        which is then read into memory
    shuffle : whether to put documents that are not stored yet into hashed order
    seed : seed of that order
    text : recorded settings of the tokeniser, or None for the defaults of `ingest`; {} leaves out no word
    vocabulary : the words of the columns of a matrix, or as for `ingest`
    limited : whether words in very many documents are left out of texts, as `ingest` and `append` do
    known : the words or columns of the model; (id, count) pairs need not use the last ones
    remembered : words by id, of (id, count) pairs and of matrices of that many columns that come without a vocabulary
    n_threads : threads that read; default all processors

    Raises
    ------
    CorpusVersionError
        When there is no corpus at the path, or it was written in a newer format.
    InputError
        When the documents are not valid, or too many for memory.
    ModelError
        When texts cannot be tokenised as the settings say.
    SettingError
        When a vocabulary is given for a corpus.
    VocabularyMismatch
        When pairs come without a vocabulary, none is remembered, and the model has words.
    """
    if isinstance(data, Corpus | str | PathLike):
        if vocabulary is not None:
            raise SettingError(
                f"{argument('vocabulary')}: the words of a corpus are stored with it; leave it out"
            )
        return data if isinstance(data, Corpus) else _opened(data)
    data = as_matrix(data)
    if _is_matrix(data):
        words: Sequence[str] | None = read_vocabulary(vocabulary)
        if words is None and remembered is not None and data.shape[1] == len(remembered):
            words = remembered
        return from_matrix(data, words, shuffle=shuffle, random_state=seed)
    from bigtopic.ingestion.job import ENTRY_BYTES, read_corpus

    reader, memory = open_documents(data, text, vocabulary, remembered), total_bytes()
    corpus = read_corpus(
        reader,
        choose_language=text is None,
        limited=limited and text is None,
        left_out=left_out(text) if limited else frozenset(),
        shuffle=shuffle,
        random_state=seed,
        n_threads=n_threads,
        most_entries=math.inf if memory is None else memory // (2 * ENTRY_BYTES),
    )
    if known is None or corpus.vocabulary.named or getattr(reader, "kind", None) != "pairs":
        return corpus
    return _with_columns_of(corpus, known)


def kept_vocabulary(vocabulary: Any) -> Any:
    """A vocabulary that can be read twice."""
    return list(vocabulary) if isinstance(vocabulary, Iterator) else vocabulary


def words_to_remember(data: Any, corpus: Corpus, vocabulary: Any) -> list[str] | None:
    """The words by id of documents that came as pairs with this vocabulary; None of others.

    Parameters
    ----------
    data, corpus : the input, and the corpus that `as_corpus` made of it
    """
    of_pairs = corpus.text_settings is None and len(getattr(data, "shape", ())) != 2
    return read_vocabulary(vocabulary) if of_pairs else None


def require_positive(name: str, number: Any, more: str = "") -> None:
    """Raise SettingError unless this is a whole number from 1; the message names the argument, and ends with `more`."""
    if not is_whole(number) or number < 1:
        raise SettingError(f"{argument(name, number)}: must be a whole number, 1 or more{more}")


def _opened(path: str | PathLike[str]) -> Corpus:
    try:
        return open_corpus(path)
    except CorpusVersionError as error:
        if remedy := _ingest_of(str(path)):
            raise type(error)(f"{path} is not a corpus; {remedy}") from error
        text = "; a text goes into a list" if " " in str(path) else ""
        raise type(error)(f"{error.message}{text}") from error


def _ingest_of(path: str) -> str:
    """What `ingest` would do with the files at a path; nothing if it cannot read them."""

    try:
        reader: Any = open_source(path)
    except (BigtopicError, OSError):
        return ""
    store = f"{PurePath(path).name.partition('.')[0]}.zarr"
    body = getattr(getattr(reader, "layout", None), "body_name", None)
    column = "" if body is None else f", its documents from {body!r}"
    return f"bigtopic.ingest({path!r}, {store!r}) reads it as {reader.name}{column}: pass the corpus that it returns"


def _is_matrix(data: Any) -> bool:
    """Whether NumPy or SciPy holds it, or something that NumPy converts and no reader knows better."""
    if len(getattr(data, "shape", ())) != 2 or not (hasattr(data, "__array__") or hasattr(data, "tocsr")):
        return False

    return format_of(data) in ("matrix", "iterable", None)


def open_documents(
    data: Any, text: Mapping[str, Any] | None, vocabulary: Any, remembered: Sequence[str] | None
) -> Any:
    """The documents, opened; texts and tokens with the tokeniser of these settings."""

    if format_of(data) is None:
        raise SettingError(
            f"documents: {type(data).__name__} is not a corpus; pass a bigtopic corpus or its path, a matrix of "
            "counts, a table, or a list of texts or tokens"
        )
    texts = isinstance(data, list | tuple)  # strings in a list are texts, even where they name files
    if texts and not data:
        raise InputError("documents: the list is empty; give one text, or more")
    reader: Any = open_source(data, format="iterable" if texts else None, vocabulary=vocabulary, weights=True)
    if vocabulary is None and remembered is not None and getattr(reader, "kind", None) == "pairs":
        return replace(reader, options=replace(reader.options, vocabulary=list(remembered)))
    if text is None or getattr(reader, "kind", None) not in ("text", "tokens"):
        return reader

    try:
        return reader.with_text(TextSettings.like(text))
    except SettingError as error:
        raise ModelError(
            f"texts cannot be tokenised like the model's: {error.message} to bigtopic.ingest, and pass the corpus it "
            "makes; a pattern can be passed to load_model instead"
        ) from error


def _with_columns_of(corpus: Corpus, known: Vocabulary) -> Corpus:
    """The corpus with as many columns as the model, if they are only numbers there, too."""
    if known.named:
        raise VocabularyMismatch(
            f"the documents are (id, count) pairs, but the model has words; pass the {argument('vocabulary', ...)} "
            "of the ids, such as a gensim Dictionary"
        )
    missing = len(known) - corpus.n_words
    if missing <= 0:
        return corpus
    df, tf = (np.pad(counts, (0, missing)) for counts in corpus.vocabulary.counted)
    return replace(corpus, vocabulary=Vocabulary(None, len(known), df, tf))


def as_matrix(data: Any) -> Any:
    """Array-like numbers, such as lists of equally long rows, as an array; anything else as it is.

    Raises
    ------
    SettingError
        For numbers in any other than two dimensions.
    InputError
        When rows differ in length.
    """
    if is_array_like(data):
        data = np.asarray(data) if hasattr(data, "__array__") else checked_dense(data, "the matrix")
    if isinstance(data, np.ndarray) and data.ndim != 2 and data.dtype.kind in "iufbc":
        remedy = ". Reshape your data, with X.reshape(1, -1) if it is one document" if data.ndim == 1 else ""
        raise SettingError(
            f"documents: a matrix has two dimensions, (n_docs, n_words), but this array has shape {data.shape}{remedy}"
        )
    return data


def check_width(given: Vocabulary, known: Vocabulary, estimator: str) -> None:
    """Columns without names can only be matched by position, so there must be as many as the model has.

    Raises
    ------
    VocabularyMismatch
    """
    if len(given) != len(known) and not (given.named and known.named):
        raise VocabularyMismatch(
            f"X has {len(given)} features, but {estimator} is expecting {len(known)} features as input. Columns "
            "without names are matched by position: pass a matrix with the model's, or a corpus with a vocabulary"
        )
