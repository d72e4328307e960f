"""Methods of several phases: cut anywhere, killed, or on a cluster, a run has the bits of one that nobody disturbed."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import signal
import sys
import time
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicWarning, ModelError
from bigtopic.learning.executors import choice
from bigtopic.methods import get

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import hosts
from interrupted import HERE, fit_saving_often
from phased import PASSES, PHASED, ROUNDS, phased

EVERY_ROUND = [(0, step) for step in range(1, PASSES[0] * ROUNDS[0] + 1)]
EVERY_ROUND += [(1, step) for step in range(1, PASSES[1] * ROUNDS[1] + 1)]
BEGINS = PASSES[1] * ROUNDS[1] // 2 + 1  # the first update that the mean of the second phase counts


def bits(model):
    arrays = model._model.params.arrays
    return {f"{n}.{p}": getattr(a, p).tobytes() for n, a in arrays.items() for p in ("raw", "scale", "prior")}


def told(model):
    """The history without times."""
    return [
        {name: value for name, value in row.items() if name not in ("seconds", "tokens_per_second")}
        for row in model.history_
    ]


def at(phase, step, act, kind="round"):
    """A callback that acts once, when a phase has had so many updates."""
    name, done = PHASED.phases[phase].phase, []

    def callback(event):
        if not done and (event.kind, event.phase, event.step) == (kind, name, step):
            done.append(event)
            act()

    return callback


def ctrl_c():
    os.kill(os.getpid(), signal.SIGINT)


def die():
    raise MemoryError("killed")


@pytest.fixture(scope="module")
def documents(corpus):
    return corpus[:120]


@pytest.fixture(scope="module")
def undisturbed(documents):
    return phased().fit(documents)


def agree(model, other):
    """The same topics, params, history and counts of two runs."""
    assert bits(model) == bits(other)
    np.testing.assert_array_equal(model.components_, other.components_)
    assert told(model) == told(other)
    assert model.n_iter_ == other.n_iter_ == sum(PASSES) and model._model.cursor == other._model.cursor
    for name in ("passes", "updates"):
        assert [phase[name] for phase in model.run_["phases"]] == [
            phase[name] for phase in other.run_["phases"]
        ]
    for name in ("n_docs", "n_tokens"):
        assert model.run_["counts"][name] == other.run_["counts"][name]
    assert model.run_["ended"] == other.run_["ended"] == "max_iter"


def test_a_run_has_its_phases(undisturbed, documents):
    rows = undisturbed.history_
    assert [row["phase"] for row in rows] == ["online"] * PASSES[0] + ["sampling"] * PASSES[1]
    assert [row["n_docs"] for row in rows] == [120 * (n + 1) for n in range(sum(PASSES))]
    assert all(a["seconds"] <= b["seconds"] for a, b in pairwise(rows))
    (online,) = undisturbed.run_["phases"]
    assert online["passes"] == PASSES[0] and online["updates"] == PASSES[0] * ROUNDS[0]
    assert 0 < online["seconds"] <= rows[PASSES[0]]["seconds"]
    assert undisturbed.run_["counts"]["n_tokens"] == sum(PASSES) * documents.n_tokens


@pytest.mark.parametrize(("phase", "step"), EVERY_ROUND)
def test_ctrl_c_at_any_round(phase, step, documents, undisturbed, tmp_path):
    cut = phased(callbacks=[at(phase, step, ctrl_c)]).fit(documents, checkpoint=tmp_path / "r")
    assert (cut._model.cursor.phase, cut._model.cursor.step) == (phase, step)
    assert cut.run_["ended"] == "interrupt"
    agree(phased().fit(documents, checkpoint=tmp_path / "r", resume=True), undisturbed)
    agree(phased().fit(documents, checkpoint=tmp_path / "r", resume=True), undisturbed)  # which is done


@pytest.mark.costly(5)
@pytest.mark.parametrize(("phase", "step"), EVERY_ROUND)
def test_a_failure_at_any_round(phase, step, documents, undisturbed, tmp_path):
    """What was saved before it is gone on from, in the phase before if this one has no version yet."""
    often = bt.Checkpoint(tmp_path / "r", rounds=1 + step % 3, seconds=1e9)
    with pytest.raises(MemoryError):
        phased(callbacks=[at(phase, step, die)]).fit(documents, checkpoint=often)
    agree(phased().fit(documents, checkpoint=often, resume=True), undisturbed)


@pytest.mark.parametrize("kind", ["start", "end"])
def test_a_failure_between_phases(kind, documents, undisturbed, tmp_path):
    where = (1, 0) if kind == "start" else (0, PASSES[0] * ROUNDS[0])
    failing = phased(callbacks=[at(*where, die, kind)])
    with pytest.raises(MemoryError):
        failing.fit(documents, checkpoint=tmp_path / "r")
    assert failing.n_iter_ == PASSES[0]
    agree(phased().fit(documents, checkpoint=tmp_path / "r", resume=True), undisturbed)


@pytest.mark.parametrize("kind", ["pass", "end"])
def test_ctrl_c_after_the_last_round_of_a_phase_ends_the_fit(kind, documents, undisturbed, tmp_path):
    last = PASSES[0] * ROUNDS[0]
    cut = phased(callbacks=[at(0, last, ctrl_c, kind)]).fit(documents, checkpoint=tmp_path / "r")
    assert cut.run_["ended"] == "interrupt" and cut.n_iter_ == PASSES[0]
    agree(phased().fit(documents, checkpoint=tmp_path / "r", resume=True), undisturbed)


def folders(path):
    return sorted(entry.name for entry in path.iterdir() if entry.is_dir())


def test_versions_and_labels_of_each_phase(documents, undisturbed, tmp_path):
    """Of the first phase, nothing is left once the second one has as many versions as are kept."""
    path, seen = tmp_path / "r", []
    often = bt.Checkpoint(path, rounds=1, seconds=1e9, keep=3)
    look = lambda event: event.kind == "round" and seen.append((event.phase, event.step, folders(path)))  # noqa: E731
    (tmp_path / "beside").mkdir()
    agree(phased(callbacks=[look]).fit(documents, checkpoint=often), undisturbed)
    for phase, step, found in seen:
        versions = [name for name in found if "step-" in name]
        assert len(versions) <= 3
        assert ("documents-01" in found) == (phase == "sampling") and "documents" not in found
        assert any(name.startswith("step-") for name in versions) == (
            (phase == "online" and step > 1) or (phase == "sampling" and step <= 3)
        )
    last = PASSES[1] * ROUNDS[1]
    assert folders(path) == ["documents-01", *(f"phase-01-step-{last - n:012d}" for n in (2, 1, 0))]
    assert folders(tmp_path) == ["beside", "r"]


def test_state_of_documents_of_a_phase_without_versions_is_removed(documents, tmp_path):
    """When an earlier phase is gone on from, and nothing else is."""
    path = tmp_path / "r"
    first = phased(callbacks=[at(0, 2, ctrl_c)])
    first.fit(documents, checkpoint=path)
    for name in ("documents-01", "documents-02", "documents-1", "documents-001", "mine"):
        (path / name).mkdir()
        (path / name / "file").write_text("x")
    cut = phased(callbacks=[at(0, 5, ctrl_c)]).fit(documents, checkpoint=path, resume=True)
    assert cut._model.cursor.step == 5
    found = folders(path)
    assert {"documents-1", "documents-001", "mine"} <= {*found}
    assert not {"documents-01", "documents-02"} & {*found}


def damage(version):
    (chunk,) = version.rglob("topic_words/raw/c/0/0")
    chunk.unlink()


@pytest.mark.parametrize("step", [1, 2, 5])
def test_a_damaged_version_falls_back_to_the_one_before(step, documents, undisturbed, tmp_path):
    """Also where that is of the phase before."""
    path = tmp_path / "r"
    often = bt.Checkpoint(path, rounds=1, seconds=1e9)
    phased(callbacks=[at(1, step, ctrl_c)]).fit(documents, checkpoint=often)
    newest = path / f"phase-01-step-{step:012d}"
    before = f"phase-01-step-{step - 1:012d}" if step > 1 else f"step-{PASSES[0] * ROUNDS[0]:012d}"
    damage(newest)
    with pytest.warns(BigtopicWarning, match=rf"going on from the version before it, {before}$"):
        loaded = bt.load_model(path, method=PHASED)
    assert loaded._model.cursor.phase == (step > 1)
    with pytest.warns(BigtopicWarning, match=rf"going on from the version before it, {before}$"):
        resumed = phased().fit(documents, checkpoint=path, resume=True)
    agree(resumed, undisturbed)


def test_a_version_of_one_phase_is_not_taken_for_that_of_another(documents, tmp_path):
    path = tmp_path / "r"
    phased(callbacks=[at(0, 4, ctrl_c)]).fit(documents, checkpoint=path)
    shutil.move(path / "step-000000000004", path / "phase-01-step-000000000004")
    with pytest.raises(ModelError, match=r"phase-01-step-0*4 holds the model of step-0*4"):
        phased().fit(documents, checkpoint=path, resume=True)


def test_labels_after_a_resumed_run_are_those_of_an_undisturbed_one(documents, undisturbed, tmp_path):
    for step in (2, 5):
        phased(callbacks=[at(1, step, ctrl_c)]).fit(documents, checkpoint=tmp_path / "r", resume=True)
    resumed = phased().fit(documents, checkpoint=tmp_path / "r", resume=True)
    labels = [model._model.remembered(0, 0, 120)["labels"] for model in (resumed, undisturbed)]
    np.testing.assert_array_equal(*labels)
    counts = np.bincount(labels[0].ravel(), minlength=4)
    np.testing.assert_array_equal(counts, resumed._model.topic_words.totals()[:4])


@pytest.mark.parametrize(
    ("phase", "begins"),
    [(0, 0.0), (1, 0.3), *(pytest.param(1, n / 10, marks=pytest.mark.slow) for n in (0, 1, 2, 5))],
)
def test_a_killed_process_is_resumed_to_the_same_bits(phase, begins, documents, tmp_path):
    stored = bt.ingest(documents, tmp_path / "corpus.zarr", shuffle=False, **HERE)
    expected = bits(phased(4).fit(stored))
    path, name = tmp_path / "run.ckpt", "phase-01-step-*" if phase else "step-*"
    begun = hosts.forks().Event()
    victim = hosts.forks().Process(
        target=fit_saving_often, args=("phased", 4, str(stored.url), str(path), begun), daemon=True
    )
    victim.start()
    assert begun.wait(hosts.SECONDS)
    late = time.monotonic() + hosts.SECONDS
    while victim.is_alive() and not list(path.glob(f"{name}/zarr.json")) and time.monotonic() < late:
        time.sleep(0.002)
    time.sleep(begins)
    victim.kill()
    victim.join()
    loaded = bt.load_model(path, method=PHASED)
    assert np.isfinite(loaded.components_).all()
    assert bits(phased(4).fit(stored, checkpoint=path, resume=True)) == expected


def test_threads_do_not_change_the_bits(documents, undisturbed):
    agree(phased(n_threads=2).fit(documents), undisturbed)


FEWER = {"sampling.max_iter": 12}


@pytest.fixture(scope="module")
def auto(corpus):
    return bt.LDA(5, method="auto", random_state=3, options=FEWER, **HERE).fit(corpus)


@pytest.mark.parametrize(("phase", "step"), [(0, 13), (1, 2), (1, 9)])
def test_auto_is_resumed_to_the_same_bits(phase, step, corpus, auto, tmp_path):
    name = get("auto").phases[phase].phase

    def cut(event):
        if (event.kind, event.phase, event.step) == ("round", name, step):
            ctrl_c()

    settings = {"method": "auto", "options": FEWER, "random_state": 3}
    bt.LDA(5, callbacks=[cut], **settings, **HERE).fit(corpus, checkpoint=tmp_path / "r")
    resumed = bt.LDA(5, **settings, **HERE).fit(corpus, checkpoint=tmp_path / "r", resume=True)
    assert bits(resumed) == bits(auto) and told(resumed) == told(auto)
    np.testing.assert_array_equal(resumed.components_, auto.components_)


def test_auto_has_the_same_bits_on_two_threads(corpus, auto):
    other = bt.LDA(5, method="auto", random_state=3, options=FEWER, **{**HERE, "n_threads": 2}).fit(corpus)
    assert bits(other) == bits(auto)


@pytest.fixture(scope="module", params=[1, 2])
def workers(request):
    """Client of so many workers in this process."""
    from dask.distributed import Client, LocalCluster

    settings = {"threads_per_worker": 1, "processes": False, "dashboard_address": ":0", "memory_limit": 0}
    with (
        LocalCluster(n_workers=request.param, **settings) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.distributed
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_workers_do_not_change_the_bits(seconds, workers, documents, undisturbed, monkeypatch):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    agree(phased(client=workers, n_threads=None).fit(documents), undisturbed)


@pytest.mark.distributed
def test_a_run_is_resumed_on_workers(one_worker, documents, undisturbed, tmp_path):
    """And on threads, what they began."""
    for step, where in ((1, {"client": one_worker}), (4, {}), (99, {"client": one_worker})):
        model = phased(callbacks=[at(1, step, ctrl_c)], **where)
        model.fit(documents, checkpoint=tmp_path / "r", resume=True)
    agree(model, undisturbed)


@pytest.mark.distributed
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_auto_sweeps_on_the_workers(seconds, one_worker, corpus, auto, monkeypatch):
    from bigtopic.kernels.sampling import _few_topics

    def here(self, seed):
        raise AssertionError("a sweep of the driver")

    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    monkeypatch.setattr(_few_topics.FewTopics, "sweep", here)
    found = bt.LDA(5, method="auto", random_state=3, options=FEWER, client=one_worker, progress=False).fit(
        corpus
    )
    assert bits(found) == bits(auto)


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.parametrize("seconds", [0.0, 1e9], ids=["graphs", "whole"])
def test_a_worker_that_is_killed_while_it_sweeps(
    seconds, mortal_workers, documents, undisturbed, monkeypatch
):
    monkeypatch.setattr(choice, "LONG_ROUND_SECONDS", seconds)
    pids = [*mortal_workers.run(os.getpid).values()]
    kill = [at(1, step, lambda n=n: os.kill(pids[n], signal.SIGKILL)) for n, step in enumerate((1, 5))]
    agree(phased(client=mortal_workers, n_threads=None, callbacks=kill).fit(documents), undisturbed)


def test_topics_of_the_phase_before_stay_until_the_mean_counts_an_update(documents, tmp_path):
    """For Ctrl-C, checkpoints, and whoever reads the model; from then on, the mean so far."""
    online = phased(options={"sampling.max_iter": 0}).fit(documents)
    assert online._model.cursor.phase == 0
    for step in (1, BEGINS - 1, BEGINS, BEGINS + 2):
        path = tmp_path / f"{step}"
        cut = phased(callbacks=[at(1, step, ctrl_c)]).fit(documents, checkpoint=path)
        assert cut._model.cursor.step == step
        if step < BEGINS:
            np.testing.assert_allclose(cut.components_, online.components_, rtol=2**-22)
            np.testing.assert_allclose(cut.get_topics(), online.get_topics(), rtol=2**-21)
            np.testing.assert_allclose(cut.transform(documents), online.transform(documents), atol=1e-5)
        else:
            assert np.abs(cut.components_ - online.components_).max() > 1
        loaded = bt.load_model(path, method=PHASED)
        np.testing.assert_array_equal(loaded.components_, cut.components_)
        np.testing.assert_array_equal(loaded.transform(documents), cut.transform(documents))


def test_the_mean_rises_from_the_topics_of_the_phase_before(documents):
    """Of whole counts, so that nothing but rounding is lost. What it begins with counts as the first three samples, and
    each sample in proportion to its number."""
    prior = get("online-cvb0").prior("topic_word_prior", 4)
    online = phased(options={"sampling.max_iter": 0}).fit(documents).components_ - prior
    samples = []

    def look(event):
        if event.kind == "pass" and event.phase == "sampling":
            words = model._model.topic_words
            samples.append((words.raw * words.scale)[:, :4])

    model = phased(callbacks=[look], options={"sampling.average": 0.75, "sampling.batch_size": 120})
    model.fit(documents)
    mean = (1 + 2 + 3) * online + sum(i * sample.T for i, sample in zip((4, 5, 6), samples[1:], strict=True))
    np.testing.assert_allclose(model.components_ - prior, mean / 21, rtol=1e-5, atol=1e-5)


class Look:
    """After each update of the sampling phase: the latest counts, and what people read, both without the prior."""

    names, every = ("looked",), 1

    def __init__(self):
        self.samples, self.read = [], []

    def measure(self, model):
        if model.cursor.phase:
            for array, seen in (
                (model.topic_words, self.samples),
                (model.estimate("topic_words"), self.read),
            ):
                seen.append((array.raw.astype(float) * array.scale)[:, :4].T)
        return {"looked": 0.0}

    def __call__(self, event):
        """Measures alone."""


@pytest.mark.parametrize("more", [{}, {"learn_doc_topic_prior": "asymmetric"}])
def test_every_update_reads_the_mean_so_far(more, documents):
    """Also in the first pass, where a sample has no more than the documents that were labelled so far."""
    look, options = Look(), {"sampling.average": 1.0}
    model = phased(times=4, callbacks=[look], options=options, **more).fit(documents)
    online = phased(times=4, options={"sampling.max_iter": 0}, **more).fit(documents).components_
    prior, tokens = model.topic_word_prior_, documents.n_tokens
    whole, weight = (1 + 2 + 3) * (online - prior), 1 + 2 + 3
    for i, (sample, read) in enumerate(zip(look.samples, look.read, strict=True), start=4):
        whole, weight = whole + i * sample, weight + i
        np.testing.assert_allclose(read, whole / weight, rtol=1e-5, atol=1e-4)
        assert read.min() >= 0 and (np.rint(sample) == sample).all()
    assert len(look.read) == 4 * PASSES[1] * ROUNDS[1]
    totals = [sample.sum() for sample in look.samples]
    assert 0 < totals[0] < tokens and totals[1:] == [tokens] * (len(totals) - 1)
    np.testing.assert_allclose(model.components_ - prior, look.read[-1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("average", [1e-9, 0.05])
def test_a_share_of_less_than_one_update_is_the_last_update(average, documents):
    """Sampling that its mean leaves out would be for nothing."""
    online = phased(options={"sampling.max_iter": 0}).fit(documents).components_
    latest = phased(options={"sampling.average": 0}).fit(documents).components_
    model = phased(options={"sampling.average": average}).fit(documents)
    np.testing.assert_allclose(model.components_, 0.6 * online + 0.4 * latest, rtol=1e-5, atol=1e-5)


def test_time_that_is_up_in_the_second_phase_leaves_valid_topics(documents):
    online = phased(options={"sampling.max_iter": 0}).fit(documents)
    wait = at(1, 2, lambda: time.sleep(1.0))
    model = phased(callbacks=[wait], max_time=1.0).fit(documents)
    assert model.run_["ended"] == "max_time" and model._model.cursor.phase == 1
    np.testing.assert_allclose(model.components_, online.components_, rtol=2**-22)


@pytest.mark.parametrize("step", [2, BEGINS + 1])
def test_copies_of_a_model_in_its_second_phase(step, documents, tmp_path):
    model = phased(callbacks=[at(1, step, ctrl_c)]).fit(documents)
    model.save(tmp_path / "model.zarr")
    model.callbacks = ()
    copies = [
        bt.load_model(tmp_path / "model.zarr", method=PHASED),
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
    ]
    for other in copies:
        np.testing.assert_array_equal(other.components_, model.components_)
        np.testing.assert_array_equal(other.transform(documents), model.transform(documents))
        assert other._model.cursor == model._model.cursor and other.history_ == model.history_
        assert other.n_iter_ == model.n_iter_
    labels = copies[2]._model.remembered(0, 0, 120)["labels"]
    np.testing.assert_array_equal(labels, model._model.remembered(0, 0, 120)["labels"])
    with pytest.raises(ModelError, match="pass it: load_model"):
        bt.load_model(tmp_path / "model.zarr")


# ---------------------------------------------------------------------- scores, limits and events


@pytest.fixture(scope="module")
def held_out(corpus):
    return corpus[120:180]


@pytest.mark.parametrize("every", [None, 3])
def test_scores_are_those_of_an_undisturbed_run(every, documents, held_out, tmp_path):
    """Wherever it is cut, also between a score that was left out and the first update of the mean."""
    settings = {"validation": held_out, "evaluate_every": every}
    whole = phased(**settings).fit(documents)
    for phase, step in EVERY_ROUND[2:]:
        path = tmp_path / f"{phase}-{step}"
        phased(callbacks=[at(phase, step, ctrl_c)], **settings).fit(documents, checkpoint=path)
        resumed = phased(**settings).fit(documents, checkpoint=path, resume=True)
        assert told(resumed) == told(whole), (phase, step)
        assert bits(resumed) == bits(whole)


@pytest.mark.parametrize("every", [None, 2])
def test_what_has_no_topics_of_its_own_yet_is_not_scored(every, documents, held_out):
    model = phased(validation=held_out, evaluate_every=every).fit(documents)
    rows = [row for row in model.history_ if "score" in row]
    steps = [row["step"] for row in rows if row["phase"] == "sampling"]
    due = range(2, 8, 2) if every else range(ROUNDS[1], PASSES[1] * ROUNDS[1] + 1, ROUNDS[1])
    last = {PASSES[1] * ROUNDS[1]}  # the end of a pass has a score, too
    assert {*steps} == {step for step in {*due} | last if step >= BEGINS}
    assert any(row["phase"] == "online" for row in rows)
    assert model.run_["score"] == rows[-1]["score"]


def test_patience_counts_within_a_phase(documents, held_out, tmp_path):
    """A phase that is over for it lets the next one begin, whose scores are counted anew."""
    falling = iter(range(100, 0, -1))
    settings = {"validation": held_out, "evaluate_every": 1, "patience": 2}
    with pytest.MonkeyPatch.context() as patch:
        from bigtopic.estimators import learning

        found = type("Score", (), {"value": property(lambda self: float(next(falling)))})
        patch.setattr(learning, "log_predictive", lambda *a, **k: found())
        model = phased(**settings).fit(documents, checkpoint=tmp_path / "r")
        scored = [(row["phase"], row["step"]) for row in model.history_ if "score" in row]
        first = [("online", step) for step in (1, 2, 3)]
        assert scored == [*first, *(("sampling", BEGINS + n) for n in (0, 1, 2))]
        assert model.run_["ended"] == "score" and model.run_["phases"][0]["updates"] == 3
        again = phased(**settings).fit(documents, checkpoint=tmp_path / "r", resume=True)  # which is done
        assert again.history_ == model.history_ and again.run_["ended"] == "score"


def test_a_tolerance_of_each_phase(documents):
    model = phased(tol=0.9).fit(documents)
    assert model.run_["phases"][0]["passes"] == 1 and model._model.cursor.pass_number == PASSES[1]
    model = phased(options={"sampling.tol": 0.9}).fit(documents)
    assert model.run_["phases"][0]["passes"] == PASSES[0] and model._model.cursor.pass_number == 1
    assert model.run_["ended"] == "tol" and model.n_iter_ == PASSES[0] + 1


@pytest.mark.parametrize("every", [None, 2])
def test_a_watch_measures_what_people_read(every, documents, held_out, tmp_path):
    def watch():
        return bt.evaluate.Watch(held_out, "log-predictive", every=every)

    model = phased(callbacks=[watch()]).fit(documents)
    values = {
        (row["phase"], row["step"]): next(iter(row["measures"].values()))
        for row in model.history_
        if "measures" in row
    }
    last, first = values["online", PASSES[0] * ROUNDS[0]], values["sampling", ROUNDS[1]]
    assert first == pytest.approx(last, rel=1e-5)
    end = bt.evaluate.log_predictive(model, held_out, client=False, n_threads=1).value
    found = values["sampling", PASSES[1] * ROUNDS[1]]
    assert found == pytest.approx(end, rel=1e-6) and found != pytest.approx(last, rel=1e-4)
    for step in (1, 2, BEGINS):
        path = tmp_path / f"{step}"
        phased(callbacks=[watch(), at(1, step, ctrl_c)]).fit(documents, checkpoint=path)
        resumed = phased(callbacks=[watch()]).fit(documents, checkpoint=path, resume=True)
        assert told(resumed) == told(model)


def test_each_phase_starts_and_ends(documents):
    events = []
    phased(callbacks=[events.append]).fit(documents)
    marks = [(e.kind, e.phase, e.reason) for e in events if e.kind in ("start", "end")]
    reasons = [("start", None), ("end", "max_iter")]
    assert marks == [(kind, phase, why) for phase in ("online", "sampling") for kind, why in reasons]
    n_docs = [event.n_docs for event in events]
    assert n_docs == sorted(n_docs) and n_docs[-1] == 120 * sum(PASSES)
    assert {e.phase for e in events} == {"online", "sampling"}
    (start,) = [e for e in events if e.kind == "start" and e.phase == "sampling"]
    assert (start.step, start.pass_number) == (0, 0) and start.disk_bytes > 0
    assert all(e.pass_number <= PASSES[e.phase == "sampling"] for e in events)
