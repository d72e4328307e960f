"""Every setting of every method is described, set by its name, saved, and refused where nothing reads it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from known import known
from reference.settings import defaults, method_for, needed, other

from bigtopic import kernels, schemes
from bigtopic.errors import ModelError, SettingError
from bigtopic.estimators.author_topic import AuthorTopicModel
from bigtopic.estimators.dual_topic import DualTopicModel
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.ingestion.ingest import ingest
from bigtopic.methods import get, names
from bigtopic.methods.settings import settings_of, with_settings
from bigtopic.schemes.add import DecayAdd
from bigtopic.schemes.schedule import PlainStep
from bigtopic.state.contract.declarations import check_method
from bigtopic.state.model import TopicModel

X = np.kron(np.eye(2, dtype=int), np.full((20, 5), 3))
OPTIONS = {name: [row["option"] for row in settings_of(replace(get(name), then=()))] for name in names()}


@pytest.mark.parametrize("name", kernels.names())
def test_every_option_of_a_kernel_has_a_meaning(name):
    kernel = kernels.load(name)
    assert [*kernel.meanings] == [*kernel.options] and all(kernel.meanings.values())


@pytest.mark.parametrize("name", schemes.names())
def test_every_setting_of_a_scheme_has_a_meaning(name):
    meanings = schemes.meanings(schemes.load(name))
    assert meanings.keys() == schemes.settings(schemes.load(name)()).keys() and all(meanings.values())


@pytest.mark.parametrize("name", names())
def test_the_listing_has_every_setting_of_kernels_and_schemes(name):
    method = replace(get(name), then=())
    rows = {row["option"]: row for row in settings_of(method)}
    learns, infers = method.load_kernel().options, method.load_inference().options.keys() - {"bound"}
    own = {f"{array}.{each}" for array, s in method.schemes.items() for each in schemes.options(s)}
    assert {*learns, *infers} | own == {option for option, row in rows.items() if "learn_" not in row["read"]}
    assert all(row["meaning"] and row["read"] for row in rows.values())
    assert {"learning" in rows[option]["read"] for option in learns} <= {True}
    assert {rows[option]["read"] for option in infers - learns.keys()} <= {"inference"}


@pytest.mark.parametrize("name", names())
def test_every_setting_is_set_by_its_name_or_refused_where_it_is_not_read(name):
    for option in OPTIONS[name]:
        method = method_for(name, option)
        before, enabling = defaults(method), needed(method, option)
        given = {option: other(before[option])}
        if enabling:
            with pytest.raises(SettingError, match=f"option {option}: method .* does not read it while"):
                with_settings(method, given)
        changed, options = with_settings(method, {**given, **enabling})
        found = defaults(replace(changed, options={**changed.options, **options}))
        of_streams = option.replace("learning_decay", "stream_decay")  # the same, unless it is given, too
        same = {of_streams: None} if of_streams != option and of_streams in before else {}
        assert found == {**before, **same, **given, **enabling}, option


@pytest.mark.parametrize("name", names())
def test_a_setting_of_a_scheme_that_is_no_such_value_is_refused(name):
    for option in (option for option in OPTIONS[name] if "." in option):
        method = method_for(name, option)
        for wrong in (-1, "nonsense", [1], float("nan")):
            with pytest.raises(SettingError, match=option.rpartition(".")[2]):
                check_method(with_settings(method, {option: wrong, **needed(method, option)})[0])


class Recorded(dict):
    """Options that know which of them were read."""

    def __init__(self, *options):
        super().__init__(*options)
        self.read = set()

    def __getitem__(self, name):
        self.read.add(name)
        return super().__getitem__(name)

    def get(self, name, default=None):
        self.read.add(name)
        return super().get(name, default)


def estimator(name, **settings):
    method = get(name)
    settings = {"method": name, "max_iter": 1, "client": False, "n_threads": 1, **settings}
    if "author_topics" in method.model.arrays:
        return AuthorTopicModel(2, **settings)
    if len(method.model.components) > 1:
        return DualTopicModel(2, 2, **settings)
    return LDA(2, **settings)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Two groups of documents, of one or two authors."""
    texts = [" ".join(f"w{word}" for word in np.repeat(np.arange(len(row)), row)) for row in X]
    authors = [["a", "b"][: 1 + number % 2] for number in range(len(X))]
    return ingest(texts, tmp_path_factory.mktemp("settings") / "corpus.zarr", authors=authors)


@pytest.mark.parametrize("name", names())
def test_every_option_of_a_kernel_is_read(name, corpus, monkeypatch):
    own, seen = TopicModel.hyper, []

    def hyper(self, **options):
        seen.append(Recorded(own(self, **options).options))
        return own(self, **options)._replace(options=seen[-1])

    monkeypatch.setattr(TopicModel, "hyper", hyper)
    estimator(name).fit(corpus)
    assert set().union(*(options.read for options in seen)) >= get(name).load_kernel().options.keys()


