"""Sources of counts: pairs, triples, AnnData and the matrices of single-cell counts."""

import gzip
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from recognition.case import Case, Files, Read, Refused
from scipy import sparse

COUNTS = np.array([[1, 2, 0], [0, 1, 3]])
HALVES = COUNTS / 2
READ = Read(2, {"gata1": 1, "spi1": 3, "cebpa": 3}, ids=["cell0", "cell1"])


def _annotated(matrix: Any, words: Any = ("gata1", "spi1", "cebpa"), **members: Any) -> Any:
    import anndata
    import pandas

    frames = [pandas.DataFrame(index=list(names)) for names in (["cell0", "cell1"], words)]
    return anndata.AnnData(matrix, obs=frames[0], var=frames[1], **members)


def _in_memory(*arguments: Any, **members: Any) -> Callable[[Path], Any]:
    def make(folder: Path) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of words that are there twice
            return _annotated(*arguments, **members)

    return make


def _stored(name: str, *arguments: Any, **members: Any) -> Callable[[Path], Path]:
    """Writes an AnnData store of this name."""

    def write(folder: Path) -> Path:
        made = _in_memory(*arguments, **members)(folder)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a version of Zarr that is going away
            getattr(made, "write_h5ad" if name.endswith("h5ad") else "write_zarr")(folder / name)
        return folder / name

    return write


def _with_raw(matrix: Any, raw: Any) -> Any:
    made = _annotated(raw)
    made.raw = made
    made.X = matrix
    return made


def _raw_stored(folder: Path) -> Path:
    _with_raw(HALVES, sparse.csr_matrix(COUNTS)).write_h5ad(folder / "a.h5ad")
    return folder / "a.h5ad"


MARKET = "%%MatrixMarket matrix coordinate integer general\n%\n3 2 4\n1 1 1\n2 1 2\n2 2 1\n3 2 3\n"
FEATURES = "ENSG1\tgata1\tGene Expression\nENSG2\tspi1\tGene Expression\nENSG3\tcebpa\tAntibody Capture\n"
TENX = {"matrix.mtx": MARKET, "features.tsv": FEATURES, "barcodes.tsv": "cell0\ncell1\n"}
TWICE = FEATURES.replace("cebpa", "spi1")


def _tenx_h5(names: str, version: int = 3) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        import h5py

        cells = sparse.csr_matrix(COUNTS)
        with h5py.File(folder / "cells.h5", "w") as file:
            group = file.create_group("matrix" if version == 3 else "GRCh38")
            for name in ("data", "indices", "indptr"):
                group[name] = getattr(cells, name)
            group["shape"] = np.array([3, 2], np.int32)
            group["barcodes"] = np.array([b"cell0", b"cell1"])
            genes = group.create_group("features")
            genes["id"] = np.array([b"ENSG1", b"ENSG2", b"ENSG3"])
            genes["name"] = np.array([name.encode() for name in names.split()])
        return folder / "cells.h5"

    return write


PAIRS = "1 1:2 3:1\n-1 2:3\n"
PAIRS_READ = Read(2, {"0": 2, "1": 3, "2": 1})

