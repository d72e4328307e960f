"""Whether workers compute like this process: the processor that numba compiles for, and the versions of numerical
packages. If they differ, the last bits of a result may depend on which worker did the work.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any
from weakref import WeakKeyDictionary

from bigtopic.errors import ClusterError, SettingError, warn
from bigtopic.parallel import workers

__all__ = ["check_workers", "environment"]

SETTING = "bigtopic.environment"
SECONDS = 2.0  # between two looks for workers that joined
_REST = 20  # times as long as a look at a worker that did not answer took, before the next one
_SHOWN = 4
_FEATURES = "CPU features"


@dataclass
class _Known:
    """What is known about a client's workers.

    due : when to ask again; environments : environment of each worker
    differences : descriptions for the workers that differ; told : workers that a warning has named
    """

    due: float = 0.0
    environments: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    differences: Mapping[str, str] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)

    def look(self, client: Any) -> None:
        """Ask the workers that are new."""
        begun = time.monotonic()
        self.environments = workers.ask(client, environment, known=self.environments)
        here, now = environment(), time.monotonic()
        self.differences = {
            worker: _difference(here, there) for worker, there in self.environments.items() if there != here
        }
        self.due = now + (SECONDS if now - begun < workers.ANSWER_SECONDS else _REST * (now - begun))


_clients: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()


@cache
def environment() -> dict[str, str]:
    """Everything in this process that the bits of a result depend on."""
    from bigtopic.parallel._kernels import compiled_for

    cpu, features = compiled_for()
    packages = {name: version(name) for name in ("numpy", "numba", "llvmlite")}
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    own = sys.modules["bigtopic"].__version__
    return {"CPU": cpu, _FEATURES: features, "bigtopic": own, "Python": python, **packages}


def check_workers(client: Any) -> None:
    """Compare the workers with this process. Asks only those that have joined, and looks for them every `SECONDS` at
    most, so it is called before each piece of work.

    Warns once of each worker that differs, or raises, as the Dask setting `bigtopic.environment` says ("warn", the
    default, or "error").

    Raises
    ------
    ClusterError
        When there are no workers, one cannot run bigtopic, or one differs and the setting is "error"; names the worker.
    SettingError
        When the setting has another value.
    """
    import dask.config

    reaction = dask.config.get(SETTING, "warn")
    if reaction not in ("warn", "error"):
        raise SettingError(f"Dask's setting {SETTING} is {reaction!r}: must be 'warn' or 'error'")
    known = _clients.setdefault(client, _Known())
    if time.monotonic() >= known.due:
        known.look(client)
    found = known.differences
    if found and reaction == "error":
        raise ClusterError(_message(found))
    new = {worker: difference for worker, difference in found.items() if worker not in known.told}
    if new:
        known.told |= set(new)
        warn(f'{_message(new)}; dask.config.set({{"{SETTING}": "error"}}) makes this an error')


def _difference(here: Mapping[str, str], there: Mapping[str, str]) -> str:
    """The differences as text."""
    found = [
        f"{name} {there[name]}, here {here[name]}"
        for name in here
        if name != _FEATURES and there[name] != here[name]
    ]
    if there["CPU"] == here["CPU"] and there[_FEATURES] != here[_FEATURES]:
        only = sorted(set(there[_FEATURES].split(",")) - set(here[_FEATURES].split(",")))
        found.append(f"{_FEATURES} {_some(only) or 'fewer than here'}")
    return "; ".join(found)


def _message(differences: Mapping[str, str]) -> str:
    named = [f"worker {worker} has {difference}" for worker, difference in differences.items()]
    return (
        f"workers compute differently from this process: {_some(named)}. The last bits of results then depend on which "
        "worker did the work; use workers of one kind of CPU and the same versions"
    )


def _some(names: list[str]) -> str:
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f", and {more} more" if more > 0 else "")
