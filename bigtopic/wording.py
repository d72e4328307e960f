"""Words of messages and tables: numbers with their nouns, and text made safe for a terminal."""

from __future__ import annotations

__all__ = ["counted", "printable"]

# Not "printable" for Python, but parts of words and harmless: joiners, the soft hyphen, spaces other than the usual.
_KEPT = frozenset(
    "\u200c\u200d\u00ad\u00a0\u1680\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
)


def printable(text: str) -> str:
    r"""The text, with everything that a terminal would interpret written as an escape.

    That is control characters, C1 included (escape sequences begin with one; line ends are among them), marks that
    change the direction of writing, halves of surrogate pairs, and unassigned code points.

    Examples
    --------
    >>> printable("a\x1b[31mb")
    'a\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in _KEPT else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def counted(number: float, noun: str, several: str = "") -> str:
    """A whole number and its noun; `several` is the plural, if it is not the noun with an s.

    Examples
    --------
    >>> counted(1, "document"), counted(2500, "document"), counted(2, "pass", "passes")
    ('1 document', '2,500 documents', '2 passes')
    """
    return f"{number:,.0f} {noun if number == 1 else several or f'{noun}s'}"
