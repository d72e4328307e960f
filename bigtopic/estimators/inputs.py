"""What users pass: to `fit` and `transform` a corpus, its path, a matrix, or texts; to others, numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from os import PathLike
from typing import Any

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import CorpusVersionError, InputError, ModelError, SettingError
from bigtopic.estimators.contract.matrices import as_matrix
from bigtopic.state.contract.declaration_rules import is_whole

__all__ = ["as_corpus", "require_positive"]


def as_corpus(data: Any, *, shuffle: bool, seed: int = 0, text: Any = None) -> Corpus:
    """Convert a user's input to a corpus.

    Parameters
    ----------
    data : a `Corpus`; its path or URL; a scipy or NumPy matrix or a pandas DataFrame (n_docs, n_words); or an iterable
        of texts
    shuffle : whether to put documents that are not stored yet into hashed order
    seed : seed of that order
    text : settings of the tokeniser for texts, or None for the defaults

    Raises
    ------
    CorpusVersionError
        When there is no corpus at the path, or it was written in a newer format.
    InputError
        When there are no texts.
    SettingError
        When `data` is none of these.
    """
    if isinstance(data, Corpus):
        return data
    if isinstance(data, str | PathLike):
        return _opened(data)
    data = as_matrix(data)
    if hasattr(data, "columns") and hasattr(data, "to_numpy"):
        return from_matrix(
            _numbers(data), [str(name) for name in data.columns], shuffle=shuffle, random_state=seed
        )
    if hasattr(data, "shape") and len(data.shape) == 2:
        return from_matrix(data, shuffle=shuffle, random_state=seed)
    if isinstance(data, Iterable):
        return _from_texts(list(data), shuffle, seed, text)
    raise SettingError(
        f"documents: {type(data).__name__} is not a corpus; pass a bigtopic corpus or its path, a matrix of counts, "
        "or a list of texts"
    )


def require_positive(name: str, number: Any) -> None:
    """Refuse what is not a whole number from 1 with a SettingError that names the argument."""
    if not is_whole(number) or number < 1:
        raise SettingError(f"{name}={number!r}: must be a whole number, 1 or more")


def _opened(path: str | PathLike[str]) -> Corpus:
    try:
        return open_corpus(path)
    except CorpusVersionError as error:
        if " " in str(path):
            raise type(error)(f"{error}; a text goes into a list") from error
        raise


def _numbers(table: Any) -> Any:
    counts = table.to_numpy()
    if counts.dtype.kind in "biuf":
        return counts
    raise SettingError(
        "documents: a table must hold counts, a column per word, but this one holds values that are not numbers; for "
        "texts pass their column, such as table['text'], or ingest table.to_dict('records') with bigtopic.ingest"
    )


def _from_texts(texts: list[Any], shuffle: bool, seed: int, text: Any) -> Corpus:
    from scipy.sparse import csr_matrix

    from bigtopic.corpus.text.tokenizer import Tokenizer

    if not texts:
        raise InputError("documents: the list is empty; give one text, or more")
    if not all(isinstance(item, str) for item in texts):
        odd = next(type(item).__name__ for item in texts if not isinstance(item, str))
        raise SettingError(
            f"documents: a list must hold texts, found {odd}; use bigtopic.ingest for tokens, counters or records"
        )
    tokenizer = _tokenizer(Tokenizer, text)
    raw = tokenizer.counts(texts)
    words = raw.vocabulary or []
    matrix = csr_matrix((raw.counts, raw.words, raw.indptr), shape=(len(texts), max(1, len(words))))
    vocabulary = Vocabulary(words or ["\N{EMPTY SET}"])
    corpus = from_matrix(matrix, vocabulary, shuffle=shuffle, random_state=seed)
    return replace(corpus, text_settings=text or tokenizer.settings.to_dict())


def _tokenizer(kind: Any, text: Any) -> Any:
    """The tokeniser these settings describe; the default one for None."""
    try:
        return kind() if text is None else kind.from_dict(text)
    except SettingError as error:
        raise ModelError(
            f"texts cannot be tokenised like the model's: {error} to bigtopic.ingest, and pass the corpus it "
            "makes; a pattern can be passed to load_model instead"
        ) from error
