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


def test_a_process_that_can_write_nowhere_removes_its_folder(tmp_path):
    code = "import os; os.access = lambda *_: False\n" + COUNTS
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop(compile_cache.VARIABLE, None)
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "0.0\n"), done.stderr
    assert "set NUMBA_CACHE_DIR" in done.stderr and not list(tmp_path.iterdir())