CASES = [
    # SVMlight and LDA-C
    Case("SVMlight", Files({"a.svm": PAIRS}), PAIRS_READ),
    Case("SVMlight with query ids", Files({"a.svm": "1 qid:7 1:2 3:1\n-1 qid:8 2:3\n"}), PAIRS_READ),
    Case("SVMlight with comments", Files({"a.svm": "1 1:2 3:1 # u3:9\n-1 2:3\n"}), PAIRS_READ),
    Case(
        "SVMlight with words for ids",
        Files({"a.svm": "1 1:2 banana:1000\n-1 2:3\n"}),
        Refused(["line 1", "banana:1000", "whole number"]),
    ),
    Case(
        "SVMlight with a damaged id",
        Files({"a.svm": "1 1:2\n-1 2:3 u3:9\n"}),
        Refused(["line 2", "u3:9", "whole number"]),
    ),
    Case("SVMlight with a damaged query id", Files({"a.svm": "1 qid:x 1:2\n-1 2:3\n"}), Refused("qid:x")),
    Case(
        "SVMlight with a query id behind pairs", Files({"a.svm": "1 1:2 qid:3\n-1 2:3\n"}), Refused("qid:3")
    ),
    Case("LDA-C with words for ids", Files({"a.ldac": "2 0:1 cat:3\n1 1:2\n"}), Refused(["line 1", "cat:3"])),
    # Matrix Market
    Case(
        "Matrix Market",
        Files({"a.mtx": "%%MatrixMarket matrix coordinate integer general\n2 3 2\n1 1 2\n2 3 1\n"}),
        Read(2, {"0": 2, "1": 0, "2": 1}),
    ),
    *(
        Case(
            f"Matrix Market with {what} in its header",
            Files({"a.mtx": b"%%MatrixMarket matrix coordinate " + words + b"\n2 3 2\n1 1 2\n2 3 1\n"}),
            Refused(["a.mtx", "integer, real or pattern"]),
        )
        for what, words in {
            "a symmetry that is not UTF-8": b"integer gener\xe4l",
            "a symmetry of control characters": b"integer gener\x1b[31mal",
            "a type that does not exist": b"letters general",
            "complex numbers": b"complex general",
        }.items()
    ),
    Case(
        "a dense Matrix Market file that ends in a byte of something else",
        Files({"a.mtx": b"%%MatrixMarket matrix array real general\n%\n2 2\n1\n1\n2\n3\x80"}),
        Refused(["a.mtx", "other bytes than numbers"]),
    ),
    Case(
        "a Matrix Market file by word with too many numbers in a line",
        Files({"a.mtx": "%%MatrixMarket matrix coordinate integer general\n2 3 2\n2 1 2\n1 3 1 7 8\n"}),
        Refused(["a.mtx, line 4", "more numbers"]),
    ),
    Case(
        "a Matrix Market file by word with a count of 2^63",
        Files({"a.mtx": f"%%MatrixMarket matrix coordinate integer general\n2 3 2\n2 1 2\n1 3 {2**63}\n"}),
        Refused(["a.mtx", "Line 4", "'real'"]),
    ),
    Case(
        "the same as real",
        Files({"a.mtx": f"%%MatrixMarket matrix coordinate real general\n2 3 2\n2 1 2\n1 3 {2**63}\n"}),
        Read(2, {"0": 2, "1": 0, "2": 2.0**63}),
    ),
    # AnnData
    Case("AnnData", _in_memory(COUNTS), READ),
    Case("AnnData in a file", _stored("a.h5ad", sparse.csr_matrix(COUNTS)), READ),
    Case(
        "AnnData with a word twice",
        _in_memory(COUNTS, ["gata1", "spi1", "gata1"]),
        Refused(["var_names", "gata1", "var_names_make_unique"]),
    ),
    Case(
        "AnnData in a file with a word twice",
        _stored("a.h5ad", sparse.csr_matrix(COUNTS), ["gata1", "spi1", "gata1"]),
        Refused(["var_names", "gata1", "var_names_make_unique"]),
    ),
    Case("a layer of AnnData", _in_memory(HALVES, layers={"counts": COUNTS}), READ, {"layer": "counts"}),
    *(
        Case(
            f"a {matrix.__name__} layer of AnnData in {name}",
            _stored(name, HALVES, layers={"counts": matrix(COUNTS)}),
            READ,
            {"layer": "counts"},
        )
        for name in ("a.h5ad", "a.zarr")
        for matrix in (sparse.csr_matrix, sparse.csc_matrix, np.array)
    ),
    Case("raw counts of AnnData", lambda folder: _with_raw(HALVES, COUNTS), READ, {"use_raw": True}),
    Case("raw counts of AnnData in a file", _raw_stored, READ, {"use_raw": True}),
    Case(
        "a layer that is not there",
        _in_memory(COUNTS, layers={"counts": COUNTS}),
        Refused(["layer='cuonts'", "counts"]),
        {"layer": "cuonts"},
    ),
    Case("raw counts that are not there", _in_memory(COUNTS), Refused("no raw"), {"use_raw": True}),
    Case(
        "a layer and raw counts",
        _in_memory(COUNTS),
        Refused(["layer=", "use_raw="]),
        {"use_raw": True, "layer": "counts"},
    ),
    Case("a layer of a text", Files({"a.txt": "cat\n"}), Refused(["layer=", "AnnData"]), {"layer": "counts"}),
    Case(
        "normalised AnnData with counts in a layer",
        _in_memory(HALVES, layers={"logs": HALVES, "counts": COUNTS}),
        Refused(["fraction", "layer='counts'"]),
    ),
    Case(
        "normalised AnnData in a file with counts in a layer",
        _stored("a.zarr", sparse.csr_matrix(HALVES), layers={"counts": sparse.csr_matrix(COUNTS)}),
        Refused(["fraction", "layer='counts'"]),
    ),
    Case(
        "normalised AnnData with raw counts",
        lambda folder: _with_raw(HALVES - 1, COUNTS),
        Refused(["negative", "use_raw=True"]),
    ),
    Case("normalised AnnData with raw counts in a file", _raw_stored, Refused(["fraction", "use_raw=True"])),
    Case("normalised AnnData without counts", _in_memory(HALVES), Refused("weights=True")),
    Case(
        "normalised AnnData read as weights",
        _in_memory(HALVES, layers={"counts": COUNTS}),
        Read(2, {"gata1": 0.5, "spi1": 1.5, "cebpa": 1.5}),
        {"weights": True},
    ),
    # 10x
    Case("a 10x folder", Files(TENX), READ),
    Case(
        "a compressed 10x folder",
        Files({f"{name}.gz": gzip.compress(text.encode()) for name, text in TENX.items()}),
        READ,
    ),
    Case(
        "a 10x folder of the first version",
        Files(
            {
                "matrix.mtx": MARKET,
                "genes.tsv": "ENSG1\tgata1\nENSG2\tspi1\nENSG3\tcebpa\n",
                "barcodes.tsv": TENX["barcodes.tsv"],
            }
        ),
        READ,
    ),
    Case(
        "a 10x folder in which two genes have one name",
        Files({**TENX, "features.tsv": TWICE}),
        Read(2, {"gata1": 1, "ENSG2": 3, "ENSG3": 3}, ids=["cell0", "cell1"]),
    ),
    Case(
        "a 10x folder with too few barcodes",
        Files({**TENX, "barcodes.tsv": "cell0\n"}),
        Refused(["barcodes.tsv", "1", "2"]),
    ),
    Case(
        "a 10x folder with too few genes",
        Files({**TENX, "features.tsv": "ENSG1\tgata1\n"}),
        Refused(["features.tsv", "1", "3"]),
    ),
    Case("a 10x file", _tenx_h5("gata1 spi1 cebpa"), READ),
    Case(
        "a 10x file in which two genes have one name",
        _tenx_h5("gata1 spi1 spi1"),
        Read(2, {"gata1": 1, "ENSG2": 3, "ENSG3": 3}, ids=["cell0", "cell1"]),
    ),
    Case("a 10x file of the second version", _tenx_h5("gata1 spi1 cebpa", 2), Refused("GRCh38")),
]
