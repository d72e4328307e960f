"""The curves of benchmarks: updates are numbered over phases, and a point has the topics of a fit that ends there."""

import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from bigtopic import LDA, from_matrix
from bigtopic.datasets import lda_corpus

BENCHMARKS = str(Path(__file__).parents[1] / "benchmarks")


@pytest.fixture
def benchmarks(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import auto
    import curves

    yield SimpleNamespace(auto=auto, curves=curves)
    for name in ("auto", "auto_systems", "curves", "corpora", "peers", "results", "timing"):
        sys.modules.pop(name, None)


def heat_of(curves):
    """Documents, and models with two passes of sampling per point."""
    heat = object.__new__(curves.Heat)
    heat.train = from_matrix(lda_corpus(300, 40, 3, random_state=0).counts)

    def model(**settings):
        options = {"sampling.max_iter": 4, "sampling.sweeps": 1}
        here = {"client": False, "progress": False, "random_state": 0, "options": options}
        return LDA(3, method="auto", **here, **settings)

    heat.model = model
    return heat


def test_a_watched_fit_ends_with_the_topics_of_a_fit(benchmarks):
    heat = heat_of(benchmarks.curves)
    points = benchmarks.curves.watched_fit(heat)
    efforts = [point.effort for point in points]
    n_online = 5 * 5  # passes of five minibatches of at least 64 documents, divided evenly
    assert efforts == sorted(set(efforts)) and [e for e in efforts if e > n_online] == [26, 27, 28, 29]
    np.testing.assert_array_equal(points[-1].topics, heat.fit().get_topics())
    seconds = [point.seconds for point in points]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("n_updates", [7, 28])
def test_a_fit_that_is_ended_has_the_topics_of_its_point(benchmarks, n_updates):
    heat = heat_of(benchmarks.curves)
    points = {p.effort: p.topics for p in benchmarks.curves.watched_fit(heat, growth=1.0)}
    np.testing.assert_array_equal(points[n_updates], heat.fit(n_updates).get_topics())


def test_a_way_is_read_at_its_last_point_in_time(benchmarks):
    way = benchmarks.auto.Way([1, 2, 3], [0.5, 1.0, 2.0], [-3, -2, -1], [0, 1, 2], [0, 1, 2], -1, 2.0, "")
    assert [way.at(seconds) for seconds in (0.1, 0.5, 1.9, 2.0, 9.0)] == [0, 0, 1, 2, 2]


def test_a_measure_is_lower_by_two_standard_errors(benchmarks):
    by = np.array([[0.1, -0.1, -0.1], [0.1, -0.1, 0.1], [0.1, -0.1, -0.1]])
    assert benchmarks.auto.verdict(by) == "NPMI"
    assert benchmarks.auto.verdict(by[:, [0, 2, 2]]) == "none"
