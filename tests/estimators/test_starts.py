"""How learning begins and goes on: other models, seed words, held-out documents, more documents, new words."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.datasets import docstrings
from bigtopic.errors import BigtopicWarning, InputError, SettingError, VocabularyMismatch
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.estimators.support.initialization import seed_prior
from bigtopic.ingestion.ingest import ingest
from bigtopic.state import machine_memory
from bigtopic.state.new_model import new_model

WORDS = [f"w{i}" for i in range(80)]
QUIET = {"client": False, "n_threads": 1}


def probabilities(model: LDA) -> np.ndarray:
    return model.components_ / model.components_.sum(axis=1, keepdims=True)


# ---------------------------------------------------------------- partial_fit


def test_the_first_partial_fit_is_a_pass_in_stored_order(corpus):
    settings = {"method": "online-vb", "batch_size": 50, **QUIET}
    once = LDA(3, **settings).partial_fit(corpus)
    fit = LDA(3, max_iter=1, order="stored", **settings).fit(corpus)
    np.testing.assert_array_equal(once.components_, fit.components_)
    assert (once.n_iter_, once.n_batch_iter_, once.n_docs_seen_) == (1, 6, 300)


def test_streaming_by_parts_is_streaming_the_whole(corpus):
    """Adding needs no corpus size: where the stream is cut does not matter when minibatches are the same."""
    settings = {"method": "streaming-ope", "batch_size": 50, **QUIET}
    whole = LDA(3, **settings).partial_fit(corpus)
    parts = LDA(3, **settings)
    parts._model = new_model(
        whole._model.method, 3, corpus.vocabulary, n_tokens=corpus.n_tokens, options=whole._model.options
    )
    parts.n_docs_seen_ = parts.n_iter_ = 0
    first = LDA(3, **settings).partial_fit(corpus.run(0, 100, order="stored"))
    assert first.n_docs_seen_ == 100
    total = first.partial_fit(corpus.run(100, order="stored")).components_.sum() - whole.components_.sum()
    assert abs(total) < 1  # the same tokens, up to rounding; coins differ from pass to pass
    assert first.n_docs_seen_ == 300 and first.n_iter_ == 2 and first.n_batch_iter_ == 6


@pytest.mark.parametrize("method", ["vb", "plsa", "v-oem", "online-cvb0"])
def test_documents_without_words_do_not_move_a_model(method, corpus):
    prior = {"doc_topic_prior": 1.0} if method == "plsa" else {}
    model = LDA(3, method=method, max_iter=2, **prior, **QUIET).fit(corpus)
    before, seen = model.components_, model.n_docs_seen_
    with pytest.raises(InputError, match="nothing to learn from: 4 documents"):
        model.partial_fit(np.zeros((4, 80), int))
    np.testing.assert_array_equal(model.components_, before)
    assert model.n_docs_seen_ == seen


def test_the_declared_size_of_a_stream_is_used(corpus):
    settings = {"method": "online-vb", "batch_size": 50, "topic_word_prior": 0.1, **QUIET}
    small, large = (
        LDA(3, total_samples=n, **settings).partial_fit(corpus.run(0, 50, order="stored")) for n in (50, 5000)
    )
    assert large.components_.sum() > 50 * small.components_.sum()


def test_new_words_are_added_at_the_end(corpus, synthetic):
    counts = synthetic.counts.toarray()
    first = from_matrix(counts[:150, :60], WORDS[:60], shuffle=False)
    order = np.random.default_rng(0).permutation(80)
    second = from_matrix(counts[150:, order], [WORDS[i] for i in order], shuffle=False)
    model = LDA(3, method="online-vb", batch_size=50, **QUIET).partial_fit(first)
    assert model.n_features_in_ == 60
    before = model.components_
    model.partial_fit(second)
    assert model.n_features_in_ == 80 and list(model.vocabulary_)[:60] == WORDS[:60]
    assert set(model.vocabulary_) == set(WORDS)
    assert model.components_.shape == (3, 80) and (model.components_[:, :60] != before).any()
    learnt = model.components_.sum(axis=0) - 3 * model.topic_word_prior_
    seen = dict(zip(second.vocabulary, np.asarray(second.to_scipy().sum(axis=0)).ravel(), strict=True))
    for word, weight in zip(list(model.vocabulary_)[60:], learnt[60:], strict=True):
        assert (weight > 1e-3) == (seen[word] > 0)


def test_fewer_words_than_the_model_has(corpus, synthetic):
    """The corpus has three words, the last of the model's: ids are the model's, tables are the corpus' own."""
    model = LDA(3, method="streaming-vb", batch_size=50, **QUIET).partial_fit(corpus)
    before = model.components_.sum(axis=0)
    few = from_matrix(np.full((10, 3), 2), WORDS[77:])
    model.partial_fit(few)
    gained = model.components_.sum(axis=0) - before
    np.testing.assert_allclose(gained, np.where(np.arange(80) >= 77, 20, 0), atol=2e-3)


