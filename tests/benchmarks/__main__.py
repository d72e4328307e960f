"""Benchmarks that print; none asserts a speed.

python -m tests.benchmarks                       what there is
python -m tests.benchmarks quality --help        one of them
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent
SHARED = {"corpora", "peers", "sampling"}


def names() -> list[str]:
    """The benchmarks: every file here that is not shared by them."""
    return sorted(p.stem for p in HERE.glob("*.py") if not p.stem.startswith("_") and p.stem not in SHARED)


def first_line(name: str) -> str:
    """A benchmark's own summary."""
    return (HERE / f"{name}.py").read_text(encoding="utf-8").split('"""')[1].strip().splitlines()[0]


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1] not in names():
        print(__doc__)
        for name in names():
            print(f"  {name:12s} {first_line(name)}")
        return
    name = sys.argv.pop(1)
    sys.argv[0] = f"python -m tests.benchmarks {name}"
    sys.path.insert(0, str(HERE))
    runpy.run_path(str(HERE / f"{name}.py"), run_name="__main__")


if __name__ == "__main__":
    main()
