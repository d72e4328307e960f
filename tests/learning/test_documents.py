"""Slices of a small corpus are prepared once: later passes find them as kernels take them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from bigtopic.learning.executors.documents import Documents

from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import ModelError
from bigtopic.kernels.support.tokens import sorted_by_word
from bigtopic.learning.estep import gather, look_up, prepare
from bigtopic.learning.executors import documents
from bigtopic.learning.executors.graph_tasks import Opaque
from bigtopic.learning.executors.graphs import _node
from bigtopic.learning.new_run import make_run
from bigtopic.learning.work import Iteration
from bigtopic.methods import get
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Plan
from bigtopic.state.new_model import new_model
from bigtopic.types import AxisStats


def setting(max_iter: int = 3, method: str = "vb", n_components: int = 4):
    """A run, its slices, and the params."""
    corpus = from_matrix(np.random.default_rng(0).poisson(0.3, (60, 50)))
    model = new_model(get(method), n_components, corpus.vocabulary, n_tokens=corpus.n_tokens)
    run = make_run(model, corpus, batch_size=20, slice_size=10, order="shuffled", max_iter=max_iter)
    return run, [ref for rnd in run.plan.rounds(0) for ref in rnd.slices], model.params.arrays


class Reader(BlockReader):
    """Counts the blocks that it gives."""

    n_blocks = 0

    def block(self, ref):
        self.n_blocks += 1
        return super().block(ref)


def n_blocks(run, refs, arrays) -> int:
    """Of two passes."""
    reader = Reader(run.parts, ahead=0)
    kept = Documents(run, reader)
    for ref in refs + refs:
        kept.gather(ref, arrays)
    return reader.n_blocks


def test_each_slice_is_prepared_once():
    run, refs, arrays = setting()
    assert len(refs) == 6 and n_blocks(run, refs, arrays) == 6


def test_what_is_kept_is_what_would_be_prepared():
    run, refs, arrays = setting()
    reader = BlockReader(run.parts, ahead=0)
    kept = Documents(run, reader)
    first = [kept.gather(ref, arrays) for ref in refs]
    for ref, one in zip(refs, first, strict=True):
        found, expected = kept.gather(ref, arrays), gather(reader.block(ref), arrays, run.work)
        for name in ("indptr", "words", "counts", "rows"):
            np.testing.assert_array_equal(getattr(found.docs, name), getattr(expected.docs, name))
        np.testing.assert_array_equal(found.axes["word"], expected.axes["word"])
        np.testing.assert_array_equal(found.view.arrays["topic_words"], one.view.arrays["topic_words"])


def test_what_a_kernel_derives_from_documents_is_kept_with_them():
    run, refs, arrays = setting(method="cgs")
    expected = {ref: run.work.kernel.derives(_prepared(run, ref, arrays)) for ref in refs}
    found = []
    counting = replace(run.work.kernel, derives=lambda docs: found.append(docs) or sorted_by_word(docs))
    kept = Documents(replace(run, work=replace(run.work, kernel=counting)), BlockReader(run.parts, ahead=0))
    for ref in refs:
        kept.gather(ref, arrays)
    for ref in refs:
        derived = kept.gather(ref, arrays).docs.derived
        assert derived.keys() == expected[ref].keys()
        for name, array in derived.items():
            np.testing.assert_array_equal(array, expected[ref][name])
    assert len(found) == len(refs)


def _prepared(run, ref, arrays):
    return gather(BlockReader(run.parts, ahead=0).block(ref), arrays, run.work).docs


@pytest.mark.parametrize("n_components", [4, 300])
def test_labels_do_not_depend_on_whether_rows_are_copied(n_components):
    run, refs, arrays = setting(method="cgs", n_components=n_components)
    counts = np.zeros((50, arrays["topic_words"].n_columns))
    counts[:, :n_components] = np.random.default_rng(1).poisson(2.0, (50, n_components))
    arrays["topic_words"].add(AxisStats(None, counts))
    block = BlockReader(run.parts, ahead=0).block(refs[0])
    places, drawn = [], []
    for in_place in (False, True):
        found = look_up(prepare(block, arrays, run.work), arrays, run.work, in_place=in_place)
        places.append(np.shares_memory(found.view.arrays["topic_words"], arrays["topic_words"].raw))
        drawn.append(run.work.kernel.run(found.docs, found.view, found.hyper, 7, None))
    assert places == [False, True]
    np.testing.assert_array_equal(drawn[0].state["labels"], drawn[1].state["labels"])
    np.testing.assert_array_equal(drawn[0].stats["topic_words"], drawn[1].stats["topic_words"])


def test_rows_are_copied_where_updates_are_delayed():
    run, refs, arrays = setting(method="cgs")
    delayed = replace(run, plan=Plan(**{**run.plan.settings, "slice_size": 20, "delay": 1}))
    for one, in_place in ((run, True), (delayed, False)):
        view = Documents(one, BlockReader(run.parts, ahead=0)).gather(refs[0], arrays).view
        assert np.shares_memory(view.arrays["topic_words"], arrays["topic_words"].raw) == in_place


def test_threads_and_graphs_read_rows_alike():
    """So that kernels of one's own, which may compute otherwise from copies, give the same bits."""
    run, refs, arrays = setting(method="cgs")
    delayed = replace(run, plan=Plan(**{**run.plan.settings, "slice_size": 20, "delay": 1}))
    for one in (run, delayed):
        threads = Documents(one, BlockReader(one.parts, ahead=0)).gather(refs[0], arrays)
        found = []
        looks = replace(
            one.work.kernel,
            run=lambda docs, view, *rest, found=found: found.append(view),
            state="none",
            remembers={},
        )
        graphs = replace(one, work=replace(one.work, kernel=looks))
        with pytest.raises(ModelError):  # the kernel returns nothing
            _node(graphs, Opaque((refs[0],)), arrays, Iteration(1))
        assert found[0].arrays.keys() == threads.view.arrays.keys()


@pytest.mark.parametrize(
    "plan", [{"slice_size": 20, "delay": 1}, {"replicas": 2}], ids=["delayed", "replicas"]
)
def test_slices_that_may_differ_from_pass_to_pass_are_not_kept(plan):
    run, refs, arrays = setting()
    run = replace(run, plan=Plan(**{**run.plan.settings, **plan}))
    assert n_blocks(run, refs, arrays) == 2 * len(refs)


def test_slices_of_the_only_pass_are_not_kept():
    run, refs, arrays = setting(max_iter=1)
    assert n_blocks(run, refs, arrays) == 2 * len(refs)


def test_a_large_corpus_is_not_kept(monkeypatch):
    run, refs, arrays = setting()
    n_entries = run.plan.n_docs * run.plan.entries_per_doc
    monkeypatch.setattr(documents, "CACHE_BYTES", documents.ENTRY_BYTES * n_entries)
    assert n_blocks(run, refs, arrays) == len(refs)
    monkeypatch.setattr(documents, "CACHE_BYTES", documents.ENTRY_BYTES * (n_entries - 1))
    assert n_blocks(run, refs, arrays) == 2 * len(refs)


def test_a_run_of_unknown_length_keeps_them():
    run, refs, arrays = setting()
    run = replace(run, settings=replace(run.settings, n_steps=None))
    assert n_blocks(run, refs, arrays) == len(refs)
