"""Topics and documents on a plane.

Topics are placed by classical scaling: with squared distances D, and J = I - 1 / n, the inner products of centred
places are B = -J D J / 2, and the places are the first two eigenvectors of B times the roots of their eigenvalues.
Hellinger's squared distances are D = 1 - R'R with the roots R of p(word | topic), so that B = J R'R J / 2: where topics
are lists, products with B cost the lists, and no distances are computed.

Documents are placed by the first two principal components of the square roots of their topics, between which straight
distances are Hellinger's, in two passes; or by UMAP, which keeps neighbours together and has the topics of all
documents in memory.

References
----------
Torgerson, "Multidimensional scaling: I. Theory and method", 1952; McInnes, Healy, Melville, "UMAP: Uniform manifold
approximation and projection", 2018.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument, require
from bigtopic.evaluation.sparse.lists import Parts, lists_of
from bigtopic.evaluation.sparse.pairs import unit_parts
from bigtopic.questions.compare import similarity
from bigtopic.questions.documents import Theta, leaders

__all__ = ["PLACEMENTS", "document_places", "places", "principal_axes", "projected", "topic_places"]

PLACEMENTS = ("pca", "umap")
_FEW = 2048  # things of which all eigenvalues are computed
_TOLERANCE = 1e-4  # of eigenvalues, else
_MOST_BYTES = 1 << 31  # of topics in memory
_NEIGHBOURS = 15  # of each document, for UMAP


def topic_places(source: Any, measure: str = "hellinger") -> np.ndarray:
    """Where topics are on a plane by the likeness of their words, float64 (n_components, 2). Raises as `similarity`."""
    lists = lists_of(source)
    if lists is None or measure != "hellinger":
        return places(1 - similarity(source, measure=measure))
    return _places_of(*_centred_products(unit_parts(source, roots=True)))


def places(distances: np.ndarray) -> np.ndarray:
    """Where things with these distances, float64 (n, n), are on a plane, float64 (n, 2).

    The thing farthest from the centre along an axis is on its positive side.
    """
    squares = distances**2
    means = squares.mean(axis=0)
    products = (means + means[:, None] - squares - means.mean()) / 2
    return _places_of(len(products), products)


def _centred_products(roots: Parts) -> tuple[int, Any]:
    """How many topics there are, and what multiplies with B."""
    from scipy.sparse import csr_array
    from scipy.sparse.linalg import LinearOperator

    n, of_others = len(roots.of_others), roots.of_others[:, None]
    lists = csr_array((roots.values, roots.columns, roots.indptr), shape=(roots.n_words, n))
    by_topic = lists.T.tocsr()

    def multiply(x: np.ndarray) -> np.ndarray:
        x = x.reshape(n, -1)
        x = x - x.mean(axis=0)
        of_words = lists @ x + (of_others * x).sum(axis=0)
        found = by_topic @ of_words + of_others * of_words.sum(axis=0)
        return np.asarray((found - found.mean(axis=0)) / 2)

    return n, LinearOperator((n, n), matvec=multiply, matmat=multiply, dtype=np.float64)


def _covariance(products: Any, mean: np.ndarray) -> Any:
    """What multiplies with `products` less the outer product of the mean."""
    from scipy.sparse.linalg import LinearOperator

    def multiply(x: np.ndarray) -> np.ndarray:
        x = x.reshape(len(mean), -1)
        return np.asarray(products @ x - np.outer(mean, mean @ x))

    return LinearOperator((len(mean),) * 2, matvec=multiply, matmat=multiply, dtype=np.float64)


def _largest_vectors(n: int, products: Any) -> tuple[np.ndarray, np.ndarray]:
    """The two largest eigenvalues, ascending, and their vectors, (n, 2), of a matrix or what multiplies with it."""
    from scipy.sparse.linalg import eigsh

    start = np.random.Generator(np.random.Philox(key=[0, 0])).standard_normal(n)
    values, vectors = eigsh(products, 2, which="LA", v0=start, tol=_TOLERANCE)
    order = np.argsort(values)
    return values[order], vectors[:, order]


def _places_of(n: int, products: Any) -> np.ndarray:
    """Places with these inner products, a matrix (n, n) or what multiplies with it."""
    from scipy.linalg import eigh

    if n <= _FEW and isinstance(products, np.ndarray):
        values, vectors = eigh(products, subset_by_index=[max(0, n - 2), n - 1])
    else:
        values, vectors = _largest_vectors(n, products)
    found = np.zeros((n, 2))
    found[:, : len(values)] = (vectors * np.sqrt(np.maximum(values, 0)))[:, ::-1]
    farthest = np.abs(found).argmax(axis=0)
    return np.asarray(found * np.where(found[farthest, [0, 1]] < 0, -1.0, 1.0))


def principal_axes(batches: Iterable[Any], n_components: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean, float64 (n_components,), and the first two principal axes, (n_components, 2), of square roots of rows.

    Parameters
    ----------
    batches : of rows, arrays or csr_matrix (n, n_components)
    """
    from scipy.sparse import csr_array

    n_rows, sums, many = 0, np.zeros(n_components), n_components > _FEW
    products: Any = csr_array((n_components,) * 2) if many else np.zeros((n_components, n_components))
    for topics in batches:
        roots = _roots(topics)
        n_rows += roots.shape[0]
        sums += np.asarray(roots.sum(axis=0)).ravel()
        own = roots.T @ roots
        products = products + (own if many or isinstance(own, np.ndarray) else own.toarray())
    mean = sums / max(n_rows, 1)
    if many:
        vectors = _largest_vectors(n_components, _covariance(products / max(n_rows, 1), mean))[1]
    else:
        vectors = np.linalg.eigh(products / max(n_rows, 1) - np.outer(mean, mean))[1]
    axes = np.zeros((n_components, 2))
    axes[:, : min(2, n_components)] = vectors[:, ::-1][:, :2]
    return mean, axes


