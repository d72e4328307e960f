"""A store that somebody made on purpose: whatever its files say, the answer is `CorpusDamaged` that names the place."""

import json
import os
import shutil
from pathlib import Path

import google_crc32c
import numpy as np
import pytest
import zarr
from crafted import MISSING, changed, places
from numcodecs import Blosc, Zstd
from numcodecs.vlen import VLenUTF8

from bigtopic.corpus.store import open_corpus
from bigtopic.corpus.stored.manifest import Manifest
from bigtopic.errors import CorpusDamaged, CorpusVersionError, StoreError
from bigtopic.ingestion.ingest import compact, ingest
from bigtopic.storage.json_rules import FieldError
from bigtopic.storage.place import Place, zarr_store

PART = "parts/00000000"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    path = tmp_path_factory.mktemp("crafted") / "corpus.zarr"
    texts = [{"text": f"w{i % 7} word{i} other", "id": f"d{i}", "year": i, "tag": "x"} for i in range(50)]
    ingest([{**t, "authors": ["Ann"]} for t in texts], path, n_threads=1)
    return path


@pytest.fixture
def store(original, tmp_path_factory):
    return Path(shutil.copytree(original, tmp_path_factory.mktemp("copy") / "corpus.zarr"))


def manifest_of(store):
    return json.loads((store / "zarr.json").read_text())


def read_everything(store):
    corpus = open_corpus(store)
    corpus.read()
    corpus.document_ids()
    corpus.read_columns()
    corpus.vocabulary.loaded()
    assert corpus.authors is not None
    corpus.parts[0].tokens(0, corpus.n_docs)


HOSTILE = [
    None,
    True,
    -1,
    -(10**30),
    10**30,
    0.5,
    float("nan"),
    float("inf"),
    1e308,
    "",
    "../x",
    "/etc/passwd",
]
HOSTILE += ["s3://x/y", "zarr.json", "\x1b[31m", [], [[]], {}, {"a": {"b": []}}, [-1], ["x"]]


def test_every_field_of_the_manifest(original):
    """Each field left out or hostile: refused with its name, or read as a manifest of the same kind of values."""
    values = manifest_of(original)["attributes"]["bigtopic"]
    refused = accepted = 0
    for path in places(values):
        for value in [MISSING, *HOSTILE]:
            crafted = changed(values, path, value)
            try:
                found = Manifest.from_dict(crafted)
            except FieldError as error:
                assert "is missing" in str(error) or "must be" in str(error) or "but" in str(error), error
                assert "\x1b" not in str(error)
                refused += 1
            else:
                assert all(type(part.n_docs) is int for part in found.parts)
                accepted += 1
    assert refused > 500 and accepted < refused / 4


@pytest.mark.parametrize(
    "path, value, what",
    [
        (("version",), "1", "version"),
        (("version",), True, "version"),
        (("n_docs",), 49, "n_docs is 49, but the manifest's other figures give 50"),
        (("nnz",), 7, "nnz is 7"),
        (("n_tokens",), float("nan"), "n_tokens"),
        (("next_part",), 0, "next_part is 0, but part 0"),
        (("next_part",), 10**12 + 1, "next_part is 1000000000001, but must be a whole number"),
        (("generation",), 10**12, "generation is 1000000000000, but must be a whole number"),
        (("n_rows",), 49, "n_rows is 49, but 50 documents"),
        (("shuffled",), 1, "shuffled"),
        (("vocabulary", "path"), "vocabulary/../../secret", "vocabulary.path"),
        (("vocabulary", "path"), "/etc", "vocabulary.path"),
        (("vocabulary", "path"), "s3://bucket/x", "vocabulary.path"),
        (("vocabulary", "size"), 10**15, "vocabulary.size"),
        (("authors", "named"), None, "authors.named"),
        (("columns", "x" * 300), "int64", "columns: a name: column 'xxx.* has a name that cannot be stored"),
        (("columns", "\ud800"), "int64", "columns: a name: .*half a character"),
        (("columns", "year"), "object", r"columns\['year'\] is 'object'.*one of int64"),
        (("columns", "year"), "int64[10]", "columns"),
        (("text", "ngram_range"), [1, 10**9], "text.ngram_range"),
        (("text", "collocation_pairs"), [["a"]], "text.collocation_pairs"),
        (("text", "stop_words"), "/etc/passwd", "text.stop_words"),
        (("parts", 0, "path"), "parts/../../x", r"parts\[0\].path"),
        (("parts", 0, "n_docs"), 10**15, r"parts\[0\].n_docs"),
        (("parts", 0, "n_docs"), -1, r"parts\[0\].n_docs is -1, but must be a whole number"),
        (("parts", 0, "n_docs"), True, r"parts\[0\].n_docs is True"),
        (("parts", 0, "authors"), "authors/../../secret/00000000", r"parts\[0\].authors"),
        (("parts", 0, "authors"), "parts/00000000/00000000", r"parts\[0\].authors"),
        (("replaced",), ["parts/00000000"], r"replaced\[0\]"),
        (("ingestion", "words"), -1, "ingestion.words"),
        (("ingestion", "left_out"), [{"rule": 7}], r"ingestion.left_out\[0\].rule"),
        (("words", "pruned"), 1, "words.pruned"),
        (("parts", 0, "crc32", "obs/../x"), "00000000", "crc32"),
        (("parts", 0, "crc32", "X/data"), 7, "crc32"),
        (("parts", 0, "crc32", "X/data"), MISSING, "X/data is missing"),
    ],
)
def test_manifests_that_are_refused(store, path, value, what):
    document = changed(manifest_of(store), ("attributes", "bigtopic", *path), value)
    (store / "zarr.json").write_text(json.dumps(document))
    for action in (lambda: open_corpus(store), lambda: ingest(["a b"], store, append=True)):
        with pytest.raises(CorpusDamaged, match=f"(?s)zarr.json.*{what}"):
            action()


