"""The tokeniser against plain Python, stage by stage, and its settings."""

from __future__ import annotations

import json
import math
import random
import re
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from bigtopic.corpus.text.segmentation import IGNORED, marks, split_sentences
from bigtopic.corpus.text.stopwords import ENGLISH
from bigtopic.corpus.text.tokenizer import TextSettings, Tokenizer
from bigtopic.corpus.text.tokens import CollocationCounts, NotAWord
from bigtopic.errors import SettingError

TEXTS = [
    "The cat sat on the mat; the CAT's mat.",
    "",
    "a",
    "Straße, naïve café ΌΔΟΣ İstanbul 東京 x_1 3.14 e-mail\u00a0new\x1cline",
    "under_score UPPER lower 42 a1 -- ...",
    "the the the",
    "The cats sat. Cats' mats! 'One cat.' (Was it the mat?) The end: of 3.5 mats",
    "cafe\u0301 Stra\u00adße \u0301a\u0301x हिन्दी में की कि\u200d\u200dताब\u200d \u200dx\u200dy\ufe0f",
]
DEFAULT = TextSettings().token_pattern


VISIBLE = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
"""Signs before numbers, which are format characters by their category only."""


def is_invisible(character):
    if unicodedata.category(character) == "Cf":
        return character not in "\u200b\u200c\u200d" + VISIBLE
    return re.search("VARIATION SELECTOR|GRAPHEME JOINER", unicodedata.name(character, "")) is not None


def plain_text(text, lowercase):
    """Without invisible characters, marks in one order, and joiners only before a letter or a mark."""
    text = text.lower().replace("i\u0307", "i") if lowercase else text
    kept = ""
    for c in reversed(unicodedata.normalize("NFC", "".join(c for c in text if not is_invisible(c)))):
        if c not in "\u200c\u200d" or (kept and is_part(kept[0])):
            kept = c + kept
    return kept


def is_part(character):
    return character.isalnum() or character == "_" or unicodedata.category(character) in ("Mn", "Mc", "Me")


def plain_words(text):
    """Words of the default pattern, a character at a time."""
    words = [""]
    for c in text:
        if is_part(c) or c in "\u200c\u200d":
            if words[-1] or c.isalnum() or c == "_":
                words[-1] += c
        else:
            words.append("")
    return [word for word in words if len(word) > 1]


def plain_tokens(text, settings):
    """What the stages say, one token at a time."""
    shortest, longest = settings.ngram_range
    sentences = re.split(r"(?<=[.!?])\s|(?<=[.!?]['\")])\s", text) if longest > 1 else [text]
    any_case = settings.stop_words == "english"
    stop = ENGLISH if any_case else set(settings.stop_words or ())
    runs = [[]]
    for sentence in sentences:
        whole = plain_text(sentence, settings.lowercase)
        find = (
            plain_words if settings.token_pattern == DEFAULT else re.compile(settings.token_pattern).findall
        )
        for token in find(whole):
            new = (
                None
                if (token.lower() if any_case else token) in stop
                else (settings.token_filter or str)(token)
            )
            if new:
                runs[-1].append(new)
            else:
                runs.append([])
        runs.append([])
    return [
        " ".join(run[i : i + n])
        for n in range(shortest, longest + 1)
        for run in runs
        for i in range(len(run) - n + 1)
    ]


def counters(block):
    """A counter for each document."""
    return [
        {block.vocabulary[w]: int(n) for w, n in zip(block.words[a:b], block.counts[a:b], strict=True)}
        for a, b in zip(block.indptr[:-1], block.indptr[1:], strict=True)
    ]


def stem(token):
    return token.rstrip("s") if token != "cat" else None


SETTINGS = [
    TextSettings(),
    TextSettings(lowercase=False),
    TextSettings(stop_words="english"),
    TextSettings(stop_words="english", lowercase=False),
    TextSettings(stop_words=["mat", "cat"], ngram_range=(1, 3)),
    TextSettings(ngram_range=(2, 2)),
    TextSettings(token_filter=stem, stop_words="english", ngram_range=(1, 2)),
    TextSettings(token_pattern=r"(?u)\b[^\W\d_]+\b"),
    TextSettings(token_pattern=r"#?(\w)\w*", lowercase=False),
]


