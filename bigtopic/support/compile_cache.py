"""Where compiled functions are kept from run to run.

numba keeps them beside the package, or else in the user's cache folder, and functions cannot even be defined where it
can write to neither, as for a service account without a home. `ensure` then gives it a folder of this process.

A file that is damaged there, as after a loss of power, is an error in numba, in every run until it is removed;
here its function is compiled again, and the file replaced.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

__all__ = ["ensure"]

VARIABLE = "NUMBA_CACHE_DIR"  # numba's own: the folder to use instead
_LATE = "numba.experimental"  # what numba imports after its cache, and before anything is compiled


def ensure() -> None:
    """Have a folder that numba can write to, and have it mend what is damaged there. Warns where nothing that is
    compiled can be kept for the next run."""
    if _LATE in sys.modules:
        _mend()
    elif _Numba not in sys.meta_path:
        sys.meta_path.insert(0, _Numba)  # importing numba now would take half a second
    package = Path(__file__).parents[1]
    if os.environ.get(VARIABLE) or _writable(package / "__pycache__") or _writable(_user_folder()):
        return
    import atexit
    import tempfile

    from bigtopic.errors import warn

    folder = os.environ[VARIABLE] = tempfile.mkdtemp(prefix="bigtopic-compiled-")
    if "numba" in sys.modules:
        sys.modules["numba"].config.CACHE_DIR = folder
    atexit.register(_remove, folder, os.getpid())
    warn(
        f"neither {package} nor {_user_folder()} can be written, so functions are compiled again in every run, which "
        f"takes seconds: set {VARIABLE} to a folder of your own",
    )


class _Numba:
    """A finder that finds nothing: it waits until numba is imported."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> None:
        if name == _LATE:
            sys.meta_path.remove(_Numba)
            _mend()


def _mend() -> None:
    """Have numba compile what it cannot load, and go on where it cannot save."""
    cache: Any = sys.modules["numba.core.caching"].Cache
    if hasattr(cache, "mended"):
        return
    load, save = cache.load_overload, cache.save_overload

    def load_overload(self: Any, *arguments: Any) -> Any:
        try:
            return load(self, *arguments)
        except Exception:  # of many kinds, as from all damaged pickles
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self: Any, *arguments: Any) -> None:
        from bigtopic.errors import warn

        try:
            save(self, *arguments)
        except OSError as error:
            warn(
                f"what numba compiled cannot be kept for the next run: {error}; set {VARIABLE} to another folder"
            )

    cache.load_overload, cache.save_overload, cache.mended = load_overload, save_overload, True


def _remove(folder: str, process: int) -> None:
    """At the end of the process that made it, and not of one that was forked from it."""
    import shutil

    if os.getpid() == process:
        shutil.rmtree(folder, ignore_errors=True)


def _user_folder() -> Path:
    """Where numba keeps what it compiles for a user, on Linux."""
    # without a home, Path.expanduser raises; numba does as here
    return Path(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")) / "numba"  # noqa: PTH111


def _writable(folder: Path) -> bool:
    """Whether files can be made in the folder, which need not be there yet."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    return os.access(there, os.W_OK | os.X_OK)