LAST = {"generation": 10**12 - 1, "next_part": 10**12, "n_rows": (1 << 53) - 1}
WRITES = {
    "append": lambda store: ingest(["some words"], store, append=True, n_threads=1),
    "compact": lambda store: compact(store, n_threads=1),
    "with_authors": lambda store: open_corpus(store).with_authors({"d1": ["Bob"]}),
    "overwrite": lambda store: ingest(["some words"], store, overwrite=True, n_threads=1),
}
REFUSED = {("generation", action) for action in WRITES} | {
    ("next_part", "append"),
    ("next_part", "compact"),
    ("next_part", "overwrite"),
    ("n_rows", "append"),
}


def bytes_of(store):
    return {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}


@pytest.mark.parametrize("action", WRITES)
@pytest.mark.parametrize("field", LAST)
def test_nothing_is_committed_that_cannot_be_opened(store, field, action):
    document = changed(manifest_of(store), ("attributes", "bigtopic", field), LAST[field])
    (store / "zarr.json").write_text(json.dumps(document))
    open_corpus(store).verify()
    before = bytes_of(store)
    if (field, action) in REFUSED:
        with pytest.raises(CorpusDamaged, match=f"{store}.* {field} .*at another path"):
            WRITES[action](store)
        assert bytes_of(store) == before
    else:
        WRITES[action](store)
    assert open_corpus(store).verify().n_docs == (1 if action == "overwrite" and field == "n_rows" else 50)


def test_nothing_is_committed_behind_a_url_that_cannot_be_opened():
    root = Place.of("memory://last.zarr")
    ingest(["a cat"], root.url, n_threads=1)
    document = json.loads((root / "zarr.json").read())
    document["attributes"]["bigtopic"]["n_rows"] = LAST["n_rows"]
    (root / "zarr.json").write(json.dumps(document).encode())
    names = {name: (root / name).names() for name in ("parts", "vocabulary", "")}
    with pytest.raises(CorpusDamaged, match="n_rows"):
        ingest(["a dog"], root.url, append=True, n_threads=1)
    assert {name: (root / name).names() for name in names} == names
    assert open_corpus(root.url).verify().n_docs == 1


def test_rows_at_or_above_the_number_of_rows(tmp_path):
    store = tmp_path / "corpus.zarr"
    ingest(["the", "a cat", "a dog"], store, min_doc_length=1, stop_words=["the"], n_threads=1)
    document = changed(manifest_of(store), ("attributes", "bigtopic", "n_rows"), 2)
    (store / "zarr.json").write_text(json.dumps(document))
    for action in (
        lambda: open_corpus(store).verify(),
        lambda: open_corpus(store).read(),
        lambda: compact(store),
    ):
        with pytest.raises(CorpusDamaged, match=r"obs/source_row holds values outside 0 \.\. 2"):
            action()


@pytest.mark.parametrize("value", [2**53, 2**63 - 1])
def test_frequencies_that_cannot_be(store, value):
    path = manifest_of(store)["attributes"]["bigtopic"]["vocabulary"]["path"]
    zarr.open_array(store / path / "document_frequency", mode="r+")[:] = value
    with pytest.raises(CorpusDamaged, match="document_frequency holds values that are not counts"):
        _ = open_corpus(store).vocabulary.counted


def test_tokens_may_be_as_many_as_counts_can_hold(tmp_path):
    corpus = ingest([{"a": 2e38, "b": 1}, {"a": 2e38}], tmp_path / "corpus.zarr", n_threads=1)
    corpus.verify()
    assert corpus.vocabulary.counted[1].max() == 2 * np.float32(2e38).astype(float)


