"""AnnData: `.h5ad` files, `.zarr` groups, and objects in memory. X, a layer or raw holds the counts, `obs_names` the
documents' ids, `var_names` the words; the columns of `obs` are kept.

CSR and dense counts are read in runs of rows; CSC is read into memory, because its rows are scattered.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk, Options
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.groups import is_hdf5, is_zarr, members, open_group
from bigtopic.corpus.readers.containers.stored_matrix import (
    StoredMatrix,
    columns_in_memory,
    first_values,
    loaded,
    stored_rows,
)
from bigtopic.corpus.readers.support.assemble import author_csr, check_counts
from bigtopic.corpus.readers.support.columns import column, id_texts, series_values
from bigtopic.corpus.readers.support.matrix import check_width, matrix_block, row_ranges
from bigtopic.corpus.readers.support.vocabulary import unique_words
from bigtopic.corpus.readers.tables.roles import choose
from bigtopic.corpus.readers.tables.sample import AUTHORS
from bigtopic.corpus.sparse import checked_csr
from bigtopic.errors import InputError, SettingError, argument, did_you_mean, either, require

__all__ = ["accepts", "match", "open_reader", "opens_folders"]

opens_folders = True


def match(file: File) -> float:
    """An HDF5 file, or a folder that is a Zarr group with AnnData's encoding."""
    if is_zarr(file):
        return 1.0
    return 0.9 if is_hdf5(file) else 0.0


_OPENED = either("open it with open_corpus. To", "give it to the other verbs as it is. In Python, to")


def accepts(source: Any) -> bool:
    return type(source).__module__.split(".")[0] == "anndata" and hasattr(source, "obs")


def open_reader(source: Any, options: Options) -> AnnDataReader:
    place = _Place.of(options)
    if accepts(source):
        if source.isbacked:
            return _open_stored(File(str(source.filename)), place, options)
        return _open_object(source, place, options)
    for file in source:
        _refuse_corpus(file)
    if len(source) > 1:
        raise InputError(
            f"{source[1].path}: only one AnnData store can be read at a time; ingest one and append the others"
        )
    return _open_stored(source[0], place, options)


def _refuse_corpus(file: File) -> None:
    """Check that a store is not a corpus, before a package to read it is asked for."""
    if not is_zarr(file):
        return
    with open_group(file, "X") as group:
        if "bigtopic" in group.attrs:
            raise InputError(
                f"{file.path} is already a corpus; {_OPENED} store some of its documents or words "
                "as another one, pass what its select or filter_vocabulary returns to bigtopic.ingest"
            )


@dataclass(frozen=True)
class _Place:
    """Where the counts are. path : in a store; words : path of the table of their words"""

    path: str = "X"
    words: str = "var"

    @classmethod
    def of(cls, options: Options) -> _Place:
        if options.layer is not None and options.use_raw:
            raise SettingError(
                f"{argument('layer', options.layer)} and {argument('use_raw', True)} are two sources; choose one"
            )
        if options.layer is not None:
            return cls(f"layers/{options.layer}")
        return cls("raw/X", "raw/var") if options.use_raw else cls()

    def check(self, name: str, layers: Iterable[str], has_raw: bool) -> None:
        """Refuse a layer, or raw counts, that are not there."""
        layer = self.path.partition("layers/")[2]
        if layer and layer not in layers:
            known = ", ".join(map(repr, layers)) or "none"
            raise SettingError(
                f"{argument('layer', layer)}: {name} has no such layer; it has "
                f"{known}{did_you_mean(layer, list(layers))}"
            )
        if self.words == "raw/var" and not has_raw:
            raise SettingError(
                f"{argument('use_raw', True)}: {name} has no raw; leave it out, or name a layer with "
                f"{argument('layer', ...)}"
            )


def _open_object(source: Any, place: _Place, options: Options) -> AnnDataReader:
    name, layers, raw = "the AnnData object", sorted(source.layers), source.raw
    place.check(name, layers, raw is not None)
    if place.words == "raw/var":
        return _reader(name, place, raw.X, source.obs, raw.var_names, options)
    x = source.X if place.path == "X" else source.layers[place.path.partition("/")[2]]
    others = {argument("layer", layer): source.layers[layer] for layer in layers}
    others |= {} if raw is None else {argument("use_raw", True): raw.X}
    if x is None:
        raise _without_x(name, others)
    _refuse_normalised(
        name, place, first_values(x), {how: first_values(x) for how, x in others.items()}, options
    )
    return _reader(name, place, x, source.obs, source.var_names, options)


def _open_stored(file: File, place: _Place, options: Options) -> AnnDataReader:
    read, name = require("anndata.io", "anndata").read_elem, file.path
    with open_group(file, place.path, ("obs", place.words)) as group, warnings.catch_warnings():
        # An old encoding is read as well as a new one
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        if "obs" not in group or "var" not in group:
            raise InputError(f"{name} is not an AnnData store: it lacks X, obs or var")
        layers = members(file, group, "layers")
        has_raw = "X" in members(file, group, "raw")
        place.check(name, layers, has_raw)
        others = {argument("layer", layer): f"layers/{layer}" for layer in layers}
        others |= {argument("use_raw", True): "raw/X"} if has_raw else {}
        if place.path not in group:
            raise (
                _without_x(name, others)
                if others
                else InputError(f"{name} is not an AnnData store: it lacks X, obs or var")
            )
        obs, words, x = read(group["obs"]), read(group[place.words]).index, group[place.path]
        if place == _Place():
            values = first_values(x)
            if check_counts(values, options.weights):
                samples = {how: _sample(file, path) for how, path in others.items()}
                _refuse_normalised(name, place, values, samples, options)
        kind = x.attrs.get("encoding-type")
        if kind == "csr_matrix":
            return _reader(name, place, stored_rows(file, place.path, x, _shape(x)), obs, words, options)
        if kind == "csc_matrix":
            in_memory = columns_in_memory(place.path, x, _shape(x), name)
            return _reader(name, place, in_memory, obs, words, options)
        return _reader(name, place, StoredMatrix(file, place.path, x.shape), obs, words, options)


