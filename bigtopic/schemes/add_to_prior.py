"""Each minibatch's posterior is the prior of the next: the first adds to the prior, later ones to the weights.

    weights <- prior + S        at the first update
    weights <- weights + S      afterwards

The initial statistics only tell the topics apart while the first minibatch is being inferred. With `inner` iterations,
a round starts from its prior and repeats weights = prior + S until S is that of the weights: streaming variational
Bayes (SVB). With one iteration it is `Add` that forgets what the weights began with.

Reference: Broderick et al. (2013), "Streaming variational Bayes".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from bigtopic.schemes.add import Add

__all__ = ["SCHEME", "AddToPrior"]


@dataclass(frozen=True)
class AddToPrior(Add):
    """Every token counts once, and nothing else does.

    Parameters
    ----------
    forgets_start : see `Add`; a run with `init` unsets it, so that the weights that are given are the first prior
    """

    forgets_start: bool = field(default=True, repr=False)


SCHEME = AddToPrior
