"""Compiled splitting and counting against regular expressions and sorting, on all characters and on awkward texts."""

from __future__ import annotations

import random
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from unicodedata import normalize

import numpy as np
import pytest

from bigtopic.corpus.readers import open_source
from bigtopic.corpus.text import tokenizer as tokenizer_module
from bigtopic.corpus.text.segmentation import canonical, marks, word_pattern
from bigtopic.corpus.text.text_settings import TextSettings
from bigtopic.corpus.text.tokenizer import Tokenizer
from bigtopic.corpus.text.tokens import TokenArrays, count, encode
from bigtopic.corpus.text.utf8 import _JAMO, _WORDS_BELOW, Utf8Lines, word_runs
from bigtopic.errors import InputError

# Capitals whose lower case is longer, shorter, in ASCII, two characters, or depends on what is around; characters that
# such a rule passes over; digits of other scripts, marks, half characters, separators, and the ends of UTF-8's ranges.
AWKWARD = [
    *"İΣςσßẞȺȾKÅIıiſDždžLjꭰᎠΌΑαаЯ東한ªº²½٣๓ⅣⅷⓐꟐ",
    *"_-'.·:’\u0301\u0307\u0345\u00ad\u200d\ufeff\u0300\U000e0001\u200c\u034f\ufe0f\u0323\u0338=",
    *"\u0958\u0915\u093c\u0903\ufb2c\u212b\u1112\u1161\u11ab\uac00\U0001d15e\u0e01\u0e38\u0e48",
    *"\x00\x01\t\n\r\x0b\x1c\x1f \x7f\x80\x85\xa0\xff\u07ff\u0800\u2028\u3000\ud7ff\ue000\ufffd\uffff",
    *"\ud800\udbff\udc00\udfff\U00010000\U00010400\U00010428\U0001d54f\U0001e900\U0001f600\U0010ffff",
]


def by_pattern(texts, lowercase=True):
    return encode(word_pattern().findall(canonical(text, lowercase)) for text in texts)


def assert_same(found: TokenArrays, expected: TokenArrays):
    assert found.words == expected.words
    for name in ("ids", "lengths"):
        one, other = getattr(found, name), getattr(expected, name)
        assert one.dtype == other.dtype and one.tolist() == other.tolist()


@pytest.mark.slow
@pytest.mark.parametrize("lowercase", [True, False])
def test_every_character(lowercase):
    texts = [
        " ".join(f"{c} {c}{c} b{c}B{c}" for c in map(chr, range(first, first + 256)))
        for first in range(0, sys.maxunicode + 1, 256)
    ]
    assert_same(word_runs(texts, lowercase), by_pattern(texts, lowercase))


def test_what_python_makes_longer():
    """Characters that become three times as long, and the document after them."""
    for c in "\u0958\ufb2c\u0344\u1f82":
        texts = ["ab " * 5, f"a{c}" * 5000, "x", (f"{c}b " + "y" * 40) * 500, "end of it"]
        assert_same(word_runs(texts, True), by_pattern(texts))


def test_no_pair_of_characters_becomes_a_letter_that_none_of_them_is():
    """What `word_runs` rests on: a mark where no word is can stay there, and the letters of Korean syllables."""
    for c in map(chr, range(sys.maxunicode + 1)):
        first, *rest = normalize("NFD", c)
        if rest and re.match(r"\w", c):
            assert re.match(r"\w", first) and all(part in marks() or ord(part) in _JAMO for part in rest)


def test_only_two_characters_are_lower_cased_by_what_is_around_them():
    """What `word_runs` rests on."""
    for c in map(chr, range(sys.maxunicode + 1)):
        alone = c.lower()
        if f"A{c}A {c} A{c} {c}A.".lower() != f"a{alone}a {alone} a{alone} {alone}a." or len(alone) > 1:
            assert c in "İΣ"
        if len(alone) == 1 and c < "\ud800":
            assert 2 * len(alone.encode()) <= 3 * len(c.encode())


@pytest.mark.parametrize("lowercase", [True, False])
@pytest.mark.parametrize(
    "alphabet", ["a", "aB ", "abc d", "aé ", "Σσα. ", AWKWARD, AWKWARD + ["a", " "] * 20]
)
def test_random_texts(alphabet, lowercase):
    draw = random.Random(0)
    for longest in (0, 3, 20, 200):
        texts = ["".join(draw.choices(alphabet, k=draw.randint(0, longest))) for _ in range(300)]
        assert_same(word_runs(texts, lowercase), by_pattern(texts, lowercase))


def test_words_of_any_length_that_begin_alike():
    draw = random.Random(0)
    texts = []
    for _ in range(200):
        lengths = draw.choices([*range(1, 35), 63, 64, 65], k=20)
        texts.append(" ".join("x" * (n - 1) + draw.choice("xyé") for n in lengths))
    assert_same(word_runs(texts, True), by_pattern(texts))


def test_more_words_than_room_and_a_word_that_is_longer():
    many = [" ".join(f"w{i * j}" for i in range(300)) for j in range(1, 400)]
    texts = ["", *many, "", "long" * 200_000, "after it", ""]
    assert_same(word_runs(texts, True), by_pattern(texts))


def test_no_words():
    for texts in ([""], ["", ""], ["a b c", " ", "é"], ["\n", "\xff"]):
        assert_same(word_runs(texts, True), by_pattern(texts))


# --- lines of a file


def lines(data: bytes) -> Utf8Lines:
    return Utf8Lines(data, lambda: data.decode().removesuffix("\n").split("\n"))


