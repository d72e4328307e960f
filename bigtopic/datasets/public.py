"""The public data sets of topic-model papers: where they are, their terms, and how each file is read.

A reader of this module takes the downloaded files and gives a source and settings of `ingest`. Archives are never
unpacked: members are read as streams, so that no name in them becomes a path, and no more than `Public.most_bytes`
are decompressed.

Checksums are the publisher's own. Where a publisher gives none, `fetch` pins the first download.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import IO, Any, cast

import numpy as np

from bigtopic.errors import InputError, require

__all__ = ["PUBLIC", "Public"]

Files = list[Path]
Source = tuple[Any, dict[str, Any]]  # what `ingest` reads, and its settings

_GROWTH = 50  # a text compressed further than so many times is not one of these


@dataclass(frozen=True)
class Public:
    """A public data set.

    about : documents, words, and what authors, ids and columns are
    urls : of the files; the name of a file is the end of its URL
    megabytes : to download, about
    terms : of use, by the publisher
    read : from the files and the most bytes to decompress
    checksums : of each file, "algorithm:digest" by the publisher, or None
    """

    about: str
    urls: tuple[str, ...]
    megabytes: float
    terms: str
    read: Callable[[Files, int], Source]
    checksums: tuple[str | None, ...] = ()

    @property
    def most_bytes(self) -> int:
        """Limit of what one archive is decompressed to."""
        return int(_GROWTH * 1e6 * self.megabytes)


def bag_of_words(files: Files, most: int) -> Source:
    """UCI's own format, which `ingest` reads with the words beside it."""
    return str(files[0]), {}


def movielens(ratings: str, movies: str, separator: str) -> Callable[[Files, int], Source]:
    """Users by movies; a rating is one record, whatever its stars."""

    def read(files: Files, most: int) -> Source:
        with zipfile.ZipFile(files[0]) as archive:
            titles = dict(row[:2] for row in _rows(archive, movies, separator, most, "latin-1"))
            names = _distinct(titles)
            of_users: defaultdict[str, Counter[str]] = defaultdict(Counter)
            for user, movie, *_ in _rows(archive, ratings, separator, most, "latin-1"):
                of_users[user][names[movie]] += 1
        return _records(of_users), {}

    return read


def hetrec_lastfm(files: Files, most: int) -> Source:
    """Users by artists; a count is a number of plays."""
    with zipfile.ZipFile(files[0]) as archive:
        artists = _rows(archive, "artists.dat", "\t", most, "utf-8")
        next(artists, None)  # the header
        names = _distinct(dict(row[:2] for row in artists))
        plays = _rows(archive, "user_artists.dat", "\t", most, "utf-8")
        next(plays, None)
        of_users: defaultdict[str, Counter[str]] = defaultdict(Counter)
        for user, artist, count in plays:
            of_users[user][names[artist]] += int(count)
    return _records(of_users), {}


def lastfm_360k(files: Files, most: int) -> Source:
    """Users by artists, one user in memory at a time; the rows of a user are together."""

    def records() -> Iterator[dict[str, Any]]:
        user, counts = "", Counter[str]()
        for name, stream in _members(files[0], most):
            if not name.endswith("usersha1-artmbid-artname-plays.tsv"):
                continue
            for line in stream:
                row = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
                if len(row) != 4 or not row[3].strip().isdigit():
                    continue  # a few names hold tabs or line feeds
                if row[0] != user:
                    if counts:
                        yield {"id": user, "counts": counts}
                    user, counts = row[0], Counter()
                if int(row[3]) > 0 and row[2]:
                    counts[row[2]] += int(row[3])
        if counts:
            yield {"id": user, "counts": counts}

    return records(), {}


def nips_authors(files: Files, most: int) -> Source:
    """Papers of NIPS 1 to 12 with their authors; the text is scanned.

    The archive has `nipstxt/nips07/0123.txt` for papers and `nipstxt/idx/a07.txt` for "last, first, paper, ...".
    """
    texts: dict[tuple[int, int], str] = {}
    authors: defaultdict[tuple[int, int], list[str]] = defaultdict(list)
    for name, stream in _members(files[0], most):
        paper, index = re.search(r"nips(\d+)/(\d+)\.txt$", name), re.search(r"idx/a(\d+)\.txt$", name)
        if paper is not None:
            texts[int(paper[1]), int(paper[2])] = stream.read().decode("utf-8", "ignore")
        elif index is not None:
            for line in stream.read().decode("utf-8", "ignore").splitlines():
                last, first, *papers = [*(part.strip() for part in line.split(",")), "", ""]
                for number in papers:
                    if number.isdigit():
                        authors[int(index[1]), int(number)].append(" ".join(f"{first} {last}".split()))
    records = (
        {"id": f"{volume}_{number}", "text": text, "authors": authors[volume, number], "year": 1987 + volume}
        for (volume, number), text in sorted(texts.items())
    )
    return records, {"min_df": 20}


