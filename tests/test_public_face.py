"""Nothing public is lost: names, arguments, methods, formats, commands and pages that users rely on are still there.

`public_face.txt` has one of them on each line. What is new needs no line; to add all that is new:

python tests/test_public_face.py      writes public_face.txt
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click
import pytest

import bigtopic as bt

ROOT = Path(__file__).parents[1]
POSITIONS = 3
STORED = Path(__file__).with_name("public_face.txt")
REFERENCE = re.compile(r"^::: ([\w.]+)\n(?:[ ]{4}.*\n)*?(?:[ ]{4,}members: \[(.*)\]\n|\n|\Z)", re.MULTILINE)
PYTHON = re.compile(r"^```python.*?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
IMPORT = re.compile(r"^ *from (bigtopic[\w.]*) import (?:\(([^)]*)\)|(.*))$", re.MULTILINE)
WHY = "is public no more; keep it, or list it in REMOVED with the line of docs/CHANGELOG.md that says so"

# What was removed on purpose: a pattern of whole lines, and what the change log says of it.
REMOVED = {
    r"bigtopic\.(methods\.)?Method(\(delay=\)|\.delay)": "`Method.delay`",
    r"documented \w+\.adds_up": "`adds_up`",
    r"import bigtopic\.(learning\.work\.Iteration|state\.overlay\.Overlay)": "`map_reduce(rounds, arrays)`",
    r"import bigtopic\.learning\.executors\.\w+\.(ExecutorSpec|Executor|Run|Updates|Segment|by_segments|do_rounds)": (
        "`map_reduce(rounds, arrays)`"
    ),
}


def face() -> Iterator[str]:
    """One line for each part of the public face."""
    yield from _of_package()
    yield from _of_reference()
    yield from _of_commands(bt_command(), "bigtopic")
    yield from _of_families()
    yield from _of_files()


def bt_command() -> click.Group:
    from bigtopic.cli import main

    return main


def _of_package() -> Iterator[str]:
    for name in bt.__all__:
        value = getattr(bt, name)
        yield from _of_value(f"bigtopic.{name}", value)
        for member in value.__all__ if isinstance(value, ModuleType) else ():
            yield from _of_value(f"bigtopic.{name}.{member}", getattr(value, member))


def _of_reference() -> Iterator[str]:
    """What the reference documents, by name: its module may change, and the pages then say so."""
    for page in sorted((ROOT / "docs" / "reference").glob("*.md")):
        for path, members in REFERENCE.findall(page.read_text(encoding="utf-8")):
            home, _, name = path.rpartition(".")
            try:
                module = import_module(path)
                names = re.findall(r"\w+", members) or module.__all__
            except ModuleNotFoundError:
                module, names = import_module(home), [name]
            for member in names:
                if (value := getattr(module, member)) is not getattr(bt, member, None):
                    yield from _of_value(f"documented {member}", value)


def _of_value(name: str, value: Any) -> Iterator[str]:
    """A name, its arguments and, of a class, its attributes."""
    yield name
    if inspect.isclass(value):
        yield from _of_arguments(name, value)
        builtin = {own for base in value.__mro__ if base.__module__ == "builtins" for own in vars(base)}
        for own in dir(value):
            if not own.startswith("_") and own not in builtin:
                yield f"{name}.{own}"
                if callable(function := getattr(value, own)):
                    yield from _of_arguments(f"{name}.{own}", function)
        annotated = (vars(base).get("__annotations__", {}) for base in value.__mro__)
        yield from (f"{name}.{own}" for names in annotated for own in names if not own.startswith("_"))
    elif callable(value):
        yield from _of_arguments(name, value)


def _of_arguments(name: str, value: Any) -> Iterator[str]:
    """Names of arguments, and the positions of the first, which users may give without their names."""
    try:
        parameters = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return
    for position, one in enumerate(one for one in parameters if one.name != "self"):
        by_position = one.kind is not one.KEYWORD_ONLY and position < POSITIONS
        yield f"{name}({position}, {one.name})" if by_position else f"{name}({one.name}=)"


def _of_commands(command: click.Command, name: str) -> Iterator[str]:
    yield f"command {name}"
    context = click.Context(command)
    for parameter in command.get_params(context):
        if isinstance(parameter, click.Option):
            yield from (f"command {name} {own}" for own in [*parameter.opts, *parameter.secondary_opts])
        else:
            yield f"command {name} {parameter.human_readable_name}"
    if isinstance(command, click.Group):
        for verb in command.list_commands(context):
            found = command.get_command(context, verb)
            assert found is not None
            yield from _of_commands(found, f"{name} {verb}")


def _of_families() -> Iterator[str]:
    from bigtopic import kernels, schemes
    from bigtopic.corpus.readers import known_formats
    from bigtopic.evaluation import measures

    for row in bt.methods():
        names = [row["method"], *filter(None, row["aliases"].split(", "))]
        yield from (f"method {name}" for name in names)
        settings = bt.methods(row["method"])["settings"]
        yield from (f"method {row['method']} {setting['option']}" for setting in settings)
    members = {
        "kernel": kernels.names(),
        "scheme": schemes.names(),
        "measure": measures.names(),
        "plot": bt.plots.names(),
        "format": known_formats(),
    }
    for kind, names in members.items():
        yield from (f"{kind} {name}" for name in names)


def _of_files() -> Iterator[str]:
    """Pages, what their code imports for plug-ins, and extras to install."""
    pages = sorted((ROOT / "docs").rglob("*.md"))
    yield from (f"page {page.relative_to(ROOT).as_posix()}" for page in pages)
    for page in pages:
        if page.parent.name not in ("extend", "howto", "reference"):
            continue
        for code in PYTHON.findall(page.read_text(encoding="utf-8")):
            for module, several, one in IMPORT.findall(code):
                names = re.findall(r"\w+", re.sub(r" as \w+", "", several or one))
                yield from (f"import {module}.{name}" for name in names)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    yield from (f"extra {extra}" for extra in project["optional-dependencies"])
    yield from (f"script {script}" for script in project["scripts"])


def lost(lines: Iterable[str]) -> list[str]:
    """Those of the lines that are true no more."""
    now = set(face())
    return [line for line in lines if line not in now and not _importable(line)]


def _importable(line: str) -> bool:
    kind, _, path = line.partition(" ")
    if kind != "import":
        return False
    module, _, name = path.rpartition(".")
    try:
        return hasattr(import_module(module), name) or bool(import_module(path))
    except ModuleNotFoundError:
        return False


def test_nothing_public_is_lost():
    gone = lost(STORED.read_text(encoding="utf-8").splitlines())
    by_accident = [line for line in gone if not any(re.fullmatch(pattern, line) for pattern in REMOVED)]
    assert not by_accident, f"{WHY}; python {Path(__file__).relative_to(ROOT)} writes the list"


def test_what_was_removed_on_purpose_is_in_the_change_log():
    changes = (ROOT / "docs" / "CHANGELOG.md").read_text(encoding="utf-8")
    assert not [words for words in REMOVED.values() if words not in changes]


@pytest.mark.parametrize(
    "line",
    [
        "bigtopic.LDA.fit_predict",
        "bigtopic.LDA(topics=)",
        "bigtopic.LDA(1, n_components)",
        "method nope",
        "command bigtopic train --nope",
        "page docs/nope.md",
        "import bigtopic.types.Nope",
        "import bigtopic.nope.Docs",
    ],
)
def test_a_lost_line_is_noticed(line):
    assert lost([line]) == [line]


if __name__ == "__main__":
    STORED.write_text("".join(f"{line}\n" for line in sorted(set(face()))), encoding="utf-8")
    print(f"wrote {STORED}", file=sys.stderr)
