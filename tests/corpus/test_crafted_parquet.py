"""Damaged Parquet: an `InputError` that names the file, never another exception."""

import numpy as np
import pytest

from bigtopic.corpus.readers import open_source
from bigtopic.errors import InputError

pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TABLES = {
    "texts": {"text": [f"some words {i}" for i in range(500)], "year": list(range(500))},
    "triples": {
        "document": [i // 5 for i in range(500)],
        "word": ["a", "b", "c", "d", "e"] * 100,
        "count": [1] * 500,
    },
}


def read_all(path):
    reader = open_source(str(path))
    for stream in reader.streams():
        for chunk in stream.chunks():
            reader.parse(chunk)


def check(path, data):
    """Whether a file with this content is refused; another exception fails the test."""
    path.write_bytes(data)
    try:
        read_all(path)
    except InputError as error:
        assert str(path) in str(error)
        return True
    return False


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("table", TABLES)
def test_damage_anywhere(table, compression, tmp_path):
    path = tmp_path / "x.parquet"
    parquet.write_table(pyarrow.table(TABLES[table]), path, compression=compression, row_group_size=100)
    data = path.read_bytes()
    refused = 0
    for position in np.random.default_rng(0).integers(4, len(data), 60).tolist():
        refused += check(path, data[:position])
        changed = bytearray(data)
        changed[position] ^= 0xFF
        refused += check(path, bytes(changed))
    assert refused >= 60  # every one that was cut
    # The footer, which claims rows, sizes and offsets, byte by byte.
    footer = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    for position in range(footer, len(data) - 8, 11):
        check(path, data[:position] + b"\xff\xff\x7f" + data[position + 3 :])
    assert check(path, data[:-8] + (1 << 31).to_bytes(4, "little") + b"PAR1")
    assert check(path, b"PAR1" + b"\0" * 100 + b"PAR1")


def test_text_that_is_none(tmp_path):
    array = pyarrow.StringArray.from_buffers(
        2, pyarrow.py_buffer(np.array([0, 2, 4], np.int32)), pyarrow.py_buffer(b"\xff\xfeab")
    )
    parquet.write_table(pyarrow.table({"text": array}), tmp_path / "x.parquet")
    assert check(tmp_path / "x.parquet", (tmp_path / "x.parquet").read_bytes())


def test_columns_of_one_name(tmp_path):
    path = tmp_path / "x.parquet"
    columns = [pyarrow.array(["a cat", "a dog"]), pyarrow.array([1, 2]), pyarrow.array([3, 4])]
    parquet.write_table(pyarrow.Table.from_arrays(columns, ["text", "year", "year"]), path)
    with pytest.raises(InputError, match=r"x\.parquet has several columns 'year'"):
        read_all(path)
    assert open_source(str(path), columns=[]).size == 2


@pytest.mark.parametrize("column", TABLES["triples"])
@pytest.mark.parametrize("value", [{"a": 1}, [1], [["a"]], []], ids=["struct", "list", "lists", "empty"])
def test_nested_cells_of_counts(column, value, tmp_path):
    path = tmp_path / "x.parquet"
    columns = {"document": ["x", "x", "y"], "word": ["a", "b", "a"], "count": [1, 2, 3], column: [value] * 3}
    parquet.write_table(pyarrow.table(columns), path)
    with pytest.raises(InputError, match=rf"x\.parquet: column '{column}' holds (struct|list)"):
        read_all(path)
