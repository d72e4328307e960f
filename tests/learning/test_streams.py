"""Streams that live: words that are forgotten, documents that fade by number or by time, scores before learning."""

from __future__ import annotations

from copy import deepcopy
from datetime import datetime, timedelta, timezone
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import InputError, SettingError
from bigtopic.state.lazy_array import LazyArray

HERE = {"client": False, "n_threads": 1, "progress": False, "random_state": 1}
BENCHMARKS = str(Path(__file__).parents[1] / "benchmarks")
WORDS = [f"w{i:02}" for i in range(40)]


def batch(number, n_docs=70):
    """Documents of words that come and go with the batches, as a matrix with its words."""
    draw = np.random.default_rng(number)
    counts = draw.poisson(0.3, (n_docs, 25)) * draw.integers(0, 2, (n_docs, 1)) + draw.poisson(
        0.3, (n_docs, 25)
    )
    return bt.from_matrix(counts, [f"w{(i + 3 * number) % 60:02}" for i in range(25)], shuffle=False)


def by_hand(model, kept):
    """The model with the rows of these words alone, each array built anew from its rows."""
    other = deepcopy(model)
    inner = other._model
    inner.axes["word"] = Vocabulary(
        inner.vocabulary[kept], None, *(counts[kept] for counts in inner.vocabulary.counted)
    )
    for name, array in inner.params.arrays.items():
        if array.axis == "word":
            rows = array.raw[kept].astype(np.float64) * array.scale
            prior = array.prior if len(array.prior) == 1 else array.prior[kept]
            new = LazyArray(
                rows.astype(array.dtype), np.ones(array.n_columns), prior, array.n_components, "word",
                array.normalised_over,
            )  # fmt: skip
            inner.params.arrays[name] = new
    return other


CASES = {
    "online-cvb0": {},
    "online-vb, a prior that is learned per word": {"learn_topic_word_prior": "asymmetric"},
    "sgs": {"half_life": 50},
    "streaming-vb": {"half_life": 50},
    "online-vb": {"average": 1.0},
    "svb": {"topic_word_prior": np.linspace(0.05, 0.2, 25)},
    "v-oem": {"half_life": 50},
}
FAST = ("online-cvb0", "svb")


def slow(name):
    return pytest.param(name, marks=pytest.mark.slow)


@pytest.mark.filterwarnings("ignore:.*unknown to the model")
@pytest.mark.parametrize("case", [name if name in FAST else slow(name) for name in CASES])
def test_forgotten_words_are_rows_that_were_dropped_by_hand(case):
    settings = {"method": case.partition(",")[0], "batch_size": 10, **CASES[case], **HERE}
    bounded, free = bt.LDA(3, max_words=20, **settings), bt.LDA(3, **settings)
    for number in range(4):
        bounded.partial_fit(batch(number))
        free.partial_fit(batch(number))
        weights = free._model.topic_words
        weights = (weights.raw * weights.scale).sum(axis=1)
        kept = np.sort(np.argsort(-weights, kind="stable")[:20])
        free = by_hand(free, kept)
        assert bounded.vocabulary_[:] == free.vocabulary_[:]
        for name, array in bounded._model.params.arrays.items():
            own = free._model.params[name]
            np.testing.assert_allclose(array.gather(None), own.gather(None), rtol=2e-5, atol=1e-7)
            np.testing.assert_allclose(array.totals(), (array.raw * array.scale).sum(axis=0), rtol=1e-5)
            np.testing.assert_allclose(array.prior_totals, own.prior_totals)
        np.testing.assert_allclose(bounded.get_topics().sum(axis=1), 1.0, rtol=1e-5)
        np.testing.assert_allclose(bounded.transform(batch(number)), free.transform(batch(number)), atol=1e-4)
        row = bounded.history_[-1]["forgotten"]
        assert row["n_words"] >= 5 and 0 < len(row["most_frequent"]) <= 10
        assert not {*row["most_frequent"]} & {*bounded.vocabulary_}
        known = bounded._model.vocabulary
        assert (known.frequency >= known.document_frequency).all()


