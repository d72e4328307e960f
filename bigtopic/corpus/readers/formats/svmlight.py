"""SVMlight: a document per line, "label id:count id:count ... # comment". The label is kept as a column; a query's id
("qid:3") behind it is passed over. The words may be in `NAME.vocab` beside it, one per line.

Ids count from 1, as the format says; if any line has an id of 0 they count from 0. To know that, and the width, the
files are read once more.
"""

from __future__ import annotations

from collections.abc import Sequence

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.support.pairs import PairsReader, counts_its_pairs, id_range, looks_like_pairs
from bigtopic.corpus.readers.support.vocabulary import vocabulary_beside

__all__ = ["match", "open_reader"]


def match(file: File) -> float:
    return 0.8 if looks_like_pairs(file) and not counts_its_pairs(file) else 0.0


def open_reader(files: Sequence[File], options: Options) -> PairsReader:
    smallest, largest = id_range(files, options.vocabulary)
    base = 0 if smallest == 0 else 1
    n_words = max(0, largest - base + 1)
    vocabulary, taken = vocabulary_beside(options.vocabulary, files[0], n_words)
    n_words = n_words if vocabulary is None else len(vocabulary)
    return PairsReader(
        "svmlight",
        tuple(files),
        n_words,
        vocabulary,
        options.weights,
        options.whole,
        base=base,
        check_head=False,
        head="label",
        taken=taken,
    )
