"""What a scheme does wrong with an array is an error that names the scheme, never a model of NaN."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bigtopic.errors import ModelError
from bigtopic.estimators.lda import LDA
from bigtopic.kernels import load
from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec
from bigtopic.models.lda import LDA as MODEL
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.state.contract.scheme_steps import LARGEST_PRIOR
from bigtopic.types import AxisStats

X = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))
NAMES = r"scheme Own of array 'topic_words', at update 2: "


def scheme(step, **declared):
    """Adds once; what a further update does is in question."""

    def first_add(self, array, stats, info):
        (Add().step if info.step == 1 else step)(array, stats, info)

    return dataclass(frozen=True)(type("Own", (), {"step": first_add, **declared}))()


def estimator(own, **changed):
    method = Method("own", "vb", {"topic_words": own}, batch_size=16)
    return LDA(2, method=replace(method, **changed), client=False, n_threads=1, max_iter=1)


def adding(**factors):
    return lambda array, stats, info: array.add(stats, **factors)


def by_row(name, make):
    return lambda array, stats, info: array.add(stats, **{name: make(len(stats.ids))})


def adding_of(change):
    return lambda array, stats, info: array.add(change(stats))


def prior(make):
    return lambda array, stats, info: array.set_prior(make(array))


STEPS = {
    "decay NaN": (adding(decay=np.nan), "gives decay with numbers that are not finite"),
    "weight inf": (adding(weight=np.inf), "gives weight with numbers that are not finite"),
    "weight too large": (adding(weight=1e300), "too large for float32"),
    "decay of another shape": (
        adding(decay=np.ones(3)),
        r"gives decay of shape \(3,\), but must give .*\(16,\)",
    ),
    "weight of rows": (by_row("weight", lambda n: np.ones((n, 1))), r"gives weight of shape \(\d+, 1\)"),
    "no weight": (adding(weight=None), "gives weight .*not finite|gives weight None"),
    "weight as text": (adding(weight="much"), "gives weight 'much'"),
    "complex weight": (adding(weight=1j), "gives weight 1j"),
    "decay below 0": (adding(decay=-0.5), "gives decay -0.5 to an array of distributions"),
    "row_decay below 0": (
        by_row("row_decay", lambda n: np.full(n, -1.0)),
        "gives row_decay -1 to an array of distrib",
    ),
    "row_weight NaN": (by_row("row_weight", lambda n: np.full(n, np.nan)), "gives row_weight with numbers"),
    "row_decay inf": (by_row("row_decay", lambda n: np.full(n, np.inf)), "gives row_decay with numbers"),
    "row_decay of another shape": (by_row("row_decay", lambda n: np.ones(n + 1)), "gives row_decay of shape"),
    "row_decay as a column": (by_row("row_decay", lambda n: np.ones((n, 1))), "gives row_decay of shape"),
    "row_weight as a list": (by_row("row_weight", lambda n: [1.0] * n), "gives row_weight as list"),
    "values alone": (adding_of(lambda s: s.values), "adds ndarray, but must add an AxisStats"),
    "values as a list": (adding_of(lambda s: AxisStats(s.ids, s.values.tolist())), "adds values is list"),
    "half precision": (adding_of(lambda s: replace(s, values=s.values.astype("f2"))), "float16, but must be"),
    "masked values": (adding_of(lambda s: replace(s, values=np.ma.array(s.values))), "MaskedArray of float"),
    "ids as a list": (
        adding_of(lambda s: replace(s, ids=s.ids.tolist())),
        "asks for rows .*must give an array",
    ),
    "one id": (lambda array, stats, info: array.gather(3), "asks for rows 3, but must give an array"),
    "prior NaN": (prior(lambda a: np.full((1, 1), np.nan)), "gives a prior from nan to nan"),
    "prior below 0": (prior(lambda a: np.full((1, 1), -1.0)), "gives a prior from -1 to -1"),
    "prior too large": (prior(lambda a: np.full((1, 1), 2 * LARGEST_PRIOR)), "gives a prior from"),
    "prior of another shape": (
        prior(lambda a: np.ones((3, 2))),
        r"gives the prior \(3, 2\), .*\(1 or 10, 1 or 2\)",
    ),
    "prior with padding": (prior(lambda a: np.ones((1, a.n_columns))), r"gives the prior \(1, 16\)"),
    "prior as a number": (prior(lambda a: 0.1), "gives the prior 0.1"),
    "no prior": (prior(lambda a: None), "gives the prior None"),
}


@pytest.mark.parametrize(("step", "says"), STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("inner", [1, 2])
def test_a_wrong_step_is_refused_and_moves_nothing(step, says, inner):
    own, once = estimator(scheme(step), inner=inner), estimator(scheme(adding()), inner=inner)
    own.partial_fit(X[::2][:16])
    once.partial_fit(X[::2][:16])
    with pytest.raises(ModelError, match=NAMES + f".*({says})"):
        own.partial_fit(X)
    np.testing.assert_array_equal(own.components_, once.components_)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_an_error(value):
    step = adding_of(lambda stats: AxisStats(stats.ids, np.full(stats.values.shape, value)))
    with pytest.raises(ModelError, match=NAMES + r"after it, 'topic_words' has numbers that are not finite"):
        estimator(scheme(step)).fit(X)


def test_sums_below_zero_are_an_error():
    with pytest.raises(ModelError, match=NAMES + r"after it, 'topic_words' has sums below 0 \(-"):
        estimator(scheme(adding(weight=-1e3))).fit(X)


WRITTEN = {
    "own": lambda array, info: array.prior,
    "another": lambda array, info: info.arrays["doc_topic_prior"].prior,
}


@pytest.mark.parametrize("inner", [1, 2])
@pytest.mark.parametrize("reached", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("how", [lambda model: model, copy.deepcopy], ids=["fitted", "copied"])
def test_a_prior_cannot_be_written_in_place(reached, inner, how):
    own = estimator(scheme(lambda array, stats, info: reached(array, info).fill(7.0)), inner=inner)
    own.partial_fit(X[:16])
    own = how(own)
    with pytest.raises(ValueError, match="read-only"):
        own.partial_fit(X)
    assert own.topic_word_prior_ == 0.5 and (own.doc_topic_prior_ == 0.5).all()


def test_a_prior_of_documents_topics_is_checked_whichever_scheme_changes_it():
    def step(array, stats, info):
        info.arrays["doc_topic_prior"].set_prior(np.zeros((1, 1)))

    with pytest.raises(ModelError, match=NAMES + "after it, the prior of documents' topics is"):
        estimator(scheme(step)).fit(X)


def test_a_companion_that_is_not_finite_is_an_error():
    def step(array, stats, info):
        info.companions["mean"].add(AxisStats(stats.ids, np.log(np.zeros(stats.values.shape)) - 1))

    own = scheme(step, companions={"mean": ArraySpec("", dtype="float64")})
    with (
        np.errstate(divide="ignore"),
        pytest.raises(ModelError, match=NAMES + "after it, 'mean' has numbers"),
    ):
        estimator(own).fit(X)


def test_a_prior_that_leaves_its_range_is_an_error():
    def step(array, stats, info):
        array.add(AxisStats(None, np.ones((1, array.n_columns))), weight=-1.0)

    vb = load("vb")

    def run(docs, view, hyper, seed, state):
        result = vb.run(docs, view, hyper, seed, None)
        return result._replace(stats={**result.stats, "doc_topic_prior": np.zeros((1, 16))})

    statistics, views = (
        {**vb.statistics, "doc_topic_prior": "none"},
        {**vb.views, "doc_topic_prior": "counts"},
    )
    kernel = replace(vb, run=run, statistics=statistics, views=views)
    own = Method("own", kernel, {"topic_words": Add(), "doc_topic_prior": scheme(step)}, batch_size=16)
    with pytest.raises(ModelError, match="'doc_topic_prior', at update 2: after it, the prior of documents'"):
        LDA(2, method=own, client=False, n_threads=1).fit(X)


@pytest.mark.parametrize("inner", [1, 2])
def test_integers_that_a_scheme_decays_are_refused(inner):
    words = replace(MODEL.arrays["topic_words"], dtype="int64", start=None)
    model = replace(MODEL, arrays={**MODEL.arrays, "topic_words": words})
    with pytest.raises(ModelError, match=r"scheme Interpolate .*gives decay 0.8\d* to an array of integers"):
        estimator(Interpolate(), model=model, inner=inner).fit(X)


MOVES = {
    "add": lambda array, stats, info: array.add(stats),
    "fold": lambda array, stats, info: array.fold(),
    "add to another": lambda array, stats, info: info.arrays["doc_topic_prior"].add(
        AxisStats(None, np.ones((1, 16)))
    ),
}


@pytest.mark.parametrize("step", MOVES.values(), ids=MOVES)
def test_a_scheme_of_a_prior_cannot_move_arrays(step):
    own = dataclass(frozen=True)(type("Own", (), {"step": staticmethod(step)}))()
    model = estimator(Add(), prior_schemes={"topic_words": own})
    with pytest.raises(ModelError, match=r"update 1: it calls .* only with set_prior"):
        model.fit(X)
