"""A run that is killed, or interrupted, goes on from its checkpoint to the bits of one that nobody disturbed."""

from __future__ import annotations

import copy
import importlib.metadata
import json
import os
import pickle
import random
import re
import shutil
import signal
import sys
import time
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import bigtopic as bt
from bigtopic.errors import (
    BigtopicWarning,
    CorpusDamaged,
    CorpusExists,
    CorpusLocked,
    ModelError,
    ModelVersionError,
    SettingError,
    StoreError,
)
from bigtopic.state.checkpoints.versions import newest_intact
from bigtopic.storage.place import Place

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import hosts
from interrupted import HERE, KINDS, estimator, fit_saving_often

ONLINE = {"method": "online-cvb0", **HERE}


def bits(model):
    arrays = model._model.params.arrays
    return {
        f"{n}.{p}": getattr(a, p).tobytes()
        for n, a in arrays.items()
        for p in ("raw", "scale", "sums", "prior")
    }


def interrupt_at(step, number=signal.SIGINT):
    """A callback that presses Ctrl-C, or sends another signal, in some round."""

    def callback(event):
        if event.kind == "round" and event.step == step:
            os.kill(os.getpid(), number)

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


def test_a_run_is_saved_before_it_is_terminated(corpus, expected, tmp_path):
    def terminate(number, frame):
        raise SystemExit(143)

    usual = signal.signal(signal.SIGTERM, terminate)
    try:
        with pytest.raises(SystemExit):
            cut = estimator("adding", callbacks=[interrupt_at(9, signal.SIGTERM)])
            cut.fit(corpus, checkpoint=tmp_path / "r")
        assert signal.getsignal(signal.SIGTERM) is terminate
    finally:
        signal.signal(signal.SIGTERM, usual)
    assert list((tmp_path / "r").rglob("step-*"))
    resumed = estimator("adding").fit(corpus, checkpoint=tmp_path / "r", resume=True)
    assert bits(resumed) == expected["adding"]


def test_each_part_of_a_resumed_run_has_the_whole_time(corpus, tmp_path):
    """Or a job that runs again and again with the same limit would not get any further."""
    updates = [0]
    for _ in range(3):
        model = estimator("adding", max_iter=10_000, max_time=0.3)
        model.fit(corpus, checkpoint=tmp_path / "r", resume=True)
        updates.append(model.n_batch_iter_)
    assert updates[0] < updates[1] < updates[2] < updates[3]
    assert model.run_["counts"]["seconds"] > 0.6  # of all parts


def test_a_run_that_is_cut_before_its_last_score_takes_it(corpus, tmp_path):
    settings = {"max_iter": 2, "validation": 0.1, "random_state": 1}
    scores = [row.get("score") for row in estimator("adding", **settings).fit(corpus).history_]
    last = 2 * 14  # updates
    cut = estimator("adding", callbacks=[interrupt_at(last)], **settings).fit(
        corpus, checkpoint=tmp_path / "r"
    )
    assert cut.n_iter_ == 2 and [row.get("score") for row in cut.history_] == scores[:-1]
    resumed = estimator("adding", **settings).fit(corpus, checkpoint=tmp_path / "r", resume=True)
    assert [row.get("score") for row in resumed.history_] == scores
    assert resumed.run_["score"] == scores[-1]


