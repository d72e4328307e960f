"""Memory and disk of methods that remember documents, on a million short ones, and a run that is killed.

Documents are drawn as those of `scale`, but with a third of the words. `cgs` and `ilr` pass over them three times,
with a checkpoint after every pass, in a process of its own. Memory is how much the resident peak grows, beside
the estimate that `fit` makes (the allocator gives back what is freed, as in `tests/peaks.py`); disk is the largest size
of what is remembered, beside what the run said before it began. A second process is killed (SIGKILL) in the middle of
the third pass, and a third one continues its run; its topics are compared with the first one's, bit for bit. Everything
written is removed at the end.

    python -m tests.benchmarks disk
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import results
from scale import TRUTH

MEAN_LENGTH = 30  # tokens
N_PASSES = 3
METHODS = {"cgs": 100, "ilr": 20}  # and their topics
HEAD = (
    "method", "topics", "seconds of a pass", "peak MB", "estimated MB", "on disk, GB", "said, GB",
    "killed after updates", "resumed after", "same bits",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where to write; default the temporary folder")
    parser.add_argument("--child", nargs="+", help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return CHILDREN[given.child[0]](*given.child[1:])
    with tempfile.TemporaryDirectory(prefix="bigtopic-disk-", dir=given.folder) as folder:
        store = Path(folder, "corpus.zarr")
        sizes = last_line("make", store, given.docs, given.threads)
        print(sizes, flush=True)
        found = [compared(Path(folder), store, name, given.threads) for name in METHODS]
    caption = (
        f"{sizes['n_docs']:,} documents, {TRUTH.n_words:,} words, {sizes['n_tokens']:,.0f} tokens, {sizes['nnz']:,} "
        f"entries; {N_PASSES} passes on {given.threads} threads."
    )
    results.report(given, "disk", caption, [HEAD, *map(row, found)], found)


def compared(folder: Path, store: Path, method: str, n_threads: int) -> dict[str, Any]:
    """An undisturbed run, and one that is killed and resumed."""
    cut = folder / "cut.ckpt"
    whole = last_line("train", method, store, folder / "whole.ckpt", n_threads)
    shutil.rmtree(folder / "whole.ckpt")
    killed = kill_in_last_pass("train", method, store, cut, n_threads)
    resumed = last_line("train", method, store, cut, n_threads)
    shutil.rmtree(cut)
    found = {"method": method, "killed": killed, "whole": whole, "resumed": resumed}
    print(found, flush=True)
    return found


# ---------------------------------------------------------------- the processes


@contextmanager
def started(*arguments: Any) -> Iterator[subprocess.Popen[str]]:
    """One of `CHILDREN` in a process of its own."""
    command = [sys.executable, __file__, "--child", *map(str, arguments)]
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 17)}  # see tests/peaks.py
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        yield process


def last_line(*arguments: Any) -> dict[str, Any]:
    """What the process says at its end."""
    with started(*arguments) as process:
        said, _ = process.communicate()
    if process.returncode:
        raise SystemExit(process.returncode)
    return json.loads(said.splitlines()[-1])


def kill_in_last_pass(*arguments: Any) -> int:
    """Kill the process when it says that it is in the middle of its last pass; the updates done until then."""
    with started(*arguments) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        process.kill()
    return json.loads(line)["half"]


def make(store: str, n_docs: str, n_threads: str) -> None:
    """The process that makes the corpus."""
    from bigtopic.ingestion.ingest import ingest

    array = replace(TRUTH, mean_length=MEAN_LENGTH).dask_array(int(n_docs))
    corpus = ingest(array, store, client=False, n_threads=int(n_threads), progress=False)
    say(n_docs=corpus.n_docs, n_tokens=corpus.n_tokens, nnz=corpus.nnz)


def train(method: str, store: str, path: str, n_threads: str) -> None:
    """The measured process: compiled code is loaded before memory is."""
    sys.path.append(str(Path(__file__).parents[1]))
    import numpy as np
    import peaks

    from bigtopic.corpus.store import open_corpus
    from bigtopic.estimators.lda import LDA
    from bigtopic.methods import get
    from bigtopic.state.checkpoints.checkpoint import Checkpoint

    settings = {"method": method, "client": False, "n_threads": int(n_threads), "random_state": 0}
    LDA(4, max_iter=2, progress=False, **settings).fit(np.eye(100))
    corpus = open_corpus(store)
    n_rounds = -(-corpus.n_docs // get(method).batch_size)
    base = peaks.settle()
    watch = Watch(Path(path, "documents"), n_rounds)
    model = LDA(METHODS[method], max_iter=N_PASSES, callbacks=[watch], **settings)
    model.fit(corpus, checkpoint=Checkpoint(path, seconds=1e9, rounds=n_rounds, keep=1), resume=True)
    peak = peaks.status("VmHWM") - base
    topics = hashlib.blake2b(model.components_.tobytes(), digest_size=16).hexdigest()
    say(**watch.figures(), peak=peak, estimated=estimated(model, corpus, int(n_threads)), topics=topics)


def estimated(model: Any, corpus: Any, n_threads: int) -> int:
    """Bytes, as `fit` estimates them."""
    from bigtopic.learning.memory.estimate import estimate_bytes
    from bigtopic.learning.new_run import make_run

    known = model._model
    sizes = {"batch_size": known.method.batch_size, "slice_size": known.method.slice_size}
    run = make_run(known, corpus, order="shuffled", max_iter=N_PASSES, **sizes)
    return estimate_bytes(run, known.params, known.axes, n_threads)


class Watch:
    """A callback: what the run says at its start, how large the folder becomes, when the last pass is half done."""

    def __init__(self, folder: Path, n_rounds: int) -> None:
        self._folder, self._half = folder, int((N_PASSES - 0.5) * n_rounds)
        self._seconds: list[float] = []
        self.most = 0

    def __call__(self, event: Any) -> None:
        if event.kind == "start":
            self._start, self._said = event.step, event.disk_bytes
        if event.kind in ("start", "pass"):
            self._seconds.append(event.seconds)
        self.most = max(self.most, size_of(self._folder))
        if event.kind == "round" and event.step == self._half:
            say(half=event.step)

    def figures(self) -> dict[str, Any]:
        seconds = [later - sooner for sooner, later in zip(self._seconds, self._seconds[1:], strict=False)]
        return {"start": self._start, "said": self._said, "disk": self.most, "seconds": seconds}


def size_of(folder: Path) -> int:
    """Bytes of its files."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def say(**figures: Any) -> None:
    print(json.dumps(figures), flush=True)


CHILDREN = {"make": make, "train": train}


def row(found: dict[str, Any]) -> tuple[str, ...]:
    """One line of the table; of memory and disk, the larger figure of the undisturbed and the resumed run."""
    runs = found["whole"], found["resumed"]
    peak, disk = (max(run[name] for run in runs) for name in ("peak", "disk"))
    seconds = found["whole"]["seconds"]
    return (
        found["method"],
        str(METHODS[found["method"]]),
        results.figure(sum(seconds) / len(seconds)),
        f"{peak / 1e6:.0f}",
        f"{runs[0]['estimated'] / 1e6:.0f}",
        f"{disk / 1e9:.2f}",
        f"{runs[0]['said'] / 1e9:.2f}",
        str(found["killed"]),
        str(runs[1]["start"]),
        "yes" if runs[0]["topics"] == runs[1]["topics"] else "NO",
    )


if __name__ == "__main__":
    main()
