"""The scripts for Slurm run as they are written, where `sbatch`, `srun`, `scontrol` and `scancel` are ones of the test:
jobs are processes of this machine."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from uuid import uuid4

import pytest

import bigtopic as bt

SLURM = Path(__file__).parents[2] / "examples" / "slurm"
SECONDS = 300
FIT = "import bigtopic as bt; bt.LDA(200, random_state=0, client=False).fit('articles.zarr')"
PROGRAMS = {
    "sbatch": 'cp "$1" "job-$$"; setsid sh "job-$$" > "job-$$.log" 2>&1 & echo "Submitted batch job $!"',
    "srun": 'exec "$@"',
    "scancel": 'for job in "$@"; do kill -- -"$job"; done',
    "scontrol": 'echo "$@" >> requeued',
}

pytestmark = [pytest.mark.slow, pytest.mark.distributed]


def test_a_run_is_interrupted_and_queues_again(tmp_path):
    pytest.importorskip("dask_jobqueue", reason="needs bigtopic[deploy]")
    for path in SLURM.iterdir():
        shutil.copy(path, tmp_path)
    (programs := tmp_path / "programs").mkdir()
    for name, script in PROGRAMS.items():
        (programs / name).write_text(f"#!/bin/sh\n{script}\n")
        (programs / name).chmod(0o755)
    counts = bt.datasets.lda_corpus(3000, 300, 10, random_state=0).counts
    corpus = bt.ingest(counts, tmp_path / "articles.zarr")
    user = f"tester-{uuid4().hex[:8]}"
    compiled = Path(f"/tmp/bigtopic-{user}")
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    environment = {**os.environ, "PATH": path, "SLURM_JOB_ID": "7", "USER": user}

    def driver(log):
        with log.open("wb") as file:
            command = ["sh", "train.sbatch"]
            return subprocess.Popen(
                command, cwd=tmp_path, env=environment, stdout=file, stderr=file, start_new_session=True
            )

    # Compiled before, so that a run takes seconds
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(compiled)}
    subprocess.run([sys.executable, "-c", FIT], cwd=tmp_path, env=variables, check=True)
    first = driver(tmp_path / "first.log")
    end = time.monotonic() + SECONDS
    while not list((tmp_path / "topics.ckpt").glob("zarr.json")) and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(0.5)
    os.killpg(first.pid, signal.SIGINT)  # as srun gets it; sh would end with it, too
    first.wait(SECONDS)
    log = (tmp_path / "first.log").read_text()
    # Dask may log how a connection ended, with a traceback of its own
    ours = f'File "{tmp_path}', f'File "{Path(bt.__file__).parent}'
    assert not any(text in log for text in ("KeyboardInterrupt", *ours)), log
    second = driver(tmp_path / "second.log")
    assert second.wait(SECONDS) == 0, (tmp_path / "second.log").read_text()
    alone = bt.LDA(200, random_state=0, client=False, progress=False).fit(corpus)
    assert (bt.load_model(tmp_path / "topics.zarr").components_ == alone.components_).all()
    worker = next(path for path in tmp_path.glob("job-*") if path.suffix != ".log")
    assert "--protocol tls://" in worker.read_text() and "--tls-key" in worker.read_text()
    shutil.rmtree(compiled)
