"""Checkpoints whose folders were altered, or mixed with those of another run, by something other than their run."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

import bigtopic as bt
from bigtopic.errors import ModelVersionError, StoreError
from bigtopic.storage.lock import WriterLock

sys.path.insert(0, str(Path(__file__).parent))

from test_checkpoints import contents, edited, estimator, interrupt_at


def saved(kind, path, corpus, step=20, **more):
    """A run that is cut after so many updates; its versions, the oldest first."""
    checkpoint = bt.Checkpoint(path, rounds=1)
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
