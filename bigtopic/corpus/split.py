"""Train and test, and documents by row or column value: selections of parts, cheap in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from bigtopic.corpus.conditions import Condition, condition
from bigtopic.corpus.order import checked_seed, document_keys, smallest_keys
from bigtopic.corpus.part import Part, PartView, Selection
from bigtopic.errors import SettingError, argument
from bigtopic.wording import counted

__all__ = ["by_columns", "by_positions", "by_rows", "n_test_documents", "train_test"]

_SALT = 0x5EED0F5B17  # a split must not repeat the order of storage, whose keys may have the same seed
_STEP = 1 << 16  # documents looked at together


def _in_steps(n_docs: int) -> Iterator[tuple[int, int]]:
    for start in range(0, n_docs, _STEP):
        yield start, min(start + _STEP, n_docs)


def n_test_documents(test_size: float, n_docs: int, name: str = "test_size") -> int:
    """How many documents `test_size`, a share (float) or a number (integer), means; errors call it `name`.

    Raises
    ------
    SettingError
        When it would leave no document on one side.
    """
    is_share = isinstance(test_size, float | np.floating) and 0 < test_size < 1
    is_number = isinstance(test_size, Integral)
    wanted = round(float(test_size) * n_docs) if is_share else int(test_size) if is_number else -1
    if 0 < wanted < n_docs:
        return wanted
    given = f"{argument(name, int(test_size) if is_number else test_size)} of {counted(n_docs, 'document')}"
    if n_docs < 2:
        raise SettingError(f"{given}: give a corpus of at least 2 documents, which can be divided")
    fault, share = "", "a share between 0 and 1"
    if is_share:
        fault, share = (" is none", "a larger share") if wanted == 0 else (" is all", "a smaller share")
    raise SettingError(f"{given}{fault}: give {share}, or a number of documents from 1 to {n_docs - 1}")


def train_test(parts: Sequence[Part], n_test: int, seed: int) -> tuple[list[Part], list[Part]]:
    """Parts of the train and of the test documents: those with the `n_test` smallest salted keys are the test.

    The choice depends on seed and source rows alone, never on how documents are stored.
    """

    salted = checked_seed(seed) + _SALT

    def keys_of(part: Part) -> Iterator[np.ndarray]:
        for start, stop in _in_steps(part.n_docs):
            yield document_keys(salted, part.rows(start, stop))

    n_docs = sum(part.n_docs for part in parts)
    limit = smallest_keys(n_test, n_docs, lambda: (keys for part in parts for keys in keys_of(part)))
    train: list[Part] = []
    test: list[Part] = []
    for part in parts:
        is_test = np.concatenate([keys <= limit for keys in keys_of(part)])
        _add(train, part, np.flatnonzero(~is_test))
        _add(test, part, np.flatnonzero(is_test))
    return train, test


def by_rows(parts: Sequence[Part], rows: Any) -> list[Part]:
    """Documents whose source row is in `rows` (integers, or a boolean mask over source rows)."""
    wanted = np.asarray(rows)
    if wanted.dtype == bool:
        wanted = np.flatnonzero(wanted)
    if wanted.ndim != 1 or not (np.issubdtype(wanted.dtype, np.integer) or wanted.size == 0):
        raise SettingError(
            "rows: give source rows as a list of integers, or one boolean for each source row; if you mean a column of "
            "that name, give corpus.rows()[corpus.read_column('rows') == value]"
        )
    wanted = np.unique(wanted.astype(np.int64))

    def chosen(part: Part, start: int, stop: int) -> np.ndarray:
        found = part.rows(start, stop)
        at = np.minimum(np.searchsorted(wanted, found), max(len(wanted) - 1, 0))
        return wanted[at] == found if len(wanted) else np.zeros(len(found), bool)

    return _where(parts, chosen)


def by_columns(parts: Sequence[Part], wanted: Mapping[str, Any]) -> list[Part]:
    """Documents whose columns meet conditions, see `bigtopic.corpus.conditions`; values, not functions."""
    known: dict[str, Condition] = {}

    def chosen(part: Part, start: int, stop: int) -> np.ndarray:
        found = np.ones(stop - start, bool)
        for name, values in part.columns(list(wanted), start, stop).items():
            if name not in known:
                known[name] = condition(name, wanted[name], values)
            found &= known[name](values)
        return found

    return _where(parts, chosen)


def by_positions(parts: Sequence[Part], starts: np.ndarray, positions: np.ndarray) -> list[Part]:
    """Documents at these ascending positions, int64, over all parts; for `starts` see `Corpus._starts`."""
    chosen: list[Part] = []
    cuts = np.searchsorted(positions, starts)
    for part, first, a, b in zip(parts, starts.tolist(), cuts[:-1], cuts[1:], strict=False):
        _add(chosen, part, positions[a:b] - first)
    return chosen


def _where(parts: Sequence[Part], chosen_of: Any) -> list[Part]:
    chosen: list[Part] = []
    for part in parts:
        mask = np.concatenate([chosen_of(part, a, b) for a, b in _in_steps(part.n_docs)])
        _add(chosen, part, np.flatnonzero(mask))
    return chosen


def _add(parts: list[Part], part: Part, positions: np.ndarray) -> None:
    if not len(positions):
        return
    first, last = int(positions[0]), int(positions[-1])
    selection: Selection = positions.astype(np.int32)
    if last - first + 1 == len(positions):
        selection = range(first, last + 1)
    parts.append(PartView.of(part, selection))
