"""Priors learned by every method that can: the truth found again, who reads them, the same bits however it runs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from scipy.special import gammaln

from bigtopic import kernels
from bigtopic.corpus.memory import from_matrix
from bigtopic.datasets.synthetic import lda_corpus
from bigtopic.errors import BigtopicWarning, ModelError, SettingError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.learning.estep import evaluate, gather
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.new_run import make_run
from bigtopic.learning.reduce import Tree
from bigtopic.learning.remembering import InMemory
from bigtopic.learning.rounds import round_stats
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method, get
from bigtopic.methods.settings import learning
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.plan.cursor import Cursor
from bigtopic.plan.reading import BlockReader
from bigtopic.schemes.dirichlet import LearnedPrior
from bigtopic.schemes.interpolate import InterpolateNormalised
from bigtopic.state import model_store
from bigtopic.state.checkpoints.checkpoint import Checkpoint
from bigtopic.state.new_model import new_model

sys.path.insert(0, str(Path(__file__).parent))

from collapsed import CGS

pytestmark = pytest.mark.battery
G_OEM = Method(
    "g-oem",
    "gibbs",
    {"topic_words": InterpolateNormalised(learning_decay=0.5)},
    batch_size=100,
    max_iter=20,
    priors={"topic_word_prior": 0.0},
    options={"burn_in": 15, "samples": 5, "start": "words", "statistic": "conditionals"},
)
SAMPLED = replace(CGS, batch_size=None, slice_size=200, max_iter=60)
ONLINE_EM = ("v-oem", "v-oem++")
STREAMING = ("sgs", "streaming-ilr", "cdf")
WHOLE = {
    name: replace(get(name), batch_size=None) for name in (*ONLINE_EM, "online-cvb0", "scvb0", "sgs", "cdf")
}  # full steps of Newton's method
METHODS = {
    **{
        name: replace(get(name), inner=min(get(name).inner, 3))
        for name in ("vb", "online-vb", "online-cvb0", "scvb0", "splda", *ONLINE_EM)
    },
    "g-oem++": replace(get("g-oem++"), inner=3, options={**get("g-oem++").options, "burn_in": 1}),
    "g-oem": G_OEM,
    "cgs": SAMPLED,
    **{name: replace(get(name), batch_size=None, slice_size=200, max_iter=30) for name in ("ilr", "cvb")},
    **{name: replace(get(name), batch_size=100) for name in STREAMING},
}
INTERACTING = {"cgs", "ilr", "cvb", *STREAMING}
OF_DOCUMENTS = METHODS.keys() - {"vb", "online-vb", "splda", "cgs"}  # they learn only the prior of documents
TRUTH = np.array([0.5, 1.0, 2.0, 0.2])


def learner(name: str, n_components: int = 4, at_once: bool = False, **settings: Any) -> LDA:
    settings = {"method": METHODS[name], "learn_doc_topic_prior": "asymmetric", "n_threads": 1, **settings}
    if at_once:
        shapes = [settings.pop(f"learn_{prior}", None) for prior in ("doc_topic_prior", "topic_word_prior")]
        settings["method"] = learning_at_once(settings["method"], *shapes)
    return LDA(n_components, client=False, **settings)


def learning_at_once(method: Method, *shapes: str | None) -> Method:
    """Learns from the first update, for runs of few."""
    method = learning(method, *shapes)

    def early(schemes: Any) -> Any:
        return {k: replace(s, begin=0) if isinstance(s, LearnedPrior) else s for k, s in schemes.items()}

    return replace(method, schemes=early(method.schemes), prior_schemes=early(method.prior_schemes))


@pytest.fixture(scope="module")
def told() -> tuple[Any, np.ndarray]:
    """1000 documents whose words tell their topic, with priors of 0.5, 1, 2 and 0.2; and their counts of topics."""
    rng = np.random.default_rng(0)
    counts = np.array([rng.multinomial(40, theta) for theta in rng.dirichlet(TRUTH, 1000)])
    words = np.hstack([rng.multinomial(column, np.full(10, 0.1)) for column in counts.T])
    return from_matrix(sparse.csr_matrix(words)), counts


def likeliest(counts: np.ndarray) -> np.ndarray:
    """The maximum of the Dirichlet-multinomial likelihood of counts, (n_rows, n)."""

    def loss(logs: np.ndarray) -> float:
        alpha = np.exp(logs)
        value = gammaln(counts + alpha).sum() - len(counts) * gammaln(alpha).sum()
        ends = gammaln(alpha.sum()) - gammaln(counts.sum(axis=1) + alpha.sum())
        return -(value + ends.sum()) / len(counts)

    return np.exp(minimize(loss, np.zeros(counts.shape[1]), tol=1e-10).x)


@pytest.mark.parametrize("name", ["vb", "cgs", *WHOLE])
def test_a_prior_of_known_labels_is_the_likeliest_one(name, told):
    """Topics that share no word are known from the start: then only the prior is left to learn."""
    corpus, counts = told
    start = np.kron(np.eye(4), np.full(10, 0.1)) + 1e-12
    settings = {"init": start, "topic_word_prior": 1e-6, "max_iter": 40, "tol": 0}
    model = learner(name, method=WHOLE.get(name, METHODS[name]), **settings).fit(corpus)
    np.testing.assert_allclose(model.doc_topic_prior_, likeliest(counts), rtol=1e-3)


def beginnings() -> Iterator[Any]:
    """Each method from a fifth or from five times the truth, slowly from both."""
    shapes = [("symmetric", 0.06), ("asymmetric", 1.5), ("symmetric", 1.5)]
    for number, name in enumerate(["vb", "g-oem", "cgs", "ilr", "cvb"]):
        for which, (shape, start) in enumerate(shapes):
            marks = () if which == number % 2 else pytest.mark.slow
            yield pytest.param(name, shape, start, id=f"{name}-{shape}-{start}", marks=marks)


@pytest.mark.parametrize(("name", "shape", "start"), [*beginnings()])
def test_the_prior_of_documents_is_found_again(name, shape, start, drawn):
    """From a fifth and from five times the truth, with topics that are learned at the same time."""
    model = learner(name, 4, learn_doc_topic_prior=shape, doc_topic_prior=start).fit(drawn)
    assert np.abs(np.log(model.doc_topic_prior_.mean() / 0.3)) < np.log(1.25)
    assert (np.ptp(model.doc_topic_prior_) == 0) == (shape == "symmetric")


@pytest.mark.parametrize("start", [0.06, 1.5])
def test_topics_that_share_many_words_make_no_prior_of_uncertainty(start):
    """Expected counts of the kernel `ilr` in place of labels would give 0.55."""
    made = lda_corpus(
        1500, 200, 4, mean_length=100.0, doc_topic_prior=0.3, topic_word_prior=0.3, random_state=1
    )
    settings = {"learn_doc_topic_prior": "symmetric", "topic_word_prior": 0.3, "doc_topic_prior": start}
    model = learner("ilr", **settings).fit(from_matrix(made.counts))
    assert np.abs(np.log(model.doc_topic_prior_[0] / 0.3)) < np.log(1.25)


@pytest.fixture(scope="module")
def drawn() -> Any:
    return from_matrix(
        lda_corpus(1500, 200, 4, mean_length=100.0, doc_topic_prior=0.3, random_state=1).counts
    )


def test_the_bound_of_batch_vb_does_not_fall(corpus):
    settings = {"learn_topic_word_prior": "symmetric", "mean_change_tol": 0.0, "tol": 0.0, "max_iter": 25}
    for shape in ("symmetric", "asymmetric"):
        model = learner("vb", learn_doc_topic_prior=shape, options={"bound": True}, **settings).fit(corpus)
        bounds = np.array([row["bound"] for row in model.history_])
        assert len(bounds) == 25 and (np.diff(bounds) > -1e-6 * np.abs(bounds[1:])).all()
        fixed = learner("vb", learn_doc_topic_prior=None, options={"bound": True}, max_iter=25, tol=0.0)
        assert bounds[-1] > fixed.fit(corpus).history_[-1]["bound"]


@pytest.mark.parametrize("shape", ["symmetric", "asymmetric"])
@pytest.mark.parametrize("name", ["vb", "cgs"])
def test_the_prior_of_one_topic_is_the_likeliest_one(name, shape, drawn):
    """With one topic its counts are those of the words, and only the prior is left to learn."""
    some = drawn[:300]
    counts = np.asarray(some.to_scipy().sum(axis=0)).astype(float)
    settings = {"learn_doc_topic_prior": None, "learn_topic_word_prior": shape, "max_iter": 60, "tol": 0}
    model = learner(name, 1, **settings).fit(some)
    if shape == "asymmetric":  # one draw of 200 components: no finite maximum, but better than one number
        assert evidence(counts, model.topic_word_prior_) > evidence(counts, best_number(counts))
    else:
        assert model.topic_word_prior_ == pytest.approx(best_number(counts), rel=1e-3)


def evidence(counts: np.ndarray, eta: float | np.ndarray) -> float:
    eta = np.broadcast_to(eta, counts.shape)
    ends = gammaln(eta.sum()) - gammaln(counts.sum() + eta.sum())
    return float(gammaln(counts + eta).sum() - gammaln(eta).sum() + ends)


def best_number(counts: np.ndarray) -> float:
    return float(minimize_scalar(lambda eta: -evidence(counts, eta), (0.01, 1.0), tol=1e-8).x)


@pytest.mark.parametrize("name", METHODS)
def test_one_thread_or_three(name, corpus):
    settings = {"max_iter": 2, "batch_size": 70} if name not in INTERACTING else {"max_iter": 2}
    if name not in OF_DOCUMENTS:
        settings["learn_topic_word_prior"] = "asymmetric"
    one, three = (learner(name, at_once=True, n_threads=n, **settings).fit(corpus) for n in (1, 3))
    np.testing.assert_array_equal(three.doc_topic_prior_, one.doc_topic_prior_)
    np.testing.assert_array_equal(three.components_, one.components_)
    assert len(set(one.doc_topic_prior_)) == 4


@pytest.mark.parametrize("name", METHODS)
def test_a_graph_of_tasks_gives_the_same_bits(name, corpus):
    shape = None if name in OF_DOCUMENTS else "asymmetric"
    method = learning_at_once(METHODS[name], "asymmetric", shape)
    ends = []
    for executor in (None, lambda run: GraphExecutor(run, scheduler="sync")):
        model = new_model(method, 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
        sizes = {"batch_size": method.batch_size and 70, "slice_size": 20, "n_threads": 1}
        train(model, corpus, Limits(2), executor=executor, **sizes)
        ends.append(model)
    for array in ("topic_words", "doc_topic_prior"):
        one, other = (model.params[array] for model in ends)
        assert one.raw.tobytes() == other.raw.tobytes() and one.prior.tobytes() == other.prior.tobytes()
    assert (ends[0].topic_words.prior.size > 1) == (shape is not None)


@pytest.mark.parametrize("name", METHODS)
def test_nothing_is_learned_unless_asked_for(name, corpus):
    model = learner(name, learn_doc_topic_prior=None, doc_topic_prior=0.3, max_iter=1).fit(corpus)
    np.testing.assert_array_equal(model.doc_topic_prior_, 0.3)
    assert "doc_topic_prior" not in model._model.method.schemes and not model._model.method.prior_schemes


@pytest.mark.parametrize("shape", ["symmetric", "asymmetric"])
def test_a_saved_model_goes_on_learning_its_priors(shape, corpus, tmp_path):
    settings = {"learn_topic_word_prior": shape, "learn_doc_topic_prior": shape, "learning_decay": 0.6}
    model = learner("online-vb", batch_size=50, max_iter=2, **settings).fit(corpus)
    model.method = "online-vb"
    model.save(tmp_path / "model.zarr")
    loaded = load_model(tmp_path / "model.zarr")
    loaded.set_params(client=False, n_threads=1)
    np.testing.assert_array_equal(loaded.doc_topic_prior_, model.doc_topic_prior_)
    np.testing.assert_array_equal(loaded.topic_word_prior_, model.topic_word_prior_)
    np.testing.assert_array_equal(loaded.transform(corpus), model.transform(corpus))
    assert loaded._model.method == model._model.method
    before = model.doc_topic_prior_
    for each in (model, loaded):
        each.partial_fit(corpus)
    np.testing.assert_array_equal(loaded.doc_topic_prior_, model.doc_topic_prior_)
    np.testing.assert_array_equal(loaded.topic_word_prior_, model.topic_word_prior_)
    assert (model.doc_topic_prior_ != before).all()


@pytest.mark.parametrize("name", ["vb", "online-vb"])
def test_a_run_that_ends_before_learning_begins_warns(name, corpus):
    """Batches take whole steps, and begin with the fourth; minibatches of `online-vb` with the eighteenth."""
    begins, updates = {"vb": (4, 1), "online-vb": (18, 3)}[name]
    settings = {} if name == "vb" else {"batch_size": 100}
    message = rf"^learn_doc_topic_prior: .*update {begins},.* options=\{{'doc_topic_prior\.begin': 3\.0\}}$"
    with pytest.warns(BigtopicWarning, match=message):
        short = learner(name, max_iter=3, tol=0, **settings).fit(corpus)
    assert np.ptp(short.doc_topic_prior_) == 0
    enough = learner(name, max_iter=-(-begins // updates), tol=0, **settings).fit(corpus)
    assert np.ptp(enough.doc_topic_prior_) > 0


def test_a_prior_of_words_at_rest_is_named_as_its_argument(corpus):
    with pytest.warns(BigtopicWarning, match=r"^learn_topic_word_prior: .*'topic_word_prior\.begin'"):
        settings = {"learn_topic_word_prior": "symmetric", "client": False, "n_threads": 1}
        LDA(3, method="vb", max_iter=2, tol=0, **settings).fit(corpus)


@pytest.mark.parametrize("name", ["learn_doc_topic_prior", "learn_topic_word_prior"])
@pytest.mark.parametrize("shape", [np.array(["symmetric"]), ["symmetric"], True, "round"], ids=repr)
def test_a_shape_that_is_none_is_refused_by_the_name_of_its_setting(name, shape, corpus):
    with pytest.raises(SettingError, match=rf"{name}=.*must be one of 'symmetric', 'asymmetric'"):
        learner("vb", max_iter=1, **{name: shape}).fit(corpus)


def test_a_shape_that_is_edited_in_the_file_is_refused(corpus, tmp_path):
    import zarr

    learner("online-vb", max_iter=4).set_params(method="online-vb").fit(corpus).save(tmp_path / "model.zarr")
    group = zarr.open_group(tmp_path / "model.zarr")
    about = dict(group.attrs["bigtopic-model"])
    about["schemes"]["doc_topic_prior"]["shape"] = "round"
    group.attrs["bigtopic-model"] = about
    with pytest.raises(ModelError, match="shape='round'"):
        model_store.load(tmp_path / "model.zarr")


# What a run remembers of priors: of documents alone, of words too; with inner iterations, and labels of documents.
CUT = ["vb", "online-cvb0", "splda", "g-oem++", "cgs"]


@pytest.mark.parametrize(
    "name", [name if name in CUT else pytest.param(name, marks=pytest.mark.slow) for name in METHODS]
)
def test_a_run_that_is_cut_goes_on_to_the_same_bits(name, corpus, tmp_path):
    settings: dict[str, Any] = {"max_iter": 2, "tol": 0.0}
    settings |= {} if name in {"vb", *INTERACTING} else {"batch_size": 70}
    settings |= {} if name in OF_DOCUMENTS else {"learn_topic_word_prior": "symmetric"}
    whole = learner(name, at_once=True, **settings).fit(corpus)

    def stop(event: Any) -> None:
        if event.kind == "round" and not stopped:  # a second Ctrl-C would not wait for rounds that overlap
            stopped.append(event)
            os.kill(os.getpid(), signal.SIGINT)

    run = Checkpoint(tmp_path / "run.ckpt")
    for _ in range(20):
        stopped: list[Any] = []
        part = learner(name, at_once=True, callbacks=[stop], **settings).fit(
            corpus, checkpoint=run, resume=True
        )
        if not stopped:  # nothing was left
            break
    np.testing.assert_array_equal(part.doc_topic_prior_, whole.doc_topic_prior_)
    np.testing.assert_array_equal(part.components_, whole.components_)


def test_statistics_of_a_boosted_round_name_the_prior_that_documents_were_inferred_with(corpus):
    """Provisional where earlier inner iterations have learned it; a round of one inner iteration has none."""
    for name, n_inner in (("splda", 20), ("v-oem", 1)):
        model = new_model(learning(get(name), "asymmetric"), 4, corpus.vocabulary, n_tokens=corpus.n_tokens)
        run = make_run(model, corpus, batch_size=3, slice_size=None, order="stored")
        reader, kept, seen = BlockReader(run.parts, ahead=0), InMemory(), []

        def map_reduce(rnd, arrays, iteration, run=run, reader=reader, kept=kept, seen=seen):
            seen.append(arrays[DOC_TOPIC_PRIOR].first_row())
            tree = Tree(len(rnd.slices))
            for ref in rnd.slices:
                gathered = gather(reader.block(ref), arrays, run.work)
                tree.push(evaluate(ref, gathered, run.work, iteration, kept))
            kept.flush()
            return tree.result()

        stats = round_stats(model.params, next(run.plan.rounds(0)), Cursor(), run.settings, map_reduce)
        assert len(seen) == n_inner
        if n_inner == 1:
            assert stats.prior is None
        else:
            np.testing.assert_array_equal(stats.prior, seen[-1])
            assert np.abs(seen[-1] - seen[0]).max() > 0.01


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learn_doc_topic_prior": "auto"}, r"learn_doc_topic_prior='auto'.*'symmetric', 'asymmetric'"),
        ({"learn_topic_word_prior": 1}, r"learn_topic_word_prior=1.*'symmetric', 'asymmetric'"),
        (
            {"learn_doc_topic_prior": "symmetric", "doc_topic_prior": np.ones(4)},
            r"shape \(4,\).*a number; give",
        ),
        (
            {"learn_topic_word_prior": "asymmetric", "topic_word_prior": np.ones((4, 80))},
            r"shape \(4, 80\).*a number or a vector",
        ),
        (
            {"learn_doc_topic_prior": "symmetric", "doc_topic_prior": 1e24},
            r"doc_topic_prior=1e\+24: .*between 0.0001 and 10000",
        ),
        (
            {"learn_topic_word_prior": "asymmetric", "topic_word_prior": [0.1] * 79 + [0]},
            r"topic_word_prior=.*0\]: .*between 0.0001 and 10000",
        ),
    ],
)
def test_settings_that_are_refused(settings, message, corpus):
    with pytest.raises(SettingError, match=message):
        LDA(4, method="vb", client=False, **settings).fit(corpus)


@pytest.mark.parametrize("prior", ["doc_topic_prior", "topic_word_prior"])
def test_a_method_that_cannot_names_those_that_can(prior, corpus):
    can = {"doc_topic_prior": "offers", "topic_word_prior": "posteriors"}[prior]
    for name in kernels.names():
        kernel = kernels.load(name)
        if getattr(kernel, can) or not kernel.views.keys() <= get("streaming-ope").model.arrays.keys():
            continue
        sizes = {"batch_size": 10, "slice_size": 10}
        method = replace(get("streaming-ope"), name="own", kernel=name, options={}, **sizes)
        with pytest.raises(
            SettingError, match=rf"learn_{prior}: method 'own'.*'{name}'.*\bvb, online-vb.*cgs"
        ):
            LDA(4, method=method, client=False, **{f"learn_{prior}": "symmetric"}).fit(corpus)
