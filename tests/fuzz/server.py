"""Runs cases in fork servers and adds up what came of them: `python tests/fuzz/server.py START STOP [FORMAT ...]`."""

from __future__ import annotations

import base64
import json
import os
import pickle
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Any

__all__ = ["ONE_THREAD", "Server", "failures", "run_cases", "table"]

_CHILD = Path(__file__).with_name("child.py")
Reply = dict[str, Any]
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "BLOSC_NTHREADS": "1",
    "ARROW_DEFAULT_MEMORY_POOL": "system",  # and jemalloc, which comes with it, starts a thread unless told
    "JE_ARROW_MALLOC_CONF": "background_thread:false",
    "HDF5_USE_FILE_LOCKING": "FALSE",
}
"""The environment of a process that forks: a thread would not be there in the child, and its locks would stay."""


class Server:
    """A warm process that forks for each case. Use it as a context manager, from one thread at a time."""

    def __enter__(self) -> Server:
        import bigtopic

        here = str(Path(bigtopic.__file__).parents[1])  # the one under test, however this process found it
        path = os.pathsep.join(filter(None, [here, os.environ.get("PYTHONPATH")]))
        files = os.environ.get("PYTEST_DEBUG_TEMPROOT", tempfile.gettempdir())
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": path, "TMPDIR": files},
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", "the fork server did not start"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)

    def run(self, number: int) -> Reply:
        """The outcome of a numbered case."""
        return {"number": number, **self._ask({"number": number})}

    def run_object(self, source: Any, keywords: dict[str, Any]) -> Reply:
        """The outcome of `ingest(source, ..., **keywords)`."""
        return self._ask({"pickle": base64.b64encode(pickle.dumps((source, keywords))).decode()})

    def _ask(self, request: dict[str, Any]) -> Reply:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        return json.loads(self._process.stdout.readline())


def run_cases(numbers: Iterable[int], n_workers: int = 1) -> Iterator[Reply]:
    """Outcomes of numbered cases, in order."""
    with ExitStack() as stack, ThreadPoolExecutor(n_workers) as pool:
        free: Queue[Server] = Queue()
        for server in pool.map(lambda _: Server().__enter__(), range(n_workers)):
            stack.push(server)
            free.put(server)

        def run(number: int) -> Reply:
            server = free.get()
            try:
                return server.run(number)
            finally:
                free.put(server)

        yield from pool.map(run, numbers)


def table(replies: Iterable[Reply]) -> str:
    """Counts of outcomes by format, and of refusals by class of error."""
    rows: defaultdict[str, Counter[str]] = defaultdict(Counter)
    errors: Counter[str] = Counter()
    for reply in replies:
        rows[reply["format"]][reply["outcome"]] += 1
        errors[reply.get("error", "")] += reply["outcome"] == "refused"
    outcomes = ("accepted", "refused", "failed")
    lines = ["| format | inputs | accepted | refused | failed |", "|---|---:|---:|---:|---:|"]
    for name in [*sorted(rows), "all"]:
        found = rows[name] if name != "all" else sum(rows.values(), Counter())
        cells = " | ".join(str(found[outcome]) for outcome in outcomes)
        lines.append(f"| {name} | {sum(found[outcome] for outcome in outcomes)} | {cells} |")
    by_class = ", ".join(f"{name} {n}" for name, n in errors.most_common() if n)
    return "\n".join([*lines, "", f"Refused by class: {by_class}"])


def failures(replies: Iterable[Reply], shown: int = 3, how_long: int = 1200) -> str:
    """Failures grouped by cause, each with some of its inputs and the command that repeats them."""
    groups: defaultdict[str, list[Reply]] = defaultdict(list)
    for reply in replies:
        if reply["outcome"] == "failed":
            groups[reply["cause"]].append(reply)
    lines = []
    for cause, found in sorted(groups.items(), key=lambda group: -len(group[1])):
        formats = ", ".join(f"{name} {n}" for name, n in Counter(r["format"] for r in found).most_common())
        lines.append(f"\n### {cause}\n{len(found)} inputs: {formats}")
        numbers = " ".join(str(r["number"]) for r in found[:8] if "number" in r)
        lines.append(f"repeat: python tests/fuzz/child.py {numbers}")
        found.sort(key=lambda reply: sum(map(len, reply.get("files", {}).values())))
        lines += [
            f"* {reply.get('number', '')} {reply['format']}: {reply['how'][:300]}" for reply in found[:shown]
        ]
        first = found[0]
        message = first.get("message", "").strip()
        if message != cause:
            lines.append(f"```\n{message[-how_long:]}\n```")
        for name, data in first.get("files", {}).items():
            if len(data) <= 1200 and not name.endswith((".zattrs", ".zgroup")) and "zarr" not in name:
                lines.append(f"    {name} (base64): {data}")
    return "\n".join(lines)


def main() -> None:
    from fuzz.cases import format_of

    start, stop, names = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    numbers = [number for number in range(start, stop) if not names or format_of(number) in names]
    replies = list(run_cases(numbers, 2))
    print(table(replies), failures(replies), sep="\n")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
