"""Times that noise does not spoil: candidates take turns, and a control loop tells when the machine was busy.

A control is a fixed amount of arithmetic, on as many threads as the candidates use, right before and after each
measurement. A measurement whose control is more than 10 % slower than the run's fastest is thrown away and made
again, up to a limit.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import njit

SLACK = 0.10
_REPEATS = 30_000  # of the control: about 20 ms


class Stopwatch:
    """Seconds spent inside `with`, summed, without those spent in `paused()`."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __enter__(self) -> Stopwatch:
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += time.perf_counter() - self._begun

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside `with`: what follows does not count, and `seconds` is up to date."""
        self.__exit__()
        yield
        self.__enter__()


class Sample(NamedTuple):
    """One measurement: seconds, the slower of its two controls in seconds, and what the candidate returned."""

    seconds: float
    control: float
    result: Any


@dataclass
class Timing:
    """The measurements of one candidate.

    seconds : of those that count
    thrown : measurements thrown away
    result : what the last one returned
    """

    seconds: np.ndarray
    thrown: int
    result: Any = field(repr=False)

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def quartiles(self) -> tuple[float, float]:
        return spread(self.seconds)


class Timer:
    """Measures, and keeps the fastest control of the run.

    Parameters
    ----------
    n_threads : of the candidates
    """

    def __init__(self, n_threads: int = 2) -> None:
        self.n_threads, self.best = n_threads, float("inf")
        self.thrown = self.made = 0
        for _ in range(5):
            self.control()

    def control(self) -> float:
        """Seconds of the control loop now."""
        arrays = [np.ones(1 << 14, np.float32) for _ in range(self.n_threads)]
        with ThreadPoolExecutor(self.n_threads) as pool:
            list(pool.map(lambda array: _work(array, 1), arrays))  # threads are there, code is compiled
            begun = time.perf_counter()
            list(pool.map(lambda array: _work(array, _REPEATS), arrays))
            seconds = time.perf_counter() - begun
        self.best = min(self.best, seconds)
        return seconds

    def measure(self, run: Callable[[], Any]) -> Sample:
        """One measurement, whatever the control says."""
        gc.collect()
        before = self.control()
        begun = time.perf_counter()
        result = run()
        seconds = time.perf_counter() - begun
        self.made += 1
        return Sample(seconds, max(before, self.control()), result)

    def quiet(self, sample: Sample) -> bool:
        """Whether the machine was as fast as it can be around this measurement."""
        return sample.control <= (1 + SLACK) * self.best

    def quietest(self, run: Callable[[], Any], attempts: int = 2) -> Sample:
        """The first quiet measurement, or the quietest of some: for runs that take long."""
        samples: list[Sample] = []
        while len(samples) < attempts and not (samples and self.quiet(samples[-1])):
            samples.append(self.measure(run))
        self.thrown += len(samples) - 1
        return min(samples, key=lambda sample: sample.control)

    def alternate(self, candidates: Mapping[Any, Callable[[], Any]], runs: int = 7) -> dict[Any, Timing]:
        """Every candidate `runs` times in turn, after one run of each to warm up; at most three times as often.

        Where the machine is never quiet, the runs with the fastest controls count.
        """
        samples: dict[Any, list[Sample]] = {label: [] for label in candidates}
        last = {label: run() for label, run in candidates.items()}
        for _ in range(3 * runs):
            missing = [k for k, found in samples.items() if sum(map(self.quiet, found)) < runs]
            for label in missing:
                sample = self.measure(candidates[label])
                last[label] = sample.result
                samples[label].append(sample._replace(result=None))
        return {label: self._chosen(found, runs, last[label]) for label, found in samples.items()}

    def _chosen(self, samples: list[Sample], runs: int, result: Any) -> Timing:
        quiet = [sample for sample in samples if self.quiet(sample)]
        kept = quiet if len(quiet) >= runs else sorted(samples, key=lambda sample: sample.control)[:runs]
        thrown = len(samples) - len(kept)
        self.thrown += thrown
        return Timing(np.array([s.seconds for s in kept]), thrown, result)

    def __repr__(self) -> str:
        return (
            f"{self.thrown} of {self.made} measurements thrown away; "
            f"fastest control {1e3 * self.best:.1f} ms on {self.n_threads} threads"
        )


def spread(values: Any) -> tuple[float, float]:
    """The lower and the upper quartile."""
    low, high = np.quantile(np.asarray(values, float), [0.25, 0.75])
    return float(low), float(high)


@njit(nogil=True, cache=True, fastmath=True)
def _work(array, repeats):
    total = np.float32(0)
    for i in range(repeats):
        factor = np.float32(1 + 1e-9 * i)
        for j in range(len(array)):
            total += array[j] * factor
    return total
