"""A start changes where a run ends, not what it has counted: every method of the table, begun with given topics."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic import kernels
from bigtopic.errors import InputError, SettingError, VocabularyMismatch
from bigtopic.methods import Method, get
from bigtopic.schemes.add import Add, DecayAdd
from bigtopic.schemes.interpolate import InterpolateRaw
from bigtopic.types import Hyper, View

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

pytestmark = pytest.mark.battery
K, N_WORDS, PASSES = 3, 60, 2
HERE = {"client": False, "n_threads": 1, "random_state": 0, "progress": False}
TABLE = [get(row["method"]) for row in bt.methods()]


def added(method: Method) -> list[str]:
    """Arrays of tokens, whose statistics are sums."""
    schemes = {name: one for name, one in method.schemes.items() if not name.endswith("variances")}
    return [name for name, scheme in schemes.items() if isinstance(scheme, Add | DecayAdd)]


def counts_documents(method: Method) -> bool:
    """Whether it begins with nothing and adds up what documents have, and nothing else."""
    starts = {name: method.init.get(name, method.model.arrays[name].start) for name in added(method)}
    return bool(starts) and all(start is None or start[1] == 0 for start in starts.values())


# dsgs has no bits to compare: they depend on who is faster
COUNTING = [method for method in TABLE if counts_documents(method) and not method.asynchronous]
KEEPING = [method for method in TABLE if added(method) and not counts_documents(method)]
RESCALING = [method for method in TABLE if not added(method)]
AVERAGING = [
    method
    for method in RESCALING
    if any(isinstance(scheme, InterpolateRaw) for scheme in method.schemes.values())
]


def by_name(methods):
    return pytest.mark.parametrize("method", methods, ids=lambda method: method.name)


@pytest.fixture(scope="module")
def truth() -> signed.Truth:
    return signed.drawn(240, N_WORDS, 12, K, seed=2)


@pytest.fixture(scope="module")
def corpus(truth):
    return signed.corpus_of(truth.docs, n_parts=1)


@pytest.fixture(scope="module")
def noise() -> np.ndarray:
    """Weights of thirty times as many tokens as the corpus has, which have nothing to do with it."""
    return np.random.default_rng(5).gamma(0.3, 5000.0, (K, N_WORDS)) + 100


def is_dual(method: Method) -> bool:
    return len(method.model.components) == 2


def estimator(method: Method, init=None, **settings):
    sizes = {"max_iter": PASSES, "batch_size": method.batch_size and 60, "tol": 0.0} | HERE | settings
    if is_dual(method):
        return bt.DualTopicModel(K, K, method=method.name, init=init, **sizes)
    kind = bt.AuthorTopicModel if "author_topics" in method.model.arrays else bt.LDA
    return kind(K, method=method.name, init=init, **sizes)


@pytest.fixture(scope="module")
def given(noise, corpus):
    """What a method is given: topics of noise; to a dual model, those of columns in another order."""
    shuffled = bt.from_matrix(corpus.to_scipy()[:, np.random.default_rng(1).permutation(N_WORDS)])
    dual = bt.DualTopicModel(K, K, max_iter=5, **HERE).fit(shuffled)
    return lambda method: dual if is_dual(method) else noise


def weight(model, names) -> np.ndarray:
    return np.array([model._model.params[name].totals().sum() for name in names])


def bits(model):
    arrays = model._model.params.arrays
    return {name: (array.raw.tobytes(), array.sums.tobytes()) for name, array in arrays.items()}


def test_every_method_is_of_one_kind():
    assert {method.name for method in KEEPING} == {
        "streaming-vb",
        "streaming-ope",
        "streaming-fw",
        "svb",
        "svb-progressive",
    }
    assert len(COUNTING) > 10 and len(RESCALING) > 10


@by_name(COUNTING)
def test_documents_alone_are_counted(method, corpus, given):
    names = added(method)
    plain, begun = (estimator(method, init).fit(corpus) for init in (None, given(method)))
    np.testing.assert_allclose(weight(begun, names), weight(plain, names), rtol=1e-9)
    assert bits(begun) != bits(plain)


@by_name(COUNTING)
def test_documents_alone_are_counted_of_a_stream(method, corpus, given):
    names = added(method)
    plain, begun = (estimator(method, init) for init in (None, given(method)))
    for first in range(0, 240, 80):
        for model in (plain, begun):
            model.partial_fit(corpus[first : first + 80])
        np.testing.assert_allclose(weight(begun, names), weight(plain, names), rtol=1e-9)
    assert bits(begun) != bits(plain)


@by_name(KEEPING)
def test_a_stream_keeps_what_it_is_given_at_its_own_weight(method, corpus, noise):
    """The prior is among what was given, and is counted once."""
    begun = estimator(method, noise).fit(corpus)
    expected = noise.sum() + PASSES * corpus.n_tokens
    assert begun.components_.sum(dtype=float) == pytest.approx(expected, rel=1e-5)
    models = estimator(method, begun).fit(corpus)
    assert models.components_.sum(dtype=float) == pytest.approx(expected + PASSES * corpus.n_tokens, rel=1e-5)


@by_name(KEEPING)
def test_probabilities_have_no_weight_and_that_is_said(method, corpus, noise, capsys):
    probabilities = noise / noise.sum(axis=1, keepdims=True)
    begun = estimator(method, probabilities, progress=None).fit(corpus)
    prior = begun._model.topic_words.prior_totals.sum()
    tokens = begun.components_.sum(dtype=float) - prior
    assert tokens == pytest.approx((1 + PASSES) * corpus.n_tokens, rel=1e-5)
    said = capsys.readouterr().err.splitlines()
    counted = f"it counts as {corpus.n_tokens:,.0f} tokens, as many as the corpus or stream has"
    assert said == [f"init has probabilities, which have no weight: {counted}"]


@by_name([method for method in RESCALING if not is_dual(method)])
def test_others_rescale_a_start_and_say_so(method, corpus, noise, capsys):
    one, other = (estimator(method, start, progress=None).fit(corpus) for start in (noise, 1000 * noise))
    np.testing.assert_allclose(one.components_, other.components_, rtol=1e-5)
    said = capsys.readouterr().err.splitlines()
    tokens = f"{corpus.n_tokens:,.0f} tokens, as many as the corpus or stream has"
    if method in AVERAGING:
        tokens = f"{corpus.n_tokens / corpus.n_docs:,.0f} tokens, as many as a document has"
    assert said == [f"init is rescaled to {tokens}"] * 2


@pytest.mark.parametrize("as_stream", [False, True])
@by_name(AVERAGING)
def test_a_mean_per_document_begins_as_heavy_as_a_document(method, corpus, noise, as_stream):
    """The weight is a mean of those of the start and of the minibatches, so it lies between those of documents."""
    begun = estimator(method, noise, max_iter=1)
    (begun.partial_fit if as_stream else begun.fit)(corpus)
    lengths = corpus.to_scipy().sum(axis=1)
    assert lengths.min() <= weight(begun, ["topic_words"]) <= lengths.max()


@by_name(COUNTING)
def test_who_counts_documents_has_nothing_to_say(method, corpus, given, capsys):
    estimator(method, given(method), progress=None).fit(corpus)
    rescales = method.name == "dual-mf"  # its joint distribution
    assert capsys.readouterr().err.count("\n") == rescales


@by_name([method for method in TABLE if not is_dual(method)])
def test_topics_stay_in_the_order_that_was_given(method, truth, corpus):
    """Also where a pass has several updates, of which the first alone sees the start."""
    topics = truth.topic_words.T[[2, 0, 1]]
    begun = estimator(method, corpus.n_tokens * topics).fit(corpus)
    distances = np.abs(topics[:, None] - begun.get_topics()[None]).sum(axis=2)
    assert distances.argmin(axis=1).tolist() == [0, 1, 2]


@by_name([method for method in TABLE if is_dual(method)])
def test_column_topics_stay_in_the_order_that_was_given(method, corpus):
    first = estimator(method, max_iter=40).fit(corpus)
    begun = estimator(method, first).fit(corpus)
    distances = np.abs(first.column_topics_[:, :, None] - begun.column_topics_[:, None]).sum(axis=0)
    assert distances.argmin(axis=1).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("init", "error", "message"),
    [
        (7, SettingError, r"^init: int has no topics; give a fitted estimator"),
        (
            np.ones(N_WORDS),
            SettingError,
            r"^init: an array of shape \(60,\) has no topics; give .* \(n_components, ",
        ),
        (np.zeros((K, N_WORDS)), InputError, "^init: topic weights must be finite"),
        (
            np.ones((K, 12)),
            VocabularyMismatch,
            "^init has 12 columns without names, but this corpus has 60 words",
        ),
    ],
    ids=["a number", "a vector", "zeros", "other words"],
)
def test_what_is_not_a_start_is_refused_by_its_name(init, error, message, corpus):
    with pytest.raises(error, match=message):
        estimator(get("vb"), init).fit(corpus)


@by_name([*COUNTING, *KEEPING])
def test_a_run_that_was_cut_goes_on_to_the_same_bits(method, corpus, given, tmp_path):
    """Before the first update, and between those of the first pass."""

    def interrupt(event):
        if (event.kind, event.step) in ((kind, step), ("start", step)):
            os.kill(os.getpid(), signal.SIGINT)

    whole = bits(estimator(method, given(method)).fit(corpus))
    assert bits(estimator(method, given(method), n_threads=2).fit(corpus)) == whole
    for kind, step in (("start", 0), ("round", 1), ("round", 2)):
        path = tmp_path / f"{kind}-{step}"
        cut = estimator(method, given(method), callbacks=[interrupt]).fit(corpus, checkpoint=path)
        assert cut._model.cursor.step < PASSES * 4
        assert bits(estimator(method, given(method)).fit(corpus, checkpoint=path, resume=True)) == whole


@by_name([*COUNTING, *KEEPING])
def test_a_model_that_has_only_begun_can_be_saved(method, corpus, given, tmp_path):
    def save(event):
        if event.kind == "start":
            model.save(tmp_path / "model")

    model = estimator(method, given(method), callbacks=[save], total_samples=240)
    model.partial_fit(corpus)
    begun = bt.load_model(tmp_path / "model")
    assert begun.n_batch_iter_ == 0
    init = given(method)
    topics = init.get_topics() if is_dual(method) else init / init.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(begun.get_topics(), topics, atol=0.01)
    go_on = begun.set_params(**HERE, batch_size=model.batch_size).partial_fit(corpus)
    assert bits(go_on) == bits(model)


@pytest.mark.parametrize("name", [n for n in kernels.names() if "shares" in kernels.load(n).remembers])
def test_new_entries_begin_as_those_that_are_not_counted_yet(name):
    """Given topics draw nothing at random; where nothing was given, equal responsibilities would stay equal."""
    kernel = kernels.load(name)
    if "joint" in kernel.views:
        pytest.skip("has tests of its own")
    docs, rng = signed.documents([5, 0, 8, 1, 6], N_WORDS, 5, seed=3), np.random.default_rng(2)
    sizes = {"word": N_WORDS, "author": 5}
    rows = {
        name: case.padded(rng.gamma(1.0, size=(sizes[axis], K)), float)
        for name, axis in kernel.statistics.items()
    }
    view = View(rows, {name: values.sum(axis=0) for name, values in rows.items()})
    told = Hyper(np.full(K, 0.3), K, kernel.options, dict.fromkeys(rows, 0.1), sizes, doc_topics=False)
    shape = (4, K) if "author_topics" in rows else (K,)
    nothing = {"shares": np.zeros((len(docs.words), *shape), np.float32)}
    begun = kernel.run(docs, view, told._replace(begun=True), 1, None)
    expected, at_random = (kernel.run(docs, view, told, 1, state) for state in (nothing, None))
    np.testing.assert_array_equal(begun.state["shares"], expected.state["shares"])
    assert (begun.state["shares"] != at_random.state["shares"]).any()
    for each, values in expected.stats.items():
        np.testing.assert_array_equal(begun.stats[each], values)


@pytest.mark.slow
@pytest.mark.distributed
def test_workers_make_the_same_bits(corpus, given, one_worker):
    for method in [*COUNTING, *KEEPING]:
        here, there = (
            estimator(method, given(method), client=client).fit(corpus) for client in (False, one_worker)
        )
        assert bits(here) == bits(there), method.name