@pytest.mark.costly
@pytest.mark.parametrize("n_kills", [2, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_driver_is_resumed_to_the_same_bits(kind, n_kills, corpus, tmp_path):
    """Killed with SIGKILL at random moments of its work, saving after every segment; the model loads each time."""
    passes = (12 if kind == "stateful" else 100) if n_kills > 2 else 4
    stored = bt.ingest(corpus, tmp_path / "corpus.zarr", shuffle=False, **HERE)
    undisturbed = bits(estimator(kind, passes).fit(stored))
    path, draw, n_running = tmp_path / "run.ckpt", random.Random(n_kills), 0
    method = estimator(kind).method
    for kill in range(n_kills):
        begun = hosts.forks().Event()
        given = kind, passes, str(stored.url), str(path), begun
        victim = hosts.forks().Process(target=fit_saving_often, args=given, daemon=True)
        victim.start()
        assert begun.wait(hosts.SECONDS)
        while kill == 0 and victim.is_alive() and not list(path.glob("step-*/zarr.json")):
            time.sleep(0.01)
        time.sleep(draw.uniform(0, 0.4))
        n_running += victim.is_alive()
        victim.kill()
        victim.join()
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
        **ONLINE,
    }
    undisturbed = bt.LDA(4, **settings).fit(corpus)
    path = tmp_path / "run.ckpt"
    for step in (5, 12):  # at a score, and between two
        bt.LDA(4, callbacks=[interrupt_at(step)], **settings).fit(corpus, checkpoint=path, resume=True)
    resumed = bt.LDA(4, **settings).fit(corpus, checkpoint=path, resume=True)
    scores = [[row["score"] for row in model.history_ if "score" in row] for model in (undisturbed, resumed)]
    assert scores[0] == scores[1] and bits(resumed) == bits(undisturbed)
    again = bt.LDA(4, **settings).fit(corpus, checkpoint=path, resume=True)  # which is done
    assert again.history_ == resumed.history_ and bits(again) == bits(undisturbed)


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
    again = bt.LDA(4, **settings).fit(corpus, checkpoint=path, resume=True)  # which is done
    assert again.history_ == resumed.history_ and bits(again) == bits(undisturbed)


def test_another_run_is_refused_and_told_from_this_one(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    bt.LDA(4, max_iter=1, **ONLINE).fit(corpus, checkpoint=path)
    with pytest.raises(CorpusExists, match=r"holds a run already; pass resume=True"):
        bt.LDA(4, max_iter=1, **ONLINE).fit(corpus, checkpoint=path)
    with pytest.raises(ModelError, match=r"n_components was 4, is 5.*max_iter was 1, is 2"):
        bt.LDA(5, max_iter=2, **ONLINE).fit(corpus, checkpoint=path, resume=True)
    with pytest.raises(ModelError, match=r"doc_topic_prior was None, is 'array"):
        bt.LDA(4, max_iter=1, doc_topic_prior=[0.1] * 4, **ONLINE).fit(corpus, checkpoint=path, resume=True)
    with pytest.raises(
        ModelError, match=r"corpus\.documents was 300, is 299.*corpus\.content is another one"
    ):
        bt.LDA(4, max_iter=1, **ONLINE).fit(corpus[:299], checkpoint=path, resume=True)
    assert (
        bt.LDA(4, max_iter=1, **{**ONLINE, "n_threads": 2}).fit(corpus, checkpoint=path, resume=True).n_iter_
        == 1
    )


def test_what_is_not_a_checkpoint_stays_as_it_is(corpus, tmp_path):
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "dear.txt").write_text("dear")
    model = bt.LDA(4, max_iter=1, **ONLINE).fit(corpus)
    model.save(tmp_path / "model.zarr")
    for name in ("letters", "model.zarr"):
        before = sorted(path.name for path in (tmp_path / name).rglob("*"))
        with pytest.raises(CorpusExists, match="is not a bigtopic checkpoint"):
            model.fit(corpus, checkpoint=tmp_path / name, resume=True)
        assert sorted(path.name for path in (tmp_path / name).rglob("*")) == before


def test_a_link_that_leads_nowhere_is_named(corpus, tmp_path):
    (tmp_path / "run").symlink_to(tmp_path / "gone")
    for path in (tmp_path / "run", tmp_path / "run" / "below"):
        with pytest.raises(
            CorpusExists, match=r"run is a symbolic link to .*gone, which is not there; make that"
        ):
            bt.LDA(2, max_iter=1, **ONLINE).fit(corpus, checkpoint=path)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("below", ["x", "x/y"])
def test_a_path_through_a_file_is_refused(below, corpus, tmp_path):
    (tmp_path / "file").write_text("dear")
    with pytest.raises(
        StoreError, match=r"cannot be locked: what should be a folder .* is a file; move that"
    ):
        bt.LDA(2, max_iter=1, **ONLINE).fit(corpus, checkpoint=tmp_path / "file" / below)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("folder", "key", "known"), [(".", "bigtopic-checkpoint", 2), ("documents", "bigtopic-documents", 2)]
)
def test_what_a_newer_version_wrote_is_said_to_be_newer(folder, key, known, corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    estimator("stateful", callbacks=[interrupt_at(2)]).fit(corpus, checkpoint=path)
    root = json.loads((path / folder / "zarr.json").read_text())
    root["attributes"][key]["version"] = 99
    (path / folder / "zarr.json").write_text(json.dumps(root))
    with pytest.raises(
        ModelError, match=f"format version 99, this version of bigtopic reads up to {known}; upgrade"
    ):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)


