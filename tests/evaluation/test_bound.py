"""The variational bound: against its equations, what the run itself recorded, and the probability that it bounds."""

import sys
from dataclasses import replace
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest
from scipy.special import gammaln, psi

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.datasets import lda_corpus
from bigtopic.errors import InputError, SettingError
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.evaluation import VariationalBound, bound, measure
from bigtopic.methods import get, names
from bigtopic.plan.counting import counted_vocabulary
from bigtopic.types import Bound

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case, signed

ADDING = {"streaming-vb", "svb", "svb-progressive"}  # which count the documents of another pass again
QUIET = {"client": False, "n_threads": 1, "progress": False}
TRUTH = lda_corpus(120, 40, 3, mean_length=25, random_state=2)
CORPUS = from_matrix(TRUTH.counts, random_state=0)
SIGNED = signed.drawn(150, 40, 12, 3, seed=1)
SIGNED_CORPUS = signed.corpus_of(SIGNED.docs, n_parts=2)
HAVING = [name for name in names() if isinstance(get(name).load_kernel().bound, Bound)]
OF_AUTHORS = [name for name in HAVING if "author_topics" in get(name).model.arrays]
OF_DOCUMENTS = [name for name in HAVING if name not in OF_AUTHORS]
EQUATIONS = {name: case.reference(name) for name in ("vb", "author_vb", "author_mean_field")}


def fitted(method, **settings):
    kind, corpus = (AuthorTopicModel, SIGNED_CORPUS) if method in OF_AUTHORS else (LDA, CORPUS)
    return kind(3, method=method, **{"max_iter": 5, **settings}, **QUIET).fit(corpus)


def weights_of(model, name):
    array = model._model.estimate(name)
    return array.prior + array.raw[:, : array.n_components].astype(float) * array.scale[: array.n_components]


def rounding(found):
    """By how much a part of an array may differ: its totals W are sums in single precision, of ten roundings or fewer,
    and the derivative of the part with respect to W is about 1 - log W."""
    return 10 * 2**-24 * found.n_tokens * np.log(found.n_tokens)


def test_variational_methods_have_a_bound():
    assert {"vb", "online-vb", "streaming-vb", "svb", "svb-progressive"} == {*OF_DOCUMENTS}
    assert {*OF_AUTHORS} == {
        "author-vb", "online-author-vb", "online-author-vb-local", "sequential-author-vb",
        "author-mean-field", "online-author-mean-field",
    }  # fmt: skip


PRIORS = [
    {},
    {"doc_topic_prior": np.array([0.2, 0.9, 0.05]), "topic_word_prior": np.linspace(0.01, 0.5, 40)},
    {"learn_doc_topic_prior": "asymmetric", "learn_topic_word_prior": "symmetric"},
]


@pytest.mark.parametrize("priors", PRIORS, ids=["default", "asymmetric", "learned"])
@pytest.mark.parametrize("method", OF_DOCUMENTS)
def test_of_documents_it_is_its_equation(method, priors):
    """Equation (11) of Hoffman et al. 2013 with gamma after 100 iterations, or at rest before that."""
    if method in ("svb", "svb-progressive") and "learn_doc_topic_prior" in priors:
        pytest.skip("these learn no priors")
    model = fitted(method, **priors)
    weights, alpha = weights_of(model, "topic_words"), model.doc_topic_prior_
    eta = np.broadcast_to(np.asarray(model.topic_word_prior_), (40,))
    of_topics = EQUATIONS["author_vb"]["dirichlet_part"](weights, eta[:, None], 0)
    topic_words = np.exp(psi(weights) - psi(weights.sum(axis=0)))
    counts, expected = TRUTH.counts.toarray(), []
    for row in counts:
        words, gamma = np.flatnonzero(row), np.ones(3)
        for _ in range(100):
            before, gamma = gamma, alpha + row[words] @ EQUATIONS["vb"]["phi"](words, topic_words, gamma)
            if np.abs(gamma - before).mean() < 1e-4:
                break
        expected.append(EQUATIONS["vb"]["bound"](words, row[words], topic_words, alpha, gamma))
    found = bound(model, CORPUS, n_threads=1)
    assert found.rows.tolist() == list(range(120)) and found.n_docs == 120
    np.testing.assert_allclose(found.per_document, expected, rtol=2e-5)  # gamma is in single precision
    np.testing.assert_allclose(found.tokens, counts.sum(axis=1))
    assert found.parts["topic_words"] == pytest.approx(of_topics, abs=rounding(found))
    assert found.parts["documents"] == pytest.approx(sum(expected), rel=1e-6)
    assert found.value == pytest.approx((sum(expected) + of_topics) / counts.sum(), rel=1e-6)
    assert found.of.startswith("log p(words | alpha, eta)")


