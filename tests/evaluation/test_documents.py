"""Every measure takes a corpus or the path of one, and says what to do with anything else."""

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import InputError, SettingError
from bigtopic.evaluation import coherence, log_predictive, prevalence
from bigtopic.runtime.ingest import ingest

COUNTS = np.random.default_rng(0).poisson(2.0, (12, 5)).astype(float)
TOPICS = np.array([[5.0, 1, 1, 1, 1], [1, 1, 1, 1, 5]])
MEASURES = {
    log_predictive: lambda result: result.value,
    prevalence: lambda result: result.share.tolist(),
    lambda model, corpus: coherence(model, corpus, topn=3): lambda result: result.value,
}


@pytest.mark.parametrize("measure", MEASURES)
def test_a_corpus_may_be_named_by_its_path(measure, tmp_path):
    corpus = ingest(COUNTS, tmp_path / "c.zarr", n_threads=1)
    figures = MEASURES[measure]
    assert figures(measure(TOPICS, tmp_path / "c.zarr")) == figures(measure(TOPICS, corpus))
    for other in (COUNTS, ["a text"], None):
        with pytest.raises(SettingError, match=r"is not a corpus.*from_matrix.*ingest"):
            measure(TOPICS, other)
    with pytest.raises(InputError, match="no documents"):
        measure(TOPICS, from_matrix(COUNTS).select(rows=[]))
