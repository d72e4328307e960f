"""What may be the label of a topic: text of one line, of at most 200 characters."""

from __future__ import annotations

import unicodedata
from typing import Any

from bigtopic.errors import SettingError

__all__ = ["MOST_CHARACTERS", "checked_label"]

MOST_CHARACTERS = 200
_CONTROL = (
    "Cc",
    "Cs",
    "Zl",
    "Zp",
)  # categories of Unicode: control characters, halves of others, ends of lines


def checked_label(label: Any, topic: int) -> str:
    """The label of a topic, without spaces around it.

    Raises
    ------
    SettingError
        When it may not be one.
    """
    if not isinstance(label, str):
        raise SettingError(f"labels: topic {topic} has {label!r:.60}; give text")
    if len(label) > MOST_CHARACTERS:
        raise SettingError(
            f"labels: topic {topic} has {len(label):,} characters; give at most {MOST_CHARACTERS}"
        )
    if any(unicodedata.category(character) in _CONTROL for character in label):
        raise SettingError(
            f"labels: topic {topic} has {label!r:.60}; leave out line ends and other control characters"
        )
    return label.strip()
