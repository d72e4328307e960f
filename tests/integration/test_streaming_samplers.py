"""Methods of the kernels that know the documents of one minibatch at a time: what ties them to the kernels that
remember documents."""

from __future__ import annotations

import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic.errors import InputError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import log_predictive
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method, get
from bigtopic.plan.slices import Plan
from bigtopic.schemes.add import Add, DecayAdd
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parent))

from collapsed import CGS, ILR

pytestmark = pytest.mark.battery
TOPIC_WORDS = "topic_words"
SGS, STREAMING_ILR, CDF = (get(name) for name in ("sgs", "streaming-ilr", "cdf"))


@pytest.fixture(params=[SGS, STREAMING_ILR, CDF], ids=lambda method: method.name)
def method(request) -> Method:
    return request.param


@pytest.mark.parametrize("inference", ["cvb0", None], ids=["cvb0", "itself"])
def test_transform_does_not_depend_on_neighbours(method, corpus, inference):
    own = replace(method, inference=inference)
    model = LDA(4, method=own, max_iter=1, client=False, random_state=0).fit(corpus)
    some = model.transform(corpus[:20])
    np.testing.assert_array_equal(some[:7], model.transform(corpus[:7]))
    np.testing.assert_allclose(some.sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize(("kind", "decay"), [(SGS, 0.7), (STREAMING_ILR, 0.7), (SGS, 1.0), (CDF, 1.0)])
def test_the_mass_is_what_decay_leaves_of_the_minibatches(kind, decay, corpus):
    """sum_j decay^(t - j + 1) C_j, over two passes."""
    scheme = Add() if kind is CDF else DecayAdd(decay)
    own = replace(kind, schemes={TOPIC_WORDS: scheme})
    model = new_model(own, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3)
    train(model, corpus, Limits(2), n_threads=1, batch_size=70, slice_size=70)
    tokens = np.asarray(corpus.to_scipy(order="stored").sum(axis=1)).ravel().astype(float)
    plan = Plan([part.n_docs for part in corpus.parts], corpus.nnz / corpus.n_docs, 70, 70, seed=3)
    mass = 0.0
    for pass_number in range(2):
        for rnd in plan.rounds(pass_number):
            rows = np.concatenate([np.arange(ref.start, ref.stop) for ref in rnd.slices])
            mass = decay * (mass + tokens[rows].sum())
    assert model.topic_words.totals().sum() == pytest.approx(mass, rel=1e-12)


def test_streaming_ilr_of_one_minibatch_is_ilr(corpus, tmp_path, monkeypatch):
    """With decay 1: the sweeps of one update are the passes of the method that remembers."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    streaming = replace(
        STREAMING_ILR,
        schemes={TOPIC_WORDS: DecayAdd(1.0)},
        options={"max_sweeps": 9, "mean_change_tol": 0.0},
    )
    ends = []
    for own, passes in ((streaming, 1), (replace(ILR, priors=streaming.priors), 10)):
        model = new_model(own, 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=3)
        train(model, corpus, Limits(passes), n_threads=1, slice_size=300)
        ends.append(model.topic_words.gather(None))
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [SGS, STREAMING_ILR], ids=lambda kind: kind.name)
def test_one_pass_comes_near_collapsed_gibbs_sampling(kind, corpus, tmp_path, monkeypatch):
    """Nine tenths of what fifty passes gain on the words' frequencies; the best of three seeds, as optima are local."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    held_in, held_out = corpus.split(100, random_state=1)
    settings = {"client": False, "n_threads": 1}

    def gain(own: Method, **sizes: int) -> float:
        fits = (LDA(4, method=own, random_state=s, **settings, **sizes).fit(held_in) for s in range(3))
        results = [log_predictive(fitted, held_out) for fitted in fits]
        return max(result.value - result.unigram for result in results)

    own = replace(kind, schemes={TOPIC_WORDS: DecayAdd(1.0)})
    assert gain(own, batch_size=70) > 0.9 * gain(CGS, max_iter=50)


def test_a_stream_that_drifts_is_followed(corpus):
    """Once words have changed places, topics that forget score higher than topics that do not."""
    matrix = corpus.to_scipy()
    swapped = matrix[:, ::-1]
    scores = []
    for decay in (0.5, 1.0):
        own = replace(SGS, schemes={TOPIC_WORDS: DecayAdd(decay)})
        model = LDA(4, method=own, batch_size=100, client=False, n_threads=1, random_state=0)
        for counts in (matrix, matrix, matrix, swapped[:200]):
            model.partial_fit(counts)
        scores.append(model.score(swapped[200:]))
    assert scores[0] > scores[1]


@pytest.mark.parametrize("seed", range(3))
def test_the_first_document_of_cdf_has_topics_that_share_words(seed):
    """A prior this small draws topics of one word each: a later document's word, alone, is of one topic."""
    model = LDA(2, method=CDF, topic_word_prior=1e-30, doc_topic_prior=10.0, random_state=seed, client=False)
    model.fit(np.diag([60.0, 60.0]))
    shared = (model.components_ > 0.5).all(axis=0)
    assert shared.sum() == 1


def test_samplers_refuse_fractions(corpus):
    counts = corpus.to_scipy() * 0.5
    for own in (SGS, CDF):
        with pytest.raises((InputError, SettingError), match=r"whole"):
            LDA(2, method=own, client=False).fit(counts)
    assert np.isfinite(LDA(2, method=STREAMING_ILR, client=False).fit(counts).components_).all()
