"""A run that is killed, or interrupted, goes on from its checkpoint to the bits of one that nobody disturbed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicWarning, CorpusExists, CorpusLocked, ModelError, SettingError

sys.path.insert(0, str(Path(__file__).parent))

import toys

HERE = {"client": False, "n_threads": 1, "progress": False}
KINDS = ("interpolating", "adding", "stateful")


def estimator(kind, max_iter=4, **more):
    """An interpolating, an adding, and a stateful method, of 30 or more rounds."""
    if kind == "stateful":
        method = replace(toys.METHODS["labels"], batch_size=40, slice_size=20)
        return bt.LDA(3, method=method, max_iter=max_iter, **HERE, **more)
    method = "online-cvb0" if kind == "interpolating" else "streaming-vb"
    return bt.LDA(4, method=method, batch_size=20, max_iter=max_iter, **HERE, **more)


def bits(model):
    arrays = model._model.params.arrays
    return {
        f"{n}.{p}": getattr(a, p).tobytes()
        for n, a in arrays.items()
        for p in ("raw", "scale", "sums", "prior")
    }


def interrupt_at(step):
    """A callback that presses Ctrl-C in some round."""

    def callback(event):
        if event.kind == "round" and event.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    return callback


@pytest.fixture(scope="module")
def expected(corpus):
    return {kind: bits(estimator(kind).fit(corpus)) for kind in KINDS}


@pytest.mark.parametrize("step", [1, 9, 15, 23])
@pytest.mark.parametrize("kind", KINDS)
def test_an_interrupted_run_goes_on_to_the_same_bits(kind, step, corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    cut = estimator(kind, callbacks=[interrupt_at(step)]).fit(corpus, checkpoint=path)
    assert cut._model.cursor.step < estimator(kind).max_iter * 300 // 20
    resumed = estimator(kind).fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected[kind]
    assert len(resumed.history_) == 4 and resumed.n_iter_ == 4
    assert [row["n_docs"] for row in resumed.history_] == [300, 600, 900, 1200]
    again = estimator(kind).fit(corpus, checkpoint=path, resume=True)  # which is done
    assert bits(again) == expected[kind]


VICTIM = """
import sys
import numpy as np
sys.path[:0] = {path!r}
import bigtopic as bt
from test_checkpoints import estimator
corpus = bt.open_corpus({corpus!r})
checkpoint = bt.Checkpoint({checkpoint!r}, seconds=0, keep=2)
print("begins", flush=True)
estimator({kind!r}, {passes}).fit(corpus, checkpoint=checkpoint, resume=True)
print("ends", flush=True)
"""


@pytest.mark.parametrize("n_kills", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_driver_is_resumed_to_the_same_bits(kind, n_kills, corpus, tmp_path):
    """Killed with SIGKILL at random moments of its work, saving after every stretch; the model loads each time."""
    passes = (12 if kind == "stateful" else 100) if n_kills > 2 else 4
    stored = bt.ingest(corpus, tmp_path / "corpus.zarr", shuffle=False, **HERE)
    undisturbed = bits(estimator(kind, passes).fit(stored))
    path, draw, n_running = tmp_path / "run.ckpt", random.Random(n_kills), 0
    paths = [str(Path(__file__).parent), *sys.path]
    settings = {
        "path": paths,
        "corpus": str(stored.url),
        "checkpoint": str(path),
        "kind": kind,
        "passes": passes,
    }
    code, method = VICTIM.format(**settings), estimator(kind).method
    for kill in range(n_kills):
        with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as victim:
            assert victim.stdout.readline() == "begins\n"
            while kill == 0 and victim.poll() is None and not list(path.glob("step-*/zarr.json")):
                time.sleep(0.01)
            time.sleep(draw.uniform(0, 0.4))
            n_running += victim.poll() is None
            victim.kill()
        loaded = bt.load_model(path, method=None if isinstance(method, str) else method)
        assert np.isfinite(loaded.components_).all()
    resumed = estimator(kind, passes).fit(stored, checkpoint=path, resume=True)
    assert bits(resumed) == undisturbed
    assert n_kills == 2 or n_running == n_kills
    assert len(list(path.glob("step-*"))) <= 2 and not (path / ".bigtopic.lock").exists()


def test_patience_and_scores_are_those_of_an_undisturbed_run(corpus, tmp_path):
    settings = {
        "batch_size": 20,
        "max_iter": 6,
        "validation": 0.2,
        "evaluate_every": 5,
        "patience": 3,
        **HERE,
    }
    undisturbed = bt.LDA(4, **settings).fit(corpus)
    path = tmp_path / "run.ckpt"
    for step in (5, 12):  # at a score, and between two
        bt.LDA(4, callbacks=[interrupt_at(step)], **settings).fit(corpus, checkpoint=path, resume=True)
    resumed = bt.LDA(4, **settings).fit(corpus, checkpoint=path, resume=True)
    scores = [[row["score"] for row in model.history_ if "score" in row] for model in (undisturbed, resumed)]
    assert scores[0] == scores[1] and bits(resumed) == bits(undisturbed)


@pytest.mark.parametrize("method", ["vb", "online-vb"])
def test_a_tolerance_ends_a_resumed_run_where_it_ends_an_undisturbed_one(method, corpus, tmp_path):
    settings = {"method": method, "tol": 1e-3 if method == "vb" else 0.02, "max_iter": 30, **HERE}
    undisturbed = bt.LDA(4, batch_size=None if method == "vb" else 60, **settings).fit(corpus)
    settings["batch_size"] = None if method == "vb" else 60
    path = tmp_path / "run.ckpt"
    bt.LDA(4, callbacks=[interrupt_at(4)], **settings).fit(corpus, checkpoint=path)
    resumed = bt.LDA(4, **settings).fit(corpus, checkpoint=path, resume=True)
    assert 1 < undisturbed.n_iter_ < 30 and resumed.n_iter_ == undisturbed.n_iter_
    assert bits(resumed) == bits(undisturbed)


def test_another_run_is_refused_and_told_from_this_one(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    bt.LDA(4, max_iter=1, **HERE).fit(corpus, checkpoint=path)
    with pytest.raises(CorpusExists, match=r"holds a run already; pass resume=True"):
        bt.LDA(4, max_iter=1, **HERE).fit(corpus, checkpoint=path)
    with pytest.raises(
        ModelError, match=r"settings\.n_components was 4, is 5.*settings\.max_iter was 1, is 2"
    ):
        bt.LDA(5, max_iter=2, **HERE).fit(corpus, checkpoint=path, resume=True)
    with pytest.raises(ModelError, match=r"settings\.doc_topic_prior was None, is 'array"):
        bt.LDA(4, max_iter=1, doc_topic_prior=[0.1] * 4, **HERE).fit(corpus, checkpoint=path, resume=True)
    with pytest.raises(
        ModelError, match=r"corpus\.documents was 300, is 299.*corpus\.content is another one"
    ):
        bt.LDA(4, max_iter=1, **HERE).fit(corpus[:299], checkpoint=path, resume=True)
    assert (
        bt.LDA(4, max_iter=1, progress=False, n_threads=2).fit(corpus, checkpoint=path, resume=True).n_iter_
        == 1
    )


def test_what_is_not_a_checkpoint_stays_as_it_is(corpus, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("dear")
    model = bt.LDA(4, max_iter=1, **HERE).fit(corpus)
    model.save(tmp_path / "model.zarr")
    for name in ("letters", "model.zarr"):
        before = sorted(path.name for path in (tmp_path / name).rglob("*"))
        with pytest.raises(CorpusExists, match="is not a bigtopic checkpoint"):
            model.fit(corpus, checkpoint=tmp_path / name, resume=True)
        assert sorted(path.name for path in (tmp_path / name).rglob("*")) == before


def test_settings_that_cannot_be_meant(corpus, tmp_path):
    for settings in ({"seconds": -1}, {"rounds": 0}, {"keep": 0}):
        with pytest.raises(SettingError, match=f"{next(iter(settings))}="):
            bt.Checkpoint(tmp_path / "x", **settings)
    with pytest.raises(SettingError, match="in a folder"):
        bt.Checkpoint("s3://bucket/run")
    with pytest.raises(SettingError, match="needs random_state"):
        bt.LDA(2, random_state=None, **HERE).fit(corpus, checkpoint=tmp_path / "x")
    with pytest.raises(SettingError, match="needs checkpoint="):
        bt.LDA(2, **HERE).fit(corpus, resume=True)
    assert not list(tmp_path.iterdir())


def test_one_process_at_a_time(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    other = bt.LDA(4, max_iter=2, **HERE)

    def intrude(event):
        if event.kind == "pass":
            with pytest.raises(CorpusLocked):
                other.fit(corpus, checkpoint=path, resume=True)

    bt.LDA(4, max_iter=2, callbacks=[intrude], **HERE).fit(corpus, checkpoint=path)


def test_versions_are_kept_and_a_damaged_one_is_passed_over(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    settings = {"batch_size": 20, "max_iter": 2, **HERE}
    checkpoint = bt.Checkpoint(path, rounds=1, keep=3)
    undisturbed = bt.LDA(4, **settings).fit(corpus)
    bt.LDA(4, callbacks=[interrupt_at(20)], **settings).fit(corpus, checkpoint=checkpoint)
    versions = sorted(folder.name for folder in path.glob("step-*"))
    assert len(versions) == 3
    for chunk in (path / versions[-1]).rglob("topic_words/raw/c/0/0"):
        chunk.unlink()
    with pytest.warns(BigtopicWarning, match=rf"{versions[-1]}.*going on from the version before it"):
        resumed = bt.LDA(4, **settings).fit(corpus, checkpoint=checkpoint, resume=True)
    assert bits(resumed) == bits(undisturbed)


def test_a_checkpoint_is_a_model_to_whoever_loads_it(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    model = bt.LDA(4, max_iter=1, **HERE).fit(corpus, checkpoint=path)
    np.testing.assert_array_equal(bt.load_model(path).components_, model.components_)
    root = json.loads((path / "zarr.json").read_text())
    assert root["attributes"]["bigtopic-checkpoint"]["identity"]["settings"]["n_components"] == 4
    for folder in path.glob("step-*"):
        (folder / "zarr.json").unlink()
    with pytest.raises(ModelError, match="has not been saved yet"):
        bt.load_model(path)
