"""The methods of the dual topic model, with minibatches of few rows."""

from dataclasses import replace

from bigtopic.methods import get

NAMES = ("dual-cgs", "dual-ilr", "dual-mf", "dual-online")
METHODS = [replace(get(name), batch_size=40, slice_size=20, max_iter=3) for name in NAMES]
