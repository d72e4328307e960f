"""Measures of coherence by window of text against brute force, by hand, and against gensim."""

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.corpus.memory import from_matrix
from bigtopic.errors import SettingError
from bigtopic.evaluation import coherence, measures

RANDOM = np.random.default_rng(5)
WORDS = [f"word{i:02d}" for i in range(30)]
STOP_WORDS = ["the", "word04"]
WEIGHTS = 1 / np.arange(2, 32)
# lengths on both sides of the windows of 10 and 110 tokens, and at them
LENGTHS = [1, 3, 9, 10, 11, 25, 60, 109, 110, 111, 150, 240]
TEXTS = [
    " ".join(RANDOM.choice(WORDS, n, p=WEIGHTS / WEIGHTS.sum()))
    + (" rare" if n == 25 else " the" * (n == 60))
    for n in LENGTHS
]
TOPICS = [["word00", "word01", "word02", "word05"], ["word03", "word29", "word00", "word17"]]
SIZES = {"c-uci": 10, "c-npmi": 10, "c-v": 110}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    url = tmp_path_factory.mktemp("windows") / "docs.zarr"
    return bt.ingest(
        TEXTS,
        url,
        keep_text=True,
        min_df=1,
        max_df=1.0,
        stop_words=STOP_WORDS,
        client=False,
        n_threads=1,
    ).filter_vocabulary(drop=["rare"])


def windows(texts, size):
    """The set of words of each window; stop words take up no place."""
    found = []
    for text in texts:
        tokens = [word for word in text.split() if word not in STOP_WORDS]
        if tokens:
            found += [{*tokens[i : i + size]} for i in range(max(len(tokens) - size, 0) + 1)]
    return found


def forgetful(texts, size):
    """The same as gensim counts them: a word is gone with the token that leaves, though it may be there again."""
    found = []
    for text in texts:
        tokens = [word for word in text.split() if word not in STOP_WORDS]
        inside = {*tokens[:size]}
        found.append(inside)
        for i in range(len(tokens) - size):
            inside = inside - {tokens[i]} | {tokens[i + size]}
            found.append(inside)
    return found


def brute_force(topics, texts, measure, windows=windows, epsilon=1e-12):
    inside = windows(texts, SIZES[measure])

    def p(*words):
        return sum({*words} <= one for one in inside) / len(inside)

    def pmi(u, v):
        return np.log((p(u, v) + epsilon) / (p(u) * p(v)))

    def npmi(u, v):
        return 1.0 if u == v else 0.0 if p(u, v) == 1 else pmi(u, v) / -np.log(p(u, v) + epsilon)

    scores = []
    for words in topics:
        used = [word for word in words if p(word)]
        pairs = [(u, v) for i, u in enumerate(used) for v in used[i + 1 :]]
        if measure == "c-v":
            vectors = np.array([[npmi(u, v) for v in used] for u in used])
            whole = vectors.sum(axis=0)
            scores.append(np.mean([v @ whole / np.linalg.norm(v) / np.linalg.norm(whole) for v in vectors]))
        else:
            scores.append(np.mean([(npmi if measure == "c-npmi" else pmi)(*pair) for pair in pairs]))
    return np.array(scores)


@pytest.mark.parametrize("measure", SIZES)
def test_equals_brute_force(measure, corpus, monkeypatch):
    monkeypatch.setattr("bigtopic.evaluation.subject._ENTRIES", 40)  # several blocks
    monkeypatch.setattr("bigtopic.evaluation.subject._FEWEST_ENTRIES", 40)
    topics = [*TOPICS, ["word01", "rare", "word02", "word04"]]  # words that are not in the vocabulary
    assert len(list(corpus.spans(40))) > 2
    found = coherence(topics, corpus, measure, n_top=4)
    kept = [*TOPICS, ["word01", "word02"]]
    np.testing.assert_allclose(found.per_topic, brute_force(kept, TEXTS, measure), rtol=1e-12)
    assert found.omitted == pytest.approx(5 / 18) and found.n_docs == len(TEXTS)


def test_a_view_counts_its_own_windows(corpus):
    part = corpus.select(rows=[3, 7, 11])
    texts = [TEXTS[row] for row in (3, 7, 11)]
    for measure in SIZES:
        found = coherence(TOPICS, part, measure, n_top=4)
        np.testing.assert_allclose(found.per_topic, brute_force(TOPICS, texts, measure), rtol=1e-12)


def test_values_by_hand(tmp_path):
    """Six texts: a1 and b1 always together, c1 never with them, e1 in every one."""
    texts = ["a1 b1 e1", "b1 a1 e1", "c1 e1", "c1 d1 e1", "d1 c1 e1 c1", "e1"]
    corpus = bt.ingest(
        texts, tmp_path / "six.zarr", keep_text=True, max_df=1.0, stop_words=None, client=False
    )

    def found(measure, words):
        return coherence([words.split()], corpus, measure, n_top=len(words.split())).value

    small = np.log(1e-12)
    for measure, words, expected in (
        ("c-uci", "a1 b1", np.log(3)),
        ("c-uci", "c1 d1", np.log(2)),
        ("c-uci", "a1 c1", small - np.log(2 / 6 * 3 / 6)),
        ("c-uci", "e1 e1", 0.0),
        ("c-npmi", "a1 b1", 1.0),
        ("c-npmi", "a1 c1", -1 + np.log(2 / 6 * 3 / 6) / small),
        ("c-npmi", "e1 e1", 0.0),
        ("c-npmi", "a1 e1", 0.0),
        ("c-v", "a1 b1", 1.0),
        ("c-v", "a1 e1", np.sqrt(1 / 2)),  # independent
    ):
        assert found(measure, words) == pytest.approx(expected, abs=1e-9), (measure, words)