def nips_words_by_papers(files: Files, most: int) -> Source:
    """A CSV of words by papers, which are named "year_number"; it is transposed."""
    from scipy.sparse import csc_array, hstack

    words: list[str] = []
    with files[0].open(encoding="utf-8") as stream:
        papers = [name.strip().strip('"') for name in stream.readline().rstrip("\r\n").split(",")[1:]]
        columns = []
        for number, line in enumerate(stream, 2):
            word, _, counts = line.partition(",")
            row = counts.split(",")
            if len(row) != len(papers):
                raise InputError(f"{files[0]}, line {number}: {len(row)} counts of {len(papers)} papers")
            words.append(word.strip('"'))
            columns.append(csc_array(np.array(row, dtype=np.float64).astype(np.float32)[:, None]))
    years = [int(re.sub(r"\D.*", "", paper.removeprefix("X"))) for paper in papers]
    return hstack(columns, format="csr"), {"vocabulary": words, "ids": papers, "columns": {"year": years}}


def imdb(files: Files, most: int) -> Source:
    """Reviews with the columns `split` (train, test) and `sentiment` (pos, neg, unsup)."""

    def records() -> Iterator[dict[str, Any]]:
        for name, stream in _members(files[0], most):
            found = re.search(r"(train|test)/(pos|neg|unsup)/(\d+_\d+)\.txt$", name)
            if found is not None:
                text = stream.read().decode("utf-8", "replace").replace("<br />", "\n")
                split, sentiment, number = found.groups()
                own = f"{split}/{sentiment}/{number}"
                yield {"id": own, "text": text, "split": split, "sentiment": sentiment}

    return records(), {"min_df": 5}


def stack_exchange(files: Files, most: int) -> Source:
    """Questions: title and body without markup; their tags are the authors, as in Mortensen's thesis."""
    from xml.etree import ElementTree

    py7zr, factories = require("py7zr", "datasets"), require("py7zr.io", "datasets")
    factory = factories.BytesIOFactory(limit=most)
    try:
        with py7zr.SevenZipFile(files[0]) as archive:
            if sum(entry.uncompressed for entry in archive.list() if entry.filename == "Posts.xml") > most:
                raise _too_large(files[0], most)
            archive.extract(targets=["Posts.xml"], factory=factory)
    except py7zr.exceptions.ArchiveError as error:
        raise InputError(f"{files[0]} is not a 7z archive: {error}") from error
    if "Posts.xml" not in factory.products:
        raise InputError(f"{files[0]} has no Posts.xml")
    stored = factory.products["Posts.xml"]
    stored.seek(0)
    posts = io.BytesIO(stored.read())

    def records() -> Iterator[dict[str, Any]]:
        for line in iter(posts.readline, b""):
            if not line.lstrip().startswith(b"<row"):
                continue
            row = ElementTree.fromstring(line)  # one element, so that no entity can be declared
            if row.get("PostTypeId") == "1":
                text = f"{row.get('Title', '')}\n\n{_without_markup(row.get('Body', ''))}"
                tags = re.findall(r"[^<>|]+", row.get("Tags", ""))
                yield {"id": row.get("Id"), "text": text, "authors": tags}

    return records(), {"min_df": 5}


def _members(path: Path, most: int) -> Iterator[tuple[str, IO[bytes]]]:
    """Files of a compressed tar archive, as streams, in order."""
    import gzip
    import tarfile

    with (
        gzip.open(path) as unpacked,
        tarfile.open(fileobj=cast("IO[bytes]", _Limited(unpacked, path, most)), mode="r|") as archive,
    ):
        for member in archive:
            content = archive.extractfile(member) if member.isfile() else None
            if content is not None:
                yield member.name, content


class _Limited:
    """A stream that ends in an error after so many bytes."""

    def __init__(self, stream: Any, path: Path, most: int) -> None:
        self.stream, self.path, self.most, self.left = stream, path, most, most

    def read(self, size: int = -1) -> bytes:
        found: bytes = self.stream.read(min(size, self.left + 1) if size >= 0 else self.left + 1)
        self.left -= len(found)
        if self.left < 0:
            raise _too_large(self.path, self.most)
        return found


def _too_large(path: Path, most: int) -> InputError:
    return InputError(f"{path} decompresses to more than {most / 1e6:,.0f} MB; it is not the published file")


def _rows(
    archive: zipfile.ZipFile, name: str, separator: str, most: int, encoding: str
) -> Iterator[list[str]]:
    """Lines of the member of that name, in whatever folder, divided."""
    found = [one for one in archive.infolist() if PurePosixPath(one.filename).name == name]
    if len(found) != 1:
        raise InputError(f"{archive.filename} has {len(found)} files {name}, not one")
    if found[0].file_size > most:
        raise _too_large(Path(str(archive.filename)), most)
    with archive.open(found[0]) as stream:
        for line in io.TextIOWrapper(stream, encoding, "replace"):
            yield line.rstrip("\r\n").split(separator)


