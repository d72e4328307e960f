"""Mailboxes (mbox): a document per message, its subject and its text.

The Message-ID is the id; `from` and `date` (UTC) become columns. Attachments are left out; a message that is HTML only
gives the text between its tags.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import EmailPolicy
from email.utils import parsedate_to_datetime
from functools import partial
from html.parser import HTMLParser
from typing import Any, cast

from bigtopic.corpus.readers.base import Chunk, Options, Place
from bigtopic.corpus.readers.containers.files import File
from bigtopic.corpus.readers.containers.pieces import PieceStream, after, chunk_bytes, first_line
from bigtopic.corpus.readers.support.records import RecordReader
from bigtopic.errors import InputError

__all__ = ["match", "open_reader"]

_ENVELOPE = rb"From \S(?>[^\n]*?\d\d:\d\d)(?>[^\n]*?\d{4})[^\n]*\n"  # atomic: linear in the line
_BEGIN = re.compile(_ENVELOPE + rb"(?:>From [^\n]*\n)?[!-9;-~]+:[ \t\r\n]")
_BETWEEN = rb"\n\r?\n(?=" + _ENVELOPE + rb"[!-9;-~]+:[ \t\r\n])"


def match(file: File) -> float:
    """A line "From SENDER DATE", and a header."""
    return 0.9 if _BEGIN.match(file.sample) else 0.0


def open_reader(files: Sequence[File], options: Options) -> MboxReader:
    example = {"id": "-", "text": "-", "from": "-", "date": "-"}
    taken = {"documents": "subject and text of each message"}
    return MboxReader.open("mbox", files, options, example, taken=taken)


class MboxReader(RecordReader):
    def streams(self) -> list[PieceStream]:
        def count(data: bytes) -> int:
            return len(re.findall(_BETWEEN, data)) + 1

        whole = self.options.whole
        return [PieceStream(file, whole, count, after(_BETWEEN), n_shorter=8) for file in self.files]

    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Place]:
        file = self.file_of(chunk)
        messages = re.split(_BETWEEN, chunk_bytes(chunk, file))

        def place(i: int) -> str:
            before = sum(message.count(b"\n") + 2 for message in messages[:i])
            return f"{chunk.name}, line {first_line(chunk, file) + before}"

        return [_record(message, partial(place, i)) for i, message in enumerate(messages)], place


# Characters of a header up to which the library parses it, in time that is quadratic in them
_PARSED = 1 << 14


class _Policy(EmailPolicy):
    """The library's policy, but a header longer than `_PARSED` is not parsed; a `Content-` one is cut there."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        return name, value[:_PARSED] if name.lower().startswith("content-") else value

    def header_fetch_parse(self, name: str, value: str) -> Any:
        return value if len(value) > _PARSED else super().header_fetch_parse(name, value)


_POLICY = _Policy()


def _record(data: bytes, place: Callable[[], str]) -> dict[str, str]:
    try:
        message = cast(EmailMessage, message_from_bytes(data.partition(b"\n")[2], policy=_POLICY))
        return {
            "id": _header(message, "Message-ID").strip("<>"),
            "text": f"{_header(message, 'Subject')}\n\n{_body(message)}",
            "from": _header(message, "From"),
            "date": _date(_header(message, "Date")),
        }
    except RecursionError:
        raise InputError(
            f"{place()}: the parts of this message are nested too deeply to be read; remove the message"
        ) from None


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except Exception:  # the library's parser of headers fails in many ways for damaged ones
        value = dict(message.raw_items()).get(name, "")
    return " ".join(value.encode("utf-8", "replace").decode().split())


def _date(value: str) -> str:
    """In UTC, "2001-05-14T23:39:00"; empty where it is missing or not a date."""
    try:
        date = parsedate_to_datetime(value)
        return (date.astimezone(UTC) if date.tzinfo else date).replace(tzinfo=None).isoformat()
    except (ValueError, OverflowError, IndexError, TypeError):
        return ""


def _body(message: EmailMessage) -> str:
    plain = message.get_body(("plain",))
    found = plain or message.get_body(("html",))
    if found is None:
        return ""
    data = found.get_payload(decode=True)
    encoding = found.get_content_charset("utf-8")
    raw = data if isinstance(data, bytes) else b""
    try:
        text = raw.decode(encoding, "replace")
    except (LookupError, ValueError):  # no such encoding
        text = raw.decode("latin-1")
    return text if plain else _between_tags(text)


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self._hidden += tag in ("script", "style")

    def handle_endtag(self, tag: str) -> None:
        self._hidden -= tag in ("script", "style")

    def handle_data(self, data: str) -> None:
        if self._hidden <= 0:
            self.parts.append(data)


def _between_tags(page: str) -> str:
    parser = _Text()
    parser.feed(page)
    parser.close()
    return " ".join(parser.parts)
