"""Plots of documents' topics: what they show is what `topics_over`, `topic_correlation`, `document_map`, ... say."""

import sys
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure

import bigtopic as bt
from bigtopic import plots
from bigtopic.errors import MissingExtra, SettingError
from bigtopic.plots import document_map
from bigtopic.plots._plane import colours_of
from bigtopic.plots._style import OTHER, PALETTE
from bigtopic.questions.table import Table

QUIET = {"client": False, "n_threads": 1, "progress": False}
HOSTILE = ["$x^{$", "\x1b[31mred", "a\u202eb", "<b>&amp;", "line\nline", "word" * 30]
SHOWN = ["$x^{$", r"\x1b[31mred", r"a\u202eb", "<b>&amp;", r"line\nline", "wordword"]


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


@pytest.fixture(scope="module")
def theta(many, documents, tmp_path_factory):
    return many.transform_to(documents, tmp_path_factory.mktemp("theta") / "theta.zarr", min_probability=0)


# ------------------------------------------------------------------ over time


def panels(figure):
    """{topic: axes}"""
    return {int(axes.get_title(loc="left").split()[0]): axes for axes in figure.axes}


@pytest.mark.parametrize("freq", ["year", "quarter"])
def test_lines_and_bands_are_those_of_topics_over(freq, many, documents, theta):
    figure = many.plot("over-time", column="date", freq=freq, theta=theta)
    figure.draw_without_rendering()
    table = Table.of(many.topics_over("date", theta=theta, freq=freq)).columns
    share, error, n = (
        np.array(table[name]).reshape(-1, 200) for name in ("share", "standard_error", "n_documents")
    )
    largest = np.argsort(-(n * share).sum(axis=0), kind="stable")[:9]
    assert list(panels(figure)) == largest.tolist()
    for k, axes in panels(figure).items():
        drawn = np.concatenate([line.get_ydata() for line in axes.lines])
        np.testing.assert_allclose(drawn, share[:, k])
        low = np.maximum(share[:, k] - 2 * np.nan_to_num(error[:, k]), 0)
        high = share[:, k] + 2 * np.nan_to_num(error[:, k])
        corners = np.concatenate([path.vertices for band in axes.collections for path in band.get_paths()])
        for edge in (low, high):
            assert np.isin(np.round(edge, 9), np.round(corners[:, 1], 9)).all()
    assert figure.get_suptitle().replace("\n", " ") == (
        f"Mean share of documents by {freq}, ± 2 standard errors: the 9 largest of 200 topics"
    )


def test_a_line_ends_at_a_gap(few, documents):
    axes = few.plot("over-time", documents, column="date").axes[0]
    runs = [line.get_xdata().tolist() for line in axes.lines]
    assert runs == [[1999, 2000, 2001], [2003, 2004, 2005]]
    assert axes.get_xticks().tolist() == [1999, 2001, 2003, 2005] and ticks(axes.xaxis)[0] == "1999"


@pytest.mark.parametrize(
    ("dates", "runs"),
    [
        (["2001-03-01"] * 20, [1]),
        (["2001-03-01"] * 10 + ["2009-03-01"] * 10, [1, 1]),
        ([f"2000-12-{day}" for day in range(22, 32)] + [f"2001-01-0{day}" for day in range(1, 10)], [19]),
        ([f"2001-12-{day}" for day in range(22, 32)] + [f"2002-01-0{day}" for day in range(1, 10)], [19]),
        (["2001-01-01", "2001-01-02", "2001-01-04", ""], [2, 1]),
    ],
)
def test_periods_that_follow_one_another_are_one_line(dates, runs, few, tmp_path):
    records = [{"text": "word1 word2 word3", "date": date} for date in dates]
    corpus = bt.ingest(records, tmp_path / "c.zarr", max_df=1.0, **QUIET)
    figure = few.plot("over-time", corpus, column="date", freq="day")
    figure.draw_without_rendering()
    assert [len(line.get_xdata()) for line in figure.axes[0].lines] == runs


