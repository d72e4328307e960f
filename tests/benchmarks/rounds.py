"""Memory and processor time of scheduler and driver over thousands of rounds, each a task or a graph of its own.

Minibatches are so small that a round is little but what Dask and the driver do for it. The scheduler, two workers and
the driver are processes of their own, with Dask's default settings. Modes:

graphs  a graph for each update, of two slices; params in files
sent    the same, with params that are sent to the workers, as to other hosts
whole   a task for each update, or for two

    python -m tests.benchmarks rounds [--rounds 10000] [--modes graphs,sent] [--curves]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import results
from scipy import sparse

MODES = ("graphs", "sent", "whole")
METHOD = "online-vb"
N_WORDS, N_TOPICS, BATCH_SIZE = 3000, 10, 20
ROUNDS_OF_A_PASS = 1000
SAMPLES = 200
HEAD = (
    "rounds", "scheduler, ms a round", "driver, ms a round",
    "scheduler, MB", "driver, MB", "scheduler grows by, MB", "driver grows by, MB", "together, MB",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--modes", default=",".join(MODES))
    parser.add_argument("--curves", action="store_true", help="draw the curves into docs/images/")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        return learn(given.child[0], int(given.child[1]))
    curves = {mode: measured(mode, given.rounds) for mode in given.modes.split(",")}
    caption = (
        f"Processor time of a round; resident memory after {given.rounds // 2:,} rounds, and how much it grows up to "
        f"round {given.rounds:,}; {METHOD}, {N_WORDS:,} words, K = {N_TOPICS}, two workers of one thread."
    )
    picture = draw(curves) if given.curves else None
    rows = [HEAD, *(row(mode, curve) for mode, curve in curves.items())]
    results.report(given, "rounds", caption, rows, curves, picture)


def measured(mode: str, n_rounds: int) -> list[list[float]]:
    """The samples of a driver, which is a process of its own: see `Watch`."""
    command = [sys.executable, __file__, "--child", mode, str(n_rounds)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    curve: list[list[float]] = json.loads(done.stdout.splitlines()[-1])
    print(
        *(f"{head}: {cell}" for head, cell in zip(HEAD, row(mode, curve), strict=True)), sep="; ", flush=True
    )
    return curve


def learn(mode: str, n_rounds: int) -> None:
    """The driver: learns, looks at memory now and then, and prints what it saw."""
    from dask.distributed import Client

    from bigtopic.estimators.lda import LDA

    set_mode(mode)
    sizes = {"batch_size": BATCH_SIZE, "slice_size": BATCH_SIZE // 2}
    n_passes = max(1, n_rounds // ROUNDS_OF_A_PASS)
    with cluster() as (known, scheduler), Client(scheduler_file=known) as client:
        watch = Watch(scheduler, n_rounds)
        where: dict[str, Any] = {"client": client, "callbacks": [watch], "progress": False}
        lda = LDA(N_TOPICS, method=METHOD, max_iter=n_passes, random_state=0, **sizes, **where)
        lda.fit(documents(BATCH_SIZE * n_rounds // n_passes))
    print(json.dumps(watch.samples))


def set_mode(mode: str) -> None:
    """Change in this process where rounds run."""
    from bigtopic.learning.executors import choice, sending, whole

    choice.LONG_ROUND_SECONDS = 1e9 if mode == "whole" else 0.0
    choice.LONG_PASS_SECONDS = 1e9  # no warning
    whole.CHUNK_SECONDS, whole.SECOND_OF_PARAMS = 1e-3, 1 << 40
    if mode == "sent":
        for module in (sending, choice):
            module.shares_files = lambda client, folders: False


def documents(n_docs: int) -> Any:
    """Short documents of words drawn at random."""
    rng, length = np.random.default_rng(0), 8
    words = np.sort(rng.integers(0, N_WORDS // length, (n_docs, length)) * length + np.arange(length), axis=1)
    indptr = np.arange(0, n_docs * length + 1, length)
    return sparse.csr_matrix((np.ones(words.size), words.ravel(), indptr), (n_docs, N_WORDS))


class Watch:
    """A callback: a sample each so many rounds.

    Attributes
    ----------
    samples : round; bytes of the scheduler and of this process; processor seconds of both
    """

    def __init__(self, scheduler: int, n_rounds: int) -> None:
        self._processes = (scheduler, os.getpid())
        self._every = max(1, n_rounds // SAMPLES)
        self._next = 0
        self.samples: list[list[float]] = []

    def __call__(self, event: Any) -> None:
        if event.step >= self._next:
            self._next = event.step + self._every
            memory, seconds = (list(map(look, self._processes)) for look in (resident, worked))
            self.samples.append([event.step, *memory, *seconds])


def resident(process: int) -> int:
    """Bytes of memory that a process has."""
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def worked(process: int) -> float:
    """Processor seconds that a process has had."""
    after_name = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, after_name[11:13])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def cluster() -> Iterator[tuple[str, int]]:
    """A scheduler and two workers, which are processes: the file of its address, and the number of its process."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        known = "--scheduler-file", f"{folder}/scheduler.json"
        scheduler = stack.enter_context(started("dask_scheduler", *known, "--port", "0"))
        for _ in range(2):
            stack.enter_context(started("dask_worker", *known, "--nthreads", "1"))
        yield known[1], scheduler.pid


@contextmanager
def started(program: str, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """One of Dask's programs."""
    command = [sys.executable, "-m", f"distributed.cli.{program}", "--dashboard-address", ":0", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def row(mode: str, curve: list[list[float]]) -> tuple[str, ...]:
    """One line of the table: of the second half of the rounds."""
    middle, last = np.array(curve[len(curve) // 2]), np.array(curve[-1])
    n_rounds, *grown = last - middle
    seconds = [f"{1e3 * one / n_rounds:.1f}" for one in grown[2:]]
    memory = [f"{one / 1e6:.1f}" for one in middle[1:3]]
    return (mode, *seconds, *memory, *(f"{one / 1e6:+.2f}" for one in (*grown[:2], sum(grown[:2]))))


def draw(curves: dict[str, list[list[float]]]) -> str:
    """Memory of scheduler and driver beyond that at the start, against rounds; the path of the picture below docs/."""
    from plots import canvas, label, save

    figure, panels = canvas(2, figsize=(9, 3.8), sharey=True)
    colors = dict(zip(MODES, ("#3f51b5", "#e07b00", "#2e8b57"), strict=True))
    for axes, name, column in ((panels[0], "scheduler", 1), (panels[1], "driver", 2)):
        for mode, curve in curves.items():
            numbers, memory = np.array(curve)[:, [0, column]].T
            grown = (memory - memory[0]) / 1e6
            axes.plot(numbers, grown, color=colors[mode], linewidth=1.5)
            label(axes, mode, numbers[-1], grown[-1], colors[mode])
        axes.set(title=name, xlabel="rounds", ylabel="MB more than at the start")
        axes.set_xlim(0, 1.15 * max(curve[-1][0] for curve in curves.values()))
    return save(figure, "rounds")


if __name__ == "__main__":
    main()
