"""What verbs say about a run on standard error, beside their results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click

from bigtopic.cli._facts import learned
from bigtopic.wording import counted, printable

__all__ = ["cut_short", "few_updates", "learned_from", "say", "went_on"]

_CUT = {"max_time": "the time limit", "interrupt": "Ctrl-C"}  # reasons of `learning.events.Event`
_FEW = 10  # updates; the topics are still near their start


def say(text: str) -> None:
    """One line on standard error; nothing if there is no text."""
    if text:
        click.echo(printable(text), err=True)


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
    tokens, seconds = learned(estimator) or (0.0, 0.0)
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
    read = (
        f"{counted(int(run['counts']['n_docs']), 'document')} in {counted(n_passes, 'pass', 'passes')}{cut}"
    )
    n_docs = counted(corpus.n_docs, "document")
    return f"{model} learned from {read}; {n_new:,} of the {n_docs} of {corpus.url} were new"


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
    run = estimator.run_ or {}
    if run.get("corpus", {}).get("fingerprint") != corpus.fingerprint:
        return ""
    n_held_out = _n_held_out(run.get("settings", {}), corpus.n_docs)
    but = f", without the {n_held_out:,} that it held out" if n_held_out else ""
    return (
        f"{model} learned from these {counted(corpus.n_docs, 'document')}{but}: its score is not a held-out one; give "
        "documents that it has not seen"
    )


def _n_held_out(settings: Mapping[str, Any], n_docs: int) -> int:
    """How many of its own documents a run held out."""
    from bigtopic.corpus.select import n_test_documents

    share = settings.get("validation")
    return 0 if share is None else n_test_documents(share, n_docs)
