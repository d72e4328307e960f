"""Members of families that `public_face.txt` lists: pages and tests must have rows of these; new files need none."""

from __future__ import annotations

from functools import cache
from pathlib import Path

__all__ = ["known"]


@cache
def known(kind: str) -> frozenset[str]:
    """Names of the listed members of a kind: "kernel", "scheme", "method", "measure", "plot", "format" or "verb"."""
    prefix = "command bigtopic " if kind == "verb" else f"{kind} "
    lines = Path(__file__).with_name("public_face.txt").read_text(encoding="utf-8").splitlines()
    names = (line.removeprefix(prefix) for line in lines if line.startswith(prefix))
    return frozenset(name for name in names if " " not in name and not name.startswith("-"))
