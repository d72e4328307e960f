"""A text in pieces, each word with its topic."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import bigtopic as bt
from bigtopic.corpus.text.tokenizer import TextSettings, Tokenizer
from bigtopic.questions.marked import Piece, marked

DEFAULT = TextSettings(stop_words=["the"]).to_dict()


def test_words_have_their_topics_and_what_is_between_them_has_none():
    text = "The River (bank), unknown RIVER cafe\u0301! "
    assert marked(text, DEFAULT, {"river": 2, "bank": 0, "café": 1, "the": 3}) == [
        Piece("The ", None),
        Piece("River", 2),
        Piece(" (", None),
        Piece("bank", 0),
        Piece("), unknown ", None),
        Piece("RIVER", 2),
        Piece(" ", None),
        Piece("cafe\u0301", 1),
        Piece("! ", None),
    ]
    assert marked("", DEFAULT, {"river": 2}) == []
    assert marked("nothing known", DEFAULT, {}) == [Piece("nothing known", None)]


@settings(deadline=None)
@given(
    st.text(st.sampled_from("abÅé\u0301\u200d\u00adİ漢ब\u094d .\n")) | st.text(),
    st.booleans(),
    st.integers(0, 3),
)
def test_all_pieces_are_the_text(text, lowercase, modulus):
    how = TextSettings(lowercase=lowercase)
    words = Tokenizer(how).tokens(text)
    topics = {word: i for i, word in enumerate(words) if i % 4 <= modulus}
    pieces = marked(text, how.to_dict(), topics)
    assert "".join(piece.text for piece in pieces) == text
    assert all(piece.text for piece in pieces)


@pytest.mark.parametrize(
    "changed", [{"tokenizer": "split"}, {"token_filter": "stem"}, {"token_pattern": "never (given) here"}]
)
def test_without_the_tokeniser_there_are_no_pieces(changed):
    assert marked("a text", {**DEFAULT, **changed}, {"text": 1}) is None


def test_a_document_has_pieces(model, asked, theta, records):
    for number in (3, 7):
        about = model.document(f"doc-{number}", asked, theta=theta)
        topics = dict(zip(about.words["word"], about.words["topic"], strict=True))
        assert "".join(piece.text for piece in about.pieces) == records[number]["text"]
        words = [piece for piece in about.pieces if piece.topic is not None]
        assert [piece.text for piece in words] == records[number]["text"].split()
        assert all(type(piece.topic) is int and piece.topic == topics[piece.text] for piece in words)
    assert model.document("doc-3", theta=theta).pieces is None


@pytest.mark.filterwarnings("ignore:33% of the tokens are unknown")
def test_words_that_the_model_does_not_know_have_no_topic(model, tmp_path):
    records = [{"id": "one", "text": "w1 other w2"}, {"id": "two", "text": "w1 w2 w3 w4"}]
    quiet = {"max_df": 1.0, "client": False, "n_threads": 1, "progress": False}
    corpus = bt.ingest(records, tmp_path / "kept.zarr", keep_text=True, **quiet)
    pieces = model.document("one", corpus).pieces
    assert [piece.text for piece in pieces] == ["w1", " other ", "w2"] and pieces[1].topic is None
    without = bt.ingest(records, tmp_path / "without.zarr", keep_text=False, **quiet)
    assert model.document("one", without).pieces is None
