"""Small valid sources of every format that is made of files, as bytes: what mutations begin with."""

from __future__ import annotations

import io
import json
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from fuzz.mutate import Files

__all__ = ["COUNTS", "SEEDS", "WORDS", "Seed", "as_documents", "folder_bytes"]

N_DOCS, N_WORDS = 8, 6
WORDS = [f"word{i:02d}" for i in range(N_WORDS)]
COUNTS = np.random.default_rng(0).poisson(0.8, (N_DOCS, N_WORDS)).astype(float)
COUNTS[:, 1] += 1  # no document is empty: tables of triples have no row for such


@dataclass(frozen=True)
class Seed:
    """A valid source.

    files : its bytes by name; entry : the file or folder that is given to `ingest`; mutated : which files mutations
    change (default all); keywords : of `ingest`, where a `Path` is relative to the folder; parser : in
    tests/reference/parsers.py, or None; format : as it may be forced
    """

    files: Files
    entry: str
    format: str
    mutated: tuple[str, ...] = ()
    keywords: dict[str, Any] = field(default_factory=dict)
    parser: str | None = None


def as_documents(counts: np.ndarray) -> list[dict[str, float]]:
    """{word: count} of each row."""
    return [{WORDS[w]: float(row[w]) for w in np.flatnonzero(row)} for row in counts]


def _texts() -> list[str]:
    return [" ".join(WORDS[w] for w in range(N_WORDS) for _ in range(int(row[w]))) for row in COUNTS]


def _triples() -> list[tuple[int, int, int]]:
    return [(int(d), int(w), int(COUNTS[d, w])) for d, w in zip(*np.nonzero(COUNTS), strict=True)]


_PLAIN = {"token_pattern": r"\S+"}
_NAMED = {"vocabulary": WORDS}


def _one(name: str, data: str | bytes, format: str, parser: str | None = None, **keywords: Any) -> Seed:
    data = data.encode() if isinstance(data, str) else data
    return Seed({name: data}, name, format, keywords=keywords, parser=parser)


def text() -> Seed:
    return _one("toy.txt", "".join(line + "\n" for line in _texts()), "text", "text", **_PLAIN)


def text_of_words() -> Seed:
    """Through the tokeniser's own pattern, pairs of words included."""
    words = "Ein Mädchen läuft, der Straße nach.\nΣΊΣΥΦΟΣ İstanbul 東京 naïve\n"
    return _one("toy.txt", words * 3, "text", None, ngram_range=(1, 2))


def text_folder() -> Seed:
    files = {f"texts/group{i % 2}/{i}.txt": line.encode() for i, line in enumerate(_texts())}
    return Seed(files, "texts", "files", keywords=_PLAIN)


def ids_file() -> Seed:
    ids = "".join(f"name{i}\n" for i in range(N_DOCS)).encode()
    return Seed(
        {**text().files, "ids.txt": ids}, "toy.txt", "text", ("ids.txt",), {**_PLAIN, "ids": Path("ids.txt")}
    )


def lda_c() -> Seed:
    rows = [[(w, int(row[w])) for w in np.flatnonzero(row)] for row in COUNTS]
    lines = [" ".join([str(len(row)), *(f"{w}:{n}" for w, n in row)]) for row in rows]
    return _one("toy.dat", "\n".join(lines) + "\n", "lda_c", "lda_c", **_NAMED)


def lda_c_without_words() -> Seed:
    return _one("toy.dat", lda_c().files["toy.dat"], "lda_c")


def vocabulary_file() -> Seed:
    words = "".join(word + "\n" for word in WORDS).encode()
    keywords = {"vocabulary": Path("words.txt")}
    return Seed({**lda_c().files, "words.txt": words}, "toy.dat", "lda_c", ("words.txt",), keywords)


def svmlight() -> Seed:
    rows = ["".join(f" {w + 1}:{row[w]:g}" for w in np.flatnonzero(row)) for row in COUNTS]
    lines = "".join(f"{i % 3 - 1}{row}\n" for i, row in enumerate(rows))
    return _one("toy.svm", lines, "svmlight", "svmlight", **_NAMED)


def svmlight_without_words() -> Seed:
    return _one("toy.svm", svmlight().files["toy.svm"], "svmlight")


def bag_of_words() -> Seed:
    triples = _triples()
    body = "".join(f"{d + 1} {w + 1} {n}\n" for d, w, n in triples)
    data = f"{N_DOCS}\n{N_WORDS}\n{len(triples)}\n{body}"
    return _one("docword.toy.txt", data, "bag_of_words", "bag_of_words", **_NAMED)


def bag_of_words_beside() -> Seed:
    """With the vocabulary beside it, both mutated."""
    words = "".join(word + "\n" for word in WORDS).encode()
    return Seed({**bag_of_words().files, "vocab.toy.txt": words}, "docword.toy.txt", "bag_of_words")


