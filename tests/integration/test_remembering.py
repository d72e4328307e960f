"""What kernels remember of documents: counted once, however a run is cut, continued, spread over workers or disturbed.

The toy `labels` adds the change of its labels to the params, so the statistics are the counts of its labels. Whatever
is remembered wrongly shows as a token that is counted twice, or not at all.
"""

from __future__ import annotations

import copy
import errno
import os
import pickle
import signal
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bigtopic.corpus.memory import MemoryPart, from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.corpus.vocabulary import Vocabulary
from bigtopic.errors import ModelError, SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.learning import history, remembering
from bigtopic.learning.executors import base
from bigtopic.learning.executors.asynchronous import AsynchronousExecutor, Threads
from bigtopic.learning.executors.graphs import GraphExecutor
from bigtopic.learning.executors.threads import ThreadExecutor
from bigtopic.learning.executors.whole import WholeExecutor
from bigtopic.learning.new_run import make_run, with_document_state
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.plan.cursor import Cursor
from bigtopic.state import model_store
from bigtopic.state.axes import axes_of
from bigtopic.state.documents.document_state import DocumentState
from bigtopic.state.documents.state_files import StateFiles
from bigtopic.state.lazy_array import LazyArray
from bigtopic.state.model import TopicModel
from bigtopic.state.new_model import new_model
from bigtopic.storage import row_arrays
from bigtopic.types import KernelResult

sys.path.insert(0, str(Path(__file__).parent))

import toys
from toys.inner import METHOD as INNER
from toys.labels import METHOD as LABELS
from toys.labels import label

N_COMPONENTS = 3
ONE_ROUND = {"batch_size": None, "slice_size": 35}

IN_PROCESS = {
    "two threads": lambda run: ThreadExecutor(run, 2),
    "graph, sync": lambda run: GraphExecutor(run, scheduler="sync"),
    "graph, threads": lambda run: GraphExecutor(run, scheduler="threads"),
}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def some(first: int, n_docs: int, n_words: int) -> MemoryPart:
    rng = np.random.default_rng(first)
    counts = rng.poisson(0.15, (n_docs, n_words))
    block = from_matrix(counts + (np.arange(n_words) == first % n_words), shuffle=False).read()
    return MemoryPart(f"part {first}", replace(block, rows=block.rows + first))


@pytest.fixture(scope="module")
def documents() -> Corpus:
    """210 documents in two parts."""
    return Corpus([some(0, 120, 30), some(120, 90, 30)], Vocabulary([f"w{i}" for i in range(30)]))


@pytest.fixture(scope="module")
def more(documents) -> Corpus:
    """The same with a third part and five more words."""
    return Corpus([*documents.parts, some(210, 50, 35)], Vocabulary([f"w{i}" for i in range(35)]))


@pytest.fixture
def new(documents) -> Callable[..., TopicModel]:
    """Makes models that have seen nothing."""

    def make(method: Any = LABELS, corpus: Corpus = documents) -> TopicModel:
        return new_model(
            method, N_COMPONENTS, axes_of(method.model, corpus), n_tokens=corpus.n_tokens, seed=3
        )

    return make


def learn(
    model: TopicModel,
    documents: Corpus,
    n_passes: int = 1,
    executor: Any = None,
    client: Any = None,
    **set: Any,
) -> TopicModel:
    sizes = {"batch_size": 70, "slice_size": 35, "order": "shuffled"}
    limits = {name: set.pop(name) for name in ("callbacks", "max_time") if name in set}
    train(
        model,
        documents,
        Limits(n_passes, **limits),
        n_threads=1,
        executor=executor,
        client=client,
        **{**sizes, **set},
    )
    return model


def cut(model: TopicModel, documents: Corpus, step: int, **set: Any) -> TopicModel:
    """Ctrl-C after an update."""

    def interrupt(event: Any) -> None:
        if event.kind == "round" and event.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    return learn(model, documents, callbacks=[interrupt], **set)


