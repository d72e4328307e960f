"""Kernels whose topics begin unaligned in each call get whole minibatches: what one teaches does not depend on the
slice size, on where parts of the corpus end, or on who computes it."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from reference import case

from bigtopic import kernels
from bigtopic import methods as table
from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.rounds import iteration_of
from bigtopic.learning.run import Settings
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import get
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.slices import make_docs
from bigtopic.schemes.add import Add, DecayAdd
from bigtopic.state.new_model import new_model
from bigtopic.types import View

TOPIC_WORDS = "topic_words"
N_DOCS, N_WORDS, N_COMPONENTS = 7000, 150, 4
WHOLE = [name for name in table.names() if table.get(name).load_kernel().whole_minibatches]
PARTS = pytest.mark.parametrize("cuts", [[], [1234, 1240, 5000]], ids=["one part", "four parts"])


@pytest.fixture(scope="module")
def documents() -> Corpus:
    """7 000 short documents."""
    rng = np.random.default_rng(0)
    topics = rng.dirichlet(np.full(N_WORDS, 0.05), N_COMPONENTS)
    shares = rng.dirichlet(np.full(N_COMPONENTS, 0.2), N_DOCS) @ topics
    return from_matrix(np.array([rng.multinomial(8, row) for row in shares]))


def in_parts(documents: Corpus, cuts: list[int]) -> Corpus:
    block = documents.read(order="stored")
    ends = [0, *cuts, block.n_docs]
    parts = [MemoryPart(f"{first}-{last}", block[first:last]) for first, last in pairwise(ends)]
    return Corpus(parts, documents.vocabulary)


def weights_of(model: LDA) -> np.ndarray:
    return model._fitted().params[TOPIC_WORDS].gather(None)


def test_kernels_that_interact_remember_their_documents_or_get_them_whole():
    assert {"sgs", "streaming-ilr", "cdf", "svb-progressive"} <= set(WHOLE)
    for name in kernels.names():
        kernel = kernels.load(name)
        assert kernel.whole_minibatches == (kernel.interacts and kernel.state != "run"), name


@PARTS
@pytest.mark.parametrize("batch_size", [N_DOCS, 20_000, None])
def test_sgs_of_one_minibatch_that_counts_whole_is_cgs(documents, cuts, batch_size):
    """7 000 documents in one update, with decay 1: label for label what collapsed Gibbs sampling draws, sweep by sweep,
    each token from its conditional given all other labels."""
    n_sweeps, eta = 6, 0.03
    method = replace(get("sgs"), schemes={TOPIC_WORDS: DecayAdd(1.0)}, batch_size=batch_size)
    options = {"max_sweeps": n_sweeps - 1, "patience": n_sweeps}
    model = LDA(N_COMPONENTS, method=method, options=options, random_state=5, client=False, n_threads=2)
    model.fit(in_parts(documents, cuts))
    assert model.n_batch_iter_ == 1

    cgs, alpha = kernels.load("cgs"), np.full(N_COMPONENTS, 0.1)
    seed = iteration_of(Cursor(), 1, Settings(method.schemes, 5, 1, 1)).seed
    docs, axes = make_docs(documents.read(order="stored"), N_WORDS)
    counts, state = np.zeros((docs.n_words, 16)), None
    prior = np.where(np.arange(16) < N_COMPONENTS, eta, 0.0)
    for sweep in range(n_sweeps):
        totals = N_WORDS * prior + counts.sum(axis=0)
        view = View({TOPIC_WORDS: prior + counts}, {TOPIC_WORDS: totals})
        result = cgs.run(docs, view, case.hyper(cgs, alpha, N_COMPONENTS, N_WORDS), seed + sweep, state)
        counts, state = counts + result.stats[TOPIC_WORDS], result.state
    found = weights_of(model)[axes["word"]] - prior
    np.testing.assert_array_equal(np.rint(found), counts)
    np.testing.assert_allclose(found, counts, rtol=0, atol=1e-9)
    assert counts.sum() == documents.n_tokens


@PARTS
def test_streaming_ilr_of_one_minibatch_is_ilr(documents, cuts, tmp_path, monkeypatch):
    """The sweeps of one update are the passes of ilr over one slice of 7 000 documents."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    streaming = replace(get("streaming-ilr"), schemes={TOPIC_WORDS: DecayAdd(1.0)})
    told = {"random_state": 3, "client": False, "batch_size": N_DOCS}
    options = {"max_sweeps": 4, "mean_change_tol": 0.0}
    ours = LDA(N_COMPONENTS, method=streaming, options=options, **told).fit(in_parts(documents, cuts))
    batch = replace(get("ilr"), priors=streaming.priors)
    passes = LDA(N_COMPONENTS, method=batch, max_iter=5, slice_size=N_DOCS, **told).fit(documents)
    np.testing.assert_allclose(weights_of(ours), weights_of(passes), rtol=1e-10, atol=1e-10)


