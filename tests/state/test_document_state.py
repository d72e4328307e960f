"""State of documents: found again by any slices, kept by one model, refused where it is lost, gone with its owner."""

from __future__ import annotations

import copy
import gc
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import zarr

from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import ClusterError, CorpusDamaged, CorpusExists, ModelError, SettingError
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import Plan
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.documents.state_files import resolved
from bigtopic.storage import row_arrays
from bigtopic.types import Block, StateSpec

SPECS = resolved(
    {
        "labels": StateSpec("entry", "int16", missing=-1),
        "topics": StateSpec("document", "float32", ("n_components",)),
    },
    {"n_components": 3},
)
ROOT = Path(__file__).parents[2]
FIRST, SECOND = Cursor(), Cursor(1, 0, 5)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Small chunks, and a folder for temporary files."""
    monkeypatch.setattr(row_arrays, "CHUNK_BYTES", 64)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def part(first: int, n_docs: int) -> MemoryPart:
    rng = np.random.default_rng(first)
    lengths = rng.integers(0, 9, n_docs)
    words = rng.integers(0, 20, lengths.sum()).astype(np.int32)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    counts = np.ones(len(words), np.float32)
    return MemoryPart(f"part {first}", Block(indptr, words, counts, np.arange(first, first + n_docs)))


def corpus(*sizes: int, n_words: int = 20) -> Corpus:
    firsts = np.cumsum([0, *sizes])
    parts = [part(int(first), size) for first, size in zip(firsts, sizes, strict=False)]
    return Corpus(parts, Vocabulary([f"w{i}" for i in range(n_words)]))


def plan(documents: Corpus, batch_size: int = 20, slice_size: int = 10) -> Plan:
    return Plan([p.n_docs for p in documents.parts], 4.0, batch_size, slice_size, seed=1)


def begin(state: DocumentState, documents: Corpus, cursor: Cursor = FIRST, **sizes: int) -> Cursor:
    return state.begin(documents.parts, documents.vocabulary, plan(documents, **sizes), SPECS, cursor)


def remember(state: DocumentState, documents: Corpus, cursor: Cursor, n_rounds: int, mark: int) -> Cursor:
    """Do some rounds of a pass; every label becomes the mark."""
    for rnd in list(plan(documents).rounds(cursor.pass_number, cursor.round))[:n_rounds]:
        for ref in rnd.slices:
            entries = int(documents.parts[ref.part].entries(ref.start, ref.stop).sum())
            topics = np.full((ref.stop - ref.start, 3), mark, np.float32)
            kept = {"labels": np.full(entries, mark, np.int16), "topics": topics}
            state.files.write(ref.part, ref.start, ref.stop, cursor.pass_number + 1, kept)
        cursor = replace(cursor, round=rnd.number + 1, step=cursor.step + 1)
    if cursor.round < plan(documents).n_rounds:
        return cursor
    return Cursor(cursor.pass_number + 1, 0, cursor.step)


def marks(state: DocumentState, documents: Corpus, cursor: Cursor) -> list[set[int]]:
    """The labels of each part."""
    found = []
    for number, one in enumerate(documents.parts):
        read = state.read(number, 0, one.n_docs, cursor)
        assert len(read["labels"]) == one.nnz and read["topics"].shape == (one.n_docs, 3)
        found.append(set(read["labels"].tolist()))
    return found


# ---------------------------------------------------------------- files


def test_slices_of_other_sizes_find_it():
    state, documents = DocumentState(), corpus(70, 33)
    begin(state, documents)
    rng = np.random.default_rng(0)
    for number, one in enumerate(documents.parts):
        labels = rng.integers(0, 99, one.nnz).astype(np.int16)
        topics = rng.random((one.n_docs, 3), np.float32)
        for start in range(0, one.n_docs, 7):
            stop = min(start + 7, one.n_docs)
            own = slice(*one.block.indptr[[start, stop]])
            state.files.write(number, start, stop, 1, {"labels": labels[own], "topics": topics[start:stop]})
        for start, stop in ((0, one.n_docs), (3, 30), (32, 33), (5, 5)):
            found = state.read(number, start, stop, SECOND)
            np.testing.assert_array_equal(found["labels"], labels[slice(*one.block.indptr[[start, stop]])])
            np.testing.assert_array_equal(found["topics"], topics[start:stop])
            assert found["labels"].dtype == np.int16


def test_any_reader_of_zarr_opens_it(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    begin(state, documents)
    remember(state, documents, FIRST, 2, mark=7)
    key = state.files.parts[0].key
    group = zarr.open_group(tmp_path / "state", mode="r")
    assert set(group[f"pass-1/{key}"].array_keys()) == {"labels", "topics", ".checksums"}
    np.testing.assert_array_equal(group[f"pass-1/{key}/labels"][...], np.full(documents.nnz, 7))
    np.testing.assert_array_equal(group[f"parts/{key}/offsets"][...], documents.parts[0].block.indptr)


def test_of_a_part_without_state_there_is_none():
    state, documents = DocumentState(), corpus(40, 30)
    begin(state, documents)
    assert state.files.read(0, 0, 10, 0) is None
    assert marks(state, documents, FIRST) == [{-1}, {-1}]


@pytest.mark.parametrize(
    ("place", "error", "told"),
    [
        ("worker", ClusterError, r"a worker does not see the files of {}; .*client=False"),
        (
            "driver",
            CorpusDamaged,
            r"^{} is missing; .* restore this folder from a copy, or fit the model again$",
        ),
    ],
)
def test_files_out_of_sight_are_no_first_pass(place, error, told, tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    begin(state, documents)
    shutil.rmtree(tmp_path / "state")
    files = pickle.loads(pickle.dumps(state.files)) if place == "worker" else state.files
    kept = {"labels": np.zeros(0, np.int16), "topics": np.zeros((0, 3), np.float32)}
    for use in (
        lambda: files.read(0, 0, 5, 0),
        lambda: files.read(0, 0, 5, 1),
        lambda: files.write(0, 0, 0, 1, kept),
    ):
        with pytest.raises(error, match=told.format(tmp_path / "state")):
            use()


def test_state_that_must_be_there_and_is_not_is_no_first_pass(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    begin(state, documents)
    with pytest.raises(CorpusDamaged, match="is missing"):
        state.files.read(0, 0, 5, 1)


def test_a_missing_chunk_is_named(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    begin(state, documents)
    remember(state, documents, FIRST, 2, mark=7)
    (tmp_path / "state/pass-1" / state.files.parts[0].key / "labels/c.1").unlink()
    with pytest.raises(CorpusDamaged, match=r"labels/c.1 is missing; .* fit the model again"):
        state.read(0, 0, 40, SECOND)


# ---------------------------------------------------------------- passes


def change_a_byte(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    file.write_bytes(data)


@pytest.mark.parametrize("name", ["labels", "topics", ".checksums"])
def test_what_was_changed_is_not_believed_by_slices_of_any_size(tmp_path, name):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    array = tmp_path / f"state/pass-1/{state.files.parts[0].key}/{name}"
    change_a_byte(array / ("c.1" if name == "labels" else "c.1.0"), 1)
    damaged = {}
    for size in (1, 3, 10, 40):
        for start in range(0, 40, size):
            try:
                found = state.read(0, start, min(40, start + size), cursor)
            except CorpusDamaged as error:
                assert f"/{name} does not" in str(error) and "restore this file" in str(error)
                damaged.setdefault(size, []).append(start)
            else:
                assert set(found["labels"].tolist()) <= {1} and (found["topics"] == 1).all()
    assert set(damaged) == {1, 3, 10, 40}


def test_labels_of_documents_that_nobody_wrote_are_not_zeros(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    remember(state, documents, begin(state, documents), 1, mark=1)
    with pytest.raises(CorpusDamaged, match=r"\.checksums"):
        state.files.read(0, 0, 40, 1)


def test_a_pass_that_is_complete_forgets_what_it_began_with(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    cursor = begin(state, documents)
    for mark in (1, 2, 3):
        cursor = remember(state, documents, cursor, 2, mark)
        state.end_pass(cursor.pass_number)
        assert marks(state, documents, cursor) == [{mark}]
    assert sorted(path.name for path in (tmp_path / "state").iterdir()) == ["parts", "pass-3", "zarr.json"]


def test_a_pass_stays_until_the_next_is_written(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    state.end_pass(cursor.pass_number + 1)  # whose state is in memory
    assert marks(state, documents, cursor) == [{1}]


def test_a_pass_that_somebody_may_go_back_to_stays(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    cursor = begin(state, documents)
    state.kept = {1}
    for mark in (1, 2, 3):
        cursor = remember(state, documents, cursor, 2, mark)
        state.end_pass(cursor.pass_number)
    assert {path.name for path in (tmp_path / "state").glob("pass-*")} == {"pass-1", "pass-3"}
    begin(state, documents, SECOND)
    assert marks(state, documents, SECOND) == [{1}]
    assert {path.name for path in (tmp_path / "state").glob("pass-*")} == {"pass-1"}


def test_a_copy_by_hard_links_stays_as_it_was(tmp_path):
    state, documents = DocumentState(tmp_path / "state"), corpus(30)
    cursor = copied = remember(state, documents, begin(state, documents), 9, mark=1)
    shutil.copytree(tmp_path / "state", tmp_path / "copy", copy_function=os.link)
    for mark in (2, 3, 4):
        cursor = remember(state, documents, cursor, 9, mark)
        state.end_pass(cursor.pass_number)
    assert marks(state, documents, cursor) == [{4}]
    assert marks(DocumentState(tmp_path / "copy"), documents, copied) == [{1}]


def test_what_a_pass_has_not_written_over_is_not_its_state():
    state, documents = DocumentState(), corpus(30)
    cursor = begin(state, documents)
    for mark in (1, 2):
        cursor = remember(state, documents, cursor, 9, mark)
        state.end_pass(cursor.pass_number)
    remember(state, documents, cursor, 1, 3)
    with pytest.raises(CorpusDamaged):
        state.files.read(0, 0, 30, 3)


def test_a_task_that_was_given_up_writes_while_its_pass_is_removed(tmp_path, monkeypatch):
    """What it leaves goes with the next pass."""
    state, documents = DocumentState(tmp_path / "state"), corpus(40)
    first = remember(state, documents, begin(state, documents), 2, 1)
    cursor = remember(state, documents, first, 2, 2)
    rmdir, given_up = os.rmdir, [FIRST]

    def write_and_remove(*folder: Any, **where: Any) -> None:
        if given_up:
            remember(state, documents, given_up.pop(), 2, 1)
        rmdir(*folder, **where)

    monkeypatch.setattr(os, "rmdir", write_and_remove)
    state.end_pass(cursor.pass_number)
    assert marks(state, documents, cursor) == [{2}]
    assert {path.name for path in (tmp_path / "state").glob("pass-*")} == {"pass-1", "pass-2"}
    cursor = remember(state, documents, cursor, 2, 3)
    state.end_pass(cursor.pass_number)
    assert {path.name for path in (tmp_path / "state").glob("pass-*")} == {"pass-3"}


def test_in_the_middle_of_a_pass_each_document_has_its_newest_state():
    state, documents = DocumentState(), corpus(70, 30)
    cursor = remember(state, documents, begin(state, documents), 5, mark=1)
    cursor = remember(state, documents, cursor, 2, mark=2)
    topics = [state.read(n, 0, p.n_docs, cursor)["topics"][:, 0] for n, p in enumerate(documents.parts)]
    reached = np.zeros(100, bool)
    for rnd in list(plan(documents).rounds(1))[:2]:
        for ref in rnd.slices:
            first = [0, 70][ref.part]
            reached[first + ref.start : first + ref.stop] = True
    assert 0 < reached.sum() < 100
    np.testing.assert_array_equal(np.concatenate(topics), np.where(reached, 2, 1))


def test_a_pass_that_is_cut_goes_on_with_the_same_plan():
    state, documents = DocumentState(), corpus(70, 30)
    cursor = remember(state, documents, begin(state, documents), 7, mark=1)
    cursor = remember(state, documents, SECOND, 2, mark=2)
    assert begin(state, documents, cursor) == cursor
    cursor = remember(state, documents, cursor, 3, mark=3)
    assert cursor.pass_number == 2 and set().union(*marks(state, documents, cursor)) == {2, 3}


@pytest.mark.parametrize("pass_number", [0, 1])
def test_another_plan_leaves_the_pass_and_no_document_is_seen_twice_in_it(pass_number):
    state, documents = DocumentState(), corpus(70, 30)
    cursor = begin(state, documents)
    if pass_number == 1:
        cursor = remember(state, documents, cursor, 5, mark=1)
    cut = remember(state, documents, cursor, 2, mark=2)
    before = marks(state, documents, cut)
    cursor = begin(state, documents, cut, batch_size=30)
    assert (cursor.pass_number, cursor.round, cursor.step) == (pass_number + 1, 0, cut.step)
    assert marks(state, documents, cursor) == before
    assert before[0] == ({1, 2} if pass_number else {-1, 2})


# ---------------------------------------------------------------- corpora


def test_another_corpus_begins_afresh_and_nothing_is_left_of_the_first(tmp_path):
    state, documents, other = DocumentState(tmp_path / "state"), corpus(40), corpus(41)
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    key = state.files.parts[0].key
    begin(state, other, cursor)
    assert marks(state, other, cursor) == [{-1}]
    assert not list((tmp_path / "state").rglob(key))


def test_a_corpus_that_has_grown_keeps_the_state_of_its_first_parts():
    state, documents, more = DocumentState(), corpus(40, 30), corpus(40, 30, 20, n_words=25)
    cursor = remember(state, documents, begin(state, documents), 4, mark=1)
    assert begin(state, more, cursor) == cursor
    assert marks(state, more, cursor) == [{1}, {1}, {-1}]


def test_a_corpus_that_has_grown_in_the_middle_of_a_pass():
    state, documents, more = DocumentState(), corpus(40, 30), corpus(40, 30, 20)
    cursor = remember(state, documents, begin(state, documents), 4, mark=1)
    cut = remember(state, documents, cursor, 2, mark=2)
    cursor = begin(state, more, cut)
    assert (cursor.pass_number, cursor.round) == (2, 0)
    assert [len(found) for found in marks(state, more, cursor)] == [2, 2, 1]


def test_equal_documents_of_other_words_are_another_corpus():
    state, documents = DocumentState(), corpus(40)
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    others = Corpus(documents.parts, Vocabulary([f"x{i}" for i in range(20)]))
    begin(state, others, cursor)
    assert marks(state, others, cursor) == [{-1}]


def test_equal_parts_are_told_apart():
    documents = Corpus([part(0, 20), part(0, 20)], corpus(1).vocabulary)
    state = DocumentState()
    begin(state, documents)
    zeros = np.zeros(documents.parts[0].nnz, np.int16)
    state.files.write(0, 0, 20, 1, {"labels": zeros, "topics": np.zeros((20, 3), np.float32)})
    assert state.files.has(0, 1) and not state.files.has(1, 1)


def test_a_model_that_begins_knows_nothing():
    """Whatever another one left in the folder."""
    state, documents = DocumentState(), corpus(40)
    remember(state, documents, begin(state, documents), 2, mark=1)
    begin(state, documents)
    assert marks(state, documents, FIRST) == [{-1}] and not state.files.has(0, 1)


# ---------------------------------------------------------------- owners


def test_a_temporary_folder_goes_with_its_owner(tmp_path):
    state = DocumentState()
    begin(state, corpus(40))
    assert len(list(tmp_path.iterdir())) == 1
    del state
    gc.collect()
    assert not list(tmp_path.iterdir())


def test_a_temporary_folder_goes_with_the_process(tmp_path):
    script = (
        "from tests.state.test_document_state import *\n"
        "state = DocumentState(); begin(state, corpus(40)); print(state.files.place.url)"
    )
    command = [sys.executable, "-c", script]
    run = subprocess.run(
        command, capture_output=True, text=True, check=True, env={"TMPDIR": str(tmp_path)}, cwd=ROOT
    )
    assert run.stdout.startswith(str(tmp_path)) and not list(tmp_path.iterdir())


def test_a_folder_that_was_given_stays(tmp_path):
    state = DocumentState(tmp_path / "below/state")
    documents = corpus(40)
    cursor = remember(state, documents, begin(state, documents), 2, mark=4)
    state.sync()
    del state
    gc.collect()
    again = DocumentState(tmp_path / "below/state")
    assert begin(again, documents, cursor) == cursor
    assert marks(again, documents, cursor) == [{4}]


def test_a_copy_has_files_of_its_own(tmp_path):
    state, documents = DocumentState(), corpus(40)
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    twin = copy.deepcopy(state)
    assert begin(twin, documents, cursor) == cursor
    after = remember(twin, documents, cursor, 2, mark=2)
    assert marks(state, documents, cursor) == [{1}] and marks(twin, documents, after) == [{2}]
    del twin
    gc.collect()
    assert marks(state, documents, cursor) == [{1}]


def test_a_copy_of_files_that_may_only_be_read_can_be_written(tmp_path):
    documents = corpus(20)
    state = DocumentState(tmp_path / "state")
    cursor = remember(state, documents, begin(state, documents), 1, mark=1)
    paths = [tmp_path / "state", *(tmp_path / "state").rglob("*")]
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    twin = copy.deepcopy(state)
    folder = Path(twin.files.place.url)
    assert all(path.stat().st_mode & 0o200 for path in [folder, *folder.rglob("*")])
    assert marks(twin, documents, cursor) == marks(state, documents, cursor)
    for path in paths:
        path.chmod(0o755)


def test_a_pickle_has_no_state_and_says_so():
    state, documents = DocumentState(), corpus(40, 30)
    cursor = remember(state, documents, begin(state, documents), 4, mark=1)
    for at in (cursor, remember(state, documents, cursor, 1, mark=2)):
        twin = pickle.loads(pickle.dumps(state))
        with pytest.raises(ModelError, match="fit a new one"):
            begin(twin, documents, at)
        begin(twin, corpus(50), cursor)
    del twin
    gc.collect()
    assert marks(state, documents, cursor) == [{1}, {1}]


def test_what_was_cut_in_the_first_pass_and_pickled_is_lost_too():
    state, documents = DocumentState(), corpus(40)
    cut = remember(state, documents, begin(state, documents), 1, mark=1)
    for sizes in ({}, {"batch_size": 30}):
        with pytest.raises(ModelError, match="fit a new one"):
            begin(pickle.loads(pickle.dumps(state)), documents, cut, **sizes)


def test_an_older_copy_of_the_model_does_not_find_newer_state():
    state, documents = DocumentState(), corpus(40)
    older = remember(state, documents, begin(state, documents), 2, mark=1)
    newer = remember(state, documents, older, 2, mark=2)
    state.end_pass(newer.pass_number)
    with pytest.raises(ModelError, match="fit a new one"):
        begin(state, documents, older)
    assert begin(state, documents, newer) == newer


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_fork_removes_nothing():
    state, documents = DocumentState(), corpus(40)
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    owners = [state]
    child = multiprocessing.get_context("fork").Process(target=owners.clear)  # the last reference there
    del state
    child.start()
    child.join()
    assert marks(owners[0], documents, cursor) == [{1}]


# ---------------------------------------------------------------- refusals


def test_a_disk_that_is_too_small_is_refused_before_the_start(tmp_path, monkeypatch):
    documents = corpus(40)
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1000))
    need = 2 * (-(-documents.nnz // 32) * 64 + 8 * 60 + 40 * 16) + -(-41 // 8) * 64
    with pytest.raises(SettingError, match=rf"needs {need:,} bytes .*bigtopic-state-.* has 1,000 free"):
        begin(DocumentState(), documents)


def test_passes_that_versions_may_need_must_fit_on_the_disk_too(tmp_path, monkeypatch):
    documents, state = corpus(40), DocumentState(tmp_path / "state")
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    one_pass = state.files.pass_bytes(0)
    usage = shutil.disk_usage(tmp_path)
    for free in (one_pass, 5 * one_pass - 1, 5 * one_pass):
        monkeypatch.setattr(shutil, "disk_usage", lambda path, free=free: usage._replace(free=free))
        state.most_kept = 4 if free > one_pass else 0  # one pass is there
        if free == 5 * one_pass - 1:
            with pytest.raises(SettingError, match=rf"needs {5 * one_pass:,} bytes for up to 6 passes"):
                begin(state, documents, cursor)
        else:
            begin(state, documents, cursor)


def test_somebody_elses_folder_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(CorpusExists, match="choose another folder"):
        DocumentState(tmp_path)
    zarr.open_group(tmp_path / "group", mode="w")
    with pytest.raises(CorpusExists, match="choose another folder"):
        DocumentState(tmp_path / "group")
    assert (tmp_path / "notes.txt").read_text() == "mine"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("parts", [{"key": "../..", "n_docs": 1, "n_entries": 1, "first_pass": 0}]),
        ("parts", []),
        ("n_words", -1),
        ("plan", {}),
    ],
)
def test_what_a_folder_says_of_itself_is_checked(tmp_path, field, value):
    begin(DocumentState(tmp_path / "state"), corpus(40))
    path = tmp_path / "state/zarr.json"
    group = json.loads(path.read_text())
    group["attributes"]["bigtopic-documents"][field] = value
    path.write_text(json.dumps(group))
    with pytest.raises(ModelError, match=f"damaged: .*({field}|plan)"):
        DocumentState(tmp_path / "state")


def use_of_other_arrays(state: DocumentState, documents: Corpus, cursor: Cursor) -> Any:
    specs = {"labels": StateSpec("entry", "int32", missing=-1)}
    return state.begin(documents.parts, documents.vocabulary, plan(documents), specs, cursor)


def test_state_of_another_kind_is_refused():
    state, documents = DocumentState(), corpus(40)
    cursor = remember(state, documents, begin(state, documents), 2, mark=1)
    with pytest.raises(ModelError, match="fit a new one"):
        use_of_other_arrays(state, documents, cursor)
    assert marks(state, documents, cursor) == [{1}]


def test_a_killed_process_leaves_what_the_next_one_can_use(tmp_path, monkeypatch):
    begin(DocumentState(tmp_path / "state"), corpus(40))
    Path(tmp_path / "state/zarr.json.partial").write_text("{")
    begin(DocumentState(tmp_path / "state"), corpus(40))
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty/zarr.json.partial").write_text("{")
    begin(DocumentState(tmp_path / "empty"), corpus(40))
    before_the_first_run = DocumentState(tmp_path / "made")
    with monkeypatch.context() as full, pytest.raises(SettingError):
        full.setattr(shutil, "disk_usage", lambda path: SimpleNamespace(free=0))
        begin(before_the_first_run, corpus(40))
    assert DocumentState(tmp_path / "made").description == before_the_first_run.description
    begin(DocumentState(tmp_path / "made"), corpus(40))
