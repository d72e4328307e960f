"""Dask collections as sources: the corpus of their records, read where they are computed."""

import copy
import gzip
import os
import pickle
import signal
import time
from itertools import pairwise
from types import SimpleNamespace

import cloudpickle
import dask
import dask.array as da
import dask.bag as db
import numpy as np
import pytest
import scipy.sparse as sp

from bigtopic.corpus.readers import open_source
from bigtopic.corpus.readers.formats.dask import PartitionStream
from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.errors import ArgumentError, InputError, SettingError, VocabularyMismatch
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion.ingest import ingest
from bigtopic.parallel import cluster, mapping

RNG = np.random.default_rng(0)
WORDS = [f"w{i}" for i in range(40)]
TEXTS = [
    " ".join(RNG.choice(WORDS, RNG.integers(0, 9))) + " the cat and the dog" * (i % 2) for i in range(90)
]
RECORDS = [
    {"id": f"d{i}", "text": text, "authors": [f"a{i % 7}"], "year": 1990 + i % 9}
    for i, text in enumerate(TEXTS)
]
COUNTS = RNG.poisson(0.3, (90, 40))
LENGTHS = (0, 1, 0, 30, 2, 57, 0)  # of partitions


def pieces(items):
    bounds = np.cumsum((0, *LENGTHS))
    return [items[start:stop] for start, stop in pairwise(bounds)]


def bag(items):
    return db.from_delayed([dask.delayed(list, pure=False)(piece) for piece in pieces(items)])


def frame(**names):
    return pytest.importorskip("pandas").DataFrame(RECORDS).rename(columns=names)


def dask_frame(table):
    return pytest.importorskip("dask.dataframe").from_pandas(table, npartitions=4, sort=False)


def rows(shape=(25, 40)):
    return da.from_array(COUNTS, chunks=shape)


def of_unknown_lengths():
    array = rows()
    return array[array[:, 0] >= 0]


def zipped(folder):
    for i, piece in enumerate(pieces(TEXTS)):
        with gzip.open(folder / f"{i}.txt.gz", "wt") as file:
            file.writelines(f"{text}\n" for text in piece)
    return db.read_text(str(folder / "*.txt.gz")).map(str.strip)


NAMED = {"text_column": "body", "id_column": "key", "author_column": "who", "columns": ["year"]}
OTHER_NAMES = {"text": "body", "id": "key", "authors": "who"}
# name: (collection, the same records in memory, arguments)
SOURCES = {
    "texts": lambda _: (bag(TEXTS), TEXTS, {}),
    "files": lambda folder: (zipped(folder), TEXTS, {}),
    "one document each": lambda _: (
        db.from_sequence(TEXTS[:9], npartitions=9),
        TEXTS[:9],
        {"shuffle": False},
    ),
    "ids beside it": lambda _: (bag(TEXTS), TEXTS, {"ids": [f"i{i}" for i in range(90)]}),
    "collocations": lambda _: (bag(TEXTS), TEXTS, {"collocations": 0.2}),
    "records": lambda _: (bag(RECORDS), RECORDS, {"keep_text": True}),
    "frame": lambda _: (dask_frame(frame(**OTHER_NAMES)), frame(**OTHER_NAMES), NAMED),
    "frame with ids": lambda _: (dask_frame(frame().set_index("id")), frame().set_index("id"), {}),
    "filtered frame": lambda _: (dask_frame(frame()).query("id == 'd80'"), frame()[80:81], {}),
    "column": lambda _: (dask_frame(frame())["text"], frame()["text"], {}),
    "array": lambda _: (rows(), COUNTS, {}),
    "blocks side by side": lambda _: (rows((25, 15)), COUNTS, {}),
    "unknown lengths": lambda _: (of_unknown_lengths(), COUNTS, {"ids": [f"i{i}" for i in range(90)]}),
    "scipy": lambda _: (rows().map_blocks(sp.csr_array), COUNTS, {}),
}


def same_corpus(collection, records, tmp_path, client, **settings):
    found = ingest(collection, tmp_path / "found.zarr", client=client, n_threads=2, **settings)
    expected = ingest(records, tmp_path / "expected.zarr", client=False, n_threads=1, **settings)
    assert found.fingerprint == expected.fingerprint and found.text_settings == expected.text_settings
    assert found.document_ids().tolist() == expected.document_ids().tolist()
    return found


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_a_collection_is_the_corpus_of_its_records(make, tmp_path):
    collection, records, settings = make(tmp_path)
    same_corpus(collection, records, tmp_path, False, **settings)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "shape"), [("COO", (25, 40)), ("GCXS", (25, 40)), ("GCXS", (25, 15))])
def test_sparse_blocks_of_pydata(kind, shape, tmp_path):
    make = getattr(pytest.importorskip("sparse"), kind).from_numpy
    same_corpus(rows(shape).map_blocks(make), COUNTS, tmp_path, False)
    same_corpus(make(COUNTS), COUNTS, tmp_path, False, overwrite=True)


