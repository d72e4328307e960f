"""What no writer of ours listed is the user's: it stays where it is, with every byte."""

import json
from contextlib import suppress
from pathlib import Path

import fsspec
import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import CorpusDamaged, CorpusExists, CorpusVersionError, StoreError
from bigtopic.storage.lock import LOCK
from bigtopic.storage.writers import JOURNAL

HERE = {"n_threads": 1, "progress": False}
OLD, NEW = ["a cat sat", "a dog ran"], ["a bird sang"]
THEIRS = [
    "parts/thesis.tex",
    "parts/00000000/thesis.tex",
    "authors/list.txt",
    "vocabulary/words.txt",
    "backup.partial",
    "state-2024/results.csv",
    ".scratch-notes/a.txt",
    "zarr.json.partial",
    "zarr.json",
]


@pytest.fixture(scope="module")
def model():
    corpus = bt.from_matrix(np.random.default_rng(0).poisson(1.0, (30, 12)))
    return bt.LDA(3, method="online-cvb0", max_iter=2, n_threads=1).fit(corpus)


def put(path: Path, name: str) -> Path:
    (path / name).parent.mkdir(parents=True, exist_ok=True)
    (path / name).write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    return path / name


def everything(path: Path) -> dict:
    return {
        str(p.relative_to(path)): (p.lstat().st_mtime_ns, p.read_bytes() if p.is_file() else None)
        for p in path.rglob("*")
    }


@pytest.mark.parametrize("name", THEIRS)
@pytest.mark.parametrize("overwrite", [False, True])
def test_ingest_into_a_folder_of_the_users(name, overwrite, tmp_path):
    put(tmp_path / "mine", name)
    before = everything(tmp_path)
    with pytest.raises(CorpusExists, match="exists and is not a bigtopic corpus"):
        bt.ingest(NEW, tmp_path / "mine", overwrite=overwrite, **HERE)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", THEIRS)
def test_save_into_a_folder_of_the_users(name, model, tmp_path):
    put(tmp_path / "mine", name)
    before = everything(tmp_path)
    with pytest.raises(CorpusExists, match="exists and is not a bigtopic model"):
        model.save(tmp_path / "mine")
    assert everything(tmp_path) == before


def test_what_the_user_keeps_in_a_corpus_stays(tmp_path):
    path = tmp_path / "corpus.zarr"
    bt.ingest(OLD, path, **HERE)
    names = [
        "notes.txt",
        "parts/notes.txt",
        "authors/list.txt",
        "a.partial",
        "state-2024/a",
        ".scratch-mine/a",
    ]
    files = [put(path, name) for name in names]
    bt.append(path, NEW, **HERE)
    bt.compact(path, **HERE)
    bt.ingest(NEW, path, overwrite=True, **HERE)
    assert all(file.is_file() for file in files)
    assert len(bt.open_corpus(path)) == 1 and len(list((path / "parts").glob("0*"))) == 1


def test_a_part_that_no_writer_listed_stays(tmp_path):
    path = tmp_path / "corpus.zarr"
    bt.ingest(OLD, path, **HERE)
    theirs = put(path, "parts/00000007/thesis.tex")
    corpus = bt.append(path, NEW, **HERE)
    assert theirs.is_file() and len(corpus) == 3 and (path / "parts/00000008").is_dir()


def test_names_that_no_writer_listed_are_not_taken(tmp_path):
    path = tmp_path / "corpus.zarr"
    bt.ingest(OLD, path, **HERE)
    put(path, "vocabulary/00000001/thesis.tex")
    before = everything(path)
    with pytest.raises(CorpusExists, match="vocabulary/00000001 exists, but no writer of this store made it"):
        bt.append(path, NEW, **HERE)
    assert {name: found[1] for name, found in everything(path).items()} == {
        name: found[1] for name, found in before.items()
    }


