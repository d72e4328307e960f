"""MALLET's text files are read, and written; malformed ones are errors that name the line.

The files are written here as `ParallelTopicModel` of MALLET 2.0.8 prints them.
"""

from __future__ import annotations

import functools
import gzip
import os
import subprocess

import numpy as np
import pytest

from bigtopic import foreign
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import InputError, SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model

ALPHA, BETA = [0.5, 0.25, 1.0], 0.01


@pytest.fixture(scope="module")
def labels(halves) -> list[list[tuple[str, int]]]:
    """Each token of the documents with a topic, the third topic without any."""
    rng = np.random.default_rng(0)
    return [[(word, int(rng.integers(2))) for word in tokens] for tokens in halves[0].tokens]


@pytest.fixture(scope="module")
def counts(halves, labels) -> np.ndarray:
    """(3, 80), tokens of each word in each topic."""
    found = np.zeros((3, 80))
    for word, topic in (token for document in labels for token in document):
        found[topic, halves[0].words.index(word)] += 1
    return found


@pytest.fixture(scope="module")
def files(tmp_path_factory, halves, labels, counts):
    """MALLET's folder of results."""
    folder, words = tmp_path_factory.mktemp("mallet"), halves[0].words
    lines = ["#doc source pos typeindex type topic", "#alpha : 0.5 0.25 1.0 ", f"#beta : {BETA}"]
    for d, document in enumerate(labels):
        source = "NA" if d % 2 else f"file:/a folder/{d}.txt"  # a source may hold spaces
        lines += [f"{d} {source} {i} {words.index(w)} {w} {k}" for i, (w, k) in enumerate(document)]
    (folder / "state.gz").write_bytes(gzip.compress("\n".join([*lines, ""]).encode()))
    with (folder / "weights.txt").open("w") as file:
        file.writelines(f"{k}\t{w}\t{counts[k, v] + BETA}\n" for k in range(3) for v, w in enumerate(words))
    with (folder / "counts.txt").open("w") as file:
        for v, word in enumerate(words):
            pairs = [f"{k}:{int(counts[k, v])}" for k in np.argsort(-counts[:, v]) if counts[k, v]]
            print(v, word, *pairs, file=file)
    (folder / "keys.txt").write_text("0\t0,5\tw1 w2 \n1\t0,25\tw3 \n2\t1\t\n")
    return folder


def test_a_state_has_counts_and_priors(files, counts, halves, score, tmp_path):
    model = foreign.from_mallet(files / "state.gz").set_params(client=False, progress=False)
    order = model.vocabulary_.index_of(halves[0].words)
    known = order >= 0
    np.testing.assert_allclose(model.components_[:, order[known]], counts[:, known] + BETA, rtol=1e-6)
    np.testing.assert_array_equal(model.doc_topic_prior_, ALPHA)
    assert model.topic_word_prior_ == BETA and model.n_docs_seen_ == 200 and not counts[:, ~known].any()
    topics = counts[:, known] + BETA
    words = [word for word, k in zip(halves[0].words, known, strict=True) if k]
    expected = score(topics / topics.sum(axis=1, keepdims=True), vocabulary=words, doc_topic_prior=ALPHA)
    assert score(model) == pytest.approx(expected, rel=1e-6)
    model.save(tmp_path / "model.zarr")
    assert score(load_model(tmp_path / "model.zarr")) == score(model)
    model.partial_fit(halves[1].corpus)
    n_tokens = counts.sum() + halves[1].matrix.sum()
    assert (model.components_ - BETA).sum() == pytest.approx(n_tokens, rel=1e-5)


def test_other_files_have_the_same_topics(files, counts, halves):
    weights = foreign.from_mallet(files / "weights.txt", topic_keys=files / "keys.txt")
    np.testing.assert_allclose(weights.components_, counts + BETA, rtol=1e-6)
    np.testing.assert_array_equal(weights.doc_topic_prior_, ALPHA)
    assert weights.vocabulary_[:] == halves[0].words and weights.topic_word_prior_ == BETA
    of_counts = foreign.from_mallet(files / "counts.txt")  # in which the third topic does not appear
    np.testing.assert_allclose(of_counts.components_, counts[:2] + BETA, rtol=1e-6)
    np.testing.assert_array_equal(of_counts.doc_topic_prior_, [2.5, 2.5])
    given = foreign.from_mallet(files / "counts.txt", doc_topic_prior=0.1, topic_word_prior=0.2)
    assert given.doc_topic_prior_.tolist() == [0.1, 0.1] and given.topic_word_prior_ == 0.2


