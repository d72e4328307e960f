"""Where pictures may be written, how large they may be, and what fits into them."""

import numpy as np
import pytest

from bigtopic import plots
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion.ingest import ingest

CORPUS = from_matrix(np.ones((20, 6)))


@pytest.fixture(scope="module")
def model():
    return LDA(2, max_iter=2, random_state=0, progress=False).fit(CORPUS)


@pytest.mark.parametrize(
    ("path", "error", "message"),
    [
        ("~nobody-has-this-name/a.svg", SettingError, "^out: .*home directory.*give the path of the folder"),
        ("a\0.svg", SettingError, r"^out: must not contain a null character, found 'a\\x00.svg'"),
        (5, SettingError, "^out: must be a path, found 5"),
        (
            "n" * 300 + ".svg",
            StoreError,
            r"n\.svg cannot be written: .*name too long",
        ),
    ],
    ids=["home", "null", "number", "long"],
)
def test_paths_that_cannot_be_are_clear_errors(path, error, message, model, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for refused in (lambda: plots.check_path(path), lambda: plots.save(model.plot("topics"), path)):
        with pytest.raises(error, match=message):
            refused()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("inside", ["a.svg", "new/a.svg"])
@pytest.mark.parametrize("kind", ["corpus", "model"])
def test_no_picture_is_written_into_a_store(kind, inside, model, tmp_path):
    store = tmp_path / "it.zarr"
    if kind == "corpus":
        ingest(CORPUS, store, client=False, progress=False)
    else:
        model.save(store)
    (tmp_path / "link").symlink_to(store)
    before = sorted(store.rglob("*"))
    for folder in (store, tmp_path / "link"):
        with pytest.raises(StoreError, match=r"is inside the store .*it\.zarr, .*give a path outside"):
            plots.save(model.plot("topics"), folder / inside)
    assert sorted(store.rglob("*")) == before
    plots.save(model.plot("topics"), tmp_path / "beside.svg")
