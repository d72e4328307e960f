"""What is known about a store, as JSON values and as lines for a terminal; and remarks on a run, on standard error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bigtopic.cli.support import stores
from bigtopic.cli.support.group import command_of
from bigtopic.corpus.card import byte_size, left_out
from bigtopic.errors import InputError
from bigtopic.wording import counted

__all__ = [
    "corpus_lines",
    "cut_short",
    "described",
    "facts_of_corpus",
    "facts_of_model",
    "few_updates",
    "learned_from",
    "progress_lines",
    "went_on",
]

_FREQUENT = 12  # words to show
_CUT = {"max_time": "the time limit", "interrupt": "Ctrl-C"}  # reasons of `learning.events.Event`
_FEW = 10  # updates; the topics are still near their start
_REASONS = {
    "interrupt": "by Ctrl-C or SIGTERM",
    "max_time": "at its time limit",
    "tol": "because it converged",
    "score": "because the score stopped improving",
}


def described(store: str, verify: bool) -> tuple[Mapping[str, Any], Mapping[str, str]]:
    """What is known about a store, as JSON values and as lines."""
    from bigtopic.storage.place import Place

    if stores.is_model(store) or stores.is_checkpoint(store):
        facts = facts_of_model(stores.model_at(store), store)  # every array has been read
        return facts, _model_lines(facts)
    if stores.is_topics(store):
        facts = _facts_of_topics(store, verify)
        return facts, _topics_lines(facts)
    if not Place.of(store).exists():
        raise InputError(
            f"there is nothing at {store}{Place.of(store).nearest()}; give the path of a corpus, a model, a checkpoint "
            "or topics of documents"
        )
    corpus = stores.corpus_at(store)
    if verify:
        corpus.verify()
    facts = facts_of_corpus(corpus)
    return facts, corpus_lines(facts)


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


def _facts_of_topics(url: str, verify: bool) -> dict[str, Any]:
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


def _topics_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    """Lines on a store of topics. `bigtopic info` shows the same fingerprint for the model that wrote the store."""
    model, writer = facts["model"], ""
    if model is not None:
        settings = ", ".join(f"{name} {model.get(name)}" for name in ("seed", "updates"))
        writer = f"a model of {model.get('method')}, {settings}, fingerprint {model.get('topics')}"
    return {
        "topics of documents": facts["url"],
        "documents": f"{facts['documents']:,}",
        "topics": f"{facts['topics']:,}, {facts['entries'] / max(1, facts['documents']):,.1f} kept per document",
        "columns": ", ".join(facts["columns"]),
        "written by": writer,
        "size": byte_size(facts["bytes"]),
    }


def facts_of_model(estimator: Any, url: str) -> dict[str, Any]:
    """Of a fitted estimator that is at `url`."""
    from bigtopic.estimators.support.run_record import last_score
    from bigtopic.state.identity import model_identity

    model, run = estimator._fitted(), estimator.run_
    tokens, seconds = _learned(estimator) or (None, None)
    unfinished = "ended" not in (run or {}) and estimator.n_iter_ < (run or {}).get("passes", 0)
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
        "documents": estimator.n_docs_seen_,
        "passes": estimator.n_iter_,
        "updates": estimator.n_batch_iter_,
        "tokens": tokens,
        "seconds": seconds,
        "score": last_score(estimator.history_),
        "random_state": estimator.random_state_,
        "fingerprint": model_identity(model)["topics"],
        "run": run,
        "command": command_of(run, unfinished),
    }


def _learned(estimator: Any) -> tuple[float, float] | None:
    """Tokens and seconds of the run, to the update at which it ended; of an older model, of its complete passes."""
    rows = [*estimator.history_[-1:], (estimator.run_ or {}).get("counts")]
    counts = rows[-1] or rows[0]
    return None if counts is None else (counts["n_tokens"], counts["seconds"])


def _reading(facts: Mapping[str, Any]) -> str:
    """What a model learned from; tokens and seconds are of the last call."""
    if facts["tokens"] is None:
        return ""
    tokens = f"{counted(facts['tokens'], 'token')} in {facts['seconds']:.1f} s"
    several = "partial_fits" in (facts["run"] or {})
    return f"{counted(facts['documents'], 'document')}; the last call: {tokens}" if several else tokens


def _score_lines(score: float | None) -> dict[str, str]:
    return {"held-out score": "" if score is None else f"{score:.4f} nats per token"}


def progress_lines(estimator: Any) -> dict[str, str]:
    """What a run did."""
    from bigtopic.estimators.support.run_record import last_score

    tokens, seconds = _learned(estimator) or (0.0, 0.0)
    about = {"tokens": tokens, "seconds": seconds, "documents": estimator.n_docs_seen_, "run": estimator.run_}
    return {
        **_score_lines(last_score(estimator.history_)),
        "learned from": _reading(about),
        "tokens per second": f"{tokens / max(seconds, 1e-9):,.0f}",
    }


def _model_lines(facts: Mapping[str, Any]) -> dict[str, str]:
    run, topics = facts["run"] or {}, facts["topics"]
    passes, updates = counted(facts["passes"], "pass", "passes"), counted(facts["updates"], "update")
    one = len(topics) == 1  # else each number has its name
    return {
        "model": facts["url"],
        "settings": facts["settings"],
        "method": f"{facts['method']}: {facts['summary']}",
        "topics": ", ".join(f"{n:,}" if one else f"{n:,} {k.replace('_', ' ')}" for k, n in topics.items()),
        "words": f"{facts['words']:,}",
        "authors": "" if facts["authors"] is None else f"{facts['authors']:,}",
        "left out": facts["left_out"] or "",
        "trained": f"{passes}, {updates}" if facts["updates"] else "",
        "learned from": _reading(facts),
        **_score_lines(facts["score"]),
        "fingerprint": facts["fingerprint"],
        "finished": f"{run['finished']} {_REASONS.get(run.get('ended') or '', '')}".rstrip()
        if run.get("finished")
        else "",
        "versions": ", ".join(f"{name} {version}" for name, version in run.get("versions", {}).items()),
        "repeat with": facts["command"] or "",
    }


def cut_short(estimator: Any, terminated: bool) -> str:
    """What ended the run of a fitted estimator before its last pass, and what it did by then; empty if nothing did.

    Parameters
    ----------
    terminated : whether SIGTERM came
    """
    run = estimator.run_
    if run["ended"] not in _CUT or estimator.n_iter_ >= run["passes"]:
        return ""
    by = "SIGTERM" if terminated else _CUT[run["ended"]]
    passes = f"{estimator.n_iter_:,} of {counted(run['passes'], 'pass', 'passes')}"
    if phase := estimator._fitted().method.phase:
        passes += f", in the {phase} phase"
    tokens, seconds = _learned(estimator) or (0.0, 0.0)
    done = f"{counted(estimator.n_batch_iter_, 'update')}, {counted(tokens, 'token')} in {seconds:.1f} s"
    return f"stopped by {by} after {passes} ({done})"


def went_on(estimator: Any, model: str, corpus: Any, n_new: int, n_passes: int) -> str:
    """From which documents a model learned when it went on.

    Parameters
    ----------
    model : the path of the estimator before
    n_new : documents of the corpus that it had not learned from
    """
    run = estimator.run_
    cut = f", stopped by {_CUT[run['ended']]}" if run["ended"] in _CUT else ""
    later = _later_passes(estimator)
    n_read, n_docs = run["counts"]["n_docs"], counted(corpus.n_docs, "document")
    if later:
        first = run["phases"][0]["phase"]
        n_read = next(row["n_docs"] for row in reversed(estimator.history_) if row["phase"] == first)
    read = f"{counted(n_read, 'document')} in {counted(n_passes - sum(later.values()), 'pass', 'passes')}"
    for phase, n in later.items():
        read += f", then from all {corpus.n_docs:,} in {counted(n, 'pass', 'passes')} of the {phase} phase"
    return f"{model} learned from {read}{cut}; {n_new:,} of the {n_docs} of {corpus.url} were new"


def _later_passes(estimator: Any) -> dict[str, int]:
    """{phase: passes} of the run of a fitted estimator, after the first phase of its method."""
    model = estimator._fitted()
    if not model.cursor.phase:
        return {}
    over = {phase["phase"]: phase["passes"] for phase in estimator.run_["phases"][1:]}
    return {**over, model.method.phase: model.cursor.pass_number}


def few_updates(estimator: Any) -> str:
    """That a complete run of an online method made few updates, and what to set for more; empty if it made enough.

    Batch methods, and those that go over their documents several times within an update, learn enough from one.
    """
    method, n_updates = estimator._fitted().method, estimator.n_batch_iter_
    small_steps = method.batch_size is not None and method.inner == 1 and not method.load_kernel().interacts
    if not small_steps or n_updates >= _FEW or estimator.run_["ended"] != "max_iter":
        return ""
    n_docs = estimator.n_docs_seen_
    given = f"batch size {estimator._batch_size(n_docs)}, {counted(n_docs, 'document')}"
    made = f"{method.name} made {counted(n_updates, 'update')} ({given})"
    return f"{made}: for more, set a smaller --batch-size, or more --passes"


def learned_from(estimator: Any, model: str, corpus: Any) -> str:
    """That a corpus is the one that a model learned from, whose score is then not a held-out one; empty if it is not.

    Parameters
    ----------
    model : the path of the estimator
    """
    from bigtopic.corpus.select import n_test_documents

    run = estimator.run_ or {}
    if run.get("corpus", {}).get("fingerprint") != corpus.fingerprint:
        return ""
    share = run.get("settings", {}).get("validation")
    n_held_out = 0 if share is None else n_test_documents(share, corpus.n_docs)
    but = f", without the {n_held_out:,} that it held out" if n_held_out else ""
    return (
        f"{model} learned from these {counted(corpus.n_docs, 'document')}{but}: its score is not a held-out one; give "
        "documents that it has not seen"
    )
