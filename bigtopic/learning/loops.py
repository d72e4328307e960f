"""Which rounds can stay in compiled code, because their kernel has a loop over slices (`types.SliceLoop`)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bigtopic.learning.work import Work
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.views import linear_mean

__all__ = ["FLOAT", "works_on"]

FLOAT = np.dtype(np.float32)  # of the params that loops read


def works_on(arrays: Mapping[str, LazyArray], work: Work) -> bool:
    """Whether a kernel has a loop that can do rounds on these arrays: if it keeps and derives nothing of documents,
    takes them by slices, reads the means of one array, and returns statistics of that array's words."""
    kernel = work.kernel
    if kernel.own_loop is None or kernel.derives is not None or kernel.state != "none":
        return False
    if kernel.whole_minibatches:
        return False
    if list(kernel.views.values()) != ["mean"] or list(kernel.statistics) != list(kernel.views):
        return False
    (array,) = (arrays[name] for name in kernel.views)
    words = array.axis in ("word", "column")
    return words and array.dtype == FLOAT and linear_mean(array) is not None