def test_the_frequencies_of_a_stream_are_those_of_what_was_seen(corpus, synthetic):
    counts = synthetic.counts.toarray()
    model = LDA(3, method="streaming-vb", **QUIET).partial_fit(corpus[:100])
    model.partial_fit(corpus[100:250]).partial_fit(from_matrix(counts[:10, :2], ["w79", "new"]))
    seen = dict(zip(WORDS, corpus[:250].recounted().vocabulary.frequency, strict=True))
    seen["w79"] += counts[:10, 0].sum()
    seen["new"] = counts[:10, 1].sum()
    assert dict(zip(model.vocabulary_, model.vocabulary_.frequency, strict=True)) == seen
    whole = LDA(3, **QUIET).fit(corpus[:100]).partial_fit(corpus[100:])
    np.testing.assert_array_equal(whole.vocabulary_.frequency, corpus.vocabulary.frequency)
    np.testing.assert_array_equal(whole.vocabulary_.document_frequency, corpus.vocabulary.document_frequency)


def test_a_declared_stream_has_its_mass_from_the_start():
    """Every document has 60 tokens: the statistics are those of the whole stream at every moment."""
    counts = np.random.default_rng(0).multinomial(60, np.full(80, 1 / 80), 600)
    stream = from_matrix(counts, WORDS)
    model = LDA(3, total_samples=600, **QUIET)
    for start in range(0, 600, 100):
        model.partial_fit(stream[start : start + 100])
        assert model.components_.sum() - 80 * 3 * model.topic_word_prior_ == pytest.approx(600 * 60, rel=1e-4)


def test_a_stream_of_the_declared_size_is_a_pass(corpus):
    online = {"method": "online-cvb0", **QUIET}
    for settings in ({}, {"total_samples": 300}):
        stream = LDA(3, **settings, **online).partial_fit(corpus)
        np.testing.assert_array_equal(
            stream.components_, LDA(3, max_iter=1, order="stored", **online).fit(corpus).components_
        )


def test_minibatches_are_those_of_the_whole_stream(corpus):
    alone, part = (LDA(3, total_samples=n, **QUIET).partial_fit(corpus) for n in (None, 10_000))
    assert (alone.n_batch_iter_, part.n_batch_iter_) == (5, 1)


@pytest.fixture(scope="module")
def documentation(tmp_path_factory):
    """A thousand documentation strings, to learn from and held out."""
    packages = ["argparse", "asyncio", "datetime", "email", "http", "inspect", "logging", "multiprocessing"]
    packages += [
        "pathlib",
        "socket",
        "ssl",
        "subprocess",
        "tarfile",
        "threading",
        "typing",
        "unittest",
        "xml",
    ]
    place = tmp_path_factory.mktemp("documentation") / "corpus.zarr"
    stored = ingest(docstrings(packages), place, stop_words="english", min_df=2, progress=False)
    return stored.split(0.2, random_state=0)


@pytest.mark.costly
@pytest.mark.parametrize("declared", [True, False])
def test_a_stream_learns_what_a_pass_does(documentation, declared):
    """With many topics the prior of words outweighs the tokens of the first calls.

    The difference of one seed has a standard deviation of 0.03 nats, so a mean of four is below -0.05 in one of a
    thousand; topics that start too small lose 0.2 nats.
    """
    train, test = documentation
    differences = []
    for seed in range(4):
        alone = {"method": "online-cvb0", "max_iter": 1, "order": "stored", "random_state": seed}
        once = LDA(100, **alone, **QUIET).fit(train)
        stream = LDA(100, total_samples=len(train) if declared else None, random_state=seed, **QUIET)
        for start in range(0, len(train), 100):
            stream.partial_fit(train.run(start, start + 100, order="stored"))
        differences.append(stream.score(test) - once.score(test))
    assert np.mean(differences) > -0.05


