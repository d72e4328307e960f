"""One pass over a corpus for measures: spans of documents to threads or a Dask client, results in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from os import PathLike
from typing import Any

from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.errors import InputError, SettingError, argument
from bigtopic.types import Block

__all__ = ["CorpusOrPath", "documents_of", "over_blocks"]

CorpusOrPath = Corpus | str | PathLike[str]

_ENTRIES = 1 << 18
_FEWEST_ENTRIES = 1 << 13
_BLOCKS = 8  # of a small corpus, so that every processor has work


def documents_of(corpus: Any, name: str = "corpus") -> Corpus:
    """A corpus, given as it is or by its path; errors begin with the name of the argument.

    Raises
    ------
    SettingError
        When `corpus` is neither.
    InputError
        When it has no documents.
    """
    if isinstance(corpus, str | PathLike):
        corpus = open_corpus(corpus)
    if hasattr(corpus, "topic_source"):
        raise SettingError(
            f"{argument(name)}: {type(corpus).__name__} is a model; give the model first, then the corpus"
        )
    if not isinstance(corpus, Corpus):
        raise SettingError(
            f"{argument(name)}: {type(corpus).__name__} is not a corpus; pass one, or its path: bigtopic.from_matrix "
            "makes one from a matrix, bigtopic.ingest from anything else"
        )
    if not corpus.n_docs:
        raise InputError(f"{argument(name)}: it has no documents; pass a corpus that has some")
    return corpus


def over_blocks(
    measure: Callable[[Block], Any],
    corpus: Corpus,
    description: str,
    client: Any = None,
    n_threads: int | None = None,
) -> Iterator[Any]:
    """`measure(block)` for blocks of at most about 260 000 entries that together are the corpus, in stored order.

    Workers read their own blocks; `measure` is sent to them once.
    """
    from bigtopic.parallel.cluster import bounded_map, default_threads, resolve_client
    from bigtopic.parallel.progress import Progress
    from bigtopic.parallel.shared_files import corpus_in_reach

    client = resolve_client(client)
    workers = {"client": client, "n_threads": n_threads or default_threads()}
    n_entries = min(_ENTRIES, max(_FEWEST_ENTRIES, corpus.nnz // _BLOCKS))  # never by the number of workers
    with Progress(description, corpus.n_docs, "docs") as progress, corpus_in_reach(client, corpus):
        for n_docs, result in bounded_map(_run, corpus.spans(n_entries), shared=(_Task(measure),), **workers):
            progress.update(n_docs)
            yield result


class _Task:
    """Hides a callable from Dask, which would take it for a task of its own."""

    def __init__(self, measure: Callable[[Block], Any]) -> None:
        self.measure = measure


def _run(task: _Task, span: tuple[Any, int, int]) -> tuple[int, Any]:
    part, start, stop = span
    return stop - start, task.measure(part.read(start, stop))
