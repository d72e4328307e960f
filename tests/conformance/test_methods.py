"""What every row of the table of methods promises."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest
from reference import case

from bigtopic import kernels, schemes
from bigtopic import methods as table
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method, get
from bigtopic.methods.settings import with_settings
from bigtopic.plan.slices import Plan
from bigtopic.schemes.interpolate import InterpolateNormalised
from bigtopic.schemes.langevin import Langevin
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.new_model import new_model
from bigtopic.types import AxisStats, RoundInfo, Scheme

pytestmark = pytest.mark.battery(2)
TABLE = [get(row["method"]) for row in table()]
# Those of other models have tests of their own.
METHODS = [get(name) for name in case.methods_of_lda()]
LATER = [phase for method in METHODS for phase in method.then]  # a kernel and schemes of their own
# In place of the papers' settings of `LDA`, where these take seconds on so few documents.
CHEAPER = {"splda": {"batch_size": 20}}
# Their first labels, walks or responsibilities are drawn by the topics' numbers.
DRAWN = {
    "ope",
    "gibbs",
    "gibbs_expected_log",
    "gibbs_boosted",
    "v_oem",
    "v_oem_expected_log",
    "sgs",
    "streaming_ilr",
    "cdf",
}


@pytest.fixture(
    params=[*METHODS, *LATER],
    ids=lambda method: f"{method.name}-{method.phase}" if method in LATER else method.name,
)
def method(request) -> Method:
    return request.param


def in_table(method: Method) -> bool:
    """Whether it is a row of the table, unchanged, or a later phase of one."""
    row = get(method.name)
    return row is method or method in row.then


def learn(method: Method, corpus, n_components: int = 4, n_passes: int = 2, seed: int = 0, **sizes):
    model = new_model(method, n_components, corpus.vocabulary, n_tokens=corpus.n_tokens, seed=seed)
    sizes = {"batch_size": None if method.batch_size is None else 70, "slice_size": 20, **sizes}
    train(model, corpus, Limits(n_passes), n_threads=1, **sizes)
    return model


def test_declaration(method):
    kernel = method.load_kernel()
    assert in_table(method)
    assert set(method.schemes) == set(kernel.statistics) <= set(method.model.arrays)
    assert set(kernel.views) <= set(method.model.arrays)
    for name, axis in kernel.statistics.items():
        assert method.model.arrays[name].rows == axis
    assert all(isinstance(scheme, Scheme) for scheme in method.schemes.values())
    assert set(method.options) <= {*kernel.options, *method.load_inference().options}
    assert method.summary and method.paper and method.max_iter >= 1


def test_rows_name_kernels_and_schemes_that_are_there():
    assert {method.kernel for method in TABLE} <= set(kernels.names())
    known = {schemes.load(name) for name in schemes.names()}
    assert {type(scheme) for method in TABLE for scheme in method.schemes.values()} <= known
    assert len({method.name for method in TABLE}) == len(TABLE)


def test_the_table_is_drawn():
    text, html = repr(table()), table()._repr_html_()
    for method in TABLE:
        assert method.name in text and method.name in html
    assert html.count("<tr>") == len(TABLE) + 1
    assert table.get(None).name == table.DEFAULT


def test_schedules_are_options_of_online_methods(method):
    online = any("learning_decay" in {f.name for f in fields(s)} for s in method.schemes.values())
    if online:
        changed, _ = with_settings(method, {"learning_decay": 0.8, "learning_offset": 3.0})
        scheme = next(iter(changed.schemes.values()))
        assert (scheme.learning_decay, scheme.learning_offset) == (0.8, 3.0)
        assert in_table(method) and not in_table(changed)
    else:
        with pytest.raises(SettingError, match=r"learning_decay.*no step size"):
            with_settings(method, {"learning_decay": 0.8})
    assert with_settings(method, {}) == (method, {})


def test_topics_are_finite_positive_distributions(method, corpus):
    settings = {"max_iter": 2, "client": False, **CHEAPER.get(method.name, {})}
    model = LDA(4, method=method, **settings).fit(corpus)
    topics = model.get_topics()
    assert np.isfinite(topics).all() and (topics >= 0).all()
    np.testing.assert_allclose(topics.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(model.transform(corpus).sum(axis=1), 1, rtol=1e-5)


def test_it_learns(method, corpus):
    """Held-out words are far likelier than under the words' frequencies alone, by many standard errors."""
    from bigtopic.evaluation import log_predictive

    held_in, held_out = corpus.split(100, random_state=1)
    result = log_predictive(
        LDA(4, method=method, max_iter=8, batch_size=40, client=False).fit(held_in), held_out
    )
    one_topic = log_predictive(LDA(1, method="vb", max_iter=1, client=False).fit(held_in), held_out)
    gain, error = result.minus(one_topic)
    assert gain > 10 * error > 0


def test_the_seed_decides(method, corpus):
    one, same, other = (learn(method, corpus, seed=seed).topic_words for seed in (1, 1, 2))
    assert one.raw.tobytes() == same.raw.tobytes() and one.sums.tobytes() == same.sums.tobytes()
    assert one.raw.tobytes() != other.raw.tobytes()


def test_slices_change_rounding_only(method, corpus):
    """Documents of a slice do not influence each other, so slices of 11 or of 70 say the same."""
    if method.load_kernel().interacts:
        pytest.skip("the slice size is a hyper-parameter")
    few, many = (learn(method, corpus, n_passes=1, slice_size=size).topic_words for size in (70, 11))
    expected = few.gather(None)
    np.testing.assert_allclose(many.gather(None), expected, rtol=2e-3, atol=1e-4 * expected.max())


