"""Topic models for corpora larger than memory.

Nothing heavy is imported here: each public name is fetched from its module when it is first used.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOME = {
    "AuthorTopicModel": "bigtopic.estimators.author_topic",
    "LDA": "bigtopic.estimators.lda",
    "Checkpoint": "bigtopic.state.checkpoint",
    "Corpus": "bigtopic.corpus.store",
    "Method": "bigtopic.methods",
    "DualTopicModel": "bigtopic.estimators.dual_topic",
    "append": "bigtopic.ingestion.ingest",
    "compact": "bigtopic.ingestion.ingest",
    "from_matrix": "bigtopic.corpus.memory",
    "ingest": "bigtopic.ingestion.ingest",
    "load_model": "bigtopic.estimators.persistence",
    "open_corpus": "bigtopic.corpus.store",
    "seed_prior": "bigtopic.estimators.priors",
}
_MODULES = ("datasets", "errors", "evaluate", "foreign", "methods", "optimize", "plots", "report")

__all__ = sorted([*_HOME, *_MODULES])


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name == "evaluate":
        value = import_module("bigtopic.evaluation")
    elif name in _MODULES:
        value = import_module(f"bigtopic.{name}")
    else:
        raise AttributeError(f"module 'bigtopic' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
