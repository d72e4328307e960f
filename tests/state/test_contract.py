"""A kernel, a scheme or a declaration that is wrong is an error that says what is wanted, never a wrong sum."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, replace

import numpy as np
import pytest

from bigtopic import from_matrix
from bigtopic import methods as table
from bigtopic.errors import InputError, ModelError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.kernels import load
from bigtopic.learning.executors.choice import choose
from bigtopic.learning.new_run import make_run
from bigtopic.methods import Method
from bigtopic.models.base import ArraySpec
from bigtopic.models.lda import LDA as MODEL
from bigtopic.schemes.add import Add
from bigtopic.schemes.replace import Replace
from bigtopic.types import AxisStats, KernelResult, Scratch, StateSpec

X = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))


def method(kernel, schemes=None):
    return Method("own", kernel, schemes or {"topic_words": Add()}, batch_size=16)


def fit(method):
    return LDA(2, method=method, client=False, n_threads=1, random_state=0).fit(X)


def changed(change, **declared):
    """The kernel vb, and what it returns changed."""
    kernel = load("vb")

    def run(docs, view, hyper, seed, state):
        return change(kernel.run(docs, view, hyper, seed, None))

    return replace(kernel, run=run, **declared)


def interrupting_after(step):
    """A callback that presses Ctrl-C."""

    def callback(event):
        if event.kind == "round" and event.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    return callback


def stats(change):
    return lambda result: result._replace(stats={k: change(v) for k, v in result.stats.items()})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (stats(lambda a: a.T), r"stats\['topic_words'\] has shape \(16, .*must have \(.*, 16\)"),
        (stats(lambda a: a[:, :2]), "padding included"),
        (stats(lambda a: a[1:]), "a row for each local id of axis 'word'"),
        (stats(lambda a: a.sum(axis=0)), "has shape"),
        (stats(lambda a: a.tolist()), r"is list, but must be a NumPy array \(\d+, 16\) of float32"),
        (stats(lambda a: a.astype(complex)), "is ndarray of complex128, but must be a NumPy array"),
        (
            stats(lambda a: a.astype("float16")),
            "is ndarray of float16, but must be .* float32, float64, int32",
        ),
        (stats(lambda a: a.astype(np.longdouble)), "is ndarray of .*, but must be a NumPy array"),
        (stats(lambda a: a.astype(">f4")), "is ndarray of >f4, but must be a NumPy array"),
        (stats(lambda a: a.astype("int8")), "is ndarray of int8, but must be a NumPy array"),
        (stats(lambda a: np.ma.array(a)), "is MaskedArray of float32, but must be a NumPy array"),
        (lambda r: r._replace(stats={}), "did not return them; it returned: none"),
        (lambda r: None, "returned NoneType, but must return a KernelResult"),
        (lambda r: r._replace(stats=list(r.stats.values())), "stats as list, but must return .*{array name"),
        (lambda r: r._replace(info=None), "info as NoneType, but must return .*{name: number}"),
        (lambda r: r._replace(info={"bound": None}), r"info\['bound'\] is None, but must be a number"),
        (lambda r: r._replace(info={"bound": "low"}), r"info\['bound'\] is 'low', but must be a number"),
        (lambda r: r._replace(info={"each": np.ones(2)}), r"info\['each'\] is array.*but must be a number"),
        (lambda r: r._replace(info={"bound": 1j}), r"info\['bound'\] is 1j, but must be a number"),
        (
            lambda r: r._replace(info={"bound": np.complex64(1j)}),
            r"info\['bound'\] is .*1j.*but must be a number",
        ),
        (lambda r: r._replace(state={}), "state='none', but returned state; return None, or declare it"),
        (lambda r: r._replace(state={"z": np.ones(3)}), "'vb' has state='none', but returned state"),
        (lambda r: r._replace(state=[1]), "state as list, but must return .*{array name"),
    ],
)
def test_statistics_of_another_shape_or_type_are_refused(change, says):
    with pytest.raises(ModelError, match=says):
        fit(method(changed(change)))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("another", [1.0, -1.0])
@pytest.mark.parametrize("n_threads", [1, 2])
def test_statistics_that_are_not_finite_never_reach_the_model(value, another, n_threads):
    kernel = load("vb")

    def run(docs, view, hyper, seed, state):
        result = kernel.run(docs, view, hyper, seed, None)
        if hyper.step == 2:
            result.stats["topic_words"][-1, :2] = another, value
        return result

    models = [
        LDA(2, method=method(own), client=False, n_threads=n_threads, max_iter=2)
        for own in (kernel, replace(kernel, run=run))
    ]
    models[0].set_params(callbacks=[interrupting_after(1)]).fit(X)
    with pytest.raises(ModelError, match=r"kernel 'vb': stats\['topic_words'\] .* not finite, at update 2"):
        models[1].fit(X)
    assert [model.n_batch_iter_ for model in models] == [1, 1]
    np.testing.assert_array_equal(*(model.components_ for model in models))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda a: a.T, r"of shape \(2, "),
        (lambda a: None, "returned doc_topics as NoneType"),
        (lambda a: a.tolist(), "returned doc_topics as list"),
        (lambda a: a.astype(object), r"of shape \(20, 2\), ndarray of object, but must return a NumPy array"),
        (lambda a: np.ma.array(a), "MaskedArray of float"),
        (
            lambda a: a * np.nan,
            r"returned the topics \[nan nan\] for a document, which are not a distribution",
        ),
        (lambda a: 3 * a, "numbers from 0 that add up to 1"),
        (lambda a: a + np.array([1, -1]), "numbers from 0 that add up to 1"),
    ],
)
def test_topics_of_documents_of_another_shape_are_refused(change, says):
    def inferring(result):
        return KernelResult(result.stats, change(result.doc_topics), None, result.info)

    model = fit(replace(table.get("streaming-vb"), inference=changed(inferring)))
    with pytest.raises(ModelError, match=says):
        model.transform(X)


def test_a_kernel_that_infers_returns_a_result():
    model = fit(replace(table.get("streaming-vb"), inference=changed(lambda result: result.doc_topics)))
    with pytest.raises(ModelError, match="kernel 'vb' returned ndarray, but must return a KernelResult"):
        model.transform(X)


@pytest.mark.parametrize(
    ("scratch", "says"),
    [
        (None, "kernel 'vb': scratch returned None, but must return a Scratch of bytes"),
        (5, "scratch returned 5"),
        (Scratch(5), "scratch returned Scratch"),
        (Scratch([-1]), "scratch returned Scratch"),
        (Scratch([np.nan]), "scratch returned Scratch"),
        (Scratch([], None), "scratch returned Scratch"),
    ],
)
def test_memory_that_is_no_number_is_refused(scratch, says):
    with pytest.raises(ModelError, match=says):
        fit(method(replace(load("vb"), scratch=lambda size, options: scratch)))


@pytest.mark.parametrize("cost", [None, -1.0, np.nan, "much"])
def test_time_that_is_no_number_is_refused(cost):
    kernel = replace(load("vb"), cost=lambda options: cost)
    model = fit(method(kernel))._model
    run = make_run(model, from_matrix(X), batch_size=16, slice_size=None, order="stored")
    with pytest.raises(ModelError, match=f"kernel 'vb': cost returned {cost!r}, but must return a number"):
        choose(run, object())


@pytest.mark.parametrize(
    ("state", "says"),
    [
        (None, "returned no state; return labels in it"),
        ({}, "remembers labels, but returned the state of nothing"),
        ({"labels": np.zeros(3, "int8")}, r"int8 \(3,\), but declares int8 \(\d+,\): a row for each entry"),
        ({"labels": np.zeros(16 * 5)}, "float64"),
    ],
)
def test_state_that_is_not_as_declared_is_refused(state, says):
    spec = {"labels": StateSpec("entry", "int8")}
    kernel = changed(lambda result: result._replace(state=state), state="run", remembers=spec)
    with pytest.raises(ModelError, match=says):
        fit(method(kernel))


@pytest.mark.parametrize("state", ["round", "run"])
@pytest.mark.parametrize(
    ("returned", "says"),
    [
        ({}, "the kernel remembers z, but returned the state of nothing"),
        ({"y": np.zeros(16 * 5, "int8")}, "the kernel remembers z, but returned the state y"),
        ({"z": [1]}, r"state\['z'\] as list, but declares int8"),
        (
            {"z": np.zeros(3, "int8")},
            r"as ndarray of int8 \(3,\), but declares int8 \(40,\): a row for each entry",
        ),
        ({"z": np.ma.zeros(40, "int8")}, r"as MaskedArray of int8 \(40,\)"),
        (None, "returned no state; return z in it"),
    ],
)
def test_state_is_checked_wherever_it_is_kept(state, returned, says):
    spec = {"z": StateSpec("entry", "int8")}
    kernel = changed(lambda result: result._replace(state=returned), state=state, remembers=spec)
    with pytest.raises(ModelError, match=says):
        fit(method(kernel))


def test_documents_without_authors_are_refused_by_a_model_of_authors():
    words = replace(MODEL.arrays["topic_words"], rows="author")
    model = replace(MODEL, arrays={**MODEL.arrays, "topic_words": words})
    own = method(replace(load("vb"), statistics={"topic_words": "author"}))
    with pytest.raises(InputError, match=r"arrays of authors, but the documents have none; .*authors="):
        fit(replace(own, model=model))


@pytest.mark.parametrize("size", ["n_components", "topic"])
def test_topics_of_a_document_are_remembered_by_either_name_of_their_number(size):
    spec = {"topics": StateSpec("document", "float32", (size,))}

    kernel = load("vb")

    def run(docs, view, hyper, seed, state):
        result = kernel.run(docs, view, hyper, seed, None)
        return result._replace(state={"topics": np.ones((docs.n_docs, 2), "float32")})

    assert fit(method(replace(kernel, run=run, state="run", remembers=spec)))._model.remembered(0, 0, 40)[
        "topics"
    ].shape == (40, 2)


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"views": {"topics": "mean"}}, "'topics'; choose one of: topic_words, doc_topic_prior"),
        (
            {"views": {"topic_words": "share"}},
            "'share'; choose one of: mean, sparse_mean, expected_log, counts, stored",
        ),
        ({"statistics": {"topics": "word"}}, "'topics'; choose one of: topic_words"),
        (
            {"statistics": {"topic_words": "author"}},
            r"statistics\['topic_words'\]='author', but .* has rows='word'; if one .* is misspelt, correct it",
        ),
        ({"state": "always"}, "choose one of: none, round, run"),
        ({"state": "run"}, "give both, or neither"),
        ({"state": "run", "remembers": {"z": StateSpec("word", "int8")}}, "one of: entry, token, document"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "intt")}}, "choose one of: int8, .*bool"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "float16")}}, "choose one of: int8, .*bool"),
        ({"state": "run", "remembers": {"../../z": StateSpec("entry", "int8")}}, "letters, digits and under"),
        ({"state": "run", "remembers": {5: StateSpec("entry", "int8")}}, "letters, digits and underscores"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "int8", [2])}}, "must have a tuple"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "int8", (0,))}}, "0 in its shape; .*from 1"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "int8", (1.5,))}}, "1.5 in its shape"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "int8", (), 200)}}, "which int8 cannot hold"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "int8", (), 0.5)}}, "which int8 cannot hold"),
        ({"state": "run", "remembers": {"z": StateSpec("entry", "float32", (), np.nan)}}, "cannot hold"),
        (
            {"state": "run", "remembers": {"z": StateSpec("entry", "int8", ("k",))}},
            "one of: n_components, topic, .*a number",
        ),
        ({"state": "run", "remembers": {"z": "entry"}}, "must be a StateSpec"),
        ({"components": "topics"}, "components='topics'; choose one of: topic, None"),
        ({"dtype": "single-ish"}, "dtype='single-ish'; choose one of: float32, float64, int"),
    ],
)
def test_a_kernel_that_declares_what_there_is_not_is_refused(declared, says):
    with pytest.raises(SettingError, match=says):
        fit(method(replace(load("vb"), **declared)))


@pytest.mark.parametrize(
    ("schemes", "says"),
    [
        ({"words": Add()}, "has no such statistics; choose one of: topic_words"),
        ({"topic_words": Add}, "must be an object with a method step"),
        ({"topic_words": "add"}, "must be an object with a method step"),
    ],
)
def test_a_scheme_of_no_array_and_no_scheme_are_refused(schemes, says):
    with pytest.raises(SettingError, match=says):
        fit(method("vb", schemes))


def test_statistics_that_no_scheme_moves_are_refused():
    kernel = replace(load("vb"), statistics={"topic_words": "word", "doc_topic_prior": "none"})
    with pytest.raises(
        SettingError, match="'own': kernel 'vb' returns statistics of doc_topic_prior, which no scheme"
    ):
        fit(method(kernel))


def test_a_model_of_several_component_counts_is_refused():
    model = replace(MODEL, name="levels", components=("topic", "super_topic"))
    own = replace(method("vb"), model=model)
    for n_components in (2, {"topic": 2, "super_topic": 3}):
        with pytest.raises(
            SettingError, match=r"'levels' counts topic, super_topic, .*one component.*Add a model"
        ):
            LDA(n_components, method=own, client=False, n_threads=1).fit(X)
        with pytest.raises(SettingError, match="one component count"):
            LDA(n_components, method=own, client=False, n_threads=1).partial_fit(X)


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        (
            {"init": {"topics": ("gamma", None)}},
            r"init\['topics'\].*no such array; choose one of: topic_words, doc",
        ),
        (
            {"init": {"topic_words": ("normal", None)}},
            r"init\['topic_words'\]=\('normal', None\).*gamma, uniform",
        ),
        (
            {"init": {"topic_words": "gamma"}},
            r"init\['topic_words'\]='gamma'.*\(distribution, share\), or None",
        ),
        ({"init": {"topic_words": ("gamma", -1.0)}}, r"share .*a number from 0, or None"),
        ({"priors": {"eta": 0.1}}, "priors.*'eta'; choose one of: topic_word_prior, doc_topic_prior"),
        ({"options": {"sweeps": 3}}, "options.*'sweeps'; choose one of: .*max_doc_update_iter"),
        ({"batch_size": "all"}, "batch_size='all' must be a whole number from 1"),
        ({"batch_size": 2.5}, "batch_size=2.5 must be"),
        ({"least_rounds": 0}, "least_rounds=0 must be"),
        ({"docs_per_component": -1}, "docs_per_component=-1 must be a number from 0"),
        ({"slice_size": -1}, "slice_size=-1 must be"),
        ({"inner": 0}, "inner=0 must be"),
        ({"max_iter": True}, "max_iter=True must be"),
        ({"tol": float("nan")}, "tol=nan must be a number from 0"),
    ],
)
def test_a_method_that_names_what_there_is_not_is_refused(declared, says):
    with pytest.raises(SettingError, match=says):
        fit(replace(method("vb"), **declared))


def test_options_of_the_kernel_that_infers_are_options_of_the_method():
    inferring = replace(load("vb"), options={**load("vb").options, "sweeps": 1})
    own = replace(method("vb"), inference=inferring, options={"sweeps": 3})
    assert fit(own)._model.inference_hyper().options["sweeps"] == 3
    given = LDA(2, method=own, options={"sweeps": 5}, client=False, n_threads=1).fit(X)
    assert given._model.inference_hyper().options["sweeps"] == 5
    with pytest.raises(
        SettingError, match=r"no option 'loops'; its options are: .*max_doc_update_iter.*sweeps"
    ):
        LDA(2, method=own, options={"loops": 5}, client=False, n_threads=1).fit(X)


def test_an_option_of_both_kernels_begins_as_that_of_the_one_that_learns():
    inferring = replace(load("vb"), options={**load("vb").options, "max_doc_update_iter": 7})
    for own, expected in ((method("vb"), 100), (method("gibbs"), 7)):
        options = fit(replace(own, inference=inferring))._model.inference_hyper().options
        assert options["max_doc_update_iter"] == expected


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"normalised_over": "topic"}, "normalised_over='topic'; choose one of: axis, components, None"),
        ({"dtype": "float16"}, "dtype='float16'; choose one of: float32, float64, int32, int64"),
        ({"dtype": "number"}, "dtype='number'; choose one of: float32, float64, int32, int64"),
        ({"columns": "topics"}, "columns='topics'; choose one of: topic, a number"),
        ({"columns": 0}, "columns=0; choose one of: topic, a number"),
        ({"rows": "words"}, "rows='words'.*choose one of: word, column, author, row, none, topic"),
        ({"start": ("normal", None)}, "start=.*normal.*gamma, uniform"),
        ({"dtype": "int64"}, r"int64.*start=\('uniform', None\).*begin as zeros"),
    ],
)
def test_an_array_that_cannot_be_made_is_refused(declared, says):
    kernel = load("vb")
    if "rows" in declared:
        kernel = replace(kernel, statistics={"topic_words": declared["rows"]})
    words = replace(MODEL.arrays["topic_words"], **declared)
    model = replace(MODEL, arrays={**MODEL.arrays, "topic_words": words})
    with pytest.raises(SettingError, match=f"'topic_words'.*{says}"):
        fit(replace(method(kernel, {"topic_words": Replace()}), model=model))


@pytest.mark.parametrize("start", [None, ("uniform", 0.0)])
def test_integers_begin_as_zeros(start):
    scheme = counting(dtype="int64")
    model = fit(replace(method("vb", {"topic_words": scheme}), init={"topic_words": start}))
    assert model._model.topic_words.raw.dtype == np.int64


def counting(asks=None, **declared):
    """A scheme that adds, declares this, and asks for a companion."""

    def step(self, array, stats, info):
        array.add(stats)
        if asks is not None:
            info.companions[asks].totals()

    return dataclass(frozen=True)(type("Counting", (), {"dtype": "float64", "step": step, **declared}))()


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"dtype": "float16"}, r"schemes\['topic_words'\] has dtype='float16'; choose one of: float32"),
        ({"companions": ["steps"]}, r"companions=\['steps'\], but must have \{name: ArraySpec\}"),
        ({"companions": {"steps": "int64"}}, "'topic_words.steps' is 'int64', but must be an ArraySpec"),
        ({"companions": {"a.b": ArraySpec("")}}, "companions.*'a.b'.*letters, digits and underscores"),
        ({"companions": {"steps": ArraySpec("", columns="k")}}, "'topic_words.steps' has columns='k'"),
        (
            {"companions": {"steps": ArraySpec("", dtype="uint8")}},
            "'topic_words.steps' has dtype='uint8'; choose",
        ),
    ],
)
def test_a_scheme_that_declares_what_there_is_not_is_refused(declared, says):
    with pytest.raises(SettingError, match=says):
        fit(method("vb", {"topic_words": counting(**declared)}))


def test_a_companion_that_was_not_declared_is_named():
    steps = ArraySpec("", columns=1, dtype="int64")
    assert fit(method("vb", {"topic_words": counting(companions={"steps": steps}, asks="steps")}))
    with pytest.raises(
        ModelError,
        match=r"scheme Counting of array 'topic_words', .*asks for the companion 'times'; .*declares: steps",
    ):
        fit(method("vb", {"topic_words": counting(companions={"steps": steps}, asks="times")}))


def test_documents_that_interact_need_a_slice_size():
    own = method(replace(load("vb"), interacts=True))
    with pytest.raises(SettingError, match=r"interacts=True.*slice_size"):
        fit(own)
    assert fit(replace(own, slice_size=8))
    assert LDA(2, method=own, slice_size=8, client=False, n_threads=1).fit(X)


@dataclass(frozen=True)
class Wrong:
    by_row: bool

    def step(self, array, stats, info):
        if self.by_row:
            array.add(stats, row_weight=np.ones(len(stats.values) + 1))
        else:
            array.add(AxisStats(stats.ids, stats.values[:, :2]))


@dataclass(frozen=True)
class Astray:
    """Asks for rows that are not there, or adds to them."""

    row: float
    adds: bool

    def step(self, array, stats, info):
        if self.adds:
            array.add(replace(stats, ids=np.array([self.row]), values=stats.values[:1]))
        else:
            array.gather(np.array([self.row]))


@pytest.mark.parametrize("row", [10**6, -1, 0.5])
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("inner", [1, 2])
def test_rows_that_are_not_there_are_refused(row, adds, inner):
    with pytest.raises(ModelError, match=r"scheme Astray of .*asks for rows .*the array has rows 0 to"):
        fit(replace(method("vb", {"topic_words": Astray(row, adds)}), inner=inner))


@pytest.mark.parametrize(("by_row", "says"), [(False, "padding included"), (True, "row_weight of shape")])
def test_a_scheme_that_adds_another_shape_is_refused(by_row, says):
    with pytest.raises(ModelError, match=says):
        fit(method("vb", {"topic_words": Wrong(by_row)}))
