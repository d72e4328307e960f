"""The same documents in every format that can be read, written to a folder or made of Python objects."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import warnings
from collections import Counter
from html import escape

import numpy as np
import pandas
import pytest
import scipy.io
import scipy.sparse as sp

from bigtopic.corpus.readers import TextSettings
from bigtopic.support.discovery import modules

READERS = "bigtopic.corpus.readers"
N_DOCS, N_WORDS = 60, 15
WORDS = [f"word{i:02d}" for i in range(N_WORDS)]
PLAIN = TextSettings(token_pattern=r"\S+")


def make_counts(weights=False):
    """Counts with empty documents at the beginning, in the middle (two in a row) and at the end."""
    rng = np.random.default_rng(0)
    counts = rng.poisson(0.6, (N_DOCS, N_WORDS)).astype(float)
    counts[[0, 20, 21, N_DOCS - 1]] = 0
    counts[5, -1] = 3  # the last word is used
    return counts * (0.25 if weights else 1)


def text_of(row):
    return " ".join(word for word, n in zip(WORDS, row, strict=True) for _ in range(int(n)))


def triples_of(counts):
    return [(d, w, int(counts[d, w])) for d, w in zip(*np.nonzero(counts), strict=True)]


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def write_vocabulary(folder, name="vocab.txt"):
    return write(folder / name, "\n".join(WORDS) + "\n")


# Each source: (folder, counts) -> (source, keywords of open_source)


def bag_of_words(folder, counts, name="docword.toy.txt", opened=open):
    triples = triples_of(counts)
    body = "".join(f"{d + 1} {w + 1} {n}\n" for d, w, n in triples)
    with opened(folder / name, "wb") as file:
        file.write(f"{N_DOCS}\n{N_WORDS}\n{len(triples)}\n{body}".encode())
    write_vocabulary(folder, "vocab.toy.txt")
    return folder / name, {}


def bag_of_words_gzip(folder, counts):
    return bag_of_words(folder, counts, "docword.toy.txt.gz", gzip.open)


def bag_of_words_bz2(folder, counts):
    return bag_of_words(folder, counts, "docword.toy.txt.bz2", bz2.open)


def bag_of_words_xz(folder, counts):
    return bag_of_words(folder, counts, "docword.toy.txt.xz", lzma.open)


def bag_of_words_zstd(folder, counts):
    zstandard = pytest.importorskip("zstandard")
    return bag_of_words(folder, counts, "docword.toy.txt.zst", zstandard.open)


def bag_of_words_remote(folder, counts):
    import fsspec

    path, _ = bag_of_words(folder, counts)
    system = fsspec.filesystem("memory")
    for file in (path, folder / "vocab.toy.txt"):
        system.pipe(f"/bag/{file.name}", file.read_bytes())
    return "memory://bag/docword.*.txt", {}


def lda_c(folder, counts):
    rows = [[(w, int(row[w])) for w in np.flatnonzero(row)] for row in counts]
    lines = [" ".join([str(len(row)), *(f"{w}:{n}" for w, n in row[::-1])]) for row in rows]
    write_vocabulary(folder)
    return write(folder / "toy.dat", "\n".join(lines) + "\n"), {}


def lda_c_named(folder, counts):
    path, _ = lda_c(folder, counts)
    (folder / "vocab.txt").rename(folder / "words.txt")
    return path, {"vocabulary": folder / "words.txt"}


def svmlight(folder, counts, base=1):
    rows = [" ".join(f"{w + base}:{row[w]:g}" for w in np.flatnonzero(row)) for row in counts]
    text = "# a comment\n" + "".join(
        f"{i % 3 - 1} qid:7 {row} # document {i}\n" for i, row in enumerate(rows)
    )
    return write(folder / "toy.svm", text), {"vocabulary": WORDS}


def svmlight_from_zero(folder, counts):
    return svmlight(folder, counts, base=0)


def matrix_market(folder, counts, matrix=sp.csr_array):
    scipy.io.mmwrite(folder / "toy.mtx", matrix(counts.astype(int)))
    return folder / "toy.mtx", {"vocabulary": WORDS}


def matrix_market_by_column(folder, counts):
    return matrix_market(folder, counts, sp.csc_array)


def matrix_market_dense(folder, counts):
    return matrix_market(folder, counts, np.asarray)


def text_lines(folder, counts):
    return write(folder / "toy.txt", "".join(text_of(row) + "\n" for row in counts)), {}


def text_windows(folder, counts):
    data = "\r\n".join(text_of(row) for row in counts) + "\r\n"
    (folder / "toy.txt").write_bytes(b"\xef\xbb\xbf" + data.encode())
    return folder / "toy.txt", {}


def text_files(folder, counts):
    for i, row in enumerate(counts):
        place = folder / "texts" / f"group{i // 30}"
        place.mkdir(parents=True, exist_ok=True)
        write(place / f"{i:03d}.txt", text_of(row))
    return folder / "texts", {}


def text_glob(folder, counts):
    for i in range(3):
        write(folder / f"part{i}.txt", "".join(text_of(row) + "\n" for row in counts[20 * i : 20 * i + 20]))
    return str(folder / "part*.txt"), {}


def json_lines(folder, body):
    lines = [json.dumps({"id": f"d{i}", "year": 1990 + i, **item}) for i, item in enumerate(body)]
    return write(folder / "toy.jsonl", "\n".join(lines) + "\n"), {}


def json_lines_text(folder, counts):
    return json_lines(folder, [{"text": text_of(row) or None} for row in counts])


def json_lines_tokens(folder, counts):
    return json_lines(folder, [{"tokens": text_of(row).split()} for row in counts])


def json_lines_counts(folder, counts):
    return json_lines(folder, [{"counts": dict(Counter(text_of(row).split()))} for row in counts])


def csv_text(folder, counts):
    body = "".join(f'd{i},"{text_of(row)}\n, ""quoted""",{i}\n' for i, row in enumerate(counts))
    settings = TextSettings(token_pattern=r"\S+", stop_words=[",", '"quoted"'])
    return write(folder / "toy.csv", "id,text,year\n" + body), {"text": settings}


