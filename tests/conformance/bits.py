"""Prints a hash of what kernels and learning compute; a test runs it with caches in different states.

python tests/conformance/bits.py kernel/ilr kernel/vb/f4 method/online-vb ...      # in this order
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np

from bigtopic import kernels
from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets.synthetic import lda_corpus
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import get
from bigtopic.state.axes import axes_of
from bigtopic.state.bound import global_part
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

LENGTHS = [9, 0, 1, 17, 4, 25, 33, 2, 40, 150]
N_WORDS = 300
SIZES = 20, 200  # topics: more than one vector of them, and loops that are worth unrolling


def hashed(*arrays: object) -> str:
    found = hashlib.blake2b(digest_size=8)
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()


def kernel_bits(name: str, dtype: type, n_components: int) -> str:
    """Of everything that a kernel returns."""
    kernel = kernels.load(name)
    docs, topics = case.documents(LENGTHS, N_WORDS, seed=1), case.topics(N_WORDS, n_components, seed=2)
    alpha = case.accepted(kernel, np.linspace(0.02, 1.3, n_components))
    options = {"bound": True} if "bound" in kernel.options else {}
    found = case.infer(kernel, docs, topics, alpha, dtype=dtype, **options)
    return hashed(
        found.doc_topics, *found.stats.values(), *(found.state or {}).values(), *found.info.values()
    )


def method_bits(name: str, n_components: int) -> str:
    """Of a model and its bound."""
    counts = lda_corpus(90, N_WORDS, 10, mean_length=100.0, random_state=1).counts
    authors = {str(row): [f"author {row % 7}", f"writer {row % 4}"] for row in range(counts.shape[0])}
    corpus = from_matrix(counts, random_state=0).with_authors(authors)
    method = get(name)
    components = dict.fromkeys(method.model.components, n_components)
    model = new_model(method, components, axes_of(method.model, corpus), n_tokens=corpus.n_tokens, seed=0)
    train(model, corpus, Limits(2), n_threads=1)
    return hashed(*(array.gather(None) for array in model.params.arrays.values()), global_part(model.params))


def main() -> None:
    for step in sys.argv[1:]:
        kind, name, *dtypes = step.split("/")
        if kind == "kernel":
            types = [np.dtype(dtype).type for dtype in dtypes or ("f4", "f8")]
            print(step, *(kernel_bits(name, dtype, n) for dtype in types for n in SIZES))
        else:
            print(step, *(method_bits(name, n) for n in SIZES))


if __name__ == "__main__":
    main()
