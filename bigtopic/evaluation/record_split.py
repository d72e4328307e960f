"""Splits of a corpus' records: every row stays on both sides, with some of its records on each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from bigtopic.corpus.blocks import document_tokens
from bigtopic.corpus.order import checked_seed
from bigtopic.corpus.part import Part
from bigtopic.corpus.store import Corpus
from bigtopic.errors import InputError, SettingError, argument
from bigtopic.evaluation.streaming import CorpusOrPath, documents_of
from bigtopic.types import Block

__all__ = ["split_records"]

_STEP = 1 << 16  # documents read together for figures


def split_records(
    records: CorpusOrPath, test_size: float = 0.1, random_state: int = 0
) -> tuple[Corpus, Corpus]:
    """Split the records of each row into train and test, as views: records are chosen when they are read.

    Parameters
    ----------
    records : corpus, or its path, of whole counts
    test_size : share of a row's records in the test, rounded; a row has at least one record in train, and one in the
        test if it has two
    random_state : seed that, together with the rows in the source, determines the choice

    Raises
    ------
    SettingError
        When `test_size` is not a share.
    """
    corpus, seed = documents_of(records, "records"), checked_seed(random_state)
    if isinstance(test_size, bool) or not isinstance(test_size, float) or not 0 < test_size < 1:
        raise SettingError(
            f"{argument('test_size', test_size)}: must be a share of each row's records, between 0 and 1"
        )
    train, test = (
        [_ChosenRecords(part, test_size, seed, side) for part in corpus.parts] for side in (False, True)
    )
    return replace(corpus, parts=train, counted=False), replace(corpus, parts=test, counted=False)


@dataclass(frozen=True, eq=False)
class _ChosenRecords:
    """The train or the test records of a part (a `corpus.part.Part`)."""

    base: Part
    test_size: float
    seed: int
    test: bool
    _figures: dict[str, float] = field(default_factory=dict, repr=False)

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def n_docs(self) -> int:
        return self.base.n_docs

    @property
    def nnz(self) -> int:
        return int(self._figure("nnz"))

    @property
    def n_tokens(self) -> float:
        return self._figure("n_tokens")

    def _figure(self, name: str) -> float:
        """Figures cost one pass, and are kept."""
        if not self._figures:
            steps = range(0, self.n_docs, _STEP)
            counts = [self.read(start, min(start + _STEP, self.n_docs)).counts for start in steps]
            self._figures["nnz"] = float(sum(map(len, counts)))
            self._figures["n_tokens"] = float(sum(own.sum(dtype=np.float64) for own in counts))
        return self._figures[name]

    @property
    def n_bytes(self) -> int:
        return self.base.n_bytes

    @property
    def fingerprint(self) -> str:
        return f"{self.base.fingerprint}[records {self.test_size!r} {self.seed} {self.test}]"

    def read(self, start: int, stop: int) -> Block:
        from bigtopic.evaluation import _kernels

        block = self.base.read(start, stop)
        if (block.counts != np.floor(block.counts)).any():
            raise InputError(
                f"{self.name} has fractional counts, which are not records; give a corpus of counts"
            )
        counts = np.empty(len(block.counts), np.float32)
        _kernels.observed_tokens(block.indptr, block.counts, block.rows, self.seed, self.test_size, counts)
        counts = counts if self.test else block.counts - counts
        kept = counts > 0
        indptr = np.concatenate([[0], np.cumsum(kept)])[block.indptr]
        return replace(block, indptr=indptr, words=block.words[kept], counts=counts[kept])

    def rows(self, start: int, stop: int) -> np.ndarray:
        return self.base.rows(start, stop)

    def entries(self, start: int, stop: int) -> np.ndarray:
        return np.diff(self.read(start, stop).indptr)

    def tokens(self, start: int, stop: int) -> np.ndarray:
        return document_tokens(self.read(start, stop))

    def ids(self, start: int, stop: int) -> np.ndarray:
        return self.base.ids(start, stop)

    @property
    def has_text(self) -> bool:
        return self.base.has_text

    def texts(self, start: int, stop: int) -> np.ndarray:
        return self.base.texts(start, stop)

    def columns(self, names: Sequence[str], start: int, stop: int) -> dict[str, np.ndarray]:
        return self.base.columns(names, start, stop)
