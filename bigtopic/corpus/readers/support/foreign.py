"""Files that are not text but may be mistaken for it: web pages, office documents, images, archives."""

from __future__ import annotations

import re

from bigtopic.errors import InputError, argument

__all__ = ["refuse_foreign"]

_MAGIC = {
    b"%PDF-": ("a PDF file", "convert it to text first, with pdftotext"),
    b"{\\rtf": ("an RTF file", "convert it to text first, with pandoc -t plain"),
    b"PK\x03\x04": ("a ZIP archive (or an office document)", "unpack or convert it first"),
    b"\x89PNG": ("a PNG image", "leave it out of the source"),
    b"GIF8": ("a GIF image", "leave it out of the source"),
    b"\xff\xd8\xff": ("a JPEG image", "leave it out of the source"),
    b"\xd0\xcf\x11\xe0": ("an office document", "convert it to text first"),
    b"%!PS": ("a PostScript file", "convert it to text first, with ps2ascii"),
    b"SQLite format 3": ("a SQLite database", "export its table as CSV"),
    b"7z\xbc\xaf": ("a 7z archive", "unpack it first"),
    b"Rar!": ("a RAR archive", "unpack it first"),
}
# Only what says of itself that it is markup: text, Markdown and corpora with tags of their own may begin with a tag.
_MARKUP = re.compile(
    rb"(?:<!--.*?-->\s*)*+<(?:(\?xml|!doctype)|(html|head|body|title|meta))\b", re.IGNORECASE | re.DOTALL
)
_TAG = re.compile(rb"<(?:!--|[a-z][\w:.-]*(?:\s[^<>]*)?>)", re.IGNORECASE)
_HTML = re.compile(rb"<(?:!doctype\s+html|html|head|body|title|meta)\b", re.IGNORECASE)
_PAGES = (".html", ".htm", ".xhtml")


def refuse_foreign(path: str, sample: bytes) -> None:
    """Check that a file that would be read as text is text.

    Raises
    ------
    InputError
        When its first bytes are those of another format; names the format and what to do.
    """
    begin = sample.removeprefix(b"\xef\xbb\xbf").lstrip()
    what, remedy = _kind(begin, path.lower().endswith(_PAGES))
    if what:
        raise InputError(
            f"{path} is {what}; {remedy}, or name its format with {argument('format', ...)} to read it as it is"
        )


def _kind(begin: bytes, named: bool) -> tuple[str, str]:
    """What a file is and what to do about it; empty for what may be text. `named`: its name is that of a page."""
    for magic, known in _MAGIC.items():
        if begin.startswith(magic):
            return known
    markup = _MARKUP.match(begin)
    closed = markup and (markup[1] or b"</" + markup[2].lower() in begin.lower())
    if not closed and not (named and _TAG.match(begin)):
        return "", ""
    kind = "an HTML page" if named or _HTML.search(begin[:4096]) else "a file of markup (HTML, XML or SGML)"
    return kind, "its tags would become words: extract the text first, with pandoc -t plain or a parser"
