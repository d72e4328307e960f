"""The axes of the params: the meaning of their rows, and the mapping from ids of a corpus to ids of a model.

A `Vocabulary` describes an axis: the names on it (words, authors) or only their number, and document frequencies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bigtopic.corpus.stored.schema import MOST_WORDS
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import WITH_AUTHORS, InputError, SettingError, VocabularyMismatch
from bigtopic.models.base import Model
from bigtopic.plan.counting import counted_authors, counted_vocabulary

__all__ = ["axes_of", "axis_sizes", "mapping"]

_DOCUMENTS = ("word", "column", "author", "row")  # axes on which documents have ids


def axes_of(
    model: Model, corpus: Any, client: Any = None, n_threads: int | None = None
) -> dict[str, Vocabulary]:
    """The axes of a model's arrays on which documents have ids, as they are in a corpus; always with "word".

    Raises
    ------
    InputError
        When the model has arrays of authors, and the documents have no authors.
    """
    wanted = {spec.rows for spec in model.arrays.values()}.intersection(_DOCUMENTS)
    axes = {"word": counted_vocabulary(corpus, client, n_threads)}
    if "column" in wanted:
        axes["column"] = axes["word"]
    if "author" in wanted and corpus.author_vocabulary is None:
        raise InputError(
            f"model {model.name!r} has arrays of authors, but the documents have none; {WITH_AUTHORS}"
        )
    if "author" in wanted:
        axes["author"] = counted_authors(corpus, client, n_threads)
    if "row" in wanted:
        axes["row"] = Vocabulary(None, int(corpus.rows(order="stored").max(initial=-1)) + 1)
        assert len(axes["row"]) <= MOST_WORDS, "ids are int32"
    return axes


def axis_sizes(
    model: Model,
    axes: Mapping[str, Vocabulary],
    components: Mapping[str, int],
    given: Mapping[str, int] | None = None,
) -> dict[str, int]:
    """Number of rows on each axis of the model's arrays.

    Parameters
    ----------
    axes : axes of the corpus, see `axes_of`
    components : {name: number} of each component count
    given : {axis: rows}, takes precedence

    Raises
    ------
    SettingError
        When the size of an axis is unknown.
    """
    known = {
        "none": 1,
        **components,
        **{name: max(1, len(axis)) for name, axis in axes.items()},
        **(given or {}),
    }
    for name, spec in model.arrays.items():
        if spec.rows not in known:
            raise SettingError(
                f"array {name!r} of model {model.name!r} has rows={spec.rows!r}, an axis whose size is not known; "
                f"choose one of: {', '.join(dict.fromkeys([*_DOCUMENTS, *known]))}; or give its size"
            )
    return {spec.rows: known[spec.rows] for spec in model.arrays.values()}


def mapping(new: Vocabulary, known: Vocabulary, what: str = "words") -> np.ndarray | None:
    """For each id of `new` its id in `known`, int32 (len(new),), -1 where there is none; None when the ids agree.

    Raises
    ------
    VocabularyMismatch
        When one of them has no names and their sizes differ.
    """
    if new is known or new.fingerprint == known.fingerprint:
        return None
    if not (new.named and known.named):
        if len(new) != len(known):
            raise VocabularyMismatch(
                f"the documents have {len(new)} columns, the model {len(known)} {what}, and the columns have no names "
                "to match them by; pass a matrix with the model's columns, or a corpus with a vocabulary"
            )
        return None
    return new.mapping_to(known)
