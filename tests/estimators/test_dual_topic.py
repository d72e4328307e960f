"""The dual topic model as users see it: what it recovers and predicts, and what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linear_sum_assignment

import bigtopic as bt
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import BigtopicError, InputError, SettingError
from bigtopic.state.params import Params

pytestmark = pytest.mark.battery(2)
METHODS = ["dual-cgs", "dual-ilr", "dual-mf", "dual-online"]
# For tests of many passes: a sampler, and a method that learns online
TWO = [
    name if name in ("dual-cgs", "dual-online") else pytest.param(name, marks=pytest.mark.slow)
    for name in METHODS
]
SHAPE = (3, 4)
QUIET = {"client": False, "n_threads": 1, "progress": False}


class Truth:
    """A dual topic model with known topics: each has rows or columns of its own, which make it the only answer."""

    def __init__(self, shape: tuple[int, int] = SHAPE, n_rows: int = 60, n_columns: int = 50) -> None:
        rng = np.random.default_rng(0)
        preferred = np.subtract.outer(np.arange(shape[0]), np.arange(shape[1])) % min(shape) == 0
        joint = np.where(preferred, 1.0, 0.01) * rng.uniform(0.5, 1.5, shape)
        self.joint = joint / joint.sum()
        self.rows, self.columns = (topics(rng, n, k) for n, k in ((n_rows, shape[0]), (n_columns, shape[1])))

    @property
    def pairs(self) -> np.ndarray:
        """p(row, column)."""
        return self.rows @ self.joint @ self.columns.T

    def records(self, n: int, seed: int = 1) -> sparse.csr_array:
        drawn = np.random.default_rng(seed).multinomial(n, self.pairs.ravel())
        return sparse.csr_array(drawn.reshape(self.pairs.shape))


def topics(rng: np.random.Generator, n: int, n_topics: int) -> np.ndarray:
    """Distributions over n rows, columns of the result; half of the rows are of one topic alone."""
    drawn = rng.dirichlet(np.full(n, 0.5), n_topics).T
    owner = np.arange(n) % (2 * n_topics)
    drawn[(owner[:, None] < n_topics) & (owner[:, None] != np.arange(n_topics))] = 0
    return drawn / drawn.sum(axis=0)


def fit(counts, method="dual-mf", shape=SHAPE, **settings) -> bt.DualTopicModel:
    return bt.DualTopicModel(*shape, method=method, **QUIET, **settings).fit(counts)


def pairs_of(model) -> np.ndarray:
    return model.row_topics_ @ model.joint_ @ model.column_topics_.T


def matched(found: np.ndarray, true: np.ndarray) -> tuple[np.ndarray, float]:
    """The order of the topics that fits best, and the mean total variation distance from the true ones."""
    distances = np.abs(found[:, :, None] - true[:, None, :]).sum(axis=0) / 2
    of_found, of_true = linear_sum_assignment(distances)
    return of_found[np.argsort(of_true)], float(distances[of_found, of_true].mean())


@pytest.fixture(scope="module")
def truth() -> Truth:
    return Truth()


@pytest.mark.costly
@pytest.mark.parametrize("method", TWO)
def test_more_records_bring_every_part_nearer_to_the_truth(method):
    """As many row topics as column topics: of more of one side, several mixtures have the same pairs."""
    errors, truth = [], Truth((3, 3))
    for n in (1_000, 100_000):
        model = fit(truth.records(n), method, (3, 3), max_iter=100)
        of_rows, rows = matched(model.row_topics_, truth.rows)
        of_columns, columns = matched(model.column_topics_, truth.columns)
        joint = np.abs(model.joint_[np.ix_(of_rows, of_columns)] - truth.joint).sum() / 2
        pairs = np.abs(pairs_of(model) - truth.pairs).sum() / 2
        errors.append([rows, columns, joint, pairs])
    few, many = np.array(errors)
    assert (many < few).all() and (many[[0, 1, 3]] < few[[0, 1, 3]] / 4).all()
    # An estimate of each cell by itself is off by its sampling error; topics share what is known of the cells.
    cells = np.abs(truth.records(100_000).toarray() / 100_000 - truth.pairs).sum() / 2
    assert many[3] < cells


@pytest.mark.parametrize("method", METHODS)
def test_probabilities_are_distributions_and_agree(truth, method):
    model = fit(truth.records(3_000), method, max_iter=3)
    np.testing.assert_allclose(model.row_topics_.sum(axis=0), 1, rtol=1e-6)
    np.testing.assert_allclose(model.column_topics_.sum(axis=0), 1, rtol=1e-6)
    assert model.joint_.shape == SHAPE and model.joint_.sum() == pytest.approx(1, rel=1e-9)
    pairs = pairs_of(model)
    assert pairs.sum() == pytest.approx(1, rel=1e-6)
    rows, columns = np.indices(pairs.shape).reshape(2, -1)
    np.testing.assert_allclose(model.joint_probability(rows, columns), pairs.ravel(), rtol=1e-6)
    conditional = model.column_probabilities(np.arange(len(pairs)))
    np.testing.assert_allclose(conditional, pairs / pairs.sum(axis=1, keepdims=True), rtol=1e-6)
    best = model.recommend(7, 5)
    order = np.argsort(-conditional[7], kind="stable")[:5]
    assert best == [(model.vocabulary_[int(c)], pytest.approx(conditional[7, c])) for c in order]


def test_as_many_rows_as_columns(truth):
    model = fit(truth.records(1_000), max_iter=2)
    for rows, columns in (([0, 1], [0]), ([0], [0, 1]), (0, [1, 2]), ([0, 1, 2], [0, 1]), ([0], [])):
        with pytest.raises(
            SettingError, match=r"^rows, columns: \d rows and \d columns; give a column for each row"
        ):
            model.joint_probability(rows, columns)
    assert model.joint_probability(0, 5).shape == (1,)


def test_no_rows(truth):
    model = fit(truth.records(1_000), max_iter=2)
    for nothing in ([], (), np.zeros(0, int)):
        assert model.column_probabilities(nothing).shape == (0, 50)
        assert model.joint_probability(nothing, nothing).shape == (0,)
    with pytest.raises(SettingError, match="give whole numbers from 0 to 59"):
        model.column_probabilities([[]])


@pytest.mark.parametrize("method", METHODS)
def test_with_one_row_topic_all_rows_have_the_same_columns(truth, method):
    model = fit(truth.records(3_000), method, (1, 4), max_iter=5)
    conditional = model.column_probabilities(np.arange(60))
    np.testing.assert_allclose(conditional, np.broadcast_to(conditional[:1], conditional.shape), rtol=1e-9)
    np.testing.assert_allclose(model.transform(truth.records(3_000)), 1)


@pytest.mark.parametrize("method", ["dual-cgs", "dual-ilr", "dual-mf"])
def test_with_one_topic_each_transposed_counts_have_the_transposed_answer(truth, method):
    counts = truth.records(3_000)
    model, other = (fit(each, method, (1, 1), max_iter=2) for each in (counts, counts.T.tocsr()))
    np.testing.assert_allclose(pairs_of(other), pairs_of(model).T, rtol=1e-6)


@pytest.mark.costly
@pytest.mark.parametrize("method", [name for name in TWO if name != "dual-online"])
def test_the_transposed_fit_is_nearer_than_the_truth(truth, method):
    counts = truth.records(30_000)
    model, other = fit(counts, method, max_iter=100), fit(counts.T.tocsr(), method, SHAPE[::-1], max_iter=100)
    between = np.abs(pairs_of(other).T - pairs_of(model)).sum()
    assert between < np.abs(pairs_of(model) - truth.pairs).sum()


@pytest.mark.parametrize("method", METHODS)
def test_predictions_are_of_the_averaged_distributions(truth, method):
    model = fit(truth.records(4000), method, average=True, max_iter=4)
    found = model.row_topics_, model.column_topics_, model.joint_
    latest = fit(truth.records(4000), method, max_iter=4)
    np.testing.assert_array_equal(model._model.params["joint"].raw, latest._model.params["joint"].raw)
    assert np.abs(found[2] - latest.joint_).max() > 1e-4
    model._model.params = Params(model._model.estimates())
    for mean, expected in zip(found, (model.row_topics_, model.column_topics_, model.joint_), strict=True):
        np.testing.assert_array_equal(mean, expected)


def test_topics_of_rows_are_mixtures_of_column_topics(truth):
    model = fit(truth.records(10_000))
    mixed = model.joint_ / model.joint_.sum(axis=1, keepdims=True) @ model.column_topics_.T
    np.testing.assert_allclose(model.get_topics(), mixed, rtol=1e-5)
    assert [len(topic) for topic in model.topics(6)] == [6] * 3
    np.testing.assert_allclose(model.components_ / model.components_.sum(axis=1)[:, None], mixed, rtol=1e-5)
    topics = model.transform(truth.records(10_000))
    assert topics.shape == (60, 3)
    expected = model.row_topics_ * model.joint_.sum(axis=1)
    expected /= expected.sum(axis=1, keepdims=True)
    assert (topics.argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.8
    assert list(model.get_feature_names_out()) == [f"dualtopicmodel{k}" for k in range(3)]


@pytest.mark.parametrize("method", METHODS)
def test_a_saved_model_predicts_the_same(truth, method, tmp_path):
    model = fit(truth.records(3_000), method, max_iter=2)
    model.save(tmp_path / "model.zarr")
    loaded = bt.load_model(tmp_path / "model.zarr")
    assert isinstance(loaded, bt.DualTopicModel) and loaded.get_params() == {
        **model.get_params(),
        "client": None,
    }
    np.testing.assert_array_equal(pairs_of(loaded), pairs_of(model))
    np.testing.assert_array_equal(loaded.transform(np.eye(50)), model.transform(np.eye(50)))


@pytest.mark.costly
@pytest.mark.parametrize("method", METHODS)
def test_a_run_that_is_resumed_has_the_bits_of_one_that_is_not(truth, method, tmp_path):
    class Killed(Exception):
        pass

    def kill(event):
        if event.kind == "pass" and event.pass_number >= 2:
            raise Killed

    settings = {"max_iter": 4, "batch_size": 20, "slice_size": 10}
    records = from_matrix(truth.records(5_000))
    whole = fit(records, method, **settings)
    folder = bt.Checkpoint(tmp_path / "run", seconds=0)
    cut = bt.DualTopicModel(*SHAPE, method=method, callbacks=[kill], **QUIET, **settings)
    with pytest.raises(Killed):
        cut.fit(records, checkpoint=folder)
    resumed = bt.DualTopicModel(*SHAPE, method=method, **QUIET, **settings)
    resumed.fit(records, checkpoint=folder, resume=True)
    np.testing.assert_array_equal(pairs_of(resumed), pairs_of(whole))


def test_a_stream_of_rows_grows(truth):
    counts = Truth(n_rows=200).records(20_000).toarray()
    model = bt.DualTopicModel(*SHAPE, method="dual-online", **QUIET)
    model.partial_fit(counts[:150])
    assert model.row_topics_.shape == (150, 3)
    model.partial_fit(counts)
    assert model.row_topics_.shape == (200, 3) and np.isfinite(model.row_topics_).all()


# ---------------------------------------------------------------- held-out records


def test_every_record_is_on_one_side_and_every_row_on_both(truth):
    counts = truth.records(2_000)
    train, test = bt.evaluate.split_records(from_matrix(counts), 0.3, random_state=4)
    one, other = train.to_scipy().toarray(), test.to_scipy().toarray()
    np.testing.assert_array_equal(one + other, counts.toarray())
    records = counts.sum(axis=1)
    wanted = np.minimum(np.maximum(np.floor(0.3 * records + 0.5), 1), records - 1)
    np.testing.assert_array_equal(other.sum(axis=1), np.where(records > 1, wanted, 0))
    assert (train.n_tokens, test.n_tokens) == (one.sum(), other.sum())
    assert (train.nnz, test.nnz) == ((one > 0).sum(), (other > 0).sum())
    pieces = [test.parts[0].read(i, i + 1).counts for i in range(test.n_docs)]
    np.testing.assert_array_equal(np.concatenate(pieces), test.parts[0].read(0, 60).counts)
    np.testing.assert_array_equal(test.parts[0].tokens(3, 9), [piece.sum() for piece in pieces[3:9]])
    assert train.parts[0].fingerprint != test.parts[0].fingerprint


def test_the_score_of_records_is_that_of_their_probabilities(truth):
    train, test = bt.evaluate.split_records(from_matrix(truth.records(20_000)), 0.4)
    model = fit(train)
    score = bt.evaluate.log_records(model, test, client=False)
    assert repr(score).startswith(f"RecordScore({score.value:.4f} ± ") and "joint perplexity" in repr(score)
    counts, pairs = test.to_scipy().toarray(), pairs_of(model)
    n = counts.sum()
    assert (score.n_records, score.n_rows, score.unknown_share) == (n, (counts.sum(axis=1) > 0).sum(), 0)
    assert score.joint == pytest.approx((counts * np.log(pairs)).sum() / n)
    conditional = pairs / pairs.sum(axis=1, keepdims=True)
    assert score.value == pytest.approx((counts * np.log(conditional)).sum() / n)
    assert score.perplexity == pytest.approx(np.exp(-score.value))
    assert score.joint_perplexity == pytest.approx(np.exp(-score.joint))
    best = (counts * np.log(truth.pairs / truth.pairs.sum(axis=1, keepdims=True))).sum() / n
    assert best - 0.1 < score.value < best + 3 * score.standard_error
    assert set(score.to_dict()) == set(score.reported)


@pytest.mark.costly
@pytest.mark.parametrize("method", TWO)
def test_held_out_records_are_likelier_than_without_row_topics(truth, method):
    train, test = bt.evaluate.split_records(from_matrix(truth.records(20_000)), 0.4)
    scores = [
        bt.evaluate.log_records(fit(train, method, shape, max_iter=100), test, client=False)
        for shape in ((1, 1), SHAPE)
    ]
    assert scores[1].value - scores[0].value > 5 * scores[0].standard_error


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_row_topics": 0}, "n_row_topics=0: must be a whole number"),
        ({"n_column_topics": 2.5}, r"n_column_topics=2\.5: must be a whole number"),
        (
            {"method": "online-cvb0"},
            "model 'lda' counts topic, but DualTopicModel fits models with row topics",
        ),
        (
            {"method": "mf"},
            "choose one of: dual-cgs, dual-ilr, dual-mf, dual-online; or a paper's name: ilr:",
        ),
        ({"joint_prior": -1.0}, "joint_prior=-1.0: must be positive"),
        ({"row_topic_prior": "much"}, "row_topic_prior='much': must be a number"),
        ({"method": "dual-cgs", "learning_decay": 0.7}, "no step size"),
        ({"options": {"sweeps": 3}}, "has no option 'sweeps'"),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        bt.DualTopicModel(**{**QUIET, **settings}).fit(np.ones((4, 4)))


def test_other_estimators_refuse_its_methods():
    with pytest.raises(
        SettingError, match="model 'dual' counts row_topic, column_topic, but LDA fits models with one"
    ):
        bt.LDA(method="dual-mf").fit(np.ones((4, 4)))


def test_rows_and_columns_that_are_not_there_are_refused(truth):
    model = fit(truth.records(1_000), max_iter=1)
    with pytest.raises(SettingError, match="2 rows and 3 columns"):
        model.joint_probability([0, 1], [0, 1, 2])
    with pytest.raises(SettingError, match="n=-1: must be a whole number"):
        model.recommend(0, n=-1)
    for call in (
        lambda: model.recommend(60),
        lambda: model.column_probabilities([-1]),
        lambda: model.joint_probability([0], [50]),
        lambda: model.joint_probability([0.5], [0]),
    ):
        with pytest.raises(SettingError, match=r"give whole numbers from 0 to (59|49)"):
            call()
    with pytest.raises(InputError, match="row 60 of the source is not one of the model's 60 rows"):
        bt.evaluate.log_records(model, from_matrix(np.ones((61, 50))), client=False)
    with pytest.raises(BigtopicError, match=r"51 columns, the model 50"):
        bt.evaluate.log_records(model, from_matrix(np.ones((60, 51))), client=False)
    with pytest.raises(SettingError, match="has no row topics; give a fitted DualTopicModel"):
        bt.evaluate.log_records(bt.LDA(2, client=False).fit(np.ones((4, 4))), from_matrix(np.ones((4, 4))))


@pytest.mark.parametrize("size", [0, 0.0, 1.0, 3, True, "half"], ids=repr)
def test_a_test_size_that_is_no_share_is_refused(size):
    with pytest.raises(SettingError, match="must be a share of each row's records"):
        bt.evaluate.split_records(from_matrix(np.ones((4, 4))), size)


def test_fractional_counts(truth):
    light = from_matrix(truth.records(2_000) * np.float32(0.5))
    with pytest.raises(InputError, match="fractional counts"):
        bt.evaluate.split_records(light)[0].to_scipy()
    with pytest.raises(SettingError, match=r"counts must be whole numbers.*one that does not sample"):
        fit(light, "dual-cgs")
    assert np.isfinite(pairs_of(fit(light, "dual-mf", max_iter=2))).all()


def test_records_before_fitting():
    with pytest.raises(BigtopicError, match="call fit first"):
        bt.DualTopicModel().recommend(0)


# ---------------------------------------------------------------- starts


@pytest.mark.costly
@pytest.mark.parametrize("method", METHODS)
def test_a_start_from_another_model_needs_fewer_passes(method, truth, tmp_path):
    """Columns are matched by name, rows need not be the same."""
    names = np.array([f"column {i}" for i in range(50)])
    first = fit(from_matrix(truth.records(20_000), names), method, max_iter=60)
    order = np.random.default_rng(3).permutation(50)
    other = from_matrix(truth.records(20_000, seed=2)[:40, order], names[order])
    first.save(tmp_path / "model")
    begun, by_path = (
        bt.DualTopicModel(*SHAPE, method=method, init=init, max_iter=2, **QUIET).fit(other)
        for init in (first, str(tmp_path / "model"))
    )
    plain = fit(other, method, max_iter=2)
    assert (begun.joint_ == by_path.joint_).all() and (begun.row_topics_ == by_path.row_topics_).all()
    distances = [np.abs(m.column_topics_ - first.column_topics_[order]).sum(axis=0) for m in (begun, plain)]
    assert distances[0].max() < 0.5 < distances[1].max()


@pytest.mark.parametrize("method", METHODS)
def test_a_random_joint_distribution_is_a_start(method, truth, tmp_path):
    counts, several = from_matrix(truth.records(20_000)), {"batch_size": 20, "max_iter": 4}
    one, same, other, plain = (
        bt.DualTopicModel(*SHAPE, method=method, init=init, **{**QUIET, "random_state": seed}, **several).fit(
            counts
        )
        for init, seed in (("joint", 0), ("joint", 0), ("joint", 1), (None, 0))
    )
    assert (one.joint_ == same.joint_).all()
    assert (one.joint_ != other.joint_).any() and (one.joint_ != plain.joint_).any()
    begun = []
    model = bt.DualTopicModel(*SHAPE, method=method, init="joint", **QUIET, **several)
    model.set_params(callbacks=[lambda event: begun.append(model.joint_)]).fit(counts)
    assert begun[0].std() > 0.01
    assert (model.joint_ == one.joint_).all()


def test_the_random_joint_distribution_has_the_joint_prior(truth):
    """Dirichlet(alpha): the mean over seeds is even, the variance p (1 - p) / (1 + sum of alpha)."""
    drawn, counts = [], truth.records(100_000)
    for seed in range(60):
        begun = []
        model = bt.DualTopicModel(*SHAPE, init="joint", max_iter=1, **{**QUIET, "random_state": seed})
        model.set_params(callbacks=[lambda event, m=model, b=begun: b.append(m.joint_)]).fit(counts)
        drawn.append(begun[0])
    n, p = np.size(drawn), 1 / 12
    variance = p * (1 - p) / (1 + 12 * 0.5)
    squares = (np.array(drawn) - p) ** 2
    assert abs(squares.mean() - variance) < 4 * squares.std() / np.sqrt(n)


@pytest.mark.parametrize(
    ("init", "says"),
    [
        (np.ones((3, 50)), "ndarray has no row topics and column topics; give a fitted DualTopicModel"),
        (
            lambda counts: bt.LDA(3, **QUIET, max_iter=1).fit(counts),
            "TopicModel has no row topics|LDA has no row",
        ),
        (
            lambda counts: fit(counts, shape=(4, 3), max_iter=1),
            "init has 4 row_topics and 3 column_topics, but",
        ),
    ],
)
def test_what_is_no_start_of_a_dual_model_is_refused(init, says, truth):
    counts = truth.records(1_000)
    given = init(counts) if callable(init) else init
    with pytest.raises(SettingError, match=says):
        bt.DualTopicModel(*SHAPE, init=given, **QUIET).fit(counts)
