"""Write documents in every format, read them, and find them again in the source's order, however they are cut."""

from __future__ import annotations

import bz2
import gzip
import importlib
import json
import lzma
import pickle
import warnings
from collections import Counter

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.readers import FORMATS, TextSettings, open_source
from bigtopic.errors import InputError
from bigtopic.estimators.lda import LDA

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


def tsv_without_header(folder, counts):
    body = "".join(f'train\t{text_of(row)} a "b\t{i}\n' for i, row in enumerate(counts))
    settings = TextSettings(token_pattern=r"\S+", stop_words=["a", '"b'])
    return write(folder / "toy.tsv", body), {"text": settings}


def csv_triples(folder, counts):
    body = "".join(f"{d},{WORDS[w]},{n}\n" for d, w, n in triples_of(counts))
    return write(folder / "toy.csv", "document,word,count\n" + body), {}


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
    with warnings.catch_warnings(), anndata.settings.override(zarr_write_format=3, auto_shard_zarr_v3=False):
        warnings.simplefilter("ignore")  # of consolidated metadata, by the writer
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
    tsv_without_header, parquet_text, parquet_tokens, anndata_object, anndata_h5ad, anndata_h5ad_dense,
    anndata_h5ad_csc, anndata_zarr, matrix_csr, matrix_csc_array, matrix_dense, saved_npz, saved_npy, dask_blocks,
    dask_columns, iterable_texts, iterable_tokens, iterable_counters, iterable_gensim, iterable_records,
]  # fmt: skip
TRIPLES = [csv_triples, parquet_triples]  # a document without words has no row there


def cut_small(monkeypatch):
    """Chunks of a few documents instead of millions of bytes."""
    for name in ["_pieces", "_matrix", *FORMATS]:
        module = importlib.import_module(f"bigtopic.corpus.readers.{name}")
        for constant, value in (("CHUNK_BYTES", 200), ("CHUNK_DOCS", 7), ("_TRIPLES", 20)):
            if hasattr(module, constant):
                monkeypatch.setattr(module, constant, value)


def read(source, **keywords):
    """Blocks of a source, with reader and chunks going through pickle as on a cluster."""
    reader = open_source(source, **{"text": PLAIN, **keywords})
    remote = pickle.loads(pickle.dumps(reader))
    chunks = [chunk for stream in reader.streams() for chunk in stream.chunks()]
    return reader, [remote.parse(pickle.loads(pickle.dumps(chunk))) for chunk in chunks]


def dense(reader, blocks):
    """Counts by document and word of `WORDS`, checking that every block is as promised."""
    out, position = np.zeros((sum(block.n_docs for block in blocks), N_WORDS)), 0
    for block in blocks:
        assert (
            block.indptr.dtype == np.int64 and block.indptr[0] == 0 and block.indptr[-1] == len(block.words)
        )
        assert block.words.dtype == np.int32 and block.counts.dtype == np.float32 and (block.counts > 0).all()
        assert block.first_row in (None, position)
        words = reader.vocabulary if block.vocabulary is None else block.vocabulary
        for i in range(block.n_docs):
            ids = block.words[block.indptr[i] : block.indptr[i + 1]]
            assert (np.diff(ids) > 0).all()
            for word, n in zip(ids, block.counts[block.indptr[i] : block.indptr[i + 1]], strict=True):
                out[position + i, WORDS.index(words[word])] = n
        position += block.n_docs
    return out


@pytest.mark.parametrize("make", [*WHOLE, *TRIPLES], ids=lambda make: make.__name__)
@pytest.mark.parametrize("small", [False, True], ids=["one-chunk", "many-chunks"])
def test_written_then_read_is_equal_in_source_order(make, small, tmp_path, monkeypatch):
    counts = make_counts()
    source, keywords = make(tmp_path, counts)
    if small:
        cut_small(monkeypatch)
    reader, blocks = read(source, **keywords)
    expected = counts[counts.any(axis=1)] if make in TRIPLES else counts
    np.testing.assert_array_equal(dense(reader, blocks), expected)
    by_block = ("text_files", "dask_blocks", "dask_columns", "text_glob", "parquet_triples")
    assert len(blocks) > 1 if small else len(blocks) == 1 or make.__name__ in by_block
    assert make.__name__.startswith(reader.name) or reader.name in (
        "text",
        "files",
        "csv",
        "matrix",
        "dask_array",
    )


@pytest.mark.parametrize("make", WHOLE, ids=lambda make: make.__name__)
def test_ids_authors_and_columns_given_beside_a_source_reach_their_documents(make, tmp_path, monkeypatch):
    source, keywords = make(tmp_path, make_counts())
    cut_small(monkeypatch)
    given = {
        "ids": (f"name{i}" for i in range(N_DOCS)),
        "authors": [[f"a{i}", f"a{i // 2}"] if i % 5 else None for i in range(N_DOCS)],
        "columns": {"number": range(N_DOCS)},
    }
    _, blocks = read(source, **keywords, **given)
    assert [name for block in blocks for name in block.ids] == [f"name{i}" for i in range(N_DOCS)]
    assert np.concatenate([block.columns["number"] for block in blocks]).tolist() == list(range(N_DOCS))
    names = [
        {block.author_names[a] for a in block.authors[block.author_indptr[i] : block.author_indptr[i + 1]]}
        for block in blocks
        for i in range(block.n_docs)
    ]
    assert names == [{f"a{i}", f"a{i // 2}"} if i % 5 else set() for i in range(N_DOCS)]


