"""Chunks are written past Zarr: byte for byte what Zarr would write, and damage is found where it is."""

import numpy as np
import pytest
import zarr

from bigtopic.corpus.stored.schema import CHUNK, FILL
from bigtopic.corpus.stored.writer import ArrayWriter, crc32_of
from bigtopic.errors import CorpusDamaged
from bigtopic.storage.chunks import ChunkedArray, chunk_codecs
from bigtopic.storage.place import Place, zarr_store

rng = np.random.default_rng(0)
VALUES = {
    "indices": rng.integers(0, 1000, 2 * CHUNK + 17).astype(np.int32),
    "data": rng.integers(1, 9, CHUNK).astype(np.float32),
    "indptr": np.arange(CHUNK + 1),
    "flags": rng.random(100) < 0.5,
    "scores": np.append(rng.normal(size=99), np.nan),
    "none": np.zeros(0, np.int64),
}


def written(root, name, values, step):
    group = zarr.open_group(zarr_store(root), mode="a")
    writer = ArrayWriter(root, group, name, len(values), values.dtype.name)
    for start in range(0, len(values), step):
        writer.add(values[start : start + step])
    return writer.close()


@pytest.mark.parametrize("name", VALUES)
def test_as_zarr_writes_it(name, tmp_path):
    values = VALUES[name]
    ours, theirs = Place.of(tmp_path / "ours"), zarr.open_group(tmp_path / "theirs", mode="w")
    assert written(ours, name, values, step=100_000) == f"{crc32_of(values):08x}"
    array = theirs.create_array(
        name,
        shape=values.shape,
        dtype=values.dtype,
        chunks=(max(1, min(CHUNK, len(values))),),
        compressors=chunk_codecs(),
        fill_value=FILL.get(name, 0),
        config={"write_empty_chunks": True},
    )
    array[:] = values
    chunks = sorted((tmp_path / "theirs" / name / "c").glob("*"))
    for chunk in chunks:
        assert (tmp_path / "ours" / name / "c" / chunk.name).read_bytes() == chunk.read_bytes()
    read = zarr.open_array(tmp_path / "ours" / name, mode="r")
    assert read.dtype == values.dtype and np.array_equal(read[:], values, equal_nan=name == "scores")


@pytest.mark.parametrize(
    "span",
    [(0, None), (7, None), (5, -5), (5, 7), (CHUNK - 1, CHUNK + 1), (CHUNK, 2 * CHUNK), (-3, None), (9, 2)],
)
def test_any_run_is_read(span, tmp_path):
    values = VALUES["indices"]
    written(Place.of(tmp_path), "indices", values, step=len(values))
    array = ChunkedArray(Place.of(tmp_path / "indices"), "indices")
    assert array[slice(*span)].tolist() == values[slice(*span)].tolist()


def test_a_chunk_of_another_length_is_damage(tmp_path):
    written(Place.of(tmp_path / "long"), "indices", VALUES["indices"], step=CHUNK)
    written(Place.of(tmp_path / "short"), "indices", VALUES["indices"][:50], step=50)
    chunk = tmp_path / "long/indices/c/1"
    chunk.write_bytes((tmp_path / "short/indices/c/0").read_bytes())
    array = ChunkedArray(Place.of(tmp_path / "long/indices"), "indices")
    for span in (slice(None), slice(CHUNK, CHUNK + 3)):
        with pytest.raises(CorpusDamaged, match="indices: chunk 1 has 50 values"):
            array[span]
