"""Heartbeats of the workers of a Dask client: which are silent, and what the scheduler tells of each."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from bigtopic.errors import warn

__all__ = ["Heartbeats", "described", "look", "silent"]

UNHEARD_SECONDS = 30  # without a heartbeat of a worker, before it is silent

Description = Mapping[str, Mapping[str, Any]]


class Heartbeats:
    """What was found at the last look at the workers of a client.

    workers : what the scheduler tells of each, by address
    silent : addresses of those that it has not heard from for `UNHEARD_SECONDS`
    well : of the others that accept work
    """

    def __init__(self) -> None:
        self.workers: Description = {}
        self.silent: frozenset[str] = frozenset()
        self.well: frozenset[str] = frozenset()
        self._answered = True
        # By address: the time of the last heartbeat, on the scheduler's clock, and since when it is the last, on ours
        self._last: dict[str, tuple[float, float]] = {}

    def update(self, client: Any) -> None:
        """Look again."""
        try:
            self.workers = described(client, UNHEARD_SECONDS)
        except TimeoutError:
            self._last.clear()  # the workers are not to blame
            if self._answered:
                self._answered = False
                warn(
                    f"the Dask scheduler at {client.scheduler.address} has not answered for {UNHEARD_SECONDS} seconds, "
                    "and the work waits for it: look at its machine"
                )
            return
        self._answered = True
        earlier, now = self._last, time.monotonic()
        heard = {address: worker["last_seen"] for address, worker in self.workers.items()}
        self._last = {
            address: earlier[address] if earlier.get(address, (None,))[0] == at else (at, now)
            for address, at in heard.items()
        }
        known = self.silent
        self.silent = frozenset(w for w, (_, since) in self._last.items() if now - since > UNHEARD_SECONDS)
        running = frozenset(w for w, worker in self.workers.items() if worker["status"] == "running")
        self.well = running - self.silent
        for address in sorted(self.silent - known):
            warn(
                f"the Dask scheduler has not heard from worker {address} for {UNHEARD_SECONDS} seconds, and the "
                "work may wait for it until the scheduler gives it up (Dask's setting "
                "distributed.scheduler.worker-ttl): look at its machine"
            )


_by_client: WeakKeyDictionary[Any, Heartbeats] = WeakKeyDictionary()


def look(client: Any) -> Heartbeats:
    """Ask the scheduler for its workers. Warns of each that has fallen silent, and of a scheduler that has."""
    heartbeats = _by_client.setdefault(client, Heartbeats())
    heartbeats.update(client)
    return heartbeats


def silent(client: Any) -> frozenset[str]:
    """Addresses of workers that are silent. Asks the scheduler only if some were at the last look."""
    known = _by_client.get(client)
    return look(client).silent if known and known.silent else frozenset()


def described(client: Any, seconds: float | None = None) -> Description:
    """What the scheduler tells of each worker, by address; what it told last, if it cannot be asked.

    Instead of `client.scheduler_info`, in whose answer there may be no workers: now and then the client itself asks
    without them, and the last answer counts.

    Raises
    ------
    TimeoutError
        When it does not answer for so long; by default, this waits.
    """
    try:
        found = client.sync(client.scheduler.identity, n_workers=-1, callback_timeout=seconds)
    except TimeoutError:
        raise
    except (AttributeError, OSError):  # the client is closed, or the scheduler is gone
        found = client.scheduler_info(n_workers=-1)
    by_address: Description = found["workers"]
    return by_address
