"""Every public function and class is in the reference, with what it inherits."""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import bigtopic as bt

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
ENTRY = re.compile(r"^::: (?P<path>[\w.]+)\n(?P<options>(?:[ ]{4}.*\n)*)", re.MULTILINE)
INHERITED = re.compile(r"inherited_members: true\b")


def entries() -> dict[str, str]:
    """Each path that the pages ask for, and the options that it has there."""
    pages = (page.read_text(encoding="utf-8") for page in FOLDER.glob("*.md"))
    return {found["path"]: found["options"] for page in pages for found in ENTRY.finditer(page)}


def documented() -> set[tuple[str, str]]:
    """(module, name) of everything that the pages show."""
    found = set()
    for path, options in entries().items():
        if not _is_module(path):
            found.add(tuple(path.rsplit(".", 1)))
            continue
        members = re.search(r"members: \[(.*)\]", options)
        module = import_module(path)
        for name in re.findall(r"\w+", members[1]) if members else module.__all__:
            found.add((_home(getattr(module, name), path), name))
    return found


def public() -> list[tuple[str, Any]]:
    """What users get from `bigtopic` and its public modules."""
    found = []
    for name in bt.__all__:
        value = getattr(bt, name)
        if isinstance(value, ModuleType):
            found += [(f"{name}.{member}", getattr(value, member)) for member in value.__all__]
        else:
            found.append((name, value))
    return [(name, value) for name, value in found if inspect.isclass(value) or inspect.isfunction(value)]


@pytest.mark.parametrize(
    ("name", "value"), public(), ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_is_public_is_in_the_reference(name, value):
    assert (value.__module__, value.__name__) in documented(), f"bigtopic.{name} is on no page of {FOLDER}"


@pytest.mark.parametrize("name", ["LDA", "AuthorTopicModel", "DualTopicModel", "Corpus"])
def test_what_a_class_inherits_is_on_its_page(name):
    value = getattr(bt, name)
    assert INHERITED.search(entries()[f"{value.__module__}.{name}"])
    for member, function in inspect.getmembers(value, inspect.isfunction):
        assert member.startswith("_") or inspect.getdoc(function), f"{name}.{member} has no docstring to show"


def _is_module(path: str) -> bool:
    try:
        return isinstance(import_module(path), ModuleType)
    except ModuleNotFoundError:
        return False


def _home(value: Any, module: str) -> str:
    return getattr(value, "__module__", module)
