"""Where rounds run: executors, and what they share.

A file that defines `EXECUTOR`, an `executors.base.ExecutorSpec`, is an executor of the file's name. To add an
executor, add a file. For what an executor must guarantee, see `executors.base.Executor`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from bigtopic.support import discovery

if TYPE_CHECKING:
    from bigtopic.learning.executors.base import ExecutorSpec

__all__ = ["load", "names"]


def names() -> list[str]:
    """Names of the available executors, in alphabetical order."""
    return discovery.names(__name__, "EXECUTOR")


def load(name: str) -> ExecutorSpec:
    """The executor of this name.

    Raises
    ------
    SettingError
        When there is no such executor.
    """
    spec: ExecutorSpec = discovery.load(__name__, name, "EXECUTOR", "executor")
    return spec
