"""Groups of documents, by values of columns, dates, numbers or dates in bins, or authors; and their shares of topics.

A grouping says of some documents which groups they are in; a document may be in none (its value is missing), or in
several (its authors). The mean share of a topic in the n_g documents d of group g, and its standard error, are

    share_gk = mean of theta_dk
    standard error of share_gk = sqrt((mean of theta_dk^2 - share_gk^2) / (n_g - 1))

Every document counts the same, whatever its length. Memory holds a batch, and the groups times the topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from bigtopic.corpus.blocks import take_segments
from bigtopic.corpus.store import Corpus
from bigtopic.errors import WITH_AUTHORS, SettingError, argument, did_you_mean, either
from bigtopic.parallel.progress import Progress
from bigtopic.questions.dates import DAY, FREQUENCIES, Dates, instant_texts, year_of
from bigtopic.questions.documents import Theta, other_documents

__all__ = [
    "MOST_CELLS",
    "GroupShares",
    "Grouping",
    "columns_to_group",
    "grouping",
    "over_groups",
    "shares_of_groups",
]


Grouping = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, Sequence[Any]]]
"""positions (n,) -> which of them are in which group, int64 (n_pairs,), ascending, and int64 (n_pairs,); what the
groups are, of several columns tuples"""

MOST_CELLS = 1 << 25  # groups times topics: 512 MiB for two sums in float64


class GroupShares(NamedTuple):
    """Mean shares of all topics in groups of documents.

    Attributes
    ----------
    column : whose values group the documents
    freq : length of the periods; "" for other groups
    groups : the values, bins or periods, ascending
    years : float64 (n_groups,), in which the periods begin; None for other groups
    share, standard_error : float64 (n_groups, n_components)
    n_documents : int64 (n_groups,)
    n_groups : of all, of which `groups` may be those with most documents
    n_without : documents that are in no group, because they have no value
    """

    column: str
    freq: str
    groups: Sequence[Any]
    years: np.ndarray | None
    share: np.ndarray
    standard_error: np.ndarray
    n_documents: np.ndarray
    n_groups: int
    n_without: int

    def largest(self, n: int) -> GroupShares:
        """The `n` groups with most documents, in the order that they have."""
        kept = np.sort(np.argsort(-self.n_documents, kind="stable")[:n])
        return self._replace(
            groups=[self.groups[i] for i in kept],
            years=None if self.years is None else self.years[kept],
            share=self.share[kept],
            standard_error=self.standard_error[kept],
            n_documents=self.n_documents[kept],
        )


def columns_to_group(column: Any) -> list[str]:
    """The columns that group documents: one, or several.

    Raises
    ------
    SettingError
        When there are none, or one is given twice.
    """
    columns = [column] if isinstance(column, str) else list(column) if isinstance(column, Iterable) else []
    if not columns or not all(isinstance(name, str) for name in columns):
        raise SettingError(f"column={column!r:.60}: give the name of a column, or several")
    twice = [name for name in columns if columns.count(name) > 1]
    if twice:
        raise SettingError(f"column {twice[0]!r} is given twice; leave one out")
    return columns


def grouping(
    theta: Theta,
    columns: Sequence[str],
    corpus: Corpus | None,
    *,
    freq: Any,
    bins: Any,
    date_format: Any,
    only_format: bool = False,
) -> Grouping:
    """How columns group the documents.

    Parameters
    ----------
    columns : of the documents; "authors" groups them by author if there is no column of that name
    corpus : has the authors
    freq : one of `FREQUENCIES`, for dates
    bins : number of bins of equal width, or their edges, for numbers and dates
    date_format : see `Dates`
        Each of these three is of the first column, or a mapping {column: setting}
    only_format : see `Dates`

    Raises
    ------
    SettingError
        When there is no such column, or it does not hold what `freq` or `bins` need.
    """
    settings = {"freq": freq, "bins": bins, "date_format": date_format}
    for name, value in settings.items():
        for column in value if isinstance(value, Mapping) else ():
            if column not in columns:
                raise SettingError(f"{name}: {column!r} is not one of the columns: {', '.join(columns)}")
    found = None
    for column in columns:
        own = {
            name: value.get(column) if isinstance(value, Mapping) else value if column == columns[0] else None
            for name, value in settings.items()
        }
        groups = _by_column(theta, column, corpus, only_format, **own)
        found = groups if found is None else _crossed(found, groups)
    assert found is not None
    return found


def _by_column(
    theta: Theta,
    column: str,
    corpus: Corpus | None,
    only_format: bool,
    freq: Any,
    bins: Any,
    date_format: Any,
) -> Grouping:
    if freq is not None and freq not in FREQUENCIES:
        raise SettingError(f"{argument('freq', freq)}: choose one of {', '.join(FREQUENCIES)}")
    if freq is not None and bins is not None:
        raise SettingError(f"{argument('freq')} and {argument('bins')} are mutually exclusive; choose one")
    if date_format is not None and freq is None and bins is None:
        raise SettingError(
            f"{argument('date_format')} has no effect without {argument('freq')} or {argument('bins')}; give one"
        )
    known = [*theta.documents.columns]
    if corpus is None or corpus.authors is not None:
        known.append("authors")
    if not known:
        raise SettingError(
            f"there is no column {column!r}: the documents have no columns and no authors; "
            f"{either('ingest them with columns=', 'pass --column to bigtopic ingest')}, or {WITH_AUTHORS}"
        )
    if column not in [*known, "authors"]:
        raise SettingError(
            f"there is no column {column!r}; give {' or '.join(map(repr, known))}{did_you_mean(column, known)}"
        )
    if column not in theta.documents.columns:
        return _by_author(theta, corpus)
    if bins is not None:
        return _of_column(theta, column, _in_bins(theta, column, bins, date_format, only_format))
    if freq is None:
        return _of_column(theta, column, lambda value: value)
    dates = Dates(column, argument("freq", freq), date_format, only_format)
    return _of_column(theta, column, lambda value: dates.period(value, freq))


def _of_column(theta: Theta, column: str, group: Callable[[Any], Any]) -> Grouping:
    """`group` gives the group of a value, None if that is none. Equal values are looked at once."""

    def groups(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        values = theta.read_column(column, positions).tolist()
        distinct = dict.fromkeys(values)
        index = dict(zip(distinct, range(len(distinct)), strict=True))
        codes = np.fromiter(map(index.__getitem__, values), np.int64, len(values))
        names = [None if _is_missing(value) else group(value) for value in distinct]
        kept = np.flatnonzero(np.array([name is not None for name in names], bool)[codes])
        present, codes = np.unique(codes[kept], return_inverse=True)
        return kept, codes, [names[i] for i in present.tolist()]

    return groups


def _is_missing(value: Any) -> bool:
    return value == "" or value != value


def _crossed(first: Grouping, second: Grouping) -> Grouping:
    """The groups of both: a document is in each pair of a group of the first and one of the second."""

    def groups(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray, list[Any]]:
        (documents, outer, outer_names), (others, inner, inner_names) = first(positions), second(positions)
        starts, stops = (np.searchsorted(others, documents, side) for side in ("left", "right"))
        n = stops - starts
        before = np.repeat(np.cumsum(n) - n, n)
        inner = inner[np.repeat(starts, n) + np.arange(n.sum()) - before]
        present, codes = np.unique(np.repeat(outer, n) * len(inner_names) + inner, return_inverse=True)
        pairs = [divmod(code, len(inner_names)) for code in present.tolist()]
        return np.repeat(documents, n), codes, [(outer_names[a], inner_names[b]) for a, b in pairs]

    return groups


def _in_bins(
    theta: Theta, column: str, bins: Any, date_format: Any, only_format: bool
) -> Callable[[Any], Any]:
    """Gives the bin of a value: its lower and upper edge, numbers or dates as text; None for a value outside them."""
    setting, equal = argument("bins", bins), isinstance(bins, int | np.integer)
    kind = theta.documents.run(0, 1, order="stored").read_column(column).dtype.kind
    if kind == "b":
        raise SettingError(
            f"{argument('bins')}: column {column!r} does not hold numbers or dates; leave {argument('bins')} out"
        )
    if equal and bins * theta.n_components > MOST_CELLS:
        most = MOST_CELLS // theta.n_components
        raise SettingError(f"{setting}: at most {most:,} are possible with {theta.n_components} topics")
    numeric = kind in "iuf" and date_format is None
    dates = Dates(column, argument("bins"), date_format, only_format)
    if equal:  # they cover the values of the documents that were asked for
        values = _values(theta, column)
        if numeric:
            known = values.astype(np.float64)[~np.isnan(values.astype(np.float64))]
        else:
            distinct = [value for value in dict.fromkeys(values.tolist()) if not _is_missing(value)]
            known = np.array([dates.moment(value).instant for value in distinct], np.float64)
        if bins < 1 or not len(known):
            raise SettingError(f"{setting}: give 1 or more, and a column that has numbers or dates")
        edges = np.linspace(known.min(), known.max(), int(bins) + 1)
        if not numeric:  # in whole days, or seconds if they are shorter
            unit = DAY if edges[-1] - edges[0] >= bins * DAY else 1.0
            edges = np.append(np.floor(edges[:-1] / unit), np.ceil(edges[-1] / unit)) * unit
    else:
        number_of = float if numeric else Dates("", argument("bins"), date_format).edge
        try:
            edges = np.array([number_of(edge) for edge in bins], np.float64)
        except (TypeError, ValueError, SettingError):
            edges = np.zeros(0)
        if len(edges) < 2 or not (np.diff(edges) > 0).all():
            raise SettingError(f"{setting}: give a number of bins, or two or more edges in ascending order")
    names: list[Any] = edges.tolist() if numeric else instant_texts(edges)

    def bin_of(value: Any) -> tuple[Any, Any] | None:
        number = value if numeric else dates.moment(value).instant
        if not edges[0] <= number <= edges[-1]:
            return None
        i = min(int(np.searchsorted(edges, number, side="right")) - 1, len(edges) - 2)
        return names[i], names[i + 1]  # the last bin includes its upper edge

    return bin_of


def _values(theta: Theta, column: str) -> np.ndarray:
    """A column of the documents that were asked for, (n,)."""
    documents = theta.documents if theta.chosen is None else theta.documents.at(np.flatnonzero(theta.chosen))
    return documents.read_column(column, order="stored")


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
        ids, stored = documents.document_ids(order="stored")[known], places[at[known]]
        order = np.argsort(stored)
        wrong = order[corpus.at(stored[order]).document_ids(order="stored") != ids[order]]
        if len(wrong):
            raise other_documents(ids[wrong[0]], wanted[known][wrong[0]])
        cuts, entries = take_segments(indptr, at[known])
        present, codes = np.unique(authors[entries], return_inverse=True)
        return np.repeat(known, np.diff(cuts)), codes, [names[i] for i in present.tolist()]

    return groups


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


def over_groups(
    theta: Theta, groups: Grouping, columns: Sequence[str], topics: Sequence[int] | None = None
) -> dict[str, Any]:
    """Shares of topics in all groups.

    Parameters
    ----------
    topics : only these; None for all

    Returns
    -------
    groups : (n_groups,) ascending; of several columns, tuples
    n_documents : int64 (n_groups,)
    share, standard_error : float64 (n_groups, n_topics); the error of a group of one document is nan
    n_without : documents in none of the groups

    Raises
    ------
    SettingError
        When there are more groups than fit in memory.
    """
    from scipy.sparse import csr_matrix

    index: dict[Any, int] = {}
    n_topics = theta.n_components if topics is None else len(topics)
    sums, squares = (np.zeros((0, n_topics)) for _ in range(2))
    numbers, n_without = np.zeros(0, np.int64), 0
    for positions, shares in theta.batches("grouping"):
        documents, local, names = groups(positions)
        n_without += len(positions) - len(np.unique(documents))
        codes = np.array([index.setdefault(name, len(index)) for name in names], np.int64)
        if len(index) * n_topics > MOST_CELLS:
            raise SettingError(
                f"column {' and '.join(map(repr, columns))} has {len(index):,} groups or more, too many for "
                f"{n_topics} topics; "
                "give freq for dates, bins for numbers, or where for fewer documents"
            )
        shares = shares if topics is None else shares[:, topics]
        sums, squares, numbers = (_grown(values, len(index)) for values in (sums, squares, numbers))
        members = csr_matrix((np.ones(len(local)), (local, documents)), shape=(len(names), len(positions)))
        np.add.at(sums, codes, (members @ shares).toarray())
        np.add.at(squares, codes, (members @ shares.power(2)).toarray())
        np.add.at(numbers, codes, np.bincount(local, minlength=len(names)))
    order = sorted(index, key=_sortable)
    at = np.array([index[name] for name in order], np.int64)
    n = numbers[at, None]
    share = sums[at] / n
    with np.errstate(invalid="ignore", divide="ignore"):
        error = np.sqrt(np.maximum(squares[at] / n - share**2, 0) / (n - 1))
    return {
        "groups": order,
        "n_documents": numbers[at],
        "share": share,
        "standard_error": error,
        "n_without": n_without,
    }


def shares_of_groups(found: Mapping[str, Any], column: str, freq: str) -> GroupShares:
    """What `over_groups` returns for one column, with the years of its periods.

    Raises
    ------
    SettingError
        When `freq` is given and the groups are authors.
    """
    try:
        years = np.array([year_of(period) for period in found["groups"]]) if freq else None
    except ValueError:
        raise SettingError(
            f"column {column!r}: authors are not dates; name a column of dates, or group by authors without periods"
        ) from None
    return GroupShares(column, freq, years=years, n_groups=len(found["groups"]), **found)


def _sortable(group: Any) -> Any:
    """Groups of one type are sorted by their values, groups of several columns by one column after the other."""
    return [*map(_sortable, group)] if isinstance(group, tuple) else (str(type(group)), group)


def _grown(values: np.ndarray, n_rows: int) -> np.ndarray:
    """The sums with room for more groups."""
    if n_rows <= len(values):
        return values
    grown = np.zeros((2 * n_rows, *values.shape[1:]), values.dtype)
    grown[: len(values)] = values
    return grown
