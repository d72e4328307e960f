"""Words, ids, and which words are kept."""

import pickle

import numpy as np
import pytest

from bigtopic.corpus.vocabulary import Vocabulary, VocabularySettings, dropped_words
from bigtopic.errors import SettingError, VocabularyMismatch


def test_look_up():
    known = Vocabulary(["b", "a", "c"])
    assert known.index_of(["c", "zzz", "b"]).tolist() == [2, -1, 0]
    assert known.index_of([]).dtype == np.int32
    assert known[1] == "a" and known[:2] == ["b", "a"] and list(known) == ["b", "a", "c"]
    assert "a" in known and "z" not in known
    with pytest.raises(IndexError, match="outside 0"):
        known[3]


def test_mapping_by_word():
    assert Vocabulary(["b", "a", "c"]).mapping_to(Vocabulary(["a", "b"])).tolist() == [1, 0, -1]


def test_mapping_by_position_needs_equal_widths():
    assert Vocabulary(size=3).mapping_to(Vocabulary(["a", "b", "c"])).tolist() == [0, 1, 2]
    with pytest.raises(VocabularyMismatch, match="4 on one side and 3"):
        Vocabulary(size=4).mapping_to(Vocabulary(["a", "b", "c"]))
    with pytest.raises(VocabularyMismatch, match="have no names"):
        Vocabulary(size=4).index_of(["a"])


def test_fingerprint_tells_words_apart():
    prints = [
        Vocabulary(words).fingerprint
        for words in (["ab", "c"], ["a", "bc"], ["c", "ab"], ["ab", "c", ""], ["1:a"])
    ]
    assert len(set(prints)) == 5
    assert Vocabulary(["ab", "c"]) == Vocabulary(np.array(["ab", "c"])) != Vocabulary(size=2)


def test_extended_and_taken_keep_frequencies():
    known = Vocabulary(["a", "b"], None, np.array([2, 1]), np.array([5.0, 1.0]))
    longer = known.extended(["c"])
    assert longer[:] == ["a", "b", "c"]
    assert longer.document_frequency.tolist() == [2, 1, 0] and longer.frequency.tolist() == [5, 1, 0]
    assert longer.taken(np.array([2, 0])).frequency.tolist() == [0, 5]
    assert Vocabulary(size=5, document_frequency=np.arange(5)).taken(np.array([3, 1]))[:] == ["3", "1"]


def test_pickles():
    known = Vocabulary(["a", "b"])
    known.index_of(["a"])
    assert pickle.loads(pickle.dumps(known)) == known


def test_kept_words_like_scikit_learn():
    text = pytest.importorskip("sklearn.feature_extraction.text")
    documents = ["a a b", "a b c", "a d", "a b e e e", "f"]
    settings = {"token_pattern": r"\w", "min_df": 2, "max_df": 0.7}
    counter = text.CountVectorizer(token_pattern=r"\w").fit(documents)
    counts = counter.transform(documents)
    df, tf = np.asarray((counts > 0).sum(0))[0], np.asarray(counts.sum(0))[0]
    names = counter.get_feature_names_out()
    expected = set(text.CountVectorizer(**settings).fit(documents).get_feature_names_out())

    def kept(**limits):
        return names[
            ~np.logical_or.reduce([*dropped_words(df, tf, 5, VocabularySettings(**limits)).values()])
        ]

    assert set(kept(min_df=2, max_df=0.7)) == expected == {"b"}
    assert kept(max_features=2).tolist() == ["a", "b"]


WRONG = {
    "min_df": [-1, True, np.nan, "2"],
    "max_df": [1.5, np.float32("nan")],
    "max_features": [0, 1.5, np.nan, "100", True],
}


@pytest.mark.parametrize("wrong", [{name: value} for name in WRONG for value in WRONG[name]], ids=repr)
def test_wrong_limits(wrong):
    with pytest.raises(SettingError, match=next(iter(wrong))):
        VocabularySettings(**wrong)
