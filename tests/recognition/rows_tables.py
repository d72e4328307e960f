"""Tables: rows of a document, word and count; a column of counts per word; headers; the column with the text."""

import numpy as np
from recognition.case import Case, Files, Read, Refused, Warned

LONG = {"document": [1, 1, 2, 2, 3], "word": [7, 9, 7, 8, 9], "count": [2, 1, 3, 1, 1]}
STAMPED = {**LONG, "timestamp": [880, 881, 882, 883, 884]}
RATINGS = {"user": [1, 1, 2, 2, 3], "movie": [7, 9, 7, 8, 9], "rating": [2, 1, 3, 1, 1]}
NAMED = {"document_column": "user", "word_column": "movie", "count_column": "rating"}
COUNTED = Read(3, {"7": 5, "9": 2, "8": 1}, ids=["1", "2", "3"])
ROWS = "1,7,2\n1,9,1\n2,7,3\n2,8,1\n3,9,1\n"
LONG_TEXT = ["the film was long and dull", "a very good film with a cat"]
REVIEWS = "the film was long and dull,Ann\na very good film with a cat,Bob\n"


def frame(columns, **keywords):
    def made(folder):
        import pandas

        return pandas.DataFrame(columns, **keywords)

    return made


def arrow(columns):
    def made(folder):
        import pyarrow

        return pyarrow.table(columns)

    return made


def polars(columns):
    def made(folder):
        import polars

        return polars.DataFrame(columns)

    return made


def parquet(columns):
    def made(folder):
        import pyarrow
        from pyarrow.parquet import write_table

        write_table(pyarrow.table(columns), folder / "a.parquet")
        return folder / "a.parquet"

    return made


def dask(columns):
    def made(folder):
        import pandas
        from dask.dataframe import from_pandas

        return from_pandas(pandas.DataFrame(columns), npartitions=1)

    return made


def csv(text, name="a.csv"):
    return Files({name: text})


def excel(*rows):
    def made(folder):
        from openpyxl import Workbook

        book = Workbook()
        for row in rows:
            book.active.append(row)
        book.save(folder / "a.xlsx")
        return folder / "a.xlsx"

    return made


def edited_sheet(edits):
    """A workbook of a text in whose sheet these are replaced."""

    def made(folder):
        import zipfile

        whole = zipfile.ZipFile(excel(["text"], ["a cat"])(folder))
        with whole, zipfile.ZipFile(folder / "edited.xlsx", "w") as edited:
            for name in whole.namelist():
                data = whole.read(name).decode()
                if name.endswith("sheet1.xml"):
                    for old, new in edits.items():
                        assert old in data
                        data = data.replace(old, new)
                edited.writestr(name, data)
        return folder / "edited.xlsx"

    return made


def same(columns):
    """The same table in every format that has one."""
    kinds = {"pandas": frame, "arrow": arrow, "polars": polars, "Parquet": parquet}
    text = (
        ",".join(columns)
        + "\n"
        + "".join(",".join(map(str, row)) + "\n" for row in zip(*columns.values(), strict=True))
    )
    return {**{kind: made(columns) for kind, made in kinds.items()}, "CSV": csv(text)}


BOOK = excel(
    ("key", "title", "body", "by", "year"),
    ("a", "Cat", "dog runs", "Ann; Bob", 2001),
    ("b", "Sea", "dog sleeps", "Ann", 2002),
)
BODY = {"dog": 2, "runs": 1, "sleeps": 1}