BY_KERNEL = {
    (get(name).load_kernel().name, option): name
    for name in names()
    for option in get(name).load_kernel().options
}


@pytest.mark.parametrize(("option", "name"), [(option, name) for (_, option), name in BY_KERNEL.items()])
def test_an_option_of_a_kernel_that_is_no_such_value_is_refused(option, name, corpus):
    for wrong in (-1, "nonsense", float("nan"), None, [1]):
        with pytest.raises(SettingError, match=option):
            estimator(name, options={option: wrong}).fit(corpus)


WHOLE = [
    (option, name)
    for (_, option), name in BY_KERNEL.items()
    if type(get(name).kernel_options({})[option]) is int
]


@pytest.mark.parametrize(("option", "name"), WHOLE)
def test_a_whole_number_that_no_loop_counts_to_is_refused(option, name, corpus):
    refused = (
        rf"{option}=9223372036854775808: .*at most (2,147,483,647|64|10,000)\b|this model needs about .* GB"
    )
    with pytest.raises(
        SettingError, match=refused
    ):  # lengths of what is remembered are refused for their memory
        estimator(name, options={option: 2**63}).fit(corpus)


def watched(scheme):
    """The scheme, and the settings that its steps read."""
    kind, seen = type(scheme), set()

    class Watched(kind):
        stepping = False

        def __getattribute__(self, name):
            if type(self).stepping:
                seen.add(name)
            return super().__getattribute__(name)

        def step(self, array, stats, info):
            type(self).stepping = True
            super().step(array, stats, info)
            type(self).stepping = False

    if issubclass(kind, PlainStep):

        def factors(self, info):
            type(self).stepping = True
            found = kind.factors(self, info)
            type(self).stepping = False
            return found

        Watched.factors = factors
    return Watched(**schemes.settings(scheme)), seen


def with_scheme(name):
    """A method with a scheme of this name, where it moves, and the scheme."""
    if name == "lazy_langevin":
        method = replace(get("lds"), schemes={"topic_words": schemes.load(name)()})
    elif name == "fixed_point":
        method = replace(
            get("g-oem"), schemes={**get("g-oem").schemes, "doc_topic_prior": schemes.load(name)()}
        )
    else:
        learn = ("doc_topic_prior", "topic_word_prior", "author_topic_prior")
        able = [get(each) for each in names()]
        able += [
            method_for(row, option)
            for row, own in OPTIONS.items()
            for option in own
            if option.partition(".")[0] in learn
        ]
        method = next(
            m for m in able if schemes.load(name) in map(type, {**m.schemes, **m.prior_schemes}.values())
        )
    places = {"schemes": method.schemes, "prior_schemes": method.prior_schemes}
    found = [
        (f, a, s) for f, held in places.items() for a, s in held.items() if type(s) is schemes.load(name)
    ]
    return method, *found[0]


@pytest.mark.parametrize("name", sorted(known("scheme")))
def test_every_setting_of_a_scheme_is_read_when_it_steps(name, corpus):
    method, field, array, scheme = with_scheme(name)
    enabling = {"learning_decay": 0.6} if "learning_offset" in getattr(scheme, "unread", {}) else {}
    enabling |= {"forgetting_decay": 0.6} if "forgetting_offset" in getattr(scheme, "unread", {}) else {}
    enabling |= {"shape": "asymmetric"} if "shrinkage" in getattr(scheme, "unread", {}) else {}
    enabling |= {"begin": 0.5} if hasattr(scheme, "begin") else {}
    own, seen = watched(replace(scheme, **enabling))
    changed = replace(method, name="watched", **{field: {**getattr(method, field), array: own}})
    estimator(
        method.name, method=changed, batch_size=10, options={"max_sweeps": 1} if name == "decay_add" else None
    ).fit(corpus)
    assert schemes.settings(scheme).keys() <= seen


@pytest.mark.parametrize("name", names())
def test_the_arguments_that_the_kernel_does_not_read_are_refused(name, corpus):
    for argument, value in (("max_doc_update_iter", 3), ("mean_change_tol", 0.01)):
        if len(get(name).model.components) > 1:
            continue
        if argument in get(name).load_kernel().options:
            first = {f"{phase.phase}.max_iter": 0 for phase in get(name).then}
            fitted = estimator(name, options=first, **{argument: value}).fit(corpus)
            assert fitted._model.options[argument] == value
            continue
        with pytest.raises(
            SettingError, match=f"{argument}={value}: method '.*' does not read it when it learns"
        ):
            estimator(name, **{argument: value}).fit(corpus)


def test_a_name_sets_all_schemes_that_have_it_and_with_an_array_one():
    method, _ = with_settings(
        get("online-author-vb"), {"learning_scale": 0.5, "topic_words.learning_scale": 0.25}
    )
    assert [getattr(scheme, "learning_scale", None) for scheme in method.schemes.values()] == [
        0.25,
        0.5,
        None,
    ]
    assert get("online-author-vb").schemes["topic_words"].learning_scale == 1.0


