"""The loop of learning: what it computes, when it stops, what it tells, and that watching changes nothing."""

from __future__ import annotations

import signal
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.special import gammaln, psi

from bigtopic import methods as table
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError
from bigtopic.learning import executors
from bigtopic.learning.executors import choice
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.stopping import Limits, interruptible
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.state import machine_memory
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model

K = 4
ACCURATE = {"max_doc_update_iter": 200, "mean_change_tol": 0.0, "bound": True}


def make_model(method: str | Method, corpus: Any, n_components: int = K, **settings: Any) -> TopicModel:
    settings = {"seed": 1, **settings}
    return new_model(table.get(method), n_components, corpus.vocabulary, n_tokens=corpus.n_tokens, **settings)


def learn(
    method: str | Method, corpus: Any, n_passes: int = 1, batch: int | None = 50, **more: Any
) -> TopicModel:
    """Train for some passes; settings of `Limits` and of the model are told apart by name."""
    limits = {name: more.pop(name) for name in list(more) if name in Limits.__dataclass_fields__}
    run = {name: more.pop(name) for name in ("executor", "order", "total_docs", "slice_size") if name in more}
    model = make_model(method, corpus, **more)
    train(model, corpus, Limits(n_passes, **limits), batch_size=batch, n_threads=1, **run)
    return model


def bits(model: TopicModel) -> bytes:
    array = model.topic_words
    return array.raw.tobytes() + array.scale.tobytes() + array.sums.tobytes()


def weights(model: TopicModel) -> np.ndarray:
    """In the literature lambda, float64 (n_words, n_components)."""
    return model.topic_words.gather(None)[:, : model.n_components].astype(float)


# ---------------------------------------------------------------- what is computed


def test_a_stochastic_step_of_size_one_on_the_whole_corpus_is_a_batch_step(corpus):
    stochastic = replace(
        table.get("vb"), name="svi", schemes={"topic_words": Interpolate(learning_decay=None)}
    )
    batch, svi = learn("vb", corpus, 3, None), learn(stochastic, corpus, 3, None)
    np.testing.assert_allclose(weights(svi), weights(batch), rtol=1e-6)


def e_step(counts: np.ndarray, lam: np.ndarray, alpha: float) -> tuple[np.ndarray, float]:
    """Dense VB of every document by its definition: statistics, and the documents' part of the bound."""
    log_beta = psi(lam) - psi(lam.sum(axis=0))
    statistics, bound = np.zeros_like(lam), 0.0
    for n in counts:
        gamma, words = np.ones(lam.shape[1]), np.flatnonzero(n)
        for _ in range(200):
            logs = log_beta[words] + psi(gamma)
            phi = np.exp(logs - logs.max(axis=1, keepdims=True))
            phi /= phi.sum(axis=1, keepdims=True)
            gamma = alpha + n[words] @ phi
        log_theta = psi(gamma) - psi(gamma.sum())
        logs = log_beta[words] + log_theta
        top = logs.max(axis=1, keepdims=True)
        log_z = top[:, 0] + np.log(np.exp(logs - top).sum(axis=1))
        statistics[words] += n[words][:, None] * np.exp(logs - log_z[:, None])
        bound += n[words] @ log_z
        bound += ((alpha - gamma) * log_theta).sum() + gammaln(gamma).sum() - gammaln(gamma.sum())
        bound += gammaln(alpha * len(gamma)) - len(gamma) * gammaln(alpha)
    return statistics, bound


def topics_bound(lam: np.ndarray, eta: float) -> float:
    log_beta = psi(lam) - psi(lam.sum(axis=0))
    per_topic = ((eta - lam) * log_beta).sum(axis=0) + gammaln(lam).sum(axis=0) - gammaln(lam.sum(axis=0))
    return float((per_topic + gammaln(eta * len(lam)) - len(lam) * gammaln(eta)).sum())


@pytest.mark.costly
@pytest.mark.parametrize("eta", [0.3, 1e-2, 1e-3])
def test_batch_vb_and_its_bound_are_those_of_dense_numpy(synthetic, eta):
    """Also at priors where exp(E log beta) underflows: rows are shifted, the bound is not."""
    docs = from_matrix(synthetic.counts[:60], shuffle=False)
    counts = synthetic.counts[:60].toarray().astype(float)
    settings = {"priors": {"topic_word_prior": eta}, "options": ACCURATE, "slice_size": 13}
    lam = weights(make_model("vb", docs, priors={"topic_word_prior": eta}))
    model = learn("vb", docs, 3, None, **settings)
    for row in model.history:
        statistics, documents = e_step(counts, lam, 1 / K)
        expected = (documents + topics_bound(lam, eta)) / counts.sum()
        np.testing.assert_allclose(row["bound"], expected, rtol=2e-5)
        lam = eta + statistics
    np.testing.assert_allclose(weights(model), lam, rtol=5e-3, atol=5e-3)


