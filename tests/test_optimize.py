"""OPE for any two functions: the kernel of topics as a special case, closed forms, and the weights of the picks."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

import bigtopic
from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.optimize import box, l1_ball, ope, simplex

sys.path.insert(0, str(Path(__file__).parent))

from reference import case

N = 6


@pytest.mark.parametrize("eps", [0.0, 0.01])
@pytest.mark.parametrize(
    "alpha", [0.1, 1.0, np.array([0.5, 2.0, 1.0, 0.1, 1.3, 3.0])], ids=["0.1", "1", "vector"]
)
def test_the_kernel_of_topics_is_a_special_case(alpha, eps):
    """Same start and same coins: the same topics, for each document."""
    docs, topic_words = case.documents([8, 15, 1, 22], 60, seed=3), case.topics(60, N, seed=4)
    options = {"n_iter": 150, "eps": eps}
    result = case.infer(kernels.load("ope"), docs, topic_words, alpha, seed=12, **options)
    reference = case.reference("ope")
    for d, row in enumerate(docs.rows):
        own = slice(docs.indptr[d], docs.indptr[d + 1])
        weights, counts = topic_words[docs.words[own]], docs.counts[own]
        coins = [
            bool(reference["_bits"](12, int(row), N + step // 64) >> step % 64 & 1) for step in range(149)
        ]
        found = ope(
            lambda theta, w=weights, c=counts: (c / (w @ theta)) @ w,
            lambda theta: (alpha - 1) / theta,
            simplex(eps),
            reference["start"](N, 12, int(row)),
            n_iter=150,
            picks=coins,
        )
        np.testing.assert_allclose(result.doc_topics[d], found.point, rtol=1e-9)


@pytest.mark.parametrize("p", [0.2, 0.5, 0.8])
def test_the_maximum_does_not_depend_on_what_is_picked(p):
    """g1 = -3 x^2, g2 = -(x - 1)^2: 1/4. Picks that weigh alike would end at 0.571 for p = 0.2, 0.077 for 0.8."""
    n, ends = 5000, []
    for seed in range(10):
        found = ope(
            lambda x: -6 * x, lambda x: 2 * (1 - x), box(0, 1), [0.9], n_iter=n, p=p, random_state=seed
        )
        ends.append(found.point[0])
    # the end solves 3 a x = b (1 - x) with the weights a, b picked: its standard error, from that of b / a
    error = 0.25 * 0.75 / np.sqrt(n * p * (1 - p))
    assert (np.abs(np.array(ends) - 0.25) < 4 * error).all()
    assert np.std(ends) > error / 3


DOMAINS = {
    "simplex": (simplex(), np.full(N, 1 / N)),
    "eps-simplex": (simplex(0.05), np.full(N, 1 / N)),
    "box": (box(np.arange(N) - 3.0, 1.0 * N), np.full(N, 3.0)),
    "L1 ball": (l1_ball(0.7), np.zeros(N)),
    "L2 ball of one's own": (lambda g: g / np.linalg.norm(g), np.zeros(N)),
}


def nearest(name, target):
    """The point of the domain nearest to the target, by other means."""
    if name == "box":
        return np.clip(target, np.arange(N) - 3.0, N)
    if name.startswith("L2"):
        return target / max(1, np.linalg.norm(target))
    if name == "L1 ball":
        return np.sign(target) * shifted(np.abs(target), 0.7)
    eps = 0.05 if name == "eps-simplex" else 0.0
    return eps + shifted(target - eps, 1 - N * eps)


def shifted(values, total):
    """max(values - t, 0) with this sum, for the t that gives it, by bisection."""
    low, high = values.min() - total, values.max()
    for _ in range(100):
        t = (low + high) / 2
        low, high = (t, high) if np.maximum(values - t, 0).sum() > total else (low, t)
    return np.maximum(values - low, 0)


@pytest.mark.parametrize("name", DOMAINS)
def test_the_point_nearest_to_two_targets(name):
    """Concave quadratic functions: the maximum is the projection of the targets' mean."""
    oracle, start = DOMAINS[name]
    rng = np.random.default_rng(5)
    one, other = rng.normal(size=(2, N))
    best = nearest(name, (one + other) / 2)

    def loss(x):
        return ((x - one) ** 2 + (x - other) ** 2).sum() / 2

    gaps = []
    for n_iter in (100, 20_000):
        found = ope(lambda x: one - x, lambda x: other - x, oracle, start, n_iter=n_iter, random_state=1)
        assert -1e-9 <= loss(found.point) - loss(best) <= found.gap + 1e-9
        gaps.append(found.gap)
    assert gaps[1] < gaps[0] / 3
    # the pull between the targets is off by |b - a| / n, which has this standard error
    assert np.linalg.norm(found.point - best) < 4 * np.linalg.norm(one - other) / np.sqrt(20_000) + 0.01


