"""A store that is damaged, newer, foreign or absent: every error names what is wrong; zeros are never made up."""

import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.corpus.stored.writer import crc32_of
from bigtopic.errors import CorpusDamaged, CorpusExists, CorpusVersionError
from bigtopic.ingestion.ingest import append, ingest
from bigtopic.storage.chunks import read_metadata, read_strings
from bigtopic.storage.place import Place


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "corpus.zarr"
    rng = np.random.default_rng(1)
    ingest(
        rng.poisson(0.3, (200, 40)).astype(np.float32),
        path,
        vocabulary=[f"w{i}" for i in range(40)],
        ids=[f"d{i}" for i in range(200)],
        authors=[[f"a{i % 7}"] for i in range(200)],
        columns={"label": [f"l{i % 3}" for i in range(200)], "year": range(200)},
        n_threads=1,
    )
    return path


@pytest.fixture
def store(original, tmp_path_factory):
    return Path(shutil.copytree(original, tmp_path_factory.mktemp("copy") / "corpus.zarr"))


ARRAYS = [
    "X/indptr",
    "X/indices",
    "X/data",
    "authors/indptr",
    "authors/indices",
    "obs/source_row",
    "obs/n_tokens",
    "obs/document_id",
    "obs/label",
    "obs/year",
]


def read_everything(path):
    corpus = open_corpus(path)
    corpus.read()
    corpus.document_ids()
    corpus.read_columns()
    corpus.parts[0].tokens(0, 200)


def test_undamaged(store):
    read_everything(store)
    report = open_corpus(store).verify()
    assert (report.n_parts, report.n_arrays, report.n_docs) == (1, len(ARRAYS), 200)


def test_every_array_is_covered(store):
    found = {str(p.parent.relative_to(store / "parts/00000000")) for p in store.glob("parts/*/*/*/zarr.json")}
    assert found == set(ARRAYS)


@pytest.mark.parametrize("array", ARRAYS)
def test_missing_chunk(store, array):
    (store / "parts/00000000" / array / "c/0").unlink()
    for action in (lambda: read_everything(store), lambda: open_corpus(store).verify()):
        with pytest.raises(CorpusDamaged, match=f"parts/00000000/{array}"):
            action()


@pytest.mark.parametrize("array", ARRAYS)
def test_missing_array(store, array):
    shutil.rmtree(store / "parts/00000000" / array)
    for action in (lambda: read_everything(store), lambda: open_corpus(store).verify()):
        with pytest.raises(CorpusDamaged, match=f"parts/00000000/{array}"):
            action()


