"""A writer's hold on a store, corpus or model: the lock, the journal, and the sweep that serves every ending.

    lock -> sweep what killed writers listed -> list, then make -> commit -> sweep -> unlock

Until the commit the store's marker lists the old state, so the sweep removes what is new; afterwards it removes what
was replaced. The next writer's sweep does the same for one that was killed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from types import TracebackType
from uuid import uuid4

from bigtopic.errors import CorpusExists, StoreError
from bigtopic.storage import local
from bigtopic.storage.endings import tell_what_is_left
from bigtopic.storage.journal import Journal, is_made, journals, require_free
from bigtopic.storage.lock import WriterLock
from bigtopic.storage.names import FOLDERS
from bigtopic.storage.place import Place

__all__ = ["Hold"]


class Hold:
    """Context manager: holds the lock; on exit, removes what is in the journal but not committed.

    Parameters
    ----------
    root : the store
    what : "a bigtopic corpus", for messages
    listed : returns the paths that the marker of the store at a place lists, None where there is no store yet; it
        raises when the place holds something else

    Attributes
    ----------
    token : 12 hexadecimal digits, different for every writer

    Raises
    ------
    CorpusExists
        When the place holds something else, which stays as it is.
    CorpusLocked
        When another writer holds it.
    StoreError
        When the system refuses a write, or a link is inside the store.
    """

    def __init__(self, root: Place, what: str, listed: Callable[[Place], Collection[str] | None]) -> None:
        self.token = uuid4().hex[:12]
        self._root, self._what, self._listed = root, what, listed
        self._lock = WriterLock(root)
        self._journal = Journal(root, self.token)
        self._missing: list[str] = []

    def __enter__(self) -> Hold:
        self._require_ours()  # before anything is written there
        self._missing = local.missing_folders(self._root.url)
        try:
            self._lock.__enter__()
        except BaseException:
            local.remove_made(self._missing)
            raise
        try:
            listed = self._require_ours(locked=True)
            for journal in journals(self._root):
                journal.sweep(listed or ())
            if listed is None:  # an unfinished store may hold another program's file by now
                require_free(self._root, self._what)
        except BaseException as error:
            self._release(error)
            raise
        return self

    def claim(self, paths: Iterable[str]) -> None:
        """List what is about to be made.

        Raises
        ------
        CorpusExists
            When it exists but is neither listed nor committed: no writer of this store made it.
        """
        listed = self._listed(self._root) or ()
        new = [path for path in paths if path not in listed and path not in self._journal.paths]
        for path in new:
            if (self._root / path).exists():
                raise CorpusExists(
                    f"{self._root.url}/{path} exists, but no writer of this store made it; move it away"
                )
        self._journal.add(new)

    def replace(self, paths: Iterable[str]) -> None:
        """List what the commit that follows takes out of the store; paths that no writer makes stay."""
        self._journal.add(filter(is_made, paths))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._journal.sweep(self._listed(self._root) or ())
        except StoreError as refused:
            tell_what_is_left(self._root, refused, error)
        finally:
            self._release(error)

    def _require_ours(self, locked: bool = False) -> Collection[str] | None:
        listed = self._listed(self._root)
        if listed is None:
            require_free(self._root, self._what, locked)
        for path in ("zarr.json", *FOLDERS, *(listed or ())):
            (self._root / path).refuse_link()
        return listed

    def _release(self, error: BaseException | None) -> None:
        self._lock.__exit__(None, error, None)
        if error is not None:
            local.remove_made(self._missing)
