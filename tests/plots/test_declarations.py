"""Plots and measures that cannot work are refused when they are made."""

import operator
import re

import numpy as np
import pytest

from bigtopic import plots
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.evaluation import Measure, Score, Setting
from bigtopic.plots import Plot


def draw(figure, subject, results, settings):
    figure.text(0.5, 0.5, f"{len(results)}")


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"name": 5}, "plot 5: name must be text, found 5"),
        ({"name": ""}, "plot '': name must be text, found ''"),
        ({"draw": None}, "plot 'own': draw must be a function, found None"),
        (
            {"draw": lambda: 0},
            "plot 'own': draw takes other arguments: too many positional arguments; it is called with figure, subject, "
            "results, settings",
        ),
        ({"summary": None}, "plot 'own': summary must be text, found None"),
        ({"needs": None}, "plot 'own': needs must be a list of 'corpus' or 'history'.*, found None"),
        ({"needs": "corpus"}, "plot 'own': needs must be a list of .*, found 'corpus'"),
        ({"needs": ["x"]}, r"plot 'own': needs must be a list of .*, found \['x'\]"),
        ({"needs": [["corpus"]]}, r"plot 'own': needs must be a list of .*, found \[\['corpus'\]\]"),
        ({"measures": None}, "plot 'own': measures must be a list of names of measures, found None"),
        ({"measures": "npmi"}, "plot 'own': measures must be a list of names of measures, found 'npmi'"),
        ({"measures": [3]}, r"plot 'own': measures must be a list of names of measures, found \[3\]"),
        ({"measures": ["nope"]}, "plot 'own': measures: there is no measure 'nope'; there are: .*npmi"),
        ({"settings": ["x"]}, r"plot 'own': settings must be \{name: Setting\}, found \['x'\]"),
        ({"settings": {"x": 5}}, r"plot 'own': settings\['x'\] must be a Setting, found 5"),
        (
            {"settings": {5: Setting(1, "Of nothing.")}},
            r"plot 'own': settings must be \{name: Setting\}, found",
        ),
        (
            {"settings": {"kind": Setting("a", "Of nothing.", ("b", "c"))}},
            r"plot 'own': settings\['kind'\]: must be one of 'b', 'c', found 'a'",
        ),
    ],
)
def test_a_plot_that_cannot_work_is_refused_when_it_is_made(declared, message):
    with pytest.raises(SettingError, match=f"^{message}"):
        Plot(**{"name": "own", "draw": draw, **declared})


def test_a_plot_that_can_work_is_drawn():
    own = Plot("own", draw, measures=("prevalence",), settings={"size": Setting(1, "Of nothing.")})
    assert plots.draw(own, np.eye(3)).texts[0].get_text() == "0"


@pytest.mark.parametrize(
    ("function", "names"),
    [
        ("prepare", "subject, settings"),
        ("of_block", "state, documents"),
        ("combine", "total, piece"),
        ("finish", "state, total"),
        ("start", "state"),
    ],
)
def test_a_measure_with_a_function_of_other_arguments_is_refused_when_it_is_made(function, names):
    plain = {
        "prepare": lambda subject, settings: None,
        "of_block": lambda state, documents: 1.0,
        "combine": operator.add,
        "finish": lambda state, total: Score(total),
    }
    Measure("own", **{**plain, "combine": np.add, "start": lambda state: 0.0})
    for wrong in (lambda: 0, lambda a, b, c: 0):
        message = f"^measure 'own': {function} takes other arguments: .*it is called with {names}$"
        with pytest.raises(SettingError, match=message):
            Measure("own", **{**plain, function: wrong})


def test_only_plots_that_this_model_has_are_offered():
    def refused(name, **settings):
        corpus = from_matrix(np.ones((20, 6)))
        learnt = LDA(2, max_iter=2, random_state=0, progress=False, **settings).fit(corpus)
        with pytest.raises(SettingError) as error:
            learnt.plot(name)
        return str(error.value)

    of_topics = "hierarchy, topic-map, topics, words"
    assert refused("prevalence").endswith(f"Plots that need nothing else: {of_topics}")
    of_batches = "hierarchy, history, topic-map, topics, words"
    assert refused("prevalence", method="vb").endswith(f"Plots that need nothing else: {of_batches}")
    message = f"no score, bound or change; learn with held-out documents .*Plots that need nothing else: {of_topics}$"
    assert re.search(message, refused("history"))
