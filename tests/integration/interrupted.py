"""Runs that tests interrupt, in this process and in others, which they kill."""

from __future__ import annotations

from dataclasses import replace
from multiprocessing.synchronize import Event
from typing import Any

import toys

import bigtopic as bt

HERE: dict[str, Any] = {"client": False, "n_threads": 1, "progress": False}
KINDS = ("interpolating", "adding", "stateful", "replicas")


def estimator(kind: str, max_iter: int = 4, **more: Any) -> bt.LDA:
    """An interpolating, an adding, and a stateful method, of 30 or more rounds; replicas; and an asynchronous run."""
    if kind == "stateful":
        method = replace(toys.METHODS["labels"], batch_size=40, slice_size=20)
        return bt.LDA(3, method=method, max_iter=max_iter, **HERE, **more)
    if kind == "phased":
        from phased import phased

        return phased(max_iter, **more)
    if kind == "asynchronous":
        more = {**HERE, "n_threads": 3, "asynchronous": True, **more}
        return bt.LDA(4, method="streaming-ope", batch_size=20, max_iter=max_iter, **more)
    method = "streaming-vb" if kind == "adding" else "online-cvb0"
    if kind == "replicas":
        more = {"replicas": 3, "replica_updates": 1, **more}
    return bt.LDA(4, method=method, batch_size=20, max_iter=max_iter, **HERE, **more)


def fit_saving_often(
    kind: str, max_iter: int, corpus: str, checkpoint: str, begun: Event, client: Any = False
) -> None:
    """Go on with a run, saving after every segment."""
    stored, saved = bt.open_corpus(corpus), bt.Checkpoint(checkpoint, seconds=0, keep=2)
    begun.set()
    more = {"client": client} if client else {}
    estimator(kind, max_iter, **more).fit(stored, checkpoint=saved, resume=True)