@pytest.mark.parametrize("settings", SETTINGS, ids=range(len(SETTINGS)))
def test_counts_and_tokens_equal_plain_python(settings):
    block = Tokenizer(settings).counts(TEXTS)
    expected = [plain_tokens(text, settings) for text in TEXTS]
    assert counters(block) == [dict(Counter(tokens)) for tokens in expected]
    assert [Tokenizer(settings).tokens(text) for text in TEXTS] == expected
    assert (
        len(set(block.vocabulary)) == len(block.vocabulary) == len({t for tokens in expected for t in tokens})
    )
    assert (
        block.indptr.dtype == np.int64 and block.words.dtype == np.int32 and block.counts.dtype == np.float32
    )
    assert all(
        (np.diff(block.words[a:b]) > 0).all() for a, b in zip(block.indptr, block.indptr[1:], strict=False)
    )


@pytest.mark.parametrize("lowercase", [True, False])
def test_every_character_splits_as_the_pattern_says(lowercase):
    """ASCII text takes a way of its own; the characters around its border are tried next to all kinds of others."""
    characters = [*map(chr, range(0x250)), *"\u2028\u3000\ud7ff\U0001d54f٣ª'"]
    texts = [f"ab{c}cd {c}{c} {c}X" for c in characters]
    settings = TextSettings(lowercase=lowercase)
    assert [Tokenizer(settings).tokens(text) for text in texts] == [
        plain_tokens(text, settings) for text in texts
    ]


def test_a_tokenizer_of_ones_own_gets_the_text_as_it_is():
    settings = TextSettings(tokenizer=str.split, stop_words=["The"])
    assert Tokenizer(settings).tokens("The Cat's a b The") == ["Cat's", "a", "b"]


def test_token_lists_pass_through_the_later_stages():
    tokenizer = Tokenizer(TextSettings(stop_words=["x"], ngram_range=(1, 2)))
    assert counters(tokenizer.token_counts([["a", "B", "x", "C", ""], []])) == [
        {"a": 1, "B": 1, "C": 1, "a B": 1},
        {},
    ]


def test_empty_tokens_are_none():
    assert counters(Tokenizer().token_counts([["", "a", ""], [""]])) == [{"a": 1}, {}]
    assert Tokenizer(TextSettings(token_pattern=r"\w*")).tokens("a, b") == ["a", "b"]


def test_no_documents_and_only_empty_ones():
    for texts in ([], [""], ["", ""]):
        block = Tokenizer(TextSettings(ngram_range=(1, 2))).counts(texts)
        assert block.n_docs == len(texts) and block.vocabulary == [] and len(block.words) == 0


def boundaries():
    """The cases of Unicode: texts in parts, with a boundary between two."""
    for line in (Path(__file__).parent / "word_breaks.txt").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            yield ["".join(chr(int(code, 16)) for code in part.split()) for part in line.split("÷")]


# Where our words differ from Unicode's, as regular expressions of the text without marks and joiners:
EXCEPTIONS = {
    r"\w['.:,\"]\w": "as in scikit-learn, points, commas and quotes end words: can't is can and t",
    r"\u05d0'": "so they do after Hebrew letters, where they may stand for an abbreviation",
    r"\u3031\w|\w\u3031": "Katakana is not parted from what is next to it: Japanese needs a tokeniser",
    r"\w[\u2701\U0001f6d1]": "a joiner binds no pictograph to a letter: pictographs are no words",
}


def test_words_end_where_unicode_says():
    """Letters and digits are doubled, since a word has two characters or more."""
    needed = set()
    for parts in boundaries():
        parts = ["".join(2 * c if c.isalnum() or c == "_" else c for c in part) for part in parts]
        expected = [plain_text(part, False) for part in parts if re.search(r"\w", part)]
        if Tokenizer(TextSettings(lowercase=False)).tokens("".join(parts)) != expected:
            bare = re.sub("[\u0308\u200d\u00ad\u2060]", "", "".join(parts))
            reasons = [pattern for pattern in EXCEPTIONS if re.search(pattern, bare)]
            assert reasons, ascii(parts)
            needed.update(reasons)
    assert needed == set(EXCEPTIONS)


# --- collocations