def test_workers_compute_what_they_parse_and_send_no_text(one_worker, tmp_path, monkeypatch):
    """The driver gets the first documents, and the counts of each partition, one after the other."""
    monkeypatch.setattr("bigtopic.corpus.readers.formats.dask._PEEK", 30)
    texts = [" ".join(RNG.choice(WORDS, 400)) for _ in range(240)]
    there = one_worker.scatter(texts, hash=False)
    collection = db.from_delayed([dask.delayed(lambda all, i: all[i::12])(there, i) for i in range(12)])
    come: dict[str, int] = {}

    def weighed(owner, name):
        real = getattr(owner, name)

        def call(*arguments):
            result = real(*arguments)
            come[name] = come.get(name, 0) + len(pickle.dumps(result))
            come[type(result).__name__] = come.get(type(result).__name__, 0) + 1
            return result

        monkeypatch.setattr(owner, name, call)

    weighed(cluster.results, "result_of")
    weighed(PartitionStream, "_computed")
    assert ingest(collection, tmp_path / "c.zarr", client=one_worker).n_docs == 240
    whole = len(pickle.dumps(texts))
    assert come["ParsedRun"] == 12 and come["result_of"] < whole / 10
    assert 30 * whole / 240 < come["_computed"] < 50 * whole / 240


def test_the_bar_counts_partitions():
    reader = open_source(bag(TEXTS))
    assert (reader.size, reader.unit) == (len(LENGTHS), " partitions")
    assert sum(chunk.size for chunk in reader.stream.chunks()) == len(LENGTHS)


def failing(items, number):
    def check(partition):
        if items[number] in partition:
            raise KeyError("nothing there")
        return partition

    return bag(items).map_partitions(check)


@pytest.mark.parametrize("number", [0, 89], ids=["in the first documents", "in any other"])
@pytest.mark.parametrize("on", ["threads", "a cluster"])
def test_a_partition_that_fails_is_named(number, on, one_worker, tmp_path, monkeypatch):
    monkeypatch.setattr("bigtopic.corpus.readers.formats.dask._PEEK", 20)
    records = [{"text": text, "number": i} for i, text in enumerate(TEXTS)]
    before = ingest(["a cat"], tmp_path / "c.zarr").fingerprint
    client = one_worker if on == "a cluster" else False
    partition = {0: 1, 89: 5}[number]
    with pytest.raises(InputError, match=f"Dask bag, partition {partition} .*KeyError: 'nothing") as raised:
        ingest(failing(records, number), tmp_path / "c.zarr", overwrite=True, client=client)
    assert isinstance(raised.value.__cause__, KeyError)
    assert open_corpus(tmp_path / "c.zarr").fingerprint == before
    assert not list((tmp_path / "c.zarr").glob("*scratch*"))


def test_results_of_another_cluster_are_refused():
    def client(address):
        return SimpleNamespace(scheduler=SimpleNamespace(address=address))

    cluster.check_holder(client("tcp://a:1"), client("tcp://a:1"))
    with pytest.raises(SettingError, match=r"at tcp://a:1 holds results .* and not the one at tcp://b:2"):
        cluster.check_holder(client("tcp://a:1"), client("tcp://b:2"))


def test_pairs_of_an_id_and_a_text_are_refused():
    with pytest.raises(InputError, match=r"the Dask bag holds pairs such as \('d0', .*or records, \{'id'"):
        open_source(bag([(record["id"], f"cat and {record['text']}") for record in RECORDS]))


@pytest.mark.parametrize("divided", [False, True])
def test_parquet_that_dask_wrote(divided, tmp_path):
    """A folder of files: without the index that Dask writes, and with the columns that divide it."""
    pytest.importorskip("pyarrow")
    written = dask_frame(frame().drop(columns="authors"))
    written.to_parquet(tmp_path / "records", partition_on=["year"] if divided else None)
    read = pytest.importorskip("dask.dataframe").read_parquet(tmp_path / "records")
    same_corpus(read, str(tmp_path / "records"), tmp_path, False)
    found = open_corpus(tmp_path / "expected.zarr")
    assert list(found.columns) == ["year"] and set(found.read_columns(["year"])["year"].tolist()) == {
        *range(1990, 1999)
    }


@pytest.mark.slow
@pytest.mark.distributed
def test_a_shuffle_runs_once_on_the_cluster(three_workers, tmp_path):
    with three_workers.as_current():
        shuffled = dask_frame(frame().drop(columns="year")).set_index("id")
        expected = frame().drop(columns="year").set_index("id").sort_index()
        same_corpus(shuffled, expected, tmp_path, three_workers)


@pytest.mark.slow
@pytest.mark.distributed
def test_a_worker_dies_while_it_reads_a_partition(mortal_workers, tmp_path):
    once = tmp_path / "killed"

    def deadly(partition):
        if TEXTS[89] in partition and not once.exists():
            once.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return partition

    (tmp_path / "a").mkdir()
    same_corpus(bag(TEXTS).map_partitions(deadly), TEXTS, tmp_path / "a", mortal_workers)
    assert once.exists()


