"""The objectives of OPE's runs, against the equations for topics that the kernel infers; and how they behave."""

import json

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.order import document_keys
from bigtopic.datasets import lda_corpus
from bigtopic.errors import InputError, SettingError
from bigtopic.evaluation import ope_stability
from bigtopic.evaluation.source import topics_of
from bigtopic.evaluation.subject import topic_rows
from bigtopic.kernels import load
from bigtopic.types import Docs, Hyper, View

TRUTH = lda_corpus(30, 40, 5, mean_length=40, topic_word_prior=0.1, random_state=2)
CORPUS = from_matrix(TRUTH.counts)
QUIET = {"client": False, "n_threads": 1}


def test_objectives_are_the_equations_at_the_topics_of_each_run():
    alpha = np.array([0.1, 0.5, 1.0, 2.0, 0.1])
    source = topics_of(TRUTH.components, doc_topic_prior=alpha)
    found = ope_stability(source, CORPUS, n_runs=3, n_iter=20, random_state=4, **QUIET)
    kernel, block, ids = load("ope"), CORPUS.read(), np.arange(40)
    docs = Docs(block.indptr, block.words, block.counts, block.rows, 40)
    hyper = Hyper(alpha, 5, {**kernel.options, "n_iter": 20})
    beta = topic_rows(source, ids)
    expected = np.zeros((3, 30, 3))
    for run, key in enumerate(document_keys(4, np.arange(3))):
        theta = kernel.run(docs, View({"topic_words": beta}, {}), hyper, int(key >> np.uint64(1))).doc_topics
        for d, shares in enumerate(theta.astype(float)):
            shares = shares / shares.sum()
            inside = (1 - 5e-6) * shares + 1e-6
            own = block[d : d + 1]
            g1, f1 = (
                sum(c * np.log(beta[w, :5] @ point) for w, c in zip(own.words, own.counts, strict=True))
                for point in (shares, inside)
            )
            g2, f2 = (sum((alpha - 1) * np.log(point)) for point in (shares, inside))
            expected[:, d, run] = g1, g2, f1 + f2
    for own, reference in zip(
        (found.log_likelihood, found.log_prior, found.objective), expected, strict=True
    ):
        np.testing.assert_allclose(own, reference, rtol=1e-6, atol=1e-6)
    spread = expected[0].std(axis=1, ddof=1)
    assert found.value == pytest.approx(spread.mean(), rel=1e-4)
    assert found.standard_error == pytest.approx(spread.std(ddof=1) / np.sqrt(30), rel=1e-4)
    np.testing.assert_array_equal(found.tokens, TRUTH.counts.sum(axis=1))
    assert json.dumps(found.to_dict(), allow_nan=False) and len(found.details()) == 3


def test_runs_agree_where_the_objective_is_concave_and_not_where_it_is_not():
    few, many = (
        ope_stability(TRUTH.components, CORPUS, n_iter=n, doc_topic_prior=2.0, **QUIET) for n in (5, 200)
    )
    assert many.value < few.value / 3 and many.means["objective"] > few.means["objective"]
    short, long = (
        ope_stability(TRUTH.components, CORPUS, n_iter=n, doc_topic_prior=0.05, **QUIET) for n in (20, 500)
    )
    grown = {name: long.means[name] - short.means[name] for name in long.means}
    assert grown["log_prior"] > grown["objective"] > abs(grown["log_likelihood"])
    assert ope_stability(TRUTH.components, CORPUS, doc_topic_prior=1.0, **QUIET).deviations["log_prior"] == 0


def test_blocks_and_threads_change_nothing(monkeypatch):
    whole = ope_stability(TRUTH.components, CORPUS, 2, **QUIET)
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 100)
    other = ope_stability(TRUTH.components, CORPUS, 2, client=False, n_threads=3)
    np.testing.assert_array_equal(whole.log_likelihood, other.log_likelihood)
    np.testing.assert_array_equal(whole.objective, other.objective)
    assert not np.array_equal(whole.log_likelihood[:, 0], whole.log_likelihood[:, 1])


def test_what_cannot_be_measured_is_refused():
    for name, value in (("n_runs", 1), ("n_iter", 0), ("n_iter", 2.5)):
        with pytest.raises(SettingError, match=f"{name}={value}: must be a whole number of at least"):
            ope_stability(TRUTH.components, CORPUS, **{name: value}, **QUIET)
    with pytest.raises(InputError, match="corpus: the model knows no word of it"):
        ope_stability(topics_of(np.eye(2), ["a", "b"]), from_matrix([[1, 2]], ["c", "d"]), **QUIET)
