"""Plans cover every document once, whatever the sizes; slices rename ids as NumPy would."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from bigtopic import methods
from bigtopic.plan.slices import READ_BLOCK_ENTRIES, READ_BLOCK_SLICES, Plan, make_docs
from bigtopic.types import Block

PARTS = ([1], [100], [3, 1, 250, 2], [300, 299, 1])
BATCHES = (None, 1, 7, 64, 10_000)
SLICES = (None, 1, 33)


def positions(plan: Plan, pass_number: int = 0) -> list[int]:
    """Global positions of a pass in the order they are seen."""
    found = []
    for rnd in plan.rounds(pass_number):
        for ref in rnd.slices:
            found += range(plan.offsets[ref.part] + ref.start, plan.offsets[ref.part] + ref.stop)
    return found


@pytest.mark.parametrize(
    ("n_docs", "batch_size", "slice_size", "sizes"),
    [
        (1999, 20_000, 10_000, [1999]),  # too few documents to share
        (2001, 20_000, 10_000, [1001, 1000]),
        (2001, None, 10_000, [1001, 1000]),
        (30_000, 20_000, 10_000, [10_000, 5000] * 2),
        (40_000, 20_000, 10_000, [10_000] * 4),
        (9000, 3000, 3000, [3000] * 3),  # a slice is a minibatch
        (2500, 3000, 3000, [2500]),
        (9000, None, 2500, [2500, 2500, 2500, 1500]),
    ],
)
def test_two_threads_share_a_minibatch_that_slices_divide(n_docs, batch_size, slice_size, sizes):
    plan = Plan([n_docs], 10.0, batch_size, slice_size, shuffled=False)
    assert [ref.stop - ref.start for rnd in plan.rounds(0) for ref in rnd.slices] == sizes
    assert Plan(**plan.settings).slice_size == plan.slice_size


@pytest.mark.parametrize(("n_docs", "sizes"), [(1310, [1310]), (1312, [656, 656])])
def test_few_documents_of_many_entries_are_shared_too(n_docs, sizes):
    plan = Plan([n_docs], 100.0, 20_000, 10_000, shuffled=False)
    assert [ref.stop - ref.start for rnd in plan.rounds(0) for ref in rnd.slices] == sizes


@pytest.mark.parametrize("name", ["cgs", "ilr", "cvb0", "cvb", "dual-cgs", "author-cgs"])
def test_small_corpora_are_shared_by_methods_whose_slices_divide_minibatches(name):
    method = methods.get(name)
    plan = Plan([2500], 10.0, method.batch_size_for(2500), method.slice_size)
    assert [len(rnd.slices) for rnd in plan.rounds(0)] == [2]


@pytest.mark.parametrize("parts", PARTS, ids=str)
@pytest.mark.parametrize("batch_size", BATCHES)
@pytest.mark.parametrize("slice_size", SLICES)
@pytest.mark.parametrize("entries", [0.5, 40.0, 3000.0])
def test_every_pass_holds_every_document_once(parts, batch_size, slice_size, entries):
    plan = Plan(parts, entries, batch_size, slice_size, seed=3)
    n_docs = sum(parts)
    assert sorted(positions(plan)) == list(range(n_docs))
    rounds = list(plan.rounds(0))
    assert sorted(rnd.number for rnd in rounds) == list(range(plan.n_rounds))
    for rnd in rounds:
        assert rnd.n_docs == sum(ref.stop - ref.start for ref in rnd.slices) <= plan.batch_size
        for ref in rnd.slices:
            assert 0 < ref.stop - ref.start <= plan.slice_size
            assert 0 <= ref.read_block_start <= ref.start < ref.stop <= ref.read_block_stop <= parts[ref.part]


@pytest.mark.parametrize("parts", PARTS, ids=str)
@pytest.mark.parametrize("batch_size", BATCHES)
@pytest.mark.parametrize("entries", [40.0, 3000.0])
def test_read_blocks_do_not_overlap_and_stay_small(parts, batch_size, entries):
    plan = Plan(parts, entries, batch_size, None)
    read_blocks = {ref.read_block for rnd in plan.rounds(0) for ref in rnd.slices}
    covered = sorted((part, start, stop) for part, start, stop in read_blocks)
    for (part, _, stop), (next_part, next_start, _) in itertools.pairwise(covered):
        assert part != next_part or stop == next_start
    # a slice of at least 64 documents is promised, so that is the least a read block can be
    limit = max(READ_BLOCK_ENTRIES / entries, 64 * READ_BLOCK_SLICES, plan.slice_size * READ_BLOCK_SLICES)
    assert all(stop - start <= limit for _, start, stop in read_blocks)


@pytest.mark.parametrize("parts", PARTS, ids=str)
@pytest.mark.parametrize("batch_size", BATCHES)
@pytest.mark.parametrize("slice_size", SLICES)
@pytest.mark.parametrize("concurrent", [1, 4])
@pytest.mark.parametrize("entries", [40.0, 3000.0])
def test_whole_minibatches_are_one_slice_wherever_parts_end(
    parts, batch_size, slice_size, concurrent, entries
):
    sizes = {"entries_per_doc": entries, "batch_size": batch_size, "seed": 3, "concurrent": concurrent}
    plan = Plan(parts, slice_size=slice_size, whole_minibatches=True, **sizes)
    assert Plan(**plan.settings).settings == plan.settings
    usual = {rnd.number: rnd for rnd in Plan(parts, slice_size=None, **sizes).rounds(0)}
    for rnd in plan.rounds(0):
        (ref,) = rnd.slices
        assert ref.n_docs == rnd.n_docs == usual[rnd.number].n_docs <= plan.slice_size == plan.batch_size
        assert len({piece.part for piece in ref.pieces}) == len(ref.pieces)
        pieces = [
            plan.offsets[one.part] + np.arange(one.start, one.stop)
            for refs in (ref.pieces, usual[rnd.number].slices)
            for one in refs
        ]
        of_plan, expected = np.split(np.concatenate(pieces), 2)
        np.testing.assert_array_equal(of_plan, expected)
        for one in ref.pieces:
            assert 0 <= one.read_block_start <= one.start < one.stop <= one.read_block_stop <= parts[one.part]


def test_passes_differ_and_a_resumed_pass_is_the_rest_of_it():
    plan = Plan([1000], 50.0, 10, None, seed=1)
    first, second = positions(plan, 0), positions(plan, 1)
    assert first != second and sorted(first) == sorted(second)
    assert first != positions(Plan([1000], 50.0, 10, None, seed=2), 0)
    assert list(plan.rounds(0, 37)) == list(plan.rounds(0))[37:]


@pytest.mark.parametrize("concurrent", [1, 16])
@pytest.mark.parametrize("pass_number", [0, 1])
def test_a_run_may_be_cut_where_exchanges_begin_and_end(concurrent, pass_number):
    plan = Plan([700], 50.0, 10, None, concurrent=concurrent)
    begins = {exchange.rounds[0].number for exchange in plan.exchanges(pass_number)}
    assert {n for n in range(71) if plan.may_cut(pass_number, n)} == begins | {70}


@pytest.mark.parametrize("concurrent", [1, 16])
def test_a_pass_without_the_rounds_that_are_done(concurrent):
    plan = Plan([1000], 50.0, 10, None, concurrent=concurrent)
    done = (3, 8, 31, 40, 63, 99)
    left = [rnd for rnd in plan.rounds(0) if rnd.number not in done]
    assert list(plan.rounds(0, 2, done)) == left[2:]
    left = [[rnd for rnd in one.rounds if rnd.number not in done] for one in plan.exchanges(0)]
    assert [one.rounds for one in plan.exchanges(0, 0, done)] == [rounds for rounds in left if rounds]


@pytest.mark.parametrize(
    ("n_docs", "batch_size"), [(200, 64), (1625, 81), (1001, 10), (300, 50), (7, 7), (5, 1)]
)
def test_a_pass_is_divided_evenly(n_docs, batch_size):
    """An update has the same weight for 5 documents as for 80."""
    plan = Plan([n_docs // 3, n_docs - n_docs // 3], 50.0, batch_size, None)
    sizes = [rnd.n_docs for rnd in plan.rounds(0)]
    assert sum(sizes) == n_docs and len(sizes) == -(-n_docs // batch_size)
    assert max(sizes) <= batch_size and max(sizes) - min(sizes) <= 1


def test_the_stored_order_is_kept():
    plan = Plan([100, 20, 300], 50.0, 11, 4, shuffled=False)
    assert positions(plan, 0) == positions(plan, 5) == list(range(420))


def test_slices_of_a_minibatch_are_the_same_in_every_pass():
    plan = Plan([300, 200, 501], 3000.0, 40, 7)
    passes = [{rnd.number: rnd.slices for rnd in plan.rounds(pass_number)} for pass_number in (0, 1)]
    by_documents = [{s[0].part * 10_000 + s[0].start: s for s in rounds.values()} for rounds in passes]
    assert by_documents[0] == by_documents[1]


def test_a_pass_keeps_the_minibatches_of_a_read_block_together():
    plan = Plan([100_000], 100.0, 500, None, seed=5)
    read_blocks = [rnd.slices[0].read_block for rnd in plan.rounds(0)]
    changes = sum(a != b for a, b in itertools.pairwise(read_blocks))
    assert changes == len(set(read_blocks)) - 1 > 5
    assert read_blocks != sorted(read_blocks)


def test_a_large_minibatch_is_read_several_slices_at_a_time():
    plan = Plan([5000], 100.0, None, 20)
    slices = next(plan.rounds(0)).slices
    for first in range(0, len(slices), READ_BLOCK_SLICES):
        assert len({ref.read_block for ref in slices[first : first + READ_BLOCK_SLICES]}) == 1


# ---------------------------------------------------------------- documents


def block(rng: np.random.Generator, n_docs: int, n_words: int, authors: bool = False) -> Block:
    lengths = rng.integers(0, 9, n_docs)
    words = [np.sort(rng.choice(n_words, n, replace=False)) for n in lengths]
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    ids = np.concatenate([np.zeros(0), *words]).astype(np.int32)
    counts = rng.integers(1, 5, len(ids)).astype(np.float32)
    rows = rng.permutation(1000)[:n_docs].astype(np.int64)
    if not authors:
        return Block(indptr, ids, counts, rows)
    author_indptr = np.arange(0, 2 * n_docs + 1, 2)
    return Block(indptr, ids, counts, rows, author_indptr, rng.integers(0, 6, 2 * n_docs).astype(np.int32))


@pytest.mark.parametrize("seed", range(5))
def test_ids_are_renamed_and_can_be_named_back(seed):
    rng = np.random.default_rng(seed)
    given = block(rng, 30, 50, authors=True)
    docs, axes = make_docs(given, 50, n_authors=6)
    assert docs.n_words == len(axes["word"]) == len(np.unique(given.words))
    np.testing.assert_array_equal(axes["word"][docs.words], given.words)
    np.testing.assert_array_equal(docs.indptr, given.indptr)
    np.testing.assert_array_equal(docs.counts, given.counts)
    np.testing.assert_array_equal(axes["author"][docs.authors], given.authors)
    np.testing.assert_array_equal(docs.author_indptr, given.author_indptr)
    np.testing.assert_array_equal(docs.rows, given.rows)
    np.testing.assert_array_equal(axes["row"], given.rows)
    assert axes["column"] is axes["word"] and "none" not in axes


@pytest.mark.parametrize("model_words", [20, 50, 100_000], ids="model of {} words".format)
def test_words_of_another_vocabulary_are_mapped_or_dropped(model_words):
    """The model's ids may lie far beyond the corpus' own."""
    rng = np.random.default_rng(1)
    given = block(rng, 30, 50)
    ids = rng.permutation(model_words)[:50]
    id_map = np.full(50, -1, np.int32)
    known = rng.permutation(50)[: min(15, len(ids))]
    id_map[known] = ids[: len(known)]
    docs, axes = make_docs(given, 50, id_map, in_order=False)
    kept = id_map[given.words] >= 0
    np.testing.assert_array_equal(axes["word"][docs.words], id_map[given.words][kept])
    np.testing.assert_array_equal(docs.counts, given.counts[kept])
    expected = np.concatenate([[0], np.cumsum(kept)])[given.indptr]
    np.testing.assert_array_equal(docs.indptr, expected)
    ordered, axes = make_docs(given, 50, id_map)
    np.testing.assert_array_equal(ordered.indptr, expected)
    mapped = id_map[given.words][kept]
    for begin, end in itertools.pairwise(expected):
        order = begin + np.argsort(mapped[begin:end])
        np.testing.assert_array_equal(axes["word"][ordered.words[begin:end]], mapped[order])
        np.testing.assert_array_equal(ordered.counts[begin:end], docs.counts[order])


def test_the_lookup_table_is_clean_afterwards():
    rng = np.random.default_rng(2)
    first, second = block(rng, 20, 40), block(rng, 20, 40)
    make_docs(first, 40)
    make_docs(first, 40, rng.permutation(40).astype(np.int32))
    docs, axes = make_docs(second, 40)
    np.testing.assert_array_equal(axes["word"][docs.words], second.words)


def test_documents_without_words():
    empty = Block(np.zeros(4, np.int64), np.zeros(0, np.int32), np.zeros(0, np.float32), np.arange(3))
    docs, axes = make_docs(empty, 10)
    assert docs.n_docs == 3 and docs.n_words == 0 and len(axes["word"]) == 0