def statistics(model: TopicModel) -> np.ndarray:
    return model.topic_words.raw[:, :N_COMPONENTS]


def counted(model: TopicModel, documents: Corpus) -> np.ndarray:
    """What the labels say: counts of words by topic; entries without a label are left out."""
    counts = np.zeros((len(model.vocabulary), N_COMPONENTS))
    mapping = model.word_map(documents.vocabulary)
    for number, part in enumerate(documents.parts):
        labels = model.remembered(number, 0, part.n_docs)["labels"]
        block = part.read(0, part.n_docs)
        seen = labels >= 0
        words = block.words if mapping is None else mapping[block.words]
        np.add.at(counts, (words[seen], labels[seen]), block.counts[seen])
    return counts


def check(model: TopicModel, documents: Corpus) -> None:
    """Every token is counted once, under its label."""
    np.testing.assert_array_equal(statistics(model), counted(model, documents))
    assert statistics(model).sum() == documents.n_tokens


# ---------------------------------------------------------------- runs that are cut and continued


@pytest.mark.parametrize("executor", IN_PROCESS.values(), ids=IN_PROCESS.keys())
def test_a_second_run_counts_nothing_twice(executor, new, documents):
    model = learn(new(), documents, 2, executor)
    check(model, documents)
    check(learn(model, documents, 1, executor), documents)
    whole = learn(new(), documents, 3)
    np.testing.assert_array_equal(model.topic_words.raw, whole.topic_words.raw)


@pytest.mark.parametrize("executor", IN_PROCESS.values(), ids=IN_PROCESS.keys())
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_ctrl_c_and_on(executor, step, new, documents):
    model = cut(new(), documents, step, executor=executor, n_passes=2)
    assert model.cursor.step == step
    np.testing.assert_array_equal(statistics(model), counted(model, documents))
    learn(model, documents, 3 - model.cursor.pass_number, executor)
    check(model, documents)
    whole = learn(new(), documents, 3)
    np.testing.assert_array_equal(model.topic_words.raw, whole.topic_words.raw)


@pytest.mark.parametrize("step", [1, 3, 5])
def test_ctrl_c_and_on_where_minibatches_come_back_in_any_order(step, new, documents):
    """Those in flight have written their labels by then, and are done again."""
    in_flight = lambda run: AsynchronousExecutor(run, Threads(run, 2), 3)  # noqa: E731
    model = cut(new(), documents, step, executor=in_flight, n_passes=2, batch_size=30)
    np.testing.assert_array_equal(statistics(model), counted(model, documents))
    check(learn(model, documents, 2, in_flight, batch_size=30), documents)
    check(learn(model, documents, 1, slice_size=17), documents)


@pytest.mark.parametrize("step", [1, 5])
@pytest.mark.parametrize(
    "sizes",
    [{"batch_size": 50}, {"slice_size": 10}, {"batch_size": None, "slice_size": 64}, {"order": "stored"}],
)
def test_going_on_with_other_slices(sizes, step, new, documents):
    model = cut(new(), documents, step, n_passes=2)
    learn(model, documents, 2, **sizes)
    check(model, documents)
    check(learn(model, documents, 1, slice_size=17), documents)


def test_a_pass_that_is_cut_short_is_not_in_the_plan_of_the_run_that_goes_on(new, documents):
    """Exchanges of replicas follow from the number of updates before them."""
    model = cut(new(), documents, 1, n_passes=2)
    sizes = {"batch_size": 35, "slice_size": None, "order": "shuffled", "max_iter": 9, "replicas": 2}
    run = with_document_state(make_run(model, documents, **sizes), model, documents)
    assert model.cursor == Cursor(1, 0, 1) and run.settings.n_steps == 1 + 9 * 6
    assert run.plan.undivided_rounds == 46  # three rounds of pass 8 are before that
    assert [[len(exchange.rounds) for exchange in run.plan.exchanges(n)] for n in (8, 9)] == [
        [1, 1, 1, 3],
        [3, 3],
    ]


