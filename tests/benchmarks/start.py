"""What a user waits for at the start: imports, the first fit while code is compiled, one text, the demonstration.

Every measurement is a process of its own. "Cold" finds no compiled code (NUMBA_CACHE_DIR is an empty folder), "warm"
finds that of the cold run before it; Python's bytecode is there in both, as after an installation. With --installed
everything runs in a new environment into which the package was installed, as users have it; that needs the network.

    python -m tests.benchmarks start
    python -m tests.benchmarks start --installed
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import results

ROOT = Path(__file__).parents[2]
OTHERS = {
    "Python alone": "pass",
    "scikit-learn's LDA": "from sklearn.decomposition import LatentDirichletAllocation",
    "gensim's LDA": "from gensim.models import LdaModel",
}
OURS = {"import bigtopic": "import bigtopic", "from bigtopic import LDA": "from bigtopic import LDA"}
FIRST = """
import json, time
from bigtopic import LDA
from bigtopic.datasets import docstrings
texts = [record["text"] for record in docstrings(["asyncio", "email", "logging", "unittest"])]
times = [time.perf_counter()]
model = LDA(20, method="online-cvb0", client=False, progress=False).fit(texts)
times.append(time.perf_counter())
for _ in range(2):
    model.transform([texts[0]])
    times.append(time.perf_counter())
print(json.dumps([b - a for a, b in zip(times, times[1:])]))
"""
STEPS = ("first fit, of texts", "then: transform of one text", "and once more")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--installed", action="store_true", help="the demonstration in a new environment")
    results.add_option(parser)
    given = parser.parse_args()
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix="bigtopic-start-") as folder:
        python, path = sys.executable, str(ROOT)
        if given.installed:
            python, path = install(Path(folder) / "environment"), ""
        measure({}, python, path, Path(folder) / "uncounted")  # writes the bytecode
        for run in range(given.runs):
            measure(found, python, path, Path(folder) / str(run))
    rows = [("", "seconds"), *((label, results.with_spread(times)) for label, times in found.items())]
    where = "in a new environment" if given.installed else "in the checkout"
    results.report(given, "start", f"{where}; medians of {given.runs} runs, with quartiles", rows, found)


def measure(found: dict[str, list[float]], python: str, path: str, folder: Path) -> None:
    """Everything once, in `folder`, which does not exist yet; the other packages' imports with this Python."""
    folder.mkdir()
    written = {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder.parent / "bytecode")}

    def timed(*arguments: str, python: str = python) -> tuple[float, str]:
        compiled = {"NUMBA_CACHE_DIR": str(folder / arguments[0])}
        settings = {**os.environ, **written, **compiled, "PYTHONPATH": path}
        begun = time.perf_counter()
        done = subprocess.run(
            [python, *arguments], env=settings, cwd=folder, stdout=subprocess.PIPE, check=True
        )
        return time.perf_counter() - begun, done.stdout.decode()

    for label, code in OTHERS.items():
        found.setdefault(label, []).append(timed("-c", code, python=sys.executable)[0])
    for label, code in OURS.items():
        found.setdefault(label, []).append(timed("-c", code)[0])
    for state in ("cold", "warm"):
        _, output = timed("-c", FIRST)
        for step, seconds in zip(STEPS, json.loads(output), strict=True):
            found.setdefault(f"{step}, {state}", []).append(seconds)
    for state in ("cold", "warm"):
        seconds, _ = timed("-m", "bigtopic", "demo", "--folder", "demo")
        found.setdefault(f"`bigtopic demo`, {state}", []).append(seconds)


def install(folder: Path) -> str:
    """A new environment with the package in it; the path of its Python."""
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", ROOT], check=True)
    return str(python)


if __name__ == "__main__":
    main()
