"""Phrasings that readers stumble over are on no page.

python tests/docs/test_prose.py      prints where they are, in docstrings and messages too
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WORD_LISTS = ROOT / "bigtopic" / "corpus" / "text" / "stopwords.py"
CODE = sorted({*(ROOT / "bigtopic").rglob("*.py")} - {WORD_LISTS})

BETTER = {
    r"\b(?:no|some|any)body\b": "name the user, process or function",
    r"\bwhoever\b": "name the user, process or function",
    r"\bof\s+(?:yours|theirs|ours|one's\s+own)\b": "write your, their or our before the noun",
    r"(?<!there)\s(?:is|are|was|were)\s+no\s+(?!longer|more|other|such|need)\w+": "write is not a, or has no",
    r"\b(?:in\s+1/\d+|1/\d+\s+of)\b": "write how many times faster",
    r"\b(?-i:Of)\s+everything\b": "write a sentence with a verb",
    r"\bwith\s+a\s+word\s+on\b": "write with a note on",
    r"\bis\s+told\s+nothing\s+but\b": "write is given only",
    r"\b(?-i:Tell)\s+``": "write set",
    r"\bfor\s+ever\b": "write forever",
    r"\b(?-i:(the|an?|of|to|is|are|in|and|that|it|be|for|with)\s+\1)\b": "write the word once",
}
STRICTER = {  # not for UNCHANGED
    r"\bthose\s+of\b": "write the noun again, or its possessive",
    r"(?<!so)(?<!such)(?<!note)\sthat\s+of\b": "write the noun again, or its possessive",
    r"\b(?:is|was)\s+said\b": "name what says it",
    r"\bwhat\s+(?:becomes|became)\s+of\b": "name the effect",
    r"\bmade\s+up\s+for\b": "write corrected, or compensated",
    r"\b(?:is|are|was|were)\s+put\s+off\b": "write deferred",
    r"\b(?:with|at)out\s+a\s+second\s+thought\b": "write safe to",
}
OLD_RULES = {re.compile(phrasing, re.IGNORECASE): better for phrasing, better in BETTER.items()}
RULES = OLD_RULES | {re.compile(phrasing, re.IGNORECASE): better for phrasing, better in STRICTER.items()}
UNCHANGED = ("CHANGELOG.md",)
GENERATED = re.compile(r"<!-- ([\w-]+) -->\n.*?<!-- /\1 -->", re.DOTALL)  # the strings of code
BLOCK = re.compile(r"^ *```.*?^ *```$|^ *(?:>>>|\.\.\.) .*?$|<!--.*?-->", re.MULTILINE | re.DOTALL)
TARGET = re.compile(r"(?<=\])\([^)\s]+\)|<a [^>]+>")
INLINE_CODE = re.compile(r"`[^`]+`")


def prose_of(path: Path) -> str:
    """A page without code and targets of links, or a module's strings; every line where the file has it."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        lines = [""] * (text.count("\n") + 2)
        for first, string in _strings(ast.parse(text)):
            for number, row in enumerate(string.split("\n"), first):
                lines[min(number, len(lines)) - 1] += row + " "
        text = "\n".join(lines)
    for code, left in ((GENERATED, ""), (BLOCK, ""), (TARGET, ""), (INLINE_CODE, "``")):
        text = code.sub(lambda found, left=left: left + "\n" * found[0].count("\n"), text)
    return text


def _strings(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The strings of a tree and their lines; of an f-string the whole, with `{}` for what is filled in."""
    if isinstance(node, ast.JoinedStr):
        parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
        yield node.lineno, "".join(map(str, parts))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from _strings(child)


def found_in(path: Path) -> list[str]:
    """Where a file has a phrasing that it should not have, and what to write instead."""
    prose = prose_of(path)
    hits = ((found, better) for rule, better in rules_of(path).items() for found in rule.finditer(prose))
    return [
        f"{path}:{prose.count(chr(10), 0, found.end()) + 1}: {' '.join(found[0].split())!r}: {better}"
        for found, better in hits
    ]


def rules_of(path: Path) -> dict[re.Pattern[str], str]:
    """The rules for a file: all of them, but for pages that are kept as written."""
    return OLD_RULES if path.name in UNCHANGED else RULES


@pytest.mark.parametrize("page", [*PAGES, *CODE], ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_reads_well(page):
    assert not found_in(page)


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        (
            "page.md",
            "A line.\n\n```python\nnobody\n```\n\nThere is no `nobody`, [or](#nobody) this\nis no page.\n",
            8,
        ),
        ("page.md", "It is read\nby `one`, not by whoever\nasks. It is no longer there.\n", 2),
        (
            "page.md",
            "A table.\n\n<!-- few -->\nthose of\n<!-- /few -->\n\nThe words are\nthose of a text.\n",
            8,
        ),
        ("module.py", '"""Adds.\n\nWhat the\nthe loop adds.\n"""\n\nnobody = 1\n', 4),
        (
            "module.py",
            'def f(n):\n    raise ValueError(\n        f"{n} was split by a function "\n        "of yours"\n    )\n',
            3,
        ),
    ],
)
def test_phrasings_are_found_where_they_are(name, text, line, tmp_path):
    (tmp_path / name).write_text(text, encoding="utf-8")
    (found,) = found_in(tmp_path / name)
    assert found.startswith(f"{tmp_path / name}:{line}: ")


if __name__ == "__main__":
    print(*(hit for path in [*PAGES, *CODE] for hit in found_in(path)), sep="\n")