def _market(matrix: Any) -> bytes:
    out = io.BytesIO()
    scipy.io.mmwrite(out, matrix)
    return out.getvalue()


def matrix_market() -> Seed:
    data = _market(sp.csr_array(COUNTS.astype(int)))
    return _one("toy.mtx", data, "matrix_market", "matrix_market", **_NAMED)


def matrix_market_by_column() -> Seed:
    data = _market(sp.csc_array(COUNTS.astype(int)))
    return _one("toy.mtx", data, "matrix_market", "matrix_market", **_NAMED)


def matrix_market_dense() -> Seed:
    return _one("toy.mtx", _market(COUNTS), "matrix_market", **_NAMED)


def csv_text() -> Seed:
    rows = "".join(f'd{i},"{line}",{1990 + i},"a, ""b"";c"\n' for i, line in enumerate(_texts()))
    return _one("toy.csv", "id,text,year,authors\n" + rows, "csv", "csv_text", **_PLAIN)


def csv_triples() -> Seed:
    rows = "".join(f"d{d},{WORDS[w]},{n}\n" for d, w, n in _triples())
    return _one("toy.csv", "document,word,count\n" + rows, "csv", "csv_triples")


def tsv() -> Seed:
    rows = "".join(f"train\t{line}\t{i}\n" for i, line in enumerate(_texts()))
    return _one("toy.tsv", rows, "csv", **_PLAIN)


def _json(bodies: list[Any], name: str) -> bytes:
    lines = (json.dumps({"id": f"d{i}", "year": 1990 + i, name: body}) for i, body in enumerate(bodies))
    return "".join(line + "\n" for line in lines).encode()


def json_text() -> Seed:
    return _one("toy.jsonl", _json(_texts(), "text"), "json_lines", "json_text", **_PLAIN)


def json_tokens() -> Seed:
    return _one("toy.jsonl", _json([line.split() for line in _texts()], "tokens"), "json_lines")


def json_counts() -> Seed:
    bodies = [{word: int(n) for word, n in document.items()} for document in as_documents(COUNTS)]
    return _one("toy.jsonl", _json(bodies, "counts"), "json_lines", "json_counts")


def saved_npz() -> Seed:
    out = io.BytesIO()
    sp.save_npz(out, sp.csr_array(COUNTS), compressed=False)
    return _one("toy.npz", out.getvalue(), "saved_matrix", **_NAMED)


def saved_npy() -> Seed:
    out = io.BytesIO()
    np.save(out, COUNTS)
    return _one("toy.npy", out.getvalue(), "saved_matrix", **_NAMED)


def _parquet(**columns: Any) -> Seed:
    import pyarrow as pa
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, row_group_size=5)
    return _one("toy.parquet", out.getvalue(), "parquet")


def parquet_text() -> Seed:
    return _parquet(id=[f"d{i}" for i in range(N_DOCS)], text=_texts(), year=range(N_DOCS))


def parquet_tokens() -> Seed:
    return _parquet(tokens=[line.split() for line in _texts()])


def parquet_triples() -> Seed:
    documents, words, counts = zip(*_triples(), strict=True)
    return _parquet(document=documents, word=[WORDS[w] for w in words], count=counts)


def _xlsx(*rows: Any) -> Seed:
    from openpyxl import Workbook

    book, out = Workbook(), io.BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(out)
    return _one("toy.xlsx", out.getvalue(), "xlsx")


def xlsx_text() -> Seed:
    rows = [(f"d{i}", text, 1990 + i) for i, text in enumerate(_texts())]
    return _xlsx(("id", "text", "year"), *rows)


def xlsx_triples() -> Seed:
    return _xlsx(("document", "word", "count"), *((f"d{d}", WORDS[w], n) for d, w, n in _triples()))


def _anndata(matrix: Any) -> Any:
    import anndata
    import pandas

    obs = pandas.DataFrame(
        {"year": range(N_DOCS), "label": [f"l{i % 2}" for i in range(N_DOCS)]},
        [f"d{i}" for i in range(N_DOCS)],
    )
    obs["label"] = obs["label"].astype("category")
    return anndata.AnnData(matrix, obs=obs, var=pandas.DataFrame(index=WORDS))


def _h5ad(matrix: Any) -> Seed:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        path = Path(folder) / "toy.h5ad"
        _anndata(matrix).write_h5ad(path)
        return _one("toy.h5ad", path.read_bytes(), "anndata")


def h5ad() -> Seed:
    return _h5ad(sp.csr_matrix(COUNTS))


def h5ad_by_column() -> Seed:
    return _h5ad(sp.csc_matrix(COUNTS))


def h5ad_dense() -> Seed:
    return _h5ad(COUNTS)


