"""Mailboxes of workers: pieces reach those who ask, and nobody waits for a worker that does not come."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from bigtopic.parallel.mailbox import Absent, dissolve, mailbox

pytestmark = pytest.mark.distributed
MEETING, LEFT = ("group", 1), ("another", 1)


def swap(addresses: list[str], number: int) -> Any:
    """Offer one array to each other worker, and collect theirs."""
    box, others = mailbox(), [i for i in range(len(addresses)) if i != number]
    box.attend(MEETING)
    box.offer(MEETING, {i: np.full(3, 10 * number + i) for i in others})
    return [piece.tolist() for piece in box.collect(MEETING, [(addresses[i], number) for i in others])]


def install() -> None:
    mailbox()


def ask(address: str) -> str:
    try:
        mailbox().collect(LEFT, [(address, 0)])
    except Absent as error:
        return str(error)
    return ""


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


def test_a_worker_that_is_gone_is_told(other_address):
    first = sorted(other_address.nthreads())[0]
    answer = other_address.submit(ask, "tcp://127.0.0.1:1", workers=[first], pure=False).result()
    assert "tcp://127.0.0.1:1 does not answer" in answer


def test_a_worker_that_has_left_is_told(other_address):
    first, second = sorted(other_address.nthreads())[:2]
    dissolve(other_address, "another")
    answer = other_address.submit(ask, second, workers=[first], pure=False).result()
    assert f"{second} does not attend" in answer