def test_calls_of_few_documents_are_warned_of_once(corpus):
    stream = LDA(3, **QUIET).partial_fit(corpus[:10])
    with pytest.warns(BigtopicWarning, match="fewer than 64 documents"):
        stream.partial_fit(corpus[10:20])
    stream.partial_fit(corpus[20:30])  # a warning would be an error
    LDA(3, **QUIET).partial_fit(corpus[:120]).partial_fit(corpus[120:130])
    LDA(3, method="streaming-vb", **QUIET).partial_fit(corpus[:10]).partial_fit(corpus[10:20])


def test_texts_of_a_stream_are_split_as_the_first_were(tmp_path):
    texts = ["The cat and the dog", "a dog and a cat", "Rain, wind and sun", "the sun and the rain"] * 5
    stored = ingest(texts, tmp_path / "corpus.zarr", stop_words="english", ngram_range=(1, 2), progress=False)
    model = LDA(2, **QUIET).fit(stored)
    model.partial_fit(["the cat and big bird"])
    assert {*model.vocabulary_} == {*stored.vocabulary, "bird", "big", "big bird"}
    model.save(tmp_path / "m.zarr")
    again = load_model(tmp_path / "m.zarr").partial_fit(["and the fish"])
    assert {*again.vocabulary_} - {*model.vocabulary_} == {"fish"}


def test_the_tokeniser_of_texts_is_recorded(tmp_path):
    model = LDA(2, **QUIET).partial_fit(["cat dog", "sun rain"])
    model.save(tmp_path / "m.zarr")
    description = json.loads((tmp_path / "m.zarr" / "zarr.json").read_text())["attributes"]["bigtopic-model"]
    assert description["text"].items() > TextSettings().to_dict().items()


def test_unnamed_columns_cannot_grow(corpus):
    model = LDA(3, **QUIET).partial_fit(np.ones((70, 7)))
    model.partial_fit(np.ones((70, 7)))
    with pytest.raises(VocabularyMismatch, match="9 features"):
        model.partial_fit(np.ones((5, 9)))


def test_more_documents_after_a_fit_that_was_cut_short(corpus):
    """Every one of them is seen, although the fit stopped in the middle of a pass."""
    import signal

    def interrupt(event):
        if event.kind == "round" and event.step == 4:
            signal.raise_signal(signal.SIGINT)

    model = LDA(3, batch_size=50, max_iter=3, callbacks=[interrupt], **QUIET).fit(corpus)
    assert model.n_batch_iter_ == 4
    model.set_params(callbacks=())
    model.partial_fit(corpus.run(0, 250, order="stored"))
    assert model.n_batch_iter_ == 9 and model.history_[-1]["n_docs"] == 250


def test_more_documents_after_a_fit_that_failed(corpus):
    """A second Ctrl-C, or a failure, leaves the model as it was after the last update."""

    def fail(event):
        if event.kind == "pass":
            raise KeyboardInterrupt

    model = LDA(3, batch_size=50, callbacks=[fail], **QUIET)
    with pytest.raises(KeyboardInterrupt):
        model.fit(corpus)
    assert (model.n_iter_, model.n_batch_iter_) == (1, 6)
    model.set_params(callbacks=()).partial_fit(corpus)
    assert (model.n_iter_, model.n_batch_iter_) == (2, 12)


# ---------------------------------------------------------------- init


def test_a_stream_begins_with_the_topics_asked_for(corpus):
    first = LDA(3, max_iter=3, random_state=1, **QUIET).fit(corpus)
    begun = []
    model = LDA(3, init=first, topic_word_prior=1e-6, total_samples=3000, **QUIET)
    model.set_params(callbacks=[lambda event: begun.append(model.components_)]).partial_fit(corpus[:100])
    np.testing.assert_allclose(begun[0].sum(), 30 * corpus[:100].n_tokens, rtol=1e-3)
    np.testing.assert_allclose(
        begun[0] / begun[0].sum(axis=1, keepdims=True), probabilities(first), rtol=1e-3, atol=1e-5
    )


def test_a_start_from_another_model_begins_with_its_topics(corpus):
    first = LDA(3, max_iter=3, random_state=1, **QUIET).fit(corpus)
    for source in (first, first.components_, probabilities(first)):
        model = LDA(3, method="streaming-ope", init=source, topic_word_prior=1e-6, max_iter=1, **QUIET)
        begun = {}

        def look(event, model=model, begun=begun):
            begun.setdefault(event.kind, probabilities(model))

        model.set_params(callbacks=[look]).fit(corpus)
        np.testing.assert_allclose(begun["start"], probabilities(first), rtol=1e-3, atol=1e-5)


