"""A hierarchy of topics: the two that are most alike are joined, then the next two, by average linkage.

Topics are as far from each other as 1 minus their similarity, see `bigtopic.questions.compare`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from bigtopic.errors import SettingError
from bigtopic.support.cards import shown
from bigtopic.wording import printable

__all__ = ["TopicTree", "tree_of"]


@dataclass(frozen=True)
class TopicTree:
    """A hierarchy of topics. Prints as a tree with the distance at which branches join.

    Attributes
    ----------
    labels : of the topics
    linkage : float64 (n_components - 1, 4), as of `scipy.cluster.hierarchy`, whose functions take it
    """

    labels: Sequence[str]
    linkage: np.ndarray = field(repr=False)

    def cut(self, n_groups: int) -> list[list[int]]:
        """The topics in this many groups, such as `merge_topics` takes; each in ascending order.

        Raises
        ------
        SettingError
            When there are fewer topics.
        """
        n = len(self.labels)
        if not 1 <= n_groups <= n:
            raise SettingError(f"n_groups={n_groups!r}: must be from 1 to the {n} topics")
        groups = {k: [k] for k in range(n)}
        for number, (a, b) in enumerate(self._joins()[: n - n_groups]):
            groups[n + number] = sorted(groups.pop(a) + groups.pop(b))
        return sorted(groups.values())

    def text(self) -> str:
        """The tree, a line for each topic and each join; those that are most alike are next to each other."""
        return "\n".join(f"{beginning}{printable(label)}" for beginning, label in self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        """The beginning of each line, and the label on it."""
        n = len(self.labels)
        waiting = [(2 * n - 2, 0)]
        while waiting:
            node, depth = waiting.pop()
            if node < n:
                yield f"{'  ' * depth}{node} ", self.labels[node]
                continue
            yield f"{'  ' * depth}{self.linkage[node - n, 2]:.2f}", ""
            a, b = self._joins()[node - n]
            waiting += [(b, depth + 1), (a, depth + 1)]

    def _joins(self) -> list[tuple[int, int]]:
        return [(int(a), int(b)) for a, b in self.linkage[:, :2]]

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return f"<pre>{'<br>'.join(beginning + shown(label) for beginning, label in self._lines())}</pre>"


def tree_of(scores: np.ndarray, labels: Sequence[str]) -> TopicTree:
    """The hierarchy of topics with these similarities, (n_components, n_components)."""
    from scipy.cluster.hierarchy import linkage
    from scipy.spatial.distance import squareform

    if len(labels) < 2:
        return TopicTree(tuple(labels), np.zeros((0, 4)))
    distances = np.clip(1 - (scores + scores.T) / 2, 0, 1)
    np.fill_diagonal(distances, 0)
    return TopicTree(tuple(labels), linkage(squareform(distances, checks=False), "average"))
