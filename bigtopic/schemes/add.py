"""Weights grow by the statistics of minibatches.

`Add`: streaming without a step size or the size of the corpus.

    weights <- weights + S

With `forgets_start`, the first update drops the initial statistics: given topics draw the first labels, and are not
counted.

With a half-life of H documents, a minibatch of n documents leaves a share of the statistics of earlier ones:

    statistics <- 0.5^(n / H) statistics + S

Reference: Broderick et al. (2013), "Streaming variational Bayes", its sufficient statistics update; Than and
Doan (2017), equation 27 (the prior enters once).

`AddToPrior`: each minibatch's posterior is the prior of the next: the first adds to the prior, later ones to the
weights.

    weights <- prior + S        at the first update
    weights <- weights + S      afterwards

The initial statistics only tell the topics apart while the first minibatch is being inferred. With `inner` iterations,
a round starts from its prior and repeats weights = prior + S until S follows from the weights: streaming variational
Bayes (SVB). With one iteration, it is `Add` with `forgets_start`.

Reference: Broderick et al. (2013), "Streaming variational Bayes".

`DecayAdd`: weights forget, for streams whose topics drift.

    statistics <- decay (statistics + S)

The first update drops the initial statistics, which come from no document. The prior stays outside, and does not
decay. After t minibatches of C_1, ..., C_t tokens the mass of the statistics is sum_j decay^(t - j + 1) C_j; it tends
to the mass of decay / (1 - decay) minibatches.

The share that is forgotten may fall from update to update, so that the topics converge:

    1 - decay_t = (1 - decay) (offset + t)^-kappa

With a half-life of H documents, decay is 0.5^(n / H) for a minibatch of n documents, and these settings have no effect.

Reference: Gao, Chen, Zhu (2016), "Streaming Gibbs sampling for LDA model", algorithm 2, with the topics' totals
decayed, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from bigtopic.errors import SettingError
from bigtopic.schemes.schedule import LearningRate, check
from bigtopic.support.numbers import is_number
from bigtopic.types import AxisStats, MutableArray, RoundInfo

__all__ = ["FURTHER", "SCHEME", "Add", "AddToPrior", "DecayAdd"]


@dataclass(frozen=True)
class Add:
    """Every token counts once, early or late.

    The sums only grow, and single-precision ones would stop growing at 2**24: hence the double-precision array.

    Parameters
    ----------
    forgets_start : whether the first update drops the initial statistics. Not an option of users: a run with `init`
        sets it where the method begins with nothing
    """

    dtype: ClassVar[str] = "float64"
    takes_changes: ClassVar[bool] = True
    is_linear: ClassVar[bool] = True
    takes_half_life: ClassVar[bool] = True

    forgets_start: bool = field(default=False, repr=False)

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`; the axis once, where the first update forgets."""
        retained = 1.0 if info.retained is None else info.retained
        array.add(stats, decay=0.0 if self.forgets_start and info.step == 1 else retained)


@dataclass(frozen=True)
class AddToPrior(Add):
    """Every token counts once, and nothing else does.

    Parameters
    ----------
    forgets_start : see `Add`; a run with `init` unsets it, so that the given weights are the first prior
    """

    forgets_start: bool = field(default=True, repr=False)


@dataclass(frozen=True)
class DecayAdd:
    """A minibatch is added with the weight `decay`, and each later update multiplies its weight by `decay`.

    The array is in double precision, as for `Add`, which is the case of decay 1.

    Parameters
    ----------
    decay : share of the past that each minibatch leaves, above 0 and at most 1; smaller for larger minibatches; in the
        literature lambda
    forgetting_decay : how fast the forgotten share falls, above 0 and at most 1; None for the same `decay` always
    forgetting_offset : larger begins with a smaller share, and falls later
    hold : number of first updates that forget as much as the last of them

    Raises
    ------
    SettingError
        When a parameter is outside its range.
    """

    dtype: ClassVar[str] = "float64"
    forgets_start: ClassVar[bool] = True
    takes_half_life: ClassVar[bool] = True

    decay: float = 0.9
    forgetting_decay: float | None = None
    forgetting_offset: float = 0.0
    hold: int = 0

    def __post_init__(self) -> None:
        if not is_number(self.decay) or not 0.0 < self.decay <= 1.0:
            raise SettingError(f"decay={self.decay!r}: must be above 0 and at most 1")
        check(self.forgetting_decay, self.forgetting_offset, hold=self.hold, of="forgetting")

    @property
    def unread(self) -> Mapping[str, str]:
        """Settings that others turn off: {name: why}."""
        always = "forgetting_decay is None, which keeps the same decay"
        return dict.fromkeys(("forgetting_offset", "hold"), always) if self.forgetting_decay is None else {}

    def _decay(self, info: RoundInfo) -> float:
        """The decay of this update."""
        if info.retained is not None:
            return info.retained
        if self.forgetting_decay is None:
            return self.decay
        falling = LearningRate(self.forgetting_decay, self.forgetting_offset, hold=self.hold).schedule()
        return 1.0 - (1.0 - self.decay) * falling(info.step, info.n_steps)

    def step(self, array: MutableArray, stats: AxisStats, info: RoundInfo) -> None:
        """Costs the rows of `stats`. A minibatch without tokens is an update, too: older ones decay."""
        decay = self._decay(info)
        array.add(stats, weight=decay, decay=0.0 if info.step == 1 else decay)


SCHEME = Add
FURTHER = {"add_to_prior": AddToPrior, "decay_add": DecayAdd}
