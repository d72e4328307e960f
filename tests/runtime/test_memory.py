"""What cannot fit is refused before it begins, by the limit of the machine or of its container."""

from __future__ import annotations

import numpy as np
import pytest

from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.runtime import memory

COUNTS = np.ones((200, 40))


def fit(**settings):
    return LDA(**{"n_components": 4, "max_iter": 1, "client": False, "n_threads": 1, **settings}).fit(COUNTS)


def test_params_that_cannot_fit_name_what_to_change():
    with pytest.raises(SettingError, match=r"fewer topics .now 4000000000.*min_df"):
        fit(n_components=4_000_000_000)


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "CONTAINER_LIMITS", (tmp_path / "missing", limit))
    limit.write_text("max\n")
    fit()
    limit.write_text("4000000\n")
    with pytest.raises(SettingError, match="batch_size"):
        fit()
