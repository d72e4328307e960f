"""What most tests of kernels begin with, of the sizes that their files set: `N_WORDS` and `N_COMPONENTS`."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from bigtopic.types import Docs

sys.path.insert(0, str(Path(__file__).parents[1]))

from reference import case


@pytest.fixture
def docs(request: pytest.FixtureRequest) -> Docs:
    """Five documents, of which one has no words and one has one."""
    return case.documents([8, 0, 15, 1, 22], request.module.N_WORDS, seed=3)


@pytest.fixture
def topic_words(request: pytest.FixtureRequest) -> np.ndarray:
    """Distributions over words, (n_words, n_components)."""
    return case.topics(request.module.N_WORDS, request.module.N_COMPONENTS, seed=4)
