"""Estimators whose method has phases: what comes after a fit, options of later phases, and when these are left out."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

import bigtopic as bt
from bigtopic.datasets import lda_corpus
from bigtopic.errors import BigtopicWarning, InputError, ModelError, SettingError
from bigtopic.estimators.support import phases
from bigtopic.methods.settings import settings_of
from bigtopic.plan.cursor import Cursor

HERE = {"method": "auto", "progress": False, "client": False, "n_threads": 2, "random_state": 1}
SHORT = {"max_iter": 2, "batch_size": 64, "options": {"sampling.max_iter": 10}, **HERE}
DOCS = lda_corpus(300, 60, 4, random_state=0)
X = sparse.csr_matrix(DOCS.counts)


@pytest.fixture(scope="module")
def fitted():
    return bt.LDA(4, **SHORT).fit(X)


def again(model):
    return pickle.loads(pickle.dumps(model))


def phases_of(model, since=0):
    return [row["phase"] for row in model.history_[since:] if "score" not in row]


def distance(model, other):
    """Mean total variation distance of topics of the same numbers."""
    return np.abs(model.get_topics() - other.get_topics()).sum(axis=1).mean() / 2


def test_a_fit_has_all_passes_and_updates_in_its_counts(fitted):
    (online,) = fitted.run_["phases"]
    assert (online["phase"], online["passes"], online["updates"]) == ("online", 2, 10)
    assert fitted.n_iter_ == fitted.run_["passes"] == 12
    assert fitted.n_batch_iter_ == 10 + fitted._model.cursor.step == 20
    assert "12 passes, 20 updates" in fitted._repr_html_()


def test_partial_fit_goes_back_to_the_first_phase_where_that_ended(fitted):
    model, before = again(fitted), len(fitted.history_)
    shares = fitted.get_topics().sum(axis=1)
    model.partial_fit(X[:64])
    assert model._model.cursor == Cursor(pass_number=3, step=11) and model._model.document_state is None
    assert phases_of(model, before) == ["online"] and model.n_iter_ == 13 and model.n_batch_iter_ == 11
    assert "phases" not in model.run_ and model.n_docs_seen_ == 364
    # The next step is (1 + 10) ** -0.5 of the way to the topics of these documents, so most of the old ones is left.
    assert 0 < distance(model, fitted) < 0.5 * distance(bt.LDA(4, **SHORT).partial_fit(X[:64]), fitted)
    np.testing.assert_allclose(shares, model.get_topics().sum(axis=1), rtol=1e-5)
    assert model.partial_fit(X[64:128])._model.cursor.step == 12


def test_partial_fit_goes_on_from_the_mean_of_the_sampling_phase(fitted):
    from bigtopic.estimators.support.fits import go_back

    model = again(fitted)
    topics, tokens = model.get_topics(), float(model._model.estimate("topic_words").raw.sum())
    found = go_back(model)
    np.testing.assert_allclose(model.get_topics(), topics, rtol=1e-5)
    statistics = found.topic_words.raw * found.topic_words.scale
    assert statistics.sum() == pytest.approx(X.sum(), rel=1e-3) == tokens
    assert found.method.load_kernel().name == "sparse_cvb0"


def test_partial_fit_from_scratch_is_the_first_phase_alone():
    model = bt.LDA(4, **SHORT)
    for start in range(0, 300, 100):
        model.partial_fit(X[start : start + 100])
    assert phases_of(model) == ["online"] * 3 and model._model.cursor.phase == 0


def test_streams_that_forget_begin_with_the_topics_of_a_fit():
    words = [f"w{i}" for i in range(60)]
    model = bt.LDA(4, **SHORT, half_life=200, max_words=50).fit(X, vocabulary=words)
    assert len(model.vocabulary_) == 60
    model.partial_fit(X[:100], vocabulary=words, score=True)
    assert len(model.vocabulary_) == 50 and np.isfinite(model.history_[-1]["score"])
    assert model.partial_fit(X[100:200], vocabulary=words).transform(X[:3, :50]).shape == (3, 4)


def appended(tmp_path, n=200):
    path = tmp_path / "corpus.zarr"
    words = [f"w{i}" for i in range(60)]
    bt.ingest(X[:n], path, vocabulary=words)
    model = bt.LDA(4, **SHORT).fit(path)
    bt.append(path, X[n:], vocabulary=words)
    return model, path


def test_update_goes_through_all_phases_anew(tmp_path):
    model, path = appended(tmp_path)
    before, n_iter = len(model.history_), model.n_iter_
    model.update(path)
    assert phases_of(model, before) == ["online"] + ["sampling"] * 10
    assert model._model.cursor.phase == 1 and model.n_iter_ == n_iter + 11 and model.n_docs_seen_ == 300
    (online,) = model.run_["phases"]
    assert online["passes"] == 3 and model.run_["corpus"]["documents"] == 300
    assert model.run_["ended"] == "max_iter"
    assert model.run_["counts"]["n_docs"] == 100 + 10 * 300
    labels = model._model.topic_words.raw[:, :4].sum()
    assert labels == X.sum()  # of old and new documents, and of nothing else
    with pytest.raises(InputError, match="no new documents"):
        model.update(path)
    before = len(model.history_)
    model.update(path, only_new=False, max_iter=2)
    assert phases_of(model, before) == ["online"] * 2 + ["sampling"] * 10
    assert model._model.topic_words.raw[:, :4].sum() == X.sum()


def test_update_of_a_stream_stays_in_the_first_phase(tmp_path):
    model, path = appended(tmp_path)
    model.partial_fit(X[:64])
    before = len(model.history_)
    model.update(path)
    assert phases_of(model, before) == ["online"] and model._model.cursor.phase == 0


def test_update_leaves_out_a_phase_for_which_the_corpus_has_become_too_large(tmp_path, capsys):
    model, path = appended(tmp_path)
    before = len(model.history_)
    model.set_params(options={**model.options, "sampling.enough_tokens": 1000.0}, progress=None).update(path)
    assert phases_of(model, before) == ["online"]
    assert "the sampling phase is left out: option sampling.enough_tokens is 1000" in capsys.readouterr().err


def test_a_time_limit_counts_for_all_phases(tmp_path):
    model, path = appended(tmp_path)
    model.set_params(max_time=1e-6).update(path)
    assert model.run_["ended"] == "max_time" and model._model.cursor.phase == 0
    cut = bt.LDA(4, **SHORT, max_time=1e-6).fit(X)
    assert cut.run_["ended"] == "max_time" and cut._model.cursor.phase == 0 and cut.n_iter_ < 12


def test_a_stored_model_goes_on_as_one_in_memory(fitted, tmp_path):
    fitted.save(tmp_path / "model.zarr")
    stored = bt.load_model(tmp_path / "model.zarr").set_params(**HERE)
    assert stored.n_iter_ == 12 and stored.n_batch_iter_ == 20
    np.testing.assert_array_equal(stored.transform(X), fitted.transform(X))
    one, other = again(fitted).partial_fit(X[:64]), stored.partial_fit(X[:64])
    np.testing.assert_array_equal(one.get_topics(), other.get_topics())
    assert one.n_batch_iter_ == other.n_batch_iter_ == 11


def test_merged_topics_go_on(fitted):
    merged = fitted.merge_topics([[0, 1]])
    expected = fitted.get_topics()[2:]
    assert np.abs(merged.get_topics()[1:] - expected).max() < 0.01
    merged.partial_fit(X[:64])
    assert merged._model.cursor.phase == 0 and merged._model.method.kernel == "sparse_cvb0"
    assert len(merged.topics()) == 3


def test_another_method_since_the_fit_is_refused(fitted):
    model = again(fitted).set_params(method="online-vb")
    with pytest.raises(SettingError, match="learned by 'auto'"):
        model.partial_fit(X[:64])
    np.testing.assert_array_equal(model.get_topics(), fitted.get_topics())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"samplng.max_iter": 5}, "did you mean 'sampling.max_iter'"),
        ({"sampling.swepes": 5}, "no option 'sampling.swepes'.*did you mean 'sampling.sweeps'"),
        ({"sampling.max_iter": -1}, "sampling.max_iter=-1: must be a whole number, 0 or more"),
        ({"sampling.max_iter": 2.5}, "sampling.max_iter=2.5"),
        ({"sampling.average": 1.5}, "sampling.average=1.5: must be a number from 0 to 1"),
        ({"sampling.sweeps": 0}, "sweeps"),
        ({"sampling.sweeps": "many"}, "sweeps"),
        ({"online.max_iter": 3}, "no option 'online.max_iter'"),
        ({"sampling": 3}, "no option 'sampling'"),
    ],
)
def test_options_of_phases_are_checked_before_anything_is_learned(options, message):
    model = bt.LDA(4, options=options, **HERE)
    for learns in (model.fit, model.partial_fit):
        with pytest.raises(SettingError, match=message):
            learns(X)
        assert model._model is None


def test_methods_list_the_options_of_phases():
    rows = {row["option"]: row for row in settings_of(bt.methods.get("auto"))}
    assert rows["sampling.max_iter"]["default"] == 40 and rows["sampling.sweeps"]["default"] == 3
    assert all(row["meaning"] for row in rows.values())
    assert "sampling.average = 1.0 (learning)" in repr(bt.methods("auto"))


@pytest.mark.parametrize("counts", [X * 0.7, X.multiply(1.5).tocsr()])
def test_weights_are_never_labelled(counts, capsys):
    model = bt.LDA(4, **{**SHORT, "progress": None}).fit(bt.from_matrix(counts))
    assert "sampling phase is left out: counts that are not whole numbers" in capsys.readouterr().err
    assert {*phases_of(model)} == {"online"} and model.run_["passes"] == model.n_iter_ == 2


def test_weights_of_few_documents_are_never_labelled(capsys):
    counts = sparse.vstack([X] * 5).tolil()
    counts[[1200, 1300], 0] = 2.5  # late, and whole numbers in sum
    corpus = bt.from_matrix(counts.tocsr(), shuffle=False)
    assert not phases.phases_over(bt.LDA(method="auto")._later_phases(), corpus, 4, None)
    assert "not whole numbers" in capsys.readouterr().err


def test_weights_of_a_stored_corpus_are_never_labelled(tmp_path, capsys):
    bt.ingest(X * 0.5, tmp_path / "weights.zarr", weights=True)
    model = bt.LDA(4, **{**SHORT, "progress": None}).fit(tmp_path / "weights.zarr")
    assert "not whole numbers" in capsys.readouterr().err and {*phases_of(model)} == {"online"}


def test_thousands_of_topics_leave_sampling_out(capsys):
    corpus, later = bt.from_matrix(X), bt.LDA(method="auto")._later_phases()
    assert len(phases.phases_over(later, corpus, 2047, None)) == 1 and not capsys.readouterr().err
    assert not phases.phases_over(later, corpus, 2048, None)
    said = "the sampling phase is left out: it would hold 2,048 numbers for each of 60 words\n"
    assert capsys.readouterr().err == said


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sampling.max_iter": 0}, ""),
        ({"sampling.max_iter": 0, "sampling.sweeps": 2}, "option sampling.max_iter is 0"),
        ({"sampling.enough_tokens": 10}, "option sampling.enough_tokens is 10, too few for 10 passes over "),
    ],
)
def test_a_phase_that_is_left_out_says_so_unless_it_was_told_to_make_no_passes(options, said, capsys):
    model = bt.LDA(4, **{**SHORT, "options": options, "progress": None}).fit(X)
    line = "the sampling phase is left out"
    assert (said in (text := capsys.readouterr().err)) and (line in text) == bool(said)
    assert model._model.cursor.phase == 0 and model.n_iter_ == model.run_["passes"] == 2


@pytest.mark.parametrize("n_tokens", [5.03e7, 4.1e7, 3e9])
def test_a_corpus_that_is_too_large_for_a_phase_says_so_once(n_tokens, capsys):

    model, corpus = (
        bt.LDA(4),
        SimpleNamespace(n_tokens=n_tokens, n_docs=n_tokens // 200, parts=[], vocabulary=[]),
    )
    assert not phases.phases_over(model._later_phases(), corpus, 4, None)
    (line,) = capsys.readouterr().err.splitlines()
    why = f"option sampling.enough_tokens is 4e+08, too few for 10 passes over {n_tokens:,.0f} tokens; "
    assert line.startswith(f"the sampling phase is left out: {why}")
    name, value = line.rpartition("; ")[2].removesuffix(" brings it back").split("=")
    (phase,) = phases.phases_over(bt.LDA(4, options={name: float(value)})._later_phases(), corpus, 4, None)
    assert phase.max_iter >= 10 and not capsys.readouterr().err
    assert not phases.phases_over(model._later_phases(), corpus, 4, False) and not capsys.readouterr().err


@pytest.mark.parametrize(
    ("length", "options", "expected"),
    [
        (500, {}, 40),
        (100, {}, 40),
        (50, {}, 80),
        (20, {}, 200),
        (5, {}, 200),
        (5, {"sampling.max_iter": 30}, 30),
        (50, {"sampling.enough_length": 500}, 200),
        (50, {"sampling.enough_tokens": 30_000}, 30),
    ],
)
def test_short_documents_get_more_passes(length, options, expected, monkeypatch):
    monkeypatch.setattr(phases, "MOST_TIMES", 5)  # fewer for other tests
    (phase,) = bt.LDA(4, options=options)._later_phases()
    assert phase.over(1000.0, 1000 // length).max_iter == expected


def test_documents_without_words_are_refused_as_by_other_methods():
    with pytest.raises(InputError, match="nothing to learn from"):
        bt.LDA(4, **HERE).fit(np.zeros((3, 4), int))


def test_average_is_of_each_phase():
    for average, expected in [(None, 1.0), (0, 0.0), (0.25, 0.25), (True, 1.0)]:
        estimator = bt.LDA(4, method="auto", average=average)
        assert [phase.method.average for phase in estimator._later_phases()] == [expected]
        assert estimator._method_and_options()[0].average == float(average or 0)
    own = bt.LDA(4, method="auto", average=0.25, options={"sampling.average": 0.75})
    assert [phase.method.average for phase in own._later_phases()] == [0.75]
    fitted = bt.LDA(4, average=0, **SHORT).fit(X)
    assert "topic_words.n_averaged" not in fitted._model.params.arrays


@pytest.mark.parametrize("shape", ["symmetric", "asymmetric"])
def test_a_learned_prior_is_handed_over(shape):
    learns = {"learn_doc_topic_prior": shape}
    handed = []

    def look(event):
        if event.kind == "end" and event.phase == "online":
            handed.append(model.doc_topic_prior_.copy())
        if event.kind in ("start", "round") and event.phase == "sampling":
            handed.append(model.doc_topic_prior_.copy())

    model = bt.LDA(4, **{**SHORT, "max_iter": 20}, **learns, callbacks=[look])
    model.fit(X)
    np.testing.assert_array_equal(*handed[:2])
    assert np.abs(handed[2] - handed[1]).max() < 0.5 * handed[1].max()  # the mean of the first update
    assert np.abs(handed[0] - 0.25).max() > 1e-3  # learned in the first phase,
    assert np.abs(model.doc_topic_prior_ - handed[1]).max() > 1e-6  # and in the second
    assert (np.ptp(model.doc_topic_prior_) > 0) == (shape == "asymmetric")
    prior = model.doc_topic_prior_
    model.set_params(callbacks=[]).partial_fit(X[:64])
    assert np.abs(model.doc_topic_prior_ - prior).max() < 0.5 * prior.max()


def test_a_prior_that_rests_in_a_phase_is_said_to_rest_there():
    """It is not said to be as it was given, and the option that is named belongs to that phase."""
    short = {**SHORT, "learn_doc_topic_prior": "symmetric", "options": {"sampling.max_iter": 2}}
    says = (
        r"^learn_doc_topic_prior: nothing is learned in the sampling phase, because it ends with update 2 .* a "
        r"smaller option sampling\.batch_size, or .* than options={'sampling\.doc_topic_prior\.begin': 3\.0}$"
    )
    with pytest.warns(BigtopicWarning, match=says):
        model = bt.LDA(4, **{**short, "max_iter": 20}).fit(X)
    assert np.abs(model.doc_topic_prior_ - 0.25).max() > 1e-3  # learned in the first phase
    says = r"in the online phase, because it ends with update 5 .* batch_size, .*options={'doc_topic_prior\.begin'"
    with pytest.warns(BigtopicWarning, match=says):
        bt.LDA(4, **{**short, "max_iter": 1, "options": {}}).fit(X)


def test_given_priors_are_used_in_all_phases():
    prior, words = np.array([0.1, 0.2, 0.3, 0.4]), np.linspace(0.01, 0.02, 60)
    model = bt.LDA(4, doc_topic_prior=prior, topic_word_prior=words, **SHORT).fit(X)
    assert model._model.cursor.phase == 1
    np.testing.assert_allclose(model.doc_topic_prior_, prior)
    np.testing.assert_allclose(model.topic_word_prior_, words)


def test_a_run_is_resumed_with_the_same_settings_of_phases_only(tmp_path):
    folder = tmp_path / "run"
    bt.LDA(4, **SHORT).fit(X, checkpoint=folder)
    changed = {**SHORT, "options": {"sampling.max_iter": 12}}
    with pytest.raises(ModelError, match=r"sampling\.max_iter"):
        bt.LDA(4, **{"method": "auto", **changed}).fit(X, checkpoint=folder, resume=True)
    again = bt.LDA(4, **SHORT).fit(X, checkpoint=folder, resume=True)
    assert again.n_iter_ == 12 and again.run_["settings"]["options"] == {"sampling.max_iter": 10}


def test_held_out_documents_are_scored_after_each_pass_of_the_default_method():
    settings = {"max_iter": 3, "progress": False, "client": False, "n_threads": 1}
    model = bt.LDA(4, validation=0.2, **settings).fit(X)
    scores = [(row["phase"], row["pass"]) for row in model.history_ if "score" in row]
    assert scores == [("online", n) for n in (1, 2, 3)] + [("sampling", n) for n in range(1, 41)]
    train, test = bt.from_matrix(X).split(0.2, random_state=0)
    alone = bt.LDA(4, **settings).fit(train)
    np.testing.assert_array_equal(alone.components_, model.components_)
    assert model.history_[-1]["score"] == alone.score(test) == model.run_["score"]


def test_patience_and_scores_are_of_each_phase():
    model = bt.LDA(4, **{**SHORT, "max_iter": 30}, validation=0.2, patience=2).fit(X)
    assert model._model.cursor.phase == 1 and np.isfinite(model.run_["score"])