@pytest.mark.distributed
def test_what_is_given_up_writes_nothing_afterwards(one_worker, tmp_path):
    """Tasks that have begun cannot be stopped: they are waited for."""

    def late(number, value):
        time.sleep(0.1)
        (tmp_path / str(number)).touch()

    found = mapping.graph_map(late, range(40), [dask.delayed(number) for number in range(40)], one_worker)
    next(found)
    found.close()
    before = sorted(tmp_path.iterdir())
    time.sleep(0.3)
    assert sorted(tmp_path.iterdir()) == before and len(before) < 30


# --- topics of documents


@pytest.fixture(scope="module")
def of_texts():
    return LDA(3, method="online-ope", max_iter=1, client=False).fit(RECORDS)


@pytest.fixture(scope="module")
def of_counts():
    return LDA(3, method="online-cvb0", max_iter=1, client=False).fit(COUNTS)


@pytest.mark.parametrize("name", ["texts", "files", "records", "frame with ids", "column"])
def test_topics_of_a_collection_of_texts(name, of_texts, tmp_path):
    collection, records, _ = SOURCES[name](tmp_path)
    lazy = of_texts.transform(collection, random_state=3)
    assert lazy.shape[1] == 3 and lazy.dtype == np.float32 and np.isnan(lazy.shape[0])
    eager = of_texts.transform(records, random_state=3)
    np.testing.assert_array_equal(lazy.compute(scheduler="synchronous"), eager)


@pytest.mark.parametrize("name", ["array", "blocks side by side", "unknown lengths", "scipy"])
def test_topics_of_a_dask_array(name, of_counts, tmp_path):
    collection, counts, _ = SOURCES[name](tmp_path)
    lazy = of_counts.transform(collection)
    assert name == "unknown lengths" or lazy.chunks == ((25, 25, 25, 15), (3,))
    np.testing.assert_array_equal(lazy.compute(), of_counts.transform(counts))
    sparse = of_counts.transform(collection, sparse=True, top_k=1)
    assert (sparse.compute() != of_counts.transform(counts, sparse=True, top_k=1)).nnz == 0


@pytest.mark.parametrize("order", ["source", "stored"])
def test_topics_of_a_corpus_as_a_dask_array(order, of_texts, tmp_path, monkeypatch):
    corpus = ingest(TEXTS, tmp_path / "c.zarr", client=False)
    monkeypatch.setattr(Corpus.spans, "__defaults__", (100,))
    monkeypatch.setattr(Corpus.to_delayed, "__defaults__", (100,))
    lazy = of_texts.transform(corpus, lazy=True, order=order)
    assert lazy.shape == (90, 3) and len(lazy.chunks[0]) > 1
    np.testing.assert_array_equal(lazy.compute(), of_texts.transform(corpus, order=order))


def test_topics_of_collections_of_other_models():
    authors = AuthorTopicModel(3, max_iter=1, client=False).fit(ingest(RECORDS, "memory://authors.zarr"))
    np.testing.assert_array_equal(authors.transform(bag(RECORDS)).compute(), authors.transform(RECORDS))
    pairs = DualTopicModel(2, 3, max_iter=1, client=False).fit(COUNTS)
    np.testing.assert_array_equal(pairs.transform(rows()).compute(), pairs.transform(COUNTS))


def test_collections_that_do_not_fit_the_model_are_refused_before_they_are_computed(of_texts, of_counts):
    with pytest.raises(VocabularyMismatch, match="does not know 100%"):
        of_texts.transform(bag(["other words " * 10] * 90))
    with pytest.raises(VocabularyMismatch, match="X has 15 features"):
        of_counts.transform(rows((25, 15))[:, :15])
    with pytest.raises(SettingError, match="choose 'default', and make a DataFrame"):
        copy.copy(of_texts).set_output(transform="pandas").transform(bag(TEXTS))


def test_fit_says_how_to_ingest_a_table_with_named_columns():
    with pytest.raises(
        ArgumentError, match=r"'text_column'; .*ingest\(documents, 'corpus.zarr', text_column='body'\)"
    ):
        LDA(3).fit(bag(RECORDS), text_column="body")


def test_a_worker_gets_the_model_once(of_texts, one_worker):
    """Although each of its partitions needs it."""
    model = copy.copy(of_texts)
    model.client = one_worker
    lazy = model.transform(bag(TEXTS))
    graph = dict(lazy.__dask_graph__())
    assert sum(type(task).__name__ == "Future" for task in graph.values()) == 1
    blocks = [cloudpickle.dumps(task) for key, task in graph.items() if key[0] == lazy.name]
    assert len(blocks) == len(LENGTHS) and max(map(len, blocks)) < 1000
    found = one_worker.compute(lazy).result()
    np.testing.assert_array_equal(found, of_texts.transform(TEXTS))
