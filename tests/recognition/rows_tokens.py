"""Texts whose words have marks, joiners or several spellings, or no spaces between them; lists of paragraphs."""

from __future__ import annotations

from unicodedata import normalize

from recognition.case import Case, Files, Read, Refused, Warned


def _lines(name, lines, words, **options):
    """A text per line, of which these are the words."""
    text = "".join(f"{line}\n" for line in lines)
    return Case(name, Files({"a.txt": text}), Read(len(lines), words), options)


def _spaced(name, text):
    """Words with spaces between them, none of which is cut."""
    return _lines(name, [text], dict.fromkeys(text.split(), 1))


def _unspaced(name, text, remedy):
    return Case(f"{name} without spaces", Files({"a.txt": f"{text}\n"}), Warned(remedy, Read(1)))


def _per_word(text):
    return text.split("|")


def _records(*bodies, field="text"):
    return [{field: body, "id": str(i)} for i, body in enumerate(bodies)]


_CHINESE = "我爱北京天安门，天安门上太阳升。"

CASES = [
    _spaced("Hindi", "हिन्दी भाषा माँ की"),
    _spaced("Bengali", "বাংলা ভাষা"),
    _spaced("Telugu", "తెలుగు భాష"),
    _spaced("Tamil", "தமிழ் மொழி"),
    _spaced("Malayalam", "മലയാളം ഭാഷ"),
    _spaced("Arabic with vowels", normalize("NFC", "كِتَابٌ جَدِيدٌ")),
    _spaced("Hebrew with points", normalize("NFC", "שָׁלוֹם עֲלֵיכֶם")),
    _spaced("Thai with spaces", "ภาษา ไทย ปี ที่"),
    _spaced("Persian with joiners", "می\u200cخواهم کتاب\u200cها"),
    _spaced("Sinhala with joiners", "ශ්\u200dරී ලංකා"),
    _spaced("a letter without a composed form", "ɛ\u0301na gb\u025b\u0303"),
    _spaced("German and French", "größe café naïve straße"),
    _lines("a joiner at the end", ["می\u200c خواهم\u200d."], {"می": 1, "خواهم": 1}),
    _lines("umlauts in two forms", ["größe gro\u0308ße GRO\u0308ßE"], {"größe": 3}),
    _lines("composition excluded", ["\u0958लम \u0915\u093cलम"], {"\u0915\u093cलम": 2}),
    _lines("marks in two orders", ["q\u0307\u0323a q\u0323\u0307a"], {"q\u0323\u0307a": 2}),
    _lines("Vietnamese in two forms", ["Việt " + normalize("NFD", "việt")], {"việt": 2}),
    _lines("Korean in two forms", ["한국어 " + normalize("NFD", "한국어")], {"한국어": 2}),
    _lines("the sign of Angstrom", ["\u212bngstrom ångstrom a\u030angstrom"], {"ångstrom": 3}),
    _lines("Turkish", ["İSTANBUL İstanbul istanbul I\u0307stanbul i\u0307stanbul"], {"istanbul": 5}),
    _lines("Turkish as it is", ["İstanbul I\u0307stanbul"], {"İstanbul": 2}, lowercase=False),
    _lines("soft hyphens", ["Donau\u00addampf\u00adschiff donaudampfschiff"], {"donaudampfschiff": 2}),
    _lines("direction and order marks", ["\ufeffab\u200ec abc\u200f \u2068abc\u2069"], {"abc": 3}),
    _lines("variants of a glyph", ["葛\U000e0100飾 葛飾 ab\ufe0f"], {"葛飾": 2, "ab": 1}),
    _lines("emoji", ["cat \u2764\ufe0f dog \U0001f468\u200d\U0001f469 ant"], {"cat": 1, "dog": 1, "ant": 1}),
    _lines("a mark on a space", ["ab \u0301cd"], {"ab": 1, "cd": 1}),
    _lines(
        "a pattern of one's own",
        ["café cafe\u0301 x1"],
        {"café": 2},
        token_pattern=r"(?#of one's own)[^\W\d_]{2,}",
    ),
    # Scripts without spaces.
    _unspaced("Chinese", _CHINESE, "Chinese, which has no spaces between words"),
    _unspaced("Japanese", "東京は日本の首都であり、世界最大の都市圏の一つである。", "fugashi"),
    _unspaced("Thai", "ภาษาไทยเป็นภาษาที่มีระดับเสียงของคำแน่นอน", "pythainlp.word_tokenize"),
    _unspaced("Lao", "ພາສາລາວເປັນພາສາທາງການຂອງສາທາລະນະລັດ", "laonlp"),
    _unspaced("Khmer", "ភាសាខ្មែរគឺជាភាសាផ្លូវការរបស់ប្រទេសកម្ពុជា", "khmernltk"),
    _unspaced("Burmese", "မြန်မာဘာသာစကားသည် မြန်မာနိုင်ငံ၏ ရုံးသုံးဘာသာစကား ဖြစ်သည်။", "PyICU"),
    Case(
        "Chinese with a tokeniser",
        ["我爱|北京|天安门"],
        Read(1, {"我爱": 1, "北京": 1, "天安门": 1}),
        {"tokenizer": _per_word},
    ),
    Case(
        "Chinese tokens",
        [["我爱", "北京", "天安门上太阳升"]],
        Read(1, {"我爱": 1, "北京": 1, "天安门上太阳升": 1}),
    ),
    _spaced("Chinese with spaces", "我爱 北京 天安门 太阳 经济 增长"),
    _spaced("Japanese with spaces", "東京 から 日本 まで"),
    _spaced("Korean", "대한민국의 수도는 서울이다"),
    _lines(
        "a name in Chinese",
        ["beijing (北京天安门) capital of china"],
        {"beijing": 1, "北京天安门": 1, "capital": 1, "of": 1, "china": 1},
    ),
    # Lists of strings.
    Case(
        "paragraphs",
        _records(["The cat sat down.", "A dog ran."], ["Introduction"], "cat", None, []),
        Read(5, {"the": 1, "cat": 2, "sat": 1, "down": 1, "dog": 1, "ran": 1, "introduction": 1}),
    ),
    Case(
        "short paragraphs",
        _records(["cat sat", "dog ran"]),
        Read(1, {"cat": 1, "sat": 1, "dog": 1, "ran": 1}),
    ),
    Case(
        "paragraphs in JSON",
        Files({"a.jsonl": '{"text": ["The cat sat.", "A dog ran."]}\n'}),
        Read(1, {"the": 1, "cat": 1, "sat": 1, "dog": 1, "ran": 1}),
    ),
    Case(
        "paragraphs after a title",
        _records(["Introduction"], ["The cat sat down.", "A dog ran."]),
        Read(2, {"introduction": 1, "the": 1, "cat": 1, "sat": 1, "down": 1, "dog": 1, "ran": 1}),
    ),
    Case(
        "a list of paragraphs",
        [["the cat sat", "dog ran off"]],
        Read(1, {"the": 1, "cat": 1, "sat": 1, "dog": 1, "ran": 1, "off": 1}),
    ),
    Case(
        "a paragraph that is a number", _records(["The cat sat down.", 3]), Refused("int 3 is not a string")
    ),
    Case("words in a list", _records(["cat", "sat"], ["dog"]), Read(2, {"cat": 1, "sat": 1, "dog": 1})),
    Case(
        "a few words of two words", [["new york", "is", "big"]], Read(1, {"new york": 1, "is": 1, "big": 1})
    ),
    Case(
        "tokens of several words",
        _records(["machine learning", "not in the dark"], field="tokens"),
        Read(1, {"machine learning": 1, "not in the dark": 1}),
    ),
    Case(
        "words or short paragraphs",
        [["machine learning", "topic models"]],
        Warned("taken as tokens", Read(1, {"machine learning": 1, "topic models": 1})),
    ),
    # What is next to what.
    _lines(
        "n-grams and sentences",
        ["Cats sat. Dogs ran"],
        {"cats": 1, "sat": 1, "dogs": 1, "ran": 1, "cats sat": 1, "dogs ran": 1},
        ngram_range=(1, 2),
    ),
    _lines(
        "n-grams and stop words",
        ["university of oxford press"],
        {"oxford press": 1},
        ngram_range=(2, 2),
        stop_words=["of"],
    ),
    _lines(
        "n-grams and a filter",
        ["one two three four"],
        {"three four": 1},
        ngram_range=(2, 2),
        token_filter=lambda word: None if word == "two" else word,
    ),
    _lines("n-grams of no words", ["one, two"], {"one two": 1}, ngram_range=(2, 2)),
    Case(
        "n-grams and paragraphs",
        _records(["the cat sat", "dogs ran off"]),
        Read(1, {"the cat": 1, "cat sat": 1, "dogs ran": 1, "ran off": 1}),
        {"ngram_range": (2, 2)},
    ),
    _lines(
        "collocations and sentences",
        ["New York. New. York"],
        {"new_york": 1, "new": 1, "york": 1},
        collocations=[("new", "york")],
    ),
    _lines(
        "collocations and stop words",
        ["new york new the york"],
        {"new_york": 1, "new": 1, "york": 1},
        collocations=[("new", "york")],
        stop_words=["the"],
    ),
]
