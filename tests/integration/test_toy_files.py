"""A toy is a few lines in one file, and knows of the package only what is said to those who write methods."""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from test_architecture import imports

TOYS = sorted(path for path in (Path(__file__).parent / "toys").glob("*.py") if path.name != "__init__.py")
MOST_LINES = 39
CONTRACT = ("bigtopic.types", "bigtopic.methods", "bigtopic.models", "bigtopic.schemes", "bigtopic.kernels")
LIBRARIES = ("dataclasses", "typing", "numpy", "scipy")
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def lines_of_code(text: str) -> int:
    """Lines that are not blank, not a comment alone, and not a docstring."""
    tokens = [
        token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in NO_CODE
    ]
    lines = {line for token in tokens for line in range(token.start[0], token.end[0] + 1)}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= set(range(node.lineno, node.end_lineno + 1))
    return len(lines)


def is_of(name: str, packages: tuple[str, ...]) -> bool:
    return any(name == package or name.startswith(f"{package}.") for package in packages)


def test_lines_of_code_are_counted():
    text = '"""Two\n\nlines."""\n\nx = (\n    "1"\n)  # three\n\n\ndef f():\n    """One."""\n    # none\n    return x\n'
    assert lines_of_code(text) == 5


def test_there_are_eleven_files_of_toys():
    assert len(TOYS) == 11


@pytest.mark.parametrize("path", TOYS, ids=lambda path: path.stem)
def test_a_toy_is_short(path):
    assert lines_of_code(path.read_text(encoding="utf-8")) <= MOST_LINES


@pytest.mark.parametrize("path", TOYS, ids=lambda path: path.stem)
def test_a_toy_knows_the_contract_alone(path):
    """Neither the runtime, nor private modules and names, nor another toy."""
    for name in imports(path):
        assert is_of(name, CONTRACT + LIBRARIES), name
        assert not any(part.startswith("_") for part in name.split(".")), name