def test_the_bound_never_falls(corpus):
    bounds = [row["bound"] for row in learn("vb", corpus, 25, None, options=ACCURATE).history]
    steps = np.diff(bounds)
    assert (steps > -1e-6).all() and bounds[-1] > bounds[0] + 0.1


def test_no_bound_is_told_where_there_is_none(corpus):
    assert [row["bound"] for row in learn("online-vb", corpus, options=ACCURATE).history] == [None]
    assert [row["bound"] for row in learn("online-cvb0", corpus).history] == [None]


@pytest.mark.parametrize("method", ["streaming-vb", "streaming-ope"])
def test_streaming_updates_count_every_token_once(method, corpus):
    begun = make_model(method, corpus).topic_words.totals().sum()
    total = learn(method, corpus, 2).topic_words.totals().sum()
    np.testing.assert_allclose(total, begun + 2 * corpus.n_tokens, rtol=1e-6)


def test_the_declared_size_of_a_stream_scales_what_a_minibatch_says(corpus):
    small, large = (learn("online-vb", corpus, batch=300, total_docs=n) for n in (300, 3000))
    start = make_model("online-vb", corpus).topic_words.totals().sum()
    rate = 2.0**-0.9
    for model, factor in ((small, 1), (large, 10)):
        expected = (1 - rate) * start + rate * factor * corpus.n_tokens
        np.testing.assert_allclose(model.topic_words.totals().sum(), expected, rtol=1e-5)


def test_a_last_short_minibatch_is_scaled_by_its_own_size(corpus):
    """Every minibatch stands for the whole corpus, so the total stays that of the corpus once it is."""
    method = replace(table.get("online-cvb0"), schemes={"topic_words": Interpolate(scale="tokens")})
    model = learn(method, corpus, 2, batch=170)  # 170 and 130
    np.testing.assert_allclose(model.topic_words.totals().sum(), corpus.n_tokens, rtol=1e-5)


def test_topics_of_a_known_corpus_are_found(synthetic, corpus):
    """The best of some starts: each true topic has a learnt one much nearer than the average word distribution is."""
    from bigtopic.evaluation import log_predictive

    models = [learn("online-cvb0", corpus, 10, seed=seed) for seed in range(6)]
    model = max(models, key=lambda model: log_predictive(model, corpus, client=False).value)
    learnt = (weights(model) / weights(model).sum(axis=0)).T
    truth = synthetic.components
    distance = np.abs(truth[:, None, :] - learnt[None]).sum(axis=2) / 2
    average = np.abs(truth - truth.mean(axis=0)).sum(axis=1) / 2
    assert sorted(distance.argmin(axis=1)) == [0, 1, 2, 3]
    assert (distance.min(axis=1) < 0.3 * average).all()


def test_single_and_double_precision_score_alike(corpus):
    from bigtopic.evaluation import log_predictive

    class Precise(Interpolate):
        dtype = "float64"

    scores = []
    for scheme in (Interpolate(), Precise()):
        method = replace(table.get("online-cvb0"), schemes={"topic_words": scheme})
        model = learn(method, corpus, 5)
        scores.append(log_predictive(model, corpus, client=False).value)
        assert model.topic_words.raw.dtype == getattr(scheme, "dtype", "float32")
    assert abs(scores[0] - scores[1]) < 1e-3


# ---------------------------------------------------------------- when it stops


PROMPT = table.get("online-cvb0")


class Recorder:
    """Bits of the model after every update."""

    def __init__(self) -> None:
        self.model: TopicModel | None = None
        self.bits: dict[int, bytes] = {}
        self.kinds: list[str] = []
        self.reason: str | None = None

    def __call__(self, event: Any) -> None:
        self.kinds.append(event.kind)
        self.reason = event.reason or self.reason
        if event.kind == "round":
            assert self.model is not None
            self.bits[event.step] = bits(self.model)


