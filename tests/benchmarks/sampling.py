"""Memory of a process and everything it started, sampled from /proc while it runs."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path


class PeakMemory:
    """Largest sum of the memory of a process tree, in bytes. Looking takes a twentieth of the time at most."""

    def __init__(self, pid: int, interval: float = 0.05) -> None:
        self.pid, self.interval, self.peak = pid, interval, 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> PeakMemory:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            begun = time.perf_counter()
            self.peak = max(self.peak, tree_bytes(self.pid))
            time.sleep(max(self.interval, 19 * (time.perf_counter() - begun)))


def tree_bytes(pid: int) -> int:
    """Memory of a process and its descendants, summed. Pages that processes share are divided among them."""
    total, waiting = 0, [pid]
    while waiting:
        current = waiting.pop()
        try:
            total += _proportional(current)
            for task in Path(f"/proc/{current}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return total


def _proportional(pid: int) -> int:
    """The proportional set size."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


def run_watched(command: list[str]) -> tuple[str, int]:
    """Run a command; the first line it prints, and the peak memory of its process tree up to then."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        with PeakMemory(process.pid) as memory:
            line = process.stdout.readline()
        process.communicate()
    if process.returncode:
        raise SystemExit(process.returncode)
    return line.strip(), memory.peak