def xlsx_text(folder, counts):
    table = pandas.DataFrame(
        {"id": [f"d{i}" for i in range(len(counts))], "text": [text_of(row) or None for row in counts]}
    )
    table.to_excel(folder / "toy.xlsx", index=False)
    return folder / "toy.xlsx", {}


def tsv_without_header(folder, counts):
    body = "".join(f'train\t{text_of(row)} a "b\t{i}\n' for i, row in enumerate(counts))
    settings = TextSettings(token_pattern=r"\S+", stop_words=["a", '"b'])
    return write(folder / "toy.tsv", body), {"text": settings}


def csv_triples(folder, counts):
    body = "".join(f"{d},{WORDS[w]},{n}\n" for d, w, n in triples_of(counts))
    return write(folder / "toy.csv", "document,word,count\n" + body), {}


def mallet_lines(folder, counts):
    lines = "".join(f"d{i} X {text_of(row)}\n" for i, row in enumerate(counts))
    return write(folder / "toy.txt", lines), {"format": "mallet"}


def vowpal_wabbit(folder, counts):
    rows = [" ".join(f"{WORDS[w]}:{row[w]:g}" for w in np.flatnonzero(row)) for row in counts]
    return write(folder / "toy.vw", "".join(f"{i % 3} 'd{i}|text {row}\n" for i, row in enumerate(rows))), {}


def tenx_folder(folder, counts):
    (folder / "cells").mkdir()
    scipy.io.mmwrite(folder / "cells" / "matrix.mtx", sp.csc_array(counts.astype(int).T))
    write(
        folder / "cells" / "features.tsv", "".join(f"ENSG{i}\t{word}\tGene\n" for i, word in enumerate(WORDS))
    )
    write(folder / "cells" / "barcodes.tsv", "".join(f"cell{i}\n" for i in range(len(counts))))
    return folder / "cells", {}


def word_counts(folder, counts):
    (folder / "counts").mkdir()
    for i, row in enumerate(counts):
        lines = [f"{WORDS[w]}\t{int(row[w])}\n" for w in np.flatnonzero(row)]
        write(folder / "counts" / f"{i:03d}.txt", "".join(lines))
    return folder / "counts", {}