def test_over_time_takes_forms_of_dates_and_refuses_authors(few, tmp_path):
    records = [{"text": "word1 word2", "when": f"1.{month}.2001", "authors": ["ann"]} for month in (1, 2, 3)]
    corpus = bt.ingest(records, tmp_path / "c.zarr", max_df=1.0, **QUIET)
    axes = few.plot("over-time", corpus, column="when", freq="month", date_format="%d.%m.%Y").axes[0]
    assert ticks(axes.xaxis) == ["2001-01", "2001-02", "2001-03"]
    with pytest.raises(
        SettingError, match=r"^column 'authors': authors are not dates; name a column of dates"
    ):
        few.plot("over-time", corpus, column="authors")


# ------------------------------------------------------------------ groups


def test_cells_are_the_shares_of_groups(many, documents, theta):
    figure = many.plot("groups", documents, column="authors", theta=theta, n_topics=12, n_groups=4)
    figure.draw_without_rendering()
    axes = figure.axes[0]
    table = Table.of(many.topics_over("authors", documents, theta=theta)).columns
    share, n = (np.array(table[name]).reshape(-1, 200) for name in ("share", "n_documents"))
    topics = np.sort(np.argsort(-(n * share).sum(axis=0), kind="stable")[:12])
    groups = np.sort(np.argsort(-n[:, 0], kind="stable")[:4])
    np.testing.assert_allclose(axes.images[0].get_array(), share[np.ix_(groups, topics)])
    names = table["authors"][::200]
    assert ticks(axes.yaxis) == [f"{names[i]}  ({n[i, 0]})" for i in groups]
    assert [int(name.split()[0]) for name in ticks(axes.xaxis)] == topics.tolist()
    assert figure.get_suptitle().replace("\n", " ") == (
        "Mean share of documents by authors (number of documents): "
        "the 12 largest of 200 topics in the 4 largest of 9 groups"
    )


def test_groups_of_numbers_are_bins(few, tmp_path):
    records = [{"text": "word1 word2", "year": 1990 + i} for i in range(10)]
    corpus = bt.ingest(records, tmp_path / "c.zarr", max_df=1.0, **QUIET)
    axes = few.plot("groups", corpus, column="year", bins=3).axes[0]
    assert ticks(axes.yaxis) == ["1990 to 1993  (3)", "1993 to 1996  (3)", "1996 to 1999  (4)"]
    assert few.plot("groups", corpus, column="year").axes[0].images[0].get_array().shape == (10, 2)


def test_thousands_of_groups_are_the_largest(few, tmp_path):
    records = [
        {"text": "word1 word2", "kind": f"{HOSTILE[i % 6]} {i if i > 30 else i % 6}"} for i in range(3000)
    ]
    corpus = bt.ingest(records, tmp_path / "c.zarr", max_df=1.0, **QUIET)
    figure = few.plot("groups", corpus, column="kind")
    figure.draw_without_rendering()
    names = ticks(figure.axes[0].yaxis)
    assert len(names) == 30 and "the 30 largest of 2,975 groups" in figure.get_suptitle().replace("\n", " ")
    assert all(any(name.startswith(shown) for name in names) for shown in SHOWN)
    with pytest.raises(SettingError, match=r"inches high, and at most 200 are drawn; .*\(n_groups\)"):
        few.plot("groups", corpus, column="kind", n_groups=3000)


# ------------------------------------------------------------------ correlation