def _distinct(names: dict[str, str]) -> dict[str, str]:
    """Names by id; an id whose name another one has before it keeps both: "name [id]"."""
    seen: set[str] = set()
    own = {}
    for key, name in names.items():
        own[key] = f"{name} [{key}]" if name in seen else name
        seen.add(name)
    return own


def _records(of_users: dict[str, Counter[str]]) -> Iterable[dict[str, Any]]:
    return ({"id": user, "counts": counts} for user, counts in of_users.items())


class _Text(HTMLParser):
    """Collects text outside of code."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.in_code = 0

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.in_code += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self.in_code -= tag == "code"

    def handle_data(self, data: str) -> None:
        if self.in_code <= 0:
            self.parts.append(data)


def _without_markup(html: str) -> str:
    parser = _Text()
    parser.feed(html)
    parser.close()
    return " ".join(parser.parts)


_UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_GROUPLENS = "https://files.grouplens.org/datasets"
_BY = "CC BY 4.0 (UCI Machine Learning Repository)"
_RESEARCH = "research only, no redistribution without permission; cite the publisher's paper"


def _uci(name: str, about: str, megabytes: float) -> Public:
    urls = (f"{_UCI}/bag-of-words/docword.{name}.txt.gz", f"{_UCI}/bag-of-words/vocab.{name}.txt")
    return Public(about, urls, megabytes, _BY, bag_of_words)


PUBLIC = {
    "kos": _uci("kos", "blog entries: 3 430 documents, 6 906 words", 1),
    "nips": _uci("nips", "papers of NIPS: 1 500 documents, 12 419 words", 2),
    "enron": _uci("enron", "e-mails: 39 861 documents, 28 102 words", 12),
    "nytimes": _uci("nytimes", "news articles: 300 000 documents, 102 660 words", 223),
    "pubmed": _uci("pubmed", "abstracts: 8 200 000 documents, 141 043 words", 1700),
    "nips-authors": Public(
        "papers of NIPS 1 to 12 (1987 to 1999), scanned: 1 740 documents with authors; column year",
        ("https://cs.nyu.edu/~roweis/data/nips12raw_str602.tgz",),
        12,
        "no licence given; collected by S. Roweis",
        nips_authors,
    ),
    "nips-1987-2015": Public(
        "papers of NIPS: 5 811 documents, 11 463 words; column year",
        (f"{_UCI}/00371/NIPS_1987-2015.csv",),
        134,
        _BY,
        nips_words_by_papers,
    ),
    "movielens-100k": Public(
        "943 users by 1 682 movies; a rating is one record",
        (f"{_GROUPLENS}/movielens/ml-100k.zip",),
        5,
        _RESEARCH,
        movielens("u.data", "u.item", "\t"),
        ("md5:0e33842e24a9c977be4e0107933c0723",),
    ),
    "movielens-1m": Public(
        "6 040 users by 3 706 movies; a rating is one record",
        (f"{_GROUPLENS}/movielens/ml-1m.zip",),
        6,
        _RESEARCH,
        movielens("ratings.dat", "movies.dat", "::"),
        ("md5:c4d9eecfca2ab87c1945afe126590906",),
    ),
    "lastfm-360k": Public(
        "about 359 000 users by 160 000 or more artists (17.5 million pairs); a count is a number of plays",
        ("https://zenodo.org/records/6090214/files/lastfm-dataset-360K.tar.gz",),
        569,
        "non-commercial use only (Last.fm); cite Celma, Music Recommendation and Discovery (2010)",
        lastfm_360k,
    ),
    "lastfm-2k": Public(
        "1 892 users by 17 632 artists (HetRec 2011); a count is a number of plays",
        (f"{_GROUPLENS}/hetrec2011/hetrec2011-lastfm-2k.zip",),
        3,
        "non-commercial use only (Last.fm); cite Cantador, Brusilovsky, Kuflik (2011)",
        hetrec_lastfm,
    ),
    "cooking": Public(
        "questions of cooking.stackexchange.com; their tags are the authors",
        ("https://archive.org/download/stackexchange/cooking.stackexchange.com.7z",),
        60,
        "CC BY-SA (Stack Exchange), version by the date of the question; the dump is replaced now and then",
        stack_exchange,
    ),
    "imdb": Public(
        "film reviews of Maas et al.: 100 000 documents; columns split, sentiment",
        ("https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",),
        84,
        "no licence given; cite Maas et al., Learning Word Vectors for Sentiment Analysis (2011)",
        imdb,
    ),
}
