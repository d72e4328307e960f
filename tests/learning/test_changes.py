"""What replicas changed is added to the params and to their means."""

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic.errors import ModelError
from bigtopic.learning.replicas.changes import Changes, add_changes
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Params
from bigtopic.state.running_mean import COUNT, MEAN, begin_mean, mean_of
from bigtopic.types import AxisStats

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.follower import bits

N_ROWS, N_COMPONENTS = 700, 21


def array(dtype: str) -> LazyArray:
    random = np.random.default_rng(0)
    made = LazyArray.zeros(N_ROWS, N_COMPONENTS, axis="word", prior=0.1, dtype=dtype)
    made.raw[:, :N_COMPONENTS] = random.integers(0, 50, (N_ROWS, N_COMPONENTS))
    if made.dtype.kind == "f":
        made.scale = random.uniform(0.1, 1.0, made.n_columns)
    made.sums = made.raw.sum(axis=0) * made.scale
    return made


def changes(dtype: str, seed: int, lost: float) -> Changes:
    """Of most rows, in no order."""
    random = np.random.default_rng(seed)
    ids = random.permutation(N_ROWS)[: N_ROWS - 50].astype(np.int32)
    values = np.zeros((len(ids), 32), dtype)
    values[:, :N_COMPONENTS] = random.integers(0, 20, (len(ids), N_COMPONENTS)) / (
        3 if dtype[0] == "f" else 1
    )
    sums, lost_of = values.sum(axis=0, dtype=np.float64), np.full(32, lost)
    return Changes({"words": AxisStats(ids, values)}, {"words": sums}, {"words": lost_of}, ())


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_rows_of_any_order_are_added_and_all_rows_decay(dtype):
    lost = 0.0 if dtype == "int32" else 0.3
    given, params = changes(dtype, 1, lost), Params({"words": array(dtype)})
    expected = (1 - lost) * (params["words"].gather(None)[:, :N_COMPONENTS].astype(float) - 0.1)
    add_changes(params, given)
    rows, after = given.arrays["words"], params["words"]
    expected[rows.ids] += rows.values[:, :N_COMPONENTS]
    np.testing.assert_allclose(after.gather(None)[:, :N_COMPONENTS] - 0.1, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(after.totals()[:N_COMPONENTS], expected.sum(axis=0), rtol=1e-5)


@pytest.mark.parametrize("rises", [False, True])
def test_means_count_it_as_one_update_and_params_move_alike(rises):
    given, more = changes("float32", 1, 0.3), changes("float32", 2, 0.2)
    plain, averaged = Params({"words": array("float32")}), Params({"words": array("float32")})
    averaged.arrays[f"words.{MEAN}"] = LazyArray.zeros(
        N_ROWS, N_COMPONENTS, axis="word", dtype="float64", normalised_over=None
    )
    averaged.arrays[f"words.{COUNT}"] = LazyArray.zeros(
        1, 1, axis="none", dtype="float64", normalised_over=None
    )
    seen, weights = [], [1, 1]
    if rises:
        begin_mean(averaged.arrays, "words")
        seen, weights = [plain["words"].raw * plain["words"].scale], [1 + 2 + 3, 4, 5]
    for one in (given, more):
        add_changes(plain, one)
        add_changes(averaged, one, ["words"], rises)
        seen.append(plain["words"].raw * plain["words"].scale)
    assert bits(averaged.without_means()) == bits(plain)
    mean = mean_of(averaged.arrays, "words")
    np.testing.assert_allclose(mean.raw * mean.scale, np.average(seen, 0, weights), rtol=1e-4, atol=1e-4)


def test_nothing_moves_when_replicas_forget_more_than_there_is():
    params = Params({"words": array("float32")})
    before = bits(params)
    with pytest.raises(ModelError, match="decays more than"):
        add_changes(params, changes("float32", 1, 1.1))
    assert bits(params) == before