@pytest.mark.parametrize("n", [2, 3, 200])
def test_cells_are_correlations(n, learnt, documents):
    figure = (model := learnt(n)).plot("correlation", documents)
    figure.draw_without_rendering()
    axes, image = figure.axes[0], figure.axes[0].images[0]
    topics = [int(name.split()[0]) for name in ticks(axes.yaxis)]
    largest = np.argsort(-model.topic_source().weights, kind="stable")[:40]
    assert sorted(topics) == sorted(largest.tolist())
    with np.errstate(invalid="ignore"):
        expected = np.atleast_2d(np.corrcoef(model.transform(documents).T.astype(float)))
    expected = expected[np.ix_(topics, topics)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_allclose(np.ma.filled(image.get_array(), np.nan), expected, atol=1e-6)
    assert image.norm.vmax == -image.norm.vmin > 0


def test_topics_that_do_not_vary_have_no_colour(few, documents):
    equal = documents.to_scipy()[[0] * 20]
    figure = few.plot("correlation", bt.from_matrix(equal, documents.vocabulary))
    figure.draw_without_rendering()
    assert figure.axes[0].images[0].get_array().mask.all()


# ------------------------------------------------------------------ document


def words_of(axes):
    return [text for text in axes.texts if text.get_text().strip()]


def test_words_have_the_colours_of_their_topics(many, documents, theta):
    figure = many.plot("document", documents, document="d7", theta=theta)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    about = many.document("d7", documents, theta=theta)
    topics = dict(zip(about.words["word"], about.words["topic"], strict=True))
    assert " ".join(text.get_text() for text in words_of(axes)) == documents["d7"].text
    found = np.array([topics[text.get_text()] for text in words_of(axes)])
    colours, entries = colours_of(found, [""] * 200)
    for text, topic in zip(words_of(axes), found, strict=True):
        assert text.get_bbox_patch().get_facecolor() == to_rgba(colours[topic], 0.5)
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    share = dict(zip(about.topics["topic"], about.topics["share"], strict=True))
    for name, (_, entry) in zip(named, entries, strict=True):
        if entry != "other topics":
            assert name.endswith(f" {share[int(name.split()[0])]:.0%}")
    assert figure.get_suptitle() == "d7: words in the colours of their topics"


TEXT = (
    "river $x^{$ bank\x1b[31m (bridge), RIVER boat\u202e! e\u0301cole "
    "מים נהר bank שלום.\n\n\nماء نهر river 2001 water\n\n漢字漢字漢字漢字漢字 River"
)


@pytest.fixture(scope="module")
def rivers(tmp_path_factory):
    """A corpus whose documents are hostile, long, empty or of words that no model knows, and its model."""
    records = [{"id": "a\x1b[31m$b^{$", "text": TEXT}, {"id": "long", "text": "river bank " * 5000}]
    records += [{"id": "rows", "text": "river\n" * 2000}, {"id": "wide", "text": "漢字" * 5000}]
    records += [
        {"id": "one", "text": "river" * 3000},
        {"id": "none", "text": "!!! ???"},
        {"id": "", "text": ""},
    ]
    records += [{"id": f"d{i}", "text": "river bank water boat bridge"} for i in range(9)]
    path = tmp_path_factory.mktemp("rivers") / "rivers.zarr"
    settings = {"keep_text": True, "max_df": 1.0, "stop_words": ["boat"]}
    with warnings.catch_warnings(action="ignore"):  # of Chinese
        corpus = bt.ingest(records, path, **settings, **QUIET)
    model = bt.LDA(2, method="online-cvb0", max_iter=2, random_state=0, **QUIET).fit(corpus)
    return corpus, model


@pytest.mark.filterwarnings("ignore:Glyph")
def test_a_hostile_text_is_drawn_as_it_is(rivers, tmp_path):
    corpus, model = rivers
    figure = model.plot("document", corpus, document="a\x1b[31m$b^{$")
    plots.save(figure, tmp_path / "a.svg")
    shown = [text.get_text() for text in words_of(figure.axes[0])]
    assert {"$x^{$", r"\x1b[", "31m", r"boat\u202e!", "(", "bridge", "),", "RIVER", "e\u0301cole"} <= {*shown}
    assert not {"\x1b", "\u202e"} & set("".join(shown))
    coloured = {text.get_text() for text in words_of(figure.axes[0]) if text.get_bbox_patch() is not None}
    assert {"river", "bank", "bridge", "RIVER", "e\u0301cole", "מים", "River"} <= coloured
    assert not {"$x^{$", "(", r"boat\u202e!"} & coloured  # a stop word has no topic
    assert figure.get_suptitle().startswith(r"a\x1b[31m$b^{$: words")


@pytest.mark.filterwarnings("ignore:Glyph")
@pytest.mark.parametrize(
    ("document", "own"),
    [(document, False) for document in ("a\x1b[31m$b^{$", "rows", "wide", "one", "none", "d3")]
    + [(document, True) for document in ("a\x1b[31m$b^{$", "long", "one")],
)
def test_words_are_inside_and_apart(document, own, rivers):
    corpus, model = rivers
    figure = Figure((3, 3), layout="constrained") if own else None
    figure = model.plot("document", corpus, document=document, figure=figure)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    boxes = np.array([text.get_window_extent().extents for text in words_of(axes)]).reshape(-1, 4)
    whole = figure.bbox.extents
    assert (boxes[:, :2] >= whole[:2]).all() and (boxes[:, 2:] <= whole[2:]).all()
    for row in np.unique(boxes[:, 1].round()):
        line = boxes[boxes[:, 1].round() == row]
        line = line[np.argsort(line[:, 0])]
        assert (line[1:, 0] > line[:-1, 2] - 3).all()
    n, title = len(corpus[document].text), figure.get_suptitle().replace("\n", " ")
    is_long = document in ("long", "rows", "wide", "one")
    assert (f"the beginning of {n:,} characters" in title) == is_long or own


@pytest.mark.parametrize(
    ("settings", "message"),
    [({}, "^document=: give the id of a document"), ({"document": "d700"}, "no document 'd700'")],
)
def test_mistakes_about_documents(few, documents, settings, message):
    with pytest.raises(SettingError, match=message):
        few.plot("document", documents, **settings)


def test_a_text_that_cannot_be_coloured_is_said(tmp_path):
    records = [{"id": str(i), "text": "river bank, boat"} for i in range(5)]
    settings = {"max_df": 1.0, "keep_text": True, **QUIET}
    corpus = bt.ingest(records, tmp_path / "c.zarr", tokenizer=str.split, **settings)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, **QUIET).fit(corpus)
    with pytest.raises(
        SettingError, match=r"^document='3': its words cannot be found .*function or a pattern"
    ):
        model.plot("document", corpus, document="3")
    with pytest.raises(SettingError, match=r"plot 'document' needs .* texts .*\(keep_text=True\)"):
        model.plot("document", bt.from_matrix(corpus.to_scipy(), corpus.vocabulary), document="3")