def test_settings_that_cannot_be_meant(corpus, tmp_path):
    wrong = [{"seconds": -1}, {"seconds": None}, {"seconds": "5m"}, {"rounds": 0}, {"rounds": "3"}]
    for settings in [*wrong, {"keep": 0}, {"keep": None}, {"keep": 1.5}]:
        with pytest.raises(SettingError, match=f"{next(iter(settings))}="):
            bt.Checkpoint(tmp_path / "x", **settings)
    for path in ("s3://bucket/run", None, 3, ""):
        with pytest.raises(SettingError, match="in a folder"):
            bt.Checkpoint(path)
    with pytest.raises(SettingError, match=r"'a\\x00b' is not a path: it has a null character; give"):
        bt.Checkpoint("a\0b")
    with pytest.raises(SettingError, match="needs random_state"):
        bt.LDA(2, random_state=None, **ONLINE).fit(corpus, checkpoint=tmp_path / "x")
    with pytest.raises(SettingError, match="needs checkpoint="):
        bt.LDA(2, **ONLINE).fit(corpus, resume=True)
    assert not list(tmp_path.iterdir())


def test_one_process_at_a_time(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    other = bt.LDA(4, max_iter=2, **ONLINE)

    def intrude(event):
        if event.kind == "pass":
            with pytest.raises(CorpusLocked):
                other.fit(corpus, checkpoint=path, resume=True)

    bt.LDA(4, max_iter=2, callbacks=[intrude], **ONLINE).fit(corpus, checkpoint=path)


def test_versions_are_kept_and_a_damaged_one_is_passed_over(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    settings = {"batch_size": 20, "max_iter": 2, **ONLINE}
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


@pytest.fixture(scope="module")
def twelve_passes(corpus):
    """Some documents, three rounds of the stateful method, and its bits after twelve passes over them."""
    some = corpus[:100]
    return some, bits(estimator("stateful", 12).fit(some))


@pytest.mark.costly
@pytest.mark.parametrize("rounds", [2, 1, 8])
def test_no_more_passes_of_labels_stay_than_the_versions_need(rounds, twelve_passes, tmp_path):
    path, most = tmp_path / "run.ckpt", []
    corpus, undisturbed = twelve_passes

    def count(event):
        if event.kind == "round":
            most.append(len(list(path.glob("documents/pass-*"))))

    checkpoint = bt.Checkpoint(path, rounds=rounds, seconds=1e9, keep=2)
    estimator("stateful", 12, callbacks=[count]).fit(corpus, checkpoint=checkpoint)
    assert max(most) <= 2 * checkpoint.keep + 2
    for version in sorted(path.glob("step-*"))[1:]:  # the oldest one that is kept can still be resumed
        shutil.rmtree(version)
    resumed = estimator("stateful", 12).fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == undisturbed


def test_a_checkpoint_is_a_model_to_whoever_loads_it(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    model = bt.LDA(4, max_iter=1, **ONLINE).fit(corpus, checkpoint=path)
    np.testing.assert_array_equal(bt.load_model(path).components_, model.components_)
    root = json.loads((path / "zarr.json").read_text())
    assert root["attributes"]["bigtopic-checkpoint"]["identity"]["settings"]["n_components"] == 4
    for folder in path.glob("step-*"):
        (folder / "zarr.json").unlink()
    with pytest.raises(ModelError, match="has not been saved yet"):
        bt.load_model(path)


def test_documents_and_models_that_are_given_are_compared_by_their_content(corpus, tmp_path):
    counts = np.kron(np.eye(2, dtype=int), np.full((20, 40), 3))
    topics = [bt.LDA(4, max_iter=1, random_state=seed, **ONLINE).fit(corpus) for seed in (1, 2)]
    for name, first, other in (
        ("validation", csr_matrix(counts), csr_matrix(counts[::-1])),
        ("init", topics[0], topics[1]),
    ):
        for value in (first, first):
            path = tmp_path / name
            bt.LDA(4, max_iter=1, **{name: value}, **ONLINE).fit(corpus, checkpoint=path, resume=True)
        with pytest.raises(ModelError, match=rf"resumed: {name} "):
            bt.LDA(4, max_iter=1, **{name: other}, **ONLINE).fit(corpus, checkpoint=path, resume=True)


def test_a_method_is_the_same_by_default_by_name_and_as_an_object(corpus, tmp_path):
    path, own = tmp_path / "run.ckpt", bt.methods.get("auto")
    for method in (None, "auto", own, replace(own, summary="mine")):
        bt.LDA(4, method=method, max_iter=1, **HERE).fit(corpus, checkpoint=path, resume=True)
    schemes = {"topic_words": replace(own.schemes["topic_words"], learning_decay=0.6)}
    for method, what in (
        (replace(own, schemes=schemes), r"schemes\.topic_words\.learning_decay was 0\.5, is 0\.6"),
        (replace(own, kernel=own.load_kernel()), r"kernel is another one"),
        (replace(own, init={"topic_words": ("gamma", None)}), r"init\.topic_words is another one"),
        ("vb", r"name was 'auto', is 'vb'"),
    ):
        with pytest.raises(ModelError, match=rf"cannot be resumed: settings\.method\.{what}\. Give"):
            bt.LDA(4, method=method, max_iter=1, **HERE).fit(corpus, checkpoint=path, resume=True)


def test_a_run_of_a_version_whose_methods_had_other_settings(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    bt.LDA(4, max_iter=1, **ONLINE).fit(corpus, checkpoint=path)
    root = json.loads((path / "zarr.json").read_text())
    method = root["attributes"]["bigtopic-checkpoint"]["identity"]["settings"]["method"]
    method["former"] = method.pop("average")
    (path / "zarr.json").write_text(json.dumps(root))
    what = r"method\.average is new since the run began; settings\.method\.former is gone since the run began"
    with pytest.raises(ModelError, match=rf"settings\.{what}\. Give .*the version of bigtopic included"):
        bt.LDA(4, max_iter=1, **ONLINE).fit(corpus, checkpoint=path, resume=True)


@pytest.mark.parametrize("told", [True, False])
def test_a_checkpoint_of_an_earlier_version_opens_as_a_model_and_is_not_resumed(told, corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    settings = {"n_components": 3, "method": "cgs", "max_iter": 2, "random_state": 0, **HERE}
    expected = bt.LDA(**settings).fit(corpus, checkpoint=path)
    for place in (path, *path.glob("step-*"), path / "documents"):  # as it was then
        root = json.loads((place / "zarr.json").read_text())
        about = root["attributes"]
        if place == path:
            about["bigtopic-checkpoint"]["version"] = 1
        elif place.name == "documents":
            about["bigtopic-documents"]["plan"]["delay"] = 1
        else:
            about["bigtopic-model"]["documents"]["plan"]["delay"] = 1
            if not told:
                del about["bigtopic-model"]["extra"]["run"]["versions"]
        (place / "zarr.json").write_text(json.dumps(root))
    wrote = f"bigtopic {importlib.metadata.version('bigtopic')}" if told else "an earlier version of bigtopic"
    says = rf"run\.ckpt is a checkpoint of format version 1, which {re.escape(wrote)} wrote; .*another run with init="
    before = {file: file.read_bytes() for file in path.rglob("*") if file.is_file()}
    for resume in (True, False):
        with pytest.raises(ModelVersionError, match=says):
            bt.LDA(**settings).fit(corpus, checkpoint=path, resume=resume)
    assert {file: file.read_bytes() for file in path.rglob("*") if file.is_file()} == before
    model = bt.load_model(path).set_params(**HERE)
    np.testing.assert_array_equal(model.components_, expected.components_)
    assert model.partial_fit(csr_matrix(np.ones((5, corpus.n_words)))).n_docs_seen_ > expected.n_docs_seen_
    bt.LDA(**{**settings, "init": str(path)}).fit(corpus)


def test_an_earlier_checkpoint_of_a_method_that_remembers_nothing_learns_longer(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    settings = {"n_components": 3, "max_iter": 1, "random_state": 0, **ONLINE}
    bt.LDA(**settings).fit(corpus, checkpoint=path)
    root = json.loads((path / "zarr.json").read_text())
    root["attributes"]["bigtopic-checkpoint"]["version"] = 1
    (path / "zarr.json").write_text(json.dumps(root))
    with pytest.raises(
        ModelVersionError, match=r"load it with bigtopic\.load_model and call partial_fit to learn"
    ):
        bt.LDA(**settings).fit(corpus, checkpoint=path, resume=True)
    assert bt.load_model(path).set_params(**HERE).partial_fit(corpus).n_iter_ == 2


@pytest.mark.parametrize("wrong", [{"method": "none"}, {"doc_topic_prior": -1}, {"options": {"none": 1}}])
def test_a_run_that_cannot_begin_leaves_nothing(wrong, corpus, tmp_path):
    with pytest.raises(SettingError):
        bt.LDA(4, **{**ONLINE, **wrong}).fit(corpus, checkpoint=tmp_path / "folder" / "run.ckpt")
    assert not list(tmp_path.iterdir())


def test_a_run_that_fails_before_it_is_saved_leaves_nothing(corpus, tmp_path):
    def fail(event):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        estimator("stateful", callbacks=[fail]).fit(corpus, checkpoint=tmp_path / "run.ckpt")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def ended(corpus, tmp_path_factory):
    """By kind, the checkpoint of a run that has ended."""
    paths = {
        kind: tmp_path_factory.mktemp(kind) / "run.ckpt" for kind in ("interpolating", "adding", "stateful")
    }
    for kind, path in paths.items():
        estimator(kind).fit(corpus, checkpoint=bt.Checkpoint(path, rounds=10))
    return paths


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("interpolating", ""),
        ("interpolating", '{"attributes": {}}'),
        ("adding", "{"),
        ("stateful", '{"attributes": {"bigtopic-model": {}}}'),
    ],
)
def test_a_damaged_description_of_the_last_version(kind, text, corpus, ended, expected, tmp_path):
    """It is passed over, and neither in the way of the next one nor counted among those that are kept."""
    path = shutil.copytree(ended[kind], tmp_path / "run.ckpt")
    last = max(path.glob("step-*"))
    (last / "zarr.json").write_text(text)
    with pytest.warns(BigtopicWarning, match=rf"{last.name}.*going on from the version before it"):
        assert bits(estimator(kind).fit(corpus, checkpoint=path, resume=True)) == expected[kind]
    assert bits(bt.load_model(path, estimator(kind).method if kind == "stateful" else None)) == expected[kind]
    for version in path.glob("step-*"):
        (version / "zarr.json").write_text(text)
    with pytest.raises(ModelError, match=str(path)), warnings.catch_warnings(action="ignore"):
        estimator(kind).fit(corpus, checkpoint=path, resume=True)


def test_a_damaged_version_is_not_kept_in_place_of_a_good_one(corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    checkpoint = bt.Checkpoint(path, rounds=1, keep=2)
    estimator("interpolating", callbacks=[interrupt_at(20)]).fit(corpus, checkpoint=checkpoint)
    before, last = sorted(path.glob("step-*"))
    last.rename(path / "step-000000000099")  # as if of a later update
    with pytest.warns(BigtopicWarning, match="holds the model of step-.*; going on"):
        estimator("interpolating", callbacks=[interrupt_at(before_step(before) + 1)]).fit(
            corpus, checkpoint=replace(checkpoint, keep=1), resume=True
        )
    assert not (path / "step-000000000099").exists()
    resumed = estimator("interpolating").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["interpolating"]


@pytest.mark.parametrize(
    "cursor", [{"round": 12}, {"round": 4}, {"epoch": 1}, {"round": 3, "ahead": [14, 15]}]
)
def test_a_cursor_that_was_edited_is_not_believed(cursor, corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    estimator("interpolating", callbacks=[interrupt_at(5)]).fit(corpus, checkpoint=path)
    (last,) = path.glob("step-*/zarr.json")
    root = json.loads(last.read_text())
    about = root["attributes"]["bigtopic-model"]["cursor"]
    assert about["epoch"] == 0 and about["round"] == about["step"] == 5
    about.update(cursor)
    last.write_text(json.dumps(root))
    with pytest.raises(ModelError, match=r"cursor\.step is|passes over this corpus have 15 rounds"):
        estimator("interpolating").fit(corpus, checkpoint=path, resume=True)


def test_a_refused_run_leaves_the_state_of_documents_as_it_is(corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    estimator("stateful", callbacks=[interrupt_at(9)]).fit(corpus, checkpoint=path)
    (last,) = path.glob("step-*/zarr.json")
    good = last.read_text()
    root = json.loads(good)
    root["attributes"]["bigtopic-model"]["cursor"]["epoch"] = 0
    last.write_text(json.dumps(root))
    with pytest.raises(
        ModelError, match="says that it was saved in pass 0, round 1, but passes over this corpus"
    ):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    last.write_text(good)
    assert bits(estimator("stateful").fit(corpus, checkpoint=path, resume=True)) == expected["stateful"]


def before_step(version):
    return int(version.name.removeprefix("step-"))


def test_labels_that_are_lost_or_of_others_are_not_counted_again(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    estimator("stateful", callbacks=[interrupt_at(9)]).fit(corpus, checkpoint=path)
    documents = path / "documents"
    (offsets,) = documents.glob("parts/*/offsets/c.0")
    good = offsets.read_bytes()
    offsets.write_bytes(np.full(len(good) // 8, 10**15).tobytes())
    with pytest.raises(CorpusDamaged, match="does not say where entries begin"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    offsets.write_bytes(good)
    manifest = documents / "zarr.json"
    about = json.loads(manifest.read_text())
    about["attributes"]["bigtopic-documents"]["parts"][0]["n_entries"] = 5
    manifest.write_text(json.dumps(about))
    for _ in ("edited", "removed"):
        with pytest.raises(ModelError, match=f"{documents} does not hold what the model remembers"):
            estimator("stateful").fit(corpus, checkpoint=path, resume=True)
        shutil.rmtree(documents, ignore_errors=True)


def test_nothing_is_written_through_a_link_in_a_checkpoint(corpus, tmp_path):
    path, other = tmp_path / "run.ckpt", tmp_path / "other.zarr"
    estimator("stateful", callbacks=[interrupt_at(9)]).fit(corpus, checkpoint=path)
    bt.LDA(2, max_iter=1, **ONLINE).fit(corpus).save(other)
    (path / "step-000000000032").symlink_to(other)
    with pytest.raises(StoreError, match="symbolic link"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bt.load_model(other).n_components == 2
    (path / "step-000000000032").unlink()
    (path / "documents").rename(tmp_path / "documents")
    (path / "documents").symlink_to(tmp_path / "documents")
    with pytest.raises(StoreError, match="symbolic link"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)


def contents(path):
    return {str(file.relative_to(path)): file.read_bytes() for file in path.rglob("*") if file.is_file()}


@pytest.mark.costly
@pytest.mark.parametrize("step", [9, 1000], ids=["inside a pass", "at the end"])
def test_a_model_that_learns_on_leaves_its_checkpoint_as_it_is(step, corpus, expected, tmp_path):
    path, more = tmp_path / "run.ckpt", corpus[:100]
    model = estimator("stateful", callbacks=[interrupt_at(step)]).fit(corpus, checkpoint=path)
    twin = estimator("stateful", callbacks=[interrupt_at(step)]).fit(corpus)
    saved, before = contents(path), model._model.remembered(0, 0, 300)
    np.testing.assert_array_equal(before["labels"], twin._model.remembered(0, 0, 300)["labels"])
    copies = [copy.deepcopy(model), pickle.loads(pickle.dumps(model.set_params(callbacks=())))]
    model.save(tmp_path / "model.zarr")
    for documents in (corpus, more):
        model.partial_fit(documents)
        assert bits(model) == bits(twin.set_params(callbacks=()).partial_fit(documents))
    copies[0].partial_fit(corpus)
    copies[1].partial_fit(more)
    estimator("stateful", 1).fit(more, checkpoint=tmp_path / "other.ckpt")
    model.fit(more)
    assert contents(path) == saved
    resumed = estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["stateful"]


def test_labels_in_a_checkpoint_that_is_gone_or_of_another_run_are_lost(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    models = [estimator("stateful", 1).fit(corpus, checkpoint=path)]
    shutil.rmtree(path)
    models.append(estimator("stateful", 1, doc_topic_prior=7.0).fit(corpus, checkpoint=path))
    labels = models[1]._model.remembered(0, 0, 300)["labels"]
    with pytest.raises(ModelError, match="what it remembers of them"):
        models[0]._model.remembered(0, 0, 300)
    with pytest.raises(ModelError, match="what it remembers of them"):
        models[0].partial_fit(corpus)
    models[0].partial_fit(bt.from_matrix(np.eye(80, dtype=int), corpus.vocabulary.words))
    np.testing.assert_array_equal(models[1]._model.remembered(0, 0, 300)["labels"], labels)


def edited(version, change, key="bigtopic-model"):
    """Change the description of a version, or of another store."""
    root = json.loads((version / "zarr.json").read_text())
    change(root["attributes"][key])
    (version / "zarr.json").write_text(json.dumps(root))


EDITS = {
    "seed was 0, is 5": lambda about: about.update(seed=5),
    "n_components was 4, is 3": lambda about: (
        about["components"].update(topic=3),
        [array.update(n_components=3) for array in about["arrays"].values()],
    ),
    "method.name was 'online-cvb0', is 'online-ope'": lambda about: about.update(
        method="online-ope", options={}
    ),
    "method.schemes.topic_words.learning_decay was 0.7, is 0.9": lambda about: about["schemes"][
        "topic_words"
    ].update(learning_decay=0.9),
    "options.mean_change_tol was": lambda about: about["options"].update(mean_change_tol=0.5),
}


@pytest.fixture(scope="module")
def cut(corpus, tmp_path_factory):
    """The checkpoint of a run that was interrupted in its second pass, with two versions."""
    path = tmp_path_factory.mktemp("cut") / "run.ckpt"
    checkpoint = bt.Checkpoint(path, rounds=1, keep=2)
    estimator("interpolating", callbacks=[interrupt_at(20)]).fit(corpus, checkpoint=checkpoint)
    return path


@pytest.mark.parametrize("what", EDITS)
def test_a_version_that_contradicts_the_run_is_passed_over(what, cut, corpus, expected, tmp_path):
    path = shutil.copytree(cut, tmp_path / "run.ckpt")
    before, last = sorted(path.glob("step-*"))
    edited(last, EDITS[what])
    told = f"{last} contradicts what the run began with: {what}"
    with pytest.warns(BigtopicWarning, match=rf"{re.escape(told)}.*going on from .* {before.name}$"):
        resumed = estimator("interpolating").fit(corpus, checkpoint=path, resume=True)
    assert bits(resumed) == expected["interpolating"]


def test_an_edited_seed_does_not_cost_labels(corpus, expected, tmp_path):
    path = tmp_path / "run.ckpt"
    estimator("stateful", callbacks=[interrupt_at(9)]).fit(corpus, checkpoint=path)
    (only,) = path.glob("step-*")
    edited(only, lambda about: about.update(seed=5))
    with pytest.raises(ModelError, match=f"{only} contradicts .* seed was 0, is 5"):
        estimator("stateful").fit(corpus, checkpoint=path, resume=True)
    edited(only, lambda about: about.update(seed=0))
    assert bits(estimator("stateful").fit(corpus, checkpoint=path, resume=True)) == expected["stateful"]


@pytest.mark.slow
def test_a_checkpoint_whose_newest_version_is_damaged_loads_the_one_before(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    estimator("interpolating").fit(corpus, checkpoint=bt.Checkpoint(path, rounds=1, keep=3))
    versions = sorted(path.glob("step-*"))
    good = bt.load_model(versions[0]).components_
    for version in versions[1:]:
        (chunk,) = version.rglob("topic_words/raw/c/0/0")
        chunk.unlink()
    with pytest.warns(BigtopicWarning) as told:
        np.testing.assert_array_equal(bt.load_model(path).components_, good)
    assert len(told) == 2 and told[0].filename == __file__
    assert str(told[0].message).startswith(f"the model at {versions[2]} is damaged: ")
    assert str(told[0].message).endswith(
        f"chunk 0 is missing; going on from the version before it, {versions[0].name}"
    )
    (chunk,) = versions[0].rglob("topic_words/raw/c/0/0")
    chunk.unlink()
    with pytest.raises(ModelError, match=f"{versions[2]}"):
        bt.load_model(path)


def test_a_run_can_begin_with_the_topics_of_a_checkpoint(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    model = estimator("interpolating").fit(corpus, checkpoint=path)
    further = [estimator("interpolating", init=init).fit(corpus) for init in (model, path)]
    assert bits(further[0]) == bits(further[1])


def test_settings_that_are_equal_are_the_same(corpus, tmp_path):
    for number, prior in enumerate(
        [[1, 1, 1, 1], np.ones(4, np.int32), np.ones(4, np.uint8), np.ones(4), np.ones(4, np.float32)]
    ):
        options = {"mean_change_tol": np.float64(0.5) if number % 2 else 0.5}
        bt.LDA(4, doc_topic_prior=prior, options=options, max_iter=1, **ONLINE).fit(
            corpus, checkpoint=tmp_path / "run.ckpt", resume=True
        )


def test_a_version_that_a_run_replaces_while_it_is_read_is_not_damaged(tmp_path):
    for number in (1, 2):
        (tmp_path / f"step-{number:012d}").mkdir()
        (tmp_path / f"step-{number:012d}" / "zarr.json").touch()
    seen = []

    def load(version):
        seen.append(int(version.url[-12:]))
        if seen[-1] == 2:
            (tmp_path / "step-000000000002").rename(tmp_path / "step-000000000003")
            raise ModelError("a chunk is missing")
        return version.url

    assert newest_intact(Place.of(tmp_path), load).endswith("step-000000000003") and seen == [2, 3]


def test_more_passes_are_made_by_the_run_as_it_began(corpus, tmp_path):
    path = tmp_path / "run.ckpt"
    for kind in KINDS:
        estimator(kind).fit(corpus, checkpoint=path / kind)
        with pytest.raises(ModelError, match=r"max_iter was 4, is 5.*resume it as it began, .*partial_fit"):
            estimator(kind, 5).fit(corpus, checkpoint=path / kind, resume=True)
        further = estimator(kind).fit(corpus, checkpoint=path / kind, resume=True).partial_fit(corpus)
        assert further.n_iter_ == 5


def test_a_corpus_that_has_grown_is_another_one_but_its_first_documents_are_the_same(
    corpus, expected, tmp_path
):
    path, stored = tmp_path / "run.ckpt", tmp_path / "corpus.zarr"
    bt.ingest(corpus, stored, shuffle=False, **HERE)
    first = bt.open_corpus(stored)
    undisturbed = bits(estimator("stateful").fit(first))
    estimator("stateful", callbacks=[interrupt_at(9)]).fit(first, checkpoint=path)
    bt.append(stored, corpus[:50], **HERE)
    with pytest.raises(ModelError, match=r"corpus\.documents was 300, is 350; corpus\.content is another"):
        estimator("stateful").fit(stored, checkpoint=path, resume=True)
    resumed = estimator("stateful").fit(bt.open_corpus(stored)[:300], checkpoint=path, resume=True)
    assert bits(resumed) == undisturbed
