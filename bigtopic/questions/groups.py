"""Groups of documents: by the values of a column, by dates, by numbers in bins, by authors.

A grouping says of some documents which groups they are in; a document may be in none (its value is missing), or in
several (its authors).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import take_segments
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, argument, did_you_mean, either
from bigtopic.parallel.progress import Progress
from bigtopic.questions.theta import Theta, other_documents

__all__ = ["FREQUENCIES", "MOST_CELLS", "Grouping", "grouping"]

Grouping = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, Sequence[Any]]]
"""positions (n,) -> which of them are in which group, int64 (n_pairs,) and int64 (n_pairs,); what the groups are"""

_DATE = re.compile(r"(\d{4})(?:-(0[1-9]|1[0-2])(?:-(\d\d).*)?)?")
_LENGTHS = {"year": 4, "month": 7, "day": 10}
MOST_CELLS = 1 << 25  # groups times topics: 512 MiB for two sums in float64
FREQUENCIES = ("decade", "year", "quarter", "month", "day")


def grouping(
    theta: Theta, column: str, freq: str | None, bins: int | Sequence[float] | None, corpus: Corpus | None
) -> Grouping:
    """How a column groups the documents.

    Parameters
    ----------
    column : of the documents; "authors" groups them by author if there is no column of that name
    freq : one of `FREQUENCIES`, for dates (text in ISO 8601) and years (whole numbers)
    bins : number of bins of equal width, or their edges, for numbers
    corpus : has the authors

    Raises
    ------
    SettingError
        When there is no such column, or it does not hold what `freq` or `bins` need.
    """
    if freq is not None and freq not in FREQUENCIES:
        raise SettingError(f"{argument('freq', freq)}: choose one of {', '.join(FREQUENCIES)}")
    if freq is not None and bins is not None:
        raise SettingError("freq and bins are mutually exclusive; choose one")
    if column not in theta.documents.columns:
        _check_authors(column, theta.documents.columns)
        return _by_author(theta, corpus)
    if bins is not None:
        edges = _edges(theta, column, bins)
        return _of_column(theta, column, lambda value: _bin(value, edges))
    return _of_column(theta, column, lambda value: _group(value, column, freq))


def _check_authors(column: str, columns: Sequence[str]) -> None:
    """Refuse anything but "authors", which groups documents without being a column."""
    if column != "authors":
        raise SettingError(
            f"there is no column {column!r}; give {' or '.join(map(repr, [*columns, 'authors']))}"
            f"{did_you_mean(column, [*columns, 'authors'])}"
        )


def _of_column(theta: Theta, column: str, group: Callable[[Any], Any]) -> Grouping:
    """`group` gives the group of a value, None if that is none. Equal values are looked at once."""

    def groups(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        values = theta.read_column(column, positions).tolist()
        distinct = dict.fromkeys(values)
        index = dict(zip(distinct, range(len(distinct)), strict=True))
        codes = np.fromiter(map(index.__getitem__, values), np.int64, len(values))
        names = [group(value) for value in distinct]
        kept = np.flatnonzero(np.array([name is not None for name in names], bool)[codes])
        present, codes = np.unique(codes[kept], return_inverse=True)
        return kept, codes, [names[i] for i in present.tolist()]

    return groups


def _group(value: Any, column: str, freq: str | None) -> Any:
    if value == "" or value != value:
        return None
    if freq is None:
        return value
    if _is_year(value) and freq in ("year", "decade"):
        return int(value) if freq == "year" else int(value) // 10 * 10
    date = _DATE.fullmatch(value) if isinstance(value, str) else None
    if (
        date is None
        or (freq not in ("year", "decade") and date[2] is None)
        or (freq == "day" and not date[3])
    ):
        raise SettingError(
            f"{argument('freq', freq)}: column {column!r} holds {value!r}, which is not a date such as 2005-03-01; "
            "leave freq out to group by the values themselves, or give bins for numbers"
        )
    if freq == "decade":
        return f"{date[1][:3]}0"
    if freq == "quarter":
        return f"{date[1]}-Q{(int(date[2]) + 2) // 3}"
    return value[: _LENGTHS[freq]]


def _is_year(value: Any) -> bool:
    """Whether it is a whole number; numbers of which some are missing are floats."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return whole or (isinstance(value, float) and value.is_integer())


