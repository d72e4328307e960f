"""Numbers at the ends of what is allowed give finite topics; beyond them, an error that says the range."""

import warnings

import numpy as np
import pytest
from reference import case

import bigtopic as bt
from bigtopic.errors import BigtopicWarning, SettingError
from bigtopic.evaluation.source import topics_of
from bigtopic.state.contract.scheme_steps import LARGEST_PRIOR, SMALLEST_PRIOR

HERE = {"client": False, "progress": False, "max_iter": 2}
rng = np.random.default_rng(0)
COUNTS = rng.poisson(0.3, (60, 40)) + np.eye(60, 40, dtype=int)


def finite(model):
    topics, theta = model.get_topics(), model.transform(COUNTS)
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-4)
    np.testing.assert_allclose(theta.sum(axis=1), 1, rtol=1e-4)


WORDS = np.geomspace(SMALLEST_PRIOR, LARGEST_PRIOR, 40)


@pytest.mark.parametrize("method", case.methods_of_lda())
@pytest.mark.parametrize(
    ("alpha", "ends"),
    [
        (SMALLEST_PRIOR, (SMALLEST_PRIOR, LARGEST_PRIOR)),
        (LARGEST_PRIOR, (SMALLEST_PRIOR,)),
        ([SMALLEST_PRIOR, 1.0, LARGEST_PRIOR], (WORDS,)),
    ],
    ids=["smallest", "largest", "both"],
)
def test_priors_at_the_ends(method, alpha, ends):
    """As far as the method has the prior: plsa has a maximum from 1, and the prior of lds is one of its scheme."""
    alpha = np.maximum(alpha, 1.0) if method == "plsa" else alpha
    fewer = {"batch_size": 20} if method == "splda" else {}  # it updates after each document
    for eta in (None,) if method == "lds" else ends:
        model = bt.LDA(3, method=method, doc_topic_prior=alpha, topic_word_prior=eta, **fewer, **HERE)
        finite(model.fit(COUNTS))


@pytest.mark.parametrize("value", [1e300, 1e25, 1e-31, 1e-300, 0.0, -1.0, np.nan, np.inf])
def test_priors_beyond(value):
    seeds = bt.seed_prior({0: ["a"]}, [*"abcd"], 3, weight=value)
    wide = np.where(np.arange(40) == 7, value, 0.1)
    for settings in (
        {"doc_topic_prior": value},
        {"doc_topic_prior": [0.1, value, 0.1]},
        {"topic_word_prior": value},
        {"topic_word_prior": wide},
        {"topic_word_prior": np.tile(wide, (3, 1))},
    ):
        with pytest.raises(SettingError, match=r"prior=.*from 1e-30 to 1e\+24"):
            bt.LDA(3, **settings, **HERE).fit(COUNTS)
    with pytest.raises(SettingError, match=r"topic_word_prior=.*from 1e-30"):
        bt.LDA(3, topic_word_prior=seeds, **HERE).fit(COUNTS[:, :4])
    with pytest.raises(SettingError, match="from 1e-30"):
        topics_of(np.ones((3, 40)), doc_topic_prior=value)


@pytest.mark.parametrize("scale", [1e-300, 1e300, 1.7e308])
def test_topics_to_begin_with_may_have_any_scale(scale):
    topics = rng.dirichlet(np.ones(40), 3)
    plain = bt.LDA(3, init=topics, **HERE).fit(COUNTS).get_topics()
    scaled = bt.LDA(3, init=topics / topics.max() * scale, **HERE).fit(COUNTS).get_topics()
    np.testing.assert_allclose(scaled, plain, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("name", ["learning_offset", "learning_decay"])
@pytest.mark.parametrize("value", [1e300, np.inf, np.nan, -1.0, True, "1"])
def test_schedules_that_are_none(name, value):
    with pytest.raises(SettingError, match=f"{name}=.*must be (between|above) 0 and"):
        bt.LDA(3, **{name: value}, **HERE).fit(COUNTS)


def test_schedules_at_the_ends():
    for offset, decay in ((1e12, 1.0), (0.0, 1.0), (1e12, 1e-300), (0.0, 1e-300)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", BigtopicWarning)  # decays up to 0.5 need not converge
            finite(bt.LDA(3, learning_offset=offset, learning_decay=decay, **HERE).fit(COUNTS))
