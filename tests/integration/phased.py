"""A small method of two phases: two passes of three updates online, then four of two by sampling labels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from interrupted import HERE

import bigtopic as bt
from bigtopic.methods import get

ROUNDS, PASSES = (3, 2), (2, 4)  # of 120 documents

_ONLINE = replace(get("online-cvb0"), name="phased", phase="online", batch_size=40, max_iter=PASSES[0])
_SAMPLING = replace(
    get("cgs"),
    name="phased",
    phase="sampling",
    batch_size=60,
    slice_size=30,
    max_iter=PASSES[1],
    average=0.5,
    options={"sweeps": 2},
    priors=_ONLINE.priors,
)
PHASED = replace(_ONLINE, then=(_SAMPLING,))


def phased(times: int = 1, **more: Any) -> bt.LDA:
    """An estimator with that method; with `times` as many passes in each phase."""
    settings: dict[str, Any] = {"random_state": 1, **HERE, **more}
    if times > 1:
        settings["max_iter"] = times * PASSES[0]
        settings["options"] = {"sampling.max_iter": times * PASSES[1], **settings.get("options", {})}
    return bt.LDA(4, method=PHASED, **settings)
