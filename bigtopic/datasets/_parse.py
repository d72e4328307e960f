"""Documents of Python source files, and the program that parses many of them in a separate process.

`python -m bigtopic.datasets._parse` reads pairs of lines (module name, path) from standard input and writes
one JSON record per document to standard output. Source is parsed, never imported and never executed.

Prose is a docstring without markup, code, tables and boilerplate. This knows reStructuredText, numpydoc, Google's
sections and Sphinx fields, as far as they hide prose. A word that only says where a section begins ("Parameters",
"Returns") or what type an argument has is boilerplate: it is in every docstring and would be in every topic.
"""

from __future__ import annotations

import ast
import gc
import json
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

__all__ = ["documents_of", "documents_of_file", "n_words", "prose"]

_UNDERLINE = re.compile(r"[-=~^*#+\"'`.:_|\s]{3,}")
_CODE_SECTIONS = {"example", "examples", "usage", "references", "see also", "doctest", "doctests"}
_LIST_SECTIONS = {
    "parameters", "other parameters", "returns", "return", "yields", "yield", "receives", "raises", "warns",
    "attributes", "methods", "args", "arguments", "keyword arguments", "keyword args", "params", "kwargs",
}  # fmt: skip
_PROSE_SECTIONS = {"notes", "note", "warnings", "warning", "todo", "summary", "description"}
_SECTIONS = _CODE_SECTIONS | _LIST_SECTIONS | _PROSE_SECTIONS

_DIRECTIVE = re.compile(r"\.\.\s+([\w:-]+)::")
_PROSE_DIRECTIVES = {
    "note", "warning", "tip", "hint", "important", "caution", "attention", "admonition", "seealso",
}  # fmt: skip
_FIELD = re.compile(r"[:@](\w+)(?:\s+[^:`]*)?:(?:\s+|$)")
_TYPE_FIELDS = {"type", "rtype", "vartype", "cvar", "see", "meta"}
_NAME_AND_TYPE = re.compile(r"[*`\w.,\s\[\]]{1,60}\s:(\s.*)?$")
_GOOGLE_ARGUMENT = re.compile(r"[*\w]+\s*(\([^)]*\))?:\s+")

_INLINE = [
    (re.compile(r":math:`[^`]*`"), " "),
    (re.compile(r"\b(?:https?|ftp|file)://\S+"), " "),
    (re.compile(r":[\w:+-]+:`([^`<]*)(?:<[^`]*>)?`"), r" \1 "),
    (re.compile(r"``[^`]*[^\w`][^`]*``"), " "),
    (re.compile(r"`([^`<]*)<[^`]*>`_*"), r"\1"),
    (re.compile(r"\$[^$\n]{1,200}\$"), " "),
    (re.compile(r"\b[\w.]+\([^()]*\)"), " "),
    (re.compile(r"`+"), " "),
    (re.compile(r"\*+"), " "),
    (re.compile(r"\\\w+"), " "),
]
_WORD = re.compile(r"\b[^\W\d_][^\W\d_]+\b")


def n_words(text: str) -> int:
    """How many words of at least two letters `text` has."""
    return len(_WORD.findall(text))


def prose(docstring: str) -> str:
    """The sentences of a docstring, one line of text per line of prose.

    Parameters
    ----------
    docstring : with its indentation already removed (`inspect.cleandoc`)
    """
    text = "\n".join(_prose_lines(docstring.splitlines()))
    for pattern, replacement in _INLINE:
        text = pattern.sub(replacement, text)
    return text.strip()


def _prose_lines(lines: list[str]) -> list[str]:
    """Lines that are prose, with the markup at their beginning removed."""
    kept: list[str] = []
    section, position = "", 0
    while position < len(lines):
        line = lines[position].strip()
        indent = _indent(lines[position])
        heading = _heading(lines, position)
        directive = _DIRECTIVE.match(line)
        if heading is not None:
            section = heading
            position += 1
        elif line.startswith((">>>", "In [")):
            position = _skip(lines, position, lambda line: not line.strip())
        elif line.startswith(("```", "~~~")):
            ends = (i for i in range(position + 1, len(lines)) if lines[i].strip().startswith(line[:3]))
            position = 1 + next(ends, len(lines))
        elif directive is not None and directive.group(1) not in _PROSE_DIRECTIVES:
            position = _end_of_block(lines, position + 1, indent)
        elif (
            section in _CODE_SECTIONS
            or not line
            or _UNDERLINE.fullmatch(line)
            or line.startswith(("+--", "|"))
        ):
            position += 1
        else:
            sentence = _without_furniture(line, indent, section)
            if sentence:
                kept.append(sentence)
            position += 1
            if line.endswith("::") and directive is None:
                position = _end_of_block(lines, position, indent)
    return kept


