"""Text in lines: nothing is lost, nothing is too wide, and words are in the order in which they are read."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bigtopic.plots._lines import lines_of
from bigtopic.plots._text_width import width_in, wrapped
from bigtopic.wording import printable


def width(text):
    """One point a character, two if it is wide, none if it is a mark."""
    return sum(0 if c in "\u0301\u05b0" else 2 if c in "漢字" else 1 for c in text)


def read(pieces, points=20):
    """What stands on the lines, a space between words that do not touch."""
    shown = []
    for line in lines_of(pieces, points, width):
        text, end = "", 0.0
        for word in line:
            assert word.x >= end
            text += " " * round(word.x - end) + word.text
            end = word.x + width(word.text)
        assert end <= points
        shown.append(text)
    return shown


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("one", ["one"]),
        ("the quick brown fox jumps over", ["the quick brown fox", "jumps over"]),
        ("  two   \t spaces  ", ["two spaces"]),
        ("one\ntwo\n\n\n\nthree\r\nfour", ["one", "two", "", "three", "four"]),
        ("exactly twenty chars", ["exactly twenty chars"]),
        ("a word of twenty letters at most", ["a word of twenty", "letters at most"]),
        ("abcdefghijklmnopqrstuvwxyz end", ["abcdefghijklmnopqrst", "uvwxyz end"]),
        ("漢字漢字漢字漢字漢字漢字 x", ["漢字漢字漢字漢字漢字", "漢字 x"]),
        ("see 漢字漢字漢字漢字漢字", ["see 漢字漢字漢字漢字", "漢字"]),
        ("a\x1bb\u202ec", [r"a\x1bb\u202ec"]),
        ("abcdefghijklmnopqrse\u0301f", ["abcdefghijklmnopqrse\u0301", "f"]),
        # read from the right: the first word is the last one from the left
        ("שלום עולם", ["           עולם שלום"]),
        ("שלום foo bar עולם", ["   עולם foo bar שלום"]),
        ("foo שלום עולם bar", ["foo עולם שלום bar"]),
        ("... שלום", ["            שלום ..."]),
    ],
)
def test_lines(text, lines):
    assert read([(text, None)]) == lines


def test_pieces_of_a_word_stay_together_and_keep_their_topics():
    pieces = [("some words (", None), ("inside", 3), ("), and", None), (" ", None), ("more", 1)]
    assert read(pieces) == ["some words (inside),", "and more"]
    found = [(word.text, word.topic) for line in lines_of(pieces, 20, width) for word in line]
    assert found == [
        ("some", None),
        ("words", None),
        ("(", None),
        ("inside", 3),
        ("),", None),
        ("and", None),
        ("more", 1),
    ]


texts = st.text(
    st.sampled_from("ab c\n\t(),.1אבגد漢字\u0301\x1b\u202e") | st.characters(exclude_categories=["Cs"])
)


@settings(deadline=None)
@given(st.lists(st.tuples(texts, st.none() | st.integers(0, 5))), st.integers(1, 30))
def test_nothing_is_lost(pieces, points):
    lines = list(lines_of(pieces, points, width))
    found = sorted(c for line in lines for word in line for c in word.text)
    assert found == sorted(c for text, _ in pieces for word in text.split() for c in printable(word))
    for line in lines:
        words = sorted(line, key=lambda word: word.x)
        assert all(a.x + width(a.text) <= b.x for a, b in pairwise(words))
        assert all(word.x >= 0 for word in words)
        assert not words or words[-1].x + width(words[-1].text) <= points or len(words) == 1


def test_titles_are_wrapped_to_their_width():
    text = "A title of some words, which is long, and a name: " + "x" * 200 + "\nand a line"
    for points in (100, 150, 400, 4000):
        lines = wrapped(text, points, "medium").split("\n")
        assert all(width_in("medium")(line) <= points for line in lines)
        assert lines[-1] == "and a line"
    assert wrapped(text, 4000, "medium") == text
