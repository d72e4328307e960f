"""Every file for people is written in one way: at a path or a URL, whole or not at all, never into a store."""

import pytest

import bigtopic as bt
from bigtopic.datasets import KnownLDA, write_bag_of_words
from bigtopic.errors import BigtopicError, SettingError, StoreError
from bigtopic.foreign import to_mallet
from bigtopic.storage.place import Place
from tests.cli.conftest import run

TEXTS = ["water bank delta river", "violin choir opera song"] * 10


@pytest.fixture(scope="module")
def model():
    return bt.LDA(2, method="online-cvb0", max_iter=2, client=False, n_threads=1, progress=False).fit(TEXTS)


def page(model, target):
    return bt.report.write_html(bt.report.summarise(model), target)


def picture(model, target):
    return bt.plots.save(model.plot("topics"), target)


def table(model, target):
    return model.transform_to(TEXTS, target, overwrite=True)


def bag_of_words(model, target):
    return write_bag_of_words(target, KnownLDA(n_words=50, n_components=3), 20)


WRITERS = {"a.html": page, "a.svg": picture, "a.csv": table, "a.parquet": table, "a.txt": bag_of_words}


@pytest.fixture
def memory(tmp_path, monkeypatch):
    """A URL below which nothing is, and a working folder in which nothing may appear."""
    import fsspec

    monkeypatch.chdir(tmp_path)
    yield "memory://output-files"
    assert not list(tmp_path.iterdir())
    fsspec.filesystem("memory").rm("/output-files", recursive=True)


@pytest.mark.parametrize("name", WRITERS)
def test_a_url_is_a_url(name, model, memory, tmp_path_factory):
    local = tmp_path_factory.mktemp("local") / name
    WRITERS[name](model, local)
    for _ in range(2):  # the second replaces the first
        WRITERS[name](model, f"{memory}/deep/{name}")
    written = Place.of(f"{memory}/deep/{name}").read()
    assert written == local.read_bytes()
    assert Place.of(f"{memory}/deep").names() == [name]


def test_what_was_written_is_returned(model, memory, tmp_path_factory):
    folder = tmp_path_factory.mktemp("local")
    assert page(model, f"{memory}/a.html") == f"{memory}/a.html"
    assert picture(model, f"{memory}/a.svg") == f"{memory}/a.svg"
    assert page(model, folder / "a.html") == folder / "a.html"


def test_folders_of_other_libraries_too(model, memory, tmp_path_factory):
    local = tmp_path_factory.mktemp("local")
    paths = to_mallet(model, local, TEXTS)
    urls = to_mallet(model, f"{memory}/mallet", TEXTS)
    assert urls == [f"{memory}/mallet/{path.name}" for path in paths]
    for url, path in zip(urls, paths, strict=True):
        assert Place.of(url).read() == path.read_bytes()
    with pytest.raises(StoreError, match="exists"):
        to_mallet(model, f"{memory}/mallet")


@pytest.mark.parametrize("name", ["a.html", "a.svg"])
@pytest.mark.parametrize("content", [b"mine", None], ids=["file", "folder"])
def test_nothing_else_is_replaced_behind_a_url(name, content, model, memory):
    taken = Place.of(f"{memory}/{name}")
    mine = taken / "b" if content is None else taken
    mine.write(b"mine")
    with pytest.raises(StoreError, match=rf"{name} exists but is not"):
        WRITERS[name](model, taken.url)
    assert mine.read() == b"mine"
    mine.remove()
    mine.write(b"")
    if content is not None:  # an empty file
        WRITERS[name](model, taken.url)


@pytest.mark.parametrize("remote", [False, True], ids=["path", "URL"])
@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_into_a_store(name, remote, model, tmp_path):
    store = "memory://in-a-store.zarr" if remote else str(tmp_path / "c.zarr")
    bt.ingest(TEXTS, store, client=False, n_threads=1, overwrite=True)
    with pytest.raises(StoreError, match=r"is inside the store .*\.zarr, .*give a path outside"):
        WRITERS[name](model, f"{store}/new/{name}")
    assert "new" not in Place.of(store).names()


@pytest.mark.parametrize("name", WRITERS)
def test_a_failure_leaves_what_was_there(name, model, tmp_path, monkeypatch):
    WRITERS[name](model, tmp_path / name)
    before = (tmp_path / name).read_bytes()

    def full(*arguments, **settings):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(StoreError, match="the disk is full"):
        WRITERS[name](model, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before
    monkeypatch.undo()
    WRITERS[name](model, tmp_path / name)  # nothing is in the way of the next
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("target", ["nosuch://bucket/{}", "s3://*/{}", "http://127.0.0.1:9/{}"])
@pytest.mark.parametrize("name", ["a.html", "a.svg", "a.csv"])
def test_a_url_that_cannot_be_written_is_a_clear_error(name, target, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BigtopicError, match=target.split(":")[0]):
        WRITERS[name](model, target.format(name))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("~nobody-has-this-name/a.svg", SettingError, ".*home directory.*give the path of the folder"),
        ("a\0.svg", SettingError, "null character"),
        (5, SettingError, "int is not a path"),
    ],
    ids=["home", "null", "number"],
)
@pytest.mark.parametrize("writer", [page, picture, bag_of_words, to_mallet, lambda m, to: m.save(to)])
def test_paths_that_cannot_be_are_clear_errors(writer, path, error, message, model):
    with pytest.raises(error, match=message):
        writer(model, path)


def test_the_shell_writes_to_urls(model, memory, tmp_path_factory, monkeypatch):
    store = tmp_path_factory.mktemp("store") / "model.zarr"
    model.save(store)
    assert f"Wrote {memory}/a.html" in run("report", store, f"{memory}/a.html").stdout
    assert f"Wrote {memory}/a.svg" in run("plot", "topics", store, "--out", f"{memory}/a.svg").stdout
    assert Place.of(memory).names() == ["a.html", "a.svg"]
    refused = run("demo", "--folder", f"{memory}/demo", code=2)
    assert "--folder" in refused.stderr and "memory://" in refused.stderr