def _edges(theta: Theta, column: str, bins: int | Sequence[float]) -> np.ndarray:
    """Edges of the bins, float64 (n_bins + 1,); those of equal width cover the values of the documents asked for."""
    if isinstance(bins, int | np.integer):
        numbers = _numbers(theta, column)
        if bins < 1 or not len(numbers):
            raise SettingError(f"{argument('bins', bins)}: give 1 or more, and a column that has numbers")
        if bins * theta.n_components > MOST_CELLS:
            most = MOST_CELLS // theta.n_components
            raise SettingError(
                f"{argument('bins', bins)}: at most {most:,} are possible with {theta.n_components} topics"
            )
        return np.linspace(numbers.min(), numbers.max(), int(bins) + 1)
    try:
        edges = np.asarray(bins, np.float64)
    except (TypeError, ValueError):
        edges = np.zeros(0)
    if edges.ndim != 1 or len(edges) < 2 or not (np.diff(edges) > 0).all():
        raise SettingError(
            f"bins={bins!r:.60}: give a number of bins, or two or more edges in ascending order"
        )
    return edges


def _numbers(theta: Theta, column: str) -> np.ndarray:
    """What is known of a column of numbers of the documents that were asked for, float64 (n,)."""
    documents = theta.documents if theta.chosen is None else theta.documents.at(np.flatnonzero(theta.chosen))
    values = documents.read_column(column, order="stored")
    if values.size and values.dtype.kind not in "iuf":
        raise SettingError(f"{argument('bins')}: column {column!r} does not hold numbers; leave bins out")
    values = values.astype(np.float64)
    return values[~np.isnan(values)]


def _bin(value: Any, edges: np.ndarray) -> tuple[float, float] | None:
    """The lower and upper edge of the bin; the last bin includes its upper edge."""
    if not isinstance(value, int | float):
        raise SettingError(
            f"{argument('bins')}: the column holds {value!r:.60}, which is not a number; leave bins out"
        )
    if not edges[0] <= value <= edges[-1]:
        return None
    i = min(int(np.searchsorted(edges, value, side="right")) - 1, len(edges) - 2)
    return float(edges[i]), float(edges[i + 1])


def _by_author(theta: Theta, corpus: Corpus | None) -> Grouping:
    """One pass over the corpus; the ids of all authors of all documents are in memory."""
    if corpus is None or corpus.authors is None:
        raise SettingError(
            "column 'authors': authors are in the corpus, not in a store of topics; "
            f"{either('give a corpus that has authors as X', 'give --corpus a corpus that has authors')}"
        )
    names = corpus.authors
    rows, places, indptr, authors = _author_lists(corpus, theta.progress)

    def groups(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[str]]:
        documents = theta.documents.at(positions)
        wanted = documents.rows(order="stored")
        at = np.minimum(np.searchsorted(rows, wanted), len(rows) - 1)
        known = np.flatnonzero(rows[at] == wanted)
        _check_same(documents.document_ids(order="stored")[known], wanted[known], corpus, places[at[known]])
        cuts, entries = take_segments(indptr, at[known])
        present, codes = np.unique(authors[entries], return_inverse=True)
        return np.repeat(known, np.diff(cuts)), codes, [names[i] for i in present.tolist()]

    return groups


def _check_same(ids: np.ndarray, rows: np.ndarray, corpus: Corpus, places: np.ndarray) -> None:
    """Refuse documents whose ids are not those at these places of the corpus' stored order."""
    order = np.argsort(places)
    own = corpus.at(places[order]).document_ids(order="stored")
    wrong = order[own != ids[order]]
    if len(wrong):
        raise other_documents(ids[wrong[0]], rows[wrong[0]])


def _author_lists(
    corpus: Corpus, progress: bool | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Source rows, ascending, where each is in the stored order, and its authors as CSR: indptr, ids."""
    found = []
    with Progress("reading authors", corpus.n_docs, " docs", progress) as bar:
        for block in corpus.blocks():
            assert block.author_indptr is not None
            found.append((block.rows, np.diff(block.author_indptr), block.authors))
            bar.update(block.n_docs)
    rows, lengths, authors = (np.concatenate(arrays) for arrays in zip(*found, strict=True))
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    order = np.argsort(rows, kind="stable")
    indptr, entries = take_segments(indptr, order)
    return rows[order], order, indptr, authors[entries]
