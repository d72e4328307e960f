"""The corpus of the demo: made once, kept, and rebuilt when installed packages change."""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

__all__ = ["PAGE", "demo_folder", "kept_corpus"]

PAGE = "topics.html"  # of the demo's folder
_MARKER = ".bigtopic-demo"  # a folder of the demo has it; it holds the key of a complete corpus

# Words that are frequent in docstrings of any subject.
_FURNITURE = """
    return returns returned returning default defaults true false none null optional parameter parameters param params
    value values given use used uses using set sets int str float bool object objects type types example examples
    instance instances note notes new specified provided call calls called following function functions method methods
    class classes argument arguments args kwargs see self two first second passed get
""".split()  # noqa: SIM905
_SETTINGS: dict[str, Any] = {
    "token_pattern": r"(?u)\b[^\W\d_]{3,}\b",  # names_with_underscores are code, not prose
    "min_df": 5,
    "max_df": 0.1,
    "random_state": 0,
}


def demo_folder() -> Path:
    """The demo's folder in the user's cache."""
    if sys.platform == "darwin":
        cache = Path.home() / "Library" / "Caches"
    elif sys.platform == "win32":
        cache = Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    else:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "bigtopic" / "demo"


def kept_corpus(folder: Path, tell: Callable[[str], object], n_threads: int | None) -> Any:
    """The corpus in `folder`, rebuilt first unless it matches the installed packages.

    Parameters
    ----------
    tell : function that prints progress, one line at a time

    Raises
    ------
    CorpusExists
        When the folder holds a corpus or a page that the demo did not write.
    """
    from bigtopic.corpus.store import open_corpus
    from bigtopic.datasets import installed_packages

    _check_is_ours(folder)
    packages = installed_packages()
    key = _key(packages)
    marker, store = folder / _MARKER, folder / "corpus.zarr"
    if store.exists() and marker.exists() and marker.read_text() == key:
        corpus = open_corpus(store)
        tell(
            f"Documentation of Python and {len(packages) - 1} packages, from the cache: {len(corpus):,} documents"
        )
        return corpus
    tell(f"Reading the documentation of Python and {len(packages) - 1} installed packages ...")
    folder.mkdir(parents=True, exist_ok=True)
    marker.write_text("")  # the folder is the demo's, and has no corpus until the new one is complete
    corpus = _ingested(store, n_threads)
    marker.write_text(key)
    return corpus


def _check_is_ours(folder: Path) -> None:
    from bigtopic.errors import CorpusExists

    if (folder / _MARKER).exists() or folder == demo_folder():
        return
    for name in ("corpus.zarr", PAGE):
        if (folder / name).exists():
            raise CorpusExists(
                f"{folder / name} exists and was not written by `bigtopic demo`; give --folder another folder"
            )


def _ingested(store: Path, n_threads: int | None) -> Any:
    from bigtopic.corpus.text.stopwords import ENGLISH
    from bigtopic.datasets import docstrings
    from bigtopic.ingestion.ingest import ingest

    stop_words = [*sorted(ENGLISH), *_FURNITURE]
    return ingest(
        docstrings(),
        store,
        stop_words=stop_words,
        overwrite=True,
        client=False,
        n_threads=n_threads,
        **_SETTINGS,
    )


def _key(packages: dict[str, str]) -> str:
    """Changes whenever the documents or their words would: bigtopic itself is one of the packages."""
    described = json.dumps([_SETTINGS, _FURNITURE, packages], sort_keys=True)
    return hashlib.blake2b(described.encode(), digest_size=16).hexdigest()
