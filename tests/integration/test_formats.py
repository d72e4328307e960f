"""Every format of the source, written, ingested and read back: equal in the source's order, whoever did the work."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.ingestion.ingest import ingest

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.sources import PLAIN, TRIPLES, WHOLE, WORDS, cut_small, make_counts


@pytest.mark.parametrize("make", [*WHOLE, *TRIPLES], ids=lambda make: make.__name__)
def test_ingested_and_read_back_is_equal_in_the_source_order(make, tmp_path, monkeypatch):
    counts = make_counts()
    source, keywords = make(tmp_path, counts)
    cut_small(monkeypatch)
    settings = vars(keywords.pop("text", PLAIN))
    ingest(source, tmp_path / "corpus.zarr", client=False, n_threads=2, **settings, **keywords)
    corpus = open_corpus(tmp_path / "corpus.zarr")
    expected = counts[counts.any(axis=1)] if make in TRIPLES else counts
    read = corpus.to_scipy()[:, corpus.vocabulary.index_of(WORDS)]
    np.testing.assert_array_equal(read.toarray(), expected)
    np.testing.assert_array_equal(np.sort(corpus.rows()), np.arange(len(expected)))
    assert corpus.rows(order="stored").tolist() != list(range(len(expected)))
    assert corpus.verify().n_docs == len(expected)


def test_results_on_a_cluster_are_fetched_by_its_client(one_worker):
    import dask.array as da
    import dask.bag as db

    texts = ["cat dog", "dog", "", "emu cat"]
    with one_worker.as_current():
        bag = one_worker.persist(db.from_sequence(texts, npartitions=2)).map(str.upper)
        array = one_worker.persist(da.from_array(np.eye(4), chunks=(2, 3))) + 1
        for source, expected in ((bag, texts), (array, np.eye(4) + 1)):
            fetched = ingest(source, "memory://fetched.zarr", overwrite=True)
            assert (
                fetched.fingerprint == ingest(expected, "memory://expected.zarr", overwrite=True).fingerprint
            )