@PARTS
def test_cdf_does_not_see_where_minibatches_end(documents, cuts):
    """Each document knows the labels of all before it, whether they are of its minibatch or of earlier ones."""
    told = {"method": "cdf", "order": "stored", "random_state": 3, "client": False}
    one = LDA(N_COMPONENTS, batch_size=N_DOCS, **told).fit(in_parts(documents, cuts))
    several = LDA(N_COMPONENTS, batch_size=700, **told).fit(documents)
    np.testing.assert_allclose(weights_of(one), weights_of(several), rtol=0, atol=1e-9)


@PARTS
def test_a_minibatch_begins_progressively_as_a_stream_of_single_documents(documents, cuts):
    """Without inner iterations to follow: the first of svb-progressive is streaming VB, document by document."""
    start = replace(get("svb-progressive"), schemes={TOPIC_WORDS: Add()}, inner=1)
    told = {"method": start, "order": "stored", "random_state": 3, "client": False, "n_threads": 1}
    few = documents[:2200]
    one = LDA(N_COMPONENTS, batch_size=2200, **told).fit(in_parts(few, [cut for cut in cuts if cut < 2200]))
    stream = LDA(N_COMPONENTS, batch_size=1, **told).fit(few)
    np.testing.assert_allclose(weights_of(one), weights_of(stream), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("batch_size", [70, None])
@pytest.mark.parametrize("name", WHOLE)
def test_minibatches_are_the_same_in_parts_and_slices_on_threads_and_graphs(name, batch_size, corpus):
    found = set()
    makes = [None, None, lambda run: GraphExecutor(run, scheduler="sync")]
    sizes = [([], None, 1), ([33, 60, 120, 121], 9, 2), ([33, 60, 120, 121], 9, 1)]
    for (cuts, slice_size, n_threads), executor in zip(sizes, makes, strict=True):
        model = new_model(get(name), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=1)
        sized = {"batch_size": batch_size, "slice_size": slice_size, "n_threads": n_threads}
        train(model, in_parts(corpus, cuts), Limits(2), executor=executor, **sized)
        found.add(model.topic_words.raw.tobytes() + model.topic_words.sums.tobytes())
    assert len(found) == 1


@pytest.mark.distributed
@pytest.mark.parametrize("name", ["sgs", "svb-progressive"])
def test_workers_change_no_bit(name, corpus, three_workers):
    """Minibatches that lie in several parts, computed whole on one worker and by graphs."""
    divided = in_parts(corpus, [33, 60, 120, 121])
    found = set()
    for client, executor in (
        (None, None),
        (three_workers, None),
        (three_workers, lambda run: GraphExecutor(run, three_workers)),
    ):
        model = new_model(get(name), 4, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=1)
        sized = {"batch_size": 70, "n_threads": 1 if client is None else None}
        train(model, divided, Limits(2), client=client, executor=executor, **sized)
        found.add(model.topic_words.raw.tobytes() + model.topic_words.sums.tobytes())
    assert len(found) == 1


@pytest.mark.parametrize("name", WHOLE)
def test_smaller_slices_are_refused(name, corpus):
    with pytest.raises(SettingError, match=r"slice_size=20: .* whole minibatch.*batch_size=20"):
        LDA(4, method=name, slice_size=20, batch_size=50, client=False).fit(corpus)
    with pytest.raises(SettingError, match="slice_size=20"):
        LDA(4, method=replace(get(name), batch_size=None), slice_size=20, client=False).fit(corpus)
    told = {"random_state": 0, "client": False, "n_threads": 1, "max_iter": 1, "batch_size": 50}
    fits = (LDA(4, method=name, slice_size=size, **told).fit(corpus) for size in (None, 50))
    np.testing.assert_array_equal(*(fitted.components_ for fitted in fits))
