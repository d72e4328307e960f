"""Files of 40 MB in every format that has lines: memory does not grow with them, and SIGTERM ends their ingest."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference.lined_sources import WRITERS

pytestmark = pytest.mark.slow

SIZE = 40_000_000  # bytes
# Small chunks and parts, so that a file of 20 MB has as many in memory as any.
INGEST = """
import json, pickle, sys
from pathlib import Path
import json, pickle, re, sys
from unittest.mock import patch
from bigtopic.ingestion.ingest import ingest
path, given, store = sys.argv[1:]
with open(given, "rb") as file:
    given = pickle.load(file)
with (
    patch("bigtopic.corpus.readers.containers.pieces.CHUNK_BYTES", 1 << 19),
    patch("bigtopic.ingestion.job.PART_ENTRIES", 1 << 18),
    patch("bigtopic.ingestion.job.PART_DOCUMENTS", 1 << 13),
):
    corpus = ingest(path, store, **given, client=False, n_threads=2, progress=False)
# Not ru_maxrss, which begins with the peak of the process that forked this one
(peak,) = (int(line.split()[1]) * 1024 for line in Path("/proc/self/status").open() if line.startswith("VmHWM"))
with open("/proc/self/status") as file:  # getrusage also counts the process that started this one
    peak = int(re.search(r"VmHWM:\\s+(\\d+)", file.read())[1]) * 1024
print(json.dumps({"peak": peak, "n_docs": corpus.n_docs, "n_parts": len(corpus.parts)}))
"""


def written(path, n_bytes):
    """Writes so many bytes; returns the arguments of `ingest`, those that are values of documents as iterables."""
    sample = path.with_name(f"sample-{path.name}")
    WRITERS[path.name](sample, 500)
    n_docs = n_bytes * 500 // sample.stat().st_size
    return n_docs, WRITERS[path.name](path, n_docs)


@pytest.mark.parametrize("name", WRITERS)
def test_memory_does_not_grow_with_the_source(name, tmp_path):
    peaks = []
    for n_bytes in (SIZE // 2, SIZE):
        n_docs, given = written(tmp_path / name, n_bytes)
        # Values given beside are the caller's: they would grow.
        given = {key: value for key, value in given.items() if key == "vocabulary"}
        (tmp_path / "given").write_bytes(pickle.dumps(given))
        arguments = [str(tmp_path / name), str(tmp_path / "given"), str(tmp_path / f"{n_bytes}.zarr")]
        done = subprocess.run(
            [sys.executable, "-c", INGEST, *arguments], check=True, capture_output=True, timeout=600
        )
        found = json.loads(done.stdout)
        assert found["n_docs"] == n_docs and found["n_parts"] > 1
        peaks.append(found["peak"])
    assert peaks[1] - peaks[0] < SIZE / 2


@pytest.mark.parametrize("name", WRITERS)
def test_sigterm_ends_it_within_two_seconds(name, tmp_path):
    written(tmp_path / name, SIZE)
    store = tmp_path / "store.zarr"
    command = [sys.executable, "-m", "bigtopic", "ingest", str(tmp_path / name), str(store), "--threads", "2"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as child:
        deadline = time.monotonic() + 120
        while not list(store.rglob("run-*")):  # the first chunks are parsed
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.01)
        child.send_signal(signal.SIGTERM)
        sent = time.monotonic()
        assert child.wait(120) == 143
        assert time.monotonic() - sent < 2
    assert not list(store.rglob("zarr.json"))