def test_what_the_user_keeps_in_a_model_stays(model, tmp_path):
    path = tmp_path / "model.zarr"
    model.save(path)
    files = [put(path, name) for name in ("notes.txt", "state-2024/results.csv", "old.partial")]
    model.save(path, overwrite=True)
    assert all(file.is_file() for file in files)
    assert len(list(path.glob("state-*"))) == 2 and bt.load_model(path)


def test_topics_are_not_written_over_what_the_user_keeps_there(model, tmp_path):
    corpus = bt.from_matrix(np.ones((5, 12)))
    path = tmp_path / "theta.zarr"
    model.transform_to(corpus, path)
    put(path, "notes.txt")
    before = everything(tmp_path)
    with pytest.raises(CorpusExists, match=r"holds 'notes.txt', which does not belong to a store of topics"):
        model.transform_to(corpus, path, overwrite=True)
    assert everything(tmp_path) == before


def test_a_draft_of_the_users_beside_topics_stays(model, tmp_path):
    corpus = bt.from_matrix(np.ones((5, 12)))
    mine = put(tmp_path, "theta.zarr.0123456789ab.partial/store/X/thesis.tex")
    model.transform_to(corpus, tmp_path / "theta.zarr")
    assert mine.is_file()


def test_what_others_put_into_an_unfinished_store_stays(tmp_path):
    path = tmp_path / "corpus.zarr"

    def source():
        yield from OLD
        put(path, "notes.txt")
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke"):
        bt.ingest(source(), path, **HERE)
    assert [entry.name for entry in path.iterdir()] == ["notes.txt"]


# ---------------------------------------------------------------- journals that come with a store


@pytest.mark.parametrize(
    "line",
    [
        '"../precious"',
        '"/etc"',
        '"parts/../../precious"',
        '"parts"',
        '""',
        '"notes.txt"',
        '"zarr.json/x"',
        "7",
        "[1]",
        "not JSON",
        "[" * 100_000,
        "\x00\xff",
    ],
)
def test_a_journal_cannot_name_what_writers_do_not_make(line, tmp_path):
    path = tmp_path / "corpus.zarr"
    bt.ingest(OLD, path, **HERE)
    put(tmp_path, "precious")
    put(path, "notes.txt")
    (path / f"{JOURNAL}-0123456789ab").write_text(f'"parts/00000009"\n{line}\n')
    before = everything(tmp_path)
    with pytest.raises(
        CorpusDamaged, match=r"line 2: .* is not a file that a writer makes, so nothing was removed"
    ):
        bt.append(path, NEW, **HERE)
    assert everything(tmp_path).keys() == before.keys()


def test_the_torn_end_of_a_journal_is_nothing(tmp_path):
    path = tmp_path / "corpus.zarr"
    bt.ingest(OLD, path, **HERE)
    put(path, "parts/00000009/left")
    (path / f"{JOURNAL}-0123456789ab").write_text('"parts/00000009"\n"parts/0000')
    assert len(bt.append(path, NEW, **HERE)) == 3
    assert sorted(entry.name for entry in path.iterdir()) == ["parts", "vocabulary", "zarr.json"]
    assert len(list((path / "parts").glob("0*"))) == 2


@pytest.mark.parametrize("which", ["authors", "part"])
def test_a_manifest_cannot_have_other_folders_removed(which, tmp_path):
    path, precious = tmp_path / "corpus.zarr", put(tmp_path, "precious/thesis.tex")
    bt.ingest(OLD, path, **HERE)
    document = json.loads((path / "zarr.json").read_text())
    manifest = document["attributes"]["bigtopic"]
    if which == "authors":
        manifest["authors"] = {**manifest["vocabulary"], "path": "../precious"}
    else:
        manifest["parts"].append({**manifest["parts"][0], "path": "../precious"})
    (path / "zarr.json").write_text(json.dumps(document))
    with suppress(CorpusDamaged):  # refusing such a manifest is as good
        bt.ingest(NEW, path, overwrite=True, **HERE)
    assert precious.is_file()


# ---------------------------------------------------------------- links


@pytest.fixture
def outside(tmp_path) -> Path:
    """A folder of somebody else's that looks like the inside of a store."""
    put(tmp_path, "outside/00000000/thesis.tex")
    put(tmp_path, "outside/00000005/thesis.tex")
    return tmp_path / "outside"