CASES = [
    # A workbook and what can be said about it
    Case(
        "Excel: columns named",
        BOOK,
        Read(2, BODY, ["a", "b"], {"title": ["Cat", "Sea"], "year": [2001, 2002]}, [["Ann", "Bob"], ["Ann"]]),
        {"text_column": "body", "id_column": "key", "author_column": "by", "author_separator": ";"},
    ),
    Case(
        "Excel: two columns of text, one kept",
        BOOK,
        Read(2, {**BODY, "cat": 1, "sea": 1}, columns={"year": [2001, 2002]}),
        {"text_column": ["title", "body"], "columns": ["year"]},
    ),
    Case(
        "Excel: a column that is not there",
        BOOK,
        Refused(["no column named 'abstract'", "key, title"]),
        {"text_column": "abstract"},
    ),
    Case(
        "Excel: a first row that is a document",
        BOOK,
        Read(3, {**BODY, "body": 1}),
        {"header": False, "text_column": 2},
    ),
    Case(
        "Excel: a first row that is the header",
        excel(("cat", "dog"), ("sea", "bird")),
        Read(1, {"bird": 1}, columns={"cat": ["sea"]}),
        {"header": True, "text_column": "dog"},
    ),
    Case(
        "Excel: ratings",
        excel(tuple(RATINGS), *zip(*RATINGS.values(), strict=True)),
        Refused("document_column"),
    ),
    Case(
        "Excel: ratings, named", excel(tuple(RATINGS), *zip(*RATINGS.values(), strict=True)), COUNTED, NAMED
    ),
    Case(
        "Excel: documents in parts",
        BOOK,
        Read(
            4,
            BODY,
            ["a#1", "a#2", "b#1", "b#2"],
            {"parent": ["a", "a", "b", "b"], "year": [2001] * 2 + [2002] * 2},
        ),
        {"text_column": "body", "id_column": "key", "split_documents": 1, "columns": ["year"]},
    ),
    # Rows of a document, word and count
    *(Case(f"{kind}: document, word, count", source, COUNTED) for kind, source in same(LONG).items()),
    *(
        Case(f"{kind}: document, word, count and timestamp", source, COUNTED)
        for kind, source in same(STAMPED).items()
    ),
    *(
        Case(f"{kind}: ratings", source, Refused(["document_column", "movie"]))
        for kind, source in same(RATINGS).items()
    ),
    *(Case(f"{kind}: ratings, named", source, COUNTED, NAMED) for kind, source in same(RATINGS).items()),
    Case("Dask: ratings", dask(RATINGS), Refused("document_column")),
    Case("Dask: document, word, count and timestamp", dask(STAMPED), Refused("to_parquet")),
    Case("rows of numbers without names", frame(np.array(list(LONG.values())).T), Refused("document_column")),
    Case("CSV of numbers without names", csv(ROWS), Refused("document_column")),
    Case(
        "CSV of numbers, named by position",
        csv(ROWS),
        COUNTED,
        {"document_column": 0, "word_column": 1, "count_column": 2},
    ),
    Case(
        "records of document, word and count",
        [{"document": 1, "word": 7, "count": 2}, {"document": 1, "word": 9, "count": 1}],
        Refused("table"),
    ),
    Case(
        "JSON lines of document, word and count",
        Files({"a.jsonl": '{"doc": "a", "word": "cat", "n": 2}\n{"doc": "a", "word": "dog", "n": 1}\n'}),
        Refused("table"),
    ),
    Case(
        "a column of counts with an unusual name",
        frame({"doc": ["a", "a"], "word": ["cat", "dog"], "hits": [1, 2]}),
        Refused(["count_column"]),
    ),
    Case(
        "two roles named, the third by its usual name",
        frame({"user": [1, 1], "movie": [7, 9], "count": [2, 1]}),
        Read(1, {"7": 2, "9": 1}, ids=["1"]),
        {"document_column": "user", "word_column": "movie"},
    ),
    Case(
        "a text column and a word column",
        frame({"doc": ["a"], "word": ["cat"], "n": [1]}),
        Refused("text_column"),
        {"text_column": "word", "word_column": "word"},
    ),
    # A column of counts for each word
    Case("counts per word", frame({"cat": [2, 0, 1], "dog": [0, 3, 1]}), Read(3, {"cat": 3, "dog": 4})),
    Case(
        "counts per word with zeros",
        frame({"cat": [2, 0, 1, 1], "dog": [0, 3, 1, 1], "sun": [0, 1, 0, 2]}),
        Read(4, {"cat": 4, "dog": 5, "sun": 3}),
    ),
    Case(
        "counts per word that look like rows, said to be words",
        frame(RATINGS),
        Read(5, {"user": 9, "movie": 40, "rating": 8}),
        {"vocabulary": ["user", "movie", "rating"]},
    ),
    Case(
        "counts per word in rows that have names",
        frame(RATINGS, index=list("abcde")),
        Read(5, {"user": 9, "movie": 40, "rating": 8}, ids=None),
    ),
    Case("CSV of counts per word", csv("cat,dog\n2,0\n0,3\n1,1\n"), Refused(["pandas.read_csv"])),
    # Headers
    *(
        Case(f"a header with {what}", csv(header + "\n" + rows), right)
        for what, header, rows, right in (
            (
                "an empty name",
                "id,,text",
                "7,x,the film\n8,y,a cat\n",
                Read(2, {"the": 1, "film": 1, "cat": 1}, ids=["7", "8"], columns={"Unnamed: 1": ["x", "y"]}),
            ),
            (
                "two empty names",
                "id,,,review_text",
                "7,x,1,the film\n8,y,2,a cat\n",
                Read(2, {"the": 1, "film": 1, "cat": 1}, ids=["7", "8"]),
            ),
            (
                "repeated names",
                "id,x,x,opinion",
                "7,1,2,the film\n8,3,4,a cat\n",
                Read(2, {"the": 1, "film": 1, "cat": 1}, columns={"x": [1, 3], "x.1": [2, 4]}),
            ),
            (
                "numbers as names",
                "id,2001,2002,opinion",
                "7,1,2,the film\n8,3,4,a cat\n",
                Read(2, {"the": 1, "film": 1, "cat": 1}, columns={"2001": [1, 3], "2002": [2, 4]}),
            ),
            (
                "a question",
                "nr,How did you like the film that you saw?",
                "7,the film\n8,a cat\n",
                Read(2, {"the": 1, "film": 1, "cat": 1}, columns={"nr": [7, 8]}),
            ),
            (
                "a date beside a question",
                "Timestamp,What do you think of it?",
                "2020-01-31,the film\n2020-02-01,a cat\n",
                Read(2, {"the": 1, "film": 1, "cat": 1}),
            ),
        )
    ),
    Case(
        "no header, and numbers first",
        csv("3,good\n4,the film was long and dull\n"),
        Read(2, {"good": 1, "the": 1, "film": 1, "was": 1, "long": 1, "and": 1, "dull": 1}),
    ),
    Case(
        "no header, and a label that comes again",
        csv("ham,ok\nspam,the film was long and dull\nham,a cat\n"),
        Read(3, {"ok": 1, "the": 1, "film": 1, "was": 1, "long": 1, "and": 1, "dull": 1, "cat": 1}),
    ),
    Case("no header, one column", csv("the cat\na dog\n"), Read(2, {"the": 1, "cat": 1, "dog": 1})),
    Case("a single row without known names", csv("cat,dog\n"), Read(1)),
    Case(
        "a short first row, perhaps a header",
        csv("good film\nthe film was long and dull\nit had a very good cat\n"),
        Warned("header=True", Read(3)),
    ),
    Case(
        "words that may be names or cells",
        csv("Meinung,Wer\n" + REVIEWS),
        Warned("header=False", Read(2, columns={"Wer": ["Ann", "Bob"]})),
    ),
    Case(
        "the same, said", csv("Meinung,Wer\n" + REVIEWS), Read(2), {"header": True, "text_column": "Meinung"}
    ),
    Case("the same, denied", csv("Meinung,Wer\n" + REVIEWS), Read(3), {"header": False}),
    Case(
        "numbers as names, said",
        csv("1,2\nthe film,7\na cat,8\n"),
        Read(2, {"the": 1, "film": 1, "cat": 1}, columns={"2": [7, 8]}),
        {"header": True},
    ),
    Case(
        "the separator named by Excel",
        csv("sep=;\r\nid;text\r\na;the film, long\r\nb;a cat\r\n"),
        Read(2, {"the": 1, "film": 1, "long": 1, "cat": 1}, ids=["a", "b"], columns={}),
    ),
    Case(
        "the separator named by Excel, no header",
        csv("sep=;\n3;the film, long\n4;a cat, a dog\n"),
        Read(2, {"the": 1, "film": 1, "long": 1, "cat": 1, "dog": 1}, columns={"0": [3, 4]}),
    ),
    Case(
        "more commas than semicolons",
        csv("1;the film, long, and dull\n2;a cat\n"),
        Read(2, {"the": 1, "film": 1, "long": 1, "and": 1, "dull": 1, "cat": 1}, columns={"0": [1, 2]}),
    ),
    Case(
        "a header of spaces and lines", csv('id,"my\ntext"\n7,the film\n8,a cat\n'), Read(2, ids=["7", "8"])
    ),
    # The column with the text
    *(
        Case(
            f"a text called {name}",
            csv(f"year,{name},name\n1999,the film,x\n2000,a cat,y\n"),
            Read(2, {"the": 1, "film": 1, "cat": 1}),
        )
        for name in (
            "comment",
            "review",
            "reviewText",
            "headline_text",
            "full_text",
            "speech",
            "Review Text",
            "message",
            "tweet",
            "lyrics",
        )
    ),
    Case(
        "a number of comments",
        csv("comments,opinion\n3,the film\n4,a cat\n"),
        Read(2, {"the": 1, "film": 1, "cat": 1}),
    ),
    Case(
        "one text column without a usual name",
        Files({"a.jsonl": '{"meinung": "the film", "year": 1}\n{"meinung": "a cat", "year": 2}\n'}),
        Read(2, {"the": 1, "film": 1, "cat": 1}, columns={"year": [1, 2]}),
    ),
    Case(
        "one column of sentences",
        csv("kind,meinung\nx,the film was long and dull\ny,a very good film with a cat\n"),
        Read(2, columns={"kind": ["x", "y"]}),
    ),
    Case(
        "two columns of sentences",
        csv(
            "year,pro,contra\n1,the film was long,it was not very good\n2,a cat was in it,not at all very good\n"
        ),
        Refused(["pro", "contra", "text_column"]),
    ),
    *(
        Case(
            f"title and abstract, {kind}",
            source,
            Read(3, {"the": 1, "film": 2, "cat": 1}, columns={"year": [1, 2, 3]}),
            {"text_column": ["title", "abstract"]},
        )
        for kind, source in {
            "CSV": csv("title,abstract,year\nthe film,a cat,1\n,film,2\n,,3\n"),
            "JSON lines": Files(
                {
                    "a.jsonl": '{"title": "the film", "abstract": "a cat", "year": 1}\n'
                    '{"title": null, "abstract": "film", "year": 2}\n{"abstract": "", "year": 3}\n'
                }
            ),
            "pandas": frame(
                {"title": ["the film", None, None], "abstract": ["a cat", "film", ""], "year": [1, 2, 3]}
            ),
            "Parquet": parquet(
                {"title": ["the film", None, None], "abstract": ["a cat", "film", ""], "year": [1, 2, 3]}
            ),
        }.items()
    ),
    Case(
        "lists of tokens, joined",
        [{"a": ["cat"], "b": ["dog", "cat"]}],
        Read(1, {"cat": 2, "dog": 1}),
        {"text_column": ["a", "b"]},
    ),
    Case("a column twice", csv("id,text,text\n1,the film,a cat\n"), Refused("several columns 'text'")),
    Case(
        "a key twice",
        Files({"a.jsonl": '{"text": "cat", "a": 1, "a": 2}\n'}),
        Refused(["line 1", "'a'", "twice"]),
    ),
    Case(
        "a word twice, in another line",
        Files(
            {"a.jsonl": '{"id": "x", "counts": {"cat": 1}}\n{"id": "y", "counts": {"cat": 1, "cat": 2}}\n'}
        ),
        Refused(["line 2", "'cat'", "twice"]),
    ),
    Case(
        "what looks like a key in a text",
        Files({"a.jsonl": '{"text": "cat \\"a\\": dog", "a": 1}\n'}),
        Read(1, {"cat": 1, "dog": 1}, columns={"a": [1]}),
    ),
    Case(
        "a number for a text", Files({"a.jsonl": '{"text": 3}\n{"text": 4}\n'}), Refused(["'text'", "number"])
    ),
    Case(
        "a number for a text, beside a title",
        [{"text": 3, "year": 1, "name": "x"}],
        Refused(["'text'", "number"]),
    ),
    Case("counters with a word text", [{"text": 3, "cat": 1}, {"cat": 2}], Read(2, {"text": 3, "cat": 3})),
    Case(
        "files with their columns in another order",
        Files({"a.csv": "id,text,year\nx,the film,1\n", "b.csv": "year,text,id\n2,a cat,y\n"}),
        Read(2, {"the": 1, "film": 1, "cat": 1}, ids=["x", "y"], columns={"year": [1, 2]}),
    ),
    Case(
        "files with other columns",
        Files({"a.csv": "id,text,year\nx,the film,1\n", "b.csv": "year,text\n2,a cat\n"}),
        Refused(["columns", "b.csv"]),
    ),
    Case(
        "a header over labels, and columns without names",
        csv("v1,v2,,\nham,go on until it stops now,,\nham,ok,,\nspam,free entry in two cups of tea,,\n"),
        Read(3, columns={"v1": ["ham", "ham", "spam"]}),
        {"columns": ["v1"]},
    ),
    Case(
        "CSV of counts per word, in rows with names",
        csv(",cat,dog\nd1,1,0\nd2,0,2\n"),
        Refused("text_column"),
    ),
    Case(
        "CSV of counts of 20,000 words, whose names are longer than what is looked at first",
        csv(",".join(f"w{i}" for i in range(20_000)) + "\n" + (",".join("1" * 20_000) + "\n") * 3),
        Refused(["only numbers", "pandas.read_csv"]),
    ),
    Case(
        "CSV with a text longer than what is looked at first",
        csv("id,text\n" + "".join(f"d{i},{'cat ' * 40_000}\n" for i in range(3))),
        Read(3, {"cat": 120_000}, ids=["d0", "d1", "d2"]),
    ),
    Case(
        "a column of single words beside dates",
        csv("date,event\n2001-01-01,fbe7a1\n2001-01-02,077f99\n2001-01-03,07443a\n"),
        Refused("text_column"),
    ),
    Case(
        "a column of single words alone",
        csv("text\nfbe7a1\n077f99\nf7443a\n"),
        Read(3, {"fbe7a1": 1, "077f99": 1, "f7443a": 1}),
    ),
    Case(
        "a column of texts without blanks",
        csv("date,event\n2001-01-01,東京\n2001-01-02,京都\n"),
        Read(2, {"東京": 1, "京都": 1}),
    ),
    Case("a line of 200,000 digits", csv("7" * 200_000), Refused("text_column")),
    Case("a text of the same", Files({"a.txt": "7" * 200_000}), Read(1, {"7" * 200_000: 1})),
    Case(
        "records of ratings",
        [dict(zip(RATINGS, row, strict=True)) for row in zip(*RATINGS.values(), strict=True)],
        Refused("document_column"),
    ),
    Case(
        "counters with the same words",
        [{"cat": 1, "dog": 2}, {"cat": 2, "dog": 1}],
        Read(2, {"cat": 3, "dog": 3}),
    ),
    # Excel
    Case(
        "a sheet",
        excel(["id", "text", "year"], ["x", "the film", 1999], ["y", None, 2000], ["z", "a cat", 2001]),
        Read(3, {"the": 1, "film": 1, "cat": 1}, ids=["x", "y", "z"], columns={"year": [1999, 2000, 2001]}),
    ),
    Case(
        "a sheet with a row beyond the last",
        edited_sheet({'<row r="2"': '<row r="4000000000"', 'r="A2"': 'r="A4000000000"'}),
        Refused(["edited.xlsx", "beyond 1,048,576"]),
    ),
    Case(
        "a sheet whose dimensions leave a row out",
        edited_sheet({'<dimension ref="A1:A2"': '<dimension ref="A1"'}),
        Read(1, {"cat": 1}),
    ),
    Case("a sheet of ratings", excel(list(RATINGS), *zip(*RATINGS.values(), strict=True)), COUNTED, NAMED),
    Case(
        "a sheet without a header",
        excel(["the film", 1], ["a cat", 2]),
        Read(2, {"the": 1, "film": 1, "cat": 1}),
    ),
]
