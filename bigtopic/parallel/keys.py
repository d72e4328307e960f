"""Keys of Dask's tasks and data.

Names are random, because Dask takes equal keys for the same task, whichever client they come from. Prefixes are few,
because the scheduler remembers each for good. Of keys it remembers the last 100,000: strings, which take half of the
memory of tuples; below 32 characters, Python takes 80 bytes for one, and 96 from there on.
"""

from __future__ import annotations

import secrets

__all__ = ["new_name", "task_key"]


def new_name() -> str:
    """A name that no other client makes: 64 random bits, in 11 characters."""
    return secrets.token_urlsafe(8)


def task_key(prefix: str, name: str, number: int = 0) -> str:
    """The key of a task of a kind. The scheduler groups tasks by what stands before the number, and of tasks that could
    come first it takes the one with the least key."""
    return f"{prefix}-{number:05}-{name}"
