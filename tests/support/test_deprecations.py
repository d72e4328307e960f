"""Old names of arguments and attributes: they work, warn, and are refused beside the new ones."""

import inspect
import pickle
import warnings
from dataclasses import dataclass, replace

import numpy as np
import pytest
from sklearn.base import clone

import bigtopic as bt
from bigtopic import plots
from bigtopic.datasets import KnownLDA, lda_corpus
from bigtopic.errors import BigtopicWarning, RenamedWarning
from bigtopic.evaluation import Setting, coherence, log_predictive, measure, prevalence, top_words, topics_of
from bigtopic.learning.events import Event
from bigtopic.report import summarise
from bigtopic.support.deprecations import also_named, renamed, renamed_attribute

COUNTS = np.random.default_rng(0).poisson(1.0, (40, 12)).astype(np.float32)
CORPUS = bt.from_matrix(COUNTS, [f"w{i}" for i in range(12)])


@renamed(old="new", older="newer")
def add(new, newer=1):
    """Documented."""
    return new + 10 * newer


@renamed(old="new")
@dataclass(frozen=True)
class Holder:
    new: int = 0

    old = renamed_attribute("old", "new")


@pytest.fixture(scope="module")
def model():
    return bt.LDA(3, method="online-cvb0", max_iter=1, random_state=0, client=False).fit(CORPUS)


def test_an_old_name_is_the_new_argument_and_warns_where_it_is_used():
    with pytest.warns(RenamedWarning, match="^argument 'old' is now 'new'; the old name ends") as said:
        assert add(old=2) == 12
    assert said[0].filename == __file__ and issubclass(said[0].category, BigtopicWarning | FutureWarning)
    with pytest.warns(RenamedWarning) as said:
        assert add(older=3, old=2) == 32
    assert len(said) == 2


def test_users_see_the_warning_without_asking():
    with warnings.catch_warnings(record=True) as said:
        warnings.resetwarnings()
        warnings.simplefilter("default")
        add(old=2)
    assert [warning.category for warning in said] == [RenamedWarning]


def test_both_names_at_once_are_refused():
    with pytest.raises(TypeError, match="'old' and 'new' are two names of one argument; give 'new' only"):
        add(old=1, new=1)
    with pytest.warns(RenamedWarning), pytest.raises(TypeError, match="multiple values for argument 'new'"):
        add(1, old=1)


def test_the_signature_has_only_new_names():
    assert list(inspect.signature(add).parameters) == ["new", "newer"] and add.__doc__ == "Documented."
    assert list(inspect.signature(Holder).parameters) == ["new"]
    assert "seed" not in inspect.signature(bt.ingest).parameters
    assert "random_state" in inspect.signature(bt.Corpus.split).parameters


def test_classes_and_attributes():
    with pytest.warns(RenamedWarning, match="argument 'old' is now 'new'"):
        assert Holder(old=3) == Holder(3)
    with pytest.warns(RenamedWarning, match="attribute 'old' is now 'new'") as said:
        assert Holder(3).old == 3
    assert said[0].filename == __file__
    assert replace(Holder(3), new=4) == Holder(4) == pickle.loads(pickle.dumps(Holder(4)))


def test_names_of_other_libraries_do_not_warn(model):
    assert also_named(theirs="mine")(lambda mine: mine)(theirs=5) == 5
    assert model.show_topic(1, topn=4) == model.show_topic(1, n_top=4)
    with pytest.raises(TypeError, match="'topn' and 'n_top' are two names"):
        model.show_topic(1, topn=4, n_top=4)