@pytest.mark.costly(2)
@pytest.mark.parametrize(
    "priors", [{}, {"learn_author_topic_prior": "asymmetric"}], ids=["default", "learned"]
)
@pytest.mark.parametrize("method", OF_AUTHORS)
def test_of_authors_it_is_its_equation(method, priors):
    """That of the method: with author and topic of a token together, or apart with mu and phi at rest."""
    model = fitted(method, **priors)
    words, authors = weights_of(model, "topic_words"), weights_of(model, "author_topics")
    logs = (
        EQUATIONS["author_vb"]["expected_logs"](words, 0),
        EQUATIONS["author_vb"]["expected_logs"](authors, 1),
    )
    apart, documents = "mean-field" in method, signed.listed(SIGNED.docs)
    if apart:
        expected = [
            EQUATIONS["author_mean_field"]["infer"]([one], *logs, 5000, 1e-13)[2] for one in documents
        ]
    else:
        expected = [EQUATIONS["author_vb"]["document_part"](*one, *logs) for one in documents]
    parts = {
        "topic_words": EQUATIONS["author_vb"]["dirichlet_part"](words, model.topic_word_prior_, 0),
        "author_topics": EQUATIONS["author_vb"]["dirichlet_part"](authors, model.author_topic_prior_, 1),
    }
    found = bound(model, SIGNED_CORPUS, n_threads=1)
    np.testing.assert_allclose(found.per_document, expected, rtol=2e-5)
    np.testing.assert_array_equal(model.document_bounds(SIGNED_CORPUS), found.per_document)
    for name, part in parts.items():
        assert found.parts[name] == pytest.approx(part, abs=rounding(found))
    assert found.nats == pytest.approx(sum(expected) + sum(parts.values()), rel=1e-6)
    assert found.of.startswith("log p(words | authors, alpha, eta)")
    assert ("mean field" if apart else "blocking") in found.of


@pytest.mark.parametrize("method", ["vb", "author-vb", "author-mean-field"])
def test_a_pass_records_the_bound_of_the_model_before_it(method):
    """Also without a tolerance that would need it."""
    for tol in (0, 1e-9):
        recorded = fitted(method, max_iter=4, tol=tol).history_
        before = fitted(method, max_iter=3, tol=tol)
        corpus = SIGNED_CORPUS if method in OF_AUTHORS else CORPUS
        found = bound(before, corpus)
        # mean field of authors rests earlier while it learns, and then has the lower bound
        assert recorded[3]["bound"] == pytest.approx(found.value, rel=1e-5 if "mean" in method else 1e-9)
        assert recorded[3]["bound"] <= found.value + 1e-9 * abs(found.value)
        assert all(row["bound"] is not None for row in recorded)


def log_dirichlet(counts, prior):
    """log of the probability of labels with these counts, their distribution summed out."""
    prior = np.broadcast_to(prior, counts.shape)
    return (
        gammaln(prior.sum())
        - gammaln(prior.sum() + counts.sum())
        + (gammaln(prior + counts) - gammaln(prior)).sum()
    )


def log_probability(documents, alpha, eta, n_components):
    """log p(words | authors, alpha, eta) by the sum over all labels of topics and authors.

    Parameters
    ----------
    documents : (words, authors) each, with a word for each token
    alpha, eta : Dirichlet parameters of all distributions, or (n_authors, n_components) and (n_components, n_words)
    """
    tokens = [(d, word) for d, (words, _) in enumerate(documents) for word in words]
    labels = [list(product(documents[d][1], range(n_components))) for d, _ in tokens]
    n_authors = 1 + max(max(who) for _, who in documents)
    n_words = np.shape(eta)[-1]
    alpha = np.broadcast_to(alpha, (n_authors, n_components))
    eta = np.broadcast_to(eta, (n_components, n_words))
    logs = []
    for chosen in product(*labels):
        of_authors, of_topics = np.zeros((n_authors, n_components)), np.zeros((n_components, n_words))
        log_p = 0.0
        for (d, word), (author, topic) in zip(tokens, chosen, strict=True):
            of_authors[author, topic] += 1
            of_topics[topic, word] += 1
            log_p -= np.log(len(documents[d][1]))
        log_p += sum(map(log_dirichlet, of_authors, alpha))
        logs.append(log_p + sum(map(log_dirichlet, of_topics, eta)))
    return np.logaddexp.reduce(logs)