def _shape(x: Any) -> tuple[int, int]:
    shape = np.asarray(x.attrs["shape"])
    if shape.shape != (2,) or shape.dtype.kind not in "iu":
        raise ValueError(f"X has shape {x.attrs['shape']}")
    n_rows, n_columns = map(int, shape)
    return n_rows, n_columns


def _sample(file: File, path: str) -> np.ndarray:
    """The first values of another matrix in a store; none where it cannot be read."""
    try:
        with open_group(file, path, whole=False) as group:
            return first_values(group[path])
    except InputError:
        return np.zeros(0)


def _without_x(name: str, others: Iterable[str]) -> InputError:
    where = f"pass {' or '.join(others)}" if others else "put the counts there (adata.X = counts)"
    return InputError(f"{name} has no X; {where}")


def _refuse_normalised(
    name: str, place: _Place, values: np.ndarray, others: Mapping[str, np.ndarray], options: Options
) -> None:
    """Refuse an X that does not hold counts where something beside it does."""
    if place != _Place() or not (found := _wrong(values, options.weights)):
        return
    counts = [how for how, values in others.items() if len(values) and not _wrong(values, False)]
    if counts:
        raise InputError(
            f"X of {name} holds {found[1]} values, such as {values.flat[found[0]]:g}: it is normalised or scaled; "
            f"whole counts are stored beside it: pass {' or '.join(counts)}"
        )


def _wrong(values: np.ndarray, weights: bool) -> tuple[int, str] | None:
    """What makes these no counts; of what is not even a number, another check speaks."""
    return check_counts(values.ravel(), weights) if values.dtype.kind in "iufb" else None


def _reader(name: str, place: _Place, x: Any, obs: Any, words: Any, options: Options) -> AnnDataReader:
    what = f"{place.path} of {name}"
    vocabulary = options.vocabulary or _words(list(map(str, words)), name)
    check_width(x.shape, vocabulary, what)
    if len(x.shape) != 2 or x.shape[0] != len(obs):
        raise InputError(f"{what} has shape {x.shape}, but obs has {len(obs)} documents; write it again")
    if not obs.columns.is_unique:
        twice = str(obs.columns[obs.columns.duplicated()][0])
        raise InputError(f"obs of {name} has two columns {twice!a}; rename one of them")
    x = checked_csr(x, what) if hasattr(x, "tocsr") else x
    stream = AnnDataStream(what, x, obs, options)
    return AnnDataReader(
        stream,
        vocabulary,
        x.shape[0],
        options.weights,
        options.author_separator,
        taken={"counts": place.path},
    )


def _words(words: list[str], name: str) -> list[str]:
    try:
        return unique_words(words, f"var_names of {name}")
    except InputError as error:
        raise InputError(
            f"{error.message}: call adata.var_names_make_unique(), or name them by an id"
        ) from None


@dataclass(frozen=True)
class AnnDataStream:
    name: str
    x: Any
    obs: Any
    options: Options

    def chunks(self) -> Iterator[Chunk]:
        names = list(self.obs.columns)
        authors = choose(self.options.author_column, AUTHORS, names, "column of obs", self.name)
        for start, stop in row_ranges(getattr(self.x, "indptr", None), *self.x.shape):
            data = (self.x[start:stop], self.obs.iloc[start:stop], authors)
            yield Chunk(self.name, stop - start, start, stop, data, first_row=start, n_docs=stop - start)


@dataclass
class AnnDataReader:
    stream: AnnDataStream | None
    vocabulary: list[str]
    size: int
    weights: bool = False
    author_separator: str | None = None
    name: str = "anndata"
    unit: str = "docs"
    taken: Mapping[str, str] = field(default_factory=dict)

    @property
    def n_words(self) -> int:
        return len(self.vocabulary)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "stream": None}

    def streams(self) -> list[AnnDataStream]:
        assert self.stream is not None
        return [self.stream]

    def parse(self, chunk: Chunk) -> RawBlock:
        rows, obs, author_column = chunk.data
        first = chunk.first_row or 0
        block = matrix_block(loaded(rows), weights=self.weights, name=chunk.name, first_row=first)

        def place(i: int) -> str:
            return f"{chunk.name}, row {first + i}"

        columns = {
            str(name): column(series_values(obs[name]), str(name), place)
            for name in obs.columns
            if name != author_column
        }
        block = replace(block, ids=id_texts(obs.index), columns=columns)
        if author_column is None:
            return block
        values = list(obs[author_column])
        return replace(block, **author_csr(values, place, self.author_separator)._asdict())
