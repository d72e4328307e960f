"""Topic models for corpora larger than memory.

Nothing heavy is imported here: each public name is fetched from its module when it is first used.
"""

import importlib as _importlib
import typing as _typing

from bigtopic.support import compile_cache as _compile_cache

_compile_cache.ensure()

__version__ = "0.2.0.dev0"

_HOME = {
    "AuthorTopicModel": "bigtopic.estimators.author_topic",
    "LDA": "bigtopic.estimators.lda",
    "Checkpoint": "bigtopic.state.checkpoints.checkpoint",
    "Corpus": "bigtopic.corpus.store",
    "Method": "bigtopic.methods",
    "DualTopicModel": "bigtopic.estimators.dual_topic",
    "append": "bigtopic.ingestion.ingest",
    "compact": "bigtopic.ingestion.ingest",
    "from_matrix": "bigtopic.corpus.memory",
    "ingest": "bigtopic.ingestion.ingest",
    "load_model": "bigtopic.estimators.persistence",
    "open_corpus": "bigtopic.corpus.store",
    "open_topics": "bigtopic.estimators.topic_stores.stored_topics",
    "seed_prior": "bigtopic.estimators.support.initialization",
    "stop_words": "bigtopic.corpus.text.stopwords",
    "sweep": "bigtopic.estimators.search.sweep",
}
_MODULES = ("datasets", "errors", "evaluate", "foreign", "methods", "optimize", "plots", "report")

__all__ = sorted([*_HOME, *_MODULES])

if _typing.TYPE_CHECKING:  # the same, for editors and type checkers
    from bigtopic import datasets as datasets
    from bigtopic import errors as errors
    from bigtopic import evaluate as evaluate
    from bigtopic import foreign as foreign
    from bigtopic import optimize as optimize
    from bigtopic import plots as plots
    from bigtopic import report as report
    from bigtopic.corpus.memory import from_matrix as from_matrix
    from bigtopic.corpus.store import Corpus as Corpus
    from bigtopic.corpus.store import open_corpus as open_corpus
    from bigtopic.corpus.text.stopwords import stop_words as stop_words
    from bigtopic.estimators.author_topic import AuthorTopicModel as AuthorTopicModel
    from bigtopic.estimators.dual_topic import DualTopicModel as DualTopicModel
    from bigtopic.estimators.lda import LDA as LDA
    from bigtopic.estimators.persistence import load_model as load_model
    from bigtopic.estimators.search.sweep import sweep as sweep
    from bigtopic.estimators.support.initialization import seed_prior as seed_prior
    from bigtopic.estimators.topic_stores.stored_topics import open_topics as open_topics
    from bigtopic.ingestion.ingest import append as append
    from bigtopic.ingestion.ingest import compact as compact
    from bigtopic.ingestion.ingest import ingest as ingest
    from bigtopic.methods import Method as Method
    from bigtopic.methods import Methods as _Methods
    from bigtopic.state.checkpoints.checkpoint import Checkpoint as Checkpoint

    methods: _Methods
else:

    def __getattr__(name: str) -> _typing.Any:
        if name in _HOME:
            value = getattr(_importlib.import_module(_HOME[name]), name)
        elif name in _MODULES:
            value = _importlib.import_module(f"bigtopic.{name}")
        else:
            from bigtopic.support.aliases import OF_THE_MODULE, of_attribute

            answer = of_attribute(name, __all__, OF_THE_MODULE)
            raise AttributeError(f"module 'bigtopic' has no attribute {name!r}{answer}")
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return ["__version__", *__all__]
