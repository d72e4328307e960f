"""Maximising a sum of two functions over a convex domain by online maximum a posteriori estimation (OPE); and
`dirichlet_mle`, the likeliest parameters of a Dirichlet distribution.

For f = g1 + g2, given by the two gradients, over a domain given by its linear oracle, the point of the domain farthest
in a direction:

    x <- start ;  a = 1, b = 0
    for l = 1 .. n_iter - 1:
        with probability p:  a += 1 / (2 p)          otherwise:  b += 1 / (2 (1 - p))
        v = oracle(a g1'(x) + b g2'(x))
        x <- x + (v - x) / (l + 1)

The weights make both functions count alike in the mean, whatever p is: p = 1/2 and weights of 1 are the paper's. A
step needs one call of the oracle and no step size; from a start in the domain, points never leave it. f need not be
concave, but only then does the duality gap say how far from the maximum a point is. The kernel `ope` is this algorithm
for g1 the log-likelihood of a document, g2 the logarithm of its Dirichlet prior, and the simplex.

Cost: n_iter x (gradients that count + oracle).

Reference: Than and Doan (2017), "Guaranteed inference in topic models", section 3.4.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.schemes.dirichlet import dirichlet_mle
from bigtopic.support.numbers import is_whole

__all__ = ["Maximum", "box", "dirichlet_mle", "l1_ball", "ope", "simplex"]

Gradient = Callable[[np.ndarray], np.ndarray]
Oracle = Callable[[np.ndarray], np.ndarray]


class Maximum(NamedTuple):
    """What `ope` found.

    Attributes
    ----------
    point : float64 (n,)
    gap : duality gap, f'(point) (oracle(f'(point)) - point): no point of the domain is better by more where f is
        concave, and 0 at a stationary point of any f
    """

    point: np.ndarray
    gap: float


def ope(
    gradient_1: Gradient,
    gradient_2: Gradient,
    oracle: Oracle,
    start: np.ndarray,
    *,
    n_iter: int = 50,
    p: float = 0.5,
    random_state: int | np.random.Generator = 0,
    picks: Sequence[bool] | np.ndarray | None = None,
) -> Maximum:
    """Maximise g1 + g2 over a domain.

    Parameters
    ----------
    gradient_1, gradient_2 : functions of a point (n,) that return the gradients of g1 and g2 there, (n,), finite at
        `start` and on the way from it; see `eps` of `simplex`. The point is a copy: they may write into it
    oracle : function of a direction (n,) that returns the point of the domain, (n,), with the largest product with
        it: `simplex()`, `box(low, high)`, `l1_ball(radius)`, or one of your own
    start : a point of the domain, (n,). That is not checked: the steps from a point outside end outside
    n_iter : in the literature T: one more than the steps; at least 1. The default is the paper's
    p : probability of picking g1, between 0 and 1. The maximum does not depend on it, only the way there
    random_state : seed or generator of the picks
    picks : which iterations pick g1, (n_iter - 1,), instead of random ones: to compare runs

    Returns
    -------
    Maximum
        The last point, and its duality gap.

    Raises
    ------
    SettingError
        When an argument is not allowed, or a function does not return a finite (n,) array.

    Examples
    --------
    The distribution nearest to two others, which differ by as much in the first place as in the second:

    >>> import numpy as np
    >>> one, other = np.array([0.7, 0.1, 0.2]), np.array([0.1, 0.7, 0.2])
    >>> found = ope(lambda x: one - x, lambda x: other - x, simplex(), np.full(3, 1 / 3), n_iter=20_000)
    >>> found.point.round(1)
    array([0.4, 0.4, 0.2])
    """
    if not is_whole(n_iter) or n_iter < 1:
        raise SettingError(f"n_iter={n_iter!r}: must be a whole number of at least 1")
    if not _is_real(p) or not 0 < p < 1:
        raise SettingError(
            f"p={p!r}: must be above 0 and below 1, or one of the functions would never be picked"
        )
    for name, function in {"gradient_1": gradient_1, "gradient_2": gradient_2, "oracle": oracle}.items():
        if not callable(function):
            raise SettingError(f"{argument(name, function)}: must be a function of an array (n,)")
    point = _point(start)
    picked = _picks(n_iter, p, random_state, picks)
    first, second = 1.0, 0.0
    for step in range(1, n_iter):
        if picked[step - 1]:
            first += 1 / (2 * p)
        else:
            second += 1 / (2 * (1 - p))
        direction = first * _checked("gradient_1", gradient_1, point)
        if second:
            direction = direction + second * _checked("gradient_2", gradient_2, point)
        _finite("the weighted sum of gradient_1 and gradient_2", direction)
        point = point + (_checked("oracle", oracle, direction) - point) / (step + 1)
    gradient = _checked("gradient_1", gradient_1, point) + _checked("gradient_2", gradient_2, point)
    _finite("the sum of gradient_1 and gradient_2", gradient)
    return Maximum(point, float(gradient @ (_checked("oracle", oracle, gradient) - point)))


def simplex(eps: float = 0.0) -> Oracle:
    """Oracle of the points whose coordinates sum to 1 and are at least `eps`.

    Parameters
    ----------
    eps : below 1 / n. Above 0 for functions that are infinite on the simplex's faces, such as logarithms

    Raises
    ------
    SettingError
        When `eps` is not a number of at least 0, or, when called, leaves no point; or the direction has numbers
        that are not finite.
    """
    if not _is_real(eps) or not eps >= 0:
        raise SettingError(f"eps={eps!r}: must be a number of at least 0")

    def vertex(direction: np.ndarray) -> np.ndarray:
        n = len(direction)
        if eps * n >= 1:
            raise SettingError(f"eps={eps!r}: must be below 1 / {n}, for {n} coordinates that sum to 1")
        _finite("direction", direction)
        point = np.full(n, eps)
        point[np.argmax(direction)] += 1 - n * eps
        return point

    return vertex


def box(low: float | np.ndarray, high: float | np.ndarray) -> Oracle:
    """Oracle of the points between `low` and `high`, numbers or (n,).

    Raises
    ------
    SettingError
        When a bound is not finite, `low` is above `high`, or, when called, they are not of the points' shape; or the
        direction has numbers that are not finite.
    """
    bounds = _numbers("low", low), _numbers("high", high)
    shapes = {bound.shape for bound in bounds if bound.shape}
    if len(shapes) > 1 or any(len(shape) > 1 for shape in shapes):
        raise SettingError(
            f"low and high have shapes {bounds[0].shape} and {bounds[1].shape}: give numbers, or arrays (n,)"
        )
    if not all(np.isfinite(bound).all() for bound in bounds) or (bounds[0] > bounds[1]).any():
        raise SettingError(f"low={low!r}, high={high!r}: must be finite, and low nowhere above high")

    shape = shapes.pop() if shapes else None

    def vertex(direction: np.ndarray) -> np.ndarray:
        if shape is not None and shape != direction.shape:
            raise SettingError(f"low and high have shape {shape}, but the points have {direction.shape}")
        _finite("direction", direction)
        return np.where(direction > 0, bounds[1], bounds[0])

    return vertex


def l1_ball(radius: float = 1.0) -> Oracle:
    """Oracle of the points whose coordinates' absolute values sum to at most `radius`.

    Raises
    ------
    SettingError
        When the radius is not a positive number; or, when called, the direction has numbers that are not finite.
    """
    if not _is_real(radius) or not 0 < radius < np.inf:
        raise SettingError(f"radius={radius!r}: must be a positive number")

    def vertex(direction: np.ndarray) -> np.ndarray:
        _finite("direction", direction)
        farthest = np.argmax(np.abs(direction))
        point = np.zeros(len(direction))
        point[farthest] = np.copysign(radius, direction[farthest])
        return point

    return vertex


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _numbers(name: str, values: Any) -> np.ndarray:
    try:
        return np.array(values, float)
    except (TypeError, ValueError):
        raise SettingError(f"{argument(name, values)}: must be numbers") from None


def _point(start: Any) -> np.ndarray:
    point = _numbers("start", start)
    if point.ndim != 1 or not len(point):
        raise SettingError(f"start has shape {point.shape}, but must be one point, (n,)")
    _finite("start", point)
    return point


def _finite(name: str, values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        raise SettingError(f"{name} has {values[~np.isfinite(values)][0]}, but must have finite numbers")


def _picks(
    n_iter: int,
    p: float,
    random_state: int | np.random.Generator,
    picks: Sequence[bool] | np.ndarray | None,
) -> np.ndarray:
    if picks is None:
        try:
            generator = np.random.default_rng(random_state)
        except (TypeError, ValueError):
            raise SettingError(
                f"{argument('random_state', random_state)}: must be a seed of at least 0"
            ) from None
        return generator.random(n_iter - 1) < p
    try:
        given = np.asarray(picks, bool)
    except (TypeError, ValueError):
        raise SettingError(f"picks={picks!r:.60}: must be truth values, ({n_iter - 1},)") from None
    if given.shape != (n_iter - 1,):
        raise SettingError(f"picks has shape {given.shape}, but must have one for each step, ({n_iter - 1},)")
    return given


def _checked(name: str, function: Callable[[np.ndarray], np.ndarray], argument: np.ndarray) -> np.ndarray:
    """What a function returns for a copy of the argument, copied: both may be arrays that it writes into again."""
    returned = function(argument.copy())
    try:
        values = np.array(returned, float)
    except (TypeError, ValueError):
        raise SettingError(f"{name} returned {returned!r}, but must return numbers") from None
    if values.shape != argument.shape:
        raise SettingError(
            f"{name} returned shape {values.shape}, but must return {argument.shape} as `start`"
        )
    if not np.isfinite(values).all():
        raise SettingError(
            f"{name} returned {values[~np.isfinite(values)][0]}, but must return finite numbers all over the domain; "
            "simplex(eps=...) keeps away from the faces of the simplex"
        )
    return values
