"""New kernels, schemes and methods run without touching another module, in every executor, to the same bits."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bigtopic.corpus.memory import MemoryPart
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.state.axes import axes_of
from bigtopic.state.new_model import new_model
from bigtopic.types import Block

sys.path.insert(0, str(Path(__file__).parent))

import toys
from toys.inner import not_at_rest

N_AUTHORS = 6
N_COMPONENTS = 3


@pytest.fixture(scope="module")
def documents() -> Corpus:
    """120 documents in two parts, each of one or two authors out of six."""
    rng = np.random.default_rng(0)
    parts = [MemoryPart(f"part {first}", block(rng, first, 60)) for first in (0, 60)]
    names = Vocabulary([f"author {i}" for i in range(N_AUTHORS)])
    return Corpus(parts, Vocabulary([f"w{i}" for i in range(30)]), author_vocabulary=names)


def block(rng: np.random.Generator, first: int, n_docs: int) -> Block:
    lengths, n_writers = rng.integers(1, 9, n_docs), rng.integers(1, 3, n_docs)
    words = [np.sort(rng.choice(30, n, replace=False)) for n in lengths]
    writers = [np.sort(rng.choice(N_AUTHORS, n, replace=False)) for n in n_writers]
    return Block(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate(words).astype(np.int32),
        rng.integers(1, 4, lengths.sum()).astype(np.float32),
        np.arange(first, first + n_docs),
        np.concatenate([[0], np.cumsum(n_writers)]),
        np.concatenate(writers).astype(np.int32),
    )


def learn(method: Method, documents: Corpus, executor: Any = None, n_components: int | None = None) -> Any:
    model = new_model(
        method,
        n_components or toys.n_components(method),
        axes_of(method.model, documents),
        n_tokens=documents.n_tokens,
        seed=3,
    )
    sizes = {"batch_size": method.batch_size, "slice_size": method.slice_size}
    train(model, documents, Limits(method.max_iter), n_threads=1, executor=executor, **sizes)
    return model


def bits(model: Any) -> dict[str, bytes]:
    arrays = model.params.arrays
    return {
        f"{name}.{part}": getattr(array, part).tobytes()
        for name, array in arrays.items()
        for part in ("raw", "scale", "sums")
    }


@pytest.fixture(scope="module")
def expected(documents) -> dict[str, Any]:
    """What one thread learns, by method."""
    return {name: learn(method, documents) for name, method in toys.METHODS.items()}


# ---------------------------------------------------------------- what the toys are there to show


def test_labels_are_kept_from_pass_to_pass(expected, documents):
    """Were state lost, tokens would be counted again in every pass; were it read in place, some would go missing."""
    statistics = expected["labels"].topic_words.raw
    assert (statistics == np.round(statistics)).all() and (statistics >= 0).all()
    counts = np.zeros(30)
    for one in documents.blocks():
        counts += np.bincount(one.words, one.counts, 30)
    np.testing.assert_array_equal(statistics.sum(axis=1), counts)


def test_inner_iterations_see_provisional_params(documents, expected):
    """Three inner iterations in dense NumPy: each from the params at the start of the round, moved by the last inner
    iteration's sums."""
    whole = Method(**{**vars(toys.METHODS["inner"]), "batch_size": None, "max_iter": 1})
    model = learn(whole, documents)
    start = new_model(whole, N_COMPONENTS, documents.vocabulary, n_tokens=documents.n_tokens, seed=3)
    prior = 1 / N_COMPONENTS
    before = start.topic_words.gather(None)[:, :N_COMPONENTS].astype(float) - prior
    counts, rate = np.asarray(documents.to_scipy().todense(), float), 11.0**-0.7
    statistics, topics = before, np.full((120, N_COMPONENTS), prior)
    for _ in range(3):
        words = (statistics + prior) / (statistics + prior).sum(axis=0)
        joint = topics[:, None, :] * words
        share = counts[:, :, None] * joint / joint.sum(axis=2, keepdims=True)
        statistics = (1 - rate) * before + rate * share.sum(axis=0)
        topics = prior + share.sum(axis=1)
        topics /= topics.sum(axis=1, keepdims=True)
    learnt = model.topic_words.gather(None)[:, :N_COMPONENTS] - prior
    np.testing.assert_allclose(learnt, statistics, rtol=2e-5, atol=2e-5)


