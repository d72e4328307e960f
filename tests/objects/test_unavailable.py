"""A server that answers 503 for a while: whatever reads or writes there goes on, and its result has the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import StoreError
from bigtopic.estimators.persistence import load_model
from bigtopic.storage import remote

TEXTS = [f"cat dog {'bird fish' if number % 2 else 'car road'} w{number % 20}" for number in range(400)]
SECONDS = 6.0  # that the server is not available
RUNS: dict[str, dict[str, Any]] = {
    "default": {},
    "vb": {"method": "vb", "tol": 0.0},
    "replicas": {"method": "online-vb", "batch_size": 20, "replicas": 2},
}


@pytest.fixture
def refused(bucket: Any) -> Callable[[float], int]:
    """Have the server answer 503 for so many seconds; returns how often it did since the call before."""

    def refuse(seconds: float) -> int:
        with urlopen(f"{bucket.options['endpoint_url']}/-unavailable/{seconds}") as answer:
            return int(answer.read())

    return refuse


@pytest.fixture
def patient(bucket: Any) -> dict[str, Any]:
    """The options of a user who says nothing about retries."""
    return {name: value for name, value in bucket.options.items() if name != "config_kwargs"}


@contextmanager
def unavailable(refused: Callable[[float], int]) -> Iterator[None]:
    """The server is not available for a while, which begins at once."""
    refused(SECONDS)
    yield
    assert refused(0.0) > 0, "nothing was refused"


def test_what_the_user_says_about_retries_counts():
    own = {"config_kwargs": {"retries": {"max_attempts": 1}, "connect_timeout": 5}}
    assert remote.patient("s3://bucket/c", own) == own
    found = remote.patient("s3://bucket/c", {"key": "a", "config_kwargs": {"connect_timeout": 5}})
    attempts = {"mode": "standard", "total_max_attempts": remote.ATTEMPTS}
    assert found == {"key": "a", "config_kwargs": {"retries": attempts, "connect_timeout": 5}}
    assert remote.patient("gs://bucket/c", {}) == {}


@pytest.mark.slow
def test_stores_are_written_and_read_to_the_same_bits(bucket, refused, patient, tmp_path):
    near = bt.ingest(TEXTS, tmp_path / "c.zarr", client=False, n_threads=1)
    settings = {"max_iter": 3, "random_state": 0, "n_threads": 1, "client": False, "progress": False}
    alone = bt.LDA(3, **settings).fit(near)
    with unavailable(refused):
        far = bt.ingest(TEXTS, bucket.url("c.zarr"), storage_options=patient, client=False, n_threads=1)
    assert far.fingerprint == near.fingerprint
    with unavailable(refused):
        far = bt.open_corpus(bucket.url("c.zarr"), patient)
    with unavailable(refused):
        model = bt.LDA(3, **settings).fit(far)
    np.testing.assert_array_equal(model.components_, alone.components_)
    with unavailable(refused):
        topics = model.transform(far)
    np.testing.assert_array_equal(topics, alone.transform(near))
    with unavailable(refused):
        model.save(bucket.url("model.zarr"), storage_options=patient)
    with unavailable(refused):
        saved = load_model(bucket.url("model.zarr"), storage_options=patient)
    np.testing.assert_array_equal(saved.components_, alone.components_)
    with unavailable(refused):
        model.transform_to(far, bucket.url("topics.zarr"), storage_options=patient)


@pytest.mark.slow
@pytest.mark.distributed
@pytest.mark.filterwarnings("ignore:replicas=2")
@pytest.mark.parametrize("run", RUNS)
def test_workers_learn_the_same(run, bucket, refused, patient, one_worker, tmp_path):
    near = bt.ingest(TEXTS, tmp_path / "c.zarr", client=False, n_threads=1)
    settings = {"random_state": 0, "progress": False, "max_iter": 40, **RUNS[run]}
    alone = bt.LDA(3, client=False, n_threads=1, **settings).fit(near)
    far = bt.ingest(TEXTS, bucket.url("c.zarr"), storage_options=patient, client=one_worker)
    assert far.fingerprint == near.fingerprint
    with unavailable(refused):
        model = bt.LDA(3, client=one_worker, **settings).fit(far)
    np.testing.assert_array_equal(model.components_, alone.components_)


@pytest.mark.slow
@pytest.mark.parametrize("whose", ["of the tests", "by default"])
def test_the_part_is_named_when_patience_is_over(whose, bucket, refused, patient):
    corpus = bt.ingest(TEXTS, bucket.url("c.zarr"), storage_options=bucket.options, client=False, n_threads=1)
    corpus = bt.open_corpus(bucket.url("c.zarr"), bucket.options if whose == "of the tests" else patient)
    refused(600.0)
    begun = monotonic()
    try:
        with pytest.raises(StoreError, match=r"c\.zarr/parts/0+[-\w]*.*ServiceUnavailable"):
            bt.LDA(3, method="online-cvb0", max_iter=1, client=False, n_threads=1, random_state=0).fit(corpus)
    finally:
        print(f"patience {whose}: {monotonic() - begun:.0f} s, {refused(0.0)} requests")
