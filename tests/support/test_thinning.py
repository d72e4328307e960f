"""Of a full product, each value of each axis has a case, and few are left."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from itertools import product
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import thinning
from thinning import covering

AXES = [[f"method {i}" for i in range(13)], ["f4", "f8"], ["alone", "two", "three"]]


def test_a_product_has_as_many_cases_as_its_longest_axis_and_all_values_evenly():
    cases = list(product(*AXES))
    used = Counter(value for number in covering(cases) for value in cases[number])
    assert [sum(used[value] for value in axis) for axis in AXES] == [13] * 3
    for axis in AXES:
        assert (
            13 // len(axis) <= min(used[v] for v in axis) <= max(used[v] for v in axis) <= -(-13 // len(axis))
        )


@pytest.mark.parametrize("times", [1, 2, 3])
def test_values_have_as_many_cases_as_asked_for_or_as_there_are(times):
    cases = [*product(*AXES[1:]), ("of its own",), ("f4",)]
    used = Counter(value for number in covering(cases, times) for value in cases[number])
    everything = Counter(value for case in cases for value in case)
    assert all(used[value] >= min(times, n) for value, n in everything.items())
    assert sum(used.values()) < sum(everything.values())


PRODUCT = """
import pytest

pytestmark = pytest.mark.battery

@pytest.mark.parametrize("kernel", ["a", "b", "c"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_one(kernel, dtype): ...

@pytest.mark.parametrize("kernel", ["a", "b", "c"])
def test_two(kernel): ...

def test_three(): ...

@pytest.mark.battery
@pytest.mark.parametrize("kernel", ["a", "b", "c"])
def test_of_each(kernel): ...

@pytest.mark.costly(2)
@pytest.mark.parametrize("kernel", ["a", "b", "c"])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_costly(kernel, dtype): ...
"""


def test_a_file_is_one_family_but_for_tests_with_a_mark_of_their_own(tmp_path):
    (tmp_path / "test_product.py").write_text(PRODUCT)
    (tmp_path / "conftest.py").write_text("from thinning import thin as pytest_collection_modifyitems")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n battery\n costly\n")
    command = [sys.executable, "-m", "pytest", "-q", "--collect-only", "-m", "not slow", tmp_path]
    environment = {**os.environ, "PYTHONPATH": str(Path(thinning.__file__).parent)}
    run = subprocess.run(command, env=environment, cwd=tmp_path, capture_output=True, text=True, check=True)
    found = Counter(line.partition("::")[2].partition("[")[0] for line in run.stdout.splitlines())
    assert found["test_of_each"] == 3 and found["test_costly"] == 2
    assert [found[name] for name in ("test_one", "test_two", "test_three")] == [2, 1, 1]
