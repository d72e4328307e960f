"""The collapsed methods: samplers and approximations whose documents remember labels or responsibilities."""

from dataclasses import replace

from bigtopic.kernels.collapsed.ilr import HALF
from bigtopic.methods import get

__all__ = ["METHODS"]

CGS, ILR, CVB = (get(name) for name in ("cgs", "ilr", "cvb"))
REPLICAS = replace(CGS, name="cgs-replicas", options={"replicas": 3})
ILR_HALF = replace(ILR, name="ilr-half", kernel=HALF)

METHODS = {method.name: method for method in (CGS, REPLICAS, ILR, ILR_HALF, CVB)}
