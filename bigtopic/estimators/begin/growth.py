"""A corpus that grew since a model learned from it: which of its documents are new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bigtopic.corpus.store import Corpus
from bigtopic.errors import InputError, SettingError, either
from bigtopic.estimators.saved.settings import without_password

__all__ = ["first_new_row", "is_same", "n_gone", "next_row", "since"]

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
        raise SettingError(
            f"the model learned from {_named(known.get('url'))}, not from {_named(corpus.url)}, so which documents are "
            f"new is not known: {_LEARN}"
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


def _named(url: str | None) -> str:
    return "documents in memory" if url is None else f"the corpus at {url}"
