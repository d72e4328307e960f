"""Methods of several phases: each begins with the topics of the one before it."""

from __future__ import annotations

from dataclasses import replace

from bigtopic.methods.families import collapsed, sampling

__all__ = ["METHODS"]

_BY_NAME = {method.name: method for method in (*collapsed.METHODS, *sampling.METHODS)}

_ONLINE = replace(
    _BY_NAME["sparse-cvb0"],
    name="auto",
    phase="online",
    summary="sparse-cvb0, then collapsed Gibbs sampling; the default",
    complexity="as sparse-cvb0, then topics of its document per token and sweep, and 2 bytes per token on disk, twice; "
    "beyond 40 million tokens as sparse-cvb0",
    use="first choice for most corpora",
    paper="Asuncion et al. 2009; Foulds et al. 2013; Lücke and Eggert 2010; Griffiths and Steyvers 2004",
    aliases=(),
)
_SAMPLING = replace(
    _BY_NAME["cgs"],
    name="auto",
    phase="sampling",
    priors=_ONLINE.priors,
    summary=_ONLINE.summary,
    options={"sweeps": 3},
    max_iter=40,
    enough_tokens=4e8,
    enough_length=100.0,
    average=1.0,
    aliases=(),
)

METHODS = (replace(_ONLINE, then=(_SAMPLING,)),)