def _zarr(matrix: Any, version: int) -> Seed:
    import anndata

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of settings that are going away
        with anndata.settings.override(zarr_write_format=version, auto_shard_zarr_v3=False):
            _anndata(matrix).write_zarr(Path(folder) / "toy.zarr")
        return Seed(folder_bytes(Path(folder)), "toy.zarr", "anndata")


def zarr_v2() -> Seed:
    return _zarr(sp.csr_matrix(COUNTS), 2)


def zarr_v2_by_column() -> Seed:
    return _zarr(sp.csc_matrix(COUNTS), 2)


def zarr_v3() -> Seed:
    return _zarr(sp.csr_matrix(COUNTS), 3)


def zarr_v3_dense() -> Seed:
    return _zarr(COUNTS, 3)


def tenx_folder() -> Seed:
    genes = "".join(f"ENSG{i}\t{word}\tGene Expression\n" for i, word in enumerate(WORDS))
    cells = "".join(f"d{i}\n" for i in range(N_DOCS))
    files = {"matrix.mtx": _market(sp.csc_array(COUNTS.T.astype(int)))}
    files |= {"features.tsv": genes.encode(), "barcodes.tsv": cells.encode()}
    return Seed({f"cells/{name}": data for name, data in files.items()}, "cells", "tenx")


def tenx_h5() -> Seed:
    import h5py

    rows, out = sp.csr_array(COUNTS.astype(int)), io.BytesIO()
    with h5py.File(out, "w") as file:
        group = file.create_group("matrix")
        for name in ("data", "indices", "indptr"):
            group[name] = getattr(rows, name)
        group["shape"] = np.array([N_WORDS, N_DOCS])
        group["barcodes"] = np.array([f"d{i}".encode() for i in range(N_DOCS)])
        group["features/id"] = np.array([f"ENSG{i}".encode() for i in range(N_WORDS)])
        group["features/name"] = np.array([word.encode() for word in WORDS])
    return _one("cells.h5", out.getvalue(), "tenx")


def mallet() -> Seed:
    lines = "".join(f"d{i}\tl{i % 2}\t{line}\n" for i, line in enumerate(_texts()))
    return _one("toy.txt", lines, "mallet", **_PLAIN)


def vowpal_wabbit() -> Seed:
    pairs = [" ".join(f"{word}:{n:.0f}" for word, n in row.items()) for row in as_documents(COUNTS)]
    lines = "".join(f"{i % 2 * 2 - 1} 'd{i}|words {row}\n" for i, row in enumerate(pairs))
    return _one("toy.vw", lines, "vowpal_wabbit")


def word_counts() -> Seed:
    files = {
        f"counts/d{i}.txt": "".join(f"{word}\t{n:.0f}\n" for word, n in row.items()).encode()
        for i, row in enumerate(as_documents(COUNTS))
    }
    return Seed(files, "counts", "word_counts")


def mbox() -> Seed:
    head = "From a@b.org Thu Jan  1 00:00:00 2015\nFrom: a@b.org\nDate: Thu, 1 Jan 2015 00:00:00 +0000\n"
    mails = (f"{head}Message-ID: <d{i}@b.org>\nSubject: s\n\n{line}\n\n" for i, line in enumerate(_texts()))
    return _one("toy.mbox", "".join(mails), "mbox", **_PLAIN)


def mediawiki() -> Seed:
    page = (
        "<page><title>d{0}</title><ns>0</ns><id>{0}</id><revision><id>{0}</id>"
        "<timestamp>2015-01-01T00:00:00Z</timestamp><text>{1}</text></revision></page>\n"
    )
    pages = "".join(page.format(i, line) for i, line in enumerate(_texts()))
    space = "http://www.mediawiki.org/xml/export-0.11/"
    site = "<siteinfo><sitename>w</sitename></siteinfo>"
    document = f'<mediawiki xmlns="{space}">\n{site}\n{pages}</mediawiki>\n'
    return _one("toy.xml", document, "mediawiki", **_PLAIN)


def folder_bytes(root: Path) -> Files:
    """The bytes of all files below a folder, by their path."""
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return {path.relative_to(root).as_posix(): path.read_bytes() for path in files}


SEEDS: dict[str, Callable[[], Seed]] = {
    make.__name__: make
    for make in (
        text, text_of_words, text_folder, ids_file, lda_c, lda_c_without_words, vocabulary_file, svmlight,
        svmlight_without_words, bag_of_words, bag_of_words_beside, matrix_market, matrix_market_by_column,
        matrix_market_dense, csv_text, csv_triples, tsv, json_text, json_tokens, json_counts, saved_npz, saved_npy,
        parquet_text, parquet_tokens, parquet_triples, xlsx_text, xlsx_triples, h5ad, h5ad_by_column, h5ad_dense,
        zarr_v2, zarr_v2_by_column, zarr_v3, zarr_v3_dense, tenx_folder, tenx_h5,
        mallet, vowpal_wabbit, word_counts, mbox, mediawiki,
    )
}  # fmt: skip
