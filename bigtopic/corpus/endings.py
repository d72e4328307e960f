"""What the system refuses a writer that is done: its store is complete, or an error of its own is on the way."""

from __future__ import annotations

import warnings

from bigtopic.corpus.storage import Place
from bigtopic.errors import BigtopicWarning, StoreError

__all__ = ["settle", "tell_what_is_left"]


def settle(root: Place, folder: Place) -> None:
    """Make durable what a commit changed in a folder. The store is the new one already, so a refusal is a warning."""
    try:
        folder.sync(recursive=False)
    except StoreError as refused:
        said = f"{root.url} is complete, but {refused}. If the power fails now, it may be lost"
        warnings.warn(said, BigtopicWarning, stacklevel=4)


def tell_what_is_left(root: Place, refused: StoreError, error: BaseException | None) -> None:
    """Say that a writer could not sweep: a warning after a commit, else a note on the error that ended it."""
    said = f"{refused}. The next writer removes what is left"
    if error is None:
        warnings.warn(f"{root.url} is complete, but {said}", BigtopicWarning, stacklevel=4)
    else:
        error.add_note(said)
