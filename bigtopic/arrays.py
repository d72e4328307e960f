"""The place where plug-in models find `ArraySpec`; see `bigtopic.types`."""

from bigtopic.types import ArraySpec

__all__ = ["ArraySpec"]