@pytest.mark.parametrize("name", DOMAINS)
def test_oracles_find_the_farthest_point(name):
    oracle, _ = DOMAINS[name]
    rng = np.random.default_rng(6)
    for _ in range(50):
        direction = rng.normal(size=N)
        vertex = oracle(direction)
        inside = np.array([nearest(name, rng.normal(size=N)) for _ in range(30)])
        assert (inside @ direction).max() <= vertex @ direction + 1e-9
        np.testing.assert_allclose(nearest(name, vertex), vertex, atol=1e-9)


def test_ties_go_to_the_lowest_index():
    assert simplex()(np.array([1.0, 2.0, 2.0]))[1] == 1
    assert l1_ball(2.0)(np.array([1.0, -3.0, 3.0]))[1] == -2


def test_seed_decides_and_inputs_stay():
    start, seen = np.full(N, 1 / N), []
    one, other = np.eye(N)[:2]

    def gradient(x):
        seen.append((x, x.copy()))
        return one - x

    runs = [
        ope(gradient, lambda x: other - x, simplex(), start, random_state=seed).point for seed in (1, 1, 2)
    ]
    assert np.array_equal(runs[0], runs[1]) and not np.array_equal(runs[0], runs[2])
    assert np.array_equal(start, np.full(N, 1 / N))
    assert all(np.array_equal(x, copy) for x, copy in seen)


@pytest.mark.parametrize("writer", ["gradient_1", "gradient_2", "oracle"])
def test_functions_may_write_into_their_argument(writer):
    pull = np.arange(N) / N
    functions = {"gradient_1": lambda x: pull - x, "gradient_2": lambda x: -x, "oracle": simplex()}
    expected = ope(*functions.values(), np.full(N, 1 / N), random_state=3)
    plain = functions[writer]

    def writing(argument):
        values = plain(argument)
        argument[:] = 7
        return values

    found = ope(*{**functions, writer: writing}.values(), np.full(N, 1 / N), random_state=3)
    assert np.array_equal(found.point, expected.point) and found.gap == expected.gap


def test_gradients_may_share_the_array_they_return():
    shared, start = np.empty(N), np.full(N, 1 / N)

    def gradient(target):
        return lambda x: np.subtract(target, x, out=shared)

    one, other = np.eye(N)[:2]
    expected = ope(lambda x: one - x, lambda x: other - x, simplex(), start)
    found = ope(gradient(one), gradient(other), simplex(), start)
    assert np.array_equal(found.point, expected.point) and found.gap == expected.gap


def test_gradients_whose_sum_is_too_large():
    huge = np.full(N, 1.7e308)
    with (
        np.errstate(over="ignore", invalid="ignore"),
        pytest.raises(SettingError, match=r"sum of.*gradient_1"),
    ):
        ope(lambda x: huge, lambda x: -huge, simplex(), np.full(N, 1 / N), n_iter=20)


@pytest.mark.parametrize("oracle", [simplex(), box(0, 1), l1_ball()], ids=["simplex", "box", "L1 ball"])
def test_oracles_refuse_a_direction_that_is_no_number(oracle):
    with pytest.raises(SettingError, match="direction has nan"):
        oracle(np.array([0.5, np.nan, 1.0]))


def test_one_iteration_is_the_start():
    found = ope(lambda x: -x, lambda x: -x, simplex(), np.full(N, 1 / N), n_iter=1)
    np.testing.assert_array_equal(found.point, np.full(N, 1 / N))


