"""Counts of genes in cells: AnnData, and the files of 10x Genomics. A cell is a document, a gene a word.

`anndata`: `.h5ad` files, `.zarr` groups, and objects in memory. X, a layer or raw holds the counts, `obs_names` the
documents' ids, `var_names` the words; the columns of `obs` are kept. CSR and dense counts are read in runs of rows; CSC
is read into memory, because its rows are scattered.

`tenx`: a folder of Cell Ranger (`matrix.mtx`, `features.tsv` or `genes.tsv`, `barcodes.tsv`, compressed or not), or its
`.h5` file. Barcodes become ids. The matrix of a folder has genes in rows, so it is read into memory. In the `.h5` file,
entries come cell by cell, and it is read in runs of cells. Genes that share a name are named by their id.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from bigtopic.corpus.blocks import RawBlock
from bigtopic.corpus.readers.base import Chunk, Format, Options
from bigtopic.corpus.readers.containers.files import File, is_local_directory
from bigtopic.corpus.readers.containers.lines import all_lines
from bigtopic.corpus.readers.containers.stored_matrix import (
    StoredMatrix,
    columns_in_memory,
    first_values,
    is_hdf5,
    is_zarr,
    members,
    open_group,
    stored_rows,
)
from bigtopic.corpus.readers.formats.bag_of_words import read_transposed
from bigtopic.corpus.readers.formats.matrix import MatrixReader, MatrixStream, matrix_block
from bigtopic.corpus.readers.support.columns import column, id_texts, series_values
from bigtopic.corpus.readers.support.counts import author_csr, check_counts, check_width
from bigtopic.corpus.readers.support.header import AUTHORS
from bigtopic.corpus.readers.support.roles import choose
from bigtopic.corpus.readers.support.vocabulary import unique_words
from bigtopic.corpus.sparse import checked_csr
from bigtopic.errors import InputError, SettingError, argument, did_you_mean, either, require

__all__ = ["FORMATS"]

_OPENED = either("open it with open_corpus. To", "give it to the other verbs as it is. In Python, to")
_MATRIX = "matrix.mtx"
_NAMES = ((_MATRIX,), ("features.tsv", "genes.tsv"), ("barcodes.tsv",))
_GROUP = "matrix"


def _is_anndata(file: File) -> float:
    """An HDF5 file, or a folder that is a Zarr group with AnnData's encoding."""
    return 1.0 if is_zarr(file) else 0.9 if is_hdf5(file) else 0.0


def _accepts_anndata(source: Any) -> bool:
    return type(source).__module__.split(".")[0] == "anndata" and hasattr(source, "obs")


def _open_anndata(source: Any, options: Options) -> MatrixReader:
    path = _path(options)
    if _accepts_anndata(source):
        if source.isbacked:
            return _open_stored(File(str(source.filename)), path, options)
        return _open_object(source, path, options)
    for file in source:
        _refuse_corpus(file)
    return _open_stored(_only(source, "AnnData store"), path, options)


def _only(files: Sequence[File], what: str) -> File:
    if len(files) > 1:
        raise InputError(
            f"{files[1].path}: only one {what} can be read at a time; ingest one and append the others"
        )
    return files[0]


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


def _path(options: Options) -> str:
    """Where the counts are in a store: X, layers/NAME or raw/X."""
    if options.layer is None:
        return "raw/X" if options.use_raw else "X"
    if options.use_raw:
        raise SettingError(
            f"{argument('layer', options.layer)} and {argument('use_raw', True)} are two sources; choose one"
        )
    return f"layers/{options.layer}"


def _others(path: str, name: str, layers: Sequence[str], has_raw: bool) -> dict[str, str]:
    """Paths of counts beside X, by the arguments that choose them. Refuses a layer or raw that is not there."""
    layer = path.partition("layers/")[2]
    if layer and layer not in layers:
        known = ", ".join(map(repr, layers)) or "none"
        raise SettingError(
            f"{argument('layer', layer)}: {name} has no such layer; it has {known}{did_you_mean(layer, layers)}"
        )
    if path == "raw/X" and not has_raw:
        raise SettingError(
            f"{argument('use_raw', True)}: {name} has no raw; leave it out, or name a layer with "
            f"{argument('layer', ...)}"
        )
    others = {argument("layer", layer): f"layers/{layer}" for layer in layers}
    return {**others, argument("use_raw", True): "raw/X"} if has_raw else others