def as_signed(documents, n_words, n_authors):
    counts = np.array([np.bincount(words, minlength=n_words) for words, _ in documents], np.float32)
    names = {str(d): [f"a{a}" for a in who] for d, (_, who) in enumerate(documents)}
    return from_matrix(counts, [f"w{i}" for i in range(n_words)]).with_authors(names)


@pytest.mark.costly(3)
@pytest.mark.parametrize("method", HAVING)
def test_it_is_below_the_exact_probability(method):
    if method in OF_AUTHORS:
        documents = [([0, 0, 1], [0, 1]), ([2, 1], [1]), ([2, 2], [0])]
        priors, kind = {"author_topic_prior": 0.6}, AuthorTopicModel
    else:
        documents = [([0, 0, 1, 1], [0]), ([2, 1, 2], [1]), ([2, 2], [2])]  # an author each
        priors, kind = {"doc_topic_prior": 0.6}, LDA
    corpus = as_signed(documents, 3, 3)
    exact = log_probability(documents, 0.6, np.full(3, 0.4), 2)
    passes = 1 if method in ADDING else 30
    for seed in range(3):
        settings = {"topic_word_prior": 0.4, "max_iter": passes, "random_state": seed, **priors, **QUIET}
        model = kind(2, method=method, **settings).fit(corpus)
        assert bound(model, corpus).nats < exact
    others = [([1, 0], documents[0][1]), ([2, 2], documents[1][1])]
    alpha = weights_of(model, "author_topics") if method in OF_AUTHORS else 0.6
    exact = log_probability(others, alpha, weights_of(model, "topic_words").T, 2)  # q in place of the priors
    assert bound(model, as_signed(others, 3, 3), held_out=True).nats < exact


@pytest.mark.parametrize("method", ["vb", "svb", "svb-progressive", "author-vb", "author-mean-field"])
def test_with_one_topic_it_is_the_exact_probability(method):
    """Nothing is hidden but the topic, whose posterior is a Dirichlet distribution."""
    kind, corpus = (AuthorTopicModel, SIGNED_CORPUS) if method in OF_AUTHORS else (LDA, CORPUS)
    passes = 1 if method in ADDING else 2
    model = kind(1, method=method, topic_word_prior=0.4, max_iter=passes, **QUIET).fit(corpus)
    exact = log_dirichlet(counted_vocabulary(corpus).frequency, 0.4)
    assert bound(model, corpus).nats == pytest.approx(exact, rel=1e-6)


def divided(corpus, n_parts):
    """The same documents in several parts."""
    block = corpus.parts[0].block
    cuts = np.linspace(0, block.n_docs, n_parts + 1).astype(int)
    return Corpus([MemoryPart(f"{a}", block[a:b]) for a, b in pairwise(cuts)], corpus.vocabulary)


def test_it_is_the_same_however_documents_are_divided_and_by_whom(monkeypatch):
    for method, corpus in (("online-vb", CORPUS), ("online-author-mean-field", SIGNED_CORPUS)):
        model = fitted(method)
        whole = bound(model, corpus, client=False, n_threads=1)
        with monkeypatch.context() as patch:
            for name in ("_ENTRIES", "_FEWEST_ENTRIES"):
                patch.setattr(f"bigtopic.evaluation.subject.{name}", 90)
            for n_threads in (1, 2):
                found = bound(model, corpus, client=False, n_threads=n_threads)
                np.testing.assert_allclose(found.per_document, whole.per_document, rtol=1e-12)
                assert found.nats == pytest.approx(whole.nats, rel=1e-12) and found.n_tokens == whole.n_tokens
    model = fitted("vb")
    assert bound(model, divided(CORPUS, 5)).nats == pytest.approx(bound(model, CORPUS).nats, rel=1e-12)


@pytest.mark.distributed
def test_a_dask_client_gives_the_same_bits():
    from dask.distributed import Client

    models = {method: fitted(method) for method in ("online-vb", "author-mean-field")}
    with Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as client:
        for method, model in models.items():
            corpus = SIGNED_CORPUS if method in OF_AUTHORS else CORPUS
            expected, found = bound(model, corpus, client=False), bound(model, corpus, client=client)
            assert found.nats == expected.nats
            assert found.per_document.tobytes() == expected.per_document.tobytes()


