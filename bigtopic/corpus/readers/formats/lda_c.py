"""LDA-C: a document per line, "n id:count id:count ...", ids from 0, n the number of pairs. The words are in
`vocab.txt` or `NAME.vocab` beside it, one per line.
"""

from __future__ import annotations

from collections.abc import Sequence

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.support.pairs import PairsReader, counts_its_pairs, id_range, looks_like_pairs
from bigtopic.corpus.readers.support.vocabulary import vocabulary_beside

__all__ = ["match", "open_reader"]


def match(file: File) -> float:
    return 0.9 if looks_like_pairs(file) and counts_its_pairs(file) else 0.0


def open_reader(files: Sequence[File], options: Options) -> PairsReader:
    """Without a vocabulary the files are read once more, for the largest id."""
    vocabulary, taken = vocabulary_beside(options.vocabulary, files[0])
    n_words = len(vocabulary) if vocabulary is not None else id_range(files)[1] + 1
    return PairsReader(
        "lda_c",
        tuple(files),
        n_words,
        vocabulary,
        options.weights,
        options.whole,
        base=0,
        check_head=True,
        head=None,
        taken=taken,
    )
