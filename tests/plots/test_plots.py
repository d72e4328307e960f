"""Every plot that is in the folder, on few topics and many; what the plots show is what the model says."""

import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.text import Text

from bigtopic import plots
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import BigtopicWarning, MissingExtra, NotFitted, SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import Setting, prevalence
from bigtopic.plots.history import _flat

pytestmark = pytest.mark.battery(2)
NASTY = ["$x^{$", "\x1b[31mred", "a\u202eb", "<b>&amp;", "%d{}", r"\frac{1}{2}", "word" * 30, "line\nline"]

# "joint" is of dual topic models, see test_joint.py, "sweep" of sweeps, see test_sweep.py
OF_TOPICS = [name for name in plots.names() if not {"pairs", "candidates"} & {*plots.load(name).needs}]

# What plots need besides a model and documents; the models are in conftest.py.
GIVEN = {"over-time": {"column": "date"}, "groups": {"column": "kind"}, "document": {"document": "d7"}}


def drawn(name, model, documents, **settings):
    return model.plot(name, documents, **{**GIVEN.get(name, {}), **settings})


def those_of(name, **values):
    """The values for settings that the plot declares."""
    return {setting: value for setting, value in values.items() if setting in plots.load(name).settings}


def available(needs_nothing=False):
    """Names of the plots, or of those that draw any model alone, as messages list them."""
    alone = [name for name in plots.names() if not (needs_nothing and plots.load(name).needs)]
    return ", ".join(alone)


def texts(figure):
    """All texts of a figure that are seen."""
    return [text.get_text() for text in figure.findobj(Text) if text.get_visible() and text.get_text()]


@pytest.mark.parametrize("name", plots.names())
def test_a_plot_is_its_file(name):
    plot = plots.load(name)
    assert plot.name == name and plot.summary and plot.summary[0].islower()
    assert all(setting.meaning.endswith(".") for setting in plot.settings.values())


@pytest.mark.parametrize("ending", ["svg", "png", "pdf"])
@pytest.mark.parametrize("name", OF_TOPICS)
def test_it_is_drawn_and_written_the_same_each_time(name, ending, learnt, documents, tmp_path):
    figures = [drawn(name, learnt(2, name), documents) for _ in (0, 1)]
    first, second = (
        plots.save(figure, tmp_path / f"{i}.{ending}").read_bytes() for i, figure in enumerate(figures)
    )
    assert first == second


ESCAPED = [
    "$x^{$",
    r"\x1b[31mred",
    r"a\u202eb",
    "<b>&amp;",
    "%d{}",
    r"\frac{1}{2}",
    "wordword",
    r"line\nline",
]


@pytest.mark.parametrize("name", OF_TOPICS)
def test_words_are_drawn_as_they_are(name, few, learnt, documents, tmp_path):
    def shown(words):
        if {"shares", "texts", "authors"} & {*plots.load(name).needs}:  # of models of this package
            model = learnt(8, name)
            model._labels = words  # as models of earlier versions have them
            figure = drawn(name, model, documents)
        else:
            corpus = from_matrix(np.eye(8, dtype=int) * 3, words)
            model = SimpleNamespace(components_=np.eye(8) + 1e-6, history_=few.history_)
            figure = plots.draw(name, model, corpus, vocabulary=corpus, **those_of(name, n_top=2))
        picture = ElementTree.parse(plots.save(figure, tmp_path / "a.svg"))
        return "\n".join(picture.getroot().itertext())

    plain, nasty = shown([f"plain{i}" for i in range(8)]), shown(NASTY)
    assert not {"\x1b", "\u202e"} & set(nasty) and "word" * 30 not in nasty
    assert not [word for i, word in enumerate(ESCAPED) if f"plain{i}" in plain and word not in nasty]


@pytest.mark.parametrize("name", ["prevalence", "topics"])
def test_these_show_the_words_of_each_topic(name):
    corpus = from_matrix(np.eye(8, dtype=int) * 3, NASTY)
    figure = plots.draw(name, np.eye(8) + 1e-6, corpus, vocabulary=corpus, n_top=1)
    assert all(any(word in text for text in texts(figure)) for word in ESCAPED)


