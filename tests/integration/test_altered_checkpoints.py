"""Checkpoints whose folders were altered, or mixed with those of another run, by something other than their run."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import (
    BigtopicWarning,
    CorpusDamaged,
    CorpusExists,
    CorpusLocked,
    ModelError,
    ModelVersionError,
    StoreError,
)
from bigtopic.storage.lock import WriterLock

sys.path.insert(0, str(Path(__file__).parent))

from test_checkpoints import bits, contents, edited, estimator, interrupt_at


@pytest.fixture(scope="module")
def expected(corpus):
    return {kind: bits(estimator(kind).fit(corpus)) for kind in ("interpolating", "stateful")}


def cut(kind, path, corpus, step=20, **more):
    """A run that is cut after so many updates; its versions, the oldest first."""
    checkpoint = bt.Checkpoint(path, rounds=4)
    estimator(kind, callbacks=[interrupt_at(step)], **more).fit(corpus, checkpoint=checkpoint)
    return sorted(path.glob("step-*"))


@pytest.fixture(scope="module")
def saved(corpus, tmp_path_factory):
    """The same, of runs that are made once and copied: `saved(kind, path, step=20)`."""
    folder = tmp_path_factory.mktemp("runs")

    def copied(kind, path, step=20):
        template = folder / f"{kind}-{step}"
        if not template.exists():
            cut(kind, template, corpus, step)
        shutil.copytree(template, path)
        return sorted(path.glob("step-*"))

    return copied


@pytest.mark.costly
@pytest.mark.parametrize(
    ("kind", "newer"),
    [
        ("interpolating", lambda about: about.update(version=99)),
        ("stateful", lambda about: about["documents"].update(version=99)),
    ],
    ids=["model", "documents"],
)
def test_a_version_that_a_newer_bigtopic_saved_is_not_passed_over(kind, newer, corpus, saved, tmp_path):
    path = tmp_path / "run.ckpt"
    versions = saved(kind, path)
    edited(versions[-1], newer)
    before = contents(path)
    with pytest.raises(ModelVersionError, match=rf"{versions[-1]}.* format version 99, .*; upgrade bigtopic"):
        estimator(kind).fit(corpus, checkpoint=path, resume=True)
    method = estimator(kind).method if kind == "stateful" else None
    with pytest.raises(ModelVersionError, match="upgrade bigtopic"):
        bt.load_model(path, method)
    assert contents(path) == before


def test_a_disk_that_is_full_at_the_lock_leaves_nothing(corpus, tmp_path, monkeypatch):
    def full(lock, descriptor, created):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(WriterLock, "_take", full)
    with pytest.raises(StoreError, match="the disk is full"):
        bt.LDA(2, max_iter=1, client=False, progress=False).fit(
            corpus, checkpoint=tmp_path / "folder/run.ckpt"
        )
    assert not list(tmp_path.iterdir())


def test_a_model_whose_run_went_on_elsewhere_has_lost_its_labels(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    model = estimator("stateful", callbacks=[interrupt_at(9)]).fit(corpus, checkpoint=path)
    estimator("stateful").fit(corpus, checkpoint=bt.Checkpoint(path, keep=1), resume=True)
    model.set_params(callbacks=())
    with pytest.raises(ModelError, match="is not with it"):
        model._model.remembered(0, 0, 300)
    with pytest.raises(ModelError, match="is not with it"):
        model.partial_fit(corpus)
    model.partial_fit(bt.from_matrix(np.eye(80, dtype=int), corpus.vocabulary.words))


@pytest.mark.costly(2)
@pytest.mark.parametrize(
    "change",
    [
        lambda about: about.update(documents=None),
        lambda about: about.pop("documents"),
        lambda about: about["documents"]["parts"][0].update(n_entries=5),
        lambda about: about["cursor"].update(epoch=0, round=5),
        lambda about: about["cursor"].update(epoch=0, ahead=[30]),
    ],
    ids=["null", "removed", "edited", "early", "ahead"],
)
def test_a_version_whose_documents_or_place_were_edited_is_passed_over(
    change, corpus, saved, expected, tmp_path
):
    path = tmp_path / "run.ckpt"
    before, last = saved("stateful", path, 20)
    edited(last, change)
    with pytest.warns(
        BigtopicWarning, match=rf"{last.name}.*going on from the version before it, {before.name}"
    ):
        resumed = estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["stateful"]


def test_documents_of_a_run_with_other_priors_are_refused(corpus, saved, tmp_path):
    path, other = tmp_path / "run.ckpt", tmp_path / "other.ckpt"
    saved("stateful", path)
    cut("stateful", other, corpus, doc_topic_prior=5.0)
    shutil.rmtree(path / "documents")
    shutil.copytree(other / "documents", path / "documents")
    with pytest.raises(ModelError, match="does not hold what the model remembers"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    version = json.loads(max(path.glob("step-*/zarr.json")).read_text())["attributes"]["bigtopic-model"]
    edited(path / "documents", lambda about: about.update(version["documents"]), "bigtopic-documents")
    with pytest.raises(CorpusDamaged, match="does not hold the state written for documents"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)


def test_a_pass_in_place_of_a_later_one_is_noticed(corpus, saved, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    before, _ = saved("stateful", path, 12)
    earlier, later = sorted(path.glob("documents/pass-*"))
    shutil.rmtree(later)
    shutil.copytree(earlier, later)
    with pytest.warns(
        BigtopicWarning, match=f"does not .*going on from the version before it, {before.name}"
    ):
        resumed = estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["stateful"]


DAMAGE = {
    "removed": Path.unlink,
    "cut short": lambda file: os.truncate(file, file.stat().st_size // 2),
    "changed": lambda file: file.write_bytes(bytes(byte ^ 1 for byte in file.read_bytes())),
}


@pytest.mark.parametrize("name", ["labels/c.0", ".checksums/c.0.0"])
@pytest.mark.parametrize("how", DAMAGE)
def test_a_version_whose_labels_are_damaged_is_passed_over(how, name, corpus, saved, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    before, last = saved("stateful", path, 12)
    assert [before.name[-2:], last.name[-2:]] == ["08", "12"]  # at the end of a pass, and inside the next
    (file,) = path.glob(f"documents/pass-2/*/{name}")
    DAMAGE[how](file)
    with pytest.warns(BigtopicWarning, match=f"{path}/documents/pass-2/.*; going on from .* {before.name}"):
        resumed = estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["stateful"]
    assert bits(estimator("stateful").fit(corpus, checkpoint=path, resume=True)) == expected["stateful"]


def test_a_version_whose_group_of_labels_is_gone_is_passed_over(corpus, saved, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    before, _ = saved("stateful", path, 12)
    (file,) = path.glob("documents/pass-2/*/zarr.json")
    file.unlink()
    with pytest.warns(BigtopicWarning, match=f"{file} is missing; going on from .* {before.name}"):
        resumed = estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["stateful"]
    assert bits(estimator("stateful").fit(corpus, checkpoint=path, resume=True)) == expected["stateful"]


def test_a_group_that_no_version_can_do_without_is_named(corpus, saved, tmp_path):
    path = tmp_path / "run.ckpt"
    saved("stateful", path, 12)
    (file,) = path.glob("documents/pass-1/*/zarr.json")
    file.unlink()
    before = contents(path)
    with pytest.raises(CorpusDamaged, match=f"{file} is missing; .*restore this file from a copy"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert contents(path) == before


def test_labels_that_no_version_can_do_without_are_named(corpus, saved, tmp_path):
    path = tmp_path / "run.ckpt"
    saved("stateful", path, 12)
    (file,) = path.glob("documents/pass-1/*/labels/c.0")
    DAMAGE["changed"](file)
    before = contents(path)
    with pytest.raises(CorpusDamaged, match=f"{file.parent} does not hold .*restore this file from a copy"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert contents(path) == before


def test_documents_of_version_1_are_still_read(corpus, expected, tmp_path, monkeypatch):
    """Which does not say whose run it is."""
    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr("bigtopic.state.checkpoints.checkpoint.identity_hash", lambda identity: "")
        versions = cut("stateful", path, corpus)

    def old(about):
        about.update(version=1)
        del about["run"]

    for version in versions:
        edited(version, lambda about: old(about["documents"]))
    edited(path / "documents", old, "bigtopic-documents")
    assert bits(estimator("stateful").fit(corpus, checkpoint=path, resume=True)) == expected["stateful"]


ALTER = {
    "folder removed": shutil.rmtree,
    "removed": lambda path: (path / "zarr.json").unlink(),
    "emptied": lambda path: (path / "zarr.json").write_bytes(b""),
    "not UTF-8": lambda path: (path / "zarr.json").write_bytes(b'{"attributes": "\xff"}'),
    "without attributes": lambda path: (path / "zarr.json").write_text('{"attributes": {}}'),
    "edited": lambda path: edited(
        path, lambda about: about["identity"]["settings"].update(max_iter=7), "bigtopic-checkpoint"
    ),
}


def at_step(step, change):
    """A callback that does something when so many updates are done."""

    def callback(event):
        if event.kind == "round" and event.step == step:
            change()

    return callback


@pytest.mark.costly(2)
@pytest.mark.parametrize("what", ALTER)
def test_a_root_that_is_lost_while_the_run_goes_on_is_written_again(what, corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    learner = estimator("interpolating", callbacks=[at_step(10, lambda: ALTER[what](path)), interrupt_at(20)])
    with pytest.warns(BigtopicWarning, match=f"{path}/zarr.json was missing or damaged, and was written"):
        learner.fit(corpus, checkpoint=bt.Checkpoint(path, rounds=8))
    assert bits(bt.load_model(path)) == bits(learner)
    resumed = estimator("interpolating").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["interpolating"]


@pytest.mark.costly(2)
@pytest.mark.parametrize("what", ["removed", "emptied", "not UTF-8", "without attributes"])
def test_a_description_of_documents_that_is_lost_is_written_again(what, corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    lose = at_step(10, lambda: ALTER[what](path / "documents"))
    learner = estimator("stateful", callbacks=[lose, interrupt_at(20)])
    with pytest.warns(BigtopicWarning, match=f"{path}/documents/zarr.json was missing or damaged, and was"):
        learner.fit(corpus, checkpoint=bt.Checkpoint(path, rounds=4))
    assert bits(estimator("stateful").fit(corpus, checkpoint=path, resume=True)) == expected["stateful"]


def test_a_root_that_cannot_be_written_again_is_named(corpus, tmp_path):
    path = tmp_path / "run.ckpt"

    def replace_by_folder():
        (path / "zarr.json").unlink()
        (path / "zarr.json").mkdir()

    learner = estimator("interpolating", callbacks=[at_step(10, replace_by_folder)])
    with pytest.raises(StoreError, match=f"{path}/zarr.json cannot be .*; move it away"):
        learner.fit(corpus, checkpoint=bt.Checkpoint(path, rounds=8))


def test_a_lock_that_is_removed_is_taken_again(corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    other = estimator("interpolating")

    def intrude():
        with pytest.raises(CorpusLocked):
            other.fit(corpus, checkpoint=path, resume=True)

    learner = estimator(
        "interpolating", callbacks=[at_step(10, (path / ".bigtopic.lock").unlink), at_step(20, intrude)]
    )
    learner.fit(corpus, checkpoint=bt.Checkpoint(path, rounds=4))
    assert bits(learner) == expected["interpolating"]


@pytest.mark.parametrize("what", ["ended", "killed before it was saved"])
def test_a_run_that_began_in_a_folder_that_was_removed_meanwhile_keeps_it(what, corpus, tmp_path):
    path = tmp_path / "run.ckpt"

    def begin_another():
        shutil.rmtree(path)
        estimator("adding", max_iter=1).fit(corpus, checkpoint=path)
        for version in path.glob("step-*") if what != "ended" else ():
            shutil.rmtree(version)
        other.update(contents(path))

    other = {}
    learner = estimator("interpolating", callbacks=[at_step(2, begin_another)])
    with pytest.raises(ModelError, match="holds another run"):
        learner.fit(corpus, checkpoint=bt.Checkpoint(path, rounds=8))
    assert contents(path) == other


@pytest.mark.costly
@pytest.mark.parametrize("what", ["removed", "emptied", "not UTF-8", "without attributes"])
def test_a_run_whose_root_was_lost_is_resumed(what, corpus, saved, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    saved("stateful", path)
    ALTER[what](path)
    before = contents(path)
    with pytest.raises(CorpusExists, match="holds a run already; pass resume=True"):
        estimator("stateful").fit(corpus, checkpoint=path)
    with pytest.raises(ModelError, match=f"{path}/zarr.json, .* and the versions are not of the run"):
        estimator("stateful", doc_topic_prior=5.0).fit(corpus, checkpoint=path, resume=True)
    (path / "letter.txt").write_text("dear")
    with pytest.raises(CorpusExists, match="is not a bigtopic checkpoint"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    (path / "letter.txt").unlink()
    assert contents(path) == before
    with pytest.warns(BigtopicWarning, match=f"{path}/zarr.json was missing or damaged, and was written"):
        resumed = estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["stateful"]
    estimator("stateful").fit(corpus, checkpoint=path, resume=True)


@pytest.mark.parametrize("what", ["removed", "emptied", "not UTF-8", "without attributes"])
def test_a_checkpoint_whose_root_was_lost_is_not_called_another_thing(what, corpus, saved, tmp_path):
    path = tmp_path / "run.ckpt"
    _, last = saved("interpolating", path)
    ALTER[what](path)
    told = f"{path}/zarr.json, .* is missing or damaged; resume the run, .* or load a version: {last}$"
    with pytest.raises(ModelError, match=told):
        bt.load_model(path)
    assert bt.load_model(last).n_components == 4
