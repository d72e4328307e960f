"""Compiled functions where no folder can be written: a service account without a home, a read-only installation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import bigtopic
from bigtopic.support import compile_cache

PACKAGE = Path(bigtopic.__file__).parent
COUNTS = "from bigtopic.kernels.support.math import _log64; print(_log64(1.0))"


@pytest.fixture
def refused(monkeypatch):
    """Folders that cannot be written."""
    folders: set[Path] = set()
    monkeypatch.setattr(compile_cache, "_writable", lambda folder: folder not in folders)
    monkeypatch.delenv(compile_cache.VARIABLE, raising=False)
    return folders


def test_numba_chooses_where_it_can(refused, recwarn):
    for folder in (PACKAGE / "__pycache__", compile_cache._user_folder()):
        refused.clear()
        refused.add(folder)
        compile_cache.ensure()
    assert compile_cache.VARIABLE not in os.environ and not recwarn


def test_otherwise_there_is_a_folder_of_the_process(refused, monkeypatch):
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    refused |= {PACKAGE / "__pycache__", compile_cache._user_folder()}
    with pytest.warns(
        bigtopic.errors.BigtopicWarning, match=r"compiled again in every run.*set NUMBA_CACHE_DIR"
    ):
        compile_cache.ensure()
    folder = Path(os.environ.pop(compile_cache.VARIABLE))
    assert folder.is_dir() and folder.stat().st_mode & 0o77 == 0
    assert str(folder) == numba.config.CACHE_DIR


def test_what_users_chose_is_used(refused, monkeypatch, recwarn):
    refused |= {PACKAGE / "__pycache__", compile_cache._user_folder()}
    monkeypatch.setenv(compile_cache.VARIABLE, "/somewhere")
    compile_cache.ensure()
    assert os.environ[compile_cache.VARIABLE] == "/somewhere" and not recwarn


@pytest.fixture
def compiled(tmp_path, monkeypatch, toy):
    """Call a function that is kept in a cache of its own, as the next process does; how often it was compiled."""
    import numba

    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    file = tmp_path / "kept_function.py"
    file.write_text("from numba import njit\n@njit(cache=True)\ndef twice(x):\n    return 2 * x\n")

    def call():
        twice = toy(file).twice
        assert twice(21) == 42
        return sum(twice.stats.cache_misses.values())

    return call


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_a_damaged_file_is_made_again(suffix, keep, compiled, tmp_path):
    assert (compiled(), compiled()) == (1, 0)
    (damaged,) = (tmp_path / "cache").rglob(f"*.{suffix}")
    whole = damaged.read_bytes()
    damaged.write_bytes(whole[: int(keep * len(whole))])
    assert (compiled(), compiled()) == (1, 0)


def test_a_function_that_cannot_be_kept_is_used(compiled, monkeypatch):
    from numba.core.caching import IndexDataCacheFile

    def full(self, path):
        raise OSError(28, "No space left on device", path)

    monkeypatch.setattr(IndexDataCacheFile, "_open_for_write", full)
    with pytest.warns(bigtopic.errors.BigtopicWarning, match="No space left.*set NUMBA_CACHE_DIR to another"):
        assert compiled() == 1


def test_a_process_that_can_write_nowhere_removes_its_folder(tmp_path):
    mended = "; from numba.core.caching import Cache; assert Cache.mended"
    code = "import os; os.access = lambda *_: False\n" + COUNTS + mended
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop(compile_cache.VARIABLE, None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "0.0\n"), done.stderr
    assert "set NUMBA_CACHE_DIR" in done.stderr and not list(tmp_path.iterdir())