def test_a_start_from_a_saved_model_or_another_library(corpus, synthetic, tmp_path):
    first = LDA(3, max_iter=1, **QUIET).fit(corpus)
    first.save(tmp_path / "m.zarr")
    settings = {"max_iter": 1, **QUIET}
    by_path = LDA(3, init=str(tmp_path / "m.zarr"), **settings).fit(corpus)
    np.testing.assert_array_equal(by_path.components_, LDA(3, init=first, **settings).fit(corpus).components_)
    decomposition = pytest.importorskip("sklearn.decomposition")
    other = decomposition.LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(synthetic.counts)
    by_sklearn = LDA(3, init=other, **settings).fit(corpus)
    by_array = LDA(3, init=other.components_, **settings).fit(corpus)
    np.testing.assert_allclose(by_sklearn.components_, by_array.components_)


def test_a_start_from_another_library_keeps_its_weight(corpus, synthetic):
    """In sums that only grow; gensim's `get_topics` are probabilities, its state has the weights."""
    decomposition = pytest.importorskip("sklearn.decomposition")
    other = decomposition.LatentDirichletAllocation(3, max_iter=2, random_state=0).fit(synthetic.counts)

    of_gensim = SimpleNamespace(
        id2word=dict(enumerate(WORDS)),
        state=SimpleNamespace(get_lambda=lambda: other.components_),
        get_topics=lambda: other.components_ / other.components_.sum(axis=1, keepdims=True),
    )
    expected = other.components_.sum() + corpus.n_tokens
    for init in (other, other.components_, of_gensim):
        model = LDA(3, method="streaming-vb", init=init, **QUIET).fit(corpus)
        assert model.components_.sum(dtype=float) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("method", ["streaming-vb", "svb-progressive"])
def test_weights_that_no_topic_can_have_are_refused(method, corpus):
    """Kept, they would be infinite; where they are rescaled, any finite weights are a start."""
    with pytest.raises(InputError, match=r"a weight of 1e\+300 tokens; weights may be up to 3\.4e\+38"):
        LDA(3, method=method, init=np.full((3, 80), 1e300), **QUIET).fit(corpus)


def test_a_start_is_matched_by_word(corpus, synthetic):
    first = LDA(3, max_iter=2, **QUIET).fit(corpus)
    order = np.random.default_rng(0).permutation(80)
    names = [WORDS[i] for i in order[:70]] + [f"new{i}" for i in range(10)]
    other = from_matrix(synthetic.counts[:, order], names)
    begun = []
    model = LDA(3, method="vb", init=first, max_iter=1, topic_word_prior=1e-9, **QUIET)
    model.set_params(callbacks=[lambda event: begun.append(model.components_)]).fit(other)
    expected = first.get_topics()[:, order[:70]]
    np.testing.assert_allclose(
        begun[0][:, :70] / begun[0][0, 0] * expected[0, 0], expected, rtol=1e-3, atol=1e-8
    )
    assert (begun[0][:, 70:] < 1e-6).all()
    with pytest.raises(VocabularyMismatch, match="no word"):
        LDA(3, init=first, **QUIET).fit(from_matrix(np.ones((3, 2)), ["x", "y"]))
    with pytest.raises(SettingError, match="3 topics"):
        LDA(5, init=first, **QUIET).fit(corpus)


# ---------------------------------------------------------------- seeds, validation


def test_seed_words_lead_topics(synthetic, corpus):
    top = np.argsort(-synthetic.components, axis=1)[:, :5]
    seeds = {3 - k: [WORDS[i] for i in top[k]] for k in range(4)}
    prior = seed_prior(seeds, corpus, 4, weight=200)
    model = LDA(4, topic_word_prior=prior, batch_size=50, max_iter=5, **QUIET).fit(corpus)
    distance = np.abs(synthetic.components[:, None] - model.get_topics()[None]).sum(axis=2)
    assert distance.argmin(axis=1).tolist() == [3, 2, 1, 0]


