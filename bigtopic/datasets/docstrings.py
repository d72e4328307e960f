"""Text that is on every machine: documentation strings of the standard library and of installed packages.

A document is a module, class or function; its author is the top-level module. Files are read as source text
and parsed in separate processes; nothing is imported or executed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from json import loads
from pathlib import Path

from bigtopic.errors import SettingError

__all__ = ["docstrings", "installed_packages"]

_SKIP = {
    "test", "tests", "_tests", "conftest", "conftest.py", "__pycache__", "site-packages", "dist-packages",
    "_vendor", "vendor", "_vendored", "vendored", "extern", "externals", "idlelib", "lib2to3", "turtledemo",
}  # fmt: skip
_FILES_PER_PROCESS = 400


def docstrings(packages: Iterable[str] | None = None) -> Iterator[dict]:
    """Documents of the standard library and of every installed package, in a fixed order.

    Parameters
    ----------
    packages : names of top-level modules, e.g. `["asyncio", "numpy"]`; None for all that are found

    Yields
    ------
    dict with "id" and "title" (dotted name), "text" (prose without code, doctests and section headings) and
    "authors" (a list of one: the top-level module). Test folders, vendored copies and repeated texts are left
    out.

    Raises
    ------
    SettingError
        When one of `packages` is not found.

    Examples
    --------
    >>> from bigtopic.datasets import docstrings
    >>> next(docstrings(["asyncio"]))["authors"]
    ['asyncio']
    """
    files = _source_files(None if packages is None else list(packages))
    seen: set[tuple[str, str]] = set()
    for record in _parse(files):
        own = {(name, record[name]) for name in ("text", "id")}
        if not own & seen:
            seen |= own
            yield record


def installed_packages() -> dict[str, str]:
    """Versions of Python and of every installed distribution: docstrings change only when these do."""
    from importlib.metadata import distributions

    found = {one.metadata["Name"]: one.version for one in distributions() if one.metadata["Name"]}
    return {"python": sys.version.split()[0], **dict(sorted(found.items()))}


def _roots() -> list[Path]:
    """Folders whose entries are top-level modules: the standard library, then site folders on the path."""
    site = [Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages")]
    roots = [Path(sysconfig.get_path("stdlib")), *site]
    return list(dict.fromkeys(root.resolve() for root in roots if root.is_dir()))


def _source_files(packages: list[str] | None) -> list[tuple[str, str]]:
    """(module, path) of every source file, sorted within its root."""
    files: list[tuple[str, str]] = []
    for root in _roots():
        for entry in sorted(root.iterdir()):
            if entry.name not in _SKIP and (packages is None or entry.stem in packages):
                files += _files_below(entry, root)
    missing = set(packages or ()) - {module.partition(".")[0] for module, _ in files}
    if missing:
        raise SettingError(
            f"packages: found no Python source of {sorted(missing)} in {[str(root) for root in _roots()]}; "
            "give names of installed top-level modules, such as 'asyncio'"
        )
    return files


def _files_below(entry: Path, root: Path) -> Iterator[tuple[str, str]]:
    if entry.suffix == ".py":
        yield entry.stem, str(entry)
    elif entry.is_dir() and entry.name.isidentifier():
        for folder, folders, names in os.walk(entry):
            folders[:] = sorted(name for name in folders if name not in _SKIP and name.isidentifier())
            for name in sorted(names):
                if name.endswith(".py") and name not in _SKIP:
                    path = Path(folder, name)
                    module = ".".join(path.relative_to(root).with_suffix("").parts)
                    yield module.removesuffix(".__init__"), str(path)


def _parse(files: list[tuple[str, str]]) -> Iterator[dict]:
    """Records of all files in order, parsed by one process per processor at a time."""
    slices = [files[at : at + _FILES_PER_PROCESS] for at in range(0, len(files), _FILES_PER_PROCESS)]
    n_processes = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    with ThreadPoolExecutor(n_processes) as pool:
        for lines in pool.map(_parse_in_process, slices):
            yield from map(loads, lines)


def _parse_in_process(files: list[tuple[str, str]]) -> list[bytes]:
    """Plain subprocesses, so that a script without a `__main__` guard and a notebook work alike."""
    package_root = str(Path(__file__).parents[2])
    path = os.pathsep.join([package_root, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    finished = subprocess.run(
        [sys.executable, "-S", "-P", "-m", "bigtopic.datasets._parse"],
        input="".join(f"{module}\n{path}\n" for module, path in files).encode("utf-8", "surrogateescape"),
        env={**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8:surrogateescape"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return finished.stdout.splitlines()
