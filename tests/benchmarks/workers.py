"""What two Dask workers with replicas gain, next to what two independent processes gain on this machine.

Workers are processes of one thread, at addresses of other hosts, with memory and temporary files of their own, so that
they share no files with the driver except the corpus; this needs root and `unshare`. One worker, two workers, one
process and two processes at once take turns, and all train the same number of passes with the same replicas on
documents drawn from a known LDA (`replicas`). Two processes do twice the work; two workers divide it, and also pay for
scheduler and driver, which share the two processors. Dask watches itself no more than docs/learning.md recommends,
unless `--watched` is given.

    python -m tests.benchmarks workers [--docs 1000000] [--replicas 2x128] [--passes 2] [--topics 100] [--turns 5]
        [--shared-files] [--watched]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import dask
import numpy as np
import replicas
import results

from bigtopic.wording import counted

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

# What Dask watches less often, or not at all
QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
}

HEAD = (
    "K", "replicas", "one worker, s", "two workers, s", "gain", "one process, s", "two processes, s", "gain of these",
    "share",
)  # fmt: skip


class Turn(NamedTuple):
    """Seconds of each, in one turn."""

    worker: float
    workers: float
    process: float
    processes: float

    @property
    def gain(self) -> float:
        return self.worker / self.workers

    @property
    def bound(self) -> float:
        """What two independent processes gain."""
        return 2 * self.process / self.processes


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--docs", type=int, default=1_000_000)
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--replicas", default="2x128", help="replicas x updates")
    parser.add_argument("--passes", type=int, default=2)
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument(
        "--shared-files", action="store_true", help="workers see all files of the driver, as on one machine"
    )
    parser.add_argument("--watched", action="store_true", help="Dask watches itself as usual")
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "bigtopic-benchmark")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    results.add_option(parser)
    given = parser.parse_args()
    if given.child:
        print("ready", flush=True)
        input()
        print(seconds(given, client=False), flush=True)
        return
    replicas.stored(given.folder, given.docs)
    quiet = {} if given.watched else QUIET
    with dask.config.set(quiet):
        turns = list(in_turns(given, {_variable(name): str(value) for name, value in quiet.items()}))
    middle = Turn(*np.median(turns, axis=0).tolist())
    share = float(np.median([turn.gain / turn.bound for turn in turns]))
    row = (
        f"{given.topics}",
        given.replicas,
        *(f"{middle.worker:.2f}", f"{middle.workers:.2f}", f"{np.median([turn.gain for turn in turns]):.2f}"),
        *(f"{middle.process:.2f}", f"{middle.processes:.2f}"),
        f"{np.median([turn.bound for turn in turns]):.2f}",
        f"{share:.0%}",
    )
    files = "the driver's files" if given.shared_files else "files of their own"
    caption = (
        f"{given.docs:,} documents, {counted(given.passes, 'pass', 'passes')}, workers with {files}, Dask "
        f"{'as usual' if given.watched else 'quiet'}; seconds, gains and share are each medians of {given.turns} turns"
    )
    figures = [turn._asdict() for turn in turns]
    results.report(given, f"workers-{given.topics}", caption, [HEAD, row], figures)


def _variable(name: str) -> str:
    """That sets a setting of Dask."""
    return "DASK_" + name.upper().replace(".", "__").replace("-", "_")


def in_turns(given: argparse.Namespace, environment: dict[str, str]) -> Iterator[Turn]:
    """The turns, after one that does not count. `environment` : of the workers."""
    files: dict[str, Any] = {}
    if not given.shared_files:
        kept = [
            given.folder,
            *[Path(os.environ[name]) for name in ("NUMBA_CACHE_DIR",) if name in os.environ],
        ]
        files = {"private_files": True, "kept": kept}
    with ExitStack() as stack:
        clients = []
        for n in (1, 2):
            clients.append(stack.enter_context(hosts.scheduler()))
            for number in range(n):
                address = f"127.0.0.{2 * n + number}"
                stack.enter_context(hosts.worker(clients[-1], host=address, **files, **environment))
        for turn in range(1 + given.turns):
            one, two = (seconds(given, client) for client in clients)
            found = Turn(one, two, processes(given, 1), processes(given, 2))
            print(
                f"gain {found.gain:.2f} of {found.bound:.2f}, {found.gain / found.bound:.0%}; {found}",
                flush=True,
            )
            if turn:
                yield found


def seconds(given: argparse.Namespace, client: Any) -> float:
    """Of a fit; compiled code is there."""
    from bigtopic.estimators.lda import LDA

    corpus = replicas.stored(given.folder, given.docs)
    n_replicas, n_updates = map(int, given.replicas.split("x"))
    settings = {"replicas": n_replicas, "replica_updates": n_updates, "progress": False, "client": client}
    settings["method"] = "online-cvb0"
    if client is False:
        settings["n_threads"] = 1
        LDA(given.topics, max_iter=1, **settings).fit(np.ones((200, 50)))
    begun = time.perf_counter()
    LDA(given.topics, max_iter=given.passes, **settings).fit(corpus)
    return time.perf_counter() - begun


def processes(given: argparse.Namespace, n: int) -> float:
    """Seconds of as many processes at once, each of which does all of the work: the slowest."""
    options = ("docs", "topics", "replicas", "passes", "folder")
    command = [sys.executable, __file__, "--child"]
    for option in options:
        command += [f"--{option}", str(getattr(given, option))]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    children = [subprocess.Popen(command, **pipes) for _ in range(n)]
    for child in children:
        child.stdout.readline()
    for child in children:  # begin together
        child.stdin.write("\n")
        child.stdin.flush()
    return max(float(child.communicate()[0].split()[-1]) for child in children)


if __name__ == "__main__":
    main()