@pytest.mark.parametrize("inner", ["parts", "vocabulary", "authors"])
@pytest.mark.parametrize("how", ["append", "overwrite", "compact", "save"])
def test_nothing_is_removed_or_written_through_a_link(inner, how, outside, model, tmp_path):
    path = tmp_path / "corpus.zarr"
    if how == "save":
        model.save(path)
    else:
        bt.ingest(OLD, path, **HERE)
    if (path / inner).exists():
        (path / inner / "zarr.json").rename(outside / "zarr.json")
        (path / inner).rename(tmp_path / "aside")
    (path / inner).symlink_to(outside)
    before = everything(outside)
    actions = {
        "append": lambda: bt.append(path, NEW, **HERE),
        "overwrite": lambda: bt.ingest(NEW, path, overwrite=True, **HERE),
        "compact": lambda: bt.compact(path, **HERE),
        "save": lambda: model.save(path, overwrite=True),
    }
    with pytest.raises((StoreError, CorpusDamaged), match=r"symbolic link|missing"):
        actions[how]()
    assert everything(outside) == before and (path / inner).is_symlink()


@pytest.mark.parametrize("kind", ["part", "manifest"])
def test_a_part_or_manifest_that_is_a_link_can_be_read_but_not_written(kind, tmp_path):
    path, elsewhere = tmp_path / "corpus.zarr", tmp_path / "elsewhere"
    bt.ingest(OLD, path, **HERE)
    inner = path / ("zarr.json" if kind == "manifest" else "parts/00000000")
    inner.rename(elsewhere)
    inner.symlink_to(elsewhere)
    assert bt.open_corpus(path).verify()
    before = everything(elsewhere) or elsewhere.read_bytes()
    for write in (lambda: bt.append(path, NEW, **HERE), lambda: bt.ingest(NEW, path, overwrite=True, **HERE)):
        with pytest.raises(StoreError, match=f"{inner}: it is a symbolic link"):
            write()
    assert (everything(elsewhere) or elsewhere.read_bytes()) == before


def test_a_link_put_there_while_a_writer_is_at_work(outside, tmp_path):
    path = tmp_path / "corpus.zarr"
    bt.ingest(OLD, path, **HERE)
    before = everything(outside)

    def source():
        yield from NEW
        (path / "parts").rename(tmp_path / "aside")
        (path / "parts").symlink_to(outside)

    with pytest.raises(StoreError, match="parts: it is a symbolic link"):
        bt.append(path, source(), **HERE)
    assert everything(outside) == before


def test_a_chunk_that_is_a_link_is_removed_without_what_it_leads_to(tmp_path):
    path, elsewhere = tmp_path / "corpus.zarr", tmp_path / "elsewhere"
    bt.ingest(OLD, path, **HERE)
    chunk = path / "parts/00000000/X/data/c/0"
    chunk.rename(elsewhere)
    chunk.symlink_to(elsewhere)
    bt.ingest(NEW, path, overwrite=True, **HERE)
    assert elsewhere.is_file() and not chunk.exists()


def test_a_store_may_be_reached_through_a_link(model, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "data").symlink_to("disk")
    bt.ingest(OLD, tmp_path / "data/corpus.zarr", **HERE)
    (tmp_path / "corpus").symlink_to("data/corpus.zarr")
    assert len(bt.append(tmp_path / "corpus", NEW, **HERE)) == 3
    corpus = bt.from_matrix(np.ones((5, 12)))
    for _ in range(2):
        model.save(tmp_path / "data/model.zarr", overwrite=True)
        model.transform_to(corpus, tmp_path / "data/theta.zarr", overwrite=True)
    assert sorted(p.name for p in (tmp_path / "disk").iterdir()) == [
        "corpus.zarr",
        "model.zarr",
        "theta.zarr",
    ]