@pytest.mark.parametrize(
    "make", [bag_of_words, text_lines, json_lines_text, csv_triples], ids=lambda m: m.__name__
)
def test_a_plain_and_a_compressed_file_are_cut_at_the_same_places(make, tmp_path, monkeypatch):
    path, keywords = make(tmp_path, make_counts())
    packed = path.with_name(path.name + ".gz")
    packed.write_bytes(gzip.compress(path.read_bytes()))
    cut_small(monkeypatch)
    plain, compressed = read(path, **keywords)[1], read(packed, **keywords)[1]
    assert [block.n_docs for block in plain] == [block.n_docs for block in compressed]


def test_sizes_of_chunks_add_up_to_the_size_of_the_source(tmp_path):
    for make in (bag_of_words, bag_of_words_gzip, text_lines, text_files, matrix_csr):
        source, keywords = make(tmp_path, make_counts())
        reader = open_source(source, **keywords)
        total = sum(chunk.size for stream in reader.streams() for chunk in stream.chunks())
        assert 0.9 * reader.size <= total <= reader.size  # headers are no documents


@pytest.mark.parametrize("make", [svmlight, matrix_csr, iterable_counters], ids=lambda make: make.__name__)
def test_weights_are_read_when_asked_for(make, tmp_path):
    if make is iterable_counters:
        source = [{WORDS[w]: row[w] for w in np.flatnonzero(row)} for row in make_counts(weights=True)]
        keywords = {}
    else:
        source, keywords = make(tmp_path, make_counts(weights=True))
    np.testing.assert_array_equal(dense(*read(source, weights=True, **keywords)), make_counts(weights=True))


def test_explicit_zeros_are_dropped_and_counted(tmp_path):
    matrix = sp.csr_array(([0.0, 2.0, 0.0], ([0, 0, 1], [0, 1, 1])), shape=(2, 2))
    bag = write(tmp_path / "docword.z.txt", "2\n2\n3\n1 1 0\n1 2 2\n2 2 0\n")
    pairs = write(tmp_path / "z.dat", "2 0:0 1:2\n1 1:0\n")
    for source in (matrix, bag, pairs, [[(0, 0), (1, 2)], [(1, 0)]], [{"a": 0, "b": 2}, {"b": 0}]):
        (block,) = read(source)[1]
        assert (block.n_docs, block.n_zeros, block.counts.tolist()) == (2, 2, [2.0])


def test_weights_too_small_to_store_are_zeros(tmp_path):
    bag = write(tmp_path / "docword.z.txt", "1\n2\n2\n1 1 1e-60\n1 2 0.5\n")
    pairs = write(tmp_path / "z.dat", "2 0:1e-60 1:0.5\n")
    table = write(tmp_path / "z.csv", "doc,word,count\nd,a,1e-60\nd,b,0.5\n")
    matrix = sp.csr_array([[1e-60, 0.5]])
    for source in (bag, pairs, table, matrix, matrix.toarray(), [{"a": 1e-60, "b": 0.5}]):
        (block,) = read(source, weights=True)[1]
        assert (block.words.tolist(), block.counts.tolist()) == ([1], [0.5])


def test_repeated_words_are_added_up(tmp_path):
    bag = write(tmp_path / "docword.z.txt", "1\n3\n3\n1 2 1\n1 1 4\n1 2 2\n")
    pairs = write(tmp_path / "z.dat", "3 1:1 0:4 1:2\n")
    for source in (bag, pairs, [[(1, 1), (0, 4), (1, 2)]]):
        (block,) = read(source)[1]
        assert (block.words.tolist(), block.counts.tolist()) == ([0, 1], [4.0, 3.0])


def test_columns_keep_their_types_and_order(tmp_path):
    rows = [
        {"id": 7, "text": "a b", "authors": ["X", "Y"], "year": 1990, "score": 0.5, "label": "p", "ok": True},
        {
            "id": 8,
            "text": "a",
            "tags": "no",
            "authors": "Z",
            "score": None,
            "year": 1991,
            "label": None,
            "ok": False,
        },
    ]
    (block,) = read(write(tmp_path / "r.jsonl", "\n".join(map(json.dumps, rows))))[1]
    assert block.ids == ["7", "8"] and block.author_names == ["X", "Y", "Z"]
    assert list(block.columns) == ["year", "score", "label", "ok", "tags"]
    assert block.columns["year"].dtype.kind == "i" and block.columns["ok"].dtype.kind == "b"
    np.testing.assert_array_equal(block.columns["score"], [0.5, np.nan])
    assert block.columns["label"].tolist() == ["p", ""] and block.columns["tags"].tolist() == ["", "no"]
    (block,) = read(rows, columns=["label"], id_column="year", author_column="tags")[1]
    assert list(block.columns) == ["label"] and block.ids == ["1990", "1991"] and block.author_names == ["no"]


