"""Benchmarks that print; none asserts a speed.

python -m tests.benchmarks --help                this list
python -m tests.benchmarks race --help           the settings of one
"""

from __future__ import annotations

import re
import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
IS_BENCHMARK = re.compile(r"^def main\(", re.MULTILINE)


def names() -> list[str]:
    """The benchmarks: every file here that has a `main`; the others are shared by them."""
    files = (p for p in HERE.glob("*.py") if not p.stem.startswith("_"))
    return sorted(p.stem for p in files if IS_BENCHMARK.search(p.read_text(encoding="utf-8")))


def first_line(name: str) -> str:
    """A benchmark's own summary."""
    return (HERE / f"{name}.py").read_text(encoding="utf-8").split('"""')[1].strip().splitlines()[0]


def main() -> None:
    asked = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if asked in ("-h", "--help"):
        print(__doc__)
        for name in names():
            print(f"  {name:10s} {first_line(name)}")
        return
    if asked not in names():
        raise SystemExit(f"no benchmark {asked!r}; there are {', '.join(names())}")
    del sys.argv[1]
    sys.argv[0] = f"python -m tests.benchmarks {asked}"
    sys.path.insert(0, str(HERE))
    runpy.run_path(str(HERE / f"{asked}.py"), run_name="__main__")


if __name__ == "__main__":
    main()
