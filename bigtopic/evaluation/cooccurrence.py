"""Co-occurrence: in how many documents, or windows of their text, the top words of a topic occur together.

Of a text of L tokens, windows of w are its L - w + 1 runs of w tokens, or the whole text if it is shorter; a text
without tokens has none. The corpus' own tokeniser makes the tokens: stop words take up no place, words that are not
in the vocabulary do.

Counts are whole numbers, so that neither blocks nor workers change them. A pass by document costs an addition for each
pair of top words of one topic in a document; by window, for each time that such a word enters the window, one for each
other word of its topics.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import offsets
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.text.tokenizer import Tokenizer
from bigtopic.errors import WITH_TEXT, SettingError, VocabularyMismatch, argument
from bigtopic.evaluation.source import top_words
from bigtopic.evaluation.subject import Documents, Subject
from bigtopic.kernels.support.entry import frozen

__all__ = ["Counts", "State", "add", "of_documents", "of_windows", "prepare_documents", "prepare_windows"]


class Counts(NamedTuple):
    """How often words occur together.

    pairs : int64 (n_components, n_top, n_top), documents or windows that hold both words of a pair, for the higher
        ranked one (row) and the lower (column); of one word on the diagonal; zeros below it
    n : documents or windows in all
    """

    pairs: np.ndarray
    n: int


class State(NamedTuple):
    """Where words are among the top words of topics.

    first, places : word w is a top word at places[first[w] : first[w + 1]], topic * n_top + position
    shape : (n_components, n_top)
    n_docs : documents of the corpus
    window : tokens; 0 for whole documents, in which w is the word's id in the corpus
    words : {word: w}, for windows
    tokenizer : of the corpus, for windows
    """

    first: np.ndarray
    places: np.ndarray
    shape: tuple[int, int]
    n_docs: int
    window: int = 0
    words: Mapping[str, int] = {}
    tokenizer: Tokenizer | None = None


def prepare_documents(subject: Subject, settings: Mapping[str, Any]) -> State:
    """Find the top words, to be counted by document."""
    ids = _top_ids(subject, settings["n_top"])
    return State(*_places(ids.ravel(), subject.corpus.n_words), ids.shape, subject.corpus.n_docs)


@cache  # so that measures with windows of one size share their counts
def prepare_windows(window: int) -> Any:
    """A function that finds the top words, to be counted by windows of so many tokens."""
    return partial(_prepare_windows, window)


def _prepare_windows(window: int, subject: Subject, settings: Mapping[str, Any]) -> State:
    corpus = subject.corpus
    tokenizer = _tokenizer(corpus)
    ids = _top_ids(subject, settings["n_top"])
    known, numbers = np.unique(ids[ids >= 0], return_inverse=True)
    renumbered = np.full(ids.shape, -1, np.int64)
    renumbered[ids >= 0] = numbers
    words = {corpus.vocabulary[int(word)]: number for number, word in enumerate(known)}
    where = _places(renumbered.ravel(), len(known))
    return State(*where, ids.shape, corpus.n_docs, window, words, tokenizer)


def _places(ids: np.ndarray, n_words: int) -> tuple[np.ndarray, np.ndarray]:
    """`first` and `places` of `State`; negative ids are in no document."""
    places = np.argsort(ids, kind="stable")[np.count_nonzero(ids < 0) :]
    first = np.searchsorted(ids[places], np.arange(n_words + 1))
    return first.astype(np.int64), places.astype(np.int64)


def _top_ids(subject: Subject, n_top: int) -> np.ndarray:
    """Corpus ids of the top words, int64 (n_components, n_top); -1 for words the corpus does not have."""
    if n_top < 2:
        raise SettingError(f"{argument('n_top')}: a pair needs at least 2 words, found {n_top!r}")
    topics, vocabulary = subject.model, subject.corpus.vocabulary
    if isinstance(topics, list | tuple):
        if not topics:
            raise SettingError(f"{argument('model')}: the list is empty; give a list of words for each topic")
        for number, words in enumerate(topics):
            _check_words(number, words)
        if short := [number for number, words in enumerate(topics) if len(words) < n_top]:
            fewest = min(map(len, topics))
            raise SettingError(
                f"{argument('n_top', n_top)}: topics {short} have fewer words; give "
                f"{argument('n_top', fewest) if fewest > 1 else 'longer lists'}"
            )
        ids = np.stack([vocabulary.index_of(words[:n_top]) for words in topics]).astype(np.int64)
    else:
        source = subject.source
        if n_top > source.n_words:
            raise SettingError(f"{argument('n_top', n_top)}: the model has only {source.n_words} words")
        top, _ = top_words(source, n_top)
        ids = source.vocabulary.mapping_to(vocabulary).astype(np.int64)[top]
    if (ids < 0).all():
        raise VocabularyMismatch(
            "none of the topics' top words is in the corpus; measure on the corpus that the topics come from"
        )
    return ids


def _check_words(number: int, words: Any) -> None:
    """Refuse a topic that is not a list of words."""
    if not isinstance(words, list | tuple | np.ndarray) or not all(isinstance(word, str) for word in words):
        raise SettingError(
            f"{argument('model')}: topic {number} is {words!r:.60}; give a model, or a list of words for each topic, "
            "best first"
        )


def _tokenizer(corpus: Corpus) -> Tokenizer:
    """The tokeniser of a corpus that has kept its texts.

    Raises
    ------
    SettingError
        When it has not kept them, or they cannot be divided into the same words again.
    """
    where = f"{argument('corpus')}: this measure counts windows of text"
    instead = "the measures npmi, pmi, lcp and umass count by document and need no text"
    if corpus.text_settings is None or not all(part.has_text for part in corpus.parts):
        raise SettingError(f"{where}, but this corpus has not kept its texts; {WITH_TEXT}; {instead}")
    try:
        tokenizer = Tokenizer.from_dict(corpus.text_settings)
    except SettingError as error:
        raise SettingError(
            f"{where}, which cannot be divided into the corpus' words again: its tokeniser used a function or a "
            f"pattern, which are not taken from a store; {instead}"
        ) from error
    if tokenizer.settings.ngram_range != (1, 1):
        raise SettingError(f"{where}, in which n-grams overlap; {instead}")
    return tokenizer


def of_documents(state: State, documents: Documents) -> Counts:
    """Count the documents of a block. See `count_pairs`."""
    from bigtopic.evaluation._kernels import count_pairs

    block = documents.block
    pairs = np.zeros((*state.shape, state.shape[1]), np.int64)
    where = frozen(state.first, np.int64), frozen(state.places, np.int64)
    count_pairs(frozen(block.indptr, np.int64), frozen(block.words, np.int32), *where, pairs)
    return Counts(pairs, block.n_docs)


def of_windows(state: State, documents: Documents) -> Counts:
    """Count the windows of a block's texts. See `count_windows`."""
    from bigtopic.evaluation._kernels import count_windows

    assert state.tokenizer is not None and documents.texts is not None
    (tokens,) = state.tokenizer.token_arrays(documents.texts.tolist())
    known = np.array([state.words.get(word, -1) for word in tokens.words], np.int32)
    indptr, words = offsets(tokens.lengths), known[tokens.ids]
    pairs = np.zeros((*state.shape, state.shape[1]), np.int64)
    where = frozen(state.first, np.int64), frozen(state.places, np.int64)
    count_windows(frozen(indptr, np.int64), frozen(words, np.int32), *where, state.window, pairs)
    n_windows = np.maximum(tokens.lengths - state.window + 1, 1)[tokens.lengths > 0]
    return Counts(pairs, int(n_windows.sum()))


def add(total: Counts, piece: Counts) -> Counts:
    """The counts of both; the arrays of `total` change."""
    np.add(total.pairs, piece.pairs, out=total.pairs)
    return Counts(total.pairs, total.n + piece.n)
