"""Sources that nobody could take for anything else."""

from recognition.case import Case, Files, Read, Refused

CASES = [
    Case(
        "a text per line",
        Files({"a.txt": "the cat sat\na dog ran\n"}),
        Read(2, {"the": 1, "cat": 1, "sat": 1, "dog": 1, "ran": 1}),
    ),
    Case(
        "a table with a header",
        Files({"a.csv": "id,text,year\nx,cat cat,1999\ny,dog,2001\n"}),
        Read(2, {"cat": 2, "dog": 1}, ids=["x", "y"], columns={"year": [1999, 2001]}),
    ),
    Case(
        "records with authors",
        Files(
            {"a.jsonl": '{"text": "cat", "authors": ["Ann", "Bob"]}\n{"text": "dog", "authors": ["Bob"]}\n'}
        ),
        Read(2, {"cat": 1, "dog": 1}, columns={}, authors=[["Ann", "Bob"], ["Bob"]]),
    ),
    Case("a PDF file", Files({"a.pdf": b"%PDF-1.7\nstuff\n"}), Refused(["PDF", "pdftotext"])),
]
