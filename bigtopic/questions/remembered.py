"""The topics of the documents that were asked about last, so that the next question does not infer them again."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from typing import Any

import numpy as np

__all__ = ["MOST_BYTES", "LastTopics"]

MOST_BYTES = 1 << 26  # of topics: 160,000 documents with 100 topics


class LastTopics:
    """Topics of one corpus under one version of a model. Copies and pickles begin without any."""

    def __init__(self) -> None:
        self._key: Hashable = None
        self._pieces: list[np.ndarray] = []

    def __reduce__(self) -> tuple[Any, ...]:
        return LastTopics, ()

    def pieces(
        self, key: Hashable, n_bytes: int, infer: Callable[[], Iterator[np.ndarray]]
    ) -> Iterator[np.ndarray]:
        """The topics, float32 (n_docs, n_components) each: those in memory, or those that `infer` gives.

        Parameters
        ----------
        key : of the documents and the model
        n_bytes : of all the topics; more than `MOST_BYTES` are not kept
        """
        if key == self._key:
            yield from self._pieces
            return
        self._key, self._pieces = None, []
        pieces: list[np.ndarray] = []
        for piece in infer():
            if n_bytes <= MOST_BYTES:
                pieces.append(piece)
            yield piece
        if n_bytes <= MOST_BYTES:
            self._key, self._pieces = key, pieces
