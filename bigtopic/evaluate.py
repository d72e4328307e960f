"""Measures of topics, under the name that users see: `bigtopic.evaluation`."""

from bigtopic.evaluation import *  # noqa: F403
from bigtopic.evaluation import __all__ as __all__
