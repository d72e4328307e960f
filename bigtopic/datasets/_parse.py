"""Documents of Python source files, and the program that parses many of them in a process of its own.

`python -m bigtopic.datasets._parse` reads pairs of lines (module name, path) from standard input and writes
one JSON record per document to standard output. Source is parsed, never imported and never executed.
"""

from __future__ import annotations

import ast
import gc
import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

from bigtopic.datasets._prose import n_words, prose

__all__ = ["documents_of", "documents_of_file"]

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