@pytest.mark.parametrize("name", OF_TOPICS)
def test_it_is_drawn_on_a_figure_of_the_user(name, learnt, documents):
    model = learnt(2, name)
    figure = Figure((5, 4), layout="constrained")
    left, right = figure.subfigures(1, 2)
    assert drawn(name, model, documents, figure=right) is right
    assert right.axes and not left.axes
    assert tuple(figure.get_size_inches()) == (5, 4)
    with pytest.raises(SettingError, match=r"^figure: must be a matplotlib Figure or SubFigure, found Axes"):
        drawn(name, model, documents, figure=right.axes[0])


def test_a_notebook_shows_it_without_pyplot(few):
    assert few.plot("topics")._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", OF_TOPICS)
@pytest.mark.parametrize("given", [{}, {"n_topics": 3, "n_top": 40}, {"n_topics": 30, "n_top": 2}])
def test_many_words_or_topics_fit(name, given, learnt, documents):
    figure = drawn(name, learnt(200, name), documents, **those_of(name, **given))
    figure.draw_without_rendering()  # warns of what does not fit


def test_prevalence_shows_the_shares_of_the_largest_topics(model, documents):
    share = prevalence(model, documents).share
    figure = model.plot("prevalence", documents, n_topics=5, n_top=2)
    (axes,) = figure.axes
    lengths = [bar.get_width() for bar in axes.patches]
    assert lengths == sorted(share, reverse=True)[:5]
    named = [label.get_text().split()[-1] for label in axes.get_yticklabels()]
    assert [share[int(k)] for k in named] == lengths
    total = f"The 5 largest of 200 topics: {sum(lengths):.0%} of the tokens"
    assert figure.get_suptitle() == (total if len(share) > 5 else "2 topics, largest first")


@pytest.mark.parametrize("with_corpus", [False, True])
def test_topics_shows_the_words_of_the_largest_topics(model, documents, with_corpus):
    figure = model.plot("topics", documents if with_corpus else None, n_topics=6, n_top=3)
    sizes = prevalence(model, documents).share if with_corpus else model.components_.sum(axis=1)
    topics = [int(axes.get_title(loc="left").split()[1].rstrip(",")) for axes in figure.axes]
    assert len(topics) == min(6, len(sizes))
    np.testing.assert_allclose(sizes[topics], np.sort(sizes)[::-1][: len(topics)], rtol=1e-5)
    for k, axes in zip(topics, figure.axes, strict=True):
        expected = model.show_topic(k, 3)
        assert [text.get_text() for text in axes.texts] == [plots.label(word) for word, _ in expected]
        assert [bar.get_width() for bar in axes.patches] == pytest.approx([p for _, p in expected])
    assert figure.get_suptitle().startswith("2 topics" if len(sizes) == 2 else "The 6 largest of 200 topics")


def test_topics_of_an_array_are_in_its_order():
    figure = plots.draw("topics", np.eye(30) + 0.1, n_topics=4, n_top=99)
    assert [axes.get_title(loc="left") for axes in figure.axes] == [f"topic {k}" for k in range(4)]
    assert figure.get_suptitle() == "The first 4 of 30 topics; with a corpus, the largest"
    assert len(figure.axes[0].texts) == 30
    words = [f"name{i}" for i in range(30)]
    assert "name0" in texts(plots.draw("topics", np.eye(30) + 0.1, vocabulary=words))


@pytest.mark.parametrize(
    ("against", "key"), [("updates", "step"), ("seconds", "seconds"), ("tokens", "n_tokens")]
)
def test_history_shows_the_rows_of_the_history(against, key, documents):
    model = LDA(3, method="vb", max_iter=4, tol=1e-9, validation=0.1, progress=False).fit(documents)
    panels = model.plot("history", against=against).axes
    assert [axes.get_ylabel().split("\n")[0] for axes in panels] == ["held-out score", "variational bound"]
    for axes, value in zip(panels, ["score", "bound"], strict=True):
        points = [(row[key], row[value]) for row in model.history_ if row.get(value) is not None]
        assert len(points) == 4
        np.testing.assert_array_equal(axes.lines[0].get_xydata(), points)
    assert panels[-1].get_xlabel() == against


def test_a_history_without_curves_says_how_to_get_one(documents):
    model = LDA(3, method="online-cvb0", max_iter=2, progress=False).fit(documents)
    with pytest.raises(SettingError, match=r"has no score, bound or change; learn with .* \(validation=\)"):
        model.plot("history")


