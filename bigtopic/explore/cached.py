"""Indexes in the user's cache: the ten that were opened last stay there, of whatever models and corpora."""

from __future__ import annotations

import os
import re
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from bigtopic.errors import StoreError
from bigtopic.storage.place import Place

__all__ = ["KEPT", "keep_newest", "opened_now"]

KEPT = 10
_NAME = re.compile("[0-9a-f]{32}")
_TOPICS = ("zarr.json", "X", "obs", "var", "obsm", "varm", "obsp", "varp", "layers", "uns")  # of AnnData


def opened_now(index: Path) -> None:
    """Record that an index is opened, in the time of its description."""
    with suppress(OSError):  # such as on a read-only disk
        os.utime(index / "index.json", follow_symlinks=False)


def keep_newest(root: Place, members: Collection[str]) -> None:
    """Remove the indexes of a folder except the `KEPT` that were opened last.

    Files that belong to neither an index nor inferred topics stay, and nothing is removed through a link.

    Parameters
    ----------
    members : names of the files of an index
    """
    opened = {}
    for name in filter(_NAME.fullmatch, root.names()):
        with suppress(OSError):  # an index that is being written, or was removed by another process
            opened[name] = Path(root.url, name, "index", "index.json").lstat().st_mtime_ns
    for name in sorted(opened, key=opened.__getitem__, reverse=True)[KEPT:]:
        with suppress(StoreError):  # a link, or files that may not be removed
            for store, own in (("index", members), ("theta.zarr", _TOPICS)):
                for member in own:
                    (root / name / store / member).remove()
                (root / name / store).remove_empty()
            (root / name).remove_empty()
