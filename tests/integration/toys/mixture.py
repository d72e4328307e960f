"""Not a topic model: a mixture of multinomials, a component per document, by online EM (Cappe and Moulines 2009)."""

import numpy as np

from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec, Model
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.types import Kernel, KernelResult, Scratch


def run(docs, view, hyper, seed, state):
    n = hyper.n_components
    entry = np.repeat(np.arange(docs.n_docs), np.diff(docs.indptr))
    logs = np.zeros((docs.n_docs, n)) + np.log(view.arrays["weights"][0, :n])
    np.add.at(logs, entry, docs.counts[:, None] * np.log(view.arrays["component_words"][docs.words, :n]))
    top = logs.max(axis=1, keepdims=True)
    share = np.exp(logs - top)
    total = share.sum(axis=1, keepdims=True)
    share /= total
    stats = {name: np.zeros_like(rows) for name, rows in view.arrays.items()}
    stats["weights"][0, :n] = share.sum(axis=0)
    np.add.at(stats["component_words"][:, :n], docs.words, docs.counts[:, None] * share[entry])
    return KernelResult(stats, share, None, {"log_likelihood": float((np.log(total) + top).sum())})


def scratch(size, options):
    """For each entry the share of its document and what its tokens add, in double precision."""
    return Scratch(transient=2 * 8 * size.n_entries * size.n_components)


ARRAYS = {
    "component_words": ArraySpec("word", "component", prior="component_word_prior", start=("uniform", None)),
    "weights": ArraySpec("none", "component", prior="weight_prior", normalised_over="components"),
}
AXES = {name: spec.rows for name, spec in ARRAYS.items()}
METHOD = Method(
    "mixture",
    Kernel("mixture", run, dict.fromkeys(ARRAYS, "mean"), AXES, scratch=scratch),
    {name: Interpolate(learning_decay=0.6, learning_offset=1.0) for name in ARRAYS},
    Model("mixture", ARRAYS, components=("component",)),
    batch_size=40,
    slice_size=20,
    max_iter=5,
)
