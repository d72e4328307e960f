"""A round: map over slices, reduce, and one step of every scheme; several times over provisional params if the method
has inner iterations. Independent of the method and of where the map runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from bigtopic.errors import ModelError, note
from bigtopic.learning.run import Iteration, Settings
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.plan.cursor import Cursor, RoundReport
from bigtopic.plan.slices import Round
from bigtopic.schemes import companion_names
from bigtopic.schemes.schedule import PlainStep
from bigtopic.state.contract.scheme_steps import check_moved
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.params import Overlay, Params, PriorAccess
from bigtopic.state.running_mean import RunningMean
from bigtopic.types import RoundInfo, Scheme, Stats

__all__ = [
    "MapReduce",
    "factors_of",
    "iteration_of",
    "knows_factors",
    "moved_arrays",
    "round_stats",
    "step",
]

MapReduce = Callable[[Round, Mapping[str, LazyArray | Overlay], Iteration], Stats]


def step(
    params: Params,
    cursor: Cursor,
    stats: Stats,
    settings: Settings,
    largest_step: float | None = None,
    missed: int = 0,
) -> RoundReport:
    """Update the params by the statistics of one round, which do not know the last `missed` updates; `largest_step`
    replaces the settings' one."""
    number, means = cursor.step + 1, {}
    if settings.averages(number):
        means = {name: RunningMean.of(params.arrays, name) for name in settings.schemes}
    _step(params.arrays, stats, number, settings, means, largest_step, missed)
    for mean in means.values():
        mean.count(settings.later_phase)
    return RoundReport(cursor, stats.n_docs, stats.n_tokens, stats.info)


def knows_factors(settings: Settings) -> bool:
    """Whether all that a step does is one `add` whose weight and decay follow from the numbers of a round."""
    alone = len(settings.schemes) == 1 and not settings.prior_schemes and not settings.average
    steps = [type(scheme).step for scheme in settings.schemes.values()]
    return alone and steps == [PlainStep.step]


def factors_of(
    cursor: Cursor, n_docs: int, n_tokens: float, settings: Settings, largest_step: float, missed: int
) -> tuple[float, float]:
    """Weight and decay of the step of a round; `knows_factors` is true."""
    ((name, scheme),) = settings.schemes.items()
    assert isinstance(scheme, PlainStep)
    numbers = _numbers(cursor.step + 1, n_docs, n_tokens, settings)
    retained = settings.retained(n_docs, largest_step)
    info = RoundInfo(*numbers, largest_step=largest_step, missed=missed, retained=retained)
    try:
        return scheme.factors(info)
    except Exception as error:
        _say_where(error, name, scheme, info)
        raise


def round_stats(
    params: Params, rnd: Round, cursor: Cursor, settings: Settings, map_reduce: MapReduce
) -> Stats:
    """The statistics of a round: of its last inner iteration. Does not change the params."""
    params = params.without_means()
    arrays: Mapping[str, LazyArray | Overlay] = params.arrays
    iteration = 0
    while True:
        iteration += 1
        stats = map_reduce(rnd, arrays, iteration_of(cursor, iteration, settings))
        if DOC_TOPIC_PRIOR in settings.schemes and iteration > 1:
            stats = replace(stats, prior=arrays[DOC_TOPIC_PRIOR].first_row())
        if not _again(settings.inner, iteration, stats.info):
            return stats
        if iteration > settings.burn_in:
            provisional = params.overlay(moved_arrays(settings.schemes))
            _step(provisional, stats, cursor.step + 1, settings)
            arrays = provisional


def _again(
    inner: int | Callable[[int, Mapping[str, float]], bool], iteration: int, info: Mapping[str, float]
) -> bool:
    return bool(inner(iteration, info)) if callable(inner) else iteration < inner


def _step(
    arrays: Mapping[str, LazyArray | Overlay],
    stats: Stats,
    step: int,
    settings: Settings,
    means: Mapping[str, RunningMean] = {},
    largest_step: float | None = None,
    missed: int = 0,
) -> None:
    """One step of every scheme; on `means` in place of their arrays."""
    numbers = _numbers(step, stats.n_docs, stats.n_tokens, settings)
    seen, largest = {**arrays, **means}, settings.largest_step if largest_step is None else largest_step
    retained = settings.retained(stats.n_docs, largest)
    for name, scheme in settings.schemes.items():
        paths = companion_names(name, scheme)
        companions = _Companions({key: arrays[path] for key, path in paths.items()})
        info = RoundInfo(*numbers, seen, stats, companions, largest, missed, retained)
        _move(name, scheme, arrays, companions, info)
    if not settings.prior_schemes:
        return
    priors = {name: PriorAccess(array) for name, array in arrays.items()}
    for name, scheme in settings.prior_schemes.items():
        info = RoundInfo(*numbers, priors, stats, largest_step=largest, missed=missed, retained=retained)
        _move(name, scheme, arrays, _Companions(), info)


def _numbers(
    step: int, n_docs: int, n_tokens: float, settings: Settings
) -> tuple[int, int, float, float, float, int, int | None]:
    """The first numbers of a `RoundInfo`."""
    totals = settings.total_docs, settings.total_tokens
    return step, n_docs, n_tokens, *totals, settings.seed, settings.n_steps


def _move(
    name: str,
    scheme: Scheme,
    arrays: Mapping[str, LazyArray | Overlay],
    companions: _Companions,
    info: RoundInfo,
) -> None:
    """One step of a scheme, on the arrays of `info`; checks what it did."""
    assert info.stats is not None
    try:
        scheme.step(info.arrays[name], info.stats.arrays[name], info)
        check_moved({name: arrays[name], **companions}, arrays.get(DOC_TOPIC_PRIOR))
    except Exception as error:
        _say_where(error, name, scheme, info)
        raise


def _say_where(error: Exception, name: str, scheme: Scheme, info: RoundInfo) -> None:
    """Name the scheme and the update that raised this."""
    where = f"scheme {type(scheme).__name__} of array {name!r}, at update {info.step}"
    if isinstance(error, ModelError):
        raise ModelError(f"{where}: {error}") from error
    note(error, where)


class _Companions(dict[str, LazyArray | Overlay]):
    """The companions of an array, by the names that its scheme declares."""

    def __missing__(self, name: str) -> LazyArray | Overlay:
        raise ModelError(
            f"it asks for the companion {name!r}; in companions it declares: {', '.join(self) or 'none'}"
        )


def moved_arrays(schemes: Mapping[str, Scheme]) -> list[str]:
    """The arrays that a step updates: those that have a scheme, and their companions."""
    return [
        path for name, scheme in schemes.items() for path in (name, *companion_names(name, scheme).values())
    ]


def iteration_of(cursor: Cursor, iteration: int, settings: Settings) -> Iteration:
    """Seed, step, number and pass of a round's inner iteration."""
    # One stream of randomness per pass: between the inner iterations of a round only the provisional params change.
    seed = (settings.seed * 1_000_003 + cursor.pass_number * 8_191 + 1) % (1 << 62)
    return Iteration(seed, cursor.step + 1, iteration, cursor.pass_number)