@pytest.mark.parametrize("end", ["", "\n", "\n\n"])
def test_lines(end):
    draw = random.Random(0)
    alphabet = [c for c in AWKWARD if not "\ud800" <= c < "\ue000"] + ["a", " ", "\n"] * 10
    text = "".join(draw.choices(alphabet, k=5000)) + end
    found = lines(text.encode())
    expected = text.removesuffix("\n").split("\n")
    for lowercase in (True, False):
        assert_same(word_runs(found, lowercase), by_pattern(expected, lowercase))
    assert (len(found), found[1], found[2:4], list(found)) == (
        len(expected),
        expected[1],
        expected[2:4],
        expected,
    )


def test_what_is_utf8_is_what_python_says():
    edges = [0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xCE, 0xDF, 0xE0, 0xE1, 0xEC,
             0xED, 0xEE, 0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFF]  # fmt: skip
    tries = [bytes(some) for n in (1, 2, 3) for some in product(edges, repeat=n)]
    tries += [bytes(some) for some in product(edges[20:], *[edges[3:12]] * 3)]
    for some in tries:
        data = b"word\n" + some
        try:
            expected = by_pattern(data.decode().split("\n"))
        except UnicodeDecodeError as error:
            with pytest.raises(UnicodeDecodeError) as raised:
                word_runs(lines(data), True)
            assert raised.value.args == error.args
        else:
            assert_same(word_runs(lines(data), True), expected)


# --- with the rest of the tokenizer


@pytest.fixture
def compiled(monkeypatch):
    monkeypatch.setattr(tokenizer_module, "_COMPILED", 0)


@pytest.mark.parametrize(
    "settings",
    [
        TextSettings(),
        TextSettings(lowercase=False),
        TextSettings(stop_words=["aa", "ba"]),
        TextSettings(stop_words=["aa"], ngram_range=(1, 2), token_filter=lambda word: word.rstrip("b")),
        TextSettings(token_pattern=r"\w+"),
        TextSettings(ngram_range=(1, 3), rules=1),
        TextSettings(ngram_range=(2, 3)),
    ],
    ids=range(7),
)
def test_few_texts_and_many_are_treated_alike(settings, compiled, monkeypatch):
    draw = random.Random(0)
    texts = [
        "".join(draw.choices(["a", "b", "A", "é", " ", " ", "\u0301", ". "], k=draw.randint(0, 30)))
        for _ in range(500)
    ]
    tokenizer = Tokenizer(settings, frozenset({("ab", "bb"), ("bb", "ab"), ("bb", "bb")}))
    many, pairs = tokenizer.counts(iter(texts)), tokenizer.collocation_counts(texts)
    monkeypatch.undo()
    few = tokenizer.counts(texts)
    assert many.vocabulary == few.vocabulary
    for name in ("indptr", "words", "counts"):
        one, other = getattr(many, name), getattr(few, name)
        assert one.dtype == other.dtype and one.tolist() == other.tolist()
    assert pairs == tokenizer.collocation_counts(texts)
    assert list(pairs.pairs.items()) == list(tokenizer.collocation_counts(texts).pairs.items())


def test_few_texts_need_no_compiler():
    script = (
        "import sys; from bigtopic.corpus.text.tokenizer import Tokenizer; "
        "assert Tokenizer().counts(['a text', 'a word']).vocabulary == ['text', 'word']; "
        "assert 'numba' not in sys.modules"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", script], check=True, cwd=root)


@pytest.mark.parametrize(("n_words", "longest"), [(1, 5), (64, 40), (5000, 300)])
def test_bags_of_words_count_tokens(n_words, longest):
    generator = np.random.default_rng(0)
    lengths = generator.integers(0, longest, 400)
    ids = generator.zipf(1.3, lengths.sum()) % n_words
    indptr, words, counts = count(TokenArrays([str(i) for i in range(n_words)], ids, lengths))
    assert (indptr.dtype, words.dtype, counts.dtype) == (np.int64, np.int32, np.float32)
    for own, a, b in zip(np.split(ids, np.cumsum(lengths)), indptr, indptr[1:], strict=False):
        expected = np.unique(own, return_counts=True)
        assert [words[a:b].tolist(), counts[a:b].tolist()] == [part.tolist() for part in expected]


# --- with the reader of text


def parsed(path, **options):
    reader = open_source(path, text=TextSettings(**options))
    return [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]


def test_a_long_file_in_compiled_code(tmp_path, compiled):
    path = tmp_path / "text.txt"
    texts = ["first line", "", "ΑΣ ΣΑ Straße\r", "ÀÉ last"]
    path.write_bytes(b"\xef\xbb\xbf" + "\n".join(texts).encode())
    (block,) = parsed(path)
    assert block.vocabulary == ["first", "line", "ας", "σα", "straße", "àé", "last"]
    assert block.indptr.tolist() == [0, 2, 2, 5, 7]
    (block,) = parsed(path, token_pattern=r"\S+")
    assert block.vocabulary == ["first", "line", "ας", "σα", "straße", "àé", "last"]


def test_bytes_that_are_not_text_are_found_in_compiled_code(tmp_path, compiled):
    path = tmp_path / "text.txt"
    path.write_bytes(b"fine\nwhat \xe9t\xe9\nfine\n")
    message = "text.txt, line 2: byte 0xe9 is not utf-8 text; name the encoding"
    for options in ({}, {"token_pattern": r"\w+"}):
        with pytest.raises(InputError, match=message):
            parsed(path, **options)
    assert parsed(path, encoding="latin-1")[0].vocabulary == ["fine", "what", "été"]
    assert parsed(path, encoding_errors="ignore")[0].vocabulary == ["fine", "what"]


def test_the_last_planes_have_no_words():
    beyond = "".join(map(chr, range(_WORDS_BELOW - 256, sys.maxunicode + 1)))
    assert not re.search(r"\w", beyond) and beyond.lower() == beyond
