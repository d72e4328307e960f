"""What cannot fit is refused before it begins, by the limit of the machine or of its container; the estimate is what a
run really takes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from peaks import matrix, peak

from bigtopic import methods
from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import BigtopicWarning, SettingError
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.kernels import load
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.memory.estimate import estimate_bytes, fitting_threads
from bigtopic.learning.memory.footprint import ExpectedRows, Footprint
from bigtopic.learning.new_run import make_run
from bigtopic.parallel import cluster
from bigtopic.state import machine_memory
from bigtopic.state.new_model import new_model
from bigtopic.types import Scratch

pytestmark = pytest.mark.usefixtures("replicas_of_large_corpora")

COUNTS = np.ones((200, 40))
SHORT = {"n_words": 100_000, "n_docs": 40_000, "length": 20}
LONG = {"n_words": 3_000, "n_docs": 800, "length": 1500}


def fit(**settings):
    usual = {"method": "online-cvb0", "n_components": 4, "max_iter": 1, "client": False, "n_threads": 1}
    return LDA(**{**usual, **settings}).fit(COUNTS)


def check(**case):
    """The peak is never above the estimate, and at least about half of it."""
    found = peak(**case)
    assert found["measured"] <= found["estimated"] < 2.5 * found["measured"], found


# ---------------------------------------------------------------- what is refused


def test_params_that_cannot_fit_name_what_to_change():
    with pytest.raises(SettingError, match=r"fewer topics .now 4000000000.*min_df"):
        fit(n_components=4_000_000_000)


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(machine_memory, "CONTAINER_LIMITS", (tmp_path / "missing", limit))
    limit.write_text("max\n")
    fit()
    limit.write_text("20000\n")
    with pytest.raises(SettingError, match=r"batch_size .now 64.*fewer threads .now 1"):
        fit()


# ---------------------------------------------------------------- rows


def test_expected_rows_are_the_distinct_words_of_minibatches():
    corpus = from_matrix(matrix(5_000, 4_000, 30.0))
    rows = ExpectedRows({"word": corpus.vocabulary}, {"word": 5_000}, 4_000, corpus.nnz / 4_000)
    for n_docs in (40, 400, 2_000):
        blocks = [corpus.parts[0].read(start, start + n_docs) for start in range(0, 4_000, n_docs)]
        found = np.mean([len(np.unique(block.words)) for block in blocks])
        assert rows("word", n_docs) == pytest.approx(found, rel=0.02)
    assert rows("word", 4_000) == len(np.unique(corpus.parts[0].block.words))


def test_without_frequencies_entries_are_a_bound():
    rows = ExpectedRows({"word": Vocabulary(size=1_000)}, {"word": 1_000, "none": 1, "row": 70}, 200, 12.0)
    assert [rows("word", 10), rows("word", 200)] == [120, 1_000]
    assert [rows("none", 10), rows("row", 10), rows("row", 100)] == [1, 10, 70]


def test_a_kernel_is_told_the_longest_documents():
    """One has the most distinct words, another the most tokens."""
    sizes, counts = [], np.full((30, 40), 5)
    counts[np.arange(30) != 7, 10:] = 0
    counts[20] *= 50
    kernel = replace(load("vb"), scratch=lambda size, options: sizes.append(size) or Scratch())
    own = replace(methods.get("vb"), kernel=kernel, name="own")
    LDA(2, method=own, max_iter=1, client=False, n_threads=1).fit(counts)
    assert {(size.longest, size.longest_tokens) for size in sizes} == {(40, 2500)}


# ---------------------------------------------------------------- workers


def test_documents_in_memory_travel_to_the_worker():
    documents = from_matrix(np.ones((20_000, 40)))
    view = documents[:15_000]
    for corpus in (documents, view):
        model = new_model(methods.get("online-vb"), {"topic": 2}, {"word": corpus.vocabulary}, n_tokens=1e6)
        plan = {"batch_size": 100, "slice_size": None, "max_iter": 1, "order": "shuffled"}
        estimate = Footprint(make_run(model, corpus, **plan), model.params, model.axes)
        assert estimate.of_documents() == documents.n_bytes
        assert estimate.of_tasks(1, True, 1) > documents.n_bytes


def test_replicas_that_cannot_fit_name_what_to_change(monkeypatch):
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 20_000)
    with pytest.raises(
        SettingError,
        match=r"batch_size .now 64., fewer replica_updates .now 3. or replicas=1 .now 2., fewer topics",
    ):
        fit(replicas=2, replica_updates=3, max_iter=20)


def test_as_many_threads_work_as_fit(monkeypatch):
    """Unless their number is given: then a run that cannot fit is refused."""
    model = new_model(methods.get("online-cvb0"), 4, from_matrix(COUNTS).vocabulary, n_tokens=8_000)
    run = make_run(model, from_matrix(COUNTS), batch_size=20, slice_size=10, order="shuffled", max_iter=1)
    asked = run, model.params, model.axes
    need = {n: estimate_bytes(*asked, n) for n in (1, 2, 4, 8)}
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: need[4])
    monkeypatch.setattr(cluster, "default_threads", lambda: 8)
    with pytest.warns(
        BigtopicWarning,
        match="only 2 of 8 threads are used, because more would need more memory than there is",
    ):
        assert fitting_threads(*asked, 8) == 2
    made: list[int] = []
    usual = ThreadExecutor.__init__

    def noted(self, run, n_threads=1):
        made.append(n_threads)
        usual(self, run, n_threads)

    monkeypatch.setattr(ThreadExecutor, "__init__", noted)
    with pytest.warns(BigtopicWarning, match="only 2 of 8 threads are used"):
        fit(batch_size=20, slice_size=10, n_threads=None)
    assert made == [2]
    with pytest.raises(SettingError, match=r"or fewer threads .now 8."):
        fit(batch_size=20, slice_size=10, n_threads=8)
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: need[1])
    with pytest.warns(BigtopicWarning, match="only 1 of 8 threads is used"), pytest.raises(SettingError):
        fit(batch_size=20, slice_size=10, n_threads=None)


def test_room_for_authors_that_cannot_fit_is_named(monkeypatch):
    corpus = from_matrix(COUNTS).with_authors({str(row): ["a"] for row in range(200)})
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 10_000_000)
    settings = {"method": "author-cvb0", "options": {"most_authors": 1000}, "client": False, "n_threads": 1}
    with pytest.raises(
        SettingError, match=r"fewer most_authors .now 1000. where documents have fewer, fewer topics"
    ):
        AuthorTopicModel(4, **settings).fit(corpus)


# ---------------------------------------------------------------- the estimate and the peak

MANY_ROUNDS = {"n_words": 20_000, "n_docs": 76_800, "length": 60}
CASES = {
    "minibatches of two slices": {"method": "online-cvb0", "n_threads": 2, "corpus": SHORT, "batch_size": 2000},
    "concurrent minibatches": {"method": "online-cvb0", "n_threads": 2, "corpus": MANY_ROUNDS, "batch_size": 100},
    "replicas": {"method": "online-cvb0", "n_threads": 2, "corpus": SHORT, "batch_size": 500, "replicas": 4,
                 "replica_updates": 4, "max_iter": 6},
    "more threads than slices": {"method": "online-vb", "n_threads": 8, "corpus": SHORT, "batch_size": 2000},
    "a batch whose topics are compared": {"method": "vb", "n_threads": 1, "corpus": LONG, "tol": 1e-4},
    "documents on disk": {"method": "streaming-ope", "n_threads": 1, "corpus": SHORT, "batch_size": 5000,
                          "stored": True},
    "minibatches in two parts": {"method": "cgs", "n_threads": 2, "batch_size": 4000, "slice_size": 2000,
                                 "max_iter": 3, "n_parts": 5,
                                 "corpus": {"n_words": 60_000, "n_docs": 24_000, "length": 30}},
    "whole minibatches in two parts": {"method": "sgs", "n_threads": 1, "batch_size": 7000, "n_parts": 5,
                                       "corpus": {"n_words": 60_000, "n_docs": 24_000, "length": 60}},
    "inner iterations": {"method": "svb", "n_threads": 2, "corpus": SHORT | {"n_docs": 8_000}, "batch_size": 4000},
    "what is remembered": {"method": "ilr", "n_threads": 2, "batch_size": 4000, "slice_size": 2000, "max_iter": 3,
                           "n_parts": 3, "n_components": 40,
                           "corpus": {"n_words": 20_000, "n_docs": 40_000, "length": 35}},
    "a mean": {"method": "online-vb", "n_threads": 1, "corpus": SHORT, "batch_size": 4000, "average": 1.0},
    "authors": {"method": "online-author-vb", "n_threads": 1, "corpus": SHORT | {"n_words": 20_000},
                "batch_size": None, "n_authors": 30_000},
    "many slices": {"method": "vb", "n_threads": 2, "corpus": SHORT, "slice_size": 150},
}  # fmt: skip


@pytest.mark.costly
@pytest.mark.parametrize("name", CASES)
def test_the_peak_is_below_the_estimate(name):
    check(**{"n_components": 200, **CASES[name]})
