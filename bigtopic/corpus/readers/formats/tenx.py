"""10x Genomics: a cell is a document, a gene a word. A folder of Cell Ranger (`matrix.mtx`, `features.tsv` or
`genes.tsv`, `barcodes.tsv`, compressed or not), or its `.h5` file. Barcodes become ids.

The matrix of a folder has genes in rows, so it is read into memory. In the `.h5` file, entries come cell by cell, and
it is read in runs of cells. Genes that share a name are named by their id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bigtopic.corpus.readers.base import Options
from bigtopic.corpus.readers.containers.files import File, is_local_directory
from bigtopic.corpus.readers.containers.groups import is_hdf5, open_group
from bigtopic.corpus.readers.containers.lines import lines_of
from bigtopic.corpus.readers.containers.pieces import pieces
from bigtopic.corpus.readers.containers.stored_matrix import stored_rows
from bigtopic.corpus.readers.formats.matrix import MatrixReader, MatrixStream
from bigtopic.corpus.readers.formats.matrix_market import read_transposed
from bigtopic.corpus.readers.support.matrix import check_width
from bigtopic.corpus.readers.support.vocabulary import unique_words
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.errors import InputError, require

__all__ = ["match", "open_reader", "opens_folders"]

opens_folders = True
_MATRIX, _GENES, _CELLS = "matrix.mtx", ("features.tsv", "genes.tsv"), ("barcodes.tsv",)
_GROUP = "matrix"


def match(file: File) -> float:
    """A folder, or its matrix with the other two files beside it, or an HDF5 file that is not AnnData's."""
    if is_local_directory(file.path):
        return (
            1.0
            if _beside(File(f"{file.path.rstrip('/')}/{_MATRIX}"), (_MATRIX,)) and _complete(file)
            else 0.0
        )
    if is_hdf5(file):
        return 1.0 if _is_tenx(file) else 0.0
    return 1.0 if file.name == _MATRIX and _complete(file) else 0.0


def _inside(file: File) -> File:
    """A file in the folder, or beside the matrix."""
    return File(f"{file.path.rstrip('/')}/{_MATRIX}") if is_local_directory(file.path) else file


def _complete(file: File) -> bool:
    return all(_beside(_inside(file), names) for names in (_GENES, _CELLS))


def _beside(matrix: File, names: Sequence[str]) -> File | None:
    """The first of some files, compressed or not, that is beside the matrix."""
    found = (matrix.beside(name + suffix) for name in names for suffix in ("", ".gz"))
    return next((file for file in found if file.exists()), None)


def _is_tenx(file: File) -> bool:
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


def open_reader(source: Sequence[File], options: Options) -> MatrixReader:
    if len(source) > 1:
        raise InputError(
            f"{source[1].path}: only one 10x matrix can be read at a time; ingest one and append the others"
        )
    file = source[0]
    if not is_local_directory(file.path) and is_hdf5(file):
        return _open_hdf5(file, options)
    matrix = _beside(_inside(file), (_MATRIX,))
    genes, cells = (_beside(_inside(file), names) for names in (_GENES, _CELLS))
    if matrix is None or genes is None or cells is None:
        raise InputError(
            f"{file.path} is not a 10x folder: it needs matrix.mtx, features.tsv (or genes.tsv) and barcodes.tsv"
        )
    rows = [(line.split("\t") * 2)[:2] for line in _lines(genes)]
    x = read_transposed(matrix)
    return _reader(x, matrix.path, rows, genes.path, _lines(cells), cells.path, options)


def _lines(file: File) -> list[str]:
    lines = [line for chunk in pieces(file) for line in lines_of(chunk, file, TextSettings())]
    return [line for line in lines if line.strip()]


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
    return _reader(x, file.path, rows, f"features of {file.path}", cells, f"barcodes of {file.path}", options)


def _texts(stored: Any) -> list[str]:
    return [text.decode() if isinstance(text, bytes) else str(text) for text in stored[:].tolist()]


def _reader(
    x: Any,
    name: str,
    genes: list[list[str]],
    genes_from: str,
    cells: list[str],
    cells_from: str,
    options: Options,
) -> MatrixReader:
    """genes : id and name of each; x : cells x genes"""
    for found, n, what, where in (
        (genes, x.shape[1], "genes", genes_from),
        (cells, x.shape[0], "cells", cells_from),
    ):
        if len(found) != n:
            raise InputError(f"{where} names {len(found)} {what}, but {name} has {n}; get the files again")
    words, n_renamed = _words(genes)
    taken = {"documents": "cells, named by barcodes", "words": "names of genes"}
    if n_renamed:
        taken["words"] += f", ids for {n_renamed} that share a name"
    vocabulary = options.vocabulary or unique_words(words, genes_from)
    check_width(x.shape, vocabulary, name)
    stream = MatrixStream(x, name, cells)
    return MatrixReader(stream, x.shape[1], vocabulary, x.shape[0], options.weights, name="tenx", taken=taken)


def _words(genes: list[list[str]]) -> tuple[list[str], int]:
    """Names of genes, ids in place of names that several have; and how many these are."""
    often = Counter(name for _, name in genes)
    words = [name if often[name] == 1 else id for id, name in genes]
    return words, sum(often[name] > 1 for _, name in genes)
