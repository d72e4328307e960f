"""Slices of a small corpus are prepared once: later passes find them as kernels take them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bigtopic.corpus.memory import from_matrix
from bigtopic.kernels.support.tokens import sorted_by_word
from bigtopic.learning import documents
from bigtopic.learning.documents import Documents
from bigtopic.learning.estep import gather
from bigtopic.learning.new_run import make_run
from bigtopic.methods import get
from bigtopic.plan.reading import BlockReader
from bigtopic.plan.slices import Plan
from bigtopic.state.new_model import new_model


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


def test_slices_of_replicas_are_not_kept():
    run, refs, arrays = setting()
    run = replace(run, plan=Plan(**{**run.plan.settings, "replicas": 2}))
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
