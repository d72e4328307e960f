"""Texts that a corpus keeps, and documents by their id: the same however the corpus was written, cut and rewritten."""

import json

import numpy as np
import pytest
import zarr

import bigtopic as bt
from bigtopic.corpus import store
from bigtopic.corpus.stored.manifest import read_manifest
from bigtopic.errors import CorpusDamaged, InputError, SettingError
from bigtopic.ingestion import job, merge
from bigtopic.storage.place import Place

TEXTS = [f"text {i} of {'rivers änd lakes ' * (i % 7)}\n\x1b<3>" for i in range(90)]
RECORDS = [{"id": f"d{i}", "text": text, "year": 1990 + i // 10} for i, text in enumerate(TEXTS)]
QUIET = {"n_threads": 1, "client": False, "progress": False}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "corpus.zarr"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(job, "PART_DOCUMENTS", 40)
        patch.setattr(merge, "_TEXTS", 7)
        patch.setattr("bigtopic.corpus.readers.formats.iterable.CHUNK_DOCS", 16)
        return bt.ingest(RECORDS, path, keep_text=True, **QUIET)


def test_texts_are_kept_byte_for_byte(corpus):
    assert len(corpus.parts) > 1 and corpus.has_text
    assert corpus.read_texts().tolist() == TEXTS
    where = corpus.rows(order="stored")
    assert corpus.read_texts(order="stored").tolist() == [TEXTS[row] for row in where]
    assert "text" not in corpus.columns and read_manifest(Place.of(corpus.url)).to_dict()["version"] == 3
    corpus.verify()


def test_a_document_by_its_id(corpus):
    found = corpus["d17"]
    assert found == corpus.document("d17") == corpus[17]
    assert (found.row, found.id, found.text, found.columns) == (17, "d17", TEXTS[17], {"year": 1991})
    assert found.counts["text"] == 1 and found.authors is None
    view = corpus.select(year=1995)
    assert view["d55"].text == TEXTS[55] and [document.text for document in view] == TEXTS[50:60]
    with pytest.raises(SettingError, match="no document 'd17'"):
        view["d17"]
    with pytest.raises(SettingError, match="nearest is 'd8'"):
        corpus.document("D8")


def test_many_ids_are_not_searched_for_the_nearest(corpus, monkeypatch):
    monkeypatch.setattr(store, "MOST_COMPARED", 50)
    with pytest.raises(SettingError, match=r"no document 'D8' in this corpus$"):
        corpus.document("D8")


def test_the_first_of_several_documents_with_one_id(tmp_path):
    records = [{"id": "same", "text": f"number {i}"} for i in range(50)]
    assert bt.ingest(records, tmp_path / "c.zarr", keep_text=True, **QUIET)["same"].row == 0


def test_views_appends_and_rewritten_corpora_keep_it(corpus, tmp_path):
    view = corpus.select(year=[1992, 1997])
    copied = bt.ingest(view, tmp_path / "view.zarr", **QUIET)
    assert copied.read_texts().tolist() == TEXTS[20:30] + TEXTS[70:80]
    copied = bt.append(copied, [{"id": "new", "text": "another ÿ"}], **QUIET)
    copied = bt.append(copied, [{"id": "counted", "counts": {"text": 2}}], **QUIET)
    assert [copied["new"].text, copied["counted"].text] == ["another ÿ", None]
    before = copied.read_texts().tolist()
    copied = bt.compact(copied, **QUIET)
    assert len(copied.parts) == 1 and copied.read_texts().tolist() == before
    copied.verify()
    bare = bt.ingest(view, tmp_path / "bare.zarr", keep_text=False, **QUIET)
    assert not bare.has_text and bare[0].text is None
    assert read_manifest(Place.of(bare.url)).to_dict()["version"] == 1


def test_files_of_text(tmp_path):
    (tmp_path / "lines.txt").write_text("one line\n\nthird ß line\n", encoding="utf-8")
    corpus = bt.ingest(tmp_path / "lines.txt", tmp_path / "c.zarr", keep_text=True, **QUIET)
    assert corpus.read_texts().tolist() == ["one line", "", "third ß line"]
    assert corpus["2"].text == "third ß line"


def test_a_corpus_behind_a_url(corpus):
    copied = bt.ingest(corpus, "memory://kept-texts.zarr", **QUIET)
    assert copied["d17"] == corpus["d17"] and copied.read_texts().tolist() == TEXTS


def test_a_source_without_text_is_refused(corpus, tmp_path):
    for source in ([["a", "b"], ["b"]], np.eye(3), corpus.select(year=1991).filter_vocabulary(min_df=1)[:0]):
        with pytest.raises(InputError):
            bt.ingest(source, tmp_path / "c.zarr", keep_text=True, **QUIET)
    with pytest.raises(SettingError, match="keep_text=True"):
        bt.ingest(["aa bb"], tmp_path / "c.zarr", **QUIET).read_texts()


def test_scattered_documents_read_only_their_chunks(corpus, monkeypatch):
    from bigtopic.corpus.stored.stored_part import StoredPart

    read, whole = [], StoredPart.texts

    def watched(part, start, stop):
        read.append(stop - start)
        return whole(part, start, stop)

    monkeypatch.setattr(StoredPart, "texts", watched)
    assert corpus.select(rows=[3, 60]).read_texts().tolist() == [TEXTS[3], TEXTS[60]]
    assert sum(read) == 2


def test_damaged_text_is_an_error(corpus, tmp_path):
    copy = bt.ingest(corpus, tmp_path / "c.zarr", **QUIET)
    path = copy.parts[0].record.path
    array = zarr.open_group(tmp_path / "c.zarr", mode="r+")[f"{path}/text/utf8"]
    array[:3] = 255
    with pytest.raises(CorpusDamaged, match="UTF-8"):
        bt.open_corpus(tmp_path / "c.zarr").read_texts()
    with pytest.raises(CorpusDamaged, match="text/utf8"):
        bt.open_corpus(tmp_path / "c.zarr").verify()
    manifest = json.loads((tmp_path / "c.zarr/zarr.json").read_text())
    assert "text/indptr" in manifest["attributes"]["bigtopic"]["parts"][0]["crc32"]