def plain_join(tokens, pairs):
    out, i = [], 0
    while i < len(tokens):
        if i + 1 < len(tokens) and (tokens[i], tokens[i + 1]) in pairs:
            out.append(f"{tokens[i]}_{tokens[i + 1]}")
            i += 2
        else:
            out.append(tokens[i])
            i += 1
    return out


def test_joined_from_the_left_without_overlap_and_within_documents():
    random.seed(0)
    lists = [[random.choice("abcd") for _ in range(random.randrange(12))] for _ in range(300)]
    pairs = frozenset({("a", "b"), ("b", "a"), ("a", "a"), ("c", "d"), ("d", "nowhere")})
    tokenizer = Tokenizer(TextSettings(token_pattern=r"\w")).with_collocations(pairs)
    assert [tokenizer.tokens(" ".join(tokens)) for tokens in lists] == [plain_join(t, pairs) for t in lists]


def test_a_joined_word_may_exist_already():
    tokenizer = Tokenizer(TextSettings(), frozenset({("new", "york")}))
    assert counters(tokenizer.counts(["new york new_york new"])) == [{"new_york": 2, "new": 1}]


def test_a_stored_tokenizer_joins_the_pairs_stored_with_it():
    record = {
        **TextSettings(collocations=0.5, token_filter=str.upper).to_dict(),
        "collocation_pairs": [["A1", "B1"]],
    }
    tokenizer = Tokenizer.from_dict(json.loads(json.dumps(record)), token_filter=str.upper)
    assert tokenizer.tokens("a1 b1 c1") == ["A1_B1", "C1"]


def test_collocations_follow_the_equation():
    texts = ["aa bb cc aa bb", "aa bb", "cc dd", "dd cc"] * 3
    counts = Tokenizer(TextSettings()).collocation_counts(texts)
    assert counts.words == {"aa": 9, "bb": 9, "cc": 9, "dd": 6}
    assert counts.pairs == {
        ("aa", "bb"): 9,
        ("bb", "cc"): 3,
        ("cc", "aa"): 3,
        ("cc", "dd"): 3,
        ("dd", "cc"): 3,
    }
    npmi = {
        (a, b): math.log(n / 21 / (counts.words[a] / 33 * counts.words[b] / 33)) / -math.log(n / 21)
        for (a, b), n in counts.pairs.items()
    }
    for threshold in (0.0, 0.3, 0.5, 0.9):
        assert counts.select(threshold, min_count=3) == {
            pair for pair, value in npmi.items() if value > threshold
        }
    assert counts.select(-1, min_count=4) == {("aa", "bb")}


def test_counts_of_pairs_add_up_over_chunks_in_bounded_memory():
    random.seed(1)
    texts = [" ".join(random.choices(["aa", "bb", "cc", "dd", "ee"], k=9)) for _ in range(100)]
    tokenizer = Tokenizer(TextSettings())
    whole = tokenizer.collocation_counts(texts)
    merged = CollocationCounts()
    for i in range(0, 100, 7):
        merged.merge(tokenizer.collocation_counts(texts[i : i + 7]))
    assert (merged.words, merged.pairs) == (whole.words, whole.pairs)
    small = CollocationCounts(limit=10)
    small.merge(whole)
    assert len(small.pairs) <= 10 and min(small.pairs.values()) >= sorted(whole.pairs.values())[-11]


SENTENCES = {
    "One. Two": 2,
    "One.Two 3.14 e.g.x": 1,
    "What?! (Yes.) 'No.' Then... So…": 5,
    "one: two; three, four - five\nsix": 1,
    "A title\n\nA text\n \t\n\nmore\u2029end": 4,
    "我来了。你呢？好！": 4,
    "है। नहीं॥ ክፍል። نعم؟ لا۔ այո։": 7,
    "Dr. Who": 2,
    "": 1,
    "...": 1,
}


@pytest.mark.parametrize("text", SENTENCES)
def test_sentences_and_what_is_next_to_what(text):
    sentences = split_sentences(text)
    assert len(sentences) == SENTENCES[text]
    assert "".join(sentences) == text
    settings = TextSettings(ngram_range=(2, 2), token_pattern=r"\w+")
    words = [re.findall(r"\w+", sentence.lower()) for sentence in sentences]
    pairs = [f"{a} {b}" for some in words for a, b in pairwise(some)]
    assert Tokenizer(settings).tokens(text) == pairs


