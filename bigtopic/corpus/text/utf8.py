"""Texts as UTF-8, and compiled code that finds the tokens of `word_pattern().findall(canonical(text))` in them.

Python itself says, once, for a table of all characters, which are word characters and what their lower case is.
Documents with a character whose spelling depends on those around it, such as a combining mark, are made canonical by
Python, one by one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from typing import overload
from unicodedata import is_normalized

import numpy as np

from bigtopic.corpus.text.segmentation import IGNORED, JOINERS, SENTENCE_END, canonical, mark_sentences, marks
from bigtopic.corpus.text.tokens import TokenArrays, in_sentences

__all__ = ["Utf8Lines", "word_runs"]

_AFTER_LINE, _AFTER_TEXT = b"\n", b"\xff"  # the latter is in no UTF-8
_N_CODES = 0x110000
_WORDS_BELOW = 0x40000  # no character from here on is one of a word
_CONTEXT = "İΣ"  # in lower case two characters, or one that depends on those around it
_JAMO = range(0x1160, 0x1200)  # letters that may be part of a Korean syllable with the one before
_ROOM = 8192  # distinct words, at first


class Utf8Lines(Sequence[str]):
    """Lines of UTF-8, decoded only on access.

    Parameters
    ----------
    data : the bytes; they may turn out to be something else
    decode : gives the lines as strings, or raises the error for bytes that are something else
    """

    def __init__(self, data: bytes, decode: Callable[[], list[str]]) -> None:
        self.data = data if data.endswith(b"\n") else data + b"\n"
        self._decode = decode

    @cached_property
    def _lines(self) -> list[str]:
        return self._decode()

    @cached_property
    def _n_lines(self) -> int:
        return self.data.count(b"\n")

    def __len__(self) -> int:
        return self._n_lines

    @overload
    def __getitem__(self, item: int) -> str: ...

    @overload
    def __getitem__(self, item: slice) -> list[str]: ...

    def __getitem__(self, item: int | slice) -> str | list[str]:
        return self._lines[item]

    def __iter__(self) -> Iterator[str]:
        return iter(self._lines)


def word_runs(texts: Sequence[str], lowercase: bool, in_order: bool = False) -> TokenArrays:
    """The words of the default pattern; `in_order`: with which tokens are adjacent."""
    if in_order:
        marked = [*map(mark_sentences, texts)]
        n_sentences = np.array([text.count(SENTENCE_END) + 1 for text in marked], np.int64)
        data = _joined(marked).replace(SENTENCE_END.encode(), _AFTER_TEXT)
        found = _numbered(*_folded(data, _AFTER_TEXT, int(n_sentences.sum()), lowercase))
        return in_sentences(found, n_sentences)
    if not isinstance(texts, Utf8Lines):
        return _numbered(*_folded(_joined(texts), _AFTER_TEXT, len(texts), lowercase))
    try:
        return _numbered(*_folded(texts.data, _AFTER_LINE, len(texts), lowercase))
    except UnicodeDecodeError:
        list(texts)  # raises the reader's error
        raise


def _joined(texts: Sequence[str]) -> bytes:
    """UTF-8, with a question mark for half a character: neither is a word character."""
    try:
        return _AFTER_TEXT.join([*map(str.encode, texts), b""])
    except UnicodeEncodeError:
        return _AFTER_TEXT.join([*(text.encode("utf-8", "replace") for text in texts), b""])


def _folded(data: bytes, after: bytes, n_docs: int, lowercase: bool) -> tuple[np.ndarray, np.ndarray]:
    """Words as `fold_text` writes them, as uint64, and where documents end.

    Raises
    ------
    UnicodeDecodeError
    """
    from bigtopic.corpus.text._kernels import fold_text

    tables = _tables(lowercase, after)
    folded = np.empty(len(data) * 3 // 16 + 4, np.uint64)
    ends = np.empty(n_docs, np.int64)
    text = np.frombuffer(data, np.uint8)
    at, end, document = fold_text(text, 0, *tables, False, folded.view(np.uint8), 0, ends, 0)
    while at < len(data):
        # Python alone can make this document canonical, which may make it longer.
        begin, at = data.rfind(after, 0, at) + 1, data.index(after, at) + 1
        alone = np.frombuffer(canonical(data[begin : at - 1].decode(), lowercase).encode() + after, np.uint8)
        end = ends[document - 1] if document else 0
        missing = end + len(alone) + (len(data) - at) * 3 // 2 + 32 - folded.nbytes
        if missing > 0:
            folded = np.concatenate([folded, np.empty(missing // 8 + len(folded) // 8 + 1, np.uint64)])
        room = folded.view(np.uint8)
        done, end, document = fold_text(alone, 0, *tables, True, room, end, ends, document)
        assert done == len(alone)
        at, end, document = fold_text(text, at, *tables, False, room, end, ends, document)
    return folded[: end // 8 + 3], ends


def _numbered(folded: np.ndarray, ends: np.ndarray) -> TokenArrays:
    """The tokens of what `_folded` gives; where there are more distinct words than room, in several calls."""
    from bigtopic.corpus.text._kernels import number_words

    ids = np.empty(8 * len(folded) // 3, np.int64)
    n_tokens = np.empty(len(ends), np.int64)
    done = np.zeros(5, np.int64)
    tags, begins, words = (
        np.empty(_ROOM, np.uint64),
        np.empty(_ROOM, np.int64),
        np.empty(3 * _ROOM, np.uint64),
    )
    while not number_words(
        folded.view(np.uint8),
        folded,
        ends,
        np.zeros(2 * len(tags), np.uint64),
        tags,
        begins,
        words,
        words.view(np.uint8),
        ids,
        n_tokens,
        done,
    ):
        tags, begins, words = (np.concatenate([room, room]) for room in (tags, begins, words))
    names = words[: done[4]].tobytes().decode().replace("\0", " ").split()
    return TokenArrays(names, ids[: done[2]], np.diff(n_tokens, prepend=0))


@cache
def _tables(lowercase: bool, after: bytes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The arguments `kinds`, `pages` and `shifts` of `fold_text`."""
    from bigtopic.corpus.text._kernels import AFTER_LETTER, NOT_HERE

    codes = np.arange(_WORDS_BELOW, dtype=np.int32)
    text = codes.tobytes().decode("utf-32-le", "surrogatepass")
    if lowercase:
        for character in _CONTEXT:
            text = text.replace(character, " ")
        text = text.lower()
    becomes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.int32)
    shifts = np.full(_N_CODES, -_N_CODES, np.int32)
    for run in re.finditer(r"\w+", text):
        here = slice(*run.span())
        shifts[here] = becomes[here] - codes[here]
    shifts[[i for i, c in enumerate(text) if not is_normalized("NFC", c)]] = NOT_HERE
    shifts[_JAMO] = NOT_HERE
    if lowercase:
        shifts[[*map(ord, _CONTEXT)]] = NOT_HERE
    shifts[[*map(ord, marks() + JOINERS)]] = AFTER_LETTER
    for first, last in re.findall("(.)(?:-(.))?", IGNORED):
        shifts[ord(first) : ord(last or first) + 1] = AFTER_LETTER
    kinds = np.maximum(codes[:256] + shifts[:256], 0).astype(np.uint8)
    kinds[128:], kinds[ord(after)] = 1, 2
    # Most pages of 256 characters are all alike: no words, or words without capitals.
    numbers: dict[bytes, int] = {}
    pages = [numbers.setdefault(page.tobytes(), len(numbers)) for page in shifts.reshape(-1, 256)]
    return (
        kinds,
        np.array(pages, np.int16),
        np.frombuffer(b"".join(numbers), np.int32).reshape(-1, 256).copy(),
    )
