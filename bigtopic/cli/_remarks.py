"""What verbs say about a run on standard error, beside their results."""

from __future__ import annotations

from typing import Any

import click

from bigtopic.cli._facts import learned
from bigtopic.counted import counted
from bigtopic.printable import printable

__all__ = ["cut_short", "say"]

_CUT = {"max_time": "the time limit", "interrupt": "Ctrl-C"}  # reasons of `learning.events.Event`


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