def test_labels_folders_and_names_are_kept(tmp_path):
    path, keywords = svmlight(tmp_path, make_counts())
    (block,) = read(path, **keywords)[1]
    assert block.columns["label"].tolist() == [i % 3 - 1 for i in range(N_DOCS)]
    (block,) = read(text_files(tmp_path, make_counts())[0])[1]
    assert block.ids[31] == "group1/031.txt" and block.columns["folder"][31] == "group1"


def test_several_folders_are_one_source(tmp_path):
    for name in ("b", "a"):
        (tmp_path / name).mkdir()
        write(tmp_path / name / "1.txt", f"text {name}")
        write(tmp_path / name / "2.txt", f"more {name}")
    (block,) = read([tmp_path / "b", f"{tmp_path}/a/"])[1]
    assert block.n_docs == 4 and block.vocabulary == ["text", "b", "more", "a"]
    for name in ("b", "a"):
        (tmp_path / name / "1.txt").unlink()
        (tmp_path / name / "2.txt").rename(tmp_path / name / "2.jsonl")
        write(tmp_path / name / "2.jsonl", f'{{"text": "{name} first"}}\n{{"text": "second"}}\n')
    assert [block.n_docs for block in read([tmp_path / "b", tmp_path / "a"])[1]] == [2, 2]


def test_a_given_vocabulary_keeps_its_order_and_drops_other_words():
    reader, (block,) = read(["b a c c", "", "x c"], vocabulary=["c", "b"])
    assert (reader.n_words, block.vocabulary) == (2, None)
    assert block.indptr.tolist() == [0, 2, 2, 3]
    assert (block.words.tolist(), block.counts.tolist()) == ([0, 1, 0], [2.0, 1.0, 1.0])


def test_a_vocabulary_may_be_a_fitted_model():
    CountVectorizer = pytest.importorskip("sklearn.feature_extraction.text").CountVectorizer
    fitted = CountVectorizer().fit(["some words here"])
    assert open_source(["some here"], vocabulary=fitted).vocabulary == ["here", "some", "words"]


def test_a_vocabulary_may_be_a_topic_model():
    corpus = from_matrix(np.eye(3), ["some", "words", "here"])
    model = LDA(2, max_iter=1, client=False, n_threads=1).fit(corpus)
    assert open_source(["some here"], vocabulary=model).vocabulary == ["some", "words", "here"]
    assert open_source(["some here"], vocabulary=corpus.vocabulary).vocabulary == ["some", "words", "here"]
    gensim = pytest.importorskip("gensim")
    texts = [["some", "here"], ["words"]]
    dictionary = gensim.corpora.Dictionary(texts)
    other = gensim.models.LdaModel([dictionary.doc2bow(text) for text in texts], 2, dictionary)
    assert open_source(["some here"], vocabulary=other).vocabulary == ["here", "some", "words"]


def test_formats_can_be_forced(tmp_path):
    path = write(tmp_path / "looks.json", '{"text": "a b"}\n')
    assert open_source(path).name == "json_lines"
    assert read(path, format="text")[1][0].vocabulary == ['{"text":', '"a', 'b"}']
    files = [str(write(tmp_path / f"{i}.txt", "a b\nc d\n")) for i in range(3)]
    assert sum(block.n_docs for block in read(files)[1]) == 6
    assert sum(block.n_docs for block in read(files, format="files")[1]) == 3
    assert sum(block.n_docs for block in read(files, format="iterable")[1]) == 3


def test_collocations_are_counted_in_a_first_pass_and_joined_in_the_second():
    texts = ["new york is big", "in new york", "new york new york", "a new day in old york"] * 5
    reader = open_source(texts, text=TextSettings(collocations=0.3))
    found = None
    for stream in reader.streams():
        for chunk in stream.chunks():
            counts = reader.collocation_counts(chunk)
            found = counts if found is None else found.merge(counts)
    pairs = found.select(0.3)
    assert ("new", "york") in pairs and ("old", "day") not in pairs
    joined = reader.with_collocations({("new", "york")})
    (block,) = [joined.parse(chunk) for stream in joined.streams() for chunk in stream.chunks()]
    assert "new_york" in block.vocabulary
    column = block.vocabulary.index("new_york")
    assert block.counts[block.words == column].sum() == 5 * 4


def test_a_source_says_whether_it_can_be_read_twice():
    def twice(source, **keywords):
        return [getattr(stream, "repeatable", True) for stream in open_source(source, **keywords).streams()]

    assert twice(["a text"]) == twice(["a text"], ids=["x"]) == [True]
    assert (
        twice(iter(["a text"]))
        == twice(["a text"], ids=iter(["x"]))
        == twice(iter(["a"]), ids=["x"])
        == [False]
    )
    (stream,) = open_source(["a text"]).streams()
    assert [len(list(stream.chunks())) for _ in range(2)] == [1, 1]
    (stream,) = open_source(iter(["a text"])).streams()
    list(stream.chunks())
    with pytest.raises(InputError, match="only once"):
        list(stream.chunks())
