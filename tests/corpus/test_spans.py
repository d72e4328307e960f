"""Where words are in a text: `Tokenizer.spans` gives back the words of `tokens`, each at its own place."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bigtopic.corpus.text.alignment import aligned
from bigtopic.corpus.text.segmentation import canonical
from bigtopic.corpus.text.tokenizer import TextSettings, Tokenizer

TEXTS = [
    "",
    "a",
    "The cat sat on the mat; the CAT's mat.",
    "Straße, naïve café ΌΔΟΣ ΣΑΣ'Σ İstanbul I\u0307x İ\u0307y 東京 x_1 3.14 e-mail\u00a0new\x1cline",
    "cafe\u0301 Stra\u00adße \u0301a\u0301x हिन्दी में की कि\u200d\u200dताब\u200d \u200dx\u200dy\ufe0f",
    "\u200dab\u200d\u200dcd\u200d\u00ade\u200d, \u00ad\u0301ab\u200c",
    "한국어 \u1112\u1161\u11ab\u1100\u116e\u11a8\u110b\u1165 가\u11ab각 \u1161\u11ab",
    "\u0958\u0959 \u0915\u093c \ufb1d\ufb2a שלום\u05b0 \u0344x \u212bngstrom \u1e9b\u0323\u0307 ﬁn",
    "ภาษาไทยที่นี่ 漢字仮名交じり文 မြန်မာ",
    "\u202eabc\u202c \u2066de\u2069 fg\ufeff 𝒜𝒷 😀ok😀 a\U000e0100b",
]
LETTERS = (
    "abSσΣςiIİıßéÅ\u212b1_.,' \n\u00a0\u2003\u0301\u0307\u0323\u0344\u200c\u200d\u00ad\ufeff\u202e"
    "\u1112\u1161\u11ab가각क\u094d\u093c\u0958ा漢ไ\u0e34אב\u05b0𝒜😀\U000e0100"
)
texts = st.text(st.sampled_from(LETTERS)) | st.text()


def stem(token):
    return token.rstrip("s") if token != "cat" else None


SETTINGS = {
    "default": TextSettings(),
    "as written": TextSettings(lowercase=False),
    "stop words": TextSettings(stop_words="english"),
    "listed": TextSettings(stop_words=["mat", "ab"], token_filter=stem),
    "letters": TextSettings(token_pattern=r"\w"),
    "across spaces": TextSettings(token_pattern=r"\w+\s\w+"),
    "a group": TextSettings(token_pattern=r"(?:^|\s)(\w*)"),
    "either": TextSettings(token_pattern=r"a(b)?"),
    "first rules": TextSettings(rules=1),
    "first rules, as written": TextSettings(rules=1, lowercase=False),
}


@pytest.mark.parametrize("lowercase", [False, True])
@settings(deadline=None)
@given(texts)
@example(" ".join(TEXTS))
@example("".join(map(chr, range(0x20, 0x3000))))
def test_an_alignment_is_of_the_canonical_spelling(lowercase, text):
    found = aligned(text, lowercase)
    assert found.spelling == canonical(text, lowercase)
    assert len(found.starts) == len(found.stops) == len(found.spelling)
    before = (0, 0)
    for character, start, stop in zip(*found, strict=True):
        assert 0 <= start < stop <= len(text) and (start, stop) >= before
        assert (start, stop) == before or start >= before[1]
        before = start, stop
        spelling = canonical(text[start:stop] + "a", lowercase)  # after a joiner there is a letter
        assert character.replace("ς", "σ") in spelling.replace("ς", "σ")


@pytest.mark.parametrize("how", SETTINGS.values(), ids=SETTINGS)
@settings(deadline=None)
@given(texts)
@example(" ".join(TEXTS))
@example("\n".join(reversed(TEXTS)))
def test_spans_are_the_words_at_their_places(how, text):
    tokenizer = Tokenizer(how)
    spans = list(tokenizer.spans(text))
    assert [term for _, _, term in spans] == tokenizer.tokens(text)
    end = 0
    for start, stop, term in spans:
        assert end <= start <= stop <= len(text)
        end = stop
        if how.token_filter is None and how.token_pattern == TextSettings.token_pattern:
            own = text[start:stop].lower() if how.lowercase else text[start:stop]
            spelt = canonical(own, how.lowercase) if how.rules > 1 else own
            assert term.replace("ς", "σ") in spelt.replace("ς", "σ")


def test_a_place_has_no_more_than_the_word():
    text = "The (CAFE\u0301) Stra\u00adße, \u202eabc\u202c İstanbul! हिन्दी."
    found = {term: text[start:stop] for start, stop, term in Tokenizer().spans(text)}
    assert found == {
        "the": "The",
        "café": "CAFE\u0301",
        "straße": "Stra\u00adße",
        "abc": "abc\u202c",
        "istanbul": "İstanbul",
        "हिन्दी": "हिन्दी",
    }


def test_terms_of_several_words_have_no_place():
    tokenizer = Tokenizer(TextSettings(ngram_range=(1, 2)), frozenset([("new", "york")]))
    assert [term for *_, term in tokenizer.spans("New York city")] == ["new", "york", "city"]


def test_a_long_text_takes_seconds_not_hours():
    text = "漢字\u00ad" * 100_000 + " word" * 10_000
    assert sum(1 for _ in Tokenizer().spans(text)) == 10_001
