"""Corpora for experiments: text that is already on the machine, and documents drawn from the model itself."""

from typing import Any

from bigtopic.datasets.docstrings import docstrings, installed_packages

__all__ = ["KnownLDA", "docstrings", "installed_packages", "lda_corpus", "write_bag_of_words"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'bigtopic.datasets' has no attribute {name!r}")
    from bigtopic.datasets import synthetic  # needs scipy; the docstrings' processes start without it

    return getattr(synthetic, name)