def test_ours_there_and_back(ours, score, halves, tmp_path):
    paths = foreign.to_mallet(ours, tmp_path / "mallet", halves[1].corpus)
    assert [path.name for path in paths] == ["topic-word-weights.txt", "topic-keys.txt", "doc-topics.txt"]
    back = foreign.from_mallet(paths[0], topic_keys=paths[1])
    assert score(back) == pytest.approx(score(ours), rel=1e-6)
    np.testing.assert_array_equal(back.doc_topic_prior_, ours.doc_topic_prior_)
    first = paths[2].read_text().splitlines()[0].split("\t")
    assert first[:2] == ["0", "0"]
    np.testing.assert_allclose([float(x) for x in first[2:]], ours.transform(halves[1].corpus)[0])
    with pytest.raises(StoreError, match=r"topic-word-weights\.txt exists; nothing was written"):
        foreign.to_mallet(ours, tmp_path / "mallet")


def test_a_state_from_which_mallet_goes_on(ours, counted, score, tmp_path):
    """Types are numbered as MALLET numbers them: by their first tokens in the documents."""
    paths = foreign.to_mallet(counted, tmp_path / "mallet", state=True)
    assert [path.name for path in paths[2:]] == ["documents.txt", "state.gz"]
    tokens = [line.split(" ")[2:] for line in paths[2].read_text().splitlines()]
    assert max(map(len, tokens)) <= 1000
    lines = [line.split(" ") for line in gzip.decompress(paths[3].read_bytes()).decode().splitlines()[3:]]
    assert [line[4] for line in lines] == [word for document in tokens for word in document]
    types = list(dict.fromkeys(word for document in tokens for word in document))
    places = [(d, i) for d, document in enumerate(tokens) for i in range(len(document))]
    assert [(int(d), int(i), int(type_)) for d, _, i, type_, _, _ in lines] == [
        (d, i, types.index(word)) for (d, i), word in zip(places, (line[4] for line in lines), strict=True)
    ]
    back = foreign.from_mallet(paths[3])
    assert score(back) == pytest.approx(score(counted), rel=1e-6)
    np.testing.assert_allclose(back.doc_topic_prior_, counted.doc_topic_prior_)
    soft = foreign.from_mallet(foreign.to_mallet(ours, tmp_path / "soft", state=True)[3])
    assert score(soft) == pytest.approx(score(ours), abs=0.01)


def test_words_that_break_a_state_are_refused(tmp_path):
    corpus = from_matrix(np.ones((70, 2)), ["new york", "dog"])
    model = LDA(2, method="cgs", max_iter=1, client=False, progress=False).fit(corpus)
    with pytest.raises(SettingError, match=r"word 'new york' holds white space"):
        foreign.to_mallet(model, tmp_path / "mallet", state=True)
    assert not (tmp_path / "mallet").exists()
    foreign.to_mallet(model, tmp_path / "mallet")


CLASSPATH = os.environ.get("MALLET_CLASSPATH", "")  # for example class:lib/mallet-deps.jar
SHELL = """
import cc.mallet.topics.*; import cc.mallet.types.*;
var training = InstanceList.load(new java.io.File("documents.mallet"));
var model = new ParallelTopicModel(4, 0.8, 0.05);
model.addInstances(training);
model.initializeFromState(new java.io.File("state.gz"));
model.printTopicWordWeights(new java.io.File("theirs.txt"));
model.printState(new java.io.File("theirs.gz"));
model.setNumIterations(20); model.estimate();
model.printState(new java.io.File("on.gz"));
/exit
"""


@pytest.mark.slow
@pytest.mark.skipif(not CLASSPATH, reason="set MALLET_CLASSPATH to run MALLET itself")
def test_mallet_itself_goes_on(counted, score, tmp_path):
    foreign.to_mallet(counted, tmp_path, state=True)
    run = functools.partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True, text=True)
    options = ["--output", "documents.mallet", "--keep-sequence", "--preserve-case", "--token-regex", r"\S+"]
    reader = "cc.mallet.classify.tui.Csv2Vectors"
    run(["java", "-cp", CLASSPATH, reader, "--input", "documents.txt", *options])
    run(["jshell", "--class-path", CLASSPATH, "-"], input=SHELL)
    for name in ("theirs.gz", "theirs.txt"):
        known = {"doc_topic_prior": counted.doc_topic_prior_}
        theirs = foreign.from_mallet(tmp_path / name, **known)
        assert score(theirs) == pytest.approx(score(counted), rel=1e-6)
    on = foreign.from_mallet(tmp_path / "on.gz")
    assert on.components_.sum() == pytest.approx(counted.components_.sum(), rel=1e-6)
    assert score(on) > score(counted) - 0.1