def test_a_saved_stream_goes_on_as_if_nothing_happened(tmp_path):
    model = bt.LDA(3, max_words=20, half_life="2d", **HERE)
    start = datetime(2026, 3, 1)
    for day in range(3):
        model.partial_fit(batch(day), time=start + timedelta(days=day))
    model.save(tmp_path / "m.zarr")
    again = bt.load_model(tmp_path / "m.zarr").set_params(**HERE)
    assert again.history_ == model.history_ and again.vocabulary_ == model.vocabulary_
    for one in (model, again):
        one.partial_fit(batch(3), time="2026-03-05")
    np.testing.assert_array_equal(again.components_, model.components_)
    with pytest.raises(InputError, match="2026-03-04 is before 2026-03-05, the time of the documents"):
        again.partial_fit(batch(4), time="2026-03-04")


def weights_of_days(method, half_life, times=None, n_docs=80, n_days=28, **settings):
    """The weights of eight words, each of them in the documents of its own day alone, of a single topic."""
    model = bt.LDA(1, method=method, half_life=half_life, topic_word_prior=1e-3, **settings, **HERE)
    for day in range(n_days):
        counts = np.zeros((n_docs, n_days), int)
        counts[:, day] = 2
        time = None if times is None else times[day]
        model.partial_fit(bt.from_matrix(counts, WORDS[:n_days]), time=time)
    return model.components_[0] - 1e-3


@pytest.mark.parametrize("method", ["svb", "online-cvb0", slow("sgs"), slow("v-oem")])
def test_documents_weigh_half_after_the_half_life(method):
    weights = weights_of_days(method, 160)
    np.testing.assert_allclose(weights[23:27] / weights[24:28], 0.5**0.5, rtol=1e-3)
    if method == "svb":  # its equation: statistics <- 0.5^(n / H) statistics + S
        np.testing.assert_allclose(weights, 160 * 0.5 ** (np.arange(27, -1, -1) / 2), rtol=1e-5)


def test_a_long_call_has_no_replicas_if_it_forgets(monkeypatch):
    """Although a call as long would have some: they would keep less than the share that the half-life leaves."""
    monkeypatch.setattr("bigtopic.learning.new_run.replicas_of_corpus", lambda *size: (4, 3))
    weights = weights_of_days("online-cvb0", 160, batch_size=2)
    np.testing.assert_allclose(weights[23:27] / weights[24:28], 0.5**0.5, rtol=1e-3)


def test_a_duration_forgets_by_the_time_that_passed():
    days = [datetime(2026, 3, day) for day in (1, 1, 3, 4, 4, 8, 9, 10)]
    weights = weights_of_days("svb", "2d", days, n_days=8)
    ages = np.array([(days[-1] - day).days for day in days])
    np.testing.assert_allclose(weights, 160 * 0.5 ** (ages / 2), rtol=1e-5)


@pytest.mark.slow
def test_an_adding_and_an_interpolating_method_forget_alike():
    settings = {"batch_size": 10, "topic_word_prior": 0.1, "doc_topic_prior": 0.1}
    adding, online = (
        bt.LDA(1, method=method, half_life=3000, **settings, **HERE)
        for method in ("streaming-vb", "online-vb")
    )
    for number in range(40):
        for model in (adding, online):
            model.partial_fit(batch(number % 4, 300))
    np.testing.assert_allclose(online.get_topics(), adding.get_topics(), rtol=0.05, atol=1e-3)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"half_life": 0},
            r"half_life=0: must be a number of documents above 0, or a duration in s, min, h, d, w, such as '30min'",
        ),
        ({"half_life": "soon"}, r"half_life='soon': must be a number of documents"),
        (
            {"half_life": 9, "method": "vb"},
            r"half_life=9: method 'vb' cannot forget so; choose one of online-cvb0",
        ),
        ({"half_life": 9, "method": "cgs"}, r"half_life=9: method 'cgs' remembers every document"),
        (
            {"half_life": 9, "total_samples": 5},
            r"total_samples=5: the size of a stream that forgets follows from",
        ),
        (
            {"half_life": 9, "method": "sgs", "options": {"decay": 0.9}},
            r"half_life=9 sets the decay of each update",
        ),
        (
            {"half_life": 9, "replicas": 4},
            r"half_life=9: each of the replicas=4 would forget, and so too much; give replicas=1",
        ),
        ({"max_words": 0}, r"max_words=0: must be a whole number, 1 or more"),
        ({"max_words": 9, "method": "cvb0"}, r"max_words=9: method 'cvb0' remembers every document"),
    ],
)
def test_what_is_meaningless_is_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        bt.LDA(2, **settings, **HERE).partial_fit(batch(0))


