"""Where compiled functions are kept from run to run.

numba keeps them beside the package, or else in the user's cache folder, and functions cannot even be defined where it
can write to neither, as for a service account without a home. `ensure` then gives it a folder of this process.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["ensure"]

VARIABLE = "NUMBA_CACHE_DIR"  # numba's own: the folder to use instead


def ensure() -> None:
    """Have a folder that numba can write to. Warns where nothing that is compiled can be kept for the next run."""
    package = Path(__file__).parents[1]
    if os.environ.get(VARIABLE) or _writable(package / "__pycache__") or _writable(_user_folder()):
        return
    import atexit
    import sys
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
