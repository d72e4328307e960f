"""Whatever a careless author declares is refused by name, and what is accepted can be saved and loaded."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtopic import methods as table
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.kernels import load
from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec
from bigtopic.models.lda import LDA as MODEL
from bigtopic.schemes import settings as settings_of
from bigtopic.schemes.add import Add
from bigtopic.state import model_store
from bigtopic.state.contract.declarations import check_method
from bigtopic.state.contract.rules import plain
from bigtopic.state.new_model import new_model
from bigtopic.types import StateSpec

OWN = Method("own", "vb", {"topic_words": Add()}, batch_size=16)
NEXT = replace(OWN, phase="second")
MINE = replace(load("vb"), name="mine")
NAMES = st.text("abc_-. 1", max_size=4) | st.text(max_size=3)
VALUES: Any = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.builds(np.float32, st.floats(0, 1)),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=2), inner) | st.tuples(inner),
    max_leaves=3,
)


def refused(method, says, **given):
    """Before a document is read."""
    with pytest.raises(SettingError, match=says):
        LDA(2, method=method, client=False, n_threads=1, **given).fit(object())


def phases(*later):
    return replace(OWN, phase="first", then=later)


def of_kernel(**declared):
    return replace(OWN, kernel=replace(MINE, **declared))


def of_model(**declared):
    return replace(OWN, model=replace(MODEL, **declared))


def of_array(name="topic_words", **declared):
    arrays = {**MODEL.arrays, name: replace(MODEL.arrays[name], **declared)}
    return of_model(arrays=arrays)


def of_scheme(scheme):
    return replace(OWN, schemes={"topic_words": scheme})


def frozen(**members):
    """A frozen dataclass with a step."""
    annotations = {name: Any for name in members if name not in ("companions", "dtype", "step")}
    members = {
        "step": lambda self, array, stats, info: array.add(stats),
        "__annotations__": annotations,
        **members,
    }
    return dataclass(frozen=True)(type("Own", (), members))


class Bare:
    def step(self, array, stats, info):
        array.add(stats)


@dataclass
class Changing(Bare):
    seen: int = 0


@dataclass(frozen=True)
class NeedsMore(Bare):
    rate: float = 1.0
    more: InitVar[int] = field(kw_only=True)

    def __post_init__(self, more):
        pass


@dataclass(frozen=True)
class Percent(Bare):
    rate: float = 50.0

    def __post_init__(self):
        object.__setattr__(self, "rate", self.rate / 100)


@dataclass(frozen=True)
class Tabled(Bare):
    """A field that follows from the others is not a setting."""

    rate: float = 0.5
    rates: np.ndarray = field(init=False, repr=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "rates", np.full(3, self.rate))


METHODS = {
    "no method": (Add(), "bigtopic.Method"),
    "an empty list": ([], "is not known"),
    "a list": (["vb"], "is not known"),
    "an empty name": (replace(OWN, name=""), "a method's name is '', but must be a name"),
    "no name": (replace(OWN, name=None), "a method's name is None"),
    "a number as name": (replace(OWN, name=5), "a method's name is 5"),
    "a long name": (replace(OWN, name="a" * 201), "at most 200 characters"),
    "schemes": (replace(OWN, schemes=None), "method 'own': schemes=None, but must be {array name: scheme}"),
    "a list of schemes": (replace(OWN, schemes=[Add()]), "method 'own': schemes="),
    "priors": (replace(OWN, priors=None), "method 'own': priors=None, but must be"),
    "init": (replace(OWN, init=None), "method 'own': init=None"),
    "options": (replace(OWN, options=None), "method 'own': options=None"),
    "model": (replace(OWN, model=None), "method 'own': model=None, but must be a Model"),
    "a model by name": (replace(OWN, model="lda"), "method 'own': model='lda'"),
    "kernel": (replace(OWN, kernel=None), "method 'own': kernel=None"),
    "a function as kernel": (replace(OWN, kernel=load("vb").run), "method 'own': kernel=<"),
    "inference": (replace(OWN, inference=0), "method 'own': inference=0"),
    "a scheme as learner": (replace(OWN, prior_learner=Add()), "method 'own': prior_learner=Add"),
    "summary": (replace(OWN, summary=None), "method 'own': summary=None"),
    "a prior of documents' topics": (
        replace(OWN, priors={"doc_topic_prior": lambda: 1}),
        "takes other arguments",
    ),
    "a rule of other arguments": (
        replace(OWN, inner=lambda: True),
        "inner takes other arguments.*iteration, info",
    ),
    "no kernel that infers": (replace(OWN, inference=""), "there is no kernel ''"),
    "an array as option": (replace(OWN, options={"mean_change_tol": np.ones(2)}), "'mean_change_tol'.*array"),
    "an option of another kind": (
        replace(OWN, options={"max_doc_update_iter": 5.5}),
        "is 5.5, but must be like.*100",
    ),
    "an option that is a text": (replace(OWN, options={"mean_change_tol": "low"}), "'low', but must be like"),
    "a number as phase": (replace(OWN, phase=1), "method 'own': phase=1, but must be text"),
    "phases": (replace(OWN, then=None), "method 'own': then=None, but must be a tuple of methods"),
    "a list of phases": (replace(OWN, then=[NEXT]), "method 'own': then=.*, but must be a tuple of methods"),
    "a phase that is a name": (phases("vb"), r"method 'own': then\[0\] is 'vb', but must be a Method"),
    "a phase without a name": (phases(replace(NEXT, phase="")), r"method 'own': then\[0\]: phase.*is ''"),
    "a first phase without a name": (
        replace(OWN, then=(NEXT,)),
        "method 'own': phase is '', but must be a name of letters",
    ),
    "a phase with a dot": (phases(replace(NEXT, phase="a.b")), r"then\[0\]: phase is 'a\.b'"),
    "two phases of one name": (phases(NEXT, NEXT), r"then\[1\]: phase='second' is the name of another phase"),
    "the name of the first phase": (phases(replace(NEXT, phase="first")), r"then\[0\]: phase='first' is the"),
    "the name of an array": (
        phases(replace(NEXT, phase="topic_words")),
        r"then\[0\]: phase='topic_words' is .* an array or a prior",
    ),
    "a phase of another method": (
        phases(replace(NEXT, name="other")),
        r"then\[0\]: name='other'.*give 'own'",
    ),
    "a phase of another model": (
        phases(replace(NEXT, model=replace(MODEL, name="mine"))),
        r"method 'own': then\[0\]: its model 'mine' differs from the model of the first phase, 'lda'",
    ),
    "a phase with phases": (
        phases(replace(NEXT, then=(NEXT,))),
        r"method 'own': then\[0\]: then=.*give all phases to the first",
    ),
    "a phase of wrong values": (
        phases(replace(NEXT, average=2)),
        r"method 'own': then\[0\]: average=2 must be a share",
    ),
    "a phase without schemes": (
        phases(replace(NEXT, schemes={})),
        r"method 'own': then\[0\]: kernel 'vb' returns statistics of topic_words, which no scheme moves",
    ),
    "no tokens that are enough": (
        phases(replace(NEXT, enough_tokens=0)),
        r"then\[0\]: enough_tokens=0 must be a number above 0, or None",
    ),
    "no length that is enough": (
        replace(OWN, enough_length=0.0),
        "enough_length=0.0 must be a number above 0",
    ),
    "a text as tokens": (replace(OWN, enough_tokens="4e8"), "enough_tokens='4e8' must be a number above 0"),
    "tokens without end": (replace(OWN, enough_tokens=np.inf), "enough_tokens=inf must be a number above 0"),
}
KERNELS = {
    "arguments": ({"run": lambda docs: None}, "run takes other arguments: .*docs, view, hyper, seed, state"),
    "arguments of cost": ({"cost": lambda: 1.0}, "cost takes other arguments: .*options"),
    "arguments of scratch": (
        {"scratch": lambda size: None},
        "scratch takes other arguments: .*size, options",
    ),
    "name": ({"name": ""}, "a kernel's name is ''"),
    "run": ({"run": None}, "kernel 'mine': run=None, but must be a function"),
    "views": ({"views": None}, "kernel 'mine': views=None, but must be {array name: form}"),
    "statistics": ({"statistics": ["topic_words"]}, r"kernel 'mine': statistics=\['topic_words'\]"),
    "no statistics": ({"statistics": {}}, "returns no statistics"),
    "options": ({"options": None}, "kernel 'mine': options=None"),
    "cost": ({"cost": 5}, "kernel 'mine': cost=5"),
    "scratch": ({"scratch": None}, "kernel 'mine': scratch=None"),
    "components": ({"components": 2}, "kernel 'mine': components=2"),
    "interacts": ({"interacts": "no"}, "kernel 'mine': interacts='no'"),
    "whole minibatches": ({"whole_minibatches": 1}, "kernel 'mine': whole_minibatches=1"),
    "whole minibatches that are remembered": (
        {"whole_minibatches": True, "state": "run", "remembers": {"z": StateSpec("entry", "int8")}},
        "kernel 'mine': whole_minibatches=True and state='run'",
    ),
    "burn-in": ({"burn_in": 3}, "kernel 'mine': burn_in=3"),
    "state": ({"state": None}, "kernel 'mine': state=None"),
    "remembers": ({"remembers": None}, "kernel 'mine': remembers=None"),
    "bound": ({"bound": 1}, "kernel 'mine': bound=1"),
    "dtype": ({"dtype": None}, "dtype=None; choose one of: float32"),
    "half precision": ({"dtype": "float16"}, "dtype='float16'; choose one of: float32"),
    "a dtype of options": ({"dtype": lambda options: "float16"}, "dtype='float16'; choose one of: float32"),
    "a dtype of nothing": ({"dtype": lambda: "float64"}, "dtype takes other arguments.*called with options"),
    "a name of an option": (
        {"options": {**MINE.options, "my-opt": 1}},
        "'my-opt', but must be a name of letters",
    ),
    "a list as option": (
        {"options": {**MINE.options, "levels": [1]}},
        r"\['levels'\] is \[1\], but must be a number",
    ),
    "a lambda as option": ({"options": {**MINE.options, "rule": min}}, r"\['rule'\] is <built-in"),
    "a length": (
        {
            "options": {**MINE.options, "replicas": 0},
            "state": "run",
            "remembers": {"z": StateSpec("entry", "int8", ("replicas",))},
        },
        "option replicas is 0, but kernel 'mine' remembers as many",
    ),
}
MODELS = {
    "arrays": (of_model(arrays=None), "model 'lda': arrays=None, but must be {name: ArraySpec}"),
    "a list of arrays": (of_model(arrays=["topic_words"]), "model 'lda': arrays="),
    "no arrays": (of_model(arrays={}), "give some of each"),
    "components": (of_model(components="topic"), "model 'lda': components='topic', but must be a tuple"),
    "no components": (of_model(components=()), r"components=\(\).*(some of each|choose)"),
    "a number as component": (of_model(components=(3,)), "a name in components is 3"),
    "a component twice": (of_model(components=("topic", "topic")), "give different names"),
    "a mixing array that is not there": (
        of_model(mixing="nothing"),
        "model 'lda' has mixing='nothing'.*topic_words",
    ),
    "a mixing array of words": (of_model(mixing="topic_words"), "mixing='topic_words'.*rows='topic'"),
    "a number as mixing array": (of_model(mixing=3), "mixing=3, but must be the name of an array, or None"),
    "a component like an axis": (of_model(components=("word",)), "none of an axis"),
    "an array's name": (of_model(arrays={**MODEL.arrays, "my words": ArraySpec("word")}), "'my words'"),
    "a taken name": (of_model(arrays={**MODEL.arrays, "words": ArraySpec("word")}), "and not words, axes"),
    "axis": (of_array(rows=None), "array 'topic_words': rows=None"),
    "a list of axes": (of_array(rows=["word"]), "array 'topic_words': rows="),
    "an axis' name": (of_array(rows="my axis"), "'my axis'"),
    "prior": (of_array(prior=0.1), "array 'topic_words': prior=0.1"),
    "columns": (of_array(columns=True), "array 'topic_words' has columns=True"),
    "many columns": (of_array(columns=1 << 25), "columns is 33554432"),
    "a short dtype": (of_array(dtype="f4"), "dtype='f4'; choose one of"),
    "a dtype": (of_array(dtype=np.float32), "dtype=<class.*choose one of"),
    "a prior of one topic": (
        of_array("doc_topic_prior", columns=1),
        "columns=1, but holds the prior of documents",
    ),
    "a prior of each word": (of_array("doc_topic_prior", rows="word"), "rows='word'"),
}
SCHEMES = {
    "no dataclass": (Bare(), "frozen=True"),
    "a dataclass that changes": (Changing(), "what changes belongs in companions"),
    "a list": (
        frozen(decays=field(default_factory=lambda: [0.5]))(),
        r"\['decays'\] is \[0.5\], but must be a number",
    ),
    "a dict": (frozen(decays=field(default_factory=dict))(), r"\['decays'\] is {}"),
    "an array": (frozen(decays=field(default_factory=lambda: np.ones(2)))(), r"\['decays'\] is array"),
    "a lambda": (frozen(rule=lambda step: 1.0)(), r"\['rule'\] is <function"),
    "a long text": (frozen(table="a" * 5000)(), "5000 characters, but may have 4096"),
    "a field that is not kept": (NeedsMore(more=1), "cannot be made again from its fields"),
    "a field that changes": (Percent(), "made again from them"),
    "a long number": (frozen(table=10**400)(), "1329 bits, but may have 1023"),
    "arguments": (
        frozen(step=lambda self, array: None)(),
        "step takes other arguments: .*array, stats, info",
    ),
    "a dtype": (frozen(dtype=np.float64)(), "dtype=<class.*choose one of"),
    "no companions": (frozen(companions=None)(), "companions=None"),
    "rows of a companion": (frozen(companions={"n": ArraySpec(None)})(), "'topic_words.n': rows=None"),
}


@pytest.mark.parametrize(("method", "says"), METHODS.values(), ids=METHODS)
def test_a_method_of_wrong_values_is_refused(method, says):
    refused(method, says)


@pytest.mark.parametrize(("declared", "says"), KERNELS.values(), ids=KERNELS)
def test_a_kernel_of_wrong_values_is_refused(declared, says):
    refused(of_kernel(**declared), says)


@pytest.mark.parametrize(("method", "says"), MODELS.values(), ids=MODELS)
def test_a_model_of_wrong_values_is_refused(method, says):
    refused(method, says)


@pytest.mark.parametrize(("scheme", "says"), SCHEMES.values(), ids=SCHEMES)
def test_a_scheme_of_wrong_values_is_refused(scheme, says):
    refused(of_scheme(scheme), f"method 'own': schemes.*{says}|{says}")


def test_options_that_are_given_follow_the_same_rules():
    refused("vb", "options=5: must be", options=5)
    X = np.ones((4, 3), int)
    for options in ({"max_doc_update_iter": 5.5}, {"mean_change_tol": np.ones(2)}, {"bound": 1}):
        with pytest.raises(SettingError, match=next(iter(options))):
            LDA(2, method="vb", options=options, client=False, n_threads=1).fit(X)


def test_a_prior_of_nothing_is_refused_where_models_cannot_have_it():
    X = np.ones((4, 3), int)
    with pytest.raises(SettingError, match=r"doc_topic_prior=0\.0: must be positive"):
        LDA(2, method=replace(OWN, priors={"doc_topic_prior": 0.0}), client=False, n_threads=1).fit(X)


def test_a_method_of_wrong_values_is_refused_when_a_model_is_loaded(tmp_path):
    LDA(2, method=OWN, client=False, n_threads=1).fit(np.ones((4, 3), int)).save(tmp_path / "model")
    for wrong, says in ((replace(OWN, schemes=None), "schemes=None"), ("own", "must be a bigtopic.Method")):
        with pytest.raises(SettingError, match=says):
            model_store.load(tmp_path / "model", wrong)


def test_phases_that_are_allowed():
    check_method(phases(NEXT, replace(NEXT, phase="third", enough_tokens=1e6)))
    for method in table.get("auto").phases:
        check_method(method)


def test_inner_iterations_may_be_a_number_of_numpy():
    X = np.ones((4, 3), int)
    models = [
        LDA(2, method=replace(OWN, inner=n), client=False, n_threads=1).fit(X) for n in (2, np.int64(2))
    ]
    np.testing.assert_array_equal(*(model.components_ for model in models))


def saved_and_loaded(method, path):
    words = Vocabulary(None, 3)
    axes = {"word": words, "column": words, "row": Vocabulary(None, 5)}
    if "author" in {spec.rows for spec in method.model.arrays.values()}:
        axes["author"] = Vocabulary(["Ann", "Bob"], None, np.ones(2, np.int64), np.ones(2))
    model = new_model(method, dict.fromkeys(method.model.components, 2), axes, n_tokens=9)
    model_store.save(model, path)
    return model, model_store.load(path, method)[0]


def test_what_follows_from_settings_is_made_again(tmp_path):
    model, loaded = saved_and_loaded(of_scheme(Tabled(0.25)), tmp_path / "model")
    assert loaded.method == model.method
    np.testing.assert_array_equal(loaded.method.schemes["topic_words"].rates, np.full(3, 0.25))


def test_settings_of_any_mapping_and_number_are_kept(tmp_path):
    options = MappingProxyType({"max_doc_update_iter": np.int64(7), "mean_change_tol": 1})
    own = replace(OWN, options=options, schemes=MappingProxyType(OWN.schemes))
    model, loaded = saved_and_loaded(own, tmp_path / "model")
    assert loaded.options == model.options


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("declared")


def declared(kind, name, value, given):
    """A method that declares one thing at random, and options given to it."""
    options = replace(MINE, options={**MINE.options, name: value})
    makes = {
        "method": lambda: replace(OWN, name=name),
        "option": lambda: replace(OWN, kernel=options),
        "given": lambda: replace(OWN, kernel=options),
        "setting": lambda: of_scheme(frozen(setting=field(default_factory=lambda: value))()),
        "companion": lambda: of_scheme(frozen(companions={name: ArraySpec("", columns=1)})()),
        "array": lambda: of_model(arrays={**MODEL.arrays, name: ArraySpec("none")}),
    }
    return makes[kind](), {name: given} if kind == "given" else {}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(["method", "option", "given", "setting", "companion", "array"]), NAMES, VALUES, VALUES)
def test_what_is_accepted_can_be_saved_and_loaded(folder, kind, name, value, given):
    method, options = declared(kind, name, value, given)
    try:
        check_method(method)
        model = new_model(method, 2, Vocabulary(None, 3), n_tokens=9, options=options)
    except SettingError:
        return
    model_store.save(model, folder / "model", overwrite=True)
    loaded, _ = model_store.load(folder / "model", method)
    assert repr(loaded.options) == repr(plain(model.options))
    assert [repr(settings_of(scheme)) for scheme in loaded.method.schemes.values()] == [
        repr(plain(settings_of(scheme))) for scheme in method.schemes.values()
    ]
    assert loaded.params.arrays.keys() == model.params.arrays.keys()


def test_the_methods_of_the_table_are_accepted(tmp_path):
    for name in table.names():
        model, loaded = saved_and_loaded(table.get(name), tmp_path / name)
        assert loaded.options == model.options
