"""Every block of Python on a page runs, in order, in an empty folder; so does every command of the shell page.

The blocks of a page with the comment `<!-- slow -->` take seconds.
A block after the comment `<!-- not run: reason -->` is left out. A block titled as a file of the package, such as
title="bigtopic/kernels/mine.py", is not run but put there, as a file of its own that nothing else knows of.
"""

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest
from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?P<skip><!-- not run: [^>]+ -->\n+)?"
    r'^(?P<indent> *)```(?P<language>\w+)(?: title="(?P<title>[^"]+)")?\n'
    r"(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


PIPED = re.compile(r"(?:cat (\S+) \| )?bigtopic (.*?)(?: > (\S+))?")


class Block(NamedTuple):
    """One block: its text, the line of the page it begins at, and the file it is of, or ""."""

    code: str
    line: int
    title: str = ""


def blocks_of(page: Path, language: str) -> list[Block]:
    """The blocks of one language that are to be run, in order."""
    text = page.read_text(encoding="utf-8")
    found = []
    for match in BLOCK.finditer(text):
        if match["language"] == language and not match["skip"]:
            indent = len(match["indent"])
            code = "\n".join(row[indent:] for row in match["code"].splitlines())
            found.append(Block(code, text.count("\n", 0, match.start("code")) + 1, match["title"] or ""))
    return found


PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
ELSEWHERE = {"coming-from.md"}  # test_verbs.py runs its blocks and its tables, in order
PYTHON_PAGES = [page for page in PAGES if blocks_of(page, "python") and page.name not in ELSEWHERE]


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture
def install(tmp_path, monkeypatch) -> Iterator[Callable[[Block], None]]:
    """Put a block into the package, under the file name in its title, until the test ends."""
    modules = []

    def put(block: Block) -> None:
        path = tmp_path / "installed" / block.title
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.code, encoding="utf-8")
        package = import_module(".".join(Path(block.title).parent.parts))
        monkeypatch.setattr(package, "__path__", [*package.__path__, str(path.parent)])
        modules.append(f"{package.__name__}.{path.stem}")
        forget(package)

    def forget(package: ModuleType) -> None:
        if hasattr(package, "known_formats"):  # which are found by looking into the folder, once
            package.known_formats.cache_clear()

    yield put
    for name in modules:
        if sys.modules.pop(name, None) is not None:
            package = sys.modules[name.rpartition(".")[0]]
            delattr(package, name.rpartition(".")[2])
            forget(package)


def _by_speed(page: Path) -> Any:
    slow = "<!-- slow -->" in page.read_text(encoding="utf-8")
    return pytest.param(page, id=_name(page), marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize("page", [_by_speed(page) for page in PYTHON_PAGES])
def test_python_of_page_runs(page, tmp_path, monkeypatch, install):
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__page__"}
    for block in blocks_of(page, "python"):
        if block.title:
            install(block)
            continue
        lines = "\n" * (block.line - 1) + block.code  # so that a traceback shows the line of the page
        exec(compile(lines, str(page), "exec"), namespace)


def test_commands_of_the_shell_page_run(tmp_path, monkeypatch):
    from bigtopic.cli import main

    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "cli.md"
    for block in blocks_of(page, "python"):  # writes the file that is ingested
        exec(block.code, {})
    for command in [line for block in blocks_of(page, "sh") for line in _commands(block.code)]:
        file, own, target = PIPED.fullmatch(command).groups()
        given = None if file is None else Path(file).read_bytes()
        result = CliRunner().invoke(main, shlex.split(own), input=given)
        assert result.exit_code == 0, f"{command}\n{result.output}\n{result.exception!r}"
        if target is not None:
            Path(target).write_bytes(result.stdout_bytes)


def _commands(code: str) -> list[str]:
    lines = [line.strip() for line in code.replace("\\\n", " ").splitlines()]
    commands = [line.partition(" #")[0] for line in lines if line and not line.startswith("#")]
    assert commands and all(map(PIPED.fullmatch, commands)), commands
    return commands


def test_blocks_are_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("text\n\n```python\nassert True\n```\n\n<!-- not run: no -->\n```python\n1 / 0\n```\n")
    assert blocks_of(page, "python") == [Block("assert True", 4)]