def _open_object(source: Any, path: str, options: Options) -> MatrixReader:
    name, raw = "the AnnData object", source.raw
    others = _others(path, name, sorted(source.layers), raw is not None)

    def counts(path: str) -> Any:
        return (
            source.X if path == "X" else raw.X if path == "raw/X" else source.layers[path.partition("/")[2]]
        )

    x = counts(path)
    if path == "raw/X":
        return _reader(name, path, x, source.obs, raw.var_names, options)
    if x is None:
        raise _without_x(name, others)
    if path == "X":
        samples = {how: partial(first_values, counts(other)) for how, other in others.items()}
        _refuse_normalised(name, first_values(x), samples, options)
    return _reader(name, path, x, source.obs, source.var_names, options)


def _open_stored(file: File, path: str, options: Options) -> MatrixReader:
    read, name = require("anndata.io", "anndata").read_elem, file.path
    words_path = "raw/var" if path == "raw/X" else "var"
    with open_group(file, path, ("obs", words_path)) as group, warnings.catch_warnings():
        # An old encoding is read as well as a new one
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        lacks = InputError(f"{name} is not an AnnData store: it lacks X, obs or var")
        if "obs" not in group or "var" not in group:
            raise lacks
        others = _others(path, name, members(file, group, "layers"), "X" in members(file, group, "raw"))
        if path not in group:
            raise _without_x(name, others) if others else lacks
        obs, words, x = read(group["obs"]), read(group[words_path]).index, group[path]
        if path == "X":
            samples = {how: partial(_sample, file, other) for how, other in others.items()}
            _refuse_normalised(name, first_values(x), samples, options)
        kind = x.attrs.get("encoding-type")
        if kind == "csr_matrix":
            x = stored_rows(file, path, x, _shape(x))
        elif kind == "csc_matrix":
            x = columns_in_memory(path, x, _shape(x), name)
        else:
            x = StoredMatrix(file, path, x.shape)
        return _reader(name, path, x, obs, words, options)


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
    name: str, values: np.ndarray, others: Mapping[str, Callable[[], np.ndarray]], options: Options
) -> None:
    """Refuse an X that does not hold counts where something beside it does."""
    if not (found := _wrong(values, options.weights)):
        return
    counts = [how for how, first in others.items() if len(some := first()) and not _wrong(some, False)]
    if counts:
        raise InputError(
            f"X of {name} holds {found[1]} values, such as {values.flat[found[0]]:g}: it is normalised or scaled; "
            f"whole counts are stored beside it: pass {' or '.join(counts)}"
        )


def _wrong(values: np.ndarray, weights: bool) -> tuple[int, str] | None:
    """The first value that is not a count, and why; values that are not numbers are left to another check."""
    return check_counts(values.ravel(), weights) if values.dtype.kind in "iufb" else None


def _reader(name: str, path: str, x: Any, obs: Any, words: Any, options: Options) -> MatrixReader:
    what = f"{path} of {name}"
    vocabulary = options.vocabulary or _var_names(list(map(str, words)), name)
    check_width(x.shape, vocabulary, what)
    if len(x.shape) != 2 or x.shape[0] != len(obs):
        raise InputError(f"{what} has shape {x.shape}, but obs has {len(obs)} documents; write it again")
    if not obs.columns.is_unique:
        twice = str(obs.columns[obs.columns.duplicated()][0])
        raise InputError(f"obs of {name} has two columns {twice!a}; rename one of them")
    x = checked_csr(x, what) if hasattr(x, "tocsr") else x
    stream = MatrixStream(x, what, obs.iloc)
    options = replace(options, vocabulary=vocabulary)
    taken, n_words = {"counts": path}, len(vocabulary)
    return AnnDataReader("anndata", options, size=x.shape[0], taken=taken, stream=stream, width=n_words)


def _var_names(words: list[str], name: str) -> list[str]:
    try:
        return unique_words(words, f"var_names of {name}")
    except InputError as error:
        raise InputError(
            f"{error.message}: call adata.var_names_make_unique(), or name them by an id"
        ) from None


class AnnDataReader(MatrixReader):
    def parse(self, chunk: Chunk) -> RawBlock:
        rows, obs = chunk.data
        block = matrix_block(rows, self.options.weights, chunk)

        def place(i: int) -> str:
            return f"{chunk.name}, row {chunk.start + i}"

        wanted, names = self.options.author_column, list(obs.columns)
        authors = choose(wanted, AUTHORS, names, "column of obs", chunk.name)
        columns = {
            str(name): column(series_values(obs[name]), str(name), place) for name in names if name != authors
        }
        block = replace(block, ids=id_texts(obs.index), columns=columns)
        if authors is None:
            return block
        return replace(
            block, **author_csr(list(obs[authors]), place, self.options.author_separator)._asdict()
        )