def test_seed_prior_takes_lists_words_and_vocabularies(corpus):
    expected = seed_prior({0: ["w1"], 1: ["w2", "w3"]}, corpus.vocabulary, 3, base=0.1, weight=5)
    np.testing.assert_array_equal(seed_prior([["w1"], ["w2", "w3"]], WORDS, 3, base=0.1, weight=5), expected)
    assert expected.shape == (3, 80) and expected[1, 3] == 5 and expected[2].max() == 0.1
    assert seed_prior({}, WORDS, 4).max() == 0.25
    with pytest.raises(SettingError, match="topic 3"):
        seed_prior({3: ["w1"]}, WORDS, 3)
    with pytest.raises(SettingError, match="'zebra'"):
        seed_prior({0: ["w1", "zebra"]}, WORDS, 3)


def test_held_out_documents_are_scored_and_not_learnt_from(corpus):
    online = {"method": "online-cvb0", "batch_size": 50, "max_iter": 3, **QUIET}
    model = LDA(3, validation=0.2, **online).fit(corpus)
    scores = [row["score"] for row in model.history_ if "score" in row]
    assert len(scores) == 3 and model.n_docs_seen_ == 240
    train, test = corpus.split(0.2, random_state=0)
    alone = LDA(3, **online).fit(train)
    np.testing.assert_array_equal(alone.components_, model.components_)
    assert scores[-1] == alone.score(test)
    given = LDA(3, validation=test, evaluate_every=2, **online).fit(train)
    assert [row["score"] for row in given.history_ if "score" in row and row["step"] % 5 == 0][-1] == scores[
        -1
    ]
    np.testing.assert_array_equal(given.components_, model.components_)


def test_patience_ends_a_fit(corpus):
    online = {"method": "online-cvb0", "batch_size": 50, "max_iter": 500, **QUIET}
    model = LDA(3, validation=0.2, patience=3, **online).fit(corpus)
    scores = [row["score"] for row in model.history_ if "score" in row]
    assert model.n_iter_ < 500 and len(scores) - 1 - int(np.argmax(scores)) == 3


def test_a_fit_that_is_refused_leaves_the_model_and_its_record(corpus):
    model = LDA(2, max_iter=1, random_state=0, progress=False).fit(corpus)
    known, topics = model.run_, model.components_
    with pytest.raises(SettingError, match="nope"):
        model.set_params(options={"nope": 1}, max_iter=3).fit(corpus)
    assert model.run_ == known
    np.testing.assert_array_equal(model.components_, topics)


# ---------------------------------------------------------------- thousands of topics


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"average": 0.5}, "averaging over updates"),
        ({"learn_doc_topic_prior": "symmetric", "batch_size": 30}, "learned priors"),
        ({"topic_word_prior": np.full(80, 0.1)}, "a topic-word prior that differs between words"),
        ({"options": {"candidates": 3000}}, "the option candidates, which allows all topics"),
        ({}, ""),
        ({"method": "online-vb", "average": 0.5}, ""),  # which has no lists without it either
    ],
)
def test_what_makes_thousands_of_topics_dense_is_said(settings, why, corpus, capsys):
    LDA(2048, **{"method": "sparse-cvb0", "max_iter": 1, **QUIET, **settings}).fit(corpus)
    line = f"because of {why}, each word has a number for each of 2,048 topics (1 MB), instead of a list of "
    assert (line in (said := capsys.readouterr().err)) == bool(why) == ("because of" in said)


def test_a_refusal_of_dense_topics_names_what_keeps_lists(monkeypatch, corpus):
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 1000)
    with pytest.raises(SettingError, match="or use method sparse-cvb0 or auto, which keep lists of topics"):
        LDA(2048, method="ml-ope", **QUIET).fit(corpus)
    with pytest.raises(SettingError, match="or do without averaging over updates, to keep lists of topics"):
        LDA(2048, method="sparse-cvb0", average=0.5, **QUIET).fit(corpus)
    with pytest.raises(SettingError, match="see min_df") as error:
        LDA(3, **QUIET).fit(corpus)
    assert "lists" not in str(error.value)


@pytest.mark.parametrize(
    ("n_components", "n_docs", "size"),
    [(100, 10**6, 500), (4000, 10**6, 1000), (4000, 10**4, 500), (4000, 100, 64)],
)
def test_minibatches_of_thousands_of_topics_are_larger(n_components, n_docs, size):
    assert LDA(n_components)._batch_size(n_docs) == size
    assert LDA(n_components, batch_size=70)._batch_size(n_docs) == 70
    assert LDA(n_components, method="online-cvb0")._batch_size(n_docs) <= 500
    corpus = SimpleNamespace(n_docs=n_docs)
    assert LDA(n_components)._passes(corpus) == LDA(3)._passes(corpus)