@pytest.mark.parametrize("array", [name for name in ARRAYS if name not in ("obs/document_id", "obs/label")])
def test_flipped_byte(store, array):
    chunk = store / "parts/00000000" / array / "c/0"
    data = bytearray(chunk.read_bytes())
    data[len(data) // 2] ^= 0x10
    chunk.write_bytes(data)
    with pytest.raises(CorpusDamaged, match=f"parts/00000000/{array}"):
        read_everything(store)
    with pytest.raises(CorpusDamaged, match=f"parts/00000000/{array}"):
        open_corpus(store).verify()


@pytest.mark.parametrize("array", ARRAYS)
def test_truncated_chunk(store, array):
    chunk = store / "parts/00000000" / array / "c/0"
    chunk.write_bytes(chunk.read_bytes()[:20])
    with pytest.raises(CorpusDamaged, match=f"parts/00000000/{array}"):
        read_everything(store)


@pytest.mark.parametrize("array", ARRAYS)
def test_changed_by_another_program(store, array):
    """Chunks that are sound, but not what was written: only `verify` can tell."""
    import zarr

    values = zarr.open_array(store, path=f"parts/00000000/{array}", mode="r+")
    values[-1:] = values[:1] if array != "X/data" else values[-1:] + 1
    with pytest.raises(CorpusDamaged, match=f"parts/00000000/{array}"):
        open_corpus(store).verify()


def _swap(values):
    values[[0, 1]] = values[[1, 0]]


def _repeat(values):
    values[1] = values[0]


def _add(values):
    values[0] += 1


@pytest.mark.parametrize(
    "array, change, problem",
    [
        ("X/indices", _swap, "the words of document 0 are not in ascending order"),
        ("X/indices", _repeat, "the words of document 0 are not in ascending order"),
        ("obs/n_tokens", _add, "the counts of document 0 add up to another number"),
        ("obs/source_row", _repeat, r"has \d+ more than once"),
    ],
)
def test_crafted_with_its_checksums(store, array, change, problem):
    """Sound chunks and a manifest that knows them, but documents that no writer writes."""
    import zarr

    stored = zarr.open_array(store, path=f"parts/00000000/{array}", mode="r+")
    values = stored[:]
    change(values)
    stored[:] = values
    parts = json.loads((store / "zarr.json").read_text())["attributes"]["bigtopic"]["parts"]
    parts[0]["crc32"][array] = f"{crc32_of(values):08x}"
    edit_manifest(store, parts=parts)
    with pytest.raises(CorpusDamaged, match=f"{array}.*{problem}"):
        open_corpus(store).verify()


def test_a_column_that_a_part_lacks_has_as_many_values_as_the_part(store):
    manifest = json.loads((store / "zarr.json").read_text())["attributes"]["bigtopic"]
    manifest["parts"][0]["n_docs"] = manifest["n_docs"] = 1 << 20
    edit_manifest(
        store, parts=manifest["parts"], n_docs=1 << 20, n_rows=1 << 20, columns={"ghost": "float64"}
    )
    with pytest.raises(CorpusDamaged, match="X/indptr has 201 values, but the manifest says 1048577"):
        open_corpus(store).read_column("ghost", order="stored")


@pytest.mark.parametrize(
    "array, value", [("X/indices", -1), ("X/indices", 40), ("X/data", 0), ("X/data", np.nan)]
)
def test_values_no_writer_writes(store, array, value):
    import zarr

    zarr.open_array(store, path=f"parts/00000000/{array}", mode="r+")[5:6] = value
    with pytest.raises(CorpusDamaged, match=f"parts/00000000/{array} holds values outside"):
        open_corpus(store).read()


def test_missing_part(store):
    shutil.rmtree(store / "parts/00000000")
    with pytest.raises(CorpusDamaged, match="parts/00000000"):
        open_corpus(store).read()
    with pytest.raises(CorpusDamaged, match="parts/00000000"):
        open_corpus(store).verify()


def test_damaged_vocabulary(store):
    (store / "vocabulary/00000000/words/c/0").unlink()
    corpus = open_corpus(store)  # lazy: the words are not needed yet
    corpus.read()
    with pytest.raises(CorpusDamaged, match="vocabulary/00000000/words"):
        corpus.vocabulary[:]


COLUMNS = {"label": ["l0"] * 40, "year": range(40)}


def _flip(array):
    chunk = array / "c/0"
    words = read_strings(Place.of(array), read_metadata(Place.of(array), ""), 0, 2)
    data = bytearray(chunk.read_bytes())
    data[data.index(words[0].encode())] ^= 1
    chunk.write_bytes(data)


def _cut(array):
    (array / "c/0").write_bytes((array / "c/0").read_bytes()[:20])


def _no_chunk(array):
    (array / "c/0").unlink()


def _no_metadata(array):
    (array / "zarr.json").unlink()


@pytest.mark.parametrize(
    "damage, problem",
    [
        (_flip, "do not match the manifest"),
        (_cut, "words is missing or damaged"),
        (_no_chunk, "words is missing or damaged"),
        (_no_metadata, "words: the array is missing"),
    ],
)
@pytest.mark.parametrize("names", ["vocabulary", "authors", "attached", "appended"])
def test_names_are_verified(store, names, damage, problem):
    """Also those that an open corpus has read already."""
    corpus = open_corpus(store)
    if names == "attached":
        corpus = corpus.with_authors({"Ann": ["d0", "d1"], "Bob": ["d0"]})
    if names == "appended":
        more = {"vocabulary": [f"w{i}" for i in range(40)], "ids": [f"e{i}" for i in range(40)]}
        corpus = append(store, np.eye(40), authors=[["Eve"]] * 40, columns=COLUMNS, n_threads=1, **more)
    assert corpus.vocabulary[:] and corpus.authors
    corpus.verify()
    folder = "vocabulary" if names == "vocabulary" else "authors"
    (array,) = (
        store.glob(f"{folder}/*/words") if names != "attached" else store.glob("authors/00000001/words")
    )
    damage(array)
    for known in (corpus, open_corpus(store)):
        with pytest.raises(CorpusDamaged, match=problem):
            known.verify()


def test_nothing_kept_from_a_store_that_was_replaced(store):
    first = open_corpus(store)
    before = first.read().words
    ingest(np.eye(3), store, overwrite=True, n_threads=1)
    assert open_corpus(store).read().words.tolist() != before.tolist()
    assert open_corpus(store).n_docs == 3


def edit_manifest(store, **changes):
    path = store / "zarr.json"
    document = json.loads(path.read_text())
    document["attributes"]["bigtopic"].update(changes)
    path.write_text(json.dumps(document))


def test_newer_format(store):
    edit_manifest(store, version=99)
    for action in (lambda: open_corpus(store), lambda: ingest(["a b"], store, overwrite=True)):
        with pytest.raises(CorpusVersionError, match=r"format version 99.*upgrade"):
            action()
    assert (store / "parts/00000000").exists()


def test_incomplete_manifest(store):
    edit_manifest(store, parts=[{"path": "parts/00000000"}])
    for action in (lambda: open_corpus(store), lambda: ingest(["a b"], store, overwrite=True)):
        with pytest.raises(CorpusDamaged, match=r"manifest in .* incomplete"):
            action()
    assert (store / "parts/00000000").exists()


def test_no_corpus(tmp_path):
    with pytest.raises(CorpusVersionError, match=r"no corpus at .*bigtopic\.ingest"):
        open_corpus(tmp_path / "nothing.zarr")
    (tmp_path / "zarr.json").write_text("{")
    for action in (lambda: open_corpus(tmp_path), lambda: ingest(["a b"], tmp_path, overwrite=True)):
        with pytest.raises(CorpusDamaged, match="not JSON"):
            action()
    (tmp_path / "zarr.json").write_text('{"node_type": "group", "attributes": {}}')
    with pytest.raises(CorpusVersionError, match="not a finished corpus"):
        open_corpus(tmp_path)


def listing(path):
    return sorted((str(p), p.stat().st_mtime_ns) for p in Path(path).rglob("*") if p.is_file())


def test_a_store_that_exists_is_kept(store):
    before = listing(store)
    with pytest.raises(CorpusExists, match=r"overwrite=True.*append=True"):
        ingest(["some text"], store)
    assert listing(store) == before


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_not_ours_is_never_touched(tmp_path, overwrite):
    (tmp_path / "thesis.txt").write_text("years of work")
    before = listing(tmp_path)
    with pytest.raises(CorpusExists, match="not a bigtopic corpus"):
        ingest(["some text"], tmp_path, overwrite=overwrite)
    with pytest.raises(CorpusExists, match="not a bigtopic corpus"):
        ingest(["some text"], tmp_path / "thesis.txt", overwrite=overwrite)
    assert listing(tmp_path) == before


def test_foreign_zarr_group_is_never_touched(tmp_path):
    import zarr

    zarr.create_array(tmp_path / "other.zarr", name="X", shape=(3,), dtype="int32")
    before = listing(tmp_path)
    with pytest.raises((CorpusExists, CorpusVersionError), match="not a"):
        ingest(["some text"], tmp_path / "other.zarr", overwrite=True)
    assert listing(tmp_path) == before


def test_anndata_opens_a_part(store):
    anndata, zarr = pytest.importorskip("anndata"), pytest.importorskip("zarr")
    corpus = open_corpus(store)
    group = zarr.open_group(store, mode="r")
    matrix = anndata.io.sparse_dataset(group["parts/00000000/X"])
    assert matrix.shape == (200, 40)
    assert (matrix[:].toarray() == corpus.to_scipy("stored").toarray()).all()
    frame = anndata.io.read_elem(group["parts/00000000/obs"])
    assert frame.index.tolist() == corpus.document_ids(order="stored").tolist()
    assert frame["source_row"].tolist() == corpus.rows(order="stored").tolist()
    assert frame["year"].tolist() == corpus.rows(order="stored").tolist()


def test_relative_paths_and_urls(original):
    assert open_corpus(os.path.relpath(original)).fingerprint == open_corpus(f"file://{original}").fingerprint
