"""What topics are for, on one worker process, on three, and on threads: the same numbers."""

import sys
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets import lda_corpus
from bigtopic.errors import ClusterError

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import signed

pytestmark = pytest.mark.distributed
QUIET = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}


@pytest.mark.slow
def test_one_worker_three_workers_and_threads_agree(one_worker, three_workers, tmp_path, monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 300)
    truth = lda_corpus(120, 40, 3, mean_length=20, topic_word_prior=0.1, random_state=2)
    corpus, labels = from_matrix(truth.counts), truth.doc_topics.argmax(axis=1)
    authored = signed.corpus_of(signed.drawn(160, 40, 8, 3, length=30, most=2, seed=5).docs, n_parts=2)
    writers = bt.AuthorTopicModel(3, method="author-vb", max_iter=3, **QUIET).fit(authored)
    seen, held_out = bt.evaluate.split_records(corpus, 0.4)
    pairs = bt.DualTopicModel(2, 2, method="dual-mf", max_iter=3, **QUIET).fit(seen)
    found = []
    for name, client in (("threads", False), ("one", one_worker), ("three", three_workers)):
        results = [
            bt.evaluate.rank_authors(writers, authored, k=2, client=client),
            bt.evaluate.rank_items(pairs, held_out, seen, k=3, client=client),
            bt.evaluate.classification_accuracy(truth.components, corpus, labels, client=client),
            bt.evaluate.ope_stability(truth.components, corpus, 2, client=client),
        ]
        paths = bt.evaluate.document_intrusion(
            truth.components, corpus, tmp_path / f"{name}.csv", client=client
        )
        found.append([*(vars(result) for result in results), *(path.read_bytes() for path in paths)])
    for other in found[1:]:
        for mine, theirs in zip(found[0], other, strict=True):
            if isinstance(mine, bytes):
                assert mine == theirs
                continue
            for name, value in mine.items():
                if isinstance(value, np.ndarray):
                    np.testing.assert_array_equal(value, theirs[name])
                elif name != "popularity":
                    assert value == theirs[name]


def test_training_records_that_workers_do_not_see_are_named(other_host, tmp_path):
    records = from_matrix(np.eye(6))
    train = bt.ingest(records, tmp_path / "train.zarr", client=False, progress=False)
    pairs = bt.DualTopicModel(2, 2, method="dual-mf", max_iter=1, **QUIET).fit(records)
    with pytest.raises(ClusterError, match=r"cannot open the corpus at .*train\.zarr"):
        bt.evaluate.rank_items(pairs, records, train, k=2, client=other_host)
