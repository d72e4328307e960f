"""Numbers with their nouns, for messages and tables."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: float, noun: str, several: str = "") -> str:
    """A whole number and its noun; `several` is the plural, if it is not the noun with an s.

    Examples
    --------
    >>> counted(1, "document"), counted(2500, "document"), counted(2, "pass", "passes")
    ('1 document', '2,500 documents', '2 passes')
    """
    return f"{number:,.0f} {noun if number == 1 else several or f'{noun}s'}"