CALLS = {
    "split": lambda **own: CORPUS.split(0.3, **own)[1].rows().tolist(),
    "from_matrix": lambda **own: bt.from_matrix(COUNTS, **own).rows(order="stored").tolist(),
    "ingest": lambda **own: bt.ingest(COUNTS, "memory://renamed.zarr", overwrite=True, **own).fingerprint,
    "KnownLDA": lambda **own: KnownLDA(5, 2, **own),
    "lda_corpus": lambda **own: lda_corpus(9, 5, 2, **own).components.tolist(),
    "log_predictive": lambda **own: log_predictive(np.ones((2, 12)), CORPUS, **own).tokens.tolist(),
    "measure": lambda **own: measure(np.ones((2, 12)), CORPUS, "log-predictive", **own).to_dict(),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_seed_is_random_state(call):
    with pytest.warns(RenamedWarning, match="argument 'seed' is now 'random_state'"):
        found = call(seed=3)
    assert found == call(random_state=3)


TOPICS = np.random.default_rng(1).random((3, 12))
READINGS = {
    "coherence": ("topn", lambda model, **own: coherence(TOPICS, CORPUS, **own).value),
    "measure": ("topn", lambda model, **own: measure(TOPICS, CORPUS, ["npmi", "umass"], **own).to_dict()),
    "summarise": ("topn", lambda model, **own: summarise(model, CORPUS, client=False, **own).coherence.value),
    "top_words": ("n", lambda model, **own: top_words(topics_of(TOPICS), **own)[0].tolist()),
    "topics": ("n", lambda model, **own: model.topics(**own)),
    "topics_frame": ("n", lambda model, **own: model.topics_frame(**own).values.tolist()),
    "show_topics": ("topn", lambda model, **own: model.show_topics(**own)),
}


@pytest.mark.parametrize(("old", "call"), READINGS.values(), ids=READINGS)
def test_the_number_of_top_words_is_n_top(model, old, call):
    with pytest.warns(RenamedWarning, match=f"argument '{old}' is now 'n_top'"):
        found = call(model, **{old: 4})
    assert found == call(model, n_top=4) != call(model, n_top=5)


def test_the_number_of_documents_is_n_documents(model):
    with pytest.warns(RenamedWarning, match="argument 'n_top' is now 'n_documents'"):
        found = prevalence(TOPICS, CORPUS, n_top=2)
    assert found.rows.tolist() == prevalence(TOPICS, CORPUS, n_documents=2).rows.tolist()
    with pytest.warns(RenamedWarning, match="argument 'n_top' is now 'n_documents'"):
        assert measure(TOPICS, CORPUS, "prevalence", n_top=2)["prevalence"].rows.shape == (3, 2)
    with pytest.warns(RenamedWarning, match="argument 'n' is now 'n_documents'"):
        assert [len(own) for own in model.representative_documents(CORPUS, n=2)] == [2, 2, 2]


def test_a_name_that_one_measure_has_is_not_old_for_another():
    found = measure(TOPICS, CORPUS, ["npmi", "prevalence"], n_top=5)
    assert found["npmi"].n_top == 5 and found["prevalence"].rows.shape == (3, 3)


def test_settings_of_plots(model):
    with pytest.warns(RenamedWarning, match="argument 'n_words' is now 'n_top'"):
        from bigtopic.evaluation.subject import Subject

        assert plots.load("topics").complete({"n_words": 3}, Subject(np.eye(5))) == {
            "n_topics": 20,
            "n_top": 3,
        }
    assert Setting(1, "A setting.").formerly == ""


def test_attributes_have_their_new_names():
    with pytest.warns(RenamedWarning, match="attribute 'topn' is now 'n_top'"):
        assert coherence(TOPICS, CORPUS, n_top=4).topn == 4
    with pytest.warns(RenamedWarning, match="attribute 'seed' is now 'random_state'"):
        assert KnownLDA(5, 2, random_state=3).seed == 3


def test_events_count_passes():
    with pytest.warns(RenamedWarning, match="attribute 'epoch' is now 'pass_number'"):
        assert Event("pass", 8, 2, 1.0, 40, 500.0).epoch == 2


def test_estimators_are_cloned_as_before(model):
    assert clone(model).get_params() == model.get_params()
    assert {"n_top", "topn", "seed"}.isdisjoint(model.get_params())