def _heading(lines: list[str], position: int) -> str | None:
    """The section that begins here, in lower case, or None."""
    line = lines[position].strip()
    if line.endswith(":") and line[:-1].lower() in _SECTIONS:
        return line[:-1].lower()
    following = lines[position + 1][:1] if position + 1 < len(lines) else ""
    if following and following in "-=~" and line and _UNDERLINE.fullmatch(lines[position + 1]):
        return line.lower()
    return None


def _without_furniture(line: str, indent: int, section: str) -> str:
    """The line without field names, argument names and types."""
    field = _FIELD.match(line)
    if field is not None:
        return "" if field.group(1) in _TYPE_FIELDS else line[field.end() :]
    if section in _LIST_SECTIONS:
        if indent == 0 and (_NAME_AND_TYPE.match(line) or len(line.split()) <= 2):
            return ""
        argument = _GOOGLE_ARGUMENT.match(line)
        return line[argument.end() :] if argument else line
    directive = _DIRECTIVE.match(line)
    return line[directive.end() :].strip() if directive else line


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _end_of_block(lines: list[str], position: int, indent: int) -> int:
    """First line at or after `position` that is not blank and not indented deeper than `indent`."""
    return _skip(lines, position, lambda line: bool(line.strip()) and _indent(line) <= indent)


def _skip(lines: list[str], position: int, stop: Callable[[str], bool]) -> int:
    """First line at or after `position` at which to stop, or the number of lines."""
    return next((i for i in range(position, len(lines)) if stop(lines[i])), len(lines))


MIN_WORDS = 20
MAX_BYTES = 1_000_000  # larger files are generated tables
MIN_SHARE = 0.1  # files with less documentation are a quarter of all bytes to parse and hold 4 % of the text

_Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def documents_of(module: str, source: bytes) -> Iterator[dict]:
    """One record per module, class and function with a docstring of at least `MIN_WORDS` words.

    A shorter docstring joins the document of its class or module, so that no text is lost.

    Parameters
    ----------
    module : dotted name
    source : the file's bytes; a file that does not parse has no documents

    Yields
    ------
    {"id": "module.Class.method", "title": the same, "text": prose, "authors": [top-level module]}
    """
    quote = b'"""' if b'"""' in source else b"'''"
    if sum(map(len, source.split(quote)[1::2])) < MIN_SHARE * len(source):
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    documents, rest = _documents(tree, module)
    if n_words(rest) >= MIN_WORDS:
        documents.append((module, rest))
    for name, text in documents:
        yield {"id": name, "title": name, "text": text, "authors": [module.partition(".")[0]]}


def documents_of_file(module: str, path: str) -> Iterator[dict]:
    """`documents_of` a file; unreadable and very large files have no documents."""
    try:
        file = Path(path)
        if file.stat().st_size > MAX_BYTES:
            return
        source = file.read_bytes()
    except OSError:
        return
    yield from documents_of(module, source)


def _documents(node: _Documented, name: str) -> tuple[list[tuple[str, str]], str]:
    """Finished (name, text) documents below `node`, and the text of `node` itself with its short members."""
    documents: list[tuple[str, str]] = []
    own = [prose(ast.get_docstring(node) or "")]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        for member in _members(node.body):
            inner, text = _documents(member, f"{name}.{member.name}")
            documents += inner
            if n_words(text) >= MIN_WORDS:
                documents.append((f"{name}.{member.name}", text))
            else:
                own.append(text)
    return documents, "\n".join(text for text in own if text)


def _members(body: list[ast.stmt]) -> Iterator[ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """Classes and functions of a body, also below `if` and `try`."""
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield node
        elif isinstance(node, ast.If | ast.Try):
            yield from _members(node.body)
            yield from _members(node.orelse)


def main() -> None:
    warnings.simplefilter("ignore")  # about the escapes of other people's strings
    gc.disable()  # syntax trees have no cycles worth the search; parsing is twice as fast
    lines = sys.stdin.read().splitlines()
    for module, path in zip(lines[::2], lines[1::2], strict=True):
        for record in documents_of_file(module, path):
            sys.stdout.write(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
