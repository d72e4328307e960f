"""Topics and documents on a plane: classical scaling and principal components, as their equations say."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.sparse import csr_matrix
from scipy.spatial.distance import pdist, squareform

from bigtopic.errors import MissingExtra, SettingError
from bigtopic.questions import maps
from bigtopic.questions.maps import places, principal_axes, projected
from bigtopic.questions.table import Table


def columns_of(found):
    return Table.of(found).columns


def assert_same_but_for_signs(found, expected, atol=1e-9):
    """Each axis may point the other way."""
    for own, other in zip(found.T, expected.T, strict=True):
        sign = np.sign(own @ other) or 1.0
        np.testing.assert_allclose(own, sign * other, atol=atol)


def distances_of(points):
    return squareform(pdist(points))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 40])
def test_points_of_a_plane_keep_their_distances(n):
    points = np.random.default_rng(n).normal(size=(n, 2)) * [3, 1] + 7
    found = places(distances_of(points))
    assert found.shape == (n, 2)
    np.testing.assert_allclose(distances_of(found), distances_of(points), atol=1e-7)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
    assert (found[np.abs(found).argmax(axis=0), [0, 1]] >= 0).all()


@pytest.mark.parametrize("n", [3, 30])
def test_places_are_those_of_double_centring(n):
    """B = -J D J / 2 by its definition, and all its eigenvectors."""
    shares = np.random.default_rng(n).dirichlet(np.ones(9), size=n)
    apart = distances_of(np.sqrt(shares)) / np.sqrt(2)
    centring = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centring @ apart**2 @ centring / 2)
    expected = vectors[:, ::-1][:, :2] * np.sqrt(values[::-1][:2])
    assert_same_but_for_signs(places(apart), expected)


def test_equal_things_are_in_one_place():
    np.testing.assert_array_equal(places(np.zeros((5, 5))), np.zeros((5, 2)))
    apart = np.array([[0, 0, 1], [0, 0, 1], [1, 1, 0]], float)
    np.testing.assert_allclose(places(apart), [[-1 / 3, 0], [-1 / 3, 0], [2 / 3, 0]], atol=1e-7)


@pytest.mark.parametrize("n_components", [1, 2, 3, 12])
@pytest.mark.parametrize("size", [1, 7, 100])
@pytest.mark.parametrize("kind", [np.asarray, csr_matrix])
def test_principal_axes_are_those_of_the_centred_roots(n_components, size, kind):
    topics = np.random.default_rng(0).dirichlet(np.full(n_components, 0.3), size=100)
    roots = np.sqrt(topics)
    batches = [kind(topics[start : start + size]) for start in range(0, 100, size)]
    mean, axes = principal_axes(batches, n_components)
    np.testing.assert_allclose(mean, roots.mean(axis=0))
    _, _, vectors = np.linalg.svd(roots - roots.mean(axis=0))
    expected = np.zeros((100, 2))
    expected[:, : min(2, n_components)] = (roots - roots.mean(axis=0)) @ vectors[:2].T
    found = np.concatenate([projected(batch, mean, axes) for batch in batches])
    assert_same_but_for_signs(found, expected, atol=1e-7)


def test_a_map_of_topics(model):
    table = columns_of(model.topic_map())
    assert list(table) == ["topic", "label", "x", "y", "share", "unused"]
    topics, weights = model.get_topics().astype(float), model.topic_source().weights
    apart = distances_of(np.sqrt(topics / topics.sum(axis=1, keepdims=True))) / np.sqrt(2)
    np.testing.assert_allclose(np.column_stack([table["x"], table["y"]]), places(apart), atol=1e-5)
    np.testing.assert_allclose(table["share"], weights / weights.sum())
    assert table["label"] == model.topic_labels_ and table["topic"] == [0, 1, 2, 3]
    by_cosine = columns_of(model.topic_map("cosine"))
    cosine = 1 - squareform(pdist(topics, "cosine"))
    np.testing.assert_allclose(
        np.column_stack([by_cosine["x"], by_cosine["y"]]), places(1 - cosine), atol=1e-5
    )
    with pytest.raises(SettingError, match="measure='l1': choose one of hellinger, cosine"):
        model.topic_map("l1")


@pytest.fixture(params=[False, True])
def small(request, monkeypatch):
    """Batches of a few documents, or all in one."""
    if request.param:
        monkeypatch.setattr("bigtopic.estimators.topic_stores.stored_topics.DOCUMENTS", 37)


def principal(dense):
    roots = np.sqrt(dense)
    u, s, _ = np.linalg.svd(roots - roots.mean(axis=0), full_matrices=False)
    return (u * s)[:, :2]


def test_a_map_of_documents(model, theta, dense, records, small):
    table = columns_of(model.document_map(theta=theta))
    assert list(table) == ["document", "row", "x", "y", "topic", "label"]
    rows = np.array(table["row"])
    assert sorted(rows) == list(range(300))
    assert table["document"] == [records[row]["id"] for row in rows]
    assert table["topic"] == dense[rows].argmax(axis=1).tolist()
    assert table["label"] == [model.topic_labels_[k] for k in table["topic"]]
    assert_same_but_for_signs(np.column_stack([table["x"], table["y"]]), principal(dense)[rows], atol=1e-7)


def test_a_map_of_documents_that_are_inferred(model, asked):
    where = {"year": slice(1998, 2000)}
    table = columns_of(model.document_map(asked, where=where))
    shares = model.transform(asked).astype(float)[table["row"]]
    assert sorted(table["row"]) == asked.select(**where).rows().tolist()
    assert_same_but_for_signs(np.column_stack([table["x"], table["y"]]), principal(shares), atol=1e-5)
    stored_order = columns_of(model.document_map(asked))["row"]
    assert stored_order == asked.rows(order="stored").tolist()


def test_a_map_of_some_documents_or_none(model, theta, dense):
    table = columns_of(model.document_map(theta=theta, where={"rows": [5, 7, 9, 11]}))
    own = dense[np.sort(table["row"])]
    apart = distances_of(np.column_stack([table["x"], table["y"]]))
    order = np.argsort(np.argsort(table["row"]))
    np.testing.assert_allclose(apart, distances_of(principal(own))[np.ix_(order, order)], atol=1e-7)
    assert len(columns_of(model.document_map(theta=theta, where={"year": 1900}))["x"]) == 0


def fake_umap(monkeypatch, seen):
    class Umap:
        def __init__(self, **settings):
            seen.update(settings)

        def fit_transform(self, topics):
            seen["topics"] = topics
            return topics[:, :2]

    monkeypatch.setitem(sys.modules, "umap", SimpleNamespace(UMAP=Umap))


def test_umap_gets_the_topics_of_all_documents(model, theta, dense, small, monkeypatch):
    fake_umap(monkeypatch, seen := {})
    table = columns_of(model.document_map(theta=theta, placement="umap"))
    np.testing.assert_allclose(seen["topics"], dense[table["row"]], atol=1e-6)
    assert seen["metric"] == "hellinger" and seen["random_state"] == 0
    np.testing.assert_allclose(table["x"], dense[table["row"], 0], atol=1e-6)


def test_what_umap_cannot_do_is_refused(model, asked, theta, small, monkeypatch):
    fake_umap(monkeypatch, {})
    with pytest.raises(
        SettingError, match=r"^placement='umap': needs more than 15 documents; choose placement='pca'"
    ):
        model.document_map(asked[:15], placement="umap")
    assert len(model.document_map(asked[:16], placement="umap")) == 16
    monkeypatch.setattr(maps, "_MOST_BYTES", 1000)
    with pytest.raises(
        SettingError, match=r"^placement='umap': the topics of .* do not fit into memory; choose"
    ):
        model.document_map(theta=theta, placement="umap")
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(MissingExtra, match=r"pip install 'bigtopic\[maps\]'"):
        model.document_map(theta=theta, placement="umap")
    with pytest.raises(SettingError, match=r"^placement='tsne': choose one of pca, umap"):
        model.document_map(theta=theta, placement="tsne")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of the packages that it imports
def test_umap_keeps_documents_of_one_topic_together(model, asked, theta, dense):
    pytest.importorskip("umap")
    table = columns_of(model.document_map(theta=theta, placement="umap"))
    points, topics = np.column_stack([table["x"], table["y"]]), np.array(table["topic"])
    clear = dense[table["row"]].max(axis=1) > 0.9
    apart = distances_of(points[clear])
    np.fill_diagonal(apart, np.inf)
    assert (topics[clear][apart.argmin(axis=1)] == topics[clear]).mean() > 0.95
    again = columns_of(model.document_map(theta=theta, placement="umap"))
    assert again == table  # the same each time
