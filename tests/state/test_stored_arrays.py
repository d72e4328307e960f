"""What is saved can be loaded: values that `load` refuses are refused by `save`, and the earlier model stays."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from bigtopic.errors import ModelError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.estimators.support.checkpoints import Checkpoint
from bigtopic.kernels import load
from bigtopic.methods import Method
from bigtopic.schemes.add import Add
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model_reader import check_parts
from bigtopic.state.sparse.rows import SparseRows
from bigtopic.storage.json_rules import FieldError

X = np.random.default_rng(0).poisson(0.4, (120, 30))
SAYS = r"array topic_words/raw holds values from -.* correct what kernel 'taking' or scheme Add adds"


def estimator(n_good):
    """Some words have negative statistics after so many passes; the sums over words stay positive."""
    vb, calls = load("vb"), []

    def run(docs, view, hyper, seed, state):
        result = vb.run(docs, view, hyper, seed, state)
        calls.append(seed)
        values = result.stats["topic_words"].copy()
        if len(calls) > n_good:
            values[0, : hyper.n_components] -= 50
            values[1:, : hyper.n_components] += 30
        return result._replace(stats={**result.stats, "topic_words": values})

    method = Method("taking", replace(vb, name="taking", run=run), {"topic_words": Add()}, slice_size=len(X))
    return LDA(3, method=method, batch_size=None, max_iter=2, client=False, n_threads=1, random_state=0)


def contents(path):
    return {file: file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def test_a_model_with_negative_cells_is_not_saved_over_one_without(tmp_path):
    estimator(n_good=2).fit(X).save(tmp_path / "model")
    before = contents(tmp_path)
    with pytest.raises(ModelError, match=SAYS):
        estimator(n_good=0).fit(X).save(tmp_path / "model", overwrite=True)
    assert contents(tmp_path) == before


def test_a_checkpoint_keeps_the_version_before_negative_cells(tmp_path):
    own = estimator(n_good=1)
    with pytest.raises(ModelError, match=SAYS):
        own.fit(X, checkpoint=Checkpoint(tmp_path / "run", seconds=0, keep=1))
    assert load_model(tmp_path / "run", method=own.method).n_batch_iter_ == 1


def test_thirds_of_tokens_that_are_added_and_taken_away_are_loaded(tmp_path):
    """Three labels of each token: sums of thirds do not come back to 0 exactly."""
    start = {"topic_words": ("uniform", 0.0)}
    method = Method(
        "thirds",
        "cgs",
        {"topic_words": Add()},
        options={"replicas": 3},
        init=start,
        inference="cvb0",
        batch_size=50,
        slice_size=25,
    )
    model = LDA(60, method=method, max_iter=6, client=False, n_threads=1, random_state=0).fit(X)
    assert model._model.params["topic_words"].raw.min() < 0
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model", method=method)
    np.testing.assert_array_equal(loaded.components_, model.components_)


def parts(**changed):
    array = LazyArray.zeros(2, 3, axis="word", prior=0.1)
    array.raw[:, :3] = 1000
    sums = array.raw.sum(axis=0, dtype=float)
    return {"raw": array.raw, "scale": array.scale, "prior": array.prior, "sums": sums} | changed


def lists(columns=(0, 2, 1), values=(1000, 500, 700), **changed):
    """Parts of three sparse rows, the second of them empty."""
    rows = SparseRows(
        np.array([2, 0, 1]), np.array(columns, np.int32), np.array(values, np.float32), n_columns=16
    )
    return parts(raw=rows, sums=rows.column_sums(), dropped=np.array([0.5])) | changed


WRONG = {
    "raw": np.full((2, 16), -1.0, np.float32),
    "sums": np.full(16, np.nan),
    "scale": np.zeros(16),
    "prior": np.full((1, 1), -0.1),
}


@pytest.mark.parametrize("part", WRONG)
def test_the_part_that_is_wrong_is_named(part):
    check_parts("topic_words", parts(), "axis", 3)
    with pytest.raises(FieldError, match=f"topic_words/{part} holds values from "):
        check_parts("topic_words", parts(**{part: WRONG[part]}), "axis", 3)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"columns": (2, 0, 1)}, "columns of row 0 do not ascend from 0 to at most 2"),
        ({"columns": (1, 1, 1)}, "columns of row 0 do not"),
        ({"columns": (0, 2, 3)}, "columns of row 2 do not"),
        ({"columns": (-1, 2, 1)}, "columns of row 0 do not"),
        ({"values": (1000, np.nan, 700)}, "values holds values from nan to nan"),
        ({"values": (1000, np.inf, 700)}, "values holds values from 700 to inf"),
        ({"values": (1000, -500, 700)}, "values holds values from -500 to 1000"),
        ({"dropped": np.array([-0.5])}, "dropped holds values from -0.5"),
        ({"dropped": np.array([np.inf])}, "dropped holds values from inf"),
        ({"sums": np.zeros(16)}, "sums of column 0 is 0, but scale times the rows of values add up to 1000"),
        *(({part: WRONG[part]}, f"{part} holds values from ") for part in ("sums", "scale", "prior")),
    ],
)
def test_what_is_wrong_in_lists_is_named(changed, says):
    check_parts("topic_words", lists(), "axis", 3)
    with pytest.raises(FieldError, match=f"topic_words/{says}"):
        check_parts("topic_words", lists(**changed), "axis", 3)


def test_negative_cells_of_an_array_that_is_not_normalised_are_allowed():
    check_parts("changes", parts(raw=np.full((2, 16), -1.0, np.float32), sums=np.full(16, -2.0)), None, 3)


def test_products_that_are_not_finite_are_named():
    with pytest.raises(FieldError, match="topic_words holds values whose products"):
        check_parts("topic_words", parts(scale=np.full(16, 1e37)), "axis", 3)
    with pytest.raises(FieldError, match="topic_words holds values whose products"):
        check_parts("topic_words", lists(scale=np.full(16, 1e37)), "axis", 3)