def test_no_time_is_no_harm(new, documents):
    check(learn(learn(new(), documents, 1, max_time=1e-9), documents), documents)


def test_a_corpus_that_has_grown(new, documents, more):
    """Its new words are unknown to the params, and entries of them have no label."""
    model = learn(learn(new(), documents), more, 2)
    labels = model.remembered(2, 0, 50)["labels"]
    np.testing.assert_array_equal(labels < 0, more.parts[2].block.words >= 30)
    np.testing.assert_array_equal(statistics(model), counted(model, more))


def test_words_that_become_known_between_passes(new, documents, more):
    from bigtopic.estimators.support.preparation import grow

    model = learn(new(), more)
    assert (model.remembered(2, 0, 50)["labels"] < 0).any()
    grow(model, axes_of(model.method.model, more))
    check(learn(model, more), more)


def test_another_corpus_and_back_again(new, documents):
    """Documents that come back after others are taken for new ones: a model remembers those it saw last."""
    other = Corpus([some(500, 80, 30)], documents.vocabulary)
    model = learn(learn(new(), documents), other, 2)
    assert statistics(model).sum() == documents.n_tokens + other.n_tokens
    np.testing.assert_array_equal(
        statistics(model) - counted(model, other), statistics(learn(new(), documents))
    )


def test_streams_go_on_with_the_same_documents(documents, tmp_path):
    model = LDA(N_COMPONENTS, method=LABELS, random_state=1, n_threads=1, client=False)

    def interrupt(event: Any) -> None:
        if event.kind == "round" and event.step == 1:
            os.kill(os.getpid(), signal.SIGINT)

    model.set_params(batch_size=70, slice_size=35, callbacks=[interrupt])
    model.partial_fit(documents)
    assert model._model.cursor.round == 1
    for _ in range(2):
        model.partial_fit(documents)
        check(model._model, documents)


@pytest.mark.parametrize("form", ["dense", "sparse", "texts"])
def test_documents_in_memory_that_were_fitted_are_recognised_in_a_stream(form, documents):
    """`fit` puts them into hashed order, `partial_fit` does not."""
    counts = documents.to_scipy().astype(int)
    if form == "texts":  # which lose the words of more than half of the documents
        counts = counts.multiply((counts > 0).sum(axis=0) <= counts.shape[0] / 2).tocsr()
    words = np.array([f"word{i}" for i in range(counts.shape[1])])
    given = {
        "dense": counts.toarray(),
        "sparse": counts,
        "texts": [" ".join(np.repeat(words, row)) for row in counts.toarray()],
    }[form]
    model = LDA(N_COMPONENTS, method=LABELS, random_state=1, n_threads=1, client=False).fit(given)
    for _ in range(2):
        model.partial_fit(given)
        assert statistics(model._model).sum() == counts.sum()
    model.partial_fit(given[:50])  # others, as far as the model knows
    assert statistics(model._model).sum() == counts.sum() + counts[:50].sum()


# ---------------------------------------------------------------- owners


def test_a_copy_goes_its_own_way(new, documents, tmp_path):
    model = learn(new(), documents)
    twin = copy.deepcopy(model)
    check(learn(twin, documents, 2), documents)
    check(model, documents)
    check(learn(model, documents, 2), documents)
    np.testing.assert_array_equal(model.topic_words.raw, twin.topic_words.raw)
    assert len(list(tmp_path.glob("bigtopic-state-*"))) == 2


def test_a_pickle_is_a_model_that_cannot_go_on_with_these_documents(new, documents):
    model = learn(new(), documents)
    twin = pickle.loads(pickle.dumps(replace(model, method=replace(model.method))))
    for use in (lambda: twin.remembered(0, 0, 9), lambda: learn(twin, documents)):
        with pytest.raises(ModelError, match="go on with that model, or fit a new one"):
            use()
    other = Corpus([some(500, 80, 30)], documents.vocabulary)
    learn(twin, other)
    check(model, documents)


