"""What runs of toy models keep when they are saved, cut and grown; and that each toy learns what its equations say."""

from __future__ import annotations

import os
import signal
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.support import preparation
from bigtopic.inference.infer import infer
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.state import model_store
from bigtopic.state.axes import axes_of
from bigtopic.state.checkpoints.checkpoint import Checkpoint, CheckpointFolder
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.types import Block

sys.path.insert(0, str(Path(__file__).parent))

import toys
from test_toys import bits, learn

pytestmark = pytest.mark.battery
K = 3


def block(rng: np.random.Generator, first: int, n_docs: int, n_words: int, n_authors: int) -> Block:
    lengths, n_writers = rng.integers(1, 9, n_docs), rng.integers(1, 3, n_docs)
    words = [np.sort(rng.choice(n_words, n, replace=False)) for n in lengths]
    writers = [np.sort(rng.choice(n_authors, n, replace=False)) for n in n_writers]
    return Block(
        np.concatenate([[0], np.cumsum(lengths)]),
        np.concatenate(words).astype(np.int32),
        rng.integers(1, 4, lengths.sum()).astype(np.float32),
        np.arange(first, first + n_docs),
        np.concatenate([[0], np.cumsum(n_writers)]),
        np.concatenate(writers).astype(np.int32),
    )


def some_documents(first: int = 0, n_words: int = 30, n_authors: int = 6) -> Corpus:
    """120 documents; of another `first`, others."""
    rng = np.random.default_rng(first)
    parts = [MemoryPart(f"part {at}", block(rng, at, 60, n_words, n_authors)) for at in (first, first + 60)]
    words, authors = ([f"{kind}{i}" for i in range(n)] for kind, n in (("w", n_words), ("a", n_authors)))
    return Corpus(parts, Vocabulary(words), author_vocabulary=Vocabulary(authors))


@pytest.fixture(params=toys.METHODS)
def method(request):
    return toys.METHODS[request.param]


@pytest.fixture(scope="module")
def documents() -> Corpus:
    return some_documents()


def topics_of(model: TopicModel, documents: Corpus) -> np.ndarray:
    return np.concatenate([piece.doc_topics for piece in infer(model, documents, n_threads=1)])


def begin(method: Method, documents: Corpus) -> TopicModel:
    axes = axes_of(method.model, documents)
    return new_model(method, toys.n_components(method), axes, n_tokens=documents.n_tokens, seed=3)


def go_on(model: TopicModel, documents: Corpus, n_passes: int = 1) -> TopicModel:
    method = model.method
    sizes = {"batch_size": method.batch_size, "slice_size": method.slice_size, "order": "shuffled"}
    train(model, documents, Limits(n_passes), n_threads=1, **sizes)
    return model


def test_a_saved_model_goes_on_to_the_same_bits(method, documents, tmp_path):
    model = learn(method, documents)
    model_store.save(model, tmp_path / "model.zarr")
    loaded, _ = model_store.load(tmp_path / "model.zarr", method)
    assert bits(loaded) == bits(model) and loaded.components == model.components
    assert {name: axis.fingerprint for name, axis in loaded.axes.items()} == {
        name: axis.fingerprint for name, axis in model.axes.items()
    }
    if method.load_kernel().state == "run":  # what documents remember stays with the model that was fitted
        return
    assert bits(go_on(loaded, documents)) == bits(go_on(model, documents))


class Saving:
    """Saves after every segment."""

    def __init__(self, folder: CheckpointFolder, counts: Any = None) -> None:
        self._folder, self.counts = folder, counts

    def due(self, step: int) -> bool:
        return self._folder.due(step)

    def save(self, model: TopicModel, counts: Any) -> None:
        self._folder.save(model, {"counts": dict(counts)})


