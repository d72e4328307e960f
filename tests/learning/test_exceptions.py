"""An exception of a user's kernel or scheme says which one it comes from."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from bigtopic import kernels
from bigtopic.corpus.memory import from_matrix
from bigtopic.estimators.lda import LDA
from bigtopic.methods import Method
from bigtopic.schemes.add import Add

CORPUS = from_matrix(np.ones((8, 5), dtype=int))


@dataclass(frozen=True)
class Broken:
    def step(self, array, stats, info):
        raise ZeroDivisionError


def notes_of(call):
    with pytest.raises(ZeroDivisionError) as raised:
        call()
    return raised.value.__notes__


def fail(docs, view, hyper, seed, state):
    raise ZeroDivisionError


def test_a_kernel_that_raises_is_named():
    kernel = replace(kernels.load("vb"), name="mine", run=fail)
    method = Method("own", kernel, {"topic_words": Add()}, batch_size=4)
    assert notes_of(lambda: LDA(2, method=method, client=False, n_threads=1).fit(CORPUS)) == [
        "in kernel 'mine'"
    ]


def test_a_kernel_that_raises_while_it_infers_is_named():
    calls = kernels.load("vb")
    kernel = replace(
        calls, name="mine", run=lambda docs, view, hyper, seed, state: run[0](docs, view, hyper, seed, state)
    )
    run = [calls.run]
    method = Method("own", kernel, {"topic_words": Add()}, batch_size=4)
    model = LDA(2, method=method, client=False, n_threads=1, max_iter=1).fit(CORPUS)
    run[0] = fail
    assert notes_of(lambda: model.transform(CORPUS)) == ["in kernel 'mine'"]


def test_a_scheme_that_raises_is_named():
    method = Method("own", "vb", {"topic_words": Broken()}, batch_size=4)
    (note,) = notes_of(lambda: LDA(2, method=method, client=False, n_threads=1).fit(CORPUS))
    assert note == "in scheme Broken of array 'topic_words', at update 1"