def test_a_part_that_is_listed_twice(store):
    document = manifest_of(store)
    values = document["attributes"]["bigtopic"]
    values["parts"] *= 2
    for name in ("n_docs", "nnz", "n_tokens"):
        values[name] *= 2
    (store / "zarr.json").write_text(json.dumps(document))
    with pytest.raises(CorpusDamaged, match=f"lists {PART} twice"):
        open_corpus(store)


@pytest.mark.parametrize(
    "text", ["[" * 100_000, '{"attributes": []}', '{"attributes": null}', "[]", "7", '"x"']
)
def test_documents_that_are_no_group(store, text):
    (store / "zarr.json").write_text(text)
    with pytest.raises(CorpusDamaged, match=r"zarr\.json"):
        open_corpus(store)


def test_another_group_is_named_without_its_escapes(store):
    (store / "zarr.json").write_text(json.dumps({"attributes": {"\x1b[31mred": 1}}))
    with pytest.raises(CorpusVersionError, match=r"\\x1b") as caught:
        open_corpus(store)
    assert "\x1b" not in str(caught.value)


ARRAYS = ["X/indptr", "X/indices", "X/data", "obs/source_row", "obs/n_tokens", "obs/document_id", "obs/year"]
ARRAYS += ["obs/tag", "authors/indptr", "authors/indices"]
GRID = ("chunk_grid", "configuration", "chunk_shape")


@pytest.mark.parametrize("array", [*(f"{PART}/{name}" for name in ARRAYS), "vocabulary/00000000/words"])
@pytest.mark.parametrize(
    "path, value",
    [
        (("shape",), [10**15]),
        (("shape",), [-5]),
        (("shape",), []),
        (("shape",), [50, 50]),
        (("shape",), ["50"]),
        (GRID, [-5]),
        (GRID, [0]),
        (GRID, [10**12]),
        (GRID, []),
        (GRID, None),
        (("data_type",), "object"),
        (("data_type",), {"name": "structured", "configuration": {}}),
        (("codecs",), []),
        (("codecs",), [{"name": "bytes"}, {"name": "numcodecs.pickle"}]),
        (("codecs",), "bytes"),
        (("chunk_key_encoding",), {"name": "v2", "configuration": {}}),
        (("zarr_format",), 2),
        (("node_type",), "group"),
    ],
)
def test_array_metadata(store, array, path, value):
    file = store / array / "zarr.json"
    file.write_text(json.dumps(changed(json.loads(file.read_text()), path, value)))
    # How many authors there are, the offsets say too.
    with pytest.raises(CorpusDamaged, match=array.replace("authors/indices", "authors/ind")):
        read_everything(store)


@pytest.mark.parametrize("array", ["X/indices", "X/indptr", "obs/n_tokens", "X/data"])
def test_an_array_of_another_type(store, array):
    place = store / PART / array
    values = zarr.open_array(place, mode="r")[:]
    other = np.float64 if values.dtype == np.int64 else np.int64
    shutil.rmtree(place)
    from bigtopic.storage.chunks import chunk_codecs

    made = zarr.create_array(
        place, shape=values.shape, dtype=other, chunks=values.shape, compressors=chunk_codecs(), fill_value=0
    )
    made[:] = values
    with pytest.raises(CorpusDamaged, match=f"{array} has the type"):
        read_everything(store)


def sealed(encoded):
    return bytes(encoded) + google_crc32c.value(bytes(encoded)).to_bytes(4, "little")


def lies(encoded, at, value):
    encoded = bytearray(encoded)
    encoded[at : at + 4] = value.to_bytes(4, "little")
    return sealed(encoded)


@pytest.mark.parametrize("array", ["X/indptr", "X/indices", "X/data", "obs/source_row", "obs/year"])
def test_headers_of_blosc_that_lie(store, array):
    """With the right checksum: Blosc itself would read and write beyond its buffers."""
    chunk = store / PART / array / "c/0"
    encoded = chunk.read_bytes()[:-4]
    long = Blosc(cname="zstd").encode(np.zeros(1 << 20, np.int64))
    crafted = [lies(encoded, 12, n) for n in (0, 3, len(encoded) - 1, len(encoded) + 1, 10**9, (1 << 32) - 1)]
    crafted += [lies(encoded, 4, n) for n in (0, 1 << 31, (1 << 32) - 1)]
    crafted += [sealed(encoded[:n]) for n in (0, 3, 8, 15, 16)] + [sealed(long), b"", b"\0" * 3]
    for data in crafted:
        chunk.write_bytes(data)
        with pytest.raises(CorpusDamaged, match=f"{array}: chunk 0"):
            read_everything(store)