def test_a_saved_model_is_one_too(new, documents, tmp_path):
    model = learn(new(), documents)
    model_store.save(model, tmp_path / "model.zarr")
    twin, _ = model_store.load(tmp_path / "model.zarr", LABELS)
    with pytest.raises(ModelError, match="go on with that model, or fit a new one"):
        learn(twin, documents)
    learn(twin, Corpus([some(500, 80, 30)], documents.vocabulary))
    model_store.save(new(INNER), tmp_path / "model.zarr", overwrite=True)
    assert model_store.load(tmp_path / "model.zarr", INNER)[0].document_state is None


def test_files_go_with_the_model(new, documents, tmp_path):
    model = learn(new(), documents)
    assert list(tmp_path.glob("bigtopic-state-*"))
    del model
    assert not list(tmp_path.glob("bigtopic-state-*"))


@pytest.mark.parametrize("step", range(1, 10))
def test_whoever_goes_back_to_a_moment_has_the_bits_of_the_undisturbed_run(step, new, documents, tmp_path):
    """Params and cursor of a moment; the folder as it is some rounds and passes later."""
    model, kept = new(), {}
    model.document_state = DocumentState(tmp_path / "state")

    def keep(event: Any) -> None:
        if event.kind == "round" and event.step == step:
            kept.update(params=model.params.copy(), cursor=model.cursor)
            model.document_state.sync()
            model.document_state.kept = {model.cursor.pass_number, model.cursor.pass_number + 1}

    learn(model, documents, 4, callbacks=[keep])
    again = new()
    again.params, again.cursor = kept["params"], kept["cursor"]
    again.document_state = DocumentState(tmp_path / "state")
    assert again.cursor.step == step
    learn(again, documents, 4 - again.cursor.pass_number)
    check(again, documents)
    np.testing.assert_array_equal(again.topic_words.raw, model.topic_words.raw)


# ---------------------------------------------------------------- what goes wrong


def fail_in(n: int) -> Any:
    """The toy, whose n-th kernel call fails."""
    calls = []

    def failing(*arguments: Any) -> KernelResult:
        calls.append(1)
        if len(calls) == n:
            raise ValueError("the kernel fails")
        return label(*arguments)

    return replace(LABELS, kernel=replace(LABELS.kernel, run=failing))


@pytest.mark.parametrize("executor", IN_PROCESS.values(), ids=IN_PROCESS.keys())
@pytest.mark.parametrize("n", [1, 4, 8, 13])
def test_a_kernel_that_fails_and_on(executor, n, new, documents):
    model = new(fail_in(n))
    with pytest.raises(ValueError, match="the kernel fails"):
        learn(model, documents, 3, executor)
    np.testing.assert_array_equal(statistics(model), counted(model, documents))
    check(learn(model, documents, 2, executor), documents)


@pytest.mark.parametrize("executor", IN_PROCESS.values(), ids=IN_PROCESS.keys())
def test_a_disk_that_is_full_stops_the_run_before_the_params_move(executor, new, documents, monkeypatch):
    model, pwrite = new(), os.pwrite
    left = [12_000]

    def full(file: int, data: Any, offset: int) -> int:
        left[0] -= len(data)
        if left[0] < 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        return pwrite(file, data, offset)

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(
        StoreError,
        match=r"bigtopic-state-.*/(labels|\.checksums)/c.* cannot be written: the disk is full; free",
    ):
        learn(model, documents, 9, executor)
    assert model.cursor.pass_number > 0
    np.testing.assert_array_equal(statistics(model), counted(model, documents))
    left[0] = 1 << 30
    check(learn(model, documents, 2, executor), documents)


def test_a_disk_that_is_too_small_is_refused_before_the_start(new, documents, monkeypatch):
    import shutil

    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=100))
    model = new()
    with pytest.raises(SettingError, match=r"needs [\d,]+ bytes for up to 2 passes, and .* has 100 free"):
        learn(model, documents)
    assert not statistics(model).any() and model.cursor.step == 0