@pytest.mark.parametrize(
    "options",
    [
        {"n_iter": 0},
        {"n_iter": 2.5},
        {"n_iter": np.nan},
        {"n_iter": True},
        {"n_iter": "3"},
        {"p": 0.0},
        {"p": 1.0},
        {"p": np.nan},
        {"p": "x"},
        {"p": None},
        {"p": np.array([0.5, 0.5])},
        {"picks": [True]},
        {"picks": [[True], [True, False]]},
        {"random_state": -1},
        {"random_state": 0.5},
    ],
    ids=str,
)
def test_settings_that_make_no_sense(options):
    with pytest.raises(SettingError, match=next(iter(options))):
        ope(lambda x: -x, lambda x: -x, simplex(), np.full(N, 1 / N), **options)


@pytest.mark.parametrize(
    ("start", "match"),
    [
        (0.5, r"shape \(\)"),
        ([], r"shape \(0,\)"),
        (np.eye(2), r"shape \(2, 2\)"),
        ([0.5, np.nan], "has nan"),
        ([np.inf, 0.5], "has inf"),
        (["a", "b"], "must be numbers"),
        ([[0.5], [0.2, 0.3]], "must be numbers"),
    ],
    ids=str,
)
def test_a_start_that_is_no_point(start, match):
    with pytest.raises(SettingError, match=f"start.*{match}"):
        ope(lambda x: -x, lambda x: -x, simplex(), start)


def test_whole_numbers_of_numpy_are_whole_numbers():
    runs = [ope(lambda x: -x, lambda x: 1 - x, box(0, 1), [0.9], n_iter=n) for n in (7, np.int32(7))]
    assert runs[0].point == runs[1].point


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: simplex(-0.1), "eps"),
        (lambda: simplex("a"), "eps='a'"),
        (lambda: simplex(None), "eps=None"),
        (lambda: simplex(np.zeros(2)), "eps=array"),
        (lambda: l1_ball("a"), "radius='a'"),
        (lambda: l1_ball(None), "radius=None"),
        (lambda: l1_ball(np.ones(2)), "radius=array"),
        (lambda: ope(None, np.negative, simplex(), [0.5, 0.5]), "gradient_1=None"),
        (lambda: ope(np.negative, None, simplex(), [0.5, 0.5]), "gradient_2=None"),
        (lambda: ope(np.negative, np.negative, "simplex", [0.5, 0.5]), "oracle='simplex'"),
        (lambda: simplex(0.5)(np.ones(2)), "eps.*1 / 2"),
        (lambda: box(1, 0), "low=1"),
        (lambda: box(0, np.inf), "finite"),
        (lambda: box([0, 0], [1, 1, 1]), r"shapes \(2,\) and \(3,\)"),
        (lambda: box(np.zeros((2, 2)), 1), r"shapes \(2, 2\) and \(\)"),
        (lambda: box("a", 1), "low='a': must be numbers"),
        (lambda: box(0, [1, 1])(np.ones(3)), r"shape \(2,\), but the points have \(3,\)"),
        (lambda: l1_ball(0), "radius"),
        (lambda: l1_ball(np.nan), "radius"),
    ],
)
def test_domains_without_points(make, match):
    with pytest.raises(SettingError, match=match):
        make()


@pytest.mark.parametrize(
    ("functions", "match"),
    [
        ((lambda x: x[:2], lambda x: x, simplex()), r"gradient_1 returned shape \(2,\).*\(6,\)"),
        ((lambda x: x, lambda x: x / 0, simplex()), r"gradient_2 returned inf.*eps"),
        ((lambda x: x, lambda x: x, lambda g: g[0]), r"oracle returned shape \(\)"),
        ((lambda x: x * np.nan, lambda x: x, simplex()), "gradient_1 returned nan"),
        ((lambda x: x, lambda x: ["a"] * N, simplex()), r"gradient_2 returned \['a'.*must return numbers"),
        ((lambda x: x, lambda x: x, lambda g: g + np.nan), "oracle returned nan"),
    ],
)
def test_functions_that_return_something_else(functions, match):
    with np.errstate(divide="ignore"), pytest.raises(SettingError, match=match):
        ope(*functions, np.full(N, 1 / N), n_iter=20)


def test_it_is_public():
    assert bigtopic.optimize.ope is ope and "optimize" in bigtopic.__all__