def test_words_do_not_depend_on_what_is_counted_beside_them():
    texts = [
        text for text in [*TEXTS, *SENTENCES] if "。" not in text
    ]  # a sentence end inside a token cuts it
    for pattern in (DEFAULT, r"\S+", r"\w[\w.]*"):
        words, both = (
            [
                Tokenizer(TextSettings(token_pattern=pattern, ngram_range=(1, n))).tokens(text)
                for text in texts
            ]
            for n in (1, 2)
        )
        assert [[term for term in terms if " " not in term] for terms in both] == words


def test_a_function_gets_each_sentence_where_neighbours_count():
    given = []

    def tokenizer(text):
        given.append(text)
        return text.split()

    assert Tokenizer(TextSettings(tokenizer=tokenizer, ngram_range=(2, 2))).tokens("a b. C") == ["a b."]
    assert given == ["a b.", " C"]
    with pytest.raises(NotAWord) as error:
        Tokenizer(TextSettings(tokenizer=lambda text: [len(text)], ngram_range=(1, 2))).counts(["", "a. b"])
    assert error.value.document == 0
    odd = TextSettings(tokenizer=lambda text: [3] if text == " b" else [text], ngram_range=(1, 2))
    with pytest.raises(NotAWord) as error:
        Tokenizer(odd).counts(["a. c", "d. e. b", "f"])
    assert error.value.document == 1


def test_pairs_are_counted_within_sentences_and_not_across_what_is_left_out():
    counts = Tokenizer(TextSettings(stop_words=["of"])).collocation_counts(["aa bb. Cc of dd aa bb", "bb aa"])
    assert counts.pairs == {("aa", "bb"): 2, ("dd", "aa"): 1, ("bb", "aa"): 1}


def test_joined_words_are_next_to_those_around_them():
    settings = TextSettings(collocations=[("new", "york")], ngram_range=(2, 2))
    tokenizer = Tokenizer(settings, frozenset(settings.collocations))
    assert tokenizer.tokens("in new york city. new. york") == ["in new_york", "new_york city"]


def test_invisible_characters_are_those_of_unicode():
    """Those that `canonical` removes; half characters, signs of annotation, music and shorthand are others."""
    removed = re.compile(f"[{IGNORED}]")
    for c in map(chr, range(0xFFF0)):
        if removed.match(c):
            assert is_invisible(c) or unicodedata.category(c) == "Cn" or c in marks()
        else:
            assert not is_invisible(c), ascii(c)


# --- corpora of an earlier version


def earlier(**settings):
    stored = TextSettings(**settings).to_dict()
    del stored["rules"]
    return stored


