"""A corpus of one slice for kernels of the dual topic model: counts, and sweeps that change them."""

import numpy as np
from reference.case import padded

from bigtopic.types import Hyper, View

__all__ = ["NAMES", "Chain", "first_pair"]

NAMES = ("row_topics", "column_topics", "joint")


def first_pair(u, shape):
    """The pair of an entry that is new."""
    t = int(u * max(shape))
    return t % shape[0], t % shape[1]


class Chain:
    """Counts of rows, columns and pairs; `shape` is the number of row topics and of column topics."""

    def __init__(self, kernel, docs, shape, dtype=np.float64, priors=(0.2, 0.3, 0.5), **options):
        self.kernel, self.docs, self.dtype, self.priors = kernel, docs, dtype, priors
        self.counts = [np.zeros((docs.n_docs, shape[0])), np.zeros((docs.n_words, shape[1])), np.zeros(shape)]
        self.hyper = Hyper(
            np.zeros(0),
            shape[0],
            {**kernel.options, **options},
            dict(zip(NAMES, priors, strict=True)),
            {"row": docs.n_docs, "column": docs.n_words, "row_topic": shape[0]},
            {"row_topic": shape[0], "column_topic": shape[1]},
            doc_topics=False,
            statistics=NAMES,
        )
        self.state, self.seed = None, 0

    def begin(self, columns, joint):
        """Begin with given counts of columns and pairs."""
        self.counts[1:] = self.counts[1] + columns, joint.copy()
        self.hyper = self.hyper._replace(begun=True, step=1)
        return self

    @property
    def weights(self):
        """Counts and priors."""
        return [counts + prior for counts, prior in zip(self.counts, self.priors, strict=True)]

    @property
    def totals(self):
        """Of the rows' and of the columns' weights."""
        return [weights.sum(axis=0) for weights in self.weights[:2]]

    @property
    def view(self):
        arrays = {
            name: padded(weights, np.float64 if name == "joint" else self.dtype)
            for name, weights in zip(NAMES, self.weights, strict=True)
        }
        return View(arrays, {name: rows.sum(axis=0, dtype=np.float64) for name, rows in arrays.items()})

    def remembered(self, name):
        return None if self.state is None else self.state[name]

    def sweep(self):
        self.seed += 1
        result = self.kernel.run(self.docs, self.view, self.hyper, self.seed, self.state)
        for counts, name in zip(self.counts, NAMES, strict=True):
            counts += result.stats[name][:, : counts.shape[1]]
            assert not result.stats[name][:, counts.shape[1] :].any()
        self.state = result.state
        return result
