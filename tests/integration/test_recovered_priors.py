"""The prior that documents were drawn with, learned again by every method of the table that can.

Topics begin at the truth, so that what is left to find is the prior.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.special import polygamma

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets.synthetic import SyntheticCorpus, lda_corpus
from bigtopic.estimators.lda import LDA
from bigtopic.methods import Method, get
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.gamma_prior import GammaPrior
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.newton import FixedPoint, Newton

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

TRUTH = 0.3
N_COMPONENTS = 4
BLURS = {"ml-cgs"}  # gives every word of a document the document's topics: true topics do not stay


def methods() -> Iterator[Method]:
    for method in map(get, case.methods_of_lda()):
        if DOC_TOPIC_PRIOR in {**method.load_kernel().statistics, **method.load_kernel().offers}:
            yield method


METHODS = {method.name: method for method in methods()}


@pytest.fixture(scope="module")
def made() -> SyntheticCorpus:
    return lda_corpus(800, 100, N_COMPONENTS, mean_length=60.0, doc_topic_prior=TRUTH, random_state=1)


@pytest.fixture(scope="module")
def standard_error(made: SyntheticCorpus) -> float:
    """Of the likeliest symmetric prior, from the information that labels of all tokens would have about it."""
    rng, a = np.random.default_rng(0), TRUTH
    lengths = made.counts.sum(axis=1).astype(int)
    numbers = np.array([rng.multinomial(*each) for each in zip(lengths, made.doc_topics, strict=True)])
    whole = polygamma(1, N_COMPONENTS * a) - polygamma(1, N_COMPONENTS * a + lengths)
    information = (polygamma(1, a) - polygamma(1, a + numbers)).sum() - N_COMPONENTS**2 * whole.sum()
    return float(information**-0.5)


def test_all_methods_learn_it_but_those_whose_documents_are_points():
    points = {"ope", "frank_wolfe", "map_em"}
    assert {name for name in case.methods_of_lda() if get(name).kernel not in points} == set(METHODS)


def fitted(method: Method, made: SyntheticCorpus, **settings: Any) -> LDA:
    own = {"init": made.components, "random_state": 0, "client": False, "n_threads": 1}
    return LDA(N_COMPONENTS, method=method, **own, **settings).fit(from_matrix(made.counts))


def searches() -> Iterator[Any]:
    """Each method begins on one side of the truth, with one scheme; slowly, on the other side with the other one."""
    ways = [(0.06, Newton(shape="symmetric")), (1.5, FixedPoint(shape="asymmetric"))]
    for number, name in enumerate(sorted(METHODS.keys() - BLURS)):
        for which, (start, scheme) in enumerate(ways):
            marks = () if which == number % 2 else pytest.mark.slow
            yield pytest.param(name, start, scheme, marks=marks, id=f"{name}-{type(scheme).__name__}-{start}")


@pytest.mark.parametrize(("name", "start", "scheme"), [*searches()])
def test_the_prior_is_found_within_four_standard_errors(name, start, scheme, made, standard_error):
    """Expected counts instead of labels would give 0.4 and more."""
    settings: dict[str, Any] = {"batch_size": None, "max_iter": 20, "tol": 0}
    kernel = METHODS[name].load_kernel()
    settings["slice_size"] = 200 if kernel.interacts and not kernel.whole_minibatches else None
    own = replace(METHODS[name], schemes={**METHODS[name].schemes, DOC_TOPIC_PRIOR: scheme}, **settings)
    model = fitted(own, made, doc_topic_prior=start)
    assert abs(model.doc_topic_prior_.mean() - TRUTH) < 4 * standard_error
    assert (np.ptp(model.doc_topic_prior_) == 0) == (scheme.shape == "symmetric")


@pytest.mark.slow
def test_a_single_pass_of_splda_finds_it_by_a_step_of_its_own(made):
    """From the paper's start, 2 / n_components; of half of the documents, with topics that follow each of them, as
    they do with the paper's steps."""
    half = made._replace(counts=made.counts[:400])
    papers = replace(METHODS["splda"], schemes={TOPIC_WORDS: Interpolate(0.5, 1.0)})
    model = fitted(papers, half, learn_doc_topic_prior="symmetric")
    assert model._model.method.schemes[DOC_TOPIC_PRIOR] == GammaPrior("symmetric")
    assert np.abs(np.log(model.doc_topic_prior_.mean() / TRUTH)) < np.log(1.25)