def test_a_run_that_is_cut_in_mid_pass_goes_on_to_the_same_bits(method, documents, tmp_path):
    """Ctrl-C in every round of two passes but the last, each time with another process in the place of the first."""
    method = replace(method, max_iter=2)

    def stop(event: Any) -> None:
        if event.kind == "round":
            os.kill(os.getpid(), signal.SIGINT)

    sizes = {"batch_size": method.batch_size, "slice_size": method.slice_size, "n_threads": 1}
    settings, identity, n_runs, pass_number = (
        Checkpoint(tmp_path / "run.ckpt", seconds=0),
        {"corpus": {}},
        0,
        0,
    )
    while pass_number < method.max_iter:
        with CheckpointFolder(settings, identity, resume=True) as folder:
            model, extra = folder.newest(method) or (begin(method, documents), {})
            if n_runs == 0 and method.load_kernel().state == "run":
                folder.attach(model)
            limits = Limits(method.max_iter - model.cursor.pass_number, callbacks=[stop])
            train(model, documents, limits, saver=Saving(folder, extra.get("counts")), **sizes)
        n_runs, pass_number = n_runs + 1, model.cursor.pass_number
    assert bits(model) == bits(learn(method, documents)) and n_runs > 1


def test_a_model_that_grows_keeps_what_it_knows(method, documents):
    """More documents with more words and authors: rows of all axes, and their companions, are appended."""
    model = learn(method, documents)
    before = {name: array.gather(None) for name, array in model.params.arrays.items()}
    more = some_documents(120, n_words=40, n_authors=9)
    preparation.end_pass(model)
    preparation.grow(model, axes_of(method.model, more))
    sizes = {"word": 40, "column": 40, "author": 9, "row": 240}
    for name, array in model.params.arrays.items():
        assert array.n_rows == sizes.get(array.axis, len(before[name]))
        if name == "author_documents":  # which grow with the documents
            continue
        known = array.gather(None)[: len(before[name])]
        np.testing.assert_allclose(known, before[name], rtol=1e-6)
    go_on(model, more)
    assert all(np.isfinite(array.gather(None)).all() for array in model.params.arrays.values())
    assert model.vocabulary.words is not None and model.vocabulary.words[-1] == "w39"


def test_topics_of_documents_do_not_depend_on_their_neighbours(method, documents):
    model = learn(method, documents)
    together = topics_of(model, documents)
    alone = [topics_of(model, documents.run(i, i + 1, order="stored")) for i in (0, 7, 61)]
    np.testing.assert_allclose(np.concatenate(alone), together[[0, 7, 61]], rtol=1e-5, atol=1e-7)
    assert together.shape == (120, next(iter(model.components.values())))
    np.testing.assert_allclose(together.sum(axis=1), 1, rtol=1e-5)


# ---------------------------------------------------------------- each toy


def fit(name: str, corpus: Corpus, n_passes: int, **more: Any) -> TopicModel:
    method = replace(toys.METHODS[name], **more)
    model = new_model(
        method, toys.n_components(method), axes_of(method.model, corpus), n_tokens=corpus.n_tokens, seed=1
    )
    return go_on(model, corpus, n_passes)


def test_alpha_comes_near_the_truth_and_is_what_inference_uses(tmp_path):
    """Documents of a known asymmetric prior and known topics; alpha begins at 1 / 3 for each topic."""
    rng, alpha = np.random.default_rng(0), np.array([1.5, 0.4, 0.1])
    topics = np.kron(np.eye(3), np.full(20, 1 / 20)) + 1e-9
    theta = rng.dirichlet(alpha, 2000)
    corpus = from_matrix(
        sparse.csr_matrix([rng.multinomial(60, row @ topics / (row @ topics).sum()) for row in theta])
    )
    method = replace(toys.METHODS["alpha"], batch_size=400, max_iter=10)
    model = LDA(3, method=method, init=topics, topic_word_prior=1e-3, client=False, random_state=1).fit(
        corpus
    )
    np.testing.assert_allclose(model.doc_topic_prior_, alpha, rtol=0.15)
    empty = from_matrix(sparse.csr_matrix((1, 60)))
    share = topics_of(model._model, empty)[0]
    np.testing.assert_allclose(share, model.doc_topic_prior_ / model.doc_topic_prior_.sum(), rtol=1e-5)
    model.save(tmp_path / "model.zarr")
    loaded, _ = model_store.load(tmp_path / "model.zarr", model._model.method)
    np.testing.assert_array_equal(loaded.doc_topic_prior, model.doc_topic_prior_)


