"""Messages name arguments with `argument`, so that each face can word them."""

import ast
import re
from pathlib import Path

import click
import pytest

from bigtopic import discovery
from bigtopic.cli import main

PACKAGE = Path(__file__).parents[1] / "bigtopic"
DECLARATIONS = (
    PACKAGE / "schemes",
    PACKAGE / "state" / "contract",
)  # of kernels and schemes, which no shell sets
FILES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if path.name != "errors.py" and not any(map(path.is_relative_to, DECLARATIONS))
)
_VERBS = [
    command
    for verb in discovery.modules("bigtopic.cli")
    if (command := main.get_command(click.Context(main), verb)) is not None
]
_OPTIONS = {
    str(param.name) for verb in _VERBS for param in verb.params if param.opts[0].startswith("--")
}  # arguments that have an option
_NAMED = re.compile(r"(?:^|[\s/])([a-z]+(?:_[a-z]+)*)=(?=[\s;,.)'\"\[{]|$|\w)")


def _told(tree: ast.AST) -> list[tuple[int, str]]:
    """The fixed texts of what is raised or warned of, without what `either` and `argument` are given."""
    found = []
    for node in ast.walk(tree):
        raised = isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)
        warned = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "warn"
        if raised or warned:
            call = node.exc if isinstance(node, ast.Raise) else node
            found += [(text.lineno, text.value) for text in _texts(call)]
    return found


def _texts(node: ast.AST) -> list[ast.Constant]:
    if isinstance(node, ast.Constant):
        return [node] if isinstance(node.value, str) else []
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("either", "argument"):
        return []
    return [text for child in ast.iter_child_nodes(node) for text in _texts(child)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_arguments_in_messages_are_marked(path):
    told = _told(ast.parse(path.read_text(encoding="utf-8")))
    assert [(line, text) for line, text in told if _OPTIONS.intersection(_NAMED.findall(text))] == []
