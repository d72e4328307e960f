"""Authors attached to a corpus that stands: the same corpus as with authors at ingest, or the old one."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import bigtopic as bt
from bigtopic.corpus.authors import nearest
from bigtopic.corpus.stored.manifest import read_manifest
from bigtopic.corpus.stored.transaction import Transaction
from bigtopic.errors import CorpusDamaged, CorpusLocked, InputError, SettingError
from bigtopic.storage.place import Place

TEXTS = ["a cat sat", "a dog ran", "the cat ran far", "a bird sang", "the dog sang"]
IDS = ["d0", "d1", "d2", "d3", "d4"]
AUTHORS = [["Ann", "Bob"], ["Bob"], [], ["Cleo"], ["Ann", "Bob"]]
DOC2AUTHOR = dict(zip(IDS, AUTHORS, strict=True))
AUTHOR2DOC = {"Bob": ["d0", "d1", "d4"], "Ann": ["d0", "d4"], "Cleo": ["d3"]}
PAIRS = [(document, name) for document, names in DOC2AUTHOR.items() for name in names]
MISSING = [None, float("nan"), np.float32("nan"), np.datetime64("NaT"), Decimal("NaN"), pd.NA, pd.NaT]
HERE = {"n_threads": 1, "progress": False}


@pytest.fixture
def path(tmp_path):
    bt.ingest(TEXTS[:3], tmp_path / "corpus.zarr", ids=IDS[:3], **HERE)
    bt.append(tmp_path / "corpus.zarr", TEXTS[3:], ids=IDS[3:], **HERE)
    return tmp_path / "corpus.zarr"


def names_of(corpus):
    return {document.id: document.authors for document in corpus}


def manifest_of(path):
    return (path / "zarr.json").read_bytes()


@pytest.mark.parametrize("authors", [DOC2AUTHOR, AUTHOR2DOC, PAIRS, iter(PAIRS), DOC2AUTHOR.items()])
def test_the_same_as_authors_at_ingest(path, tmp_path, authors):
    corpus = bt.open_corpus(path).with_authors(authors)
    at_once = bt.ingest(TEXTS, tmp_path / "once.zarr", ids=IDS, authors=AUTHORS, **HERE)
    assert corpus.authors == at_once.authors == ["Bob", "Ann", "Cleo"]
    assert {d: set(names) for d, names in names_of(corpus).items()} == {
        d: set(names) for d, names in names_of(at_once).items()
    }
    assert names_of(bt.open_corpus(path)) == names_of(corpus)
    assert corpus.verify().n_arrays == 2 * 8


def test_one_name_is_not_letters_and_spaces_are_stripped(path):
    corpus = bt.open_corpus(path).with_authors({"d0": " Ann ", "d1": None})
    assert corpus.authors == ["Ann"] and names_of(corpus)["d1"] == []


@pytest.mark.parametrize("nothing", MISSING, ids=repr)
def test_a_missing_name_is_no_author(path, nothing):
    wanted = {"d0": [nothing, "Ann"], "d1": nothing}
    corpus = bt.open_corpus(path).with_authors(wanted)
    assert corpus.authors == ["Ann"] and names_of(corpus)["d0"] == ["Ann"]


def test_documents_without_ids_are_known_by_their_row(tmp_path):
    corpus = bt.ingest(TEXTS, tmp_path / "rows.zarr", **HERE)
    assert names_of(corpus.with_authors({"Ann": [0, 4], "Bob": [np.int64(1)]}))["4"] == ["Ann"]


def test_a_second_call_replaces_and_open_readers_go_on(path):
    plain = bt.open_corpus(path)
    first = plain.with_authors(DOC2AUTHOR)
    before = names_of(bt.open_corpus(path))
    second = plain.with_authors({"d2": ["Dora"]})
    assert second.authors == ["Dora"] and names_of(second)["d0"] == []
    assert plain.authors is None and plain.read().author_indptr is None
    assert first.authors == ["Bob", "Ann", "Cleo"] and names_of(first) == before
    assert second.fingerprint != first.fingerprint


def test_what_was_replaced_twice_is_removed(path):
    for names in (AUTHOR2DOC, {"Dora": ["d2"]}, {"Eve": ["d1"]}):
        corpus = bt.open_corpus(path).with_authors(names)
    assert len(list((path / "authors").glob("0*"))) == 2  # the last, and the one before it
    corpus = bt.compact(path, **HERE)
    assert len(list((path / "authors").glob("0*"))) == 1
    assert corpus.authors == ["Eve"] and names_of(corpus)["d1"] == ["Eve"]


def test_append_keeps_them(path):
    bt.open_corpus(path).with_authors(AUTHOR2DOC)
    corpus = bt.append(path, ["a cow ran"], ids=["d5"], authors=[["Dora", "Ann"]], **HERE)
    assert corpus.authors == ["Bob", "Ann", "Cleo", "Dora"]
    assert names_of(corpus)["d0"] == ["Bob", "Ann"] and set(names_of(corpus)["d5"]) == {"Dora", "Ann"}
    corpus.verify()
    again = corpus.with_authors({"d5": ["Eve"]})
    assert again.authors == ["Eve"] and again.verify().n_parts == 3


def test_authors_of_the_source_are_replaced(tmp_path):
    corpus = bt.ingest(TEXTS, tmp_path / "c.zarr", ids=IDS, authors=AUTHORS, **HERE)
    assert names_of(corpus.with_authors({"d1": "Zoe"}))["d0"] == []


def test_in_memory_and_behind_a_url():
    matrix = bt.from_matrix(np.ones((5, 3)), ids=IDS)
    corpus = matrix.with_authors(AUTHOR2DOC)
    assert corpus.authors == ["Bob", "Ann", "Cleo"] and set(names_of(corpus)["d4"]) == {"Ann", "Bob"}
    assert matrix.authors is None and corpus[:2].read().authors is not None
    far = bt.ingest(matrix, "memory://authors/corpus.zarr", progress=False)
    first = far.with_authors(AUTHOR2DOC)
    assert far.with_authors({"d1": "Zoe"}).authors == ["Zoe"] and set(names_of(first)["d4"]) == {"Ann", "Bob"}


WRONG = [
    ({"d0": ["Ann"], "D1": ["Bob"]}, "no document 'D1'.*nearest is 'd1'"),
    ({"Ann": ["d0"], "Bob": ["d1", "d77"]}, "no document 'd77'"),
    ([("x1", "Ann"), ("x2", "Bob")], "none of the 2 documents.*another corpus.*'d0'"),
    ({"Ann": ["d0"], "Bob": []}, "'Bob' has no document"),
    ({"d0": ["Ann", "Bob", " Ann"]}, "document 'd0' lists the author 'Ann' twice"),
    ([("d0", "Ann"), ("d1", "Ann"), ("d0", "Ann")], "document 'd0' lists the author 'Ann' twice"),
    ({"d0": ["Ann", ""]}, "document 'd0' has an author without a name"),
    ({"d0": [None]}, "no author"),
    ({"d0": [7]}, "document 'd0' has the author 7"),
    ({"d0": [{"name": "Ann"}]}, "document 'd0' has the author {'name': 'Ann'}; give names as text, such as"),
    ({"d0": b"Ann"}, "document 'd0' has the author b'Ann'; give names as text$"),
    ({"d0": ["x" * 5000, 7.5]}, "document 'd0' has the author 7.5"),
    ({"d0": [b"x" * 5000]}, "^.{,120}$"),
    ({"d0": 7}, "document 'd0'"),
    ({"d0": "half \ud800"}, "document 'd0'.*half a character"),
    ({(1, 2): "Ann"}, r"\(1, 2\)"),
    ([("d0", "Ann", "Bob")], "number 0.*pair"),
    (["d0"], "number 0.*pair"),
    ({}, "no author"),
    ({"d0": []}, "no author"),
    ({"d0": "d1", "d1": "d2"}, "both.*pairs"),
    (7, "mapping"),
    ("authors.csv", "mapping"),
]


@pytest.mark.parametrize(("authors", "message"), WRONG)
def test_wrong_input_leaves_the_store_untouched(path, authors, message):
    before, there = manifest_of(path), sorted(path.rglob("*"))
    with pytest.raises(InputError, match=message):
        bt.open_corpus(path).with_authors(authors)
    assert manifest_of(path) == before and sorted(path.rglob("*")) == there


def test_the_nearest_id_is_found_wherever_the_mistake_is():
    ids = [f"doc{i}" for i in range(10_000)]
    assert nearest("dok7", ids) == "doc7" and nearest("DOC77", ids) == "doc77"
    assert nearest("doc123O", ids) == "doc123" and nearest("oc4567", ids) == "doc4567"


def test_an_id_that_two_documents_have(tmp_path):
    corpus = bt.ingest(TEXTS[:3], tmp_path / "twice.zarr", ids=["a", "b", "a"], **HERE)
    assert corpus.with_authors({"b": "Ann"}).authors == ["Ann"]
    with pytest.raises(InputError, match="'a' is the id of several documents"):
        corpus.with_authors({"a": "Ann"})


def test_a_view_is_refused(path):
    corpus = bt.open_corpus(path)
    for view in (corpus[:2], corpus.filter_vocabulary(keep=["cat"]), bt.from_matrix(np.ones((5, 3)))[:2]):
        with pytest.raises(SettingError, match="view"):
            view.with_authors({"d0": "Ann"})


def test_a_corpus_that_grew_since_is_refused(path):
    corpus = bt.open_corpus(path)
    bt.append(path, ["a cow ran"], ids=["d5"], **HERE)
    with pytest.raises(CorpusLocked, match="open it again"):
        corpus.with_authors(AUTHOR2DOC)


def test_a_second_writer_is_refused(path):
    corpus = bt.open_corpus(path)
    with Transaction(Place.of(path)), pytest.raises(CorpusLocked):
        corpus.with_authors(AUTHOR2DOC)


def test_older_readers_refuse_a_layer_and_plain_stores_keep_their_version(path):
    assert read_manifest(Place.of(path)).to_dict()["version"] == 1
    bt.open_corpus(path).with_authors(AUTHOR2DOC)
    assert read_manifest(Place.of(path)).to_dict()["version"] == 2
    bt.compact(path, **HERE)
    assert read_manifest(Place.of(path)).to_dict()["version"] == 1


@pytest.mark.parametrize("array", ["indptr", "indices"])
def test_a_damaged_layer_is_named(path, array):
    corpus = bt.open_corpus(path).with_authors(AUTHOR2DOC)
    chunk = next(path.glob(f"authors/0*/0*/{array}/c/0"))
    chunk.write_bytes(chunk.read_bytes()[:20])
    with pytest.raises(CorpusDamaged, match=f"authors/.*{array}"):
        bt.open_corpus(path).read()
    with pytest.raises(CorpusDamaged, match=f"authors/.*{array}"):
        corpus.verify()


def test_authors_attached_while_compact_waits_are_not_lost(path, monkeypatch):
    """`compact` reads the corpus before it has the lock."""
    from bigtopic.ingestion import ingest as module

    opened = module.open_corpus

    def open_then_attach(*arguments):
        corpus = opened(*arguments)
        monkeypatch.undo()
        corpus.with_authors({"d0": "Ann"})
        return corpus

    bt.open_corpus(path).with_authors({"d1": "Bob"})
    monkeypatch.setattr(module, "open_corpus", open_then_attach)
    with pytest.raises(CorpusLocked, match="open it again"):
        bt.compact(path, **HERE)
    assert bt.open_corpus(path).authors == ["Ann"]


@pytest.mark.parametrize("where", ["folder", "memory://ingest-authors"])
@pytest.mark.parametrize("authors", [DOC2AUTHOR, AUTHOR2DOC])
def test_a_mapping_beside_a_source(tmp_path, where, authors):
    store = f"{tmp_path if where == 'folder' else where}/mapped.zarr"
    corpus = bt.ingest(TEXTS, store, ids=IDS, authors=authors, overwrite=True, **HERE)
    listed = bt.ingest(TEXTS, tmp_path / "listed.zarr", ids=IDS, authors=AUTHORS, **HERE)
    assert corpus.authors == listed.authors
    assert [set(d.authors) for d in corpus] == [set(d.authors) for d in listed]
    longer = bt.append(corpus, ["a cow ran"], ids=["d5"], authors={"Dora": ["d5"], "Ann": ["d5"]}, **HERE)
    assert longer.authors == ["Bob", "Ann", "Cleo", "Dora"] and set(longer[5].authors) == {"Dora", "Ann"}
    assert [set(d.authors) for d in longer[:5]] == [set(d.authors) for d in listed]
    assert longer.verify().n_parts == 2


def test_a_mapping_replaces_the_authors_of_the_source(tmp_path):
    records = [{"id": "a", "text": "a cat sat", "authors": ["Old"]}, {"id": "b", "text": "a dog ran"}]
    path = tmp_path / "mapped.zarr"
    corpus = bt.ingest(records, path, authors={"b": ["New"]}, **HERE)
    assert corpus.authors == ["New"] and names_of(corpus) == {"a": [], "b": ["New"]}
    assert len(list((path / "authors").glob("0*"))) == 1


def test_a_wrong_mapping_beside_a_source_leaves_the_store(path, tmp_path):
    before, there = manifest_of(path), sorted(path.rglob("*"))
    with pytest.raises(InputError, match="no document 'd4', the nearest is 'd5'"):
        bt.append(path, ["a cow ran"], ids=["d5"], authors={"d4": "Ann", "d5": "Ann"}, **HERE)
    assert manifest_of(path) == before and sorted(path.rglob("*")) == there
    with pytest.raises(InputError, match="no document 'd7'"):
        bt.ingest(TEXTS, tmp_path / "new.zarr", ids=IDS, authors={"d1": "Ann", "d7": "Ann"}, **HERE)
    assert not (tmp_path / "new.zarr").exists()
