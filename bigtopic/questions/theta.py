"""Topics of documents as questions read them: in batches, from a store of topics or as they are inferred."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.part import PartView
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument
from bigtopic.parallel.progress import Progress

__all__ = ["DocumentShares", "Theta", "checked", "other_documents", "selected"]


class DocumentShares(NamedTuple):
    """Some documents.

    positions : int64 (n,), in the order in which `Theta.documents` are stored, ascending
    shares : csr_matrix (n, n_components), rows sum to 1
    """

    positions: np.ndarray
    shares: Any


@dataclass(frozen=True)
class Theta:
    """Topics of documents.

    Attributes
    ----------
    documents : their ids, source rows and columns
    n_components : number of topics
    pieces : gives csr_matrix after csr_matrix of topics, in the order in which the documents are stored
    chosen : bool (n_docs,), the documents that were asked for; None for all
    progress : whether to show a bar; None shows it in terminals and notebooks, after two seconds
    """

    documents: Corpus
    n_components: int
    pieces: Callable[[], Iterator[Any]]
    chosen: np.ndarray | None = None
    progress: bool | None = None

    def batches(self, description: str) -> Iterator[DocumentShares]:
        """The documents that were asked for, a batch at a time, under a progress bar."""
        start = 0
        with Progress(description, self.documents.n_docs, " docs", self.progress) as bar:
            for shares in self.pieces():
                stop = start + shares.shape[0]
                if self.chosen is None:
                    yield DocumentShares(np.arange(start, stop), shares)
                elif (kept := np.flatnonzero(self.chosen[start:stop])).size:
                    yield DocumentShares(start + kept, shares[kept])
                bar.update(stop - start)
                start = stop

    def read_column(self, name: str, positions: np.ndarray) -> np.ndarray:
        """A column of the documents at these ascending positions, (n,)."""
        return self.documents.at(positions).read_column(name, order="stored")


def selected(documents: Corpus, where: Mapping[str, Any] | None) -> np.ndarray | None:
    """The documents of one part that `Corpus.select(**where)` selects, bool (n_docs,); None for all.

    Raises
    ------
    SettingError
        When there is no such column, or a condition is not allowed.
    """
    if not where:
        return None
    chosen = np.zeros(documents.n_docs, bool)
    for part in checked(documents, where).parts:
        chosen[np.asarray(part.documents) if isinstance(part, PartView) else slice(None)] = True
    return chosen


def checked(documents: Corpus, where: Mapping[str, Any] | None) -> Corpus:
    """`documents.select(**where)`.

    Raises
    ------
    SettingError
        When `where` is not a mapping, or as `Corpus.select`.
    """
    if where is not None and not isinstance(where, Mapping):
        raise SettingError(
            f"{argument('where', where)}: give a mapping, {{column: condition}}, as Corpus.select takes"
        )
    return documents.select(**where) if where else documents


def other_documents(document: str, row: int) -> SettingError:
    """The error for a document of a store of topics that another one is in the place of in the corpus."""
    return SettingError(
        f"{argument('theta')}: document {document!r} is not in row {row} of the corpus; the store was written from "
        "other documents: give their corpus, or write the topics of this one with transform_to"
    )