# ------------------------------------------------------------------ maps


def test_documents_are_at_their_places_in_the_colours_of_their_topics(many, documents, theta):
    figure = many.plot("document-map", theta=theta)
    figure.draw_without_rendering()
    (points,) = figure.axes[0].collections
    table = many.document_map(theta=theta)
    np.testing.assert_allclose(points.get_offsets(), np.column_stack([table["x"], table["y"]]))
    numbers = np.bincount(table["topic"], minlength=200)
    leading = np.argsort(-numbers, kind="stable")[:7].tolist()
    expected = [to_rgba(PALETTE[leading.index(k)] if k in leading else OTHER, 0.65) for k in table["topic"]]
    np.testing.assert_allclose(points.get_facecolors(), expected)
    named = [text.get_text() for text in figure.axes[0].get_legend().get_texts()]
    assert [name.split()[0] for name in named] == [*map(str, leading), "other"]


def test_the_figure_of_the_user_holds_the_legend(many, theta):
    figure = many.plot("document-map", theta=theta, figure=Figure((3, 3), layout="constrained"))
    figure.draw_without_rendering()
    box = figure.axes[0].get_legend().get_window_extent()
    assert box.x0 >= 0 and box.x1 <= figure.bbox.width


def test_one_document_and_one_topic_have_a_map(learnt, documents):
    for model, corpus in ((learnt(1), documents), (learnt(5), documents[:1])):
        model.plot("document-map", corpus).draw_without_rendering()


@pytest.mark.slow
def test_many_documents_are_pixels(monkeypatch, many, theta):
    pytest.importorskip("datashader")
    monkeypatch.setattr(document_map, "_MOST_POINTS", 100)
    figure = many.plot("document-map", theta=theta)
    figure.draw_without_rendering()
    (image,), table = figure.axes[0].images, many.document_map(theta=theta)
    x, y = np.asarray(table["x"]), np.asarray(table["y"])
    np.testing.assert_allclose(image.get_extent(), (x.min(), x.max(), y.min(), y.max()))
    assert len(figure.axes[0].get_legend().get_texts()) == 8


@pytest.mark.slow
def test_pixels_have_the_colours_and_places_of_their_points():
    pytest.importorskip("datashader")
    x, y = np.repeat([0.0, 1.0, 1.0], 1000), np.repeat([0.0, 0.0, 1.0], 1000)
    topics = np.repeat([2, 0, 1], [1000, 1001, 999])
    axes = Figure().subplots()
    document_map._draw_shaded(axes, x, y, topics, ["a", "b", "c"])
    pixels = axes.images[0].get_array()  # the first row is the highest
    assert pixels.shape == (500, 500, 4)
    for corner, colour in (((-1, 0), PALETTE[1]), ((-1, -1), PALETTE[0]), ((0, -1), PALETTE[2])):
        shade = pixels[corner] / 255
        assert shade[3] > 0.1
        np.testing.assert_allclose(shade[:3], to_rgba(colour)[:3], atol=0.02)
    assert (pixels[:, :, 3] > 0).sum() == 3
    document_map._draw_shaded(Figure().subplots(), np.zeros(9), np.zeros(9), np.zeros(9, int), ["a"])


