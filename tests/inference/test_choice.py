"""Topics of documents by another kernel, or with other options, than those of the method."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import psi

from bigtopic import kernels
from bigtopic.errors import SettingError
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.inference.infer import inferring
from bigtopic.ingestion.ingest import ingest

HERE = {"client": False, "n_threads": 1, "random_state": 0}
MODELS = {
    "online-vb": lambda: LDA(2, method="online-vb", max_iter=5, **HERE),
    "cgs": lambda: LDA(2, method="cgs", max_iter=5, **HERE),
    "ml-ope": lambda: LDA(2, method="ml-ope", max_iter=5, doc_topic_prior=1.0, **HERE),
    "lds": lambda: LDA(2, method="lds", max_iter=5, **HERE),
    "cvb": lambda: LDA(2, method="cvb", max_iter=5, **HERE),
    "authors": lambda: AuthorTopicModel(2, max_iter=5, **HERE),
    "dual": lambda: DualTopicModel(2, 2, max_iter=5, **HERE),
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    counts = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))
    texts = [" ".join(f"w{word}" for word in np.repeat(np.arange(10), row)) for row in counts]
    authors = [["a", "b"][: 1 + number % 2] for number in range(len(texts))]
    return ingest(texts, tmp_path_factory.mktemp("choice") / "corpus.zarr", authors=authors)


@pytest.fixture(scope="module")
def fitted(corpus):
    return {name: make().fit(corpus) for name, make in MODELS.items()}


@pytest.mark.parametrize("kernel", kernels.names())
@pytest.mark.parametrize("name", MODELS)
def test_every_kernel_infers_or_is_refused(name, kernel, fitted, corpus):
    model = fitted[name]
    if kernel in refused(model):
        with pytest.raises(SettingError, match=rf"inference='{kernel}': it .*; choose one of: "):
            model.transform(corpus, inference=kernel)
    elif kernel == "map_em" and name != "ml-ope":
        with pytest.raises(SettingError, match="doc_topic_prior"):
            model.transform(corpus, inference=kernel)
    else:
        topics = model.transform(corpus, inference=kernel)
        np.testing.assert_allclose(topics.sum(axis=1), 1.0, rtol=1e-5)
        assert topics.min() >= 0


def refused(model):
    """Those that read arrays that there are not, or learn from documents together."""
    arrays, told = model._model.method.model.arrays, []
    for name in kernels.names():
        kernel = kernels.load(name)
        together = kernel.interacts or kernel.state != "none" or "author" in kernel.statistics.values()
        points = model.method in ("ml-ope", "lds") and {*kernel.views.values()} != {"mean"}
        if not {*kernel.views} <= {*arrays} or together or points:
            told.append(name)
    return told


@pytest.mark.parametrize("kernel", ["ope", "frank_wolfe"])
def test_options_of_statistics_alone_are_refused(kernel, fitted, corpus):
    with pytest.raises(
        SettingError, match=r"option 'statistic': .*, has none of that name; its options are: n_iter"
    ):
        fitted["ml-ope"].transform(corpus, inference=kernel, options={"statistic": "theta"})


@pytest.mark.parametrize("name", MODELS)
def test_the_kernel_of_the_method_is_the_default(name, fitted, corpus):
    model = fitted[name]
    own = model._model.method.load_inference().name
    np.testing.assert_array_equal(model.transform(corpus), model.transform(corpus, inference=own))


def test_options_are_of_the_model_where_its_kernel_is_chosen_and_else_the_kernel_s(fitted):
    model = LDA(2, method="online-ope", options={"n_iter": 7}, **HERE).fit(np.eye(10))._model
    assert inferring(model).inference_hyper().options["n_iter"] == 7
    assert inferring(model, options={"eps": 0.1}).inference_hyper().options["n_iter"] == 7
    assert inferring(model, "ope").inference_hyper().options["n_iter"] == 7
    assert inferring(model, "frank_wolfe").inference_hyper().options["n_iter"] == 50
    assert model.options["n_iter"] == 7 and model.options["eps"] == 0.0


def test_an_option_changes_what_is_inferred(fitted, corpus):
    """One iteration from gamma = 1, by the equations of `vb`."""
    model = fitted["online-vb"]
    weights = model.components_.T.astype(float)
    rows = np.exp(psi(weights) - psi(weights.sum(axis=0)))
    counts = corpus.to_scipy("stored").toarray().astype(float)
    gamma = model.doc_topic_prior_ + counts @ (rows / rows.sum(axis=1, keepdims=True))
    found = model.transform(corpus, order="stored", options={"max_doc_update_iter": 1})
    np.testing.assert_allclose(found, gamma / gamma.sum(axis=1, keepdims=True), rtol=1e-5)
    assert np.abs(found - model.transform(corpus, order="stored")).max() > 1e-3


def test_another_kernel_maximises_what_it_should(fitted, corpus):
    """With alpha = 1 the likelihood is concave: no point is better than its gap to the best vertex allows."""
    model = fitted["ml-ope"]
    topics = np.maximum(model.get_topics().T.astype(float), 1e-12)
    counts = corpus.to_scipy("stored").toarray().astype(float)
    best = model.transform(corpus, order="stored", inference="map_em", options={"mean_change_tol": 0.0})
    for kernel in ("ope", "frank_wolfe"):
        theta = model.transform(corpus, order="stored", inference=kernel, options={"n_iter": 200}).astype(
            float
        )
        slopes = (counts / (theta @ topics.T)) @ topics
        gap = slopes.max(axis=1) - (slopes * theta).sum(axis=1)
        behind = (counts * (np.log(best @ topics.T) - np.log(theta @ topics.T))).sum(axis=1)
        assert (behind <= gap + 1e-3).all() and gap.max() < 0.1 * counts.sum(axis=1).max()


def test_topics_are_written_by_that_kernel(fitted, corpus, tmp_path):
    model, chosen = fitted["online-vb"], {"inference": "ope", "options": {"n_iter": 20}}
    model.transform_to(corpus, tmp_path / "theta.csv", min_probability=0.0, **chosen)
    written = np.loadtxt(tmp_path / "theta.csv", delimiter=",", skiprows=1, usecols=(1, 2))
    np.testing.assert_allclose(written, model.transform(corpus, **chosen), rtol=1e-4)


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"inference": "opa"}, "inference='opa': there is no such kernel; .* ope, .*did you mean 'ope'"),
        ({"inference": "online-ope"}, "inference='online-ope': .*choose one of: cvb0, .*, vb, vb_mean$"),
        ({"inference": ""}, "inference='': there is no such kernel; choose one of: cvb0, "),
        (
            {"inference": "sgs"},
            "inference='sgs': it infers documents together with others; choose one of: .*ope",
        ),
        ({"inference": "dual_cvb0"}, "it reads column_topics and joint, which model 'lda' does not have"),
        (
            {"inference": "ope", "options": {"n_iters": 3}},
            "option 'n_iters': kernel 'ope'.*did you mean 'n_iter'",
        ),
        ({"inference": "ope", "options": {"n_iter": "3"}}, "option n_iter is '3'"),
        ({"inference": "ope", "options": {"n_iter": 0}}, "n_iter=0"),
        (
            {"inference": "ope", "options": {"eps": 0.9}},
            "eps=0.9: must be at least 0 and below 1 / n_components",
        ),
        (
            {"options": {"decay": 0.9}},
            "option 'decay': kernel 'vb', which infers topics of documents, has none",
        ),
        ({"options": {"bound": True}}, "option 'bound'"),
        ({"options": 3}, "options=3"),
        ({"inference": 3}, "inference=3"),
    ],
)
def test_what_cannot_be_is_refused(chosen, message, fitted, corpus, tmp_path):
    with pytest.raises(SettingError, match=message):
        fitted["online-vb"].transform(corpus, **chosen)
    with pytest.raises(SettingError, match=message):
        fitted["online-vb"].transform_to(corpus, tmp_path / "theta.zarr", **chosen)
    assert not (tmp_path / "theta.zarr").exists()