def test_c_v_loses_the_sign():
    """The formula of its docstring, for n words of which all pairs have the same NPMI."""
    c_v = measures.load("c-v").finish.args[1].args[0]
    n, n_windows, each = 10, 10**9, 10**6
    for both in (0, 1, 100, 1000, 5000):
        pairs = np.full((1, n, n), float(both))
        pairs[0, range(n), range(n)] = each
        together = both / n_windows + 1e-12
        a = np.log(together / (each / n_windows) ** 2) / -np.log(together)
        expected = abs(1 + (n - 1) * a) / np.sqrt(n + n * (n - 1) * a**2)
        assert c_v(pairs, n_windows)[0] == pytest.approx(expected)
        if both == 1000:
            assert expected == pytest.approx(0.32, abs=0.005)


def test_what_cannot_be_counted_is_an_error(tmp_path):
    where = {"client": False, "n_threads": 1, "max_df": 1.0}
    text = {"keep_text": True, **where}
    without = bt.ingest(TEXTS, tmp_path / "a.zarr", **where)
    matrix = from_matrix([[1, 1]], ["word00", "word01"])
    filtered = bt.ingest(TEXTS, tmp_path / "b.zarr", token_filter=str.lower, **text)
    pairs = bt.ingest(TEXTS, tmp_path / "c.zarr", ngram_range=(1, 2), **text)
    no_text = r"has not kept its texts; ingest .* with keep_text=True; .*npmi"
    refused = [
        (without, no_text),
        (matrix, no_text),
        (filtered, "a function or a pattern, which are not taken from a store"),
        (pairs, "n-grams overlap"),
    ]
    for measure in SIZES:
        for corpus, message in refused:
            with pytest.raises(SettingError, match=message):
                coherence(TOPICS, corpus, measure, n_top=2)


@pytest.fixture(scope="module")
def gensim():
    """gensim's coherence of `TOPICS`, by its name of a measure, on some texts."""
    models = pytest.importorskip("gensim.models")
    dictionary = pytest.importorskip("gensim.corpora").Dictionary

    def found(name, texts):
        tokens = [[word for word in text.split() if word not in STOP_WORDS] for text in texts]
        known = dictionary(tokens)
        given = {"corpus": [*map(known.doc2bow, tokens)], "texts": tokens, "dictionary": known}
        return models.CoherenceModel(
            topics=TOPICS, coherence=name, topn=4, processes=1, **given
        ).get_coherence_per_topic()

    return found


def test_equals_gensim_where_no_word_is_twice_in_a_window(gensim, tmp_path):
    """u_mass is LCP where all pairs occur together; the others are the same."""
    words = [f"word{i:02d}" for i in range(150)]
    texts = [" ".join(RANDOM.permutation(words)[:n]) for n in (9, 10, 11, 60, 109, 111, 130, 140)]
    corpus = bt.ingest(
        texts,
        tmp_path / "once.zarr",
        keep_text=True,
        max_df=1.0,
        stop_words=STOP_WORDS,
        client=False,
        n_threads=1,
    )
    for theirs, ours in (("u_mass", "lcp"), ("c_uci", "c-uci"), ("c_npmi", "c-npmi"), ("c_v", "c-v")):
        found = coherence(TOPICS, corpus, ours, n_top=4).per_topic
        np.testing.assert_allclose(found, gensim(theirs, texts), rtol=1e-9, err_msg=theirs)


def test_gensim_forgets_a_word_that_is_twice_in_a_window_when_the_first_leaves(gensim):
    for theirs, ours in (("c_uci", "c-uci"), ("c_npmi", "c-npmi"), ("c_v", "c-v")):
        right, wrong = brute_force(TOPICS, TEXTS, ours), brute_force(TOPICS, TEXTS, ours, forgetful)
        assert abs(wrong - right).max() > 1e-3
        np.testing.assert_allclose(gensim(theirs, TEXTS), wrong, rtol=1e-9, err_msg=theirs)


def test_umass_is_a_sum_and_adds_one_where_gensims_is_a_mean_and_adds_little(gensim, corpus):
    counts = corpus.to_scipy().toarray() > 0
    ours = coherence(TOPICS, corpus, "umass", n_top=4).per_topic
    for words, umass, mean in zip(TOPICS, ours, gensim("u_mass", TEXTS), strict=True):
        ids = corpus.vocabulary.index_of(words)
        both = [(counts[:, u] & counts[:, v]).sum() for i, u in enumerate(ids) for v in ids[i + 1 :]]
        assert umass == pytest.approx(6 * mean + sum(np.log((n + 1) / n) for n in both))
