"""Where pictures may be written, how large they may be, and what fits into them."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from bigtopic import plots
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion.ingest import ingest

CORPUS = from_matrix(np.ones((20, 6)))


@pytest.fixture(scope="module")
def model():
    return LDA(2, method="online-cvb0", max_iter=2, random_state=0, progress=False).fit(CORPUS)


def test_a_name_that_is_too_long_is_a_clear_error(model, tmp_path):
    path = tmp_path / ("n" * 300 + ".svg")
    for refused in (lambda: plots.check_path(path), lambda: plots.save(model.plot("topics"), path)):
        with pytest.raises(StoreError, match=r"n\.svg cannot be written: .*name too long"):
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


WIDE = ["W" * 30, "漢字" * 15, "😀" * 30, "m" * 24, "short", "word" * 6]


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize("own", [False, True], ids=["new figure", "half a figure"])
def test_words_with_wide_letters_stay_in_their_panels(own):
    half = Figure((6, 4), layout="constrained").subfigures(1, 2)[1] if own else None
    figure = plots.draw("topics", np.eye(6) + 0.1, vocabulary=WIDE, figure=half)
    whole = half.figure if own else figure
    whole.draw_without_rendering()
    for axes in figure.axes:
        for text in axes.texts:
            assert text.get_window_extent().x1 <= axes.get_window_extent().x1
    shown = {text.get_text() for text in figure.axes[0].texts}
    assert "short" in shown and len(shown) == 6
    assert plots.label(WIDE[-1]) in shown or own
    ideographs = next(text for text in shown if text.startswith("漢"))
    ems = figure.axes[0].get_window_extent().width / figure.axes[0].texts[0].get_fontsize() / whole.dpi * 72
    assert len(ideographs) <= ems  # each is as wide as the font is high, even where no font has it


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"n_top": 99999, "n_topics": 2}, "^n_top: must be at most 1000, found 99999"),
        (
            {"n_top": 1000, "n_topics": 8},
            r"inches high, and at most 200 are drawn; .*\(n_topics\).*\(n_top\)",
        ),
    ],
)
def test_pictures_that_nobody_can_look_at_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        plots.draw("topics", np.eye(8, 1000) + 0.1, **settings)


def test_shares_of_too_many_topics_are_refused(model):
    many = np.ones((900, 6))
    with pytest.raises(SettingError, match="picture would be 217 inches high, and at most 200 are drawn"):
        plots.draw("prevalence", many, CORPUS, n_topics=900)
