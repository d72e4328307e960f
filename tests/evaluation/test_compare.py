"""Models side by side: paired differences by hand, other libraries, and words that only some models know."""

import json
from dataclasses import dataclass

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import SettingError, VocabularyMismatch
from bigtopic.evaluation import Measure, PooledScore, Score, compare, log_predictive, measure, topics_of

TRUTH = lda_corpus(140, 40, 4, mean_length=20, topic_word_prior=0.2, random_state=5)
WORDS = [f"word{i}" for i in range(40)]
CORPUS = from_matrix(TRUTH.counts, WORDS)
GOOD = topics_of(TRUTH.components, WORDS)
WORSE = topics_of(0.5 * TRUTH.components + 0.5 / 40, WORDS)
FLAT = topics_of(np.ones((4, 40)), WORDS)
MODELS = {"good": GOOD, "worse": WORSE, "flat": FLAT}


def number_of_topics(name="topics", unit=""):
    """A measure of topics alone."""
    return Measure(
        name,
        lambda subject, settings: subject.source.n_components,
        None,
        None,
        lambda n, total: Score(n),
        unit=unit,
    )


def test_differences_are_paired_by_document():
    found = compare(MODELS, CORPUS, ["log-predictive", "npmi"], repeats=2, n_threads=1)
    alone = {name: log_predictive(model, CORPUS, repeats=2) for name, model in MODELS.items()}
    assert found.reference == {"log-predictive": "good"} and found.note == ""
    tokens = alone["good"].tokens
    for name, result in alone.items():
        gain = result.log_likelihood - alone["good"].log_likelihood
        value = gain.sum() / tokens.sum()
        n = len(tokens)
        error = np.sqrt(n / (n - 1) * ((gain - value * tokens) ** 2).sum()) / tokens.sum()
        assert found.difference("log-predictive", name) == pytest.approx((value, error), rel=1e-12)
        assert found.results[name]["log-predictive"].to_dict() == result.to_dict()
        assert found.results[name]["npmi"].value == measure(MODELS[name], CORPUS, "npmi")["npmi"].value
    value, error = found.difference("log-predictive", "worse")
    assert value < -2 * error < 0 and error < alone["worse"].standard_error
    assert found.difference("log-predictive", "good", "worse") == pytest.approx((-value, error))


def test_the_reference_may_be_chosen():
    found = compare(MODELS, CORPUS, "log-predictive", reference="flat")
    assert found.reference == {"log-predictive": "flat"} and found.difference("log-predictive", "good")[0] > 0
    assert found["log-predictive difference"][2] == 0
    with pytest.raises(SettingError, match="reference='best': choose one of the models good, worse, flat"):
        compare(MODELS, CORPUS, reference="best")


def test_scores_do_not_depend_on_blocks(monkeypatch):
    expected = compare(MODELS, CORPUS, "log-predictive").to_dict()
    monkeypatch.setattr("bigtopic.evaluation.subject._FEWEST_ENTRIES", 100)
    assert compare(MODELS, CORPUS, "log-predictive", n_threads=2).to_dict() == expected


def test_uniform_topics_on_common_words_have_the_perplexity_of_their_number():
    few = topics_of(np.ones((3, 30)), WORDS[5:35])
    found = compare({"all": FLAT, "few": few}, CORPUS)
    share = CORPUS.filter_vocabulary(keep=WORDS[5:35]).n_tokens / CORPUS.n_tokens
    assert found.note == f"on the 30 words that all models know, {share:.1%} of the tokens"
    for name in ("all", "few"):
        assert found.results[name]["log-predictive"].perplexity == pytest.approx(30, rel=1e-6)
    assert found.difference("log-predictive", "few") == pytest.approx((0, 0), abs=1e-6)


