"""Folders, documents cut out of files, encodings, sidecar files, and names of authors."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pandas
import pytest
from recognition.case import Case, Files, Read, Refused, Warned


def _cells(folder):
    anndata = pytest.importorskip("anndata")
    obs = pandas.DataFrame({"authors": ["Ann; Bob", "Bob"]}, index=["x", "y"])
    return anndata.AnnData(np.eye(2), obs=obs, var=pandas.DataFrame(index=["cat", "dog"]))


ANN_BOB = [["Ann", "Bob"], ["Bob"]]
DOUBT = "author_separator="


def _lines(first, second="Bob", **further):
    """Two documents, and what each has for its authors."""
    records = [{"text": "cat", "authors": first}, {"text": "dog", "authors": second}]
    return Files({"a.jsonl": "".join(json.dumps({**record, **further}) + "\n" for record in records)})


def _authors(name, first, right, second="Bob", **options):
    words = {"cat": 1, "dog": 1}
    read = Read(2, words, columns={}, authors=right)
    return Case(f"authors: {name}", _lines(first, second), read, options)


def _doubtful(name, first, second="Bob"):
    read = Read(2, {"cat": 1, "dog": 1}, columns={}, authors=[[first], [second]])
    return Case(f"authors in doubt: {name}", _lines(first, second), Warned(DOUBT, read))


SURNAMES = [["Smith, J.", "Lee, K."], ["Park, S."]]
WORDS = {"cat": 1, "dog": 1}
AUTHORS = [
    _authors("semicolons", "Ann; Bob", ANN_BOB),
    _authors("semicolons after surnames", "Smith, J.; Lee, K.", SURNAMES, "Park, S."),
    _authors("bars", "Ann|Bob", ANN_BOB),
    _authors("lines", "Ann\nBob", ANN_BOB),
    _authors("a list that Python wrote", "['Ann', 'Bob']", ANN_BOB, "['Bob']"),
    _authors("a list that JSON wrote", '["Ann", "Bob"]', ANN_BOB, '["Bob"]'),
    _authors("initials after surnames", "Smith, J., Lee, K.", SURNAMES, "Park, S."),
    _authors("initials after surnames, and", "Smith, J., and Lee, K.", SURNAMES, "Park, S."),
    _authors("initials after surnames, ampersand", "Smith, J., & Lee, K.", SURNAMES, "Park, S."),
    _authors("bare initials", "Smith J, Lee KM", [["Smith J", "Lee KM"], ["Park S"]], "Park S"),
    _authors(
        "initials first",
        "J. Smith, K.-M. Lee and P. O'Neil",
        [["J. Smith", "K.-M. Lee", "P. O'Neil"], ["Bob"]],
    ),
    _authors("BibTeX", "Smith, John and Lee, Kim", [["Smith, John", "Lee, Kim"], ["Park, Sun"]], "Park, Sun"),
    _authors("a library's one name each", "Smith, John", [["Smith, John"], ["Lee, Kim"]], "Lee, Kim"),
    _authors("names of several words", "Anna-Lena de la Cruz", [["Anna-Lena de la Cruz"], ["Bob"]]),
    _authors("an entity", "Smith &amp; Co", [["Smith &amp; Co"], ["Bob"]]),
    _authors("AT&T", "AT&T", [["AT&T"], ["Bob"]]),
    _authors(
        "commas inside a list",
        ["Smith, John", "Ministry of Trade and Industry"],
        [["Smith, John", "Ministry of Trade and Industry"], ["Bob"]],
        ["Bob"],
    ),
    _authors("missing", None, [[], ["Bob"]]),
    _authors("a comma is said to divide", "Ann, Bob", ANN_BOB, author_separator=","),
    _authors("'and' is said to divide", "Ann and Bob", ANN_BOB, author_separator=" and "),
    _authors(
        "nothing is said to divide",
        "Ann, Bob and Cleo; Dora",
        [["Ann, Bob and Cleo; Dora"], ["Bob"]],
        author_separator="",
    ),
    _doubtful("and", "Ann and Bob"),
    _doubtful("a ministry", "Ministry of Trade and Industry"),
    _doubtful("several commas", "Ann Lee, Bob Smith, Cleo", "Dora"),
    _doubtful("a comma in one of two", "Ann, Bob", "Ann"),
    Case(
        "authors: arXiv's parsed names go before its text",
        Files(
            {
                "a.jsonl": json.dumps(
                    {
                        "abstract": "cat",
                        "authors": "C. Balázs, E. L. Berger",
                        "authors_parsed": [["Balázs", "C.", ""], ["Berger", "E. L.", "Jr."]],
                    }
                )
                + "\n"
            }
        ),
        Read(
            1,
            {"cat": 1},
            columns={"authors": ["C. Balázs, E. L. Berger"]},
            authors=[["C. Balázs", "E. L. Berger Jr."]],
        ),
    ),
    Case(
        "authors: lists in lists are not names",
        _lines([["Ann", "Bob"]]),
        Refused(["give names as text", "line 1"]),
    ),
    Case(
        "authors: a table's cell",
        Files({"a.csv": "text,authors\ncat,Ann|Bob\ndog,Bob\n"}),
        Read(2, WORDS, columns={}, authors=ANN_BOB),
    ),
    Case(
        "authors in doubt: a table's cell",
        Files({"a.csv": 'text,author\ncat,"Ann, Bob"\ndog,Bob\n'}),
        Warned(DOUBT, Read(2, WORDS, columns={}, authors=[["Ann, Bob"], ["Bob"]])),
    ),
    Case(
        "authors: a frame's cell",
        pandas.DataFrame({"text": ["cat", "dog"], "authors": ["Ann; Bob", None]}),
        Read(2, WORDS, columns={}, authors=[["Ann", "Bob"], []]),
    ),
    Case("authors: a column of AnnData", _cells, Read(2, {"cat": 1, "dog": 1}, columns={}, authors=ANN_BOB)),
    Case(
        "authors: given beside texts",
        ["cat", "dog"],
        Read(2, WORDS, authors=ANN_BOB),
        {"authors": ["Ann; Bob", "Bob"]},
    ),
    Case(
        "authors in doubt: given beside texts",
        ["cat", "dog"],
        Warned(DOUBT, Read(2, WORDS, authors=[["Ann and Bob"], ["Bob"]])),
        {"authors": ["Ann and Bob", "Bob"]},
    ),
]

LINES = "Ein Kätzchen\ndas Mädchen\n"
UMLAUTS = {"ein": 1, "kätzchen": 1, "das": 1, "mädchen": 1}
ENCODINGS = [
    *(
        Case(f"encodings: text in {encoding}", Files({"a.txt": LINES.encode(encoding)}), Read(2, UMLAUTS))
        for encoding in ("utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32")
    ),
    Case(
        "encodings: big-endian with a mark",
        Files({"a.txt": b"\xfe\xff" + LINES.encode("utf-16-be")}),
        Read(2, UMLAUTS),
    ),
    Case(
        "encodings: Russian without a mark",
        Files({"a.txt": "Кошка спит\nсобака бежит\n".encode("utf-16-le")}),
        Read(2, {"кошка": 1, "спит": 1, "собака": 1, "бежит": 1}),
    ),
    Case(
        "encodings: a table of Excel's 'Unicode text'",
        Files({"a.tsv": "id\ttext\nx\tÄste\ny\tÄste\n".encode("utf-16")}),
        Read(2, {"äste": 2}, ids=["x", "y"]),
    ),
    Case(
        "encodings: records",
        Files({"a.jsonl": '{"id": "x", "text": "Äste"}\n'.encode("utf-16")}),
        Read(1, {"äste": 1}, ids=["x"]),
    ),
    Case(
        "encodings: compressed",
        Files({"a.txt.gz": gzip.compress(LINES.encode("utf-16"))}),
        Read(2, UMLAUTS),
    ),
    Case(
        "encodings: a folder of texts in several",
        Files({"a.txt": "Äste".encode("utf-16"), "b.txt": "Äste".encode()}),
        Read(2, {"äste": 2}, ids=["a.txt", "b.txt"]),
    ),
    Case(
        "encodings: cut in the middle",
        Files({"a.txt": LINES.encode("utf-16")[:-1]}),
        Refused(["a.txt", "UTF-16", "iconv"]),
    ),
    Case(
        "encodings: UTF-16 said to be something else",
        Files({"a.txt": LINES.encode("utf-16")}),
        Refused(["a.txt", "UTF-16", "encoding="]),
        {"encoding": "latin-1"},
    ),
    Case(
        "encodings: zero bytes in text",
        Files({"a.txt": b"one two\0three\n" * 9}),
        Refused(["a.txt", "zero bytes"]),
    ),
    Case("encodings: small integers", Files({"a.bin": bytes(range(64)) * 8}), Refused("zero bytes")),
]

RECORDS = [{"id": "x", "text": 'cat ]} \\" cat', "n": {"a": [1]}}, {"id": "y", "text": "dog", "n": None}]
COUNTED = Read(2, {"cat": 2, "dog": 1}, ids=["x", "y"], columns={"n": ['{"a": [1]}', ""]})


def _json(name, text, right, **options):
    """A case for each of the two names."""
    return [Case(f"JSON: {name}, {file}", Files({file: text}), right, options) for file in ("a.json", "a")]


JSON = [
    *_json("an array", json.dumps(RECORDS), COUNTED),
    *_json("a pretty array", json.dumps(RECORDS, indent=2), COUNTED),
    *_json("an array, a record to a line", "[" + ",\n".join(map(json.dumps, RECORDS)) + "]\n", COUNTED),
    *_json("an array after a mark", "\ufeff" + json.dumps(RECORDS, indent=1), COUNTED),
    *_json("pretty records", "".join(json.dumps(record, indent=2) + "\n" for record in RECORDS), COUNTED),
    *_json("one pretty record", json.dumps(RECORDS[0], indent=4), Read(1, {"cat": 2}, ids=["x"])),
    *_json(
        "an array of records without an end", json.dumps(RECORDS, indent=2)[:-2], Refused(["a", "cut short"])
    ),
    *_json("a comma too many", json.dumps(RECORDS)[:-1] + ",]", Refused(["a", "line 1", "not JSON"])),
    *_json("no comma", "[\n" + "\n".join(map(json.dumps, RECORDS)) + "]", Refused(["a", "line 3", "comma"])),
    *_json("something after an array", json.dumps(RECORDS) + "\nmore", Refused(["a", "line 2", "follows"])),
    *_json(
        "records in a field",
        json.dumps({"took": 3, "hits": RECORDS}, indent=1),
        Refused(["'hits'", "jq -c '.[\"hits\"][]'"]),
    ),
    Case("JSON: an array of texts", Files({"a.json": '["a cat", "dogs"]'}), Read(2, {"cat": 1, "dogs": 1})),
    Case("JSON: a pretty array of texts", Files({"a.json": '[\n"cat",\n"dog"\n]'}), Read(2, WORDS)),
    Case("JSON: an array of token lists", Files({"a.json": '[["cat"], ["dog"]]'}), Read(2, WORDS)),
    Case(
        "JSON: a list of tokens to a line",
        Files({"a.json": '["cat", "dog"]\n["dog"]\n'}),
        Read(2, {"cat": 1, "dog": 2}),
    ),
    Case("JSON: one list of tokens", Files({"a.json": '["cat", "dog"]\n'}), Read(1, WORDS)),
    Case("JSON: a text that begins with a bracket", Files({"a.txt": "[1] cat\n[2] dog\n"}), Read(2, WORDS)),
    Case("JSON: a text that begins with a brace", Files({"a.txt": "{\ncat\n}\n"}), Read(3, {"cat": 1})),
    Case(
        "JSON: a folder with a record to a file",
        Files({f"{record['id']}.json": json.dumps(record, indent=2) for record in RECORDS}),
        COUNTED,
    ),
]

CSV = "id,text\nx,cat\n"
TEXTS = {"a.txt": "cat", "b.txt": "dog"}
FOLDERS = [
    Case(
        "texts with a README",
        Files({"a.txt": "cat dog", "b.txt": "cat", "README.txt": "how they were made", "LICENSE": "free"}),
        Read(2, {"cat": 2, "dog": 1}, ids=["a.txt", "b.txt"]),
    ),
    Case(
        "texts with a README, as files",
        Files({"a.txt": "cat dog", "README.txt": "cat"}),
        Read(2, {"cat": 2, "dog": 1}, ids=["README.txt", "a.txt"]),
        {"format": "files"},
    ),
    Case("a folder of a README alone", Files({"README.txt": "cat"}, whole=True), Read(1, {"cat": 1})),
    Case(
        "folders: tables and a README",
        Files({"a.csv": CSV, "b.csv": "id,text\ny,dog\n", "README.md": "About these tables."}),
        Read(2, WORDS, ids=["x", "y"]),
    ),
    Case(
        "folders: a table, a licence and a README without a suffix",
        Files({"a.csv": CSV, "LICENSE": "Free.", "README": "About\nthis table."}),
        Read(1, {"cat": 1}, ids=["x"]),
    ),
    Case(
        "folders: texts and a table of what they are",
        Files({**TEXTS, "metadata.csv": "id,text\na,1999\n"}),
        Refused(["1 file of csv (metadata.csv)", "2 files of text", "*.txt", "format='files'"]),
    ),
    Case(
        "folders: texts and a table, a document per file",
        Files({**TEXTS, "metadata.csv": "bird\n"}),
        Read(3, {**WORDS, "bird": 1}, ids=["a.txt", "b.txt", "metadata.csv"]),
        {"format": "files"},
    ),
    Case(
        "folders: tables of two formats",
        Files({"a.csv": CSV, "b.jsonl": '{"text": "dog"}\n'}),
        Refused(["1 file of csv", "1 file of json_lines", "format="]),
    ),
    Case(
        "folders: texts of two suffixes and a README",
        Files({**TEXTS, "c.md": "bird", "README": "pets"}),
        Read(3, {**WORDS, "bird": 1}),
    ),
    Case(
        "folders: numbers for suffixes, one of which looks like counts",
        Files({"group.1": "cat", "group.2": "dog"}),
        Read(2, WORDS, ids=["group.1", "group.2"]),
    ),
    Case(
        "folders: counts and their words",
        Files({"a.ldac": "1 0:2\n1 1:1\n", "vocab.txt": "cat\ndog\n", "README.txt": "Counts."}),
        Read(2, {"cat": 2, "dog": 1}),
    ),
]


def _counts(name, files):
    """A case whose counts are the first of some files, with the words in another."""

    def source(folder):
        return Files(files, whole=True).write(folder) / next(iter(files))

    return Case(f"words beside: {name}", source, Read(2, {"cat": 2, "dog": 1}))


LDA_C = "1 0:2\n1 1:1\n"
UCI = "2\n2\n2\n1 1 2\n2 2 1\n"
MARKET = "%%MatrixMarket matrix coordinate integer general\n2 2 2\n1 1 2\n2 2 1\n"
PETS = "cat\ndog\n"
SIDECARS = [
    _counts("Blei's", {"ap.dat": LDA_C, "vocab.txt": PETS}),
    _counts("gensim's Blei", {"a.blei": LDA_C, "a.blei.vocab": PETS}),
    _counts("gensim's UCI", {"a.uci": UCI, "a.uci.vocab": PETS}),
    _counts("of the package lda", {"reuters.ldac": LDA_C, "reuters.tokens": PETS}),
    _counts("UCI's", {"docword.pets.txt": UCI, "vocab.pets.txt": PETS}),
    _counts("UCI's, under a general name", {"docword.pets.txt": UCI, "vocab.txt": PETS}),
    _counts("Matrix Market", {"a.mtx": MARKET, "a.mtx.vocab": PETS}),
    _counts("Matrix Market, under a general name", {"a.mtx": MARKET, "vocab.txt": PETS}),
    _counts("SVMlight", {"a.svm": "3 1:2\n-1 2:1\n", "a.vocab": PETS}),
    Case(
        "words beside: those of another file are not taken",
        lambda folder: Files({"a.mtx": MARKET, "vocab.txt": PETS + "bird\n"}).write(folder) / "a.mtx",
        Read(2, {"0": 2, "1": 1}),
    ),
    Case("words beside: none", Files({"a.mtx": MARKET}), Read(2, {"0": 2, "1": 1})),
]

NOVEL = "cat cat dog\n\ndog  bird\n \n\ncat"
PIECES = {"cat": 3, "dog": 2, "bird": 1}
DIVISION = [
    Case(
        "division: texts in a folder, into words",
        Files({"a.txt": NOVEL, "b.txt": ""}),
        Read(
            4,
            PIECES,
            ids=["a.txt#1", "a.txt#2", "a.txt#3", "b.txt#1"],
            columns={"parent": ["a.txt"] * 3 + ["b.txt"]},
        ),
        {"split_documents": 2},
    ),
    Case(
        "division: records, into paragraphs",
        [
            {"id": "x", "text": NOVEL, "year": 1999, "authors": ["Ann"]},
            {"id": "y", "text": None, "year": 2000},
        ],
        Read(
            4,
            PIECES,
            ids=["x#1", "x#2", "x#3", "y#1"],
            columns={"year": [1999, 1999, 1999, 2000], "parent": ["x", "x", "x", "y"]},
            authors=[["Ann"], ["Ann"], ["Ann"], []],
        ),
        {"split_documents": "paragraphs"},
    ),
    Case(
        "division: lines without ids",
        Files({"a.txt": "cat cat dog\n\nbird\n"}),
        Read(
            4,
            {"cat": 2, "dog": 1, "bird": 1},
            ids=["0#1", "0#2", "1#1", "2#1"],
            columns={"parent": ["0", "0", "1", "2"]},
        ),
        {"split_documents": 2},
    ),
    Case(
        "division: ids, authors and columns beside",
        ["cat cat dog", "bird"],
        Read(
            3,
            {"cat": 2, "dog": 1, "bird": 1},
            ids=["x#1", "x#2", "y#1"],
            columns={"n": [1, 1, 2], "parent": ["x", "x", "y"]},
            authors=[["Ann"], ["Ann"], ["Bob"]],
        ),
        {"split_documents": 2, "ids": ["x", "y"], "authors": ["Ann", "Bob"], "columns": {"n": [1, 2]}},
    ),
    Case(
        "division: lists of tokens",
        [["cat", "cat", "dog"], []],
        Read(3, {"cat": 2, "dog": 1}, ids=["0#1", "0#2", "1#1"]),
        {"split_documents": 2},
    ),
    Case("division: counts", [{"cat": 2}], Refused(["split_documents=2", "counts"]), {"split_documents": 2}),
    Case("division: a matrix", np.eye(2), Refused(["split_documents=2", "counts"]), {"split_documents": 2}),
    Case("division: nothing", ["cat"], Refused(["split_documents=0", "paragraphs"]), {"split_documents": 0}),
    Case(
        "division: chapters", ["cat"], Refused(["'chapters'", "paragraphs"]), {"split_documents": "chapters"}
    ),
    Case(
        "division: tokens have no paragraphs",
        [["cat"]],
        Refused(["paragraphs", "tokens"]),
        {"split_documents": "paragraphs"},
    ),
    Case(
        "division: a column of that name",
        [{"text": "cat", "parent": "x"}],
        Refused(["'parent'", "columns="]),
        {"split_documents": 2},
    ),
]

CASES = [*AUTHORS, *ENCODINGS, *JSON, *FOLDERS, *SIDECARS, *DIVISION]
