"""Memory of a process and everything it started, sampled from /proc while it runs."""

from __future__ import annotations

import subprocess
import threading
import time
from pathlib import Path


class PeakMemory:
    """Largest sum of the resident memory of a process tree, in bytes."""

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
            self.peak = max(self.peak, tree_bytes(self.pid))
            time.sleep(self.interval)


def tree_bytes(pid: int) -> int:
    """Resident memory of a process and its descendants, summed: pages that two of them share count twice."""
    total, waiting = 0, [pid]
    while waiting:
        current = waiting.pop()
        try:
            total += _resident(current)
            for task in Path(f"/proc/{current}/task").iterdir():
                waiting += [int(child) for child in (task / "children").read_text().split()]
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue
    return total


def _resident(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def run_watched(command: list[str]) -> tuple[str, float, int]:
    """Run a command; its output, its seconds and the peak memory of its process tree."""
    begun = time.perf_counter()
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process,
        PeakMemory(process.pid) as memory,
    ):
        output, _ = process.communicate()
    if process.returncode:
        raise SystemExit(process.returncode)
    return output, time.perf_counter() - begun, memory.peak
