"""AnnData stores that are damaged or made on purpose: an `InputError` that names the file, and nothing else is read."""

import gzip
import json
import os
import shutil
import warnings
import zlib

import numcodecs
import numpy as np
import pytest
import scipy.sparse as sp

from bigtopic.corpus import sparse
from bigtopic.corpus.readers import open_source
from bigtopic.errors import InputError

anndata = pytest.importorskip("anndata")
h5py = pytest.importorskip("h5py")
pd = pytest.importorskip("pandas")

N, M = 30, 12


def counts(format="csr"):
    matrix = sp.random(N, M, density=0.3, format="csr", random_state=0)
    matrix.data = np.ceil(matrix.data * 5)
    return matrix.toarray() if format == "dense" else matrix.asformat(format)


def made(X=None):
    obs = pd.DataFrame(
        {
            "label": pd.Categorical([f"l{i % 3}" for i in range(N)]),
            "year": np.arange(N),
            "weight": np.zeros(N),
            "title": [f"title {i}" for i in range(N)],
            "good": [True, False] * (N // 2),
        },
        index=[f"d{i}" for i in range(N)],
    )
    var = pd.DataFrame(index=[f"w{i}" for i in range(M)])
    return anndata.AnnData(counts() if X is None else X, obs=obs, var=var)


@pytest.fixture
def h5ad(tmp_path):
    made().write_h5ad(tmp_path / "x.h5ad")
    return tmp_path / "x.h5ad"


def write_zarr(path, version, X=None):
    before = anndata.settings.zarr_write_format
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        anndata.settings.zarr_write_format = version
        made(X).write_zarr(path)
        anndata.settings.zarr_write_format = before
    return path


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    folder = tmp_path_factory.mktemp("stores")
    return {version: write_zarr(folder / f"v{version}.zarr", version) for version in (2, 3)}


@pytest.fixture(params=[2, 3])
def store(request, stores, tmp_path):
    return shutil.copytree(stores[request.param], tmp_path / "x.zarr")


def read_all(source):
    reader = open_source(str(source))
    blocks = [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]
    return reader, blocks


def refused(source, match):
    with pytest.raises(InputError, match=match) as caught:
        read_all(source)
    assert str(source) in str(caught.value)


@pytest.mark.parametrize("format", ["csr", "csc", "dense"])
@pytest.mark.parametrize("kind", ["h5ad", 2, 3])
def test_stores_as_they_are_written(format, kind, tmp_path):
    X = counts(format)
    if kind == "h5ad":
        made(X).write_h5ad(tmp_path / "x.h5ad", compression="gzip")
    else:
        write_zarr(tmp_path / "x.zarr", kind, X)
    reader, blocks = read_all(next(tmp_path.iterdir()))
    assert reader.n_words == M and sum(len(block.indptr) - 1 for block in blocks) == N
    assert sum(block.counts.sum() for block in blocks) == X.sum()
    assert set(blocks[0].columns) == {"label", "year", "weight", "title", "good"}


# --- HDF5


def replaced(group, name, values):
    del group[name]
    group[name] = values


def change_h5ad(path, change):
    with h5py.File(path, "r+") as file:
        change(file)
    return path


CHANGES = {
    "indptr begins at 1": (lambda f: f["X/indptr"].__setitem__(0, 1), "indptr runs from 1"),
    "indptr ends early": (lambda f: f["X/indptr"].__setitem__(slice(-3, None), 5), "indptr"),
    "entries beyond": (
        lambda f: replaced(f["X"], "indptr", np.minimum(f["X/indptr"][:], 60)),
        "indptr ends at 60, but there are",
    ),
    "indptr falls": (lambda f: f["X/indptr"].__setitem__(4, -7), "indptr"),
    "indptr leaps": (lambda f: f["X/indptr"].__setitem__(4, 10**9), "indptr"),
    "indptr short": (lambda f: replaced(f["X"], "indptr", f["X/indptr"][:-1]), f"must hold {N + 1} integers"),
    "indptr of floats": (lambda f: replaced(f["X"], "indptr", f["X/indptr"][:] * 1.0), "integers"),
    "index beyond": (lambda f: f["X/indices"].__setitem__(3, 10**9), "indices from 0 to 1000000000"),
    "index below": (lambda f: f["X/indices"].__setitem__(3, -5), "indices from -5"),
    "values short": (lambda f: replaced(f["X"], "data", f["X/data"][:-1]), "indices of shape"),
    "shape larger": (lambda f: f["X"].attrs.__setitem__("shape", [N + 5, M]), "must hold"),
    "shape huge": (lambda f: f["X"].attrs.__setitem__("shape", [10**15, M]), "must hold"),
    "shape negative": (lambda f: f["X"].attrs.__setitem__("shape", [-1, M]), "shape"),
    "shape complex": (lambda f: f["X"].attrs.__setitem__("shape", np.array([N, M + 0j])), "shape"),
    "shape of one": (lambda f: f["X"].attrs.__setitem__("shape", [N]), "shape"),
    "shape of text": (lambda f: f["X"].attrs.__setitem__("shape", "wide"), "damaged"),
    "shape wide": (lambda f: f["X"].attrs.__setitem__("shape", [N, 10**15]), "shape"),
    "no indices": (lambda f: f["X"].__delitem__("indices"), "damaged"),
    "obs longer": (
        lambda f: [
            replaced(f["X"], "indptr", f["X/indptr"][:-1]),
            f["X"].attrs.__setitem__("shape", [N - 1, M]),
        ],
        "X|obs|indptr",
    ),
    "a column is short": (lambda f: replaced(f["obs"], "year", np.arange(3)), "damaged"),
    "no index": (lambda f: f["obs"].__delitem__("_index"), "damaged"),
    "column missing": (lambda f: f["obs"].__delitem__("year"), "damaged"),
    "obs is an array": (lambda f: replaced(f, "obs", np.arange(N)), "damaged"),
    "X is text": (lambda f: replaced(f, "X", "words"), "damaged|hold|shape"),
    "X is compound": (lambda f: replaced(f, "X", np.zeros((N, M), [("a", "i4")])), "X holds"),
    "unknown encoding": (lambda f: f["obs"].attrs.__setitem__("encoding-type", "nonsense"), "damaged"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_contents_that_contradict(h5ad, name):
    change, what = CHANGES[name]
    refused(change_h5ad(h5ad, change), what)


def test_obs_longer_than_x(tmp_path):
    adata = made()
    adata.write_h5ad(tmp_path / "x.h5ad")

    def shorten(file):
        last = int(file["X/indptr"][N - 1])
        for name, stop in (("indptr", N), ("indices", last), ("data", last)):
            replaced(file["X"], name, file["X"][name][:stop])
        file["X"].attrs["shape"] = [N - 1, M]

    refused(change_h5ad(tmp_path / "x.h5ad", shorten), f"obs has {N} documents")


@pytest.mark.parametrize("path", ["X/data", "X/indices", "X/indptr", "obs/year", "obs/_index", "var/_index"])
def test_data_in_other_files(h5ad, path, tmp_path):
    secret = tmp_path / "secret"
    secret.write_bytes(b"\x07" * 10_000)
    other = tmp_path / "other.h5"
    shutil.copy(h5ad, other)
    group, _, name = path.rpartition("/")

    def external(file):
        old = file[path]
        del file[path]
        dtype = "i4" if old.dtype.kind == "O" else old.dtype
        file[group].create_dataset(name, old.shape, dtype, external=[(str(secret), 0, h5py.h5f.UNLIMITED)])

    def virtual(file):
        old = file[path]
        layout = h5py.VirtualLayout(old.shape, old.dtype)
        layout[:] = h5py.VirtualSource(str(other), path, old.shape)
        del file[path]
        file[group].create_virtual_dataset(name, layout)

    def link(kind):
        def change(file):
            del file[path]
            file[path] = kind

        return change

    kinds = [external, link(h5py.ExternalLink(str(other), path)), link(h5py.SoftLink("/elsewhere"))]
    for number, change in enumerate(kinds + ([virtual] if "_index" not in path else [])):
        copy = shutil.copy(h5ad, tmp_path / f"{number}.h5ad")
        refused(change_h5ad(copy, change), f"{path}.*(other files|link)")


def test_whole_groups_in_other_files(h5ad, tmp_path):
    other = shutil.copy(h5ad, tmp_path / "other.h5ad")
    for name in ("X", "obs", "var", "uns"):
        copy = shutil.copy(h5ad, tmp_path / f"{name}.h5ad")

        def change(file, name=name):
            del file[name]
            file[name] = h5py.ExternalLink(str(other), name)

        refused(change_h5ad(copy, change), f"{name} is a link")


def test_a_column_that_is_elsewhere_in_the_file(h5ad, tmp_path):
    (tmp_path / "secret").write_bytes(b"\x07" * 10_000)

    def change(file):
        file.create_dataset("stolen", (N,), "i8", external=[(str(tmp_path / "secret"), 0, 8 * N)])
        file["obs"].attrs["column-order"] = ["/stolen"]

    refused(change_h5ad(h5ad, change), "stolen has its data in other files")


def test_sizes_that_are_claimed(h5ad, tmp_path):
    def claim(path, shape):
        def change(file):
            dtype = file[path].dtype
            del file[path]
            file.create_dataset(path, shape, dtype if dtype.kind != "O" else "S8", chunks=(1 << 16,))

        return change

    for path, length in (
        ("obs/year", 10**12),
        ("X/indptr", 10**12),
        ("var/_index", 10**12),
        ("obs/_index", 10**10),
    ):
        copy = shutil.copy(h5ad, tmp_path / "claims.h5ad")
        refused(change_h5ad(copy, claim(path, (length,))), f"{path} claims")

    def long_row(file):
        for name in ("indices", "data"):
            claim(f"X/{name}", (10**12,))(file)
        replaced(file["X"], "indptr", np.append(np.zeros(N, np.int64), 10**12))

    refused(change_h5ad(h5ad, long_row), "a row with 1000000000000 entries")


def test_a_group_that_holds_itself(h5ad):
    refused(
        change_h5ad(h5ad, lambda f: f["obs"].__setitem__("year2", f["obs"])) and h5ad, ""
    ) if False else None
    change_h5ad(h5ad, lambda f: f["uns"].__setitem__("again", f["uns"]))
    assert read_all(h5ad)[0].n_words == M


def test_damage_anywhere(h5ad, tmp_path):
    """Cut short, and a byte changed, at many places: an error of ours or the documents, never another exception."""
    data = h5ad.read_bytes()
    path = tmp_path / "damaged.h5ad"
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(data), 60).tolist():
        for crafted in (
            data[:position],
            data[:position] + bytes([data[position] ^ 0xFF]) + data[position + 1 :],
        ):
            path.write_bytes(crafted if crafted[:8] == data[:8] else data[:8] + crafted[8:])
            try:
                read_all(path)
            except InputError as error:
                assert str(path) in str(error)


# --- Zarr


def metadata_of(store, array):
    path = store / array / (".zarray" if (store / ".zgroup").exists() else "zarr.json")
    return path, json.loads(path.read_text())


class Makes:
    def __init__(self, path):
        self.path = str(path)

    def __reduce__(self):
        return (os.mkdir, (self.path,))


@pytest.mark.parametrize("array", ["obs/title", "var/_index", "X/data", "obs/label/codes"])
def test_no_code_of_a_file_runs(stores, array, tmp_path, monkeypatch):
    import numcodecs.pickles
    import zarr

    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    store, victim = shutil.copytree(stores[2], tmp_path / "x.zarr"), tmp_path / "made"
    path, about = metadata_of(store, array)
    about |= {"dtype": "|O", "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}], "compressor": None}
    path.write_text(json.dumps(about | {"fill_value": ""}))
    (store / array / "0").write_bytes(bytes(numcodecs.Pickle().encode(Makes(victim))))
    refused(store, f"{array}.*filters")
    assert not victim.exists()
    with pytest.raises(Exception):  # noqa: B017 - whatever it raises in the end, it has run
        zarr.open_array(store / array, mode="r")[:]
    assert victim.exists(), "the file would run its code when it is opened naively"


@pytest.mark.parametrize("array", ["obs/title", "X/data", "X/indptr", "obs/year"])
def test_codecs_types_and_sizes_of_zarr(store, array):
    v2 = (store / ".zgroup").exists()
    path, about = metadata_of(store, array)
    length = about["shape"][0]
    if v2:
        crafted = [
            {"compressor": {"id": name}} for name in ("pickle", "msgpack2", "lzma", "", None, ["zstd"])
        ]
        crafted += [{"filters": [{"id": name}]} for name in ("pickle", "json2", "delta", "categorize")]
        crafted += [{"dtype": dtype} for dtype in ("|V8", [["a", "<i4"]], "<M8[ns]", "O", 7, "<U99999999")]
        crafted += [{"chunks": chunks} for chunks in ([0], [-5], [10**12], [], [3, 3], "x")]
        crafted += [{"dtype": "|O", "filters": None}, {"zarr_format": 3}, {"order": "X"}]
    else:
        crafted = [
            {"codecs": [{"name": "bytes"}, {"name": name}]} for name in ("numcodecs.pickle", "numcodecs.lzma")
        ]
        crafted += [{"codecs": codecs} for codecs in ("bytes", None, [7])]
        crafted += [{"data_type": dtype} for dtype in ("object", {"name": "structured"}, "r64", "complex64")]
        grid = "chunk_grid"
        crafted += [
            {grid: {"name": "regular", "configuration": {"chunk_shape": shape}}}
            for shape in ([0], [-5], [10**12], [], [3, 3], "x")
        ]
        crafted += [
            {grid: {"name": "rectilinear"}},
            {"zarr_format": 2},
            {"storage_transformers": [{"name": "x"}]},
        ]
    crafted += [{"shape": shape} for shape in ([-1], [10**15], [], [length, 2], ["x"], None, [length + 1])]
    for change in crafted:
        path.write_text(json.dumps(about | change))
        refused(store, ".")
    for text in ("", "[" * 100_000, "[]", "{}", "null"):
        path.write_text(text)
        refused(store, ".")


@pytest.mark.parametrize("name", ["/stolen", "../../stolen", "a/../../stolen"])
def test_columns_outside_the_table(store, name):
    path = store / "obs" / (".zattrs" if (store / ".zgroup").exists() else "zarr.json")
    about = json.loads(path.read_text())
    for key in ("_index", "column-order"):
        value = name if key == "_index" else [name]
        changed = json.loads(json.dumps(about))
        changed.get("attributes", changed)[key] = value
        path.write_text(json.dumps(changed))
        refused(store, "which is elsewhere")


def test_frames_of_blosc_that_lie(stores, tmp_path):
    store = shutil.copytree(stores[2], tmp_path / "x.zarr")
    for array in ("X/data", "X/indptr", "obs/year"):
        chunk = store / array / "0"
        frame = chunk.read_bytes()
        for stored in (10**9, (1 << 32) - 1, 16, len(frame) + 1):
            chunk.write_bytes(frame[:12] + stored.to_bytes(4, "little") + frame[16:])
            refused(store, f"{array}/0 is damaged|cut short")
        for length in (0, 3, 15):
            chunk.write_bytes(frame[:length])
            refused(store, "damaged|cut short")
        chunk.write_bytes(frame)


BOMB = bytes(1 << 26)
ENCODERS = {
    "gzip": lambda: gzip.compress(BOMB[: 1 << 25]) * 2,
    "zlib": lambda: zlib.compress(BOMB),
    "zstd": lambda: bytes(numcodecs.Zstd().encode(BOMB)),
    "lz4": lambda: bytes(numcodecs.LZ4().encode(BOMB)),
    "blosc": lambda: bytes(numcodecs.Blosc("zstd").encode(BOMB)),
}


@pytest.mark.parametrize("codec", ENCODERS)
def test_bombs(stores, codec, tmp_path, monkeypatch):
    """64 MB where one is allowed."""
    monkeypatch.setattr(sparse, "ALWAYS", 1 << 20)
    store = shutil.copytree(stores[2], tmp_path / "x.zarr")
    for array in ("X/data", "obs/year"):
        about = json.loads((store / array / ".zarray").read_text())
        (store / array / ".zarray").write_text(json.dumps({**about, "compressor": {"id": codec}}))
        (store / array / "0").write_bytes(ENCODERS[codec]())
        refused(store, f"{array}/0 claims [0-9]+ bytes")
        shutil.copy(stores[2] / array / "0", store / array / "0")
        (store / array / ".zarray").write_text(json.dumps(about))
    (store / ".zmetadata").unlink(missing_ok=True)
    assert read_all(store)[0].n_words == M


def test_chunks_that_are_compressed_twice(stores, tmp_path):
    store = shutil.copytree(stores[3], tmp_path / "x.zarr")
    path = store / "X/data/zarr.json"
    about = json.loads(path.read_text())
    packed = {"name": "gzip", "configuration": {"level": 1}}
    path.write_text(json.dumps({**about, "codecs": [{"name": "bytes"}, packed, packed]}))
    refused(store, "X/data: the codecs compress 2 times")


def test_damaged_chunks_and_missing_arrays(store):
    files = [path for path in sorted(store.rglob("*")) if path.is_file()]
    files = [path for path in files if path.relative_to(store).parts[0] in ("X", "obs", "var")]
    for path in files:
        data = path.read_bytes()
        for crafted in (b"", data[: len(data) // 2], b"\xff" * len(data)):
            path.write_bytes(crafted)
            try:
                read_all(store)
            except InputError as error:
                assert str(store) in str(error)
        path.write_bytes(data)
    assert read_all(store)[0].n_words == M


def test_columns_of_one_name(h5ad, stores, tmp_path):
    refused(
        change_h5ad(h5ad, lambda f: f["obs"].attrs.__setitem__("column-order", ["year", "year"])),
        "two columns",
    )
    store = shutil.copytree(stores[2], tmp_path / "x.zarr")
    attributes = json.loads((store / "obs/.zattrs").read_text())
    (store / "obs/.zattrs").write_text(json.dumps({**attributes, "column-order": ["year", "year"]}))
    (store / ".zmetadata").unlink(missing_ok=True)
    refused(store, "obs of .* has two columns 'year'")


def test_a_column_of_an_old_encoding_is_read(h5ad):
    def strip(file):
        for name in list(file["obs/title"].attrs):
            del file["obs/title"].attrs[name]

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read_all(change_h5ad(h5ad, strip))[0].n_words == M


def test_objects_in_memory():
    adata = made()
    adata.X.indices[3] = 10**8
    with pytest.raises(InputError, match="column 100000000 of 12"):
        blocks = open_source(adata)
        [blocks.parse(chunk) for stream in blocks.streams() for chunk in stream.chunks()]