def follow(method: Method, corpus, array: LazyArray) -> None:
    """Two passes of the scheme alone: an array of one topic, which has all tokens, in float64.

    Where documents are remembered from pass to pass, later passes say that nothing has changed.
    """
    remembered = method.load_kernel().state == "run"
    size = method.batch_size and 70
    plan = Plan([part.n_docs for part in corpus.parts], corpus.nnz / 300, size, 20, seed=0)
    counts, step = corpus.to_scipy(order="stored").toarray().astype(float), 0
    n_steps = 2 * len(list(plan.rounds(0)))
    for pass_number in range(2):
        for rnd in plan.rounds(pass_number):
            rows = np.concatenate([np.arange(ref.start, ref.stop) for ref in rnd.slices])
            values = np.zeros((80, 16))
            values[:, 0] = 0 if remembered and pass_number else counts[rows].sum(axis=0)
            step += 1
            info = RoundInfo(step, len(rows), values.sum(), 300, corpus.n_tokens, n_steps=n_steps)
            seen = np.flatnonzero(values[:, 0]).astype(np.int32)
            method.schemes["topic_words"].step(array, AxisStats(seen, values[seen]), info)


def test_one_topic_has_a_closed_form(method, corpus):
    """With one topic a minibatch says its word counts: the scheme alone makes the params."""
    model = learn(method, corpus, n_components=1, n_passes=2)
    start = new_model(method, 1, corpus.vocabulary, n_tokens=corpus.n_tokens).topic_words
    array = LazyArray(start.raw.astype(float), start.scale, start.prior, 1, "word")
    follow(method, corpus, array)
    np.testing.assert_allclose(model.topic_words.gather(None), array.gather(None), rtol=2e-5, atol=1e-6)
    settings = {"max_iter": 1, "client": False, **CHEAPER.get(method.name, {})}
    topics = LDA(1, method=method, **settings).fit(corpus).transform(corpus)
    np.testing.assert_allclose(topics, 1.0)


def test_topics_share_the_tokens_of_every_word(method, corpus):
    """However many topics there are, their sum is what one topic would have."""
    if isinstance(method.schemes["topic_words"], InterpolateNormalised | Langevin):
        pytest.skip("each topic moves by its own total, or by chance")
    found = learn(method, corpus, n_passes=2).topic_words
    start = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens).topic_words
    raw = np.zeros((80, 16))
    raw[:, 0] = start.raw.sum(axis=1, dtype=float)
    array = LazyArray(raw, np.ones(16), np.zeros((1, 1)), 1, "word")
    follow(method, corpus, array)
    statistics = found.gather(None)[:, :4] - found.prior
    np.testing.assert_allclose(statistics.sum(axis=1), array.gather(None)[:, 0], rtol=2e-5, atol=1e-5)


def test_batch_vb_of_one_topic_is_the_prior_and_the_counts(corpus):
    model = LDA(1, method="vb", topic_word_prior=0.3, max_iter=1, client=False).fit(corpus)
    expected = 0.3 + np.asarray(corpus.to_scipy().sum(axis=0))
    np.testing.assert_allclose(model.components_, expected, rtol=1e-6)


def test_named_topics_may_be_permuted(method, corpus):
    """The methods treat topics alike: params that begin permuted stay permuted."""
    if method.kernel in DRAWN or method.load_kernel().state == "run":
        pytest.skip("draws are keyed by the topics' numbers: see the kernel's own tests")
    order = np.array([2, 0, 3, 1])
    ends = []
    for permute in (False, True):
        model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
        array = model.topic_words
        if permute:
            array.raw[:, :4] = array.raw[:, order]
            array.fold()
        train(model, corpus, Limits(1), batch_size=method.batch_size and 70, n_threads=1)
        ends.append(model.topic_words.gather(None)[:, :4])
    np.testing.assert_allclose(ends[1], ends[0][:, order], rtol=5e-3, atol=1e-3 * ends[0].max())


def test_the_order_of_documents_changes_rounding_only(method, synthetic):
    """Of one minibatch, whose documents are alike but for their place."""
    if method.kernel in DRAWN or method.load_kernel().interacts:
        pytest.skip("documents draw by their place, or see each other")
    ends = []
    for counts in (synthetic.counts, synthetic.counts[::-1]):
        documents = from_matrix(counts, shuffle=False)
        ends.append(learn(method, documents, batch_size=None).topic_words.gather(None))
    np.testing.assert_allclose(ends[1], ends[0], rtol=2e-3, atol=1e-4 * ends[0].max())


def test_defaults_suit_the_size_of_the_corpus(method):
    for n_docs in (1, 10, 300, 10_000, 10_000_000):
        batch = method.batch_size_for(n_docs)
        assert (batch is None) == (method.batch_size is None)
        assert batch is None or 1 <= batch <= method.batch_size
        assert 1 <= method.max_iter_for(n_docs, batch) <= method.max_iter


def test_a_tiny_corpus_is_no_special_case(method):
    model = LDA(3, method=method, max_iter=2, client=False).fit(np.array([[1, 0, 2, 0]]))
    assert np.isfinite(model.components_).all() and model.components_.shape == (3, 4)
    assert model.transform(np.array([[0, 0, 0, 1], [1, 0, 0, 0]])).shape == (2, 3)


def test_a_method_of_ones_own_is_a_row_changed(corpus):
    own = replace(get("online-cvb0"), name="mine", batch_size=33, max_iter=1)
    model = LDA(2, method=own, client=False).fit(corpus)
    assert model._model.method.name == "mine" and model.n_iter_ == 1
