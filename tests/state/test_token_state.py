"""State of tokens: rows for every token of a document, in the order of its entries; shapes that an option decides."""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from bigtopic.corpus.memory import from_matrix
from bigtopic.corpus.store import Corpus
from bigtopic.errors import CorpusDamaged, ModelError, SettingError
from bigtopic.learning.stopping import Limits
from bigtopic.learning.train import train
from bigtopic.methods import Method
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.state.new_model import new_model
from bigtopic.types import Kernel, KernelResult, StateSpec

sys.path.insert(0, str(Path(__file__).parents[1]))

SEEN: list[dict[int, np.ndarray]] = []


def count(docs, view, hyper, seed, state=None):
    """Each token remembers its document's row, its word's local id and how often it was seen."""
    tokens = np.repeat(docs.words, docs.counts.astype(int))
    of_token = np.repeat(np.repeat(docs.rows, np.diff(docs.indptr)), docs.counts.astype(int))
    passes = np.zeros(len(tokens), np.int32) if state is None else state["tokens"][:, 0]
    kept = np.stack([passes + 1, of_token, *[tokens] * (hyper.options["copies"] - 2)], axis=1)
    stats = np.zeros_like(view.arrays[TOPIC_WORDS])
    return KernelResult({TOPIC_WORDS: stats}, None, {"tokens": kept.astype(np.int32)}, {})


METHOD = Method(
    "tokens",
    Kernel(
        "tokens",
        count,
        {TOPIC_WORDS: "counts"},
        {TOPIC_WORDS: "word"},
        {"copies": 3},
        state="run",
        remembers={"tokens": StateSpec("token", "int32", ("copies",), missing=-7)},
    ),
    {TOPIC_WORDS: Add()},
    max_iter=2,
)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def documents(n_words: int = 12, weight: float = 1.0) -> Corpus:
    counts = np.random.default_rng(1).poisson(0.6, (60, n_words)) * weight
    return from_matrix(counts, [f"w{i}" for i in range(n_words)])


def learn(corpus: Corpus, model=None, n_passes: int = 2, **options):
    model = model or new_model(METHOD, 3, corpus.vocabulary, n_tokens=corpus.n_tokens, options=options)
    train(model, corpus, Limits(n_passes), batch_size=20, slice_size=7, n_threads=1)
    return model


def test_each_token_has_a_row(tmp_path):
    corpus = documents()
    model, block = learn(corpus), corpus.parts[0].read(0, 60)
    found = model.remembered(0, 0, 60)["tokens"]
    counts = block.counts.astype(int)
    assert found.shape == (corpus.n_tokens, 3) and (found[:, 0] == 2).all()
    rows = np.repeat(np.repeat(block.rows, np.diff(block.indptr)), counts)
    np.testing.assert_array_equal(found[:, 1], rows)
    starts = np.concatenate([[0], np.cumsum(counts)])[block.indptr]
    some = model.remembered(0, 13, 29)["tokens"]
    np.testing.assert_array_equal(some, found[starts[13] : starts[29]])


def test_an_option_decides_on_the_shape():
    assert learn(documents(), copies=5).remembered(0, 0, 60)["tokens"].shape[1] == 5
    other = replace(
        METHOD,
        kernel=replace(METHOD.kernel, remembers={"tokens": StateSpec("token", "int32", ("copied",))}),
    )
    with pytest.raises(SettingError, match=r"'copied' in its shape; choose one of: .*copies"):
        new_model(other, 3, documents().vocabulary, n_tokens=1.0)


def test_tokens_of_words_that_the_params_do_not_know_are_missing():
    small, large = documents(), documents(15)
    large = Corpus([*small.parts, *large.parts], large.vocabulary)
    model = new_model(METHOD, 3, small.vocabulary, n_tokens=small.n_tokens)
    learn(large, model)
    block = large.parts[1].read(0, 60)
    unknown = np.repeat(block.words >= 12, block.counts.astype(int))
    found = model.remembered(1, 0, 60)["tokens"]
    assert unknown.any() and (found[unknown] == -7).all() and (found[~unknown, 0] == 2).all()


def test_a_changed_row_of_a_token_is_found(tmp_path):
    model = learn(documents())
    (file,) = (chunk for chunk in tmp_path.glob("bigtopic-state-*/pass-2/*/tokens/c.*") if chunk.is_file())
    data = bytearray(file.read_bytes())
    for at in (0, 12 * int(documents().n_tokens) - 1):
        file.write_bytes(bytes([*data[:at], data[at] ^ 1, *data[at + 1 :]]))
        with pytest.raises(CorpusDamaged, match="/tokens does not hold the state written for documents"):
            model.remembered(0, 0, 60)
    file.write_bytes(data)
    assert len(model.remembered(0, 0, 60)["tokens"]) == documents().n_tokens


def test_the_disk_must_have_room_for_every_token(monkeypatch):
    corpus, usage = documents(), shutil.disk_usage("/")
    files = learn(corpus).document_state.files
    need = files.pass_bytes(0) * 2 + files.offsets_bytes(0)
    assert need >= 2 * 12 * corpus.n_tokens > 2 * 12 * corpus.nnz
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=need - 1))
    with pytest.raises(SettingError, match=f"needs {need:,} bytes for up to 2 passes"):
        learn(corpus)


def test_weights_have_no_tokens():
    with pytest.raises(SettingError, match=r"'tokens'.*whole numbers.*weights"):
        learn(documents(weight=0.5))


@pytest.mark.parametrize(("row", "counts"), [(0, [0.5, 1]), (1, [0.5, 0.5]), (2, [3, 1.25])])
def test_the_first_document_of_weights_is_named(row, counts):
    whole = np.tile([1.0, 2.0], (4, 1))
    whole[row], whole[3] = counts, [0.75, 1]
    with pytest.raises(SettingError) as caught:
        learn(from_matrix(whole, shuffle=False))
    assert str(caught.value) == (
        f"document {row} has a count of {next(c for c in counts if c % 1)}, but the method remembers 'tokens' of each "
        "token, so counts must be whole numbers; choose a method that takes weights: one that does not sample, such "
        "as online-cvb0, vb, author-vb or dual-mf"
    )


def test_too_few_rows_are_the_kernels_mistake():
    def lose(docs, view, hyper, seed, state=None):
        result = count(docs, view, hyper, seed, state)
        return result._replace(state={"tokens": result.state["tokens"][1:]})

    method = replace(METHOD, kernel=replace(METHOD.kernel, run=lose))
    corpus = documents()
    model = new_model(method, 3, corpus.vocabulary, n_tokens=corpus.n_tokens)
    with pytest.raises(ModelError, match="a row for each token"):
        learn(corpus, model)
