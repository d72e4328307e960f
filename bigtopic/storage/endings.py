"""System errors after a writer's work: its store is already complete, or its own error is already being raised."""

from __future__ import annotations

from bigtopic.errors import StoreError, warn
from bigtopic.storage.place import Place

__all__ = ["settle", "tell_what_is_left"]


def settle(root: Place, folder: Place) -> None:
    """Make a commit's changes to a folder durable. The store is already the new one, so a failure is a warning."""
    try:
        folder.sync(recursive=False)
    except StoreError as refused:
        said = f"{root.url} is complete, but {refused}. If the power fails now, it may be lost"
        warn(said)


def tell_what_is_left(root: Place, refused: StoreError, error: BaseException | None) -> None:
    """Report that a writer could not sweep: a warning after a commit, otherwise a note on the error that ended it."""
    said = f"{refused}. The next writer removes what is left"
    if error is None:
        warn(f"{root.url} is complete, but {said}")
    else:
        error.add_note(said)
