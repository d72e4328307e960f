"""Matrices that contradict themselves, and files that claim more than they hold: an `InputError`, never a crash.

Each is read in a child process with little memory, so that a crash or a bomb is a failed test and nothing worse.
"""

import gc
import io
import json
import os
import resource
import signal
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.readers import open_source
from bigtopic.corpus.sparse import check_columns
from bigtopic.errors import InputError, SettingError

GIGABYTE = 1 << 30


def in_child(action, seconds=60):
    """What the action raised in a process with three gigabytes: (kind, message), or None."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        found = None
        gc.freeze()  # to look for garbage in what the parent made would copy all of it
        try:
            signal.alarm(seconds)
            resource.setrlimit(resource.RLIMIT_AS, (used() + 3 * GIGABYTE, resource.RLIM_INFINITY))
            action()
        except BaseException as error:
            found = (type(error).__name__, str(error))
        os.write(write, json.dumps(found).encode())
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as stream:
        text = stream.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, f"the process ended with status {status}"
    return json.loads(text)


def used():
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def refused(action, *parts):
    found = in_child(action)
    assert found is not None and found[0] == InputError.__name__, found
    for part in parts:
        assert part in found[1], found


def read_all(source, **options):
    reader = open_source(source, **options)
    return [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]


def crafted(format, **changes):
    matrix = sp.random_array((40, 30), density=0.2, format=format, random_state=0)
    for name, change in changes.items():
        values = getattr(matrix, name).copy()
        setattr(matrix, name, change(values))
    return matrix


def put(position, value):
    def change(values):
        values[position] = value
        return values

    return change


MATRICES = {
    f"{format} {name}": (format, changes)
    for format in ("csr", "csc")
    for name, changes in {
        "index beyond": {"indices": put(3, 10**9)},
        "index below": {"indices": put(3, -(10**9))},
        "indptr beyond": {"indptr": put(-1, 10**9)},
        "indptr falls": {"indptr": put(5, -(10**6))},
        "indptr begins at 1": {"indptr": put(0, 1)},
        "indptr leaps": {"indptr": put(7, 10**8)},
        "indptr short": {"indptr": lambda values: values[:-1]},
        "values short": {"data": lambda values: values[:-2]},
        "values are objects": {"data": lambda values: values.astype(object)},
    }.items()
}


@pytest.mark.parametrize("name", MATRICES)
def test_compressed_matrices(name):
    format, changes = MATRICES[name]
    matrix = crafted(format, **changes)
    refused(lambda: read_all(matrix))
    refused(lambda: from_matrix(matrix))


def test_coordinates():
    for position, value in ((0, 10**9), (1, 10**9), (0, -5), (1, -5)):
        matrix = crafted("coo")
        matrix.coords[position][2] = value
        refused(lambda matrix=matrix: read_all(matrix), "must be integers from 0 to")
        refused(lambda matrix=matrix: from_matrix(matrix), "must be integers from 0 to")


def test_blocks_and_rows_as_lists():
    blocks = sp.csr_array(np.eye(4)).tobsr((2, 2))
    blocks.indices[0] = 10**8
    refused(lambda: read_all(blocks), "must be integers from 0 to 1")
    lists = sp.lil_array(np.eye(4))
    lists.rows[1] = [10**8]
    refused(lambda: read_all(lists), "must be integers from 0 to 3")


def test_a_shape_that_no_entry_supports():
    wide = sp.coo_array(([1.0], ([0], [0])), shape=(10**12, 3))
    refused(lambda: read_all(wide), "claims 8000000000000 bytes")


def test_unsorted_and_repeated_entries_are_read():
    matrix = sp.csr_array((np.ones(4), [2, 0, 2, 1], [0, 3, 4]), shape=(2, 3))
    assert from_matrix(matrix, shuffle=False).to_scipy().toarray().tolist() == [[1, 0, 2], [0, 1, 0]]


def test_counts_that_are_zero_in_single_precision_are_no_entries():
    matrix = sp.csr_array([[1.0, 1e-60], [2.0, 3.0]])
    corpus = from_matrix(matrix, shuffle=False)
    assert corpus.nnz == 3 and corpus.to_scipy().toarray().tolist() == [[1, 0], [2, 3]]
    assert matrix.nnz == 4 and matrix.data[1] == 1e-60


@pytest.mark.parametrize("value", [1e39, 1e300, np.inf])
def test_a_count_beyond_single_precision_is_refused(value):
    for kind in (sp.csr_array, np.asarray):
        refused(lambda kind=kind: from_matrix(kind(np.array([[1.0, value], [2.0, 3.0]]))), "from 0 to 3e+38")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "int64", "float32"])
def test_repeated_entries_add_up_in_every_type(dtype):
    """Though the type has no number as large."""
    largest = min(1 << 30, np.iinfo(dtype).max if np.dtype(dtype).kind in "iu" else 1)
    data = np.full(3, largest, dtype)
    matrix = sp.csr_array((data, [1, 1, 1], [0, 3]), (1, 5))
    assert from_matrix(matrix).n_tokens == 3.0 * largest
    assert matrix.nnz == 3 and (matrix.data == largest).all()


def test_blocks_of_a_dask_array():
    import dask.array as da

    def block(format):
        return crafted(format, indices=put(3, 10**9))

    for blocks in ([["csr"]], [["csc"]], [["csr", "csr"]], [["csc", "csr"]]):
        from dask import delayed

        rows = [
            [da.from_delayed(delayed(block)(name), (40, 30), meta=sp.csr_array((0, 0))) for name in row]
            for row in blocks
        ]
        array = da.concatenate(rows[0], axis=1)
        refused(lambda array=array: read_all(array), "damaged")


# --- files of NumPy and SciPy


def npz(path, compressed=True, **members):
    (np.savez_compressed if compressed else np.savez)(path, **members)
    return str(path)


def csc_members(**changes):
    matrix = sp.csc_array(sp.random_array((40, 30), density=0.2, random_state=0))
    members = {"format": b"csc", "shape": np.array([40, 30]), "indptr": matrix.indptr}
    members |= {"indices": matrix.indices, "data": matrix.data}
    return {**members, **changes}


@pytest.mark.parametrize(
    "changes",
    [
        {"indices": np.full(240, 10**9)},
        {"indices": np.full(240, -5)},
        {"indptr": np.zeros(31, int) - 4},
        {"indptr": np.arange(31) * 10**7},
        {"indptr": np.zeros((31, 2), int)},
        {"indptr": np.linspace(0, 240, 31)},
        {"shape": np.array([40, 30, 2])},
        {"shape": np.array([-40, 30])},
        {"shape": np.array([10**15, 10**15])},
        {"shape": np.array(["a", "b"])},
        {"data": np.ones(3)},
        {"data": np.array(["x"] * 240)},
        {"format": b"nonsense"},
        {"format": b"coo"},
        {"format": np.array([1, 2])},
    ],
)
def test_sparse_archives(changes, tmp_path):
    path = npz(tmp_path / "x.npz", **csc_members(**changes))
    refused(lambda: read_all(path), path)


def header(shape, dtype="<f8", extra=""):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": dtype, "fortran_order": False, "shape": shape})
    return out.getvalue() + extra.encode()


CLAIMS = [(10**12, 5), (10**30, 5), (1 << 62, 4), (-5, 3), (5, -3), (1 << 31, 1 << 31)]


@pytest.mark.parametrize("shape", CLAIMS)
def test_headers_that_claim(shape, tmp_path):
    import gzip

    data = header(shape) + b"\0" * 64
    plain, packed, archive = (tmp_path / name for name in ("x.npy", "x.npy.gz", "x.npz"))
    plain.write_bytes(data)
    packed.write_bytes(gzip.compress(data))
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("arr_0.npy", data)
    for path in (plain, packed, archive):
        refused(lambda path=path: read_all(str(path)), str(path))


@pytest.mark.parametrize(
    "data",
    [
        header((3, 2), "|O", "\0" * 48),
        b"\x93NUMPY\x01\x00\xff\xff{",
        b"\x93NUMPY\x09\x00",
        b"\x93NUMPY\x01\x00\x10\x00" + b"(" * 16,
        b"\x93NUMPY\x01\x00\x08\x00{'a': 1}",
        header((3, 2)) + b"\0" * 10,
    ],
)
def test_arrays_that_are_none(data, tmp_path):
    path, archive = tmp_path / "x.npy", tmp_path / "x.npz"
    path.write_bytes(data)
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("arr_0.npy", data)
    for file in (path, archive):
        refused(lambda file=file: read_all(str(file)), str(file))


@pytest.mark.parametrize(
    "first, sizes",
    [("array rea", "2 2"), ("array real", "2 2 2"), ("array real", f"2 {10**30}"), ("array pattern", "2 2")],
)
def test_matrix_market_headers_that_scipy_refuses(first, sizes, tmp_path):
    path = tmp_path / "x.mtx"
    path.write_text(f"%%MatrixMarket matrix {first} general\n{sizes}\n1\n2\n3\n4\n")
    refused(lambda: read_all(str(path)), str(path))


@pytest.mark.parametrize("part", ["indptr", "indices"])
def test_complex_offsets_and_indices(part, tmp_path):
    """SciPy would take their real parts, with a warning."""
    matrix = sp.csr_matrix(np.eye(3))
    arrays = {"indptr": matrix.indptr, "indices": matrix.indices, "data": matrix.data, "shape": matrix.shape}
    arrays[part] = arrays[part].astype(complex)
    np.savez(tmp_path / "x.npz", format=b"csr", **arrays)
    refused(lambda: read_all(str(tmp_path / "x.npz")), str(tmp_path / "x.npz"))


def test_indices_that_are_no_numbers():
    with pytest.raises(InputError, match=r"x has indices of dtype .S3.*integers from 0 to 4"):
        check_columns(np.array([b"abc"]), 5, "x")


def test_a_header_of_python_2_is_read(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.eye(3))
    path.write_bytes(path.read_bytes().replace(b"'shape': (3, 3)", b"'shape': (3L,3)"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read_all(str(path))


@pytest.mark.parametrize(
    "matrix, what",
    [
        (np.array([["a", "b"]]), "dtype <U1"),
        (np.zeros((2, 3), "M8[s]"), "dtype datetime64"),
        (np.ones((2, 2), complex), "dtype complex128"),
        (np.array([[1, {}]], object), "dtype object"),
        (np.ones((2, 2, 2)), "3 dimensions"),
        ([1, 2], "1 dimensions"),
        ([[1, 2], [3]], "differ in length"),
    ],
)
def test_dense_matrices_that_are_none(matrix, what):
    with pytest.raises(InputError, match=f"the matrix.*{what}"):
        from_matrix(matrix)


ROWS = [[1, 0, 2], [0, 3.5, 1]]


@pytest.mark.parametrize(
    "rows",
    [ROWS, tuple(map(tuple, ROWS)), [np.array(row) for row in ROWS], np.array(ROWS, object)],
    ids=["lists", "tuples", "arrays", "objects"],
)
def test_rows_of_numbers_are_a_matrix_for_every_reader(rows):
    (block,) = read_all(rows, weights=True)
    assert (block.words.tolist(), block.counts.tolist()) == ([0, 2, 1, 2], [1, 2, 3.5, 1])
    assert from_matrix(rows, shuffle=False).to_scipy().toarray().tolist() == ROWS
    with pytest.raises(InputError, match=r"row 1, column 1: 3\.5 is fractional"):
        read_all(rows)


def test_masks_of_rows_in_a_list():
    rows = [np.ma.array([1, 0, 2], mask=[0, 0, 1]), np.array([0, 1, 1])]
    for read in (read_all, from_matrix):
        with pytest.raises(InputError, match="masked values"):
            read(rows)


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"vocabulary": ["a", "a"]}, "word 'a' at position 2 is a duplicate"),
        ({"vocabulary": ["a", "\udc00"]}, "position 2 holds half a character"),
        ({"vocabulary": [1, 2]}, "a list of words"),
        ({"ids": "ab"}, "give a list of ids"),
        ({"ids": ["a", "\udc00"]}, "position 2 holds half a character"),
    ],
)
def test_words_and_ids_of_a_matrix_are_checked_as_by_readers(given, what):
    with pytest.raises((InputError, SettingError), match=what):
        from_matrix(np.eye(2), **given)


def test_ids_of_a_matrix_are_texts():
    assert from_matrix(np.eye(2), ids=[1, None], shuffle=False).document_ids().tolist() == ["1", ""]


@pytest.mark.parametrize("value", [np.array("text"), np.zeros((), "M8[s]"), np.array(3)])
def test_arrays_of_no_dimensions(value):
    with pytest.raises(InputError, match="the array has 0 dimensions"):
        open_source(value)


def test_a_long_cell_is_named_by_its_beginning(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(f"document,word,count\n1,a,1\n1,b,{'[' * 100_000}\n")
    with pytest.raises(InputError, match="is not a number") as caught:
        read_all(str(path))
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("dtype", ["float16", "bool", "uint8", "longdouble", ">f8", ">i4"])
def test_every_type_of_number(dtype):
    assert from_matrix(np.eye(2).astype(dtype), shuffle=False).to_scipy().toarray().tolist() == [
        [1, 0],
        [0, 1],
    ]


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("dtype", [">f8", ">i4", "<f8", "<i4", "<f2", ">f2"])
def test_sparse_matrices_of_any_type_and_byte_order(format, dtype):
    matrix = sp.eye_array(2, format=format)
    matrix.data = matrix.data.astype(dtype)
    read_all(matrix)
    assert from_matrix(matrix, shuffle=False).to_scipy().toarray().tolist() == [[1, 0], [0, 1]]


def test_masked_values_are_refused():
    dask = pytest.importorskip("dask.array")
    masked = np.ma.masked_array([[1, 2], [3, 1]], [[0, 1], [0, 0]])
    for read, source in (
        (from_matrix, masked),
        (read_all, masked),
        (read_all, dask.from_array(masked)),
        (read_all, dask.from_array(masked, chunks=(2, 1))),
    ):
        with pytest.raises(InputError, match=r"has masked values; .*X\.filled\(0\)"):
            read(source)
    whole = np.ma.masked_array([[1, 2], [3, 1]])
    assert from_matrix(whole, shuffle=False).to_scipy().toarray().tolist() == whole.tolist()


def test_an_archive_that_is_a_bomb(tmp_path):
    """A gigabyte of zeros in a few megabytes."""
    path, rows = tmp_path / "x.npz", 1 << 16
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
        archive.open("arr_0.npy", "w", force_zip64=True) as member,
    ):
        member.write(header((rows, 5000), "<f4"))
        for _ in range(rows // 256):
            member.write(bytes(256 * 5000 * 4))
    assert path.stat().st_size < 16e6
    refused(lambda: read_all(str(path)), str(path), "claims 1310720128 bytes")


def test_an_archive_whose_directory_lies(tmp_path):
    path = tmp_path / "x.npz"
    npz(path, **csc_members())
    data = bytearray(path.read_bytes())
    for at in range(len(data) - 80, len(data) - 22):
        changed = data.copy()
        changed[at] ^= 0xFF
        path.write_bytes(changed)
        found = in_child(lambda: read_all(str(path)))
        assert found is None or found[0] == "InputError", found


def test_objects_are_not_unpickled(tmp_path):
    class Makes:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "made"),))

    array = np.empty((2, 2), object)
    array[:] = Makes()
    np.save(tmp_path / "x.npy", array, allow_pickle=True)
    np.savez(tmp_path / "x.npz", array)
    for name in ("x.npy", "x.npz"):
        refused(lambda name=name: read_all(str(tmp_path / name)), name)
    assert not (tmp_path / "made").exists()