def recorded(corpus: Any, n_passes: int = 2, extra: Any = None, **limits: Any) -> tuple[TopicModel, Recorder]:
    """Minibatches of 50: six updates a pass, none of them delayed."""
    recorder = Recorder()
    recorder.model = make_model(PROMPT, corpus)
    callbacks = [recorder] if extra is None else [recorder, extra]
    train(recorder.model, corpus, Limits(n_passes, callbacks=callbacks, **limits), batch_size=50, n_threads=1)
    return recorder.model, recorder


@pytest.fixture(scope="module")
def undisturbed(corpus) -> Recorder:
    return recorded(corpus)[1]


def test_a_time_limit_truncates_and_changes_nothing_else(corpus, undisturbed):
    def dawdle(event):
        if event.step == 4:
            time.sleep(max(0.0, 1.01 - event.seconds))

    model, recorder = recorded(corpus, extra=dawdle, max_time=1.0)
    assert recorder.reason == "max_time" and model.cursor.step <= 4
    assert bits(model) == undisturbed.bits[model.cursor.step]


def test_a_pass_that_ends_with_the_time_is_a_pass(corpus):
    recorder = Recorder()
    recorder.model = make_model("vb", corpus)
    train(recorder.model, corpus, Limits(5, max_time=1e-6, callbacks=[recorder]), n_threads=1)
    assert recorder.model.cursor.step <= 1
    model = make_model("vb", corpus)
    slow = Limits(5, max_time=0.5, callbacks=[lambda event: time.sleep(0.6 if event.kind == "round" else 0)])
    train(model, corpus, slow, n_threads=1)
    assert (model.cursor.pass_number, model.cursor.round, model.cursor.step) == (1, 0, 1)
    assert [row["pass"] for row in model.history] == [1]


def test_the_first_interrupt_ends_the_run_after_the_round(corpus, undisturbed):
    def interrupt(event):
        if event.kind == "round" and event.step == 3:
            signal.raise_signal(signal.SIGINT)

    usual = signal.getsignal(signal.SIGINT)
    model, recorder = recorded(corpus, extra=interrupt)
    assert recorder.reason == "interrupt" and model.cursor.step == 3
    assert bits(model) == undisturbed.bits[3]
    assert signal.getsignal(signal.SIGINT) is usual


def test_a_signal_that_is_ignored_stays_ignored():
    usual = signal.signal(signal.SIGINT, signal.SIG_IGN)  # as of jobs that a shell has in the background
    try:
        with interruptible() as stop:
            signal.raise_signal(signal.SIGINT)
            assert not stop.is_set() and signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, usual)


def test_a_signal_that_other_code_handles_is_left_to_it(monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda number: None)  # the handler was not installed from Python
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with interruptible():
            pass
    finally:
        signal.signal(signal.SIGINT, handler)


def test_a_second_interrupt_is_raised_and_leaves_a_valid_model(corpus, undisturbed):
    model = make_model(PROMPT, corpus)

    def insist(event):
        if event.kind == "round" and event.step == 3:
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    usual = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        train(model, corpus, Limits(2, callbacks=[insist]), batch_size=50, n_threads=1)
    assert bits(model) == undisturbed.bits[3]
    assert signal.getsignal(signal.SIGINT) is usual


def test_a_callback_that_fails_ends_the_run_and_leaves_a_valid_model(corpus, undisturbed):
    model = make_model(PROMPT, corpus)

    def fail(event):
        if event.kind == "round" and event.step == 2:
            raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        train(model, corpus, Limits(2, callbacks=[fail]), batch_size=50, n_threads=1)
    assert model.cursor.step == 2 and bits(model) == undisturbed.bits[2]


@pytest.mark.parametrize(
    "make", [lambda run: ThreadExecutor(run, 2), lambda run: GraphExecutor(run, scheduler="sync")]
)
def test_a_run_goes_on_from_its_cursor_to_the_same_bits(corpus, undisturbed, make):
    def interrupt(event):
        if event.kind == "round" and event.step == 8:
            signal.raise_signal(signal.SIGINT)

    model, _ = recorded(corpus, extra=interrupt)
    assert (model.cursor.pass_number, model.cursor.round) == (1, 2)
    train(model, corpus, Limits(1), batch_size=50, executor=make)
    assert model.cursor.step == 12 and bits(model) == undisturbed.bits[12]