def test_topics_behind_a_link_are_replaced_where_they_are(model, tmp_path):
    corpus = bt.from_matrix(np.ones((5, 12)))
    model.transform_to(corpus, tmp_path / "disk/theta.zarr")
    (tmp_path / "theta.zarr").symlink_to("disk/theta.zarr")
    first = (tmp_path / "disk/theta.zarr").stat().st_ino
    model.transform_to(corpus, tmp_path / "theta.zarr", overwrite=True)
    assert (tmp_path / "theta.zarr").is_symlink() and (tmp_path / "disk/theta.zarr").stat().st_ino != first
    assert [p.name for p in (tmp_path / "disk").iterdir()] == ["theta.zarr"]


@pytest.mark.parametrize("name", [LOCK, f"{JOURNAL}-0123456789ab"])
def test_a_lock_or_journal_alone_is_not_in_the_way(name, tmp_path):
    """What a writer leaves that was killed at its first steps."""
    path = tmp_path / "corpus.zarr"
    path.mkdir()
    (path / name).touch()
    assert len(bt.ingest(OLD, path, **HERE)) == 2
    assert not [entry.name for entry in path.iterdir() if entry.name.startswith(".")]


# ---------------------------------------------------------------- roots that somebody made on purpose

ODD_ROOTS = [
    "5",
    "null",
    "[]",
    "",
    "\x00",
    "[" * 100_000,
    '{"attributes": {"bigtopic-model": ' + "[" * 100_000,
    *(f'{{"attributes": {value}}}' for value in ("5", "null", "[1]", '"x"', '{"mine": 1}')),
    *(
        f'{{"attributes": {{"bigtopic-model": {value}}}}}'
        for value in ("5", "[]", "true", "{}", '{"state": [1]}')
    ),
    *(
        f'{{"attributes": {{"bigtopic-model": {{"state": "{state}"}}}}}}'
        for state in (
            "../precious",
            "/etc",
            "parts",
            "parts/00000000",
            "zarr.json",
            "notes.txt",
            "state-x",
            "",
        )
    ),
]


@pytest.fixture(params=["folder", "URL"])
def odd_store(request, tmp_path):
    """Where a store could be, among files of somebody's: `put` writes one there, `found` gives the contents of all."""
    url, memory = (tmp_path / "here" / "store", None)
    if request.param == "URL":
        url, memory = f"memory://{tmp_path.name}/here/store", fsspec.filesystem("memory")

    def put_bytes(name, data):
        if memory is not None:
            memory.pipe_file(f"{url}/{name}", data)
        else:
            (url / name).parent.mkdir(parents=True, exist_ok=True)
            (url / name).write_bytes(data)

    def found():
        if memory is not None:
            return {
                name.removeprefix(f"/{tmp_path.name}/here/"): memory.cat_file(name)
                for name in memory.find(url)
            }
        return {
            str(file.relative_to(url.parent)): file.read_bytes() for file in url.rglob("*") if file.is_file()
        }

    return url, put_bytes, found


@pytest.mark.parametrize("text", ODD_ROOTS, ids=lambda text: text[:60])
@pytest.mark.parametrize("how", ["save", "transform_to", "ingest"])
def test_a_root_cannot_have_what_is_not_of_its_store_removed(text, how, odd_store, model):
    url, put_bytes, found = odd_store
    for name in ("notes.txt", "parts/00000000/thesis.tex", "state-x/thesis.tex"):
        put_bytes(name, b"mine")
    before = found()
    put_bytes("zarr.json", text.encode("latin1"))
    actions = {
        "save": lambda: model.save(url, overwrite=True),
        "transform_to": lambda: model.transform_to(bt.from_matrix(np.ones((5, 12))), url, overwrite=True),
        "ingest": lambda: bt.ingest(NEW, url, overwrite=True, **HERE),
    }
    with suppress(CorpusExists, CorpusDamaged, CorpusVersionError):
        actions[how]()
        assert how == "save" and bt.load_model(url)
    after = found()
    assert {name: after.get(name) for name in before} == before
    assert how == "save" or after.keys() == before.keys() | {"store/zarr.json"}
