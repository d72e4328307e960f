"""The same bits, whatever numba has compiled before: in this process, or in another one that left a cache.

numba compiles a function that another one calls with the caller's `fastmath` and `error_model` unless it sets its own,
and keeps the result for every later caller, on disk too.
"""

from __future__ import annotations

import importlib
import os
import pkgutil
import random
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core.registry import CPUDispatcher

import bigtopic
from bigtopic import kernels
from bigtopic import methods as table

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case

ROOT = Path(__file__).parents[2]
# the first compiles what others share, and with the options that differ most; the last has long loops to inline
SOME = ["kernel/ilr/f4", "kernel/vb/f4", "method/online-cvb0"]
ALL = [
    *(f"kernel/{name}" for name in case.of_lda(kernels.names())),
    *(f"method/{name}" for name in table.names()),
]


def compiled_functions() -> dict[str, CPUDispatcher]:
    """Every compiled function of the package, by name."""
    found = {}
    for module in pkgutil.walk_packages(bigtopic.__path__, "bigtopic."):
        if module.name.endswith("._kernels") or ".kernels." in module.name:
            for value in vars(importlib.import_module(module.name)).values():
                if isinstance(value, CPUDispatcher):
                    found[f"{value.__module__}.{value.__name__}"] = value
    return found


def bits(cache: Path, steps: list[str]) -> list[str]:
    """What the program prints with this cache, sorted."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "ignore", str(Path(__file__).with_name("bits.py")), *steps]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    return sorted(run.stdout.splitlines())


def forget_half(cache: Path) -> None:
    """Remove the index of half of the functions: they are compiled anew, and call the others."""
    index = sorted(cache.rglob("*.nbi"))
    assert len(index) > 10
    for file in random.Random(0).sample(index, len(index) // 2):
        file.unlink()


def test_compiled_functions_leave_nothing_to_their_callers():
    functions = compiled_functions()
    assert len(functions) > 50
    own = {"fastmath", "error_model"}
    assert not [name for name, function in functions.items() if not own <= function.targetoptions.keys()]


@pytest.mark.slow  # everything is compiled again
@pytest.mark.parametrize("steps", [SOME, ALL], ids=["some", "all"])
def test_bits_do_not_depend_on_the_cache(tmp_path, steps):
    compiled = bits(tmp_path / "one", steps)
    assert len(compiled) == len(steps)
    assert bits(tmp_path / "one", steps) == compiled
    assert bits(tmp_path / "other", steps[::-1]) == compiled
    forget_half(tmp_path / "one")
    assert bits(tmp_path / "one", steps) == compiled
