"""Workers that die during an ingest, and attempts at a task that go on after they were given up."""

import os
import signal
import time
from contextlib import suppress

import numpy as np
import pytest

from bigtopic.corpus.stored.transaction import Transaction
from bigtopic.corpus.stored.writer import PartWriter
from bigtopic.ingestion import job
from bigtopic.ingestion.ingest import compact, ingest
from bigtopic.ingestion.settings import Workers


@pytest.fixture
def texts(limits):
    """Documents in about 20 chunks and 8 parts."""
    limits(chunk_docs=64, part_entries=1500)
    rng = np.random.default_rng(0)
    return [" ".join(f"w{int(w) % 300}" for w in rng.zipf(1.4, rng.integers(1, 30))) for _ in range(1300)]


@pytest.mark.distributed
@pytest.mark.parametrize(
    "stage",
    [
        pytest.param("_parsed", marks=pytest.mark.slow),
        "_sorted",
        pytest.param("_merged", marks=pytest.mark.slow),
    ],
)
def test_workers_die_with_results_that_nobody_fetched(stage, texts, mortal_workers, tmp_path, monkeypatch):
    """All of them are killed when the first result is there; the others, done by then, are lost."""
    expected = ingest(texts, tmp_path / "here.zarr", client=False, n_threads=1, min_doc_length=3)
    real, killed = getattr(job, stage), []

    def deadly(*arguments):
        for result in real(*arguments):
            if not killed:
                time.sleep(0.5)
                killed.extend(mortal_workers.run(os.getpid).values())
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
            yield result

    monkeypatch.setattr(job, stage, deadly)
    found = ingest(texts, tmp_path / "there.zarr", client=mortal_workers, min_doc_length=3)
    assert len(killed) == 3 and found.fingerprint == expected.fingerprint and found.verify()
    assert len(list((tmp_path / "there.zarr/parts").glob("0*"))) == len(found.parts) > 3


@pytest.mark.parametrize("dies", [False, True], ids=["lives", "dies in the middle"])
@pytest.mark.parametrize("write", [ingest, compact], ids=["ingest", "compact"])
def test_attempts_that_were_given_up_go_on(write, dies, texts, tmp_path, monkeypatch):
    """Every task is done again after the commit, as a worker does that was lost from sight, but lives."""
    corpus, tasks = ingest(texts, tmp_path / "c.zarr", client=False, n_threads=1, max_df=1.0), []
    map_tasks, commit = Workers.map, Transaction.commit

    def remembered(self, function, items):
        def look(item):
            tasks.append((function, item))
            return function(item)

        return map_tasks(self, look, items)

    def late(self, manifest):
        commit(self, manifest)
        if dies:
            monkeypatch.setattr(PartWriter, "add", lambda *_: exec('raise OSError("killed")'))
        for function, item in tasks:
            with suppress(OSError):
                function(item)

    monkeypatch.setattr(Workers, "map", remembered)
    monkeypatch.setattr(Transaction, "commit", late)
    if write is compact:
        found = compact(corpus, client=False, n_threads=1)
    else:
        found = ingest(texts, tmp_path / "c.zarr", overwrite=True, client=False, n_threads=1)
    assert len(tasks) > 20 and found.verify().n_docs == len(corpus)
    assert sorted(entry.name for entry in (tmp_path / "c.zarr").iterdir()) == [
        "parts",
        "vocabulary",
        "zarr.json",
    ]
    assert len(list((tmp_path / "c.zarr/parts").glob("0*"))) == len(found.parts)