@pytest.mark.parametrize("array", [f"{PART}/obs/document_id", f"{PART}/obs/tag", "vocabulary/00000000/words"])
def test_strings_that_lie(store, array):
    chunk = store / array / "c/0"
    data = bytearray(Zstd().decode(chunk.read_bytes()))
    n = int.from_bytes(data[:4], "little")
    plain = [(n + 1).to_bytes(4, "little") + data[4:], b"\xff" * 4 + data[4:], data[:-1], data[:3], b""]
    plain += [data[:4] + b"\xff" * 4 + data[8:], data[:8] + b"\xff" + data[9:]]
    plain += [bytes(VLenUTF8().encode(np.array(["x"] * (n - 1), object)))]
    frame = bytes(Zstd().encode(bytes(data)))
    huge = b"\x28\xb5\x2f\xfd\xe0" + (10**12).to_bytes(8, "little") + frame[6:]
    unknown = b"\x28\xb5\x2f\xfd\x00\x58" + frame[6:]
    for stored in [
        *(bytes(Zstd().encode(bytes(p))) for p in plain),
        huge,
        unknown,
        frame[:-3],
        frame[:5],
        b"",
    ]:
        chunk.write_bytes(stored)
        with pytest.raises(CorpusDamaged, match=f"{array} is missing or damaged"):
            read_everything(store)


def test_a_bomb_of_strings(store):
    """300 MB in a frame of 30 KB, sound otherwise."""
    chunk = store / PART / "obs/tag/c/0"
    n = 300 << 20
    data = (50).to_bytes(4, "little") + n.to_bytes(4, "little") + bytes(n + 49 * 4)
    chunk.write_bytes(Zstd(level=1).encode(data))
    with pytest.raises(
        CorpusDamaged, match=r"obs/tag is missing or damaged \(chunk 0 .* claims 314573004 bytes"
    ):
        open_corpus(store).read_columns(["tag"])


def test_columns_shorter_than_the_part(store):
    for array in ("obs/tag", "obs/year", "obs/document_id", "obs/n_tokens"):
        file = store / PART / array / "zarr.json"
        before = file.read_text()
        file.write_text(before.replace("50", "49"))
        with pytest.raises(CorpusDamaged, match=f"{array} has 49 values"):
            read_everything(store)
        file.write_text(before)


@pytest.mark.parametrize(
    "folder", ["X", "X/data", "X/data/c", "obs/tag", "obs/tag/c", "../../vocabulary/00000000/words/c"]
)
def test_a_file_in_the_place_of_a_folder(store, folder):
    shutil.rmtree(store / PART / folder)
    (store / PART / folder).write_bytes(b"x")
    with pytest.raises(CorpusDamaged, match="is missing"):
        read_everything(store)


def test_a_chunk_that_is_a_pipe_does_not_hang(store):
    chunk = store / PART / "X/data/c/0"
    chunk.unlink()
    os.mkfifo(chunk)
    with pytest.raises(StoreError, match="X/data/c/0 cannot be read: it is not a regular file"):
        read_everything(store)
    with pytest.raises(StoreError, match="X/data/c/0 cannot be read: it is not a regular file"):
        zarr.open_array(zarr_store(Place.of(store)), path=f"{PART}/X/data", mode="r")[:]
    with pytest.raises(StoreError, match="X/data/c/0 cannot be written: it is not a regular file"):
        Place.of(store).sync()
    chunk.unlink()
    chunk.symlink_to("/dev/zero")
    with pytest.raises(StoreError, match="X/data/c/0 cannot be read: it is not a regular file"):
        read_everything(store)


class Makes:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (os.mkdir, (self.path,))


def test_no_code_of_a_file_runs(store, tmp_path, monkeypatch):
    """A Zarr v2 array with a pickle filter in place of, and beside, an array of ours."""
    import numcodecs.pickles

    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    victim = tmp_path / "made by code in the file"
    for array in (f"{PART}/obs/tag", "vocabulary/00000000/words"):
        place = store / array
        n = json.loads((place / "zarr.json").read_text())["shape"]
        about = {"zarr_format": 2, "shape": n, "chunks": n, "dtype": "|O", "fill_value": None, "order": "C"}
        about |= {"compressor": None, "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]}
        (place / ".zarray").write_text(json.dumps(about))
        (place / "0").write_bytes(bytes(numcodecs.Pickle().encode(Makes(victim))))
        read_everything(store)
        assert not victim.exists()  # beside: not looked at
        (place / "zarr.json").rename(place / "kept")
        with pytest.raises(CorpusDamaged, match=array):
            read_everything(store)
        assert not victim.exists()
        with pytest.raises(Exception):  # noqa: B017 - whatever it raises in the end, it has run
            zarr.open_array(place, mode="r")[:]
        assert victim.exists(), "the file would run its code when it is opened naively"
        victim.rmdir()
        (place / "kept").rename(place / "zarr.json")
