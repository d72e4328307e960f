"""Plots of topics alone: words by relevance, the map, the hierarchy. What they show is what the equations say."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from scipy.cluster.hierarchy import fcluster
from scipy.spatial.distance import pdist, squareform

from bigtopic import plots
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError
from bigtopic.evaluation import prevalence


def ticks(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def texts_of(axes):
    return [text.get_text() for text in axes.texts]


# ------------------------------------------------------------------ words


@pytest.mark.parametrize("with_corpus", [False, True])
@pytest.mark.parametrize("relevance", [0.0, 0.6, 1.0])
def test_bars_are_the_shares_of_a_word(many, documents, with_corpus, relevance):
    figure = many.plot("words", documents if with_corpus else None, topic=3, n_top=12, relevance=relevance)
    (axes,) = figure.axes
    topics, sizes = many.get_topics().astype(float), many.topic_source().weights
    shares = sizes / sizes.sum()
    if with_corpus:
        shares = prevalence(many, documents).share
    scores = relevance * np.log(topics[3]) + (1 - relevance) * np.log(topics[3] / (shares @ topics))
    words = ticks(axes.yaxis)
    at = many.vocabulary_.index_of(words)
    np.testing.assert_allclose(scores[at], np.sort(scores)[::-1][:12], rtol=1e-4)
    lengths = np.array([bar.get_width() for bar in axes.patches]).reshape(2, 12)
    np.testing.assert_allclose(lengths, [shares @ topics[:, at], shares[3] * topics[3, at]], rtol=1e-4)
    assert f"Topic 3, {shares[3]:.1%} of the tokens" in figure.get_suptitle().replace("\n", " ")


def test_a_label_is_in_the_title_and_shares_that_nobody_knows_are_not(learnt):
    named = learnt(3).set_topic_labels({1: "$x^{$"})
    assert named.plot("words", topic=1).get_suptitle().startswith("Topic 1: $x^{$, ")
    figure = plots.draw("words", np.eye(4) + 0.1, topic=2)
    assert figure.get_suptitle() == "Topic 2. Words by relevance (0.6)"
    assert "equally large" in figure.axes[0].get_xlabel()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"topic": 2}, "^topic: must be from 0 to 1, found 2"),
        ({"topic": -1}, "^topic: must be from 0 to 1, found -1"),
        ({"n_top": 0}, "^n_top: must be at least 1, found 0"),
        ({"relevance": 2}, "^relevance=2.0: must be from 0"),
    ],
)
def test_mistakes_about_words(few, settings, message):
    with pytest.raises(SettingError, match=message):
        few.plot("words", **settings)


# ------------------------------------------------------------------ map


@pytest.mark.parametrize("n", [1, 2, 3, 20])
def test_circles_have_the_areas_and_places_of_the_topics(n, learnt):
    figure = (model := learnt(n)).plot("topic-map")
    figure.draw_without_rendering()
    (axes,) = figure.axes
    order = np.argsort(-model.topic_source().weights, kind="stable")
    table = model.topic_map()
    x, y, share = (np.asarray(table[name])[order] for name in ("x", "y", "share"))
    centres = np.array([circle.center for circle in axes.patches])
    np.testing.assert_allclose(centres, np.column_stack([x, y]), atol=1e-12)
    areas = np.array([circle.radius for circle in axes.patches]) ** 2
    np.testing.assert_allclose(areas / areas.sum(), share)
    assert set(map(str, order[:1])) <= {*texts_of(axes)}  # of others, only those that have room


def assert_apart(figure, axes):
    """Texts are in the figure, and none is over another."""
    figure.draw_without_rendering()
    boxes = np.array([text.get_window_extent().extents for text in axes.texts])
    over = (boxes[:, None, :2] < boxes[:, 2:] - 1) & (boxes[:, None, 2:] > boxes[:, :2] + 1)
    assert np.array_equal(over.all(axis=2), np.eye(len(boxes), dtype=bool))
    whole = figure.bbox.extents
    assert (boxes[:, :2] >= whole[:2] - 1).all() and (boxes[:, 2:] <= whole[2:] + 1).all()


@pytest.mark.parametrize("n", [5, 100])
def test_names_on_a_map_do_not_overlap(n, learnt):
    figure = learnt(n).plot("topic-map", n_topics=n)
    assert_apart(figure, figure.axes[0])


def test_names_on_a_small_figure_do_not_overlap(learnt):
    figure = learnt(50).plot("topic-map", figure=Figure((4, 3), layout="constrained"))
    assert_apart(figure, figure.axes[0])


def test_equal_topics_are_in_one_place():
    equal = np.ones((4, 6))
    figure = plots.draw("topic-map", equal)
    figure.draw_without_rendering()
    np.testing.assert_allclose([circle.center for circle in figure.axes[0].patches], 0, atol=1e-6)
    assert figure.get_suptitle() == "4 topics; the closer two are, the more alike are their words"
    with_corpus = plots.draw("topic-map", np.eye(3) + 0.1, from_matrix(np.ones((4, 3), int)))
    assert with_corpus.get_suptitle().endswith("Area: share of the tokens")


# ------------------------------------------------------------------ hierarchy


@pytest.mark.parametrize(("n", "measure"), [(2, "hellinger"), (3, "cosine"), (40, "hellinger")])
def test_joins_are_those_of_the_linkage(n, measure, learnt):
    figure = (model := learnt(n)).plot("hierarchy", measure=measure)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    tree = model.topic_tree(measure)
    lines = axes.collections[0].get_segments()
    np.testing.assert_allclose([line[1][0] for line in lines], tree.linkage[:, 2])
    leaves = [int(name.split()[0]) for name in ticks(axes.yaxis)]
    assert sorted(leaves) == list(range(n))
    ends = {}  # the middle of each branch -> its topics
    for line, (_, _, distance, size) in zip(lines, tree.linkage, strict=True):
        branches = [ends.get((x, y)) or [leaves[round(y)]] for x, y in (line[0], line[3])]
        joined = sorted([*branches[0], *branches[1]])
        assert len(joined) == size
        ends[line[1][0], (line[1][1] + line[2][1]) / 2] = joined
        groups = fcluster(tree.linkage, distance, "distance")
        assert len({groups[k] for k in joined}) == 1
    np.testing.assert_allclose(axes.get_ylim(), (n - 0.4, -0.6))


def test_a_hierarchy_is_of_distances_between_topics():
    topics = np.array([[8.0, 1, 1], [7, 2, 1], [1, 1, 8]])
    figure = plots.draw("hierarchy", topics)
    p = topics / topics.sum(axis=1, keepdims=True)
    apart = squareform(pdist(np.sqrt(p))) / np.sqrt(2)
    joins = [line[1][0] for line in figure.axes[0].collections[0].get_segments()]
    np.testing.assert_allclose(joins, [apart[0, 1], (apart[0, 2] + apart[1, 2]) / 2], rtol=1e-5)


def test_equal_topics_join_at_nothing():
    figure = plots.draw("hierarchy", np.ones((4, 6)))
    figure.draw_without_rendering()
    assert figure.axes[0].get_xlim() == pytest.approx((0, 1), abs=1e-6)


def test_one_topic_has_no_hierarchy():
    with pytest.raises(
        SettingError, match="needs two topics or more, and the model has one; fit a model with"
    ):
        plots.draw("hierarchy", np.ones((1, 6)))


def test_a_tree_of_a_thousand_levels_is_refused_for_its_height_not_its_depth():
    with pytest.raises(SettingError, match="inches high"):
        plots.draw("hierarchy", np.ones((1200, 6)), n_topics=1200)
    assert plots.draw("hierarchy", np.ones((1200, 6))).axes  # the largest of them
    assert plots.draw("hierarchy", np.ones((500, 2))).axes
