"""Dumps of a MediaWiki (Wikipedia): the articles, as plain text.

A document is the last revision of a page of namespace 0; its title is the id. Redirects are left out, and in texts the
links to files and categories. Pages are cut out of the dump by their tags, so that it is read in bounded memory, and
parsed in parallel by mwxml and mwparserfromhell.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from bigtopic.corpus.readers.base import Chunk, Options, Place
from bigtopic.corpus.readers.containers.files import File, intact
from bigtopic.corpus.readers.containers.pieces import PieceStream, after, chunk_bytes, first_line
from bigtopic.corpus.readers.support.records import RecordReader
from bigtopic.errors import InputError, require

__all__ = ["match", "open_reader"]

_BEGIN = re.compile(rb"\s*(?:<\?xml[^>]*\?>\s*)?<mediawiki[\s>]")
_PAGE_END = b"</page>"
_REDIRECT = re.compile(rb"<redirect[\s/>]")
_OLD_REDIRECT = re.compile(rb"<text[^>]*>\s*#redirect\b", re.IGNORECASE)
_PREFIX = re.compile(rb"<title>([^<:]+):")
_LEFT_OUT = (6, 14)  # namespaces of files and categories


def match(file: File) -> float:
    return 1.0 if _BEGIN.match(file.sample.removeprefix(b"\xef\xbb\xbf")) else 0.0


def open_reader(files: Sequence[File], options: Options) -> MediaWikiReader:
    """Needs the extra `mediawiki`."""
    for module in ("mwxml", "mwparserfromhell"):
        require(module, "mediawiki")
    taken = {"documents": "pages of namespace 0 without redirects"}
    heads = {file.path: _head(file) for file in files}
    return MediaWikiReader.open(
        "mediawiki", files, options, {"id": "-", "text": "-"}, taken=taken, heads=heads
    )


def _head(file: File) -> bytes:
    """What comes before the first page: the root element and the names of the namespaces."""
    at = file.sample.find(b"<page>")
    if at < 0:
        raise InputError(f"{file.path} is a dump of a MediaWiki, but holds no pages; get another one")
    return file.sample[:at]


def articles(data: bytes, head: bytes) -> list[bytes]:
    """The pages in some bytes that are articles; the first may follow the head of the dump."""
    pages = (page[max(0, page.find(b"<page>")) :] for page in data.split(_PAGE_END)[:-1])
    return [page + _PAGE_END for page in pages if _is_article(page, head)]


def _is_article(page: bytes, head: bytes) -> bool:
    """Old dumps mark neither redirects nor namespaces; there, titles begin with a name that the head lists."""
    if b"<ns>" in page:
        return b"<ns>0</ns>" in page and _REDIRECT.search(page) is None
    if _OLD_REDIRECT.search(page):
        return False
    prefix = _PREFIX.search(page)
    return prefix is None or b">" + prefix[1] + b"</namespace>" not in head


@dataclass
class MediaWikiReader(RecordReader):
    heads: dict[str, bytes] = field(default_factory=dict)

    def streams(self) -> list[PieceStream]:
        def count(head: bytes, data: bytes) -> int:
            return len(articles(data, head))

        whole, find, heads = self.options.whole, after(_PAGE_END), self.heads
        return [PieceStream(f, whole, partial(count, heads[f.path]), find, n_shorter=4) for f in self.files]

    def records(self, chunk: Chunk) -> tuple[list[dict[str, Any]], Place]:
        import mwxml

        file = self.file_of(chunk)
        data = chunk_bytes(chunk, file)
        if b"<page>" in data[data.rfind(_PAGE_END) + 1 :]:
            raise InputError(
                f"{file.path} ends in the middle of a page: it was cut short; download it again, or remove what "
                "follows the last </page>"
            )
        pages = articles(data, self.heads[file.path])
        xml = io.BytesIO(b"".join([self.heads[file.path], *pages, b"</mediawiki>"]))

        def place(i: int) -> str:
            return f"{chunk.name}, page {i + 1} after line {first_line(chunk, file)}"

        with intact(file.path):
            dump = mwxml.Dump.from_file(xml)
            names = {n.name for n in dump.site_info.namespaces or () if n.id in _LEFT_OUT}
            names |= {"File", "Image", "Category"}
            records = [{"id": page.title, "text": _plain(_last(page), names)} for page in dump]
        return records, place


def _last(page: Any) -> str:
    text = ""
    for revision in page:
        text = revision.text or ""
    return text


def _plain(wikitext: str, left_out: set[str]) -> str:
    """Wikitext without its markup; all of it where that is nested more deeply than the library follows it."""
    import mwparserfromhell

    try:
        code = mwparserfromhell.parse(wikitext)
        for node in [*code.filter_wikilinks(recursive=False), *code.filter_tags(recursive=False)]:
            title = str(getattr(node, "title", ""))
            if str(getattr(node, "tag", "")) == "ref" or title.partition(":")[0].strip() in left_out:
                code.remove(node)
        return str(code.strip_code())
    except RecursionError:
        return wikitext
