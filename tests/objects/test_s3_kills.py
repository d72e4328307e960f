"""A writer on S3 that is killed at any of its requests: readers see the old or the new, the next writer cleans up."""

import importlib.util
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.errors import CorpusVersionError, ModelError
from bigtopic.estimators.persistence import load_model
from bigtopic.ingestion.ingest import append, ingest
from bigtopic.storage import lock as lease

SCRIPT = Path(__file__).with_name("victims.py")
spec = importlib.util.spec_from_file_location("victims", SCRIPT)
victims = importlib.util.module_from_spec(spec)
spec.loader.exec_module(victims)

KEY = "deep/store.zarr"
KILLS = 12  # of each action


@pytest.fixture(scope="module")
def models():
    return victims.model_of(victims.OLD), victims.model_of(victims.NEW)


@pytest.fixture
def victim(bucket):
    """Run an action in a process of its own; returns what became of it."""
    options = json.dumps(bucket.options)
    process = subprocess.Popen(
        [sys.executable, SCRIPT, options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout.readline() == "warm\n"

    def run(action, last=0, after=False):
        task = {"action": action, "url": bucket.url(KEY), "last": last, "after": after}
        process.stdin.write(json.dumps(task) + "\n")
        process.stdin.flush()
        return process.stdout.readline().split()

    yield run
    process.stdin.close()
    process.wait()
    process.stdout.close()


@pytest.fixture(autouse=True)
def short_leases(monkeypatch):
    monkeypatch.setattr(lease, "EXPIRES", victims.EXPIRES)
    monkeypatch.setattr(lease, "RENEWED", victims.RENEWED)


def seen(bucket, action):
    """What a reader finds, None where there is no finished store; whatever is half there is an error."""
    url, options = bucket.url(KEY), bucket.options
    try:
        if action == "save":
            return load_model(url, storage_options=options).get_topics().tolist()
        if action.startswith("transform_to"):
            return topics_at(bucket)
        corpus = open_corpus(url, options)
        corpus.verify()
        return sorted(tuple(sorted(corpus[i].counts)) for i in range(len(corpus)))
    except (CorpusVersionError, ModelError) as error:
        assert re.search("there is no|not a finished corpus", str(error))
        return None


def topics_at(bucket):
    import zarr

    if f"{KEY}/zarr.json" not in bucket.list_keys():
        return None
    store = zarr.storage.FsspecStore.from_url(bucket.url(KEY), storage_options=bucket.options)
    root = zarr.open_group(store, mode="r")
    if root.attrs.get("encoding-type") != "anndata":
        return None
    names = ("X/data", "X/indices", "X/indptr", "obs/document_id", "obs/source_row", "var/topic")
    return {name: np.asarray(root[name][:]).tolist() for name in names}


def prepare(bucket, action, models):
    """The store as it is before the action."""
    url, settings = bucket.url(KEY), {"storage_options": bucket.options}
    if action == "save":
        models[0].save(url, **settings)
    elif action == "transform_to":
        models[0].transform_to(victims.OLD, url, **settings)
    elif action in ("append", "compact", "overwrite"):
        ingest(victims.OLD, url, n_threads=1, **settings)
        if action == "compact":
            append(url, victims.NEW, n_threads=1, **settings)


def write_again(bucket, action, models):
    """What the next writer does; it gives the same store whatever was there."""
    url, settings = bucket.url(KEY), {"storage_options": bucket.options}
    if action == "save":
        models[0].save(url, overwrite=True, **settings)
    elif action.startswith("transform_to"):
        models[0].transform_to(victims.OLD, url, overwrite=True, **settings)
    else:
        ingest(victims.OLD, url, overwrite=True, n_threads=1, **settings)


def names(bucket):
    """Keys, whoever wrote them, with numbers that count ingests made equal."""
    numbers = r"(parts|vocabulary)/[0-9]{8}"
    return sorted(
        re.sub(r"-[0-9a-f]{12}", "-TOKEN", re.sub(numbers, r"\1/N", key)) for key in bucket.list_keys()
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "action", ["create", "append", "compact", "overwrite", "save", "transform_to new", "transform_to"]
)
def test_killed_at_requests(bucket, victim, models, action):
    write_again(bucket, action, models)
    clean, again = names(bucket), seen(bucket, action)
    bucket.restore("", {})
    prepare(bucket, action, models)
    template, before = bucket.contents(), seen(bucket, action)
    ended, n_requests = victim(action)
    assert ended == "finished"
    after = seen(bucket, action)
    assert (before == after) == (action == "compact") and after is not None
    allowed = [before, after, None] if action == "transform_to" else [before, after]
    found = []
    for number in range(KILLS):
        last = 1 + number * (int(n_requests) - 1) // (KILLS - 1)
        bucket.restore("", template)
        assert victim(action, last, after=number % 2 == 1) == ["killed"], last
        found.append(seen(bucket, action))
        assert found[-1] in allowed, (last, n_requests)
        write_again(bucket, action, models)
        assert seen(bucket, action) == again
        assert names(bucket) == clean, (last, n_requests)
    assert before in found and after in found
