"""Corpora for experiments: public data sets, text that is on the machine, and documents drawn from the models."""

from importlib import import_module
from typing import Any

from bigtopic.datasets.docstrings import docstrings, installed_packages

_HOME = {
    "available": "download",
    "fetch": "download",
    "KnownAuthors": "known_authors",
    "KnownDual": "known_dual",
    "KnownLDA": "synthetic",
    "lda_corpus": "synthetic",
    "write_bag_of_words": "synthetic",
}

__all__ = ["docstrings", "installed_packages", *_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bigtopic.datasets' has no attribute {name!r}")
    # The docstrings' processes start without what these import.
    return getattr(import_module(f"bigtopic.datasets.{_HOME[name]}"), name)