def test_a_run_says_what_it_may_take_on_the_disk_before_it_begins(
    new, documents, tmp_path, capsys, monkeypatch
):
    events, written = [], []

    def look(event):
        events.append(event)
        written.append(sum(file.stat().st_size for file in tmp_path.rglob("pass-*/**/c.*") if file.is_file()))

    model = learn(new(), documents, 3, callbacks=[look])
    start, folder = events[0], model.document_state.files.place.url
    assert start.kind == "start" and written[0] == 0 and start.disk_folder == folder
    whole = sum(file.stat().st_size for file in Path(folder).rglob("c.*"))
    assert max(written) <= start.disk_bytes == whole + written[-1]  # one pass is left of two
    assert all(event.disk_bytes is event.disk_folder is None for event in events[1:])
    assert not capsys.readouterr().err  # little is not worth a line
    monkeypatch.setattr(history, "WORTH_SAYING", 1)
    learn(model, documents)
    assert capsys.readouterr().err == (
        f"what this method remembers of documents takes up to {start.disk_bytes:,} bytes in {folder}, "
        "for up to 2 passes at once\n"
    )


def test_a_run_that_remembers_nothing_says_nothing_of_the_disk(new, documents):
    events = []
    learn(new(INNER), documents, callbacks=[events.append])
    assert events[0].disk_bytes is events[0].disk_folder is None


def test_what_stays_in_memory_is_what_is_in_the_files(new, documents, monkeypatch):
    found = []
    for kept_bytes in (0, 1 << 20):
        monkeypatch.setattr(remembering, "KEPT_BYTES", kept_bytes)
        model = learn(new(), documents, 4)
        check(model, documents)
        found.append(statistics(model))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("kept_bytes", "who_reads"), [(0, {"bigtopic-state"}), (1 << 20, set())])
def test_the_computing_threads_neither_read_nor_write(new, documents, monkeypatch, kept_bytes, who_reads):
    """Whoever opens a file of state is a thread of its own; what is in memory nobody reads."""
    import threading

    monkeypatch.setattr(remembering, "KEPT_BYTES", kept_bytes)
    writers = set()
    write = row_arrays.RowArray.write

    def spy(array: Any, start: int, values: np.ndarray) -> None:
        if "pass-" in array.place.url:
            writers.add(threading.current_thread().name.rsplit("_")[0])
        write(array, start, values)

    monkeypatch.setattr(row_arrays.RowArray, "write", spy)
    readers = []
    read = row_arrays.RowArray.read

    def spy_read(array: Any, start: int, stop: int) -> np.ndarray:
        if "pass-" in array.place.url:
            readers.append(threading.current_thread().name.rsplit("_")[0])
        return read(array, start, stop)

    monkeypatch.setattr(row_arrays.RowArray, "read", spy_read)
    learn(new(), documents, 3, lambda run: ThreadExecutor(run, 2), slice_size=3)
    assert writers == {"bigtopic-state"} and set(readers) == who_reads


# ---------------------------------------------------------------- passes of one round


def test_a_call_of_a_stream_writes_the_state_of_new_documents_once(new, documents, monkeypatch):
    written, write = [], StateFiles.write
    monkeypatch.setattr(StateFiles, "write", lambda *given: (written.append(given[1:5]), write(*given)))
    model = new()
    for n_passes in (1, 2):
        learn(model, documents, total_docs=documents.n_docs, **ONE_ROUND)
        check(model, documents)
        assert len(written) == len(set(written)) and written[-1][-1] == n_passes


def test_a_callback_finds_the_state_of_its_pass(new, documents):
    found = []

    def look(event: Any) -> None:
        if event.kind == "pass":
            check(model, documents)
            found.append(event.pass_number)

    model = new()
    learn(model, documents, 3, callbacks=[look], **ONE_ROUND)
    assert found == [1, 2, 3]


