"""Numbers that a file claims (documents, words, entries, ids), checked against its size.

Documents may be empty and words unused, so claims can exceed what a file holds; but nothing is allocated for a claim
that is out of all proportion.
"""

from __future__ import annotations

from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.errors import InputError, argument

__all__ = ["check_documents", "check_words", "most_words", "whole_number"]

_FREE = 1 << 20  # documents and words that need no proof
_COMPRESSED = 8  # documents per byte of a compressed file


def whole_number(digits: bytes) -> int:
    """The number that some digits spell; one far above any limit for those that are too many."""
    return int(digits) if len(digits) < 19 else 10**18


def check_documents(n_docs: int, file: File, place: str) -> None:
    """As many documents as the file has bytes, or a million.

    Raises
    ------
    InputError
    """
    most = max(_FREE, file.size * (1 if file.compression is None else _COMPRESSED))
    if n_docs > most:
        raise InputError(
            f"{place} {n_docs} documents, but a file of {file.size} bytes can have at most {most}, empty ones "
            "included; correct the number"
        )


def most_words(size: int) -> int:
    """Words that files of `size` bytes may use without a vocabulary: one for each byte, or four million."""
    return min(MOST_WORDS, max(4 * _FREE, size))


def check_words(n_words: int, size: int, place: str) -> None:
    """No more words than `most_words` allows.

    Raises
    ------
    InputError
    """
    most = most_words(size)
    if n_words > most:
        raise InputError(
            f"{place} {n_words} words, but files of {size} bytes can have at most {most} without a vocabulary; correct "
            f"the number or the ids, or give {argument('vocabulary', ...)}"
        )
