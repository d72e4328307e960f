"""A model that somebody made on purpose: it is loaded as what it says, or refused with a `ModelError`."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import zarr
from crafted import MISSING, changed, places

from bigtopic.errors import ModelError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.state import new_model

WORDS = [f"w{i}" for i in range(12)]
KEY = "bigtopic-model"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    from bigtopic.corpus.memory import from_matrix

    path = tmp_path_factory.mktemp("models") / "model.zarr"
    corpus = from_matrix(np.random.default_rng(0).poisson(1, (30, 12)), WORDS)
    LDA(3, method="online-cvb0", max_iter=1, client=False).fit(corpus).save(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(new_model, "SPARSE_FROM", 3)
        lists = LDA(3, method="sparse-cvb0", max_iter=1, options={"candidates": 2}, client=False).fit(corpus)
    lists.save(path.with_name("lists.zarr"))
    return path


@pytest.fixture
def saved(original, tmp_path):
    return Path(shutil.copytree(original, tmp_path / "model.zarr"))


@pytest.fixture
def saved_lists(original, tmp_path):
    """A model with sparse rows."""
    return Path(shutil.copytree(original.with_name("lists.zarr"), tmp_path / "model.zarr"))


def description(path):
    return json.loads((path / "zarr.json").read_text())


def rewrite(path, document):
    (path / "zarr.json").write_text(json.dumps(document))


HOSTILE = [
    MISSING,
    None,
    True,
    -1,
    10**30,
    0.5,
    float("nan"),
    1e308,
    "",
    "../x",
    "/etc",
    [],
    [[]],
    {},
    {"a": [1]},
]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["saved", "saved_lists"])
def test_every_field_of_the_description(request, kind):
    saved = request.getfixturevalue(kind)
    document = description(saved)
    refused = 0
    for place in places(document["attributes"][KEY]):
        for value in HOSTILE:
            rewrite(saved, changed(document, ("attributes", KEY, *place), value))
            try:
                model = load_model(saved)
            except ModelError as error:
                assert str(saved) in str(error)
                refused += 1
            else:
                assert model.components_.shape == (3, 12) and list(model.vocabulary_) == WORDS
    assert refused > 300


@pytest.mark.parametrize(
    "place, value, what",
    [
        (("state",), "../x", "state is '../x'"),
        (("state",), "state-0/../..", "state is"),
        (("n_words",), 10**15, "n_words"),
        (("n_words",), 13, "12|13 words"),
        (("arrays", "topic_words", "n_components"), 4, "topic_words does not have 3 columns"),
        (("components", "topic"), 4, "does not have 4 columns"),
        (("components",), {"theme": 3}, "components are"),
        (("components",), {}, "components is empty"),
        (("axes",), {"author": {"named": True, "size": -1}}, "size is -1"),
        (("arrays", "topic_words", "n_components"), 10**15, "n_components"),
        (("arrays", "topic_words", "axis"), "author", "axis"),
        (("arrays", "other"), {"axis": "word", "n_components": 3, "normalised_over": "axis"}, "arrays are"),
        (("history",), "long", "history"),
        (("history",), [{"pass": 1, "score": -7.0}], r"history\[0\].step is missing"),
        (("history", 0, "bound"), "large", r"history\[0\].bound is 'large'"),
        (("history", 0, "seconds"), None, r"history\[0\].seconds is None"),
        (("cursor", "step"), 0, "cursor.step is 0, which cannot be in pass"),
        (("cursor", "step"), -1, "cursor.step is -1"),
        (("cursor",), {"epoch": 0, "round": 0, "step": 5}, "cursor.step is 5, which cannot be in pass 0"),
        (("cursor",), {"epoch": 0, "round": 3, "step": 5, "ahead": [2]}, r"cursor.ahead is \[2\]"),
        (("cursor",), {"epoch": 0, "round": 3, "step": 5, "ahead": [5, 5]}, r"cursor.ahead is \[5, 5\]"),
        (("cursor",), {"epoch": "1", "round": 0, "step": 0}, "cursor.epoch is '1'"),
        (("schemes", "topic_words", "learning_decay"), "fast", "learning_decay='fast'"),
        (("schemes", "topic_words", "learning_offset"), 1e308, "learning_offset"),
        (("options", "max_doc_update_iter"), "5", "option max_doc_update_iter is '5'"),
        (("options", "unknown"), 1, "no option 'unknown'"),
        (("extra", "params", "n_components"), "many", "n_components='many'"),
        (("extra", "params", "method"), 7, "method=7"),
        (("extra", "params", "n_threads"), -1, "n_threads=-1"),
        (("extra", "estimator"), ["LDA"], "estimator"),
        (("text",), {"stop_words": "/etc/passwd"}, "text.stop_words"),
        (("text",), {"known_share": "all"}, "text.known_share"),
        (("text",), "english", "text"),
        (("version",), "1", "version"),
    ],
)
def test_descriptions_that_are_refused(saved, place, value, what):
    rewrite(saved, changed(description(saved), ("attributes", KEY, *place), value))
    with pytest.raises(ModelError, match=f"(?s){saved}.*{what}"):
        load_model(saved)


@pytest.mark.parametrize(
    "place, value, what",
    [
        (("arrays", "topic_words", "sparse"), MISSING, "raw: the array is missing"),
        (("arrays", "topic_words", "sparse"), False, "raw: the array is missing"),
        (("arrays", "topic_words", "sparse"), "yes", "sparse is 'yes', but must be true or false"),
        (("arrays", "doc_topic_prior", "sparse"), True, "doc_topic_prior has sparse rows, but"),
        (("options", "candidates"), 3, "topic_words has sparse rows, but .* none with these settings"),
        (("average",), 0.5, "topic_words has sparse rows, but .* none with these settings"),
    ],
)
def test_descriptions_that_contradict_the_lists(saved_lists, place, value, what):
    rewrite(saved_lists, changed(description(saved_lists), ("attributes", KEY, *place), value))
    with pytest.raises(ModelError, match=f"(?s){saved_lists}.*{what}"):
        load_model(saved_lists)


@pytest.mark.parametrize(
    "place", [("schemes", "topic_words", "scale"), ("extra", "params", "order"), ("options", "bound")]
)
def test_a_refusal_does_not_quote_pages(saved, place):
    rewrite(saved, changed(description(saved), ("attributes", KEY, *place), "a" * 100_000))
    with pytest.raises(ModelError) as refused:
        load_model(saved)
    assert len(str(refused.value)) < 5000


def store(saved, name, values):
    """Put another array in the place of one of the model."""
    from zarr.codecs import BloscCodec, Crc32cCodec

    place = next(saved.glob("state-*")) / name
    shutil.rmtree(place)
    array = zarr.create_array(
        place,
        shape=values.shape,
        dtype=values.dtype,
        chunks=values.shape,
        compressors=[BloscCodec(), Crc32cCodec()],
    )
    array[...] = values


@pytest.mark.parametrize(
    "name, values",
    [
        ("doc_topic_prior", np.full(4, 0.1)),
        ("doc_topic_prior", np.full((3, 1), 0.1)),
        ("doc_topic_prior", np.full(3, 0.1, np.float32)),
        ("doc_topic_prior", np.array([0.1, -0.1, 0.1])),
        ("doc_topic_prior", np.array([0.1, 0.0, 0.1])),
        ("topic_words/raw", np.ones((11, 16), np.float32)),
        ("topic_words/raw", np.ones((12, 3), np.float32)),
        ("topic_words/raw", np.ones((12, 16), np.int32)),
        ("topic_words/raw", np.full((12, 16), np.inf, np.float32)),
        ("topic_words/raw", np.full((12, 16), np.nan, np.float32)),
        ("topic_words/raw", np.full((12, 16), -1, np.float32)),
        ("topic_words/scale", np.ones(3)),
        ("topic_words/scale", np.zeros(16)),
        ("topic_words/scale", np.full(16, 1e300)),
        ("topic_words/sums", np.ones(17)),
        ("topic_words/prior", np.ones((2, 1))),
        ("topic_words/prior", np.full((1, 1), 1e300)),
        ("doc_topic_prior", np.full(3, 1e300)),
        ("words", np.ones(12, np.float64)),
        ("words", np.frombuffer(b"1\n2\n3", np.uint8)),
        ("words", np.frombuffer(b"[" * 100_000, np.uint8)),
        ("words", np.frombuffer(b"\xff\xfe", np.uint8)),
    ],
)
def test_arrays_that_do_not_belong(saved, name, values):
    store(saved, name, values)
    with pytest.raises(ModelError, match=f"(?s){saved}.*"):
        load_model(saved)


def at(place, value):
    """A change of one value of an array."""

    def change(values):
        values[place] = value
        return values

    return change


@pytest.mark.parametrize(
    "name, change, what",
    [
        ("columns", lambda values: values[:-3], "columns has shape .* but must have shape"),
        ("values", lambda values: values[:-3], "values has shape .* but must have shape"),
        ("lengths", lambda values: values[:-1], "lengths has shape"),
        ("lengths", lambda values: values.astype(np.int64), "lengths has .* type int64"),
        ("lengths", at(5, -1), "lengths holds values from -1 to 3, outside 0 .. 3"),
        ("lengths", at(5, 4), "lengths holds values from .* outside 0 .. 3"),
        ("lengths", lambda values: np.maximum(values - 1, 0), "columns has shape"),
        ("columns", lambda values: values[::-1].copy(), "columns of row 0 do not ascend from 0 to at most 2"),
        ("columns", lambda values: np.ones_like(values), "columns of row 0 do not ascend"),
        ("columns", at(-1, 3), "columns of row 11 do not ascend"),  # of the padding
        ("columns", at(-1, 1 << 30), "columns of row 11 do not ascend"),
        ("columns", at(0, -(1 << 31)), "columns of row 0 do not ascend"),
        ("columns", lambda values: values.astype(np.int64), "columns has .* type int64"),
        ("values", at(2, np.nan), "values holds values from nan"),
        ("values", at(2, np.inf), "values holds values from .* to inf"),
        ("values", at(2, -1e4), "values holds values from -10000"),
        ("values", at(2, 1e4), r"sums of column \d is .* but scale times the rows of values add up to"),
        ("values", lambda values: values.astype(np.float64), "values has .* type float64"),
        ("sums", lambda values: 2 * values, r"sums of column \d is .* but scale times the rows of values"),
        ("scale", at(0, 0.0), "scale holds values from 0"),
        ("prior", lambda values: np.repeat(values, 12, axis=0), r"prior has shape \(12, 1\)"),
        ("dropped", at(0, np.nan), "dropped holds values from nan"),
        ("dropped", at(0, -1.0), "dropped holds values from -1"),
        ("dropped", lambda values: values[:, None], r"dropped has shape \(1, 1\)"),
    ],
)
def test_lists_that_do_not_belong(saved_lists, name, change, what):
    values = zarr.open_array(_state(saved_lists) / "topic_words" / name)[...]
    store(saved_lists, f"topic_words/{name}", change(values))
    with pytest.raises(ModelError, match=f"(?s){saved_lists}.*{what}"):
        load_model(saved_lists)


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", "[]", '{"attributes": {"bigtopic-model": [1]}}'])
def test_files_that_describe_nothing(saved, text):
    (saved / "zarr.json").write_text(text)
    with pytest.raises(ModelError, match=str(saved)):
        load_model(saved)


def test_no_code_of_a_file_runs(saved, tmp_path, monkeypatch):
    """The model as a group of Zarr v2: arrays with a pickle filter are never opened."""
    import os

    import numcodecs.pickles

    class Makes:
        def __reduce__(self):
            return (os.mkdir, (str(tmp_path / "made"),))

    monkeypatch.setattr(numcodecs.pickles, "ALLOW_UNSAFE_PICKLE_DECODE", True, raising=False)
    state = next(saved.glob("state-*"))
    about = {"zarr_format": 2, "shape": [3], "chunks": [3], "dtype": "|O", "fill_value": None, "order": "C"}
    about |= {"compressor": None, "filters": [{"id": "vlen-utf8"}, {"id": "pickle"}]}
    for folder in (state / "doc_topic_prior", state / "words"):
        (folder / ".zarray").write_text(json.dumps(about))
        (folder / "0").write_bytes(bytes(numcodecs.Pickle().encode(Makes())))
        (folder / "zarr.json").unlink()
    (state / ".zgroup").write_text('{"zarr_format": 2}')
    (state / "zarr.json").unlink()
    with pytest.raises(ModelError, match="array is missing"):
        load_model(saved)
    assert not (tmp_path / "made").exists()
    with pytest.raises(Exception):  # noqa: B017 - whatever it raises in the end, it has run
        zarr.open_group(state, mode="r")["words"][:]
    assert (tmp_path / "made").exists(), "the file would run its code when it is opened naively"


def test_settings_whose_held_out_documents_were_not_kept(tmp_path):
    counts = np.random.default_rng(0).poisson(1, (30, 12))
    model = LDA(
        3, method="online-cvb0", max_iter=1, client=False, validation=counts, evaluate_every=1, patience=3
    )
    model.fit(counts).save(tmp_path / "m.zarr")
    assert load_model(tmp_path / "m.zarr").patience == 3


def _state(saved):
    return saved / description(saved)["attributes"][KEY]["state"]


@pytest.mark.parametrize("factor", [24.0, 1.05, 0.0])
def test_sums_that_are_not_those_of_the_statistics(saved, factor):
    sums = zarr.open_array(_state(saved) / "topic_words/sums", mode="r+")
    sums[:] = sums[:] * factor
    with pytest.raises(ModelError, match=r"topic_words/sums .*scale.*raw"):
        load_model(saved)


@pytest.mark.parametrize("value", [2**53, 2**63 - 1])
def test_frequencies_that_cannot_be(saved, value):
    zarr.open_array(_state(saved) / "document_frequency", mode="r+")[:] = value
    with pytest.raises(ModelError, match="document_frequency holds values"):
        load_model(saved)


@pytest.mark.parametrize("place", ["document_frequency", "step"])
def test_a_model_is_not_saved_that_cannot_be_loaded(saved, tmp_path, place):
    model = load_model(saved)
    if place == "step":
        model._model.cursor = replace(model._model.cursor, step=2**53 + 1)
    else:
        known = model._model.vocabulary
        grown = known.with_counts(known.document_frequency + 2**53, known.frequency)
        model._model.axes["word"] = grown
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    with pytest.raises(ModelError, match=f"not saved.*{place}"):
        model.save(saved)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    load_model(saved)
