"""Every measure takes a corpus or the path of one, and says what to do with anything else."""

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import InputError, SettingError
from bigtopic.evaluation import coherence, log_predictive, measure, prevalence
from bigtopic.ingestion.ingest import ingest

COUNTS = np.random.default_rng(0).poisson(2.0, (12, 5)).astype(float)
TOPICS = np.array([[5.0, 1, 1, 1, 1], [1, 1, 1, 1, 5]])
MEASURES = {
    log_predictive: lambda result: result.value,
    prevalence: lambda result: result.share.tolist(),
    lambda model, corpus: coherence(model, corpus, n_top=3): lambda result: result.value,
}


@pytest.mark.parametrize("own", MEASURES)
def test_a_corpus_may_be_named_by_its_path(own, tmp_path):
    corpus = ingest(COUNTS, tmp_path / "c.zarr", n_threads=1)
    figures = MEASURES[own]
    assert figures(own(TOPICS, tmp_path / "c.zarr")) == figures(own(TOPICS, corpus))
    for other in (COUNTS, ["a text"], None):
        with pytest.raises(SettingError, match=r"is not a corpus.*from_matrix.*ingest"):
            own(TOPICS, other)
    with pytest.raises(InputError, match="no documents"):
        own(TOPICS, from_matrix(COUNTS).select(rows=[]))


def test_so_may_the_training_documents_of_the_unigram_baseline(tmp_path):
    corpus, path = ingest(COUNTS, tmp_path / "c.zarr", n_threads=1), str(tmp_path / "c.zarr")
    expected = log_predictive(TOPICS, corpus, train=corpus).unigram
    assert log_predictive(TOPICS, corpus, train=path).unigram == expected
    assert measure(TOPICS, corpus, "log-predictive", train=path)["log-predictive"].unigram == expected
    with pytest.raises(SettingError, match=r"^train: ndarray is not a corpus"):
        log_predictive(TOPICS, corpus, train=COUNTS)
    with pytest.raises(InputError, match=r"^train: it has no documents"):
        log_predictive(TOPICS, corpus, train=corpus.select(rows=[]))
