"""What is known about a store, as JSON values; and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from bigtopic.cli.support.repeat import command_of
from bigtopic.corpus.summary.card import byte_size, left_out
from bigtopic.wording import counted

__all__ = [
    "corpus_lines",
    "facts_of_corpus",
    "facts_of_model",
    "facts_of_topics",
    "learned",
    "model_lines",
    "topics_lines",
]

_FREQUENT = 12  # words to show


def facts_of_corpus(corpus: Any) -> dict[str, Any]:
    return {
        "kind": "corpus",
        "url": corpus.url,
        "documents": len(corpus),
        "words": corpus.n_words,
        "tokens": corpus.n_tokens,
        "entries": corpus.nnz,
        "authors": corpus.n_authors if corpus.authors is not None else None,
        "columns": list(corpus.columns),
        "text": corpus.has_text,
        "parts": len(corpus.parts),
        "bytes": corpus.n_bytes,
        "left_out": left_out(corpus.text_settings) or None,
        "shuffled": corpus.shuffled,
        "frequent_words": [str(word) for word in corpus.vocabulary[:_FREQUENT]],
        "ingestion": None if corpus.ingestion_ is None else corpus.ingestion_.to_dict(),
    }


def corpus_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    n_docs = max(1, facts["documents"])
    return {
        "corpus": str(facts["url"]),
        "documents": f"{facts['documents']:,}",
        "words": f"{facts['words']:,}",
        "tokens": f"{facts['tokens']:,.0f}, {facts['tokens'] / n_docs:,.1f} per document",
        "non-zeros": f"{facts['entries']:,}, {facts['entries'] / n_docs:,.1f} per document",
        "authors": "" if facts["authors"] is None else f"{facts['authors']:,}",
        "columns": ", ".join(facts["columns"]),
        "text": "kept" if facts["text"] else "",
        "parts": f"{facts['parts']:,}",
        "size": byte_size(facts["bytes"]),
        "left out": facts["left_out"] or "",
        "order": "shuffled" if facts["shuffled"] else "as in the source",
        "frequent words": " ".join(facts["frequent_words"]),
    }


def facts_of_topics(url: str, verify: bool = False) -> dict[str, Any]:
    """Of a store of topics that `bigtopic infer` wrote; its topics are read only to verify them."""
    from bigtopic.estimators.topic_stores.stored_topics import StoredTopics
    from bigtopic.storage.place import Place

    store = StoredTopics(url)
    for _ in store.batches() if verify else ():
        pass
    return {
        "kind": "topics of documents",
        "url": store.url,
        "documents": store.n_docs,
        "topics": store.n_components,
        "model": store.made_with,
        "entries": store.n_entries,
        "columns": store.columns,
        "bytes": Place.of(url).n_bytes(),
    }


def topics_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    return {
        "topics of documents": facts["url"],
        "documents": f"{facts['documents']:,}",
        "topics": f"{facts['topics']:,}, {facts['entries'] / max(1, facts['documents']):,.1f} kept per document",
        "columns": ", ".join(facts["columns"]),
        "written by": _writer(facts["model"]),
        "size": byte_size(facts["bytes"]),
    }


def _writer(identity: Mapping[str, Any] | None) -> str:
    """The model that wrote a store, whose fingerprint is among the facts of that model."""
    if identity is None:
        return ""
    settings = [f"{name} {identity.get(name)}" for name in ("seed", "updates")]
    return ", ".join(
        [f"a model of {identity.get('method')}", *settings, f"fingerprint {identity.get('topics')}"]
    )


def facts_of_model(estimator: Any, url: str, train: click.Command) -> dict[str, Any]:
    """Of a fitted estimator that is at `url`; `train` is the verb."""
    from bigtopic.state.identity import model_identity

    model = estimator._fitted()
    scores = [row["score"] for row in estimator.history_ if row.get("score") is not None]
    tokens, seconds = learned(estimator) or (None, None)
    run = estimator.run_ or {}
    unfinished = "ended" not in run and estimator.n_iter_ < run.get("passes", 0)
    return {
        "kind": "model",
        "url": url,
        "estimator": type(estimator).__name__,
        "settings": repr(estimator),
        "method": model.method.name,
        "summary": model.method.summary,
        "topics": dict(model.components),
        "words": len(estimator.vocabulary_),
        "authors": len(model.axes["author"]) if "author" in model.axes else None,
        "left_out": left_out(model.text) or None,
        "passes": estimator.n_iter_,
        "updates": estimator.n_batch_iter_,
        "tokens": tokens,
        "seconds": seconds,
        "score": scores[-1] if scores else None,
        "random_state": estimator.random_state_,
        "fingerprint": model_identity(model)["topics"],
        "run": estimator.run_,
        "command": command_of(estimator.run_, train, unfinished),
    }


def learned(estimator: Any) -> tuple[float, float] | None:
    """Tokens and seconds of the run, to the update at which it ended; of an older model, of its complete passes."""
    rows = [*estimator.history_[-1:], (estimator.run_ or {}).get("counts")]
    counts = rows[-1] or rows[0]
    return None if counts is None else (counts["n_tokens"], counts["seconds"])


def model_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    run = facts["run"] or {}
    return {
        "model": facts["url"],
        "settings": facts["settings"],
        "method": f"{facts['method']}: {facts['summary']}",
        "topics": _counts(facts["topics"]),
        "words": f"{facts['words']:,}",
        "authors": "" if facts["authors"] is None else f"{facts['authors']:,}",
        "left out": facts["left_out"] or "",
        "trained": f"{counted(facts['passes'], 'pass', 'passes')}, {counted(facts['updates'], 'update')}"
        if facts["updates"]
        else "",
        "learned from": ""
        if facts["tokens"] is None
        else f"{counted(facts['tokens'], 'token')} in {facts['seconds']:.1f} s",
        "held-out score": "" if facts["score"] is None else f"{facts['score']:.4f} nats per token",
        "fingerprint": facts["fingerprint"],
        "finished": _finished(run),
        "versions": ", ".join(f"{name} {version}" for name, version in run.get("versions", {}).items()),
        "repeat with": facts["command"] or "",
    }


def _counts(topics: Mapping[str, int]) -> str:
    """One number, or several with their names."""
    if len(topics) == 1:
        return f"{next(iter(topics.values())):,}"
    return ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in topics.items())


def _finished(run: Mapping[str, Any]) -> str:
    reasons = {
        "interrupt": "by Ctrl-C or SIGTERM",
        "max_time": "at its time limit",
        "tol": "because it converged",
        "score": "because the score stopped improving",
    }
    if not run.get("finished"):
        return ""
    return " ".join(filter(None, [run["finished"], reasons.get(run.get("ended") or "", "")]))
