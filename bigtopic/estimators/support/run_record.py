"""The record of a fit, so that it can be repeated: settings, documents, versions, how it ended. It also says which
documents of a corpus are new."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bigtopic.corpus.store import Corpus, open_corpus
from bigtopic.corpus.stored.stored_part import StoredPart
from bigtopic.errors import BigtopicError, InputError, SettingError, either
from bigtopic.estimators.support.checkpoints import NOT_KEPT, is_plain, without_password
from bigtopic.methods import get
from bigtopic.state.model import TopicModel

__all__ = [
    "begun",
    "continued",
    "ended",
    "first_new_row",
    "first_phase",
    "is_same",
    "last_score",
    "n_gone",
    "next_row",
    "phase_done",
    "since",
    "without_phases",
]

_LEARN = either(
    "call partial_fit(documents) with those, or give first_new=, their first row",
    "pass --documents all to learn from all of them",
)


def next_row(corpus: Corpus) -> int:
    """One more than the last source row: the documents of an append have this row or later ones."""
    return max((int(part.rows(0, part.n_docs).max()) + 1 for part in corpus.parts if part.n_docs), default=0)


def since(corpus: Corpus, row: int) -> Corpus:
    """The documents from a source row on, as a view; perhaps none."""
    rows = corpus.rows()
    return corpus.select(rows=rows[rows >= row])


def is_same(run: Mapping[str, Any] | None, corpus: Corpus) -> bool:
    """Whether the corpus is at the path or URL of the one that the run of a model was recorded with."""
    url = _recorded(run).get("url")
    return url is not None and corpus.url is not None and url == without_password(corpus.url)


def first_new_row(run: Mapping[str, Any] | None, corpus: Corpus) -> int:
    """The source row of the first document that a model has not learned from.

    Parameters
    ----------
    run : the record of the model's run
    corpus : the one that it learned from, with documents appended

    Raises
    ------
    SettingError
        When the model learned from another corpus.
    InputError
        When the corpus was replaced by one with more documents in the rows of the run.
    """
    known, rows = _recorded(run), corpus.rows()
    if not is_same(run, corpus):
        learned, given = (
            "documents in memory" if url is None else f"the corpus at {url}"
            for url in (known.get("url"), corpus.url)
        )
        raise SettingError(
            f"the model learned from {learned}, not from {given}, so which documents are new is not known: {_LEARN}"
        )
    n_known = known["documents"]
    if "rows" not in known:  # recorded by a version that counted documents alone
        return int(rows[n_known]) if n_known < len(rows) else next_row(corpus)
    if int((rows < known["rows"]).sum()) > n_known:
        raise InputError(
            f"{corpus.url} has other documents than the {n_known:,} that the model learned from; "
            f"{either('give first_new=, or fit a new model', 'train a new model')}"
        )
    return int(known["rows"])


def n_gone(run: Mapping[str, Any] | None, corpus: Corpus) -> int:
    """How many of the documents that a model learned from the corpus has no longer: others replaced them."""
    known = _recorded(run)
    if "rows" not in known or not is_same(run, corpus):
        return 0
    return max(0, int(known["documents"]) - int((corpus.rows() < known["rows"]).sum()))


def _recorded(run: Mapping[str, Any] | None) -> Mapping[str, Any]:
    return (run or {}).get("corpus") or {}


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
    now = datetime.now(UTC).isoformat(timespec="seconds")
    ending = {"ended": reason, "finished": now, "counts": dict(counts), "score": last_score(history)}
    return {**record, **ending}


def phase_done(record: Mapping[str, Any], model: TopicModel, counts: Mapping[str, float]) -> dict[str, Any]:
    """The record with the phase of the method that the model ends."""
    cursor, phases = model.cursor, record.get("phases", [])
    seconds = counts["seconds"] - sum(phase["seconds"] for phase in phases)
    done = {
        "phase": model.method.phase,
        "passes": cursor.pass_number,
        "updates": cursor.step,
        "seconds": seconds,
    }
    return {**record, "phases": [*phases, done]}


def first_phase(record: Mapping[str, Any] | None) -> tuple[int, int] | None:
    """Passes and updates of the first phase, if it is over."""
    phases = (record or {}).get("phases")
    return (phases[0]["passes"], phases[0]["updates"]) if phases else None


def without_phases(record: Mapping[str, Any] | None) -> dict[str, Any]:
    """The record of a model that goes back to the first phase."""
    return {name: value for name, value in (record or {}).items() if name != "phases"}


def last_score(history: list[dict[str, Any]]) -> float | None:
    """The last score of held-out documents in the history of a model."""
    return next((row["score"] for row in reversed(history) if row.get("score") is not None), None)


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
