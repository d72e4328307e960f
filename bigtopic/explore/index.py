"""The index of an exploration: what its answers need of all documents, made once and kept in a folder.

FOLDER/<hash of model, topics and corpus>/
  theta.zarr          topics of the documents, where they were not given
  index/              complete or absent; any number of processes may make it at the same time
    index.json        version, what it is of, and the columns
    documents.sqlite  ids, and words of texts, see `texts`
    columns/          codes of the columns, see `columns`, and of authors, see `authors`
    tally/            figures of the topics, see `tally`
    rows.npy          int64 (n_docs,), source rows
    to_corpus.npy, to_theta.npy    where each document of the store is in the corpus, and the other way round
    topics.npz        similarity of the topics, unless they are lists, and their places on a map
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError, StoreError, argument
from bigtopic.explore.authors import NAME, read_authors, stored_authors
from bigtopic.explore.cached import keep_newest, opened_now
from bigtopic.explore.columns import Column, coded, time_column
from bigtopic.explore.mapped import new_array
from bigtopic.explore.tally import Tally, load_tally, save_tally, tally
from bigtopic.explore.texts import Texts, write_ids, write_texts
from bigtopic.explore.topics import likeness
from bigtopic.parallel.progress import Progress
from bigtopic.questions.documents import other_documents
from bigtopic.state.identity import model_identity
from bigtopic.storage.local import cache_folder, store_errors
from bigtopic.storage.output_file import drafted
from bigtopic.storage.place import Place

__all__ = ["Index", "index_of"]

VERSION = 3
MOST_CELLS = 1 << 24  # topics times groups of all columns: 256 MiB for two sums in float64
_MEMBERS = (
    "index.json", "documents.sqlite", "columns", "tally", "rows.npy", "to_corpus.npy", "to_theta.npy", "topics.npz",
)  # fmt: skip
_STEP = 1 << 18  # documents that are read at once
_COMPARED = 100  # ids of each part of a corpus
_SAMPLED = 1000  # documents of a store behind a URL

Opener = Callable[[Any], Any]


@dataclass(frozen=True)
class Index:
    """An index that is open.

    Attributes
    ----------
    path : its folder
    store : the topics of the documents, as `open_topics` gives them
    prior : shares of documents without a known word, see `TopicModel.shares_without_words`
    corpus : the documents; None without one
    columns : `Column` of each
    summed : the columns of the sums of the tally, first the one of dates, last the authors
    texts : ids and words
    tally : figures of the model's topics
    rows, to_corpus, to_theta : see the module; the last two are None without a corpus
    likeness : of the topics, see `topics.likeness`
    """

    path: Path
    store: Any
    prior: np.ndarray | None
    corpus: Corpus | None
    columns: list[Column]
    summed: list[Column]
    texts: Texts
    tally: Tally
    rows: np.ndarray
    to_corpus: np.ndarray | None
    to_theta: np.ndarray | None
    likeness: tuple[np.ndarray | None, np.ndarray]

    @property
    def time(self) -> Column | None:
        """The column of dates whose sums are known."""
        return next((column for column in self.summed if column.is_date), None)

    def sums_of(self, name: str) -> int | None:
        """Which sums of a tally are of a column; None if there are none."""
        return next((i for i, column in enumerate(self.summed) if column.name == name), None)

    def close(self) -> None:
        self.texts.close()


def index_of(model: Any, corpus: Corpus | None, theta: Any, open_theta: Opener, folder: Any = None) -> Index:
    """Open the index of a model and documents, which is made first where there is none.

    Parameters
    ----------
    model : an estimator
    corpus : the documents; None for none
    theta : topics of the documents; None has them inferred, which takes the corpus, and written to the folder
    open_theta : opens topics of this model
    folder : of all indexes; None for one in the user's cache, see `cached`

    Raises
    ------
    SettingError
        When neither a corpus nor topics are given, there are no documents, or the two do not belong together.
    StoreError
        When the system refuses a write.
    """
    if corpus is None and theta is None:
        raise SettingError("give X, a corpus of documents, or theta, a store that transform_to wrote")
    kept = Place.of(cache_folder("explore") if folder is None else folder)
    if not kept.local:
        raise SettingError(
            f"{argument('index', folder)}: an index is mapped into memory; give a folder on this machine"
        )
    root = Path(kept.url)
    if theta is None:
        store, place = _inferred(model, corpus, open_theta, root)
    else:
        store = open_theta(theta)
        place = root / _hash(model, corpus, _identity(store))
    if not store.n_docs:
        raise SettingError(f"{argument('theta')}: {store.url} has no documents; write the topics of some")
    path, about = place / "index", _hash(model, corpus, _identity(store))
    found = _opened(path, about, model, store, corpus)
    if found is None:
        _make(place)
        check = partial(_check_members, path)
        with store_errors("written", str(path)), drafted(Place.of(path), _MEMBERS, check) as draft:
            _write(Path(draft.url), about, model, store, corpus)
        if folder is None:
            keep_newest(kept, _MEMBERS)
        found = _opened(path, about, model, store, corpus)
    if found is None:
        raise StoreError(
            f"{path} cannot be read though it was just written; give another folder for the index"
        )
    opened_now(path)
    return found


def _make(place: Path) -> None:
    """Make a folder that other users cannot read: it will hold the words of texts."""
    with store_errors("made", str(place)):
        place.mkdir(0o700, parents=True, exist_ok=True)


def _hash(model: Any, corpus: Corpus | None, theta: Any) -> str:
    """32 hexadecimal digits of what an index is of."""
    documents = None
    if corpus is not None:
        authors = corpus.author_vocabulary  # names are not in the fingerprint of documents
        names = None if authors is None else authors.fingerprint
        documents = [corpus.fingerprint, corpus.has_text, corpus.has_ids, names]
    parts = [VERSION, model_identity(model._fitted()), documents, theta]
    return hashlib.blake2b(json.dumps(parts, sort_keys=True).encode(), digest_size=16).hexdigest()


def _identity(store: Any) -> Any:
    """What tells a store of topics from others, and from itself before a change."""
    place = Place.of(store.url)
    if place.local:
        root = Path(place.url)
        files = sorted(file for file in root.rglob("*") if file.is_file())
        states = [(file, file.stat()) for file in files]
        return [str(root.resolve())] + [
            [str(file.relative_to(root)), state.st_size, state.st_mtime_ns] for file, state in states
        ]
    n = min(_SAMPLED, store.n_docs)
    ids = [store.read_documents("document_id", start, start + n).tolist() for start in (0, store.n_docs - n)]
    return [store.url, store.n_docs, store.n_entries, store.made_with, ids]


def _inferred(model: Any, corpus: Any, open_theta: Opener, root: Path) -> tuple[Any, Path]:
    """The topics of a corpus, inferred unless they are there, and the folder they are in."""
    place = root / _hash(model, corpus, "inferred")
    path = place / "theta.zarr"
    if not path.exists():
        _make(place)
        model.transform_to(corpus, path, overwrite=True)
    return open_theta(path), place


def _check_members(path: Path) -> None:
    """Refuse to replace a folder that has other files than an index."""
    others = [name for name in Place.of(path).names() if name not in _MEMBERS]
    if others or (path.exists() and not path.is_dir()):
        raise StoreError(
            f"{path} holds {others[0] if others else 'a file'!r}, which does not belong to an index, and is not "
            "replaced; move that away, or give another folder for the index"
        )


# ------------------------------------------------------------------ writing


def _write(folder: Path, about: str, model: Any, store: Any, corpus: Corpus | None) -> None:
    """Write an index to a new folder, its description last."""
    (folder / "columns").mkdir(parents=True)
    (folder / "tally").mkdir()
    documents, n_docs = store.documents, store.n_docs

    def bar(what: str, times: int = 1) -> Progress:
        return Progress(what, n_docs * times, " docs", model.progress)

    with bar("reading columns", len(documents.columns)) as shown:
        most = MOST_CELLS // store.n_components
        columns = coded(documents, folder / "columns", most, shown.update)
    summed = _summed(columns, most)
    with bar("reading ids") as shown:
        rows = new_array(folder / "rows.npy", np.int64, n_docs)
        write_ids(folder / "documents.sqlite", _ids(documents, rows), shown.update)
    if corpus is not None:
        to_corpus, to_theta = _matched(rows, corpus)
        with closing(Texts(folder / "documents.sqlite")) as known:
            _check_same(to_theta, known, corpus)
        np.save(folder / "to_corpus.npy", to_corpus)
        np.save(folder / "to_theta.npy", to_theta)
        if corpus.authors and NAME not in documents.columns:
            with Progress("reading authors", corpus.n_docs, " docs", model.progress) as shown:
                summed += _fitting(
                    most, summed, read_authors(corpus, to_corpus, folder / "columns", shown.update)
                )
        with Progress("indexing texts", corpus.n_docs, " docs", model.progress) as shown:
            write_texts(folder / "documents.sqlite", corpus, shown.update)
    with bar("adding up topics") as shown:
        columns_to_sum, prior = [column.numbered for column in summed], model._fitted().shares_without_words
        save_tally(folder / "tally", tally(store, prior, columns_to_sum, shown.update))
    alike, places = likeness(model.topic_source())
    arrays: dict[str, Any] = {"places": places} | ({} if alike is None else {"similarity": alike})
    np.savez(folder / "topics.npz", **arrays)
    described = {
        "version": VERSION,
        "of": about,
        "columns": [column.described() for column in columns],
        "summed": [column.name for column in summed if column.indptr is None],
        "authors": next((column.described() for column in summed if column.indptr is not None), None),
    }
    (folder / "index.json").write_text(json.dumps(described), encoding="utf-8")


def _summed(columns: list[Column], most: int) -> list[Column]:
    """The columns whose sums are kept: the time, then groups in order, at most so many values in all."""
    time, found = time_column(columns), list[Column]()
    for column in [*([] if time is None else [time]), *(one for one in columns if one.has_groups)]:
        found += _fitting(most, found, column)
    return found


def _fitting(most: int, summed: Sequence[Column], column: Column) -> list[Column]:
    """The column, if it and those before it have at most so many values together."""
    return [column] if sum(len(one.values or ()) for one in (*summed, column)) <= most else []


def _ids(documents: Corpus, rows: np.ndarray) -> Any:
    """Ids of the documents by batch, with the position of the first; fills their source rows."""
    (part,) = documents.parts
    for start in range(0, part.n_docs, _STEP):
        stop = min(start + _STEP, part.n_docs)
        rows[start:stop] = part.rows(start, stop)
        yield start, [str(name) for name in part.ids(start, stop).tolist()]


def _matched(rows: np.ndarray, corpus: Corpus) -> tuple[np.ndarray, np.ndarray]:
    """Where each document of the store is in the corpus, int32 (n_docs,), and the other way round; -1 for nowhere.

    Raises
    ------
    SettingError
        When the corpus has none of the rows.
    """
    theirs = corpus.rows(order="stored")
    order = np.argsort(theirs, kind="stable").astype(np.int32)
    to_corpus, to_theta = np.full(len(rows), -1, np.int32), np.full(len(theirs), -1, np.int32)
    for start in range(0, len(rows) if len(theirs) else 0, _STEP):
        own = np.asarray(rows[start : start + _STEP])
        at = order[np.minimum(np.searchsorted(theirs, own, sorter=order), len(theirs) - 1)]
        known = np.flatnonzero(theirs[at] == own)
        to_corpus[start + known] = at[known]
        to_theta[at[known]] = start + known
    if not (to_corpus >= 0).any():
        raise SettingError(
            f"{argument('theta')}: none of its documents is in the corpus; give the corpus that it was written from"
        )
    return to_corpus, to_theta


def _check_same(to_theta: np.ndarray, known: Texts, corpus: Corpus) -> None:
    """Compare the ids of the first documents of each part of a corpus with the store's.

    Raises
    ------
    SettingError
        When another document has the place of one.
    """
    first = 0
    for part in corpus.parts:
        n = min(_COMPARED, part.n_docs)
        positions, names = to_theta[first : first + n], part.ids(0, n)
        there = np.flatnonzero(positions >= 0)
        for i, other in zip(there.tolist(), known.ids(positions[there].tolist()), strict=True):
            if other != str(names[i]):
                raise other_documents(other, int(part.rows(i, i + 1)[0]))
        first += part.n_docs


# ------------------------------------------------------------------ opening


def _opened(path: Path, about: str, model: Any, store: Any, corpus: Corpus | None) -> Index | None:
    """The index in a folder; None when there is none of this content and version, or it is damaged."""
    try:
        described = json.loads((path / "index.json").read_text(encoding="utf-8"))
        if not isinstance(described, Mapping) or (described["version"], described["of"]) != (VERSION, about):
            return None
        columns = [_column(path, i, one) for i, one in enumerate(described["columns"])]
        named = {column.name: column for column in columns}
        summed = [named[name] for name in described["summed"]]
        if described["authors"] is not None:
            summed.append(stored_authors(described["authors"], path / "columns"))
        figures = load_tally(path / "tally", len(summed))
        rows = np.load(path / "rows.npy", mmap_mode="r", allow_pickle=False)
        to_corpus = to_theta = None
        if corpus is not None:
            to_corpus, to_theta = (
                np.load(path / f"{name}.npy", mmap_mode="r", allow_pickle=False)
                for name in ("to_corpus", "to_theta")
            )
        with np.load(path / "topics.npz", allow_pickle=False) as topics:
            alike, on_map = topics.get("similarity"), topics["places"]
        coded_ones = [column.codes for column in columns if column.codes is not None]
        coded_ones += [column.indptr[1:] for column in summed if column.indptr is not None]
        lengths = {len(own) for own in (rows, figures.largest, *coded_ones)}
        if lengths != {store.n_docs} or len(on_map) != store.n_components:
            return None
        texts = Texts(path / "documents.sqlite")
    except (OSError, ValueError, KeyError, TypeError, EOFError, sqlite3.Error):
        return None
    prior = model._fitted().shares_without_words
    return Index(
        path,
        store,
        prior,
        corpus,
        columns,
        summed,
        texts,
        figures,
        rows,
        to_corpus,
        to_theta,
        (alike, on_map),
    )


def _column(path: Path, number: int, described: Mapping[str, Any]) -> Column:
    codes = None
    if described["values"] is not None:
        codes = np.load(path / "columns" / f"{number}.npy", mmap_mode="r", allow_pickle=False)
    return Column.of(described, codes)