def projected(topics: Any, mean: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Square roots of rows, an array or csr_matrix (n, n_components), on these axes: float64 (n, 2)."""
    return np.asarray(_roots(topics) @ axes - mean @ axes)


def _roots(topics: Any) -> Any:
    return np.sqrt(topics, dtype=np.float64) if isinstance(topics, np.ndarray) else topics.sqrt()


def document_places(theta: Theta, placement: str = "pca") -> dict[str, np.ndarray]:
    """Where documents are on a plane, and the topic that each is most about.

    Returns
    -------
    positions : int64 (n,), in the order in which `theta.documents` are stored
    x, y : float64 (n,)
    topic : int64 (n,)

    Raises
    ------
    SettingError
        When there is no such placement, or UMAP has too few documents, or more than fit into memory.
    MissingExtra
        When UMAP is not installed.
    """
    if placement not in PLACEMENTS:
        raise SettingError(f"{argument('placement', placement)}: choose one of {', '.join(PLACEMENTS)}")
    positions, topics = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    plane = _by_umap if placement == "umap" else _by_axes

    def watched() -> Iterable[Any]:
        for own, shares in theta.batches("placing"):
            positions.append(own)
            topics.append(leaders(shares))
            yield shares

    x, y = plane(theta, watched()).T
    return {"positions": np.concatenate(positions), "x": x, "y": y, "topic": np.concatenate(topics)}


def _by_axes(theta: Theta, batches: Iterable[Any]) -> np.ndarray:
    first_pass = (shares for _, shares in theta.batches("finding axes"))
    mean, axes = principal_axes(first_pass, theta.n_components)
    return np.concatenate([np.zeros((0, 2)), *(projected(shares, mean, axes) for shares in batches)])


def _by_umap(theta: Theta, batches: Iterable[Any]) -> np.ndarray:
    umap, other = require("umap", "maps"), argument("placement", "pca")
    rows, n_docs = list[np.ndarray](), 0
    for shares in batches:
        rows.append(shares.astype(np.float32).toarray())
        n_docs += len(rows[-1])
        if 4 * n_docs * theta.n_components > _MOST_BYTES:
            raise SettingError(
                f"{argument('placement', 'umap')}: the topics of {n_docs:,} documents or more do not fit into memory; "
                f"choose {other}, or fewer documents"
            )
    if n_docs <= _NEIGHBOURS:
        raise SettingError(
            f"{argument('placement', 'umap')}: needs more than {_NEIGHBOURS} documents; choose {other}"
        )
    placed = umap.UMAP(n_neighbors=_NEIGHBOURS, metric="hellinger", random_state=0, n_jobs=1)
    return np.asarray(placed.fit_transform(np.concatenate(rows)), np.float64)
