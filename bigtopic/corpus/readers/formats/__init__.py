"""The formats of sources. A file here is a format with the file's name, or, with `FORMATS`, several that share code."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from bigtopic.corpus.readers.base import Format
from bigtopic.support import discovery

__all__ = ["known_formats"]


@cache
def known_formats() -> dict[str, Format]:
    """Every format by its name, in alphabetical order."""
    found: dict[str, Format] = {}
    for name, path in discovery.modules(__name__).items():
        module = import_module(path)
        there = {field: getattr(module, field) for field in Format._fields if hasattr(module, field)}
        found |= getattr(module, "FORMATS", None) or {name: Format(**there)}
    return dict(sorted(found.items()))