def test_of_averaged_topics_and_of_a_loaded_model(tmp_path):
    model = fitted("online-vb", average=0.5, batch_size=20)
    weights = weights_of(model, "topic_words")
    part = EQUATIONS["author_vb"]["dirichlet_part"](weights, model.topic_word_prior_, 0)
    found = bound(model, CORPUS)
    assert found.parts["topic_words"] == pytest.approx(part, abs=rounding(found))
    model.save(tmp_path / "model.zarr")
    assert bound(load_model(tmp_path / "model.zarr"), CORPUS).nats == pytest.approx(found.nats, rel=1e-9)


def test_of_held_out_documents_it_is_their_part_alone():
    model = fitted("author-mean-field")
    whole, found = bound(model, SIGNED_CORPUS), bound(model, SIGNED_CORPUS, held_out=True)
    assert found.parts == {"documents": whole.parts["documents"]} and found.n_tokens == whole.n_tokens
    assert "training documents" in found.of and "q(topic_words, author_topics)" in found.of
    assert found.perplexity == pytest.approx(np.exp(-whole.parts["documents"] / whole.n_tokens))
    asked = measure(model, SIGNED_CORPUS, "bound", held_out=True)["bound"]
    assert asked.to_dict() == found.to_dict()


def test_words_that_the_model_does_not_know_are_left_out():
    words = [f"w{i}" for i in range(40)]
    known = from_matrix(TRUTH.counts, words, random_state=0)
    model = LDA(3, method="vb", max_iter=2, **QUIET).fit(known)
    more = np.hstack([TRUTH.counts.toarray(), np.full((120, 1), 2)])
    found = bound(model, from_matrix(more, [*words, "new"], random_state=0))
    assert found.unknown_share == pytest.approx(240 / more.sum())
    assert found.nats == pytest.approx(bound(model, known).nats, rel=1e-9)
    with pytest.raises(InputError, match="knows no word of these documents"):
        bound(model, from_matrix(np.ones((2, 2)), ["new", "newer"]))


def test_methods_without_a_bound_are_refused_with_those_that_have_one():
    having = ", ".join(name for name in names() if name in HAVING)
    model = LDA(2, method="online-cvb0", max_iter=1, **QUIET).fit(CORPUS)
    with pytest.raises(SettingError, match=f"'online-cvb0' has no variational bound; ask for .*: {having}"):
        bound(model, CORPUS)
    with pytest.raises(SettingError, match="ndarray has no variational bound; give a fitted estimator"):
        bound(TRUTH.components, CORPUS)
    sampled = AuthorTopicModel(2, method="author-cgs", max_iter=1, **QUIET).fit(SIGNED_CORPUS)
    for ask in (lambda corpus: bound(sampled, corpus), sampled.document_bounds):
        with pytest.raises(SettingError, match="'author-cgs' has no variational bound"):
            ask(SIGNED_CORPUS)


def test_a_kernel_that_only_records_a_bound_is_told_what_to_declare():
    plain = replace(get("vb"), name="plain", kernel=replace(get("vb").load_kernel(), bound=True))
    with pytest.raises(
        SettingError, match=r"bound=True, which is for learning alone; give it a bigtopic\.types\.Bound"
    ):
        bound(LDA(2, method=plain, max_iter=1, **QUIET).fit(CORPUS), CORPUS)


def test_it_says_what_it_is_of_and_its_parts():
    found = bound(fitted("author-mean-field"), SIGNED_CORPUS)
    assert isinstance(found, VariationalBound)
    assert [*found.parts] == ["documents", "topic_words", "author_topics"]
    assert found.nats == sum(found.parts.values()) and found.value == found.nats / found.n_tokens
    assert found.perplexity == pytest.approx(np.exp(-found.value))
    assert found.details()["perplexity"].startswith("at most ")
    for text in ("nats per token", found.of, "documents -", "author_topics -", "150 documents"):
        assert text in repr(found)
    told = found.to_dict()
    assert told["parts"] == dict(found.parts) and told["of"] == found.of and told["nats"] == found.nats
    table = repr(measure(fitted("author-mean-field"), SIGNED_CORPUS, "bound"))
    assert found.of in table and table.startswith("variational bound")
