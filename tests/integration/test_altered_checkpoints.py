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
from bigtopic.errors import BigtopicWarning, CorpusDamaged, ModelError, ModelVersionError, StoreError
from bigtopic.storage.lock import WriterLock

sys.path.insert(0, str(Path(__file__).parent))

from test_checkpoints import bits, contents, edited, estimator, interrupt_at


@pytest.fixture(scope="module")
def expected(corpus):
    return {"stateful": bits(estimator("stateful").fit(corpus))}


def saved(kind, path, corpus, step=20, **more):
    """A run that is cut after so many updates; its versions, the oldest first."""
    checkpoint = bt.Checkpoint(path, rounds=4)
    estimator(kind, callbacks=[interrupt_at(step)], **more).fit(corpus, checkpoint=checkpoint)
    return sorted(path.glob("step-*"))


@pytest.mark.parametrize(
    ("kind", "newer"),
    [
        ("interpolating", lambda about: about.update(version=99)),
        ("stateful", lambda about: about["documents"].update(version=99)),
    ],
    ids=["model", "documents"],
)
def test_a_version_that_a_newer_bigtopic_saved_is_not_passed_over(kind, newer, corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    versions = saved(kind, path, corpus)
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
def test_a_version_whose_documents_or_place_were_edited_is_passed_over(change, corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    before, last = saved("stateful", path, corpus, 20)
    edited(last, change)
    with pytest.warns(
        BigtopicWarning, match=rf"{last.name}.*going on from the version before it, {before.name}"
    ):
        resumed = estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["stateful"]


def test_documents_of_a_run_with_other_priors_are_refused(corpus, tmp_path):
    path, other = tmp_path / "run.ckpt", tmp_path / "other.ckpt"
    saved("stateful", path, corpus)
    saved("stateful", other, corpus, doc_topic_prior=5.0)
    shutil.rmtree(path / "documents")
    shutil.copytree(other / "documents", path / "documents")
    with pytest.raises(ModelError, match="does not hold what the model remembers"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    version = json.loads(max(path.glob("step-*/zarr.json")).read_text())["attributes"]["bigtopic-model"]
    edited(path / "documents", lambda about: about.update(version["documents"]), "bigtopic-documents")
    with pytest.raises(CorpusDamaged, match="does not hold what was written"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)


def test_a_pass_in_place_of_a_later_one_is_noticed(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    saved("stateful", path, corpus, 12)
    earlier, later = sorted(path.glob("documents/pass-*"))
    shutil.rmtree(later)
    shutil.copytree(earlier, later)
    with pytest.raises(CorpusDamaged, match="does not"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)


def test_documents_of_version_1_are_still_read(corpus, expected, tmp_path, monkeypatch):
    """Which does not say whose run it is."""
    path = tmp_path / "run.ckpt"
    with monkeypatch.context() as patch:
        patch.setattr("bigtopic.state.checkpoint.identity_hash", lambda identity: "")
        versions = saved("stateful", path, corpus)

    def old(about):
        about.update(version=1)
        del about["run"]

    for version in versions:
        edited(version, lambda about: old(about["documents"]))
    edited(path / "documents", old, "bigtopic-documents")
    assert bits(estimator("stateful").fit(corpus, checkpoint=path, resume=True)) == expected["stateful"]
