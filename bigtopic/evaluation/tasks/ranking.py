"""Rankings by a model: of the authors (or tags) of held-out documents, and of the held-out items of rows.

    author-topic model    authors a by  p(document | {a}) = prod_v ( sum_k beta_kv theta_ak )^c_v
    dual topic model      columns c by  p(c | row), without the columns that the row has in training

The true ones of a document are its authors that the model knows; of a row, its held-out columns. Of n candidates:

    first rank        rank of the best true one, from 1
    reciprocal rank   1 / first rank; its mean is the MRR
    precision@k       true ones among the first k, divided by k
    recall@k          true ones among the first k, divided by all true ones

Means are over documents, or rows, which also give the standard errors. Candidates with equal values have the
expectation over all their orders, so that a ranking that says nothing has the score of chance, however candidates are
numbered; values are compared as float32. The baseline ranks by popularity: in how many training documents, or rows, a
candidate is.

Cost: distinct words x authors x topics of each document; columns x topics of each row. Memory of `rank_items`: 8 bytes
x columns x column topics for each thread.

References
----------
Rosen-Zvi, Griffiths, Steyvers, Smyth: The author-topic model for authors and documents. UAI 2004.
McSherry, Najork: Computing information retrieval performance measures efficiently in the presence of tied scores. ECIR
2008 (ties).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import WITH_AUTHORS, InputError, SettingError, argument, either
from bigtopic.evaluation.base import Result, with_error
from bigtopic.evaluation.held_out import mean_and_error
from bigtopic.evaluation.records import RecordDistribution, dual_model_of, record_distribution_of
from bigtopic.evaluation.subject import (
    CorpusOrPath,
    documents_of,
    in_source_order,
    learned_model,
    over_blocks,
)
from bigtopic.inference.authors import MappedModel, candidates, known_tokens, likeliest
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.parallel.cluster import resolve_client
from bigtopic.parallel.shared_files import corpus_in_reach
from bigtopic.state.axes import mapping
from bigtopic.support.numbers import is_whole
from bigtopic.types import Block
from bigtopic.wording import counted

__all__ = ["RankingScore", "rank_authors", "rank_items"]

_CELLS = 1 << 22  # documents x authors whose values are in memory


@dataclass(frozen=True)
class RankingScore(Result):
    """How well a ranking finds the true authors or items. See the module for the formulas.

    Attributes
    ----------
    k : length of the list for precision and recall
    n_candidates : that are ranked; the largest number of any row where training columns are left out
    n_omitted : documents or rows left out, because the model knows none of their true ones, or none of their words
    rows : int64 (n,), source rows of the documents or rows, in source order
    first_rank, reciprocal_rank, precision, recall : float64 (n,), of each
    popularity : the same by popularity, or None where the training frequencies are unknown
    """

    k: int
    n_candidates: int
    n_omitted: int
    rows: np.ndarray = field(repr=False)
    first_rank: np.ndarray = field(repr=False)
    reciprocal_rank: np.ndarray = field(repr=False)
    precision: np.ndarray = field(repr=False)
    recall: np.ndarray = field(repr=False)
    popularity: RankingScore | None = field(default=None, repr=False)

    reported: ClassVar[tuple[str, ...]] = (
        "value", "standard_error", "scores", "popularity_scores", "k", "n_docs", "n_candidates", "n_omitted",
    )  # fmt: skip

    @property
    def value(self) -> float:  # type: ignore[override]
        """Mean reciprocal rank."""
        return float(self.reciprocal_rank.mean())

    @property
    def standard_error(self) -> float:
        """Standard error of `value`, over documents or rows."""
        return mean_and_error(self.reciprocal_rank)[1]

    @property
    def n_docs(self) -> int:
        """Documents or rows that are ranked."""
        return len(self.rows)

    @property
    def scores(self) -> dict[str, tuple[float, float]]:
        """{name: (mean, standard error)}: "reciprocal rank", "precision@k", "recall@k", "first rank"."""
        return {name: mean_and_error(values) for name, values in self._named().items()}

    @property
    def popularity_scores(self) -> dict[str, tuple[float, float]] | None:
        """`scores` of the ranking by popularity."""
        return None if self.popularity is None else self.popularity.scores

    @property
    def baselines(self) -> Mapping[str, float]:
        return {} if self.popularity is None else {"popularity": self.popularity.value}

    def minus(self, other: RankingScore) -> dict[str, tuple[float, float]]:
        """Differences of the `scores`, {name: (difference, standard error)}, paired by document or row.

        Examples
        --------
        `found.minus(found.popularity)` says whether a model ranks better than popularity does.

        Raises
        ------
        SettingError
            When the two rank for other documents or rows, other candidates, or have another k.
        """
        same = self.k == other.k and self.n_candidates == other.n_candidates
        if not same or not np.array_equal(self.rows, other.rows):
            raise SettingError(
                "other: ranks for other documents or rows, other candidates, or has another k; rank the same ones"
            )
        pairs = zip(self._named().items(), other._named().values(), strict=True)
        return {name: mean_and_error(mine - theirs) for (name, mine), theirs in pairs}

    def text(self) -> str:
        return f"{super().text()} mean reciprocal rank"

    def details(self) -> dict[str, str]:
        beside = self.popularity_scores or {}
        lines = {
            name: with_error(mean, error) + (f" (popularity {beside[name][0]:.4f})" if beside else "")
            for name, (mean, error) in self.scores.items()
        }
        return {**lines, "ranked": f"{counted(self.n_candidates, 'candidate')}, {self.n_docs:,} times"}

    def __repr__(self) -> str:
        lines = ", ".join(f"{name} {text}" for name, text in self.details().items())
        return f"RankingScore({lines})"

    def _named(self) -> dict[str, np.ndarray]:
        return {
            "reciprocal rank": self.reciprocal_rank,
            f"precision@{self.k}": self.precision,
            f"recall@{self.k}": self.recall,
            "first rank": self.first_rank,
        }


def rank_authors(
    model: Any, corpus: CorpusOrPath, k: int = 5, client: Any = None, n_threads: int | None = None
) -> RankingScore:
    """Rank all authors, or tags, for each held-out document, and find its own among the first.

    Parameters
    ----------
    model : a fitted `AuthorTopicModel`
    corpus : held-out documents with authors, or the path of their corpus; words and authors are matched by name
    k : length of the list for precision and recall
    client, n_threads : see `measure`

    Returns
    -------
    RankingScore

    Raises
    ------
    SettingError
        When `model` has no authors, or `k` is not between 1 and their number.
    InputError
        When the documents have no authors, or the model knows none of them.
    """
    known = learned_model(model)
    if known is None or AUTHOR_TOPICS not in known.params.arrays:
        raise SettingError(
            f"{argument('model')}: {type(model).__name__} has no authors; "
            + either(
                "give a fitted AuthorTopicModel, or ask rank_items of a DualTopicModel, log_predictive of other models",
                "give a model of authors ('bigtopic train --method author-vb'), or ask 'bigtopic task items' of dual "
                "topics, 'bigtopic evaluate' of other models",
            )
        )
    corpus = documents_of(corpus)
    if corpus.author_vocabulary is None:
        raise InputError(f"{argument('corpus')}: its documents have no authors; {WITH_AUTHORS}")
    n_candidates = len(candidates(known, 1))
    _check_k(k, n_candidates, "authors")
    of_block = partial(_authors_of_block, MappedModel.of(known, corpus), n_candidates, k)
    arrays = in_source_order(over_blocks(of_block, corpus, "ranking", client, n_threads))
    popular = known.axes["author"].document_frequency is not None
    nothing = f"{argument('corpus')}: the model knows no document's authors and words; give documents of its authors"
    return _result(arrays, k, popular, nothing)


def rank_items(
    model: Any,
    records: CorpusOrPath,
    train: CorpusOrPath | None = None,
    k: int = 10,
    client: Any = None,
    n_threads: int | None = None,
) -> RankingScore:
    """Rank the columns for each row of a dual topic model, and find its held-out ones among the first.

    Parameters
    ----------
    model : a fitted `DualTopicModel`
    records : held-out records, or the path of their corpus, as `split_records` makes them; rows are matched by their
        row in the source, columns by name
    train : the records that the model learned from, or their path: columns that a row has there are neither ranked nor
        true. None ranks all columns
    k : length of the list for precision and recall
    client, n_threads : see `measure`

    Returns
    -------
    RankingScore

    Raises
    ------
    SettingError
        When `model` is not a dual topic model, or `k` is not between 1 and the number of columns.
    InputError
        When a row is not one of the model's, or no row has a held-out column that the model knows and training lacks.
    ClusterError
        When workers cannot open the stored records.
    """
    known = dual_model_of(model)
    pairs = record_distribution_of(known)
    records = documents_of(records, "records")
    train = None if train is None else documents_of(train, "train")
    _check_k(k, pairs.column_topics.n_rows, "columns")
    counts = known.vocabulary.document_frequency
    if counts is None and train is not None:
        ids = known.vocabulary.mapping_to(train.vocabulary)
        frequency = train.recounted().vocabulary.document_frequency
        assert frequency is not None
        counts = np.where(ids >= 0, frequency[ids], 0)
    items = _Items(pairs, counts, mapping(records.vocabulary, known.vocabulary), train, None, k)
    if train is not None:
        items = items._replace(train_map=mapping(train.vocabulary, known.vocabulary))
    of_block = partial(_items_of_block, items)
    with nullcontext() if train is None else corpus_in_reach(resolve_client(client), train):
        arrays = in_source_order(over_blocks(of_block, records, "ranking", client, n_threads))
    nothing = f"{argument('records')}: no row has a held-out column that the model knows and train lacks; give others"
    return _result(arrays, k, counts is not None, nothing)


def _check_k(k: Any, n: int, what: str) -> None:
    if not is_whole(k) or not 1 <= k <= n:
        raise SettingError(f"{argument('k', k)}: must be a whole number from 1 to the model's {n} {what}")


class _Items(NamedTuple):
    """State of `rank_items`: distributions, rows that have each column, and the ids of columns in the corpora."""

    pairs: RecordDistribution
    frequency: np.ndarray | None
    id_map: np.ndarray | None
    train: Corpus | None
    train_map: np.ndarray | None
    k: int


def _authors_of_block(asked: MappedModel, n_candidates: int, k: int, block: Block) -> tuple[np.ndarray, ...]:
    """Source row, number of candidates and scores, see `_both`, of each document; nan if it is not ranked."""
    scores = np.full((block.n_docs, 2, 4), np.nan)
    frequency = asked.model.axes["author"].document_frequency
    step = max(1, _CELLS // n_candidates)
    for start in range(0, block.n_docs, step):
        few = block[start : start + step]
        docs, axes = asked.docs(few)
        assert docs.author_indptr is not None and docs.authors is not None
        known = known_tokens(docs) > 0
        authors = docs.authors if axes["author"] is None else axes["author"][docs.authors]
        ranked = likeliest(asked, n_candidates, 1, few)
        for d in np.flatnonzero(known):
            ids = ranked.ids[d]
            true = np.isin(ids, authors[docs.author_indptr[d] : docs.author_indptr[d + 1]])
            if true.any():
                popularity = None if frequency is None else frequency[ids]
                scores[start + d] = _both(ranked.values[d], popularity, true, k)
    return block.rows, np.full(block.n_docs, n_candidates), scores


def _items_of_block(items: _Items, block: Block) -> tuple[np.ndarray, ...]:
    """The same of each row that has records."""
    pairs = items.pairs
    pairs.check(block)
    of_columns, of_rows = pairs.of_columns(), pairs.of_rows(block.rows) @ pairs.joint
    seen = _columns_of(items, block.rows)
    columns = block.words if items.id_map is None else items.id_map[block.words]
    n_candidates, scores = np.zeros(block.n_docs, np.int64), np.full((block.n_docs, 2, 4), np.nan)
    for d, row in enumerate(block.rows.tolist()):
        unseen = np.ones(len(of_columns), bool)
        unseen[seen.get(row, [])] = False
        own = columns[block.indptr[d] : block.indptr[d + 1]]
        true = np.zeros(len(of_columns), bool)
        true[own[own >= 0]] = True
        if (true & unseen).any():
            values = (of_columns @ of_rows[d])[unseen]
            popularity = None if items.frequency is None else items.frequency[unseen]
            n_candidates[d], scores[d] = len(values), _both(values, popularity, true[unseen], items.k)
    full = np.diff(block.indptr) > 0
    return block.rows[full], n_candidates[full], scores[full]


def _columns_of(items: _Items, rows: np.ndarray) -> dict[int, np.ndarray]:
    """The model's columns that these rows have in training."""
    if items.train is None:
        return {}
    found: dict[int, np.ndarray] = {}
    for block in items.train.select(rows=rows).blocks():
        columns = block.words if items.train_map is None else items.train_map[block.words]
        for row, own in zip(block.rows.tolist(), np.split(columns, block.indptr[1:-1]), strict=True):
            found[row] = own[own >= 0]
    return found


