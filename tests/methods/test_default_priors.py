"""The priors that a method has unless others are given, as the table tells them."""

from __future__ import annotations

from functools import partial
from math import sqrt

import pytest

from bigtopic import methods as table
from bigtopic.methods import get

ROWS = [row for row in table() if row["family"] != "dual"]
PRIORS = {"author topic": ("author_topic_prior", "topic_word_prior")}
OF_DOCUMENTS = ("doc_topic_prior", "topic_word_prior")


def value(formula, n_components):
    return eval(formula, {"__builtins__": {}}, {"K": n_components, "max": max, "min": min, "sqrt": sqrt})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["method"])
@pytest.mark.parametrize("n_components", [1, 2, 10, 12, 50, 300, 3000, 200_000])
def test_formulas_are_the_priors(row, n_components):
    method = get(row["method"])
    shown = {spec.prior for spec in method.model.arrays.values()} - {None}
    for column, name in zip(OF_DOCUMENTS, PRIORS.get(row["family"], OF_DOCUMENTS), strict=True):
        assert (row[column] != "") == (name in shown)
        if name in shown:
            assert value(row[column], n_components) == pytest.approx(
                method.prior(name, n_components), rel=1e-15
            )


@pytest.mark.parametrize(
    ("method", "priors"),
    [
        ("cgs", ("0.1", "0.03")),
        ("vb", ("1/K", "1/K")),
        ("svb", ("1/K", "0.01")),
        ("online-cvb0", ("max(1/K, min(0.1, 5/K))", "max(1/K, min(0.35/sqrt(K), 350/(K*sqrt(K))))")),
        ("g-oem", ("2/K", "0")),
        ("lds", ("0.01", "")),
        ("author-cvb", ("0.5", "0.1")),
        ("dual-mf", ("", "")),
    ],
)
def test_the_table_tells_priors(method, priors):
    (row,) = (row for row in table() if row["method"] == method)
    assert (row["doc_topic_prior"], row["topic_word_prior"]) == priors
    assert f"<td>{priors[0]}</td><td>{priors[1]}</td>" in table()._repr_html_()


def test_the_priors_of_dual_methods_are_those_of_the_page():
    methods = [get(row["method"]) for row in table() if row["family"] == "dual"]
    priors = [method.prior(spec.prior, 7) for method in methods for spec in method.model.arrays.values()]
    assert set(priors) == {0.5} and len(priors) == 3 * len(methods)


def test_the_prior_of_words_is_continuous_and_falls_faster_beyond_a_thousand_topics():
    at = partial(get("auto").prior, "topic_word_prior")
    assert at(1000) == 0.35 / sqrt(1000) and at(1001) == pytest.approx(at(1000), rel=2e-3)
    assert at(10_000) == pytest.approx(3.5e-4) and at(1_000_000) == 1e-6