def test_clocks_that_begin_again_are_refused(few):
    again = [{**row, "seconds": 1 / (i + 1)} for i, row in enumerate(few.history_)]

    class Streamed:
        history_ = again
        components_ = np.eye(3)

    assert plots.draw("history", Streamed()).axes
    with pytest.raises(SettingError, match=r"^against: the seconds of this history begin again.*'updates'"):
        plots.draw("history", Streamed(), against="seconds")


@pytest.mark.parametrize(
    "name, settings, message",
    [
        ("pie", {}, f"there is no plot 'pie'; there are: {available()}$"),
        (
            "prevalence",
            {},
            f"plot 'prevalence' needs documents; give a corpus.*Plots that need nothing else: {available(True)}$",
        ),
        (
            "history",
            {},
            f"needs the history of a model of this package. Plots that need nothing else: {available(True)}$",
        ),
        (
            "topics",
            {"unknown": 3},
            "^unknown: is not a setting of plot 'topics'; its settings are: n_top, n_topics",
        ),
        ("topics", {"n_topics": 0}, "^n_topics: must be at least 1, found 0"),
        ("topics", {"n_top": 0}, "^n_top: must be at least 1, found 0"),
        ("topics", {"n_top": "2"}, "^n_top: must be a whole number, found '2'"),
        ("history", {"against": "x"}, "^against: must be one of 'updates', 'seconds', 'tokens', found 'x'"),
    ],
)
def test_mistakes_say_what_fits(name, settings, message):
    with pytest.raises(SettingError, match=message):
        plots.draw(name, np.eye(3), **settings)


def test_an_exception_of_a_plot_names_it():
    def draw(figure, subject, results, settings):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        plots.draw(plots.Plot("broken", draw), np.eye(3))
    assert raised.value.__notes__ == ["in plot 'broken'"]


def test_a_default_number_of_words_is_at_most_the_vocabulary():
    found = []
    settings = {"n_top": Setting(10, "Of npmi.")}
    plot = plots.Plot("own", lambda *given: found.append(given), measures=["npmi"], settings=settings)
    plots.draw(plot, np.eye(3) + 0.1, from_matrix(np.ones((4, 3), int)))
    (_, _, results, values) = found[0]
    assert values["n_top"] == results["npmi"].n_top == 3


def test_a_model_that_has_learnt_nothing_is_refused():
    with pytest.raises(NotFitted):
        LDA(2).plot("history")


def test_without_matplotlib_the_extra_is_named(few, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'bigtopic\[plots\]'"):
        few.plot("topics")


def test_only_a_picture_is_replaced_and_only_by_a_whole_one(few, tmp_path):
    figure, other = few.plot("topics"), few.plot("history")
    data = tmp_path / "data.png"
    data.write_bytes(b"mine")
    with pytest.raises(StoreError, match=r"data\.png exists but is not a picture"):
        plots.save(figure, data)
    assert data.read_bytes() == b"mine"
    with pytest.raises(SettingError, match=r"^out: must end in one of \.pdf, \.png, \.svg, found 'a\.jpg'"):
        plots.save(figure, tmp_path / "a.jpg")
    path = plots.save(figure, tmp_path / "new" / "a.svg")
    before = path.read_bytes()
    assert plots.save(other, path).read_bytes() != before
    figure.text(0, 0, "$x^{$")  # as mathematics, this cannot be drawn
    before = path.read_bytes()
    with pytest.raises(ValueError):
        plots.save(figure, path)
    assert path.read_bytes() == before and [file.name for file in path.parent.iterdir()] == ["a.svg"]


def test_characters_that_no_font_has_are_one_warning(tmp_path):
    figure = plots.draw("topics", np.eye(3), vocabulary=["\U00013000", "\U00013001", "\U00013002"])
    with pytest.warns(BigtopicWarning, match="fonts of this machine lack characters") as caught:
        plots.save(figure, tmp_path / "a.png")
    assert len(caught) == 1
    plots.save(figure, tmp_path / "a.svg")
    assert "\U00013000" in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_updates_of_a_history_count_on_over_phases():
    history = [{"phase": "online", "step": n} for n in (2, 4)] + [
        {"phase": "sampling", "step": n} for n in (1, 2)
    ]
    assert [row["step"] for row in _flat(history)] == [2, 4, 5, 6]