def _is_tenx(file: File) -> float:
    """A folder, or its matrix with the other two files beside it, or an HDF5 file that is not AnnData's."""
    if is_hdf5(file):
        return 1.0 if _has_group(file) else 0.0
    named = file.name == _MATRIX or is_local_directory(file.path)
    return 1.0 if named and all(_members(file)) else 0.0


def _members(file: File) -> list[File | None]:
    """The matrix, the genes and the cells, in a folder or beside the matrix."""
    matrix = File(f"{file.path.rstrip('/')}/{_MATRIX}") if is_local_directory(file.path) else file
    return [_beside(matrix, names) for names in _NAMES]


def _beside(matrix: File, names: Sequence[str]) -> File | None:
    """The first of some files, compressed or not, that is beside the matrix."""
    found = (matrix.beside(name + suffix) for name in names for suffix in ("", ".gz"))
    return next((file for file in found if file.exists()), None)


def _has_group(file: File) -> bool:
    """Whether an HDF5 file has a group of a matrix and its genes, and no X."""
    h5py = require("h5py", "anndata")
    try:
        with file.open_raw() as raw, h5py.File(raw if file.remote else file.path, "r") as opened:
            if "X" in opened or "obs" in opened:
                return False
            own = (name for name in opened if isinstance(opened.get(name, getlink=True), h5py.HardLink))
            return any(isinstance(group := opened[name], h5py.Group) and "barcodes" in group for name in own)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError):  # damaged: AnnData's reader says so
        return False


def _open_tenx(source: Sequence[File], options: Options) -> MatrixReader:
    file = _only(source, "10x matrix")
    if is_hdf5(file):
        return _open_hdf5(file, options)
    matrix, genes, cells = _members(file)
    if matrix is None or genes is None or cells is None:
        raise InputError(
            f"{file.path} is not a 10x folder: it needs matrix.mtx, features.tsv (or genes.tsv) and barcodes.tsv"
        )
    rows = [(line.split("\t") * 2)[:2] for line in all_lines(genes) if line.strip()]
    names = [line for line in all_lines(cells) if line.strip()]
    x = read_transposed(matrix)
    return _tenx_reader(x, matrix.path, (rows, genes.path), (names, cells.path), options)


def _open_hdf5(file: File, options: Options) -> MatrixReader:
    with open_group(file, _GROUP) as root:
        if _GROUP not in root or "features" not in root[_GROUP]:
            found = ", ".join(map(ascii, root))
            raise InputError(
                f"{file.path} is a 10x file of an old version, whose matrices are {found}; read it with "
                "scanpy.read_10x_h5, and ingest the AnnData object"
            )
        group = root[_GROUP]
        ids, names = (_texts(group[f"features/{name}"]) for name in ("id", "name"))
        n_genes, n_cells = map(int, group["shape"][:])
        x = stored_rows(file, _GROUP, group, (n_cells, n_genes))
        cells = _texts(group["barcodes"])
    rows = [list(pair) for pair in zip(ids, names, strict=True)]
    genes = rows, f"features of {file.path}"
    return _tenx_reader(x, file.path, genes, (cells, f"barcodes of {file.path}"), options)


def _texts(stored: Any) -> list[str]:
    return [text.decode() if isinstance(text, bytes) else str(text) for text in stored[:].tolist()]


def _tenx_reader(
    x: Any, name: str, genes: tuple[list[list[str]], str], cells: tuple[list[str], str], options: Options
) -> MatrixReader:
    """x : cells x genes; genes, cells : id and name of each gene, barcodes, and where these are from"""
    n_cells, n_genes = x.shape
    for found, where, n, what in ((*genes, n_genes, "genes"), (*cells, n_cells, "cells")):
        if len(found) != n:
            raise InputError(f"{where} names {len(found)} {what}, but {name} has {n}; get the files again")
    often = Counter(gene for _, gene in genes[0])
    words = [gene if often[gene] == 1 else id for id, gene in genes[0]]
    taken = {"documents": "cells, named by barcodes", "words": "names of genes"}
    if n_renamed := sum(often[gene] > 1 for _, gene in genes[0]):
        taken["words"] += f", ids for {n_renamed} that share a name"
    vocabulary = options.vocabulary or unique_words(words, genes[1])
    check_width(x.shape, vocabulary, name)
    options, stream = replace(options, vocabulary=vocabulary), MatrixStream(x, name, cells[0])
    return MatrixReader("tenx", options, size=n_cells, taken=taken, stream=stream, width=n_genes)


FORMATS = {
    "anndata": Format(_open_anndata, _is_anndata, _accepts_anndata, opens_folders=True),
    "tenx": Format(_open_tenx, match=_is_tenx, opens_folders=True),
}
