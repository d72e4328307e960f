"""Stop words as people write them, words that are too common, and documents that come twice."""

from recognition.case import Case, Read, Warned

import bigtopic as bt

CONTRACTIONS = ["We've seen it: don't stop. Cats don't.", "a dog we've met"]
TWO_KINDS = ["cat purr"] * 201 + ["dog bark"] * 199


def _with_one(source):
    """A corpus with the document x; its source is then appended."""

    def make(folder):
        bt.ingest([{"id": "x", "text": "cat"}], folder.parent / "corpus.zarr", client=False)
        return source

    return make


CASES = [
    Case(
        "a language's list where case is kept",
        ["The cat AND the dog", "Of The cat"],
        Read(2, {"cat": 2, "dog": 1}),
        {"stop_words": "english", "lowercase": False},
    ),
    Case(
        "a language's list for tokens",
        [["The", "cat", "AND", "dog"], ["the", "cat"]],
        Read(2, {"cat": 2, "dog": 1}),
        {"stop_words": "english"},
    ),
    Case(
        "a list of one's own where case is kept",
        ["The cat the Dog", "the dog"],
        Read(2, {"The": 1, "cat": 1, "dog": 1, "Dog": 1}),
        {"stop_words": ["the"], "lowercase": False},
    ),
    Case(
        "stop words with apostrophes",
        CONTRACTIONS,
        Read(2, {"seen": 1, "it": 1, "stop": 1, "cats": 1, "dog": 1, "met": 1}),
        {"stop_words": ["We've", "don't"]},
    ),
    Case(
        "stop words with hyphens, and of one letter",
        ["e-mail the cat", "mail a dog"],
        Read(2, {"the": 1, "cat": 1, "dog": 1}),
        {"stop_words": ["e-mail", "a"]},
    ),
    Case(
        "stop words that a tokeniser splits",
        ["l'ami du chat", "un chat"],
        Read(2, {"du": 1, "chat": 2, "un": 1}),
        {"stop_words": ["l'ami"], "tokenizer": lambda text: text.replace("'", "' ").split()},
    ),
    Case(
        "a stop word of several words",
        ["new york is a new city", "old york"],
        Warned("'new york' is several words", Read(2, {"new": 2, "york": 2, "city": 1, "old": 1})),
        {"stop_words": ["new york", "is"]},
    ),
    Case(
        "a stop word of several words that are one token",
        ["new york, a city", "old york"],
        Read(2, {" a city": 1, "old york": 1}),
        {"stop_words": ["new york"], "token_pattern": "[^,]+"},
    ),
    Case(
        "two kinds of texts, one of more than half",
        TWO_KINDS,
        Read(400, {"cat": 201, "purr": 201, "dog": 199, "bark": 199}),
        {"max_df": None},
    ),
    Case(
        "a word of more than half of the documents beside others",
        [f"common n{i % 3}" for i in range(120)],
        Read(120, {"n0": 40, "n1": 40, "n2": 40}),
        {"max_df": None},
    ),
    Case(
        "a common word that is all some documents have",
        [f"common other n{i % 3}" for i in range(119)] + ["common"],
        Read(120, {"common": 120, "n0": 40, "n1": 40, "n2": 39}),
        {"max_df": None},
    ),
    Case(
        "common words beside rare ones, which another limit leaves out",
        [f"cat purr n{i}" for i in range(201)] + ["dog bark"] * 199,
        Read(400, {"cat": 201, "purr": 201, "dog": 199, "bark": 199}),
        {"max_df": None, "min_df": 2},
    ),
    Case(
        "a limit that was asked for",
        TWO_KINDS,
        Read(400, {"dog": 199, "bark": 199}),
        {"max_df": 0.5},
    ),
    Case(
        "a document that is there already, left out",
        _with_one([{"id": "y", "text": "dog"}, {"id": "x", "text": "cow"}]),
        Read(2, {"cat": 1, "dog": 1}, ids=["x", "y"]),
        {"append": True, "on_duplicate": "skip"},
    ),
    Case(
        "a document that is there already, replaced",
        _with_one([{"id": "y", "text": "dog"}, {"id": "x", "text": "cow"}]),
        Read(2, {"cat": 0, "dog": 1, "cow": 1}, ids=["y", "x"]),
        {"append": True, "on_duplicate": "replace"},
    ),
    Case(
        "documents without ids are not compared",
        _with_one(["cat", "cat"]),
        Read(3, {"cat": 3}),
        {"append": True},
    ),
]