def test_a_run_is_cut_at_the_end_of_an_exchange(corpus):
    """Three hundred updates a pass; asked to end after the eighteenth, it stands where an exchange of four ends."""

    def interrupt(event):
        if event.kind == "round" and event.step == 18:
            signal.raise_signal(signal.SIGINT)

    model = learn("online-cvb0", corpus, batch=1, callbacks=[interrupt])
    assert (model.cursor.round, model.cursor.step) == (20, 20)
    train(model, corpus, Limits(1), batch_size=1, n_threads=2)
    assert bits(model) == bits(learn("online-cvb0", corpus, batch=1))


class Saves:
    """Would save after every round; notes where the model stood."""

    counts = None

    def __init__(self) -> None:
        self.steps: list[int] = []

    def due(self, step: int) -> bool:
        return True

    def save(self, model: TopicModel, counts: Any) -> None:
        self.steps.append(model.cursor.step)


def test_a_scale_becomes_too_small_inside_an_exchange():
    """In a long run, every scale does."""
    large = replace(table.get("online-cvb0"), schemes={"topic_words": Interpolate(None, learning_scale=1.0)})
    corpus = from_matrix(np.ones((256, 8)))
    model = new_model(large, 2, corpus.vocabulary, n_tokens=corpus.n_tokens)
    train(model, corpus, Limits(1), batch_size=1, n_threads=1)
    assert model.cursor.step == 256
    np.testing.assert_allclose(model.topic_words.totals().sum(), corpus.n_tokens, rtol=1e-4)


def test_a_failure_loses_the_rounds_of_its_exchange(corpus):
    usual, method, calls = table.get("online-cvb0").load_kernel(), table.get("online-cvb0"), []

    def breaks(*arguments):
        calls.append(None)
        if len(calls) == 50:
            raise ValueError("mine")
        return usual.run(*arguments)

    model = make_model(replace(method, kernel=replace(usual, run=breaks)), corpus)
    saver = Saves()
    with pytest.raises(ValueError, match="mine"):
        train(model, corpus, Limits(1), batch_size=1, n_threads=1, saver=saver)
    assert saver.steps == [1, 2, 3, 4, 5, 6, 7, 8, *range(12, 49, 4)] and model.cursor.step == 48


def test_a_relative_change_of_the_bound_ends_batch_learning(corpus):
    recorder = Recorder()
    recorder.model = model = make_model("vb", corpus, options={"bound": True})
    train(model, corpus, Limits(100, tol=1e-3, callbacks=[recorder]), n_threads=1)
    bounds = [row["bound"] for row in model.history]
    changes = np.abs(np.diff(bounds) / bounds[:-1])
    assert recorder.reason == "tol" and len(bounds) < 100
    assert changes[-1] < 1e-3 and (changes[:-1] >= 1e-3).all()


def test_topics_at_rest_end_learning(corpus):
    events = []
    model = make_model("online-cvb0", corpus)
    before = weights(model) / weights(model).sum(axis=0)
    train(model, corpus, Limits(50, tol=0.9, callbacks=[events.append]), batch_size=50, n_threads=1)
    moved = np.abs(weights(model) / weights(model).sum(axis=0) - before).sum(axis=0).mean() / 2
    assert model.cursor.pass_number == 1 and events[-1].reason == "tol"
    np.testing.assert_allclose(model.history[0]["change"], moved, rtol=1e-4)
    np.testing.assert_allclose([e.change for e in events if e.kind == "pass"], [moved], rtol=1e-4)


def test_patience_ends_after_scores_without_a_better_one(corpus):
    scores = iter([-5.0, -4.0, -4.5, -4.2, -3.0, -2.0])
    model, recorder = recorded(corpus, 10, score=lambda model: next(scores), patience=2)
    assert recorder.reason == "score" and model.cursor.pass_number == 4
    assert [row["score"] for row in model.history if "score" in row] == [-5.0, -4.0, -4.5, -4.2]


def test_scores_come_every_so_many_updates_and_at_the_end_of_a_pass(corpus):
    steps = []
    _, recorder = recorded(
        corpus, 2, score=lambda model: steps.append(model.cursor.step) or -1.0, evaluate_every=4
    )
    assert steps == [4, 6, 8, 12]
    assert recorder.kinds.count("score") == 4


# ---------------------------------------------------------------- what it tells


def tale(events: list[Any]) -> list[tuple]:
    return [
        (
            e.kind,
            e.step,
            e.pass_number,
            e.n_docs,
            e.n_tokens,
            e.score,
            e.bound,
            e.change,
            e.reason,
            dict(e.info),
        )
        for e in events
    ]


EXECUTORS = {
    "two threads": lambda run: ThreadExecutor(run, 2),
    "graph": lambda run: GraphExecutor(run, scheduler="sync"),
}