def mbox_messages(folder, counts):
    body = "".join(
        f"From a@b.c Mon May 14 23:39:00 2001\nMessage-ID: <{i}@b.c>\nFrom: a@b.c\n\n{text_of(row)}\n\n"
        for i, row in enumerate(counts)
    )
    return write(folder / "toy.mbox", body), {}


def mediawiki(folder, counts, opened=open):
    page = (
        "<page><title>d{}</title><ns>{}</ns><id>{}</id><revision><id>1</id><timestamp>2020-01-01T00:00:00Z</timestamp>"
        "<contributor><username>u</username><id>3</id></contributor><text>{}</text></revision></page>\n"
    )
    pages = [page.format(i, ns, i + 1, escape(text_of(row))) for i, row in enumerate(counts) for ns in (0, 1)]
    with opened(folder / "toy.xml", "wb") as file:
        file.write(
            f"<mediawiki><siteinfo><sitename>W</sitename></siteinfo>\n{''.join(pages)}</mediawiki>".encode()
        )
    return folder / "toy.xml", {}


def mediawiki_bz2(folder, counts):
    return mediawiki(folder, counts, bz2.open)


def parquet_table(folder, table):
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(table, folder / "toy.parquet", row_group_size=50)
    return folder / "toy.parquet", {}


def parquet_text(folder, counts):
    pa = pytest.importorskip("pyarrow")
    return parquet_table(folder, pa.table({"text": [text_of(row) for row in counts], "year": range(N_DOCS)}))


def parquet_tokens(folder, counts):
    pa = pytest.importorskip("pyarrow")
    return parquet_table(folder, pa.table({"tokens": [text_of(row).split() for row in counts]}))


def parquet_triples(folder, counts):
    pa = pytest.importorskip("pyarrow")
    documents, words, numbers = zip(*triples_of(counts), strict=True)
    return parquet_table(
        folder, pa.table({"doc": documents, "word": [WORDS[w] for w in words], "n": numbers})
    )


def anndata_of(counts, matrix=sp.csr_matrix):
    anndata = pytest.importorskip("anndata")
    pandas = pytest.importorskip("pandas")
    obs = pandas.DataFrame({"year": range(N_DOCS)}, index=[f"d{i}" for i in range(N_DOCS)])
    return anndata.AnnData(matrix(counts), obs=obs, var=pandas.DataFrame(index=WORDS))


def anndata_object(folder, counts):
    return anndata_of(counts), {}


def anndata_h5ad(folder, counts):
    anndata_of(counts).write_h5ad(folder / "toy.h5ad")
    return folder / "toy.h5ad", {}


def anndata_h5ad_dense(folder, counts):
    anndata_of(counts, np.asarray).write_h5ad(folder / "toy.h5ad")
    return folder / "toy.h5ad", {}


def anndata_h5ad_csc(folder, counts):
    anndata_of(counts, sp.csc_matrix).write_h5ad(folder / "toy.h5ad")
    return folder / "toy.h5ad", {}


def anndata_zarr(folder, counts):
    anndata = pytest.importorskip("anndata")
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # of consolidated metadata, by the writer; of settings that are going away
        with anndata.settings.override(zarr_write_format=3, auto_shard_zarr_v3=False):
            anndata_of(counts).write_zarr(folder / "toy.zarr")
    return folder / "toy.zarr", {}


def matrix_csr(folder, counts):
    return sp.csr_matrix(counts), {"vocabulary": WORDS}


def matrix_csc_array(folder, counts):
    return sp.csc_array(counts), {"vocabulary": WORDS}


def matrix_coo_duplicates(folder, counts):
    half = sp.coo_array(counts * 0.5)
    parts = [np.concatenate([x, x]) for x in (half.data, half.row, half.col)]
    return sp.coo_array((parts[0], (parts[1], parts[2])), half.shape).tocsr(), {"vocabulary": WORDS}


def matrix_dense(folder, counts):
    return counts.astype(np.int16), {"vocabulary": {word: i for i, word in enumerate(WORDS)}}


def saved_npz(folder, counts):
    sp.save_npz(folder / "toy.npz", sp.csr_array(counts))
    return folder / "toy.npz", {"vocabulary": WORDS}


def saved_npy(folder, counts):
    np.save(folder / "toy.npy", counts)
    return folder / "toy.npy", {"vocabulary": WORDS}


