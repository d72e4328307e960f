"""What is written down of a fit, so that it can be repeated: settings, documents, versions, how it ended."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.corpus.stored.stored_part import StoredPart
from bigtopic.errors import BigtopicError
from bigtopic.estimators.begin.growth import is_same, next_row, since
from bigtopic.estimators.saved.settings import NOT_KEPT, is_plain, without_password
from bigtopic.methods import get

__all__ = ["begun", "continued", "ended"]

_PACKAGES = ("bigtopic", "numpy", "numba", "zarr")
_FREE = {*NOT_KEPT, "n_threads", "progress", "callbacks"}  # do not change what is learned


def begun(estimator: Any, corpus: Corpus, seed: int) -> dict[str, Any]:
    """The record of a fit that begins, as JSON.

    Parameters
    ----------
    corpus : the documents, before any are held out
    seed : that was drawn, or given
    """
    given = {
        name: value
        for name, value in estimator.get_params().items()
        if name not in _FREE and value is not None
    }
    settings = {name: without_password(value) for name, value in given.items() if is_plain(value)}
    return {
        "estimator": type(estimator).__name__,
        "settings": {**settings, "method": get(estimator.method).name, "random_state": seed},
        "not_recorded": sorted(given.keys() - settings.keys()),
        "corpus": {
            "url": without_password(corpus.url) if _is_whole(corpus) else None,
            "fingerprint": corpus.fingerprint,
            "documents": corpus.n_docs,
            "tokens": corpus.n_tokens,
            "rows": next_row(corpus),
        },
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def ended(
    record: Mapping[str, Any], reason: str, counts: Mapping[str, float], history: list[dict[str, Any]]
) -> dict[str, Any]:
    """The record of a fit that is over.

    Parameters
    ----------
    reason : of its end, see `bigtopic.learning.events.Event`
    counts : seconds, documents and tokens, over all its passes
    history : of the model
    """
    scores = [row["score"] for row in history if row.get("score") is not None]
    now = datetime.now(UTC).isoformat(timespec="seconds")
    score = scores[-1] if scores else None
    return {**record, "ended": reason, "finished": now, "counts": dict(counts), "score": score}


def continued(record: Mapping[str, Any] | None, corpus: Corpus) -> dict[str, Any]:
    """The record of a model that goes on with more documents, which no single fit repeats.

    Parameters
    ----------
    corpus : these documents; if they are in the corpus of the record, perhaps a view of it, they are no longer new
    """
    known = record or {"versions": {name: _version(name) for name in _PACKAGES}}
    known = {**known, "partial_fits": known.get("partial_fits", 0) + 1}
    if is_same(known, corpus) and "rows" in known["corpus"]:
        about, new = known["corpus"], since(corpus, known["corpus"]["rows"])
        rows = max(about["rows"], next_row(new))
        known["corpus"] = {**about, "documents": about["documents"] + new.n_docs, "rows": rows}
    return known


def _is_whole(corpus: Corpus) -> bool:
    """Whether these are all documents of a store, in its words."""
    if corpus.url is None or not all(isinstance(part, StoredPart) for part in corpus.parts):
        return False
    with suppress(BigtopicError, OSError):  # it was removed after it was opened
        return open_corpus(corpus.url, corpus.storage_options).fingerprint == corpus.fingerprint
    return False


@cache
def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:  # run from its source
        return "unknown"