@pytest.mark.parametrize("name", ["a\tb", "a\nb"])
def test_ids_that_break_lines_are_refused(name, tmp_path):
    records = [{"id": name, "text": "cat dog"}, {"id": "b", "text": "dog ran"}]
    model = LDA(2, method="online-cvb0", max_iter=1, client=False, progress=False).fit(records)
    with pytest.raises(SettingError, match="document"):
        foreign.to_mallet(model, tmp_path / "mallet", records)
    assert not (tmp_path / "mallet").exists()


def test_nothing_is_left_of_files_that_cannot_be_written(ours, tmp_path):
    from bigtopic.foreign.mallet import _write
    from bigtopic.storage.place import Place

    def lines():
        yield "one\n"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _write(Place.of(tmp_path / "file.txt"), lines())
    assert not list(tmp_path.iterdir())
    odd = LDA(2, method="online-cvb0", max_iter=1, client=False).fit(np.ones((70, 2)))
    odd._model.axes["word"] = type(odd.vocabulary_)(["a", "b\tc"])
    with pytest.raises(SettingError, match=r"'b\\tc' holds a tab"):
        foreign.to_mallet(odd, tmp_path)


STATE = "#doc source pos typeindex type topic\n#alpha : 0.5 0.5 \n#beta : 0.01\n"
MALFORMED = {
    "empty": ("", "is not a text file of a MALLET model"),
    "prose": ("Once upon a time\n", "is not a text file of a MALLET model"),
    "binary": (b"\xac\xed\x00\x05sr\x00", r"line 1: not UTF-8.*--output-state"),
    "cut gzip": (gzip.compress(STATE.encode() * 99)[:60], "ends in the middle"),
    "no alpha": (STATE.split("#alpha")[0], r"line 2: expected #alpha : and numbers; found ''"),
    "alpha": (STATE.replace("0.5 0.5", "0.5 x"), r"line 2: expected #alpha"),
    "negative beta": (STATE.replace("0.01", "-1"), r"line 3: expected #beta"),
    "no tokens": (STATE, "holds no words"),
    "topic": (STATE + "0 NA 0 0 cat 2\n", r"line 4: expected .*topics 0 \.\. 1; found '0 NA 0 0 cat 2'"),
    "escape": (STATE + "0 NA \x1b[31m\n", r"line 4: .*found '0 NA \\x1b\[31m'"),
    "infinite": ("0\tcat\tInfinity\n", "is not a text file"),
    "weight": ("0\tcat\t1.5\n0\tdog\tmany\n", r"line 2: expected topic, word and weight.*'0\\tdog\\tmany'"),
    "cut": (
        "0\tcat\t1.5\n0\tdog\t1\n1\tcat\t1\n",
        "holds 3 weights, not one for each of 2 topics and 2 words",
    ),
    "twice": ("0\tcat\t1.5\n0\tcat\t1\n1\tcat\t1\n1\tdog\t1\n", "holds 4 weights, not one for each"),
    "count": ("0 cat 0:2\n1 dog 0-2\n", r"line 2: expected 1, a new word, topic:count.*'1 dog 0-2'"),
    "again": ("0 cat 0:2\n1 cat 1:2\n", r"line 2: expected 1, a new word"),
    "huge": (
        "0 cat 0:2\n1 dog 16000000:1\n" + "".join(f"{i} w{i} 0:1\n" for i in range(2, 9999)),
        "fewer topics",
    ),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_files_are_errors(name, tmp_path):
    content, words = MALFORMED[name]
    (tmp_path / "file").write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises((InputError, SettingError), match=words):
        foreign.from_mallet(tmp_path / "file")


def test_topic_keys_must_be_those_of_the_model(files, tmp_path):
    (tmp_path / "keys").write_text("0\t0.5\tcat\n2\t0.5\tdog\n")
    with pytest.raises(InputError, match=r"keys, line 2: expected topic 1, alpha and words"):
        foreign.from_mallet(files / "weights.txt", topic_keys=tmp_path / "keys")
    (tmp_path / "keys").write_text("0\t0.5\tcat\n")
    with pytest.raises(SettingError, match=r"shape \(1,\), but .*weights\.txt has 3 topics"):
        foreign.from_mallet(files / "weights.txt", topic_keys=tmp_path / "keys")
    (tmp_path / "keys").write_text("")
    with pytest.raises(InputError, match="keys is empty"):
        foreign.from_mallet(files / "weights.txt", topic_keys=tmp_path / "keys")