@pytest.mark.parametrize("n", [3, 9, 20])
def test_a_kernel_that_fails_in_a_pass_of_one_round(n, new, documents):
    model = new(fail_in(n))
    with pytest.raises(ValueError, match="the kernel fails"):
        learn(model, documents, 4, **ONE_ROUND)
    np.testing.assert_array_equal(statistics(model), counted(model, documents))
    check(learn(model, documents, 2, **ONE_ROUND), documents)


@pytest.mark.parametrize("n", [1, 3])
def test_a_scheme_that_fails_in_a_pass_of_one_round(n, new, documents, monkeypatch):
    """All slices have returned what they remember, and the params do not move."""
    step, left = base.step, [n]

    def failing(*given: Any) -> Any:
        left[0] -= 1
        if left[0] == 0:
            raise ValueError("the scheme fails")
        return step(*given)

    monkeypatch.setattr(base, "step", failing)
    model = new()
    with pytest.raises(ValueError, match="the scheme fails"):
        learn(model, documents, 4, **ONE_ROUND)
    assert model.cursor.pass_number == n - 1
    np.testing.assert_array_equal(statistics(model), counted(model, documents))
    check(learn(model, documents, 2, **ONE_ROUND), documents)


def test_a_second_ctrl_c_while_the_topics_move(new, documents, monkeypatch):
    """It waits until they have moved."""
    scatter, calls = LazyArray._scatter, []

    def interrupted(topics: LazyArray, *args: Any) -> np.ndarray:
        found = scatter(topics, *args)
        calls.append(None)
        if len(calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)
        return found

    model = new()
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(LazyArray, "_scatter", interrupted)
        learn(model, documents, 5, **ONE_ROUND)
    assert model.cursor.round == 1
    check(model, documents)
    check(learn(model, documents, 2, **ONE_ROUND), documents)


def test_a_disk_that_is_full_from_the_start_moves_nothing(new, documents, monkeypatch):
    def full(file: int, data: Any, offset: int) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    model = new()
    with monkeypatch.context() as patch, pytest.raises(StoreError, match="the disk is full"):
        patch.setattr(os, "pwrite", full)
        learn(model, documents, 3, **ONE_ROUND)
    assert not statistics(model).any()
    check(learn(model, documents, 2, **ONE_ROUND), documents)


def test_words_that_the_params_do_not_know(new, documents, more):
    model = learn(new(), more, 3, **ONE_ROUND)
    np.testing.assert_array_equal(statistics(model), counted(model, more))


# ---------------------------------------------------------------- workers


@pytest.mark.distributed
@pytest.mark.parametrize("executor", [WholeExecutor, GraphExecutor])
def test_workers_remember_what_the_threads_do(executor, new, documents, three_workers, tmp_path):
    three_workers.upload_file(toys.packed(tmp_path), load=False)
    there = lambda run: executor(run, three_workers)  # noqa: E731
    model = cut(new(), documents, 4, executor=there, n_passes=3)
    learn(model, documents, 3 - model.cursor.pass_number, there)
    check(model, documents)
    np.testing.assert_array_equal(model.topic_words.raw, learn(new(), documents, 3).topic_words.raw)


@pytest.mark.distributed
def test_state_of_a_round_that_died_with_its_workers_is_made_again(new, documents, mortal_workers, tmp_path):
    """Between two inner iterations all of them are killed; what the first inner iterations left was on them."""
    mortal_workers.upload_file(toys.packed(tmp_path), load=False)
    killed: list[int] = []

    class Deadly(GraphExecutor):
        def map_reduce(self, rounds: Any, arrays: Any) -> Any:
            if rounds[0][0].iteration.number == 3 and not killed:
                killed.extend(mortal_workers.run(os.getpid).values())
                for pid in killed:
                    os.kill(pid, signal.SIGKILL)
            return super().map_reduce(rounds, arrays)

    model = learn(new(INNER), documents, 1, lambda run: Deadly(run, mortal_workers))
    assert len(killed) == 3
    expected = learn(new(INNER), documents)
    np.testing.assert_array_equal(model.topic_words.raw, expected.topic_words.raw)