def _both(values: np.ndarray, frequency: np.ndarray | None, true: np.ndarray, k: int) -> list[Any]:
    """The scores of candidates by their values, see `_of_values`, and by their frequency where it is known."""
    by_frequency = np.zeros(len(values)) if frequency is None else frequency
    return [_of_values(values, true, k), _of_values(by_frequency, true, k)]


def _of_values(values: np.ndarray, true: np.ndarray, k: int) -> tuple[float, float, float, float]:
    """First rank, reciprocal rank, precision and recall at k, as expectations over the orders of equal values."""
    values = np.asarray(values, np.float32)
    ascending = np.sort(values)
    own = values[true]
    larger = len(values) - np.searchsorted(ascending, own, side="right")
    equal = len(values) - larger - np.searchsorted(ascending, own, side="left")
    found = np.clip((k - larger) / equal, 0, 1).sum()
    best = larger.min()
    n_equal, n_true = int(equal[larger.argmin()]), int((larger == best).sum())
    # The chance that the first of n_true true ones is the j-th of n_equal in random order, j from 1.
    before = np.arange(n_equal - n_true + 1)
    no_earlier = np.cumprod(np.append(1.0, ((n_equal - n_true - before) / (n_equal - before))[:-1]))
    chance = no_earlier * n_true / (n_equal - before)
    reciprocal = float((chance / (best + 1 + before)).sum())
    first = best + (n_equal + 1) / (n_true + 1)
    return float(first), reciprocal, float(found / k), float(found / len(own))


def _result(arrays: Sequence[np.ndarray], k: int, popular: bool, nothing: str) -> RankingScore:
    """The score of all documents or rows, in source order.

    Parameters
    ----------
    arrays : rows, candidates and scores, see `_authors_of_block`
    popular : whether frequencies are known
    nothing : the error where none is ranked
    """
    rows, n_candidates, scores = arrays
    ranked = ~np.isnan(scores[:, 0, 0])
    if not ranked.any():
        raise InputError(nothing)
    sizes = int(n_candidates[ranked].max()), int((~ranked).sum())

    def of(which: int, popularity: RankingScore | None = None) -> RankingScore:
        first, reciprocal, precision, recall = scores[ranked, which].T
        return RankingScore(k, *sizes, rows[ranked], first, reciprocal, precision, recall, popularity)

    return of(0, of(1) if popular else None)