@pytest.mark.parametrize(
    ("settings", "text", "tokens"),
    [
        ({}, "हिन्दी cafe\u0301 Stra\u00adße cat", ["cafe", "stra", "ße", "cat"]),
        ({"ngram_range": (2, 2), "stop_words": ["of"]}, "One. Two of three", ["one two", "two three"]),
        ({"token_pattern": r"(?#earlier)\w+"}, "cafe\u0301", ["cafe"]),
    ],
)
def test_stored_settings_without_rules_give_the_words_of_then(settings, text, tokens):
    stored = earlier(**settings)
    assert Tokenizer.from_dict(stored).tokens(text) == tokens
    many = Tokenizer.from_dict(stored).counts([text] * (200_000 // len(text)))
    assert sorted(many.vocabulary) == sorted(tokens)
    assert Tokenizer.from_dict(Tokenizer.from_dict(stored).settings.to_dict()).tokens(text) == tokens
    assert Tokenizer(TextSettings(**settings)).tokens(text) != tokens


# --- settings


def test_settings_survive_json():
    settings = TextSettings(
        stop_words=["b", "a", "a"], ngram_range=[1, 2], collocations=0.5, encoding="latin-1"
    )
    assert TextSettings.from_dict(json.loads(json.dumps(settings.to_dict()))) == settings
    assert settings.stop_words == ("a", "b")
    given = TextSettings(collocations=[["new", "york"], ("a", "b"), ("new", "york")])
    assert TextSettings.from_dict(json.loads(json.dumps(given.to_dict()))) == given
    assert given.collocations == (("a", "b"), ("new", "york"))


def test_functions_are_recorded_by_name_and_asked_for_again():
    stored = TextSettings(token_filter=stem, tokenizer=str.split).to_dict()
    assert stored["token_filter"].endswith(":stem") and stored["tokenizer"] == "builtins:str.split"
    json.dumps(stored)
    with pytest.raises(SettingError, match=r"token_filter=.*:stem.*pass the same function again"):
        TextSettings.from_dict(stored, tokenizer=str.split)
    again = TextSettings.from_dict(stored, token_filter=stem, tokenizer=str.split)
    assert again.token_filter is stem


def test_stop_words_of_a_file_travel_with_the_settings(tmp_path):
    path = tmp_path / "stop.txt"
    path.write_text("the # an article\n\nof\n", encoding="utf-8")
    assert TextSettings(stop_words=str(path)).to_dict()["stop_words"] == ["of", "the"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"stop_words": "klingon"}, "neither a language nor a file"),
        ({"stop_words": [1]}, "must be strings"),
        ({"token_pattern": "("}, "not a regular expression"),
        ({"token_pattern": "(a)(b)"}, "2 groups"),
        ({"ngram_range": (2, 1)}, "1 <= shortest <= longest"),
        ({"ngram_range": 2}, "1 <= shortest <= longest"),
        ({"collocations": 3}, r"\[-1, 1\]"),
        ({"collocations": True}, r"\[-1, 1\]"),
        ({"collocations": ["new york"]}, "pairs of words"),
        ({"min_doc_length": -1}, "at least 0"),
        ({"encoding": "klingon"}, "not known"),
        ({"encoding": "utf-16"}, "iconv"),
        ({"encoding_errors": "maybe"}, "'strict', 'replace' or 'ignore'"),
        ({"token_filter": "stem"}, "must be a function"),
        ({"rules": 3}, "rules must be 1 or 2"),
        ({"rules": True}, "rules must be 1 or 2"),
    ],
)
def test_wrong_settings_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        TextSettings(**settings)


def test_the_english_list_holds_words_the_default_pattern_can_find():
    pattern = re.compile(TextSettings().token_pattern)
    assert {word for word in ENGLISH if not pattern.fullmatch(word)} == {"a", "i"}
    assert {"the", "of", "and", "with", "didn"} <= ENGLISH and not {"model", "time", "people"} & ENGLISH


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (
            {"token_pattern": r"(?:(?:x+)+)+y"},
            r"token_pattern='\(\?:.*not trusted.*: pass the same pattern again",
        ),
        ({"token_pattern": 5}, "damaged: token_pattern"),
        ({"token_pattern": ["a"]}, "damaged: token_pattern"),
        ({"stop_words": "/etc/hostname"}, "damaged: .*stop_words"),
        ({"stop_words": [1, 2]}, "damaged"),
        ({"ngram_range": [1, 10**9]}, "ngram_range"),
        ({"ngram_range": 3}, "ngram_range"),
        ({"min_doc_length": "x"}, "damaged"),
        ({"rules": "2"}, "rules"),
        ({"encoding": "a\0b"}, "encoding"),
        ({"encoding": "punycode"}, "encoding"),
        ({"encoding": 7}, "damaged"),
        ({"collocations": [["a"]]}, "collocations"),
        ({"collocation_pairs": [["a", "b", "c"]]}, "collocation"),
        ({"collocation_pairs": 5}, "collocation_pairs"),
        ({"collocation_pairs": [5]}, "collocation"),
    ],
)
def test_stored_settings_are_not_trusted(damage, message):
    with pytest.raises(SettingError, match=message):
        Tokenizer.from_dict({**TextSettings().to_dict(), **damage})


def test_a_stored_pattern_is_used_where_the_same_one_was_given():
    pattern = r"[a-c]+(?#stored and given)"
    stored = {**TextSettings().to_dict(), "token_pattern": pattern}
    with pytest.raises(SettingError, match="not trusted"):
        TextSettings.from_dict(stored)
    TextSettings(token_pattern=pattern)
    assert Tokenizer.from_dict(stored).tokens("abcd ab") == ["abc", "ab"]