def test_topics_on_common_words_are_conditional_probabilities():
    kept = np.arange(3, 33)
    few = topics_of(TRUTH.components[:, kept], [WORDS[i] for i in kept])  # normalised over these words
    narrow = CORPUS.filter_vocabulary(keep=few.vocabulary[:])
    found = compare({"all": GOOD, "few": few}, CORPUS)
    expected = log_predictive(few, narrow)
    for name in ("all", "few"):
        own = found.results[name]["log-predictive"]
        np.testing.assert_array_equal(own.tokens, expected.tokens)
        np.testing.assert_allclose(own.log_likelihood, expected.log_likelihood, rtol=1e-5)


def test_the_order_of_the_words_does_not_matter():
    order = np.random.default_rng(0).permutation(40)
    other = topics_of(TRUTH.components[:, order], [WORDS[i] for i in order])
    found = compare({"one": GOOD, "other": other}, CORPUS)
    assert found.note == "" and found.difference("log-predictive", "other") == pytest.approx((0, 0), abs=1e-6)


def test_models_that_share_no_word_are_refused():
    with pytest.raises(VocabularyMismatch, match="the models share no word"):
        compare([GOOD, topics_of(np.ones((2, 2)), ["a", "b"])], CORPUS)
    with pytest.raises(VocabularyMismatch, match="columns without names can only be matched by position"):
        compare([np.ones((2, 3)), np.ones((2, 4))], CORPUS)
    apart = [topics_of(np.ones((2, 2)), ["a", one]) for one in "bc"]
    with pytest.raises(VocabularyMismatch, match="has none of the 1 word that all models know"):
        compare(apart, CORPUS)


def test_models_of_other_libraries_are_rows_of_the_table():
    from sklearn.decomposition import LatentDirichletAllocation

    from bigtopic.estimators.lda import LDA

    theirs = LatentDirichletAllocation(4, max_iter=1, random_state=0).fit(CORPUS.to_scipy())
    ours = LDA(4, method="online-cvb0", max_iter=1, n_threads=1, progress=False).fit(CORPUS)
    found = compare([ours, theirs, theirs, TRUTH.components], CORPUS, "log-predictive", vocabulary=CORPUS)
    assert [*found.results] == [
        "online-cvb0",
        "LatentDirichletAllocation",
        "LatentDirichletAllocation (2)",
        "ndarray",
    ]
    value = log_predictive(theirs, CORPUS, vocabulary=CORPUS).value
    assert found["log-predictive"][1:3] == [value, value]


