"""Text from data and paths, made safe for a terminal."""

from __future__ import annotations

__all__ = ["printable"]

# Not "printable" for Python, but parts of words and harmless: joiners, the soft hyphen, spaces other than the usual.
_KEPT = frozenset(
    "\u200c\u200d\u00ad\u00a0\u1680\u202f\u205f\u3000\ufeff" + "".join(map(chr, range(0x2000, 0x200B)))
)


def printable(text: str) -> str:
    r"""The text, with everything that a terminal would interpret written as an escape.

    That is control characters (escape sequences begin with one; line ends are among them), those of C1, marks that
    change the direction of writing, halves of characters, and codes without a character.

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