def test_a_duration_without_times_is_refused():
    model = bt.LDA(2, half_life="7d", **HERE)
    with pytest.raises(
        SettingError, match=r"half_life='7d': a duration needs the time of the documents; pass time"
    ):
        model.partial_fit(batch(0))
    with pytest.raises(
        SettingError, match=r"time='soon': give a date, such as a datetime or .* columns .*: none"
    ):
        model.partial_fit(batch(0), time="soon")
    with pytest.raises(
        SettingError, match=r"max_words=9: words without names cannot be forgotten; pass vocabulary="
    ):
        bt.LDA(2, max_words=9, **HERE).partial_fit(np.ones((3, 12), int))


@pytest.mark.parametrize(("missing", "numbers"), [("", False), (None, True)])
def test_some_documents_may_lack_a_date(missing, numbers):
    days = [20260301, 20260302, missing, 20260303]
    days = [day if numbers or day == missing else str(day) for day in days]
    records = [{"text": f"{WORDS[i]} {WORDS[i + 1]}", "day": day} for i, day in enumerate(days)]
    model = bt.LDA(2, half_life="7d", **HERE).partial_fit(records, time="day")
    assert model.run_["time"] == bt.LDA(2, **HERE).partial_fit(records, time="2026-03-03").run_["time"]
    instead = "; pass the time at which the documents arrived as time, such as a datetime$"
    wrong = [{**record, "day": "n.d."} for record in records]
    with pytest.raises(
        SettingError, match=rf"time='day': .* 'n\.d\.', which is not a date such as .*{instead}"
    ):
        model.partial_fit(wrong, time="day")
    with pytest.raises(SettingError, match=f"time='day': none of these documents has a date there{instead}"):
        model.partial_fit([{**record, "day": ""} for record in records], time="day")


def test_times_of_a_column_and_the_score_before_learning():
    texts = [
        {
            "text": f"{WORDS[i % 13]} {WORDS[i % 7]} {WORDS[20 + i % 11]} {WORDS[i % 5]}",
            "day": f"2026-03-{1 + i % 3:02}",
        }
        for i in range(150)
    ]
    model, free = (bt.LDA(2, half_life=half_life, **HERE) for half_life in ("7d", None))
    for one, settings in ((model, {"time": "day"}), (free, {})):
        one.partial_fit(texts, score=True, **settings)
        assert "score" not in one.history_[-1]
    expected = free.score(texts)
    free.partial_fit(texts, score=True)
    assert free.history_[-1]["score"] == free.run_["score"] == expected
    with pytest.raises(InputError, match="2026-03-02 is before 2026-03-03"):
        model.partial_fit(texts, time="2026-03-02")
    late = datetime(2026, 3, 3, 1, tzinfo=timezone(timedelta(hours=2)))  # an hour before that day in UTC
    with pytest.raises(InputError, match="2026-03-02T23:00:00 is before 2026-03-03T00:00:00"):
        model.partial_fit(texts, time=late)


@pytest.mark.slow
def test_a_stream_with_drift_built_in(monkeypatch):
    """The benchmark `stream`, reduced."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    benchmark = import_module("stream")
    found = benchmark.run(20, 400, 4, 1600, 5000, None, n_rows=1, quiet=True)
    (row,) = found.rows
    assert row["words"] == 5000 < row["seen"]
    assert row["kept"] >= len(benchmark.STILL) - 1  # topics at the number that they had in the third window
    assert row["difference"] > -2 * row["error"]  # no worse than what the last window alone says
    assert found.events == [(14, "born", 21)] and found.recall == 1.0