@pytest.mark.parametrize(
    ("models", "message"),
    [
        ({}, "models: there are none; give one model, or more"),
        (
            GOOD,
            "models: DenseTopics is neither {name: model} nor a list of models; for one model, use measure",
        ),
    ],
)
def test_models_are_several(models, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        compare(models, CORPUS)


def test_an_error_names_the_model():
    with pytest.raises(SettingError, match="has no variational bound") as raised:
        compare(MODELS, CORPUS, "bound")
    assert raised.value.__notes__[-1] == "in model 'good'"


def test_the_table():
    found = compare(
        {"good": GOOD, "<b>\x1b": FLAT}, CORPUS, ["log-predictive", number_of_topics(unit="topics")]
    )
    heading, good, flat, note = repr(found).splitlines()
    assert heading.split() == ["model", "held-out", "score", "held-out", "score,", "difference", "topics"]
    assert " ± " in good and "reference" in good and flat.count(" ± ") == 2 and "\x1b" not in repr(found)
    assert note.startswith("held-out score: nats per token; topics: topics; ± one standard error")
    assert "&lt;b&gt;" in found._repr_html_() and "<b>" not in found._repr_html_()
    frame = found.to_pandas()
    assert frame["log-predictive difference"].tolist() == [
        0,
        found.difference("log-predictive", "<b>\x1b")[0],
    ]
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["models"]["good"]["log-predictive"]["difference"] == 0 and told["note"] == ""
    with pytest.raises(
        SettingError, match="measure='topics': choose one that scores the same documents of all: log-"
    ):
        found.difference("topics", "good")
    with pytest.raises(SettingError, match="there is no model 'bad'; there are: good, "):
        found.difference("log-predictive", "bad")


def test_topics_alone_need_no_documents():
    assert compare(MODELS, measures=number_of_topics())["topics"] == [4, 4, 4]


def test_one_document_has_no_error():
    found = compare([GOOD, FLAT], CORPUS[:1], "log-predictive")
    assert " ± " not in repr(found).splitlines()[1]
    assert found.to_dict()["models"]["DenseTopics (2)"]["log-predictive"]["difference_standard_error"] is None


def test_scores_of_other_documents_are_not_subtracted():
    one, other = (PooledScore(0.0, 0.0, np.arange(n), np.zeros(n), np.ones(n)) for n in (2, 3))
    with pytest.raises(SettingError, match="other: was measured on other documents"):
        one.minus(other)


def test_models_scored_on_other_documents_have_no_differences():
    def half(subject, settings):
        score = log_predictive(subject.model, subject.corpus[: 60 if subject.model is GOOD else 50])
        return PooledScore(score.value, score.standard_error, score.rows, score.log_likelihood, score.tokens)

    own = Measure("own", half, None, None, lambda state, total: state)
    found = compare(MODELS, CORPUS, own)
    assert found.reference == {} and [*found.columns] == ["model", "own"]
    assert repr(found).count(" ± ") == 3


def test_scores_by_common_and_by_own_inference_are_two_columns():
    @dataclass(frozen=True)
    class Both(PooledScore):
        own: PooledScore

    def both(subject, settings):
        score = log_predictive(subject.model, subject.corpus)
        of_documents = score.rows, score.log_likelihood, score.tokens
        own = PooledScore(
            score.value - 1, score.standard_error, score.rows, score.log_likelihood - 1, score.tokens
        )
        return Both(score.value, score.standard_error, *of_documents, own)

    found = compare(MODELS, CORPUS, Measure("both", both, None, None, lambda state, total: state))
    assert found.reference == {"both": "good", "both own": "good"}
    assert found["both own"] == [value - 1 for value in found["both"]]
    assert found.difference("both own", "flat") == pytest.approx(found.difference("both", "flat"))
    assert repr(found).splitlines()[0].endswith("own inference     own inference, difference")
    told = found.to_dict()["models"]["flat"]
    assert told["both own"]["difference"] == found["both own difference"][2]


@pytest.mark.distributed
def test_workers_change_nothing():
    from dask.distributed import Client

    from bigtopic.estimators.lda import LDA
    from bigtopic.estimators.search.sweep import sweep
    from bigtopic.evaluation import Watch, stream

    def answers(client):
        settings = {"method": "online-cvb0", "max_iter": 2, "batch_size": 30}
        settings |= {"progress": False, "client": client}
        watch = Watch(CORPUS, ["npmi", "log-predictive"], every=3, client=client)
        watched = LDA(3, callbacks=[watch], **settings).fit(CORPUS)
        return (
            compare(MODELS, CORPUS, client=client).to_dict(),
            stream(LDA(3, **settings), CORPUS, 64, client=client).to_dict(),
            sweep(CORPUS, n_components=[2, 3], folds=2, **settings).to_dict(),
            [row["measures"] for row in watched.history_ if "measures" in row],
        )

    expected = answers(False)
    with Client(n_workers=3, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
        assert answers(client) == expected


@pytest.mark.parametrize(
    ("measures", "settings", "message"),
    [
        ("log-predictive", {"inference": "own"}, "has no inference that bigtopic knows"),
        ("bound", {}, "has no variational bound"),
    ],
)
def test_a_narrowed_model_is_called_so(measures, settings, message):
    from bigtopic.estimators.lda import LDA

    model = LDA(2, method="online-vb", max_iter=1, n_threads=1, progress=False).fit(CORPUS)
    few = topics_of(np.ones((3, 30)), WORDS[5:35])
    with pytest.raises(
        SettingError, match=f"a model that is narrowed to the words that all models know {message}"
    ):
        compare([model, few], CORPUS, measures, **settings)


def test_what_has_no_topics_is_named():
    with pytest.raises(SettingError, match=r"^models\['bad'\]: int has no topics"):
        compare({"good": GOOD, "bad": 5}, CORPUS)