def test_a_stopping_rule_decides_on_the_sums_of_an_inner_iteration(documents):
    iterations = []

    def rule(iteration, info):
        iterations.append(iteration)
        return not_at_rest(iteration, info)

    learn(Method(**{**vars(toys.METHODS["stopping"]), "inner": rule, "max_iter": 1}), documents)
    per_round = [
        iteration
        for iteration, following in zip(iterations, [*iterations[1:], 1], strict=True)
        if following == 1
    ]
    assert len(per_round) == 2 and 1 < max(per_round) <= 9


def test_each_axis_has_its_own_scheme(expected, documents):
    model = expected["authors"]
    authors, commonness = model.params["author_topics"], model.params["commonness"]
    assert authors.raw.shape == (N_AUTHORS, 16) and commonness.raw.shape == (1, 16)
    last_minibatch = commonness.raw.sum()
    assert last_minibatch < documents.n_tokens  # replaced: passes would add up
    per_pass = documents.n_tokens
    random_start = N_AUTHORS * N_COMPONENTS  # at most 1 per entry
    assert 2 * per_pass <= authors.totals().sum() <= 2 * per_pass + random_start  # added


# ---------------------------------------------------------------- files written at run time

KERNEL_FILE = '''
"""Responsibilities in proportion to the topics' words alone."""

import numpy as np

from bigtopic.types import Kernel, KernelResult


def run(docs, view, hyper, seed, state=None):
    words = view.arrays["topic_words"] ** hyper.options["sharpness"]
    share = words / np.maximum(words.sum(axis=1, keepdims=True), 1e-30)
    counts = np.bincount(docs.words, docs.counts, docs.n_words).astype(words.dtype)
    topics = np.ones((docs.n_docs, hyper.n_components), np.float32) / hyper.n_components
    return KernelResult({"topic_words": share * counts[:, None]}, topics, None, {"iterations": 1.0})


KERNEL = Kernel("sharp", run, {"topic_words": "mean"}, {"topic_words": "word"}, {"sharpness": 2.0})
'''

SCHEME_FILE = '''
"""Statistics fade by a constant factor before each addition."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Fade:
    keep: float = 0.9

    def step(self, array, stats, info):
        array.add(stats, decay=self.keep)


SCHEME = Fade
'''


@pytest.fixture
def written(tmp_path, toy) -> Method:
    """A method of a kernel file and a scheme file that did not exist before."""
    for name, text in {"toy_kernel": KERNEL_FILE, "toy_scheme": SCHEME_FILE}.items():
        (tmp_path / f"{name}.py").write_text(textwrap.dedent(text))
    kernel, scheme = toy(tmp_path / "toy_kernel.py"), toy(tmp_path / "toy_scheme.py")
    return Method("sharp", kernel.KERNEL, {"topic_words": scheme.SCHEME(keep=0.5)}, batch_size=50)


def test_a_kernel_file_and_a_scheme_file_are_all_a_method_needs(written, corpus):
    from bigtopic.estimators.lda import LDA

    model = LDA(4, method=written, max_iter=2, n_threads=1, client=False).fit(corpus)
    assert model.n_batch_iter_ == 12
    batches = [corpus.run(start, start + 50, order="stored").n_tokens for start in range(0, 300, 50)]
    statistics = model._model.topic_words.totals().sum()
    assert 1.9 * min(batches) < statistics < 2 * max(batches) + 320  # 1 + 1/2 + 1/4 + ...
    again = LDA(4, method=written, max_iter=2, n_threads=2, client=False).fit(corpus)
    np.testing.assert_array_equal(model.components_, again.components_)
    assert model.transform(corpus).shape == (300, 4)


@pytest.mark.distributed
def test_a_method_of_files_runs_on_workers(written, corpus, tmp_path, three_workers):
    from bigtopic.estimators.lda import LDA

    for name in ("toy_kernel", "toy_scheme"):
        three_workers.upload_file(str(tmp_path / f"{name}.py"), load=False)
    here = LDA(4, method=written, client=False).fit(corpus)
    there = LDA(4, method=written, client=three_workers).fit(corpus)
    np.testing.assert_array_equal(here.components_, there.components_)
    np.testing.assert_array_equal(here.transform(corpus), there.transform(corpus))
