"""Mailboxes of workers: pieces reach those who ask, and nobody waits for a worker that does not come."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pytest
from bigtopic.parallel.mailbox import Absent, abort, mailbox

sys.path.insert(0, str(Path(__file__).parents[1]))

import hosts

pytestmark = pytest.mark.distributed
COLLECTIVE, LEFT, TURNS = ("group", 1), ("another", 1), ("third", 1)


def swap(addresses: list[str], number: int) -> Any:
    """Offer one array to each other worker, and collect theirs."""
    box, others = mailbox(), [i for i in range(len(addresses)) if i != number]
    box.join(COLLECTIVE)
    box.offer(COLLECTIVE, {i: np.full(3, 10 * number + i) for i in others})
    found = dict(box.collect(COLLECTIVE, [(addresses[i], number) for i in others]))
    return [found[i].tolist() for i in range(len(others))]


def install() -> None:
    mailbox()


def ask(address: str, collective: tuple[str, int] = LEFT) -> str:
    try:
        list(mailbox().collect(collective, [(address, 0)]))
    except Absent as error:
        return str(error)
    return ""


def leave(dask_worker: Any) -> None:
    mailbox(dask_worker).leave(LEFT[0])


def on_all(client: Any, function: Any, inputs: list[Any]) -> list[Any]:
    workers = sorted(client.nthreads())
    tasks = [
        client.submit(function, *one, workers=[w], pure=False) for w, one in zip(workers, inputs, strict=True)
    ]
    return client.gather(tasks)


def test_pieces_reach_those_who_ask_for_them(other_address):
    addresses = sorted(other_address.nthreads())
    on_all(other_address, install, [()] * len(addresses))
    found = on_all(other_address, swap, [(addresses, i) for i in range(len(addresses))])
    n = len(addresses)
    assert found == [[[10 * i + j] * 3 for i in range(n) if i != j] for j in range(n)]


def offer_in_turn(address: str) -> None:
    """Offer another worker a piece when it has the one before."""
    box = mailbox()
    box.join(TURNS)
    for i in range(3):
        box.offer(TURNS, {i: f"piece {i}"})
        assert list(box.collect(TURNS, [(address, "thanks")])) == [(0, "thanks")]


def take_all(address: str) -> list[tuple[int, str]]:
    """Ask for all of these at once, and say thanks for each as it comes."""
    box, found = mailbox(), []
    box.join(TURNS)
    for one in box.collect(TURNS, [(address, i) for i in (2, 0, 1)]):
        found.append(one)
        box.offer(TURNS, {"thanks": "thanks"})
    return found


def test_pieces_come_as_soon_as_they_are_there(other_address):
    first, second = sorted(other_address.nthreads())[:2]
    on_all(other_address, install, [()] * len(other_address.nthreads()))
    offering = other_address.submit(offer_in_turn, second, workers=[first], pure=False)
    taking = other_address.submit(take_all, first, workers=[second], pure=False)
    assert other_address.gather([offering, taking])[1] == [(1, "piece 0"), (2, "piece 1"), (0, "piece 2")]


def test_a_worker_that_is_gone_is_told(other_address):
    first = sorted(other_address.nthreads())[0]
    other_address.run(dask.config.set, {"distributed.comm.timeouts.connect": "1s"}, workers=[first])
    answer = other_address.submit(ask, "tcp://127.0.0.1:1", workers=[first], pure=False).result()
    other_address.run(dask.config.refresh, workers=[first])
    assert "tcp://127.0.0.1:1 does not answer" in answer


def test_a_worker_that_has_left_is_told(other_address):
    first, second = sorted(other_address.nthreads())[:2]
    other_address.run(leave, workers=[second])
    answer = other_address.submit(ask, second, workers=[first], pure=False).result()
    assert f"{second} does not take part" in answer


def never_answer(dask_worker: Any) -> None:
    """As a worker that is stopped: its connections stay open."""

    async def wait(collective: Any, name: Any) -> None:
        await asyncio.Event().wait()

    mailbox(dask_worker)
    dask_worker.handlers["bigtopic_piece"] = wait


def test_those_who_ask_a_worker_that_never_answers_go_on_at_the_end():
    with hosts.scheduler() as client, hosts.worker(client), hosts.worker(client):
        first, second = sorted(client.nthreads())
        client.run(never_answer, workers=[second])
        waiting = client.submit(ask, second, ("stopped", 1), workers=[first], pure=False)
        with pytest.raises(TimeoutError):
            waiting.result(3)
        abort(client, "stopped")
        assert f"{second} has not answered" in waiting.result(30)