def test_what_many_documents_need_is_named(monkeypatch, many, theta):
    monkeypatch.setattr(document_map, "_MOST_POINTS", 100)
    monkeypatch.setitem(sys.modules, "datashader", None)
    with pytest.raises(MissingExtra, match=r"pip install 'bigtopic\[maps\]'"):
        many.plot("document-map", theta=theta)


def test_authors_are_at_their_places(learnt, documents):
    model = learnt(5, "author-map")
    figure = model.plot("author-map", n_authors=6, n_names=3)
    figure.draw_without_rendering()
    table = model.authors_frame().head(6)
    (points,) = figure.axes[0].collections
    np.testing.assert_allclose(points.get_offsets(), table[["x", "y"]])
    areas = points.get_sizes()
    np.testing.assert_allclose(areas / areas[0], table["documents"] / table["documents"].iloc[0])
    assert {text.get_text() for text in figure.axes[0].texts} <= {*table["author"][:3]}
    assert "the 6 largest of 9 authors" in figure.get_suptitle().replace("\n", " ")
    with pytest.raises(SettingError, match=r"^n_names: must be at least 1, found 0"):
        model.plot("author-map", n_names=0)


def test_names_of_authors_are_data_and_do_not_overlap(tmp_path):
    names = [*HOSTILE, *(f"author number {i}" for i in range(60))]
    records = [{"text": f"word{i % 7} word{i % 5}", "authors": [names[i % 66]]} for i in range(400)]
    corpus = bt.ingest(records, tmp_path / "c.zarr", max_df=1.0, **QUIET)
    model = bt.AuthorTopicModel(4, max_iter=5, random_state=0, **QUIET).fit(corpus)
    figure = model.plot("author-map", n_names=66)
    figure.draw_without_rendering()
    texts = figure.axes[0].texts
    boxes = np.array([text.get_window_extent().extents for text in texts])
    over = (boxes[:, None, :2] < boxes[:, 2:] - 1) & (boxes[:, None, 2:] > boxes[:, :2] + 1)
    assert over.all(axis=2).sum() == len(boxes)
    assert {text.get_text() for text in texts} <= {plots.label(name, 28) for name in names}


def test_others_models_are_refused(few, documents):
    array = np.eye(3)
    for name, need in (
        ("over-time", "topics of documents; give a model of this package, and a corpus or a store"),
        ("document", "a model of this package, and the texts of documents"),
        ("author-map", "authors; give an AuthorTopicModel"),
    ):
        with pytest.raises(SettingError, match=f"plot '{name}' needs {need}"):
            plots.draw(name, array, documents)
    with pytest.raises(SettingError, match=r"needs topics of documents.* \(theta=\)"):
        few.plot("groups", column="kind")
    streamed = SimpleNamespace(components_=array)
    with pytest.raises(SettingError, match="needs topics of documents"):
        plots.draw("correlation", streamed, documents)


def test_nothing_to_draw_is_said(few, learnt, tmp_path):
    records = [{"id": f"d{i}", "text": text} for i, text in enumerate(["word1 word2"] * 3 + ["", " \n "])]
    corpus = bt.ingest(records, tmp_path / "c.zarr", keep_text=True, max_df=1.0, **QUIET)
    for empty in ("d3", "d4"):
        with pytest.raises(
            SettingError, match=f"^document='{empty}': its text is empty; choose another document"
        ):
            few.plot("document", corpus, document=empty)
    with pytest.raises(
        SettingError, match=r"^a correlation needs two topics or more, and the model has one; fit"
    ):
        learnt(1).plot("correlation", corpus)
    with pytest.raises(SettingError, match=r"^n_topics=1: a correlation needs two topics or more"):
        few.plot("correlation", corpus, n_topics=1)


def test_one_topic_is_one_topic(learnt, documents):
    for name in ("prevalence", "topics"):
        assert learnt(1).plot(name, documents).get_suptitle().startswith("1 topic")
        assert "1 topics" not in learnt(1).plot(name, documents).get_suptitle()
