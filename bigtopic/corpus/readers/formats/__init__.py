"""One file per format of a source; its name is the format's."""

from __future__ import annotations

from bigtopic.support import discovery

__all__ = ["FORMATS"]

FORMATS = discovery.modules(__name__)
"""Format name -> module."""
