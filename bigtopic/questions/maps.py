"""Topics and documents on a plane.

Topics are placed by classical scaling: with squared distances D, and J = I - 1 / n, the inner products of centred
places are B = -J D J / 2, and the places are the first two eigenvectors of B times the roots of their eigenvalues.

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
from bigtopic.questions.documents import Theta, leaders

__all__ = ["PLACEMENTS", "document_places", "places", "principal_axes", "projected"]

PLACEMENTS = ("pca", "umap")
_MOST_BYTES = 1 << 31  # of topics in memory
_NEIGHBOURS = 15  # of each document, for UMAP


def places(distances: np.ndarray) -> np.ndarray:
    """Where things with these distances, float64 (n, n), are on a plane, float64 (n, 2).

    The thing farthest from the centre along an axis is on its positive side.
    """
    from scipy.linalg import eigh

    n, squares = len(distances), distances**2
    means = squares.mean(axis=0)
    products = (means + means[:, None] - squares - means.mean()) / 2
    values, vectors = eigh(products, subset_by_index=[max(0, n - 2), n - 1])
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
    n_rows, sums, products = 0, np.zeros(n_components), np.zeros((n_components, n_components))
    for topics in batches:
        roots = _roots(topics)
        n_rows += roots.shape[0]
        sums += np.asarray(roots.sum(axis=0)).ravel()
        own = roots.T @ roots
        products += own if isinstance(own, np.ndarray) else own.toarray()
    mean = sums / max(n_rows, 1)
    _, vectors = np.linalg.eigh(products / max(n_rows, 1) - np.outer(mean, mean))
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
