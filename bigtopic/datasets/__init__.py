"""Corpora to try things on: text already on the machine, and documents drawn from the model itself."""

from importlib import import_module
from typing import Any

__all__ = ["docstrings", "installed_packages", "lda_corpus", "write_bag_of_words"]

_HOME = {
    "docstrings": "bigtopic.datasets.docstrings",
    "installed_packages": "bigtopic.datasets.docstrings",
    "lda_corpus": "bigtopic.datasets.synthetic",
    "write_bag_of_words": "bigtopic.datasets.synthetic",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'bigtopic.datasets' has no attribute {name!r}")
    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value  # the submodule of the same name must not win over the function
    return value


def __dir__() -> list[str]:
    return __all__
