"""Keys of Dask's tasks and data.

Names are random, because Dask takes equal keys for the same task, whichever client they come from. Prefixes are few,
because the scheduler remembers each for good. It also remembers the last 100,000 keys (`dask.utils.key_split`): as
strings, because tuples take twice the memory. A string of up to 31 characters takes 80 bytes, a longer one at least 96,
and each about 90 bytes more. Most rounds therefore reuse keys of earlier rounds (`learning.executors.sending`).
"""

from __future__ import annotations

import secrets

__all__ = ["new_name", "task_key"]


def new_name() -> str:
    """A name that no other client makes: 64 random bits in 11 characters."""
    return secrets.token_urlsafe(8)


def task_key(prefix: str, name: str, number: int = 0) -> str:
    """The key of a task. The scheduler groups tasks by what stands before the number; of tasks with the same priority,
    it begins with the least key, so with the least number."""
    return f"{prefix}-{number:05}-{name}"