def pandas_text(folder, counts):
    pandas = pytest.importorskip("pandas")
    texts = [text_of(row) or None for row in counts]
    return pandas.DataFrame(
        {"year": range(N_DOCS), "text": texts}, index=[f"d{i}" for i in range(N_DOCS)]
    ), {}


def pandas_counts(folder, counts):
    return pytest.importorskip("pandas").DataFrame(counts, columns=WORDS), {}


def arrow_triples(folder, counts):
    rows = [(document, WORDS[word], n) for document, word, n in triples_of(counts)]
    return pytest.importorskip("pandas").DataFrame(rows, columns=["doc", "word", "count"]), {}


def arrow_tokens(folder, counts):
    pa = pytest.importorskip("pyarrow")
    return pa.table({"tokens": [text_of(row).split() for row in counts]}), {}


def dask_frame_text(folder, counts):
    frame = pytest.importorskip("dask.dataframe").from_pandas(
        pandas_text(folder, counts)[0], npartitions=3, sort=False
    )
    return frame, {}


def dask_bag_counters(folder, counts):
    return pytest.importorskip("dask.bag").from_sequence(
        iterable_counters(folder, counts)[0], npartitions=4
    ), {}


def dask_blocks(folder, counts):
    """As dask-ml makes them: CSR blocks of unknown length."""
    import dask
    import dask.array as da

    blocks = [
        da.from_delayed(
            dask.delayed(sp.csr_matrix)(counts[i : i + 17]), (np.nan, N_WORDS), float, sp.csr_matrix((0, 0))
        )
        for i in range(0, N_DOCS, 17)
    ]
    return da.concatenate(blocks, allow_unknown_chunksizes=True), {"vocabulary": WORDS}


def dask_columns(folder, counts):
    import dask.array as da

    return da.from_array(counts, chunks=(25, 6)), {"vocabulary": WORDS}


def iterable_texts(folder, counts):
    return [text_of(row) for row in counts], {}


def iterable_tokens(folder, counts):
    return (text_of(row).split() for row in counts), {}


def iterable_counters(folder, counts):
    return [Counter(text_of(row).split()) for row in counts], {}


def iterable_gensim(folder, counts):
    corpora = pytest.importorskip("gensim.corpora")
    dictionary = corpora.Dictionary([WORDS])
    return [dictionary.doc2bow(text_of(row).split()) for row in counts], {"vocabulary": dictionary}


def iterable_records(folder, counts):
    return ({"text": text_of(row), "id": f"d{i}"} for i, row in enumerate(counts)), {}


WHOLE = [
    bag_of_words, bag_of_words_gzip, bag_of_words_bz2, bag_of_words_xz, bag_of_words_zstd, bag_of_words_remote,
    lda_c, lda_c_named, svmlight, svmlight_from_zero, matrix_market, matrix_market_by_column, matrix_market_dense,
    text_lines, text_windows, text_files, text_glob, json_lines_text, json_lines_tokens, json_lines_counts, csv_text,
    xlsx_text, mallet_lines, vowpal_wabbit, mbox_messages, mediawiki, mediawiki_bz2, tenx_folder,
    tsv_without_header, parquet_text, parquet_tokens, anndata_object, anndata_h5ad, anndata_h5ad_dense,
    anndata_h5ad_csc, anndata_zarr, matrix_csr, matrix_csc_array, matrix_dense, saved_npz, saved_npy, dask_blocks,
    dask_columns, dask_frame_text, dask_bag_counters, pandas_text, pandas_counts, arrow_tokens, iterable_texts,
    iterable_tokens, iterable_counters, iterable_gensim, iterable_records,
]  # fmt: skip
TRIPLES = [csv_triples, parquet_triples, arrow_triples]  # a document without words has no row there


def cut_small(monkeypatch):
    """Chunks of a few documents instead of millions of bytes."""
    for name in [
        "containers.pieces",
        "support.arrow",
        *(f"formats.{name}" for name in modules(f"{READERS}.formats")),
    ]:
        module = importlib.import_module(f"{READERS}.{name}")
        for constant, value in (("CHUNK_BYTES", 200), ("CHUNK_DOCS", 7), ("_TRIPLES", 20)):
            if hasattr(module, constant):
                monkeypatch.setattr(module, constant, value)