def test_an_option_of_a_kernel_goes_before_a_setting_of_a_scheme_of_its_name():
    kernel = replace(kernels.load("vb"), name="own", options={**kernels.load("vb").options, "end": 3})
    own = replace(get("online-vb"), name="own", kernel=kernel)
    method, options = with_settings(own, {"end": 4})
    assert (method, options) == (own, {"end": 4})
    method, options = with_settings(own, {"topic_words.end": 0.5})
    assert method.schemes["topic_words"].end == 0.5 and options == {}


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("sgs", {"decay": 2}, "decay=2: must be above 0"),
        ("sgs", {"decya": 0.9}, "method 'sgs' has no option 'decya'; .*max_sweeps.*; did you mean 'decay'"),
        ("sgs", {"joint.decay": 0.9}, "has no option 'joint.decay'"),
        ("sgs", {3: 0.9}, "has no option 3"),
        ("sgs", {".decay": 0.9}, "has no option '.decay'"),
        ("dual-mf", {"learning_offset": 2}, "'dual-mf' does not read it while learning_decay is None"),
        ("cgs", {"doc_topic_prior.hold": 2}, "learns no such prior; give learn_doc_topic_prior, too"),
        ("v-oem", {"bound": True}, "has no option 'bound'"),
        ("cgs", {"forgets_start": False}, "has no option 'forgets_start'"),
        ("svb", {"topic_words.forgets_start": False}, "has no option 'topic_words.forgets_start'"),
        ("online-author-vb", {"own_steps": 1}, "own_steps=1: must be like its default, True"),
    ],
)
def test_what_is_refused_says_why(name, given, message):
    with pytest.raises(SettingError, match=message):
        with_settings(get(name), given)


def test_an_argument_and_an_option_of_one_name_are_refused():
    with pytest.raises(SettingError, match=r"learning_decay=0.6: options has 'learning_decay', too"):
        LDA(2, method="online-vb", learning_decay=0.6, options={"learning_decay": 0.7}).fit(X)


def test_settings_are_saved_and_resumed(tmp_path):
    settings = {"method": "sgs", "options": {"decay": 0.9, "max_sweeps": 7}, "client": False, "n_threads": 1}
    model = LDA(2, **settings).fit(X, checkpoint=tmp_path / "run")
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again._model.method.schemes == {"topic_words": DecayAdd(0.9)}
    assert again._model.options["max_sweeps"] == 7
    for more in (again, model):
        more.partial_fit(X)
    np.testing.assert_array_equal(again.components_, model.components_)
    assert (
        LDA(2, **settings).fit(X, checkpoint=tmp_path / "run", resume=True)._model.method
        == again._model.method
    )
    with pytest.raises(ModelError, match="decay"):
        LDA(2, **{**settings, "options": {"decay": 0.8}}).fit(X, checkpoint=tmp_path / "run", resume=True)


def test_an_option_of_numpy_is_saved_with_what_documents_remember(tmp_path):
    settings = {"method": "cgs", "max_iter": 2, "client": False, "n_threads": 1}
    one, other = (LDA(2, options={"replicas": n}, **settings).fit(X) for n in (3, np.int64(3)))
    np.testing.assert_array_equal(one.components_, other.components_)
    other.save(tmp_path / "model")
    assert load_model(tmp_path / "model")._model.options["replicas"] == 3


def test_settings_of_a_learned_prior_are_saved(tmp_path):
    settings = {"learn_topic_word_prior": "symmetric", "options": {"topic_word_prior.learning_scale": 0.5}}
    model = LDA(2, method="online-vb", max_iter=5, client=False, **settings).fit(X)
    model.save(tmp_path / "model")
    (scheme,) = load_model(tmp_path / "model")._model.method.prior_schemes.values()
    assert scheme.learning_scale == 0.5 and scheme.learning_decay == 0.9


def test_a_setting_of_a_scheme_is_that_of_a_changed_row():
    row = replace(get("sgs"), name="own", schemes={"topic_words": DecayAdd(0.95)})
    by_name = LDA(2, method="sgs", options={"decay": 0.95}, client=False).fit(X).partial_fit(X)
    by_row = LDA(2, method=row, client=False).fit(X).partial_fit(X)
    np.testing.assert_array_equal(by_name.components_, by_row.components_)
    assert (by_name.components_ != LDA(2, method="sgs", client=False).fit(X).partial_fit(X).components_).any()


def test_a_saved_model_goes_on_learning_the_prior_of_authors(corpus, tmp_path):
    settings = {
        "learn_author_topic_prior": "asymmetric",
        "options": {"author_topic_prior.learning_scale": 0.5},
    }
    model = AuthorTopicModel(
        2, method="online-author-vb", max_iter=5, client=False, n_threads=1, **settings
    ).fit(corpus)
    model.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again._model.method == model._model.method
    np.testing.assert_array_equal(
        again.partial_fit(corpus).author_topic_prior_, model.partial_fit(corpus).author_topic_prior_
    )