def test_each_author_moves_by_a_step_of_its_own(documents):
    """An author's weights are an average with weights that follow from its own updates; its mass is one update's."""
    model = fit("author_steps".replace("_", "-"), documents, 2)
    steps = model.params["author_topics.steps"].gather(None)[:, 0]
    assert steps.min() >= 1 and steps.max() <= 4 and (steps == np.round(steps)).all()
    masses = model.params["author_topics"].gather(None)[:, :K].sum(axis=1)
    assert masses.max() < documents.n_tokens  # averages: added up, authors of many documents would have more


def test_a_dual_model_finds_planted_blocks():
    """Three kinds of rows and two of columns: the joint distribution is nearly that of the blocks."""
    rng = np.random.default_rng(0)
    blocks = np.array([[8.0, 0.2], [0.2, 6.0], [4.0, 4.0]])
    counts = rng.poisson(np.kron(blocks, np.ones((20, 15))))
    corpus = from_matrix(sparse.csr_matrix(counts), shuffle=False)
    perplexities = []
    for n_passes in (2, 60):
        model = fit("dual", corpus, n_passes)
        rows, columns, joint = (
            model.params[name].gather(None)[:, : model.params[name].n_components]
            for name in ("rows", "columns", "joint")
        )
        p = (rows / rows.sum(axis=0)) @ (joint / joint.sum()) @ (columns / columns.sum(axis=0)).T
        assert p.sum() == pytest.approx(1, abs=1e-5)
        perplexities.append(np.exp(-(counts * np.log(p)).sum() / counts.sum()))
    true = np.kron(blocks, np.ones((20, 15)))
    best = np.exp(-(counts * np.log(true / true.sum())).sum() / counts.sum())
    assert perplexities[1] < perplexities[0] and perplexities[1] < 1.01 * best
    doc_topics = topics_of(model, corpus)
    words = doc_topics @ (joint / joint.sum(axis=1, keepdims=True)) @ (columns / columns.sum(axis=0)).T
    assert doc_topics.shape == (60, 3)
    assert np.abs(words - true / true.sum(axis=1, keepdims=True)).sum(axis=1).mean() < 0.15


def test_a_mixture_finds_its_components():
    rng = np.random.default_rng(0)
    words = rng.dirichlet(np.full(30, 0.3), 2)
    kind = rng.random(600) < 0.3
    corpus = from_matrix(sparse.csr_matrix([rng.multinomial(40, words[int(k)]) for k in kind]), shuffle=False)
    method = toys.METHODS["mixture"]
    model = new_model(
        method, {"component": 2}, axes_of(method.model, corpus), n_tokens=corpus.n_tokens, seed=2
    )
    go_on(model, corpus, 8)
    weights = model.params["weights"].gather(None)[0, :2]
    np.testing.assert_allclose(np.sort(weights / weights.sum()), [kind.mean(), 1 - kind.mean()], atol=0.03)
    found = topics_of(model, corpus).argmax(axis=1)
    agreement = (found == kind).mean()
    assert max(agreement, 1 - agreement) > 0.98


def test_momentum_is_the_recursion(documents):
    """Two updates in dense NumPy, from the statistics that the kernel gives at the params of each."""
    method = replace(toys.METHODS["momentum"], batch_size=None, slice_size=None)
    model = new_model(method, K, axes_of(method.model, documents), n_tokens=documents.n_tokens, seed=3)
    scheme, seen = method.schemes["topic_words"], []
    statistics, mean = model.topic_words.raw.astype(float), 0.0

    class Spy(type(scheme)):
        def step(self, array, stats, info):
            rows = np.zeros(array.raw.shape)
            rows[stats.ids] = stats.values
            seen.append(rows)
            super().step(array, stats, info)

    model.method = replace(method, schemes={"topic_words": Spy()})
    go_on(model, documents, 2)
    for rows in seen:
        mean = scheme.keep * mean + (1 - scheme.keep) * rows
        statistics = (1 - scheme.rate) * statistics + scheme.rate * mean
    array = model.topic_words
    np.testing.assert_allclose(array.raw * array.scale, statistics, rtol=1e-5, atol=1e-5)
    assert len(seen) == 2


def test_tokens_are_counted_as_whole_numbers(documents):
    model = fit("counts", documents, 2)
    assert model.topic_words.raw.dtype == np.int64
    assert model.topic_words.raw.sum() == 2 * documents.n_tokens  # every token once in each pass
