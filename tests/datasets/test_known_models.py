"""Known models of authors and of records: faithful to the truth they name, the same however they are drawn."""

import re

import dask
import numpy as np
import pytest
from scipy.sparse import vstack

from bigtopic.datasets import KnownAuthors, KnownDual, KnownLDA, known_dual
from bigtopic.errors import SettingError
from bigtopic.ingestion.ingest import ingest

DUAL = KnownDual(40, 30, 3, 4, row_topic_prior=0.5, column_topic_prior=0.5, random_state=1)
AUTHORS = KnownAuthors(30, 12, 5, authors_per_doc=3, mean_length=40, random_state=2)


def cells(truth: KnownDual) -> np.ndarray:
    return truth.row_topics_ @ truth.joint_ @ truth.column_topics_.T


def test_records_have_the_joint_distribution_of_the_model():
    pairs = cells(DUAL)
    assert pairs.sum() == pytest.approx(1) and np.allclose(DUAL.column_topics_.sum(axis=0), 1)
    counts = DUAL.records(200_000).toarray()
    assert counts.sum() == 200_000
    seen = pairs > 5 / 200_000
    chi2 = ((counts - 200_000 * pairs)[seen] ** 2 / (200_000 * pairs[seen])).sum()
    assert abs(chi2 - seen.sum()) < 4 * np.sqrt(2 * seen.sum())


def test_probabilities_of_pairs():
    rows, columns = np.indices((40, 30)).reshape(2, -1)
    np.testing.assert_allclose(DUAL.joint_probability(rows, columns), cells(DUAL).ravel(), atol=1e-15)


def test_records_depend_on_their_seed_and_not_on_their_block(monkeypatch, tmp_path):
    whole, other = DUAL.records(5000), DUAL.records(5000, random_state=1)
    assert (whole != other).nnz and other.sum() == 5000
    monkeypatch.setattr(known_dual, "_BLOCK_RECORDS", 300)
    array = DUAL.dask_array(5000)
    assert array.shape == (40, 30) and array.numblocks[0] > 5
    blocks = dask.compute(*array.to_delayed().ravel(), scheduler="threads", num_workers=3)
    assert (vstack(blocks) != whole).nnz == 0
    corpus = ingest(array, tmp_path / "records.zarr", n_threads=1, client=False, progress=False)
    assert corpus.n_docs == 40 and corpus.n_tokens == 5000


def test_more_rows_than_records():
    truth = KnownDual(1000, 5, 2, 2)
    assert truth.dask_array(3).compute(scheduler="sync").sum() == truth.records(3).sum() == 3


def test_documents_have_the_words_of_their_authors():
    """A word's count, summed over documents, against its expected value given the authors and the lengths."""
    corpus = AUTHORS.corpus(2000)
    words_of_authors = AUTHORS.author_topics_ @ AUTHORS.components_
    np.testing.assert_allclose(words_of_authors.sum(axis=1), 1)
    block = corpus.parts[0].read(0, 2000)
    authors = np.reshape(block.authors, (2000, 3))
    assert (np.diff(authors) > 0).all() and authors.max() < 12
    counts = corpus.to_scipy().toarray()
    mean = counts.sum(axis=1)[:, None] * words_of_authors[authors].mean(axis=1)
    error = np.sqrt(np.maximum(mean, 1e-9).sum(axis=0))
    assert (np.abs(counts - mean).sum(axis=0) > 0).all()
    assert (np.abs((counts - mean).sum(axis=0)) < 5 * error).all()


def test_perplexity_under_the_truth_is_that_of_the_mixtures():
    block = AUTHORS.corpus(50, 7).parts[0].read(0, 50)
    words_of_authors = AUTHORS.author_topics_ @ AUTHORS.components_
    of_docs = words_of_authors[np.reshape(block.authors, (50, 3))].mean(axis=1)
    nats = block.counts @ np.log(of_docs[np.repeat(np.arange(50), np.diff(block.indptr)), block.words])
    assert AUTHORS.perplexity(50, 7) == pytest.approx(np.exp(-nats / block.counts.sum()))


@pytest.mark.parametrize(
    ("make", "found"),
    [
        (lambda: KnownDual(0, 3, 1, 1), "n_rows=0"),
        (lambda: KnownDual(2, 3.5, 1, 1), "n_columns=3.5: must be a whole number, 1 or more"),
        (lambda: KnownLDA(5.0, 2), "n_words=5.0: must be a whole number"),
        (lambda: KnownDual(2, 3, 1, 1, joint_prior=float("inf")), "joint_prior=inf"),
        (lambda: KnownDual(2, 3, 1, 1, random_state=0.5), "random_state=0.5"),
        (lambda: KnownDual(2, 3, 1.5, 1), "n_row_topics=1.5: must be a whole number"),
        (lambda: DUAL.records(0), "n_records=0"),
        (lambda: DUAL.records(2.5), "n_records=2.5: must be a whole number"),
        (lambda: AUTHORS.corpus(0), "n_docs=0: must be a whole number"),
        (lambda: AUTHORS.corpus(5, -1), "first=-1: must be a whole number, 0 or more"),
        (lambda: AUTHORS.perplexity(0), "n_docs=0"),
        (lambda: KnownAuthors(5, 3, 2, authors_per_doc=4), "at most n_authors=3"),
        (lambda: KnownAuthors(5, 3, 2, mean_length=0), "mean_length=0"),
        (lambda: KnownAuthors(5, 3, 2, mean_length=0.5), "mean_length=0.5: must be 1 or more"),
    ],
)
def test_settings_are_checked(make, found):
    with pytest.raises(SettingError, match=found):
        make()


@pytest.mark.parametrize("size", [0, 2.5, "2", True, float("nan")], ids=repr)
@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("n_words", lambda n: KnownLDA(n, 2)),
        ("n_docs", lambda n: KnownLDA(5, 2).documents(n)),
        ("n_rows", lambda n: KnownDual(n, 3, 1, 1)),
        ("n_records", lambda n: DUAL.records(n)),
        ("n_records", lambda n: DUAL.dask_array(n)),
        ("n_authors", lambda n: KnownAuthors(5, n, 2)),
        ("n_docs", lambda n: AUTHORS.corpus(n)),
        ("n_docs", lambda n: AUTHORS.perplexity(n)),
    ],
)
def test_sizes_are_whole(name, make, size):
    with pytest.raises(
        SettingError, match=f"^{name}={re.escape(repr(size))}: must be a whole number, 1 or more"
    ):
        make(size)


@pytest.mark.parametrize("first", [-1, 0.5, None])
def test_the_first_document_has_a_number(first):
    for draw in (AUTHORS.corpus, AUTHORS.perplexity, KnownLDA(5, 2).documents):
        with pytest.raises(SettingError, match=f"first={first}: must be a whole number, 0 or more"):
            draw(2, first)


@pytest.mark.parametrize(
    "make",
    [
        lambda: KnownLDA(5, 2, mean_length="9"),
        lambda: KnownDual(2, 3, 1, 1, joint_prior="1"),
        lambda: KnownAuthors(5, 3, 2, mean_length=None),
    ],
)
def test_what_is_no_number_is_refused(make):
    with pytest.raises(SettingError, match=r"^(mean_length|joint_prior)\b.*: must be "):
        make()