def told(corpus: Any, method: str, batch: int | None, executor: Any) -> list[tuple]:
    events: list[Any] = []
    options = {"bound": True} if method == "vb" else {}
    scores = {"score": lambda model: float(weights(model)[0, 0]), "evaluate_every": 4}
    learn(
        method,
        corpus,
        2,
        batch,
        callbacks=[events.append],
        executor=executor,
        options=options,
        tol=1e-9,
        **scores,
    )
    return tale(events)


@pytest.mark.parametrize("executor", EXECUTORS.values(), ids=EXECUTORS.keys())
@pytest.mark.parametrize(("method", "batch"), [("online-cvb0", 50), ("vb", None)])
def test_events_are_the_same_in_every_executor(corpus, executor, method, batch):
    expected = told(corpus, method, batch, None)
    assert expected[0][0] == "start" and expected[-1][0] == "end"
    assert told(corpus, method, batch, executor) == expected


@pytest.mark.slow
@pytest.mark.distributed
def test_events_are_the_same_on_workers(corpus, one_worker):
    expected = told(corpus, "online-cvb0", 50, None)
    for mode in ("whole", "graphs"):
        assert (
            told(corpus, "online-cvb0", 50, lambda run, m=mode: executors.load(m).make(run, one_worker, 1))
            == expected
        )


def test_a_callback_cannot_change_the_result(corpus):
    def meddle(event):
        if isinstance(event.info, dict):
            event.info["bound"] = 1e9

    watched = learn("vb", corpus, 30, None, options={"bound": True}, tol=1e-3, callbacks=[meddle])
    alone = learn("vb", corpus, 30, None, options={"bound": True}, tol=1e-3)
    assert bits(watched) == bits(alone)
    assert [row["bound"] for row in watched.history] == [row["bound"] for row in alone.history]


def test_history_has_a_row_for_each_pass(corpus):
    rows = learn("online-cvb0", corpus, 3).history
    assert [row["pass"] for row in rows] == [1, 2, 3] and [row["step"] for row in rows] == [6, 12, 18]
    assert [row["n_docs"] for row in rows] == [300, 600, 900]
    np.testing.assert_allclose([row["n_tokens"] for row in rows], np.arange(1, 4) * corpus.n_tokens)
    assert all(row["tokens_per_second"] > 0 and row["seconds"] > 0 for row in rows)


def test_the_stored_order_is_followed(corpus):
    """Streaming updates depend on the order: the first half and then the second half is the whole."""
    whole = learn("streaming-ope", corpus, order="stored")
    halves = make_model("streaming-ope", corpus)
    parts = (corpus.run(0, 150, order="stored"), corpus.run(150, order="stored"))
    for number, part in enumerate(parts):
        train(halves, part, Limits(1), batch_size=50, order="stored", n_threads=1)
        halves.cursor = replace(halves.cursor, pass_number=0)
        assert halves.cursor.step == 3 * (number + 1)
    assert bits(whole) == bits(halves)
    assert bits(whole) != bits(learn("streaming-ope", corpus))


def test_a_run_that_cannot_fit_is_refused_with_the_setting(corpus, monkeypatch):
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 1000)
    with pytest.raises(SettingError, match="fewer topics"):
        make_model("online-cvb0", corpus)
    monkeypatch.setattr(machine_memory, "total_bytes", lambda: 20_000)
    with pytest.raises(SettingError, match="batch_size"):
        learn("online-cvb0", corpus)


def test_a_model_without_words_in_common_learns_nothing(corpus):
    other = from_matrix(np.ones((4, 3)), ["x", "y", "z"])
    model = make_model("online-cvb0", corpus)
    before = bits(model)
    train(model, other, Limits(1), batch_size=2, n_threads=1)
    assert bits(model) == before


@pytest.mark.parametrize("n_threads", [1, 4])
def test_threads_without_work_are_said(n_threads, monkeypatch, capsys):
    """What is remembered of documents keeps updates apart, and each is one or two slices."""
    monkeypatch.setattr(choice, "LONG_PASS_SECONDS", 0.0)
    corpus = from_matrix(np.ones((100, 5)))
    model = make_model("ilr", corpus)
    train(model, corpus, Limits(1), batch_size=50, slice_size=50, n_threads=n_threads)
    expected = "minibatches of 50 documents are 1 slice each and follow one another, so they keep 1 of 4 threads busy"
    assert (expected in capsys.readouterr().err) is (n_threads > 1)
