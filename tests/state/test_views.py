"""What a kernel reads of the params, against NumPy and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import psi

from bigtopic.errors import ModelError
from bigtopic.kernels.support.rows import stored_rows
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay
from bigtopic.state.views import mean_rows, take_view
from bigtopic.types import AxisStats

N_ROWS, N_COMPONENTS = 40, 5
IDS = np.array([3, 39, 0, 17], np.int32)


def array(
    prior: str = "number", normalised_over: str = "axis", base: float = 0.2, seed: int = 0
) -> LazyArray:
    rng = np.random.default_rng(seed)
    given = {
        "number": base,
        "per row": base * (1 + rng.random(N_ROWS)),
        "per topic and row": base * (1 + rng.random((N_COMPONENTS, N_ROWS))),
    }[prior]
    made = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=given, normalised_over=normalised_over)
    values = np.zeros((20, 16), np.float32)
    values[:, :N_COMPONENTS] = rng.gamma(0.3, 30, (20, N_COMPONENTS))
    made.add(AxisStats(np.arange(20, dtype=np.int32), values))
    made.add(AxisStats(None, np.zeros((N_ROWS, 16), np.float32)), decay=0.37)
    return made


def weights(made: LazyArray) -> np.ndarray:
    """Dense float64 (n_rows, n_components)."""
    statistics = made.raw.astype(float) * made.scale
    return statistics[:, :N_COMPONENTS] + np.broadcast_to(made.prior, (N_ROWS, made.prior.shape[1]))


def view(made, kind, ids=IDS):
    return take_view({"a": made}, {"a": kind}, {"word": ids})


PRIORS = pytest.mark.parametrize("prior", ["number", "per row", "per topic and row"])


@PRIORS
def test_the_mean_is_each_topics_word_probabilities(prior):
    made = array(prior)
    expected = weights(made) / weights(made).sum(axis=0)
    rows = view(made, "mean").arrays["a"]
    assert rows.dtype == np.float32 and rows.shape == (4, 16) and rows.flags.c_contiguous
    np.testing.assert_allclose(rows[:, :N_COMPONENTS], expected[IDS], rtol=1e-5)
    assert not rows[:, N_COMPONENTS:].any()
    np.testing.assert_allclose(mean_rows(made, None)[:, :N_COMPONENTS].sum(axis=0), 1, rtol=1e-5)


def test_the_mean_has_a_floor_so_that_a_logarithm_can_be_taken():
    made = array(base=0.0)
    assert view(made, "mean").arrays["a"][1, :N_COMPONENTS].tolist() == [np.float32(1e-12)] * N_COMPONENTS


def test_an_array_of_nothing_has_a_mean():
    made = LazyArray.zeros(3, 2, axis="word")
    assert np.isfinite(mean_rows(made, None)).all()


@PRIORS
def test_the_mean_of_rows_over_components(prior):
    made = array(prior, "components")
    expected = weights(made) / weights(made).sum(axis=1, keepdims=True)
    rows = view(made, "mean").arrays["a"]
    np.testing.assert_allclose(rows[:, :N_COMPONENTS], expected[IDS], rtol=1e-5)
    assert not rows[:, N_COMPONENTS:].any()


@PRIORS
@pytest.mark.parametrize("normalised_over", ["axis", "components"])
@pytest.mark.parametrize("base", [0.2, 1e-2, 1e-3, 1e-4])
def test_the_expected_log_up_to_a_factor_per_row(prior, normalised_over, base):
    """At a prior of 0.001 exp(psi) underflows even float64: psi(0.001) is about -1000."""
    made = array(prior, normalised_over, base)
    dense = weights(made)
    axis = 0 if normalised_over == "axis" else 1
    expected = psi(dense) - psi(dense.sum(axis=axis, keepdims=True))
    seen = view(made, "expected_log")
    rows, shift = seen.arrays["a"], seen.arrays["a:shift"]
    assert rows.dtype == np.float32 and shift.dtype == np.float64
    np.testing.assert_allclose(rows.max(axis=1), 1.0, rtol=1e-6)
    np.testing.assert_allclose(shift, expected[IDS].max(axis=1), rtol=1e-6, atol=1e-5)
    # exp(psi) in single precision ends at 4e-30: what is less than e^-66 of its row is not told apart
    normal = expected[IDS] - shift[:, None] > -66
    assert (rows[:, :N_COMPONENTS][~normal] < 1e-28).all()
    with np.errstate(divide="ignore"):
        logs = np.log(rows[:, :N_COMPONENTS].astype(float)) + shift[:, None]
    np.testing.assert_allclose(logs[normal], expected[IDS][normal], rtol=1e-6, atol=2e-5)
    assert np.isfinite(rows).all() and not rows[:, N_COMPONENTS:].any()


@pytest.mark.parametrize("base", [1e-3, 1e-5, 1e-7])
def test_the_expected_log_where_a_component_has_next_to_nothing(base):
    """Its total is 40 times the prior: exp(-psi(total)) overflows single precision, then double precision."""
    made = array(base=base)
    made.raw[:, 2] = 0.0
    made.fold()
    dense = weights(made)
    expected = (psi(dense) - psi(dense.sum(axis=0, keepdims=True)))[IDS]
    most = expected.max(axis=1)
    seen = view(made, "expected_log")
    np.testing.assert_allclose(seen.arrays["a:shift"], most, rtol=1e-6, atol=1e-5)
    rows = seen.arrays["a"][:, :N_COMPONENTS]
    np.testing.assert_allclose(rows, np.exp(expected - most[:, None]), rtol=1e-4, atol=1e-6)


def test_counts_are_the_weights_with_their_totals():
    made = array("per row")
    seen = view(made, "counts")
    np.testing.assert_allclose(seen.arrays["a"][:, :N_COMPONENTS], weights(made)[IDS], rtol=1e-5)
    np.testing.assert_allclose(seen.totals["a"][:N_COMPONENTS], weights(made).sum(axis=0), rtol=1e-6)
    assert seen.totals["a"].dtype == np.float64 and not seen.totals["a"][N_COMPONENTS:].any()


def found(seen) -> np.ndarray:
    """The weights as a kernel finds them in a view of form "stored"."""
    rows = stored_rows(seen, "a")
    return rows.array[rows.ids] * rows.scale + rows.prior


@PRIORS
def test_stored_rows_are_the_weights(prior):
    made = array(prior)
    for one in (made, Overlay(made)):
        seen = take_view({"a": one}, {"a": "stored"}, {"word": IDS})
        expected = view(made, "counts")
        np.testing.assert_allclose(found(seen), expected.arrays["a"], rtol=1e-5, atol=1e-7)
        np.testing.assert_array_equal(seen.totals["a"], expected.totals["a"])
        assert not found(seen)[:, N_COMPONENTS:].any()


def test_stored_rows_are_not_copied():
    made = array()
    assert np.shares_memory(view(made, "stored").arrays["a"], made.raw)
    assert not np.shares_memory(view(array("per row"), "stored").arrays["a"], made.raw)


def test_stored_whole_numbers_are_copied_as_float64():
    made = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=0.5, dtype="int32")
    seen = view(made, "stored")
    assert seen.arrays["a"].dtype == np.float64 and (found(seen)[:, :N_COMPONENTS] == 0.5).all()


@pytest.mark.parametrize("ids", [[N_ROWS], [-1]])
def test_stored_rows_that_do_not_exist_are_refused(ids):
    with pytest.raises(ModelError, match="rows 0 to 39"):
        view(array(), "stored", np.array(ids, np.int32))


@pytest.mark.parametrize("kind", ["mean", "expected_log", "counts"])
def test_a_view_of_an_overlay_is_that_of_the_array_it_stands_for(kind):
    base = array("per topic and row")
    overlay, moved = Overlay(base), base.copy()
    values = np.ones((2, 16), np.float32)
    values[:, N_COMPONENTS:] = 0
    for one in (overlay, moved):
        one.add(AxisStats(np.array([39, 5], np.int32), values), weight=7.0, decay=0.5)
    seen, expected = view(overlay, kind), view(moved, kind)
    for name, rows in expected.arrays.items():
        np.testing.assert_allclose(seen.arrays[name], rows, rtol=3e-6, atol=1e-6)
    np.testing.assert_allclose(seen.totals["a"], expected.totals["a"], rtol=1e-6)


@PRIORS
@pytest.mark.parametrize("kind", ["mean", "expected_log", "counts"])
def test_a_slice_of_empty_documents_has_a_view_without_rows(kind, prior):
    for made in (array(prior), Overlay(array(prior))):
        seen = view(made, kind, np.zeros(0, np.int32))
        assert seen.arrays["a"].shape == (0, 16)
        np.testing.assert_array_equal(seen.totals["a"], view(made, kind).totals["a"])


def test_all_stored_rows_an_axis_without_ids():
    made = LazyArray.zeros(1, N_COMPONENTS, axis="none", prior=0.5, normalised_over="components")
    seen = take_view({"a": made}, {"a": "mean"}, {"none": None})
    np.testing.assert_allclose(seen.arrays["a"][0, :N_COMPONENTS], 1 / N_COMPONENTS)
