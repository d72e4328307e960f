"""Public data sets, from a local server with tiny files of the same formats; hostile ones too."""

import gzip
import hashlib
import io
import re
import shutil
import tarfile
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from bigtopic.datasets import available, fetch
from bigtopic.datasets.public import PUBLIC
from bigtopic.errors import CorpusExists, InputError, SettingError, StoreError

pytest.importorskip("pooch")


def zipped(**members: str) -> bytes:
    """An archive; the last `_` in a keyword stands for a dot."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr("folder/" + ".".join(name.rsplit("_", 1)), text.encode("latin-1"))
    return stream.getvalue()


def tarred(members: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        link = tarfile.TarInfo("nips00/9999.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    return stream.getvalue()


def seven_zip() -> bytes:
    py7zr = pytest.importorskip("py7zr")
    body = "&lt;p&gt;Flour &lt;code&gt;x&lt;/code&gt;&lt;/p&gt;"
    rows = (
        f'<row Id="1" PostTypeId="1" Title="Bread" Body="{body}" Tags="&lt;baking&gt;&lt;dough&gt;" />',
        '<row Id="2" PostTypeId="2" Body="An answer" />',
        '<row Id="3" PostTypeId="1" Title="Soup" Body="Water" Tags="|broth|" />',
    )
    stream = io.BytesIO()
    with py7zr.SevenZipFile(stream, "w") as archive:
        archive.writestr("<users/>", "Users.xml")
        archive.writestr('<?xml version="1.0"?>\n<posts>\n  ' + "\n  ".join(rows) + "\n</posts>", "Posts.xml")
    return stream.getvalue()


PLAYS = "u1\tm1\tAbba\t3\nu1\tm2\tCan\t2\nu1\tm3\tAbba\t1\nbroken\nu2\tm2\tCan\t0\nu2\t\tMoé\t5\n"
FILES = {
    "docword.kos.txt.gz": gzip.compress(b"2\n3\n3\n1 1 2\n1 3 1\n2 2 4\n"),
    "vocab.kos.txt": b"ale\nbeer\ncider\n",
    "NIPS_1987-2015.csv": b'"","1987_1","X2015_7"\n"neuron",2,0\n"kernel",0,3\n',
    "ml-100k.zip": zipped(
        u_data="1\t10\t5\t0\n2\t11\t1\t0\n1\t12\t2\t0\n", u_item="10|Amé|x\n11|Bat|x\n12|Bat|x\n".replace("|", "\t")
    ),
    "ml-1m.zip": zipped(ratings_dat="1::10::5::0\n2::11::1::0\n", movies_dat="10::Am::x\n11::Bat::x\n"),
    "hetrec2011-lastfm-2k.zip": zipped(
        artists_dat="id\tname\turl\n1\tAbba\tx\n2\tCan\tx\n",
        user_artists_dat="userID\tartistID\tweight\n7\t1\t9\n8\t2\t4\n",
    ),
    "lastfm-dataset-360K.tar.gz": tarred({"lastfm/usersha1-artmbid-artname-plays.tsv": PLAYS.encode()}),
    "nips12raw_str602.tgz": tarred(
        {
            "nipstxt/nips00/0001.txt": b"deep nets deep \xff" * 3,
            "nipstxt/idx/a00.txt": b"Ng, A., 1, 2\nBox, C., 2\nheading\n",
            "nipstxt/nips00/0002.txt": b"shallow nets",
            "../../escaped.txt": b"out",
        }
    ),
    "aclImdb_v1.tar.gz": tarred(
        {f"aclImdb/{own}/{n}_8.txt": b"good<br />film" for own in ("train/pos", "test/unsup") for n in range(3)}
    ),
    "cooking.stackexchange.com.7z": b"",
}  # fmt: skip


class Handler(BaseHTTPRequestHandler):
    """Files of the test; a path that begins with /cut promises more than it sends."""

    asked: list[str]
    files: dict[str, bytes]

    def do_GET(self) -> None:
        folder, name = self.path.strip("/").split("/")
        self.asked.append(name)
        content = self.files.get(name)
        self.send_response(200 if content is not None else 404)
        content = content or b""
        self.send_header("Content-Length", str(len(content) + (99 if folder == "cut" else 0)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch):
    """Serves `FILES`; the sets' addresses are here, and their publishers' checksums of these files."""
    kind = type("Handler", (Handler,), {"asked": [], "files": dict(FILES)})
    listening = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    kind.url = f"http://127.0.0.1:{listening.server_port}"
    thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    for name, one in PUBLIC.items():
        own = [url.rpartition("/")[2] for url in one.urls]
        digests = [hashlib.md5(FILES.get(file, b"")).hexdigest() for file in own]
        sums = tuple(known and f"md5:{digest}" for known, digest in zip(one.checksums, digests, strict=False))
        urls = tuple(f"{kind.url}/whole/{file}" for file in own)
        monkeypatch.setitem(PUBLIC, name, replace(one, urls=urls, checksums=sums))
    yield kind
    listening.shutdown()
    thread.join()
    listening.server_close()


def moved(monkeypatch, name: str, folder: str) -> None:
    one = PUBLIC[name]
    monkeypatch.setitem(
        PUBLIC, name, replace(one, urls=tuple(url.replace("/whole/", folder) for url in one.urls))
    )


def documents(corpus) -> dict[str, dict[str, float]]:
    """Counts of each document, by its id."""
    words, matrix = corpus.vocabulary.words, corpus.to_scipy()
    ids = [str(one) for one in corpus.document_ids(order="source")]
    rows = (matrix[[d]] for d in range(len(ids)))
    counts = ({str(words[w]): float(c) for w, c in zip(row.indices, row.data, strict=True)} for row in rows)
    return dict(zip(ids, counts, strict=True))


def test_bag_of_words_is_fetched_once_and_pinned(server, tmp_path, capsys):
    corpus = fetch("kos", tmp_path)
    assert list(documents(corpus).values()) == [{"ale": 2, "cider": 1}, {"beer": 4}]
    said = capsys.readouterr().err
    assert "docword.kos.txt.gz: checksum pinned, as there is none" in said
    digest = hashlib.sha256(FILES["vocab.kos.txt"]).hexdigest()
    assert f"{digest}  vocab.kos.txt\n" in (tmp_path / "kos" / "sha256.txt").read_text()
    assert (fetch("kos", tmp_path).to_scipy() != corpus.to_scipy()).nnz == 0
    assert server.asked == ["docword.kos.txt.gz", "vocab.kos.txt"] and not capsys.readouterr().err


def test_files_put_there_by_hand_need_no_network(monkeypatch, tmp_path):
    (tmp_path / "kos").mkdir()
    for name in ("docword.kos.txt.gz", "vocab.kos.txt"):
        (tmp_path / "kos" / name).write_bytes(FILES[name])
    unreachable = tuple(f"http://127.0.0.1:9/{name}" for name in ("docword.kos.txt.gz", "vocab.kos.txt"))
    monkeypatch.setitem(PUBLIC, "kos", replace(PUBLIC["kos"], urls=unreachable))
    assert fetch("kos", tmp_path, progress=False).n_docs == 2


def test_users_and_items(server, tmp_path, capsys):
    assert documents(fetch("movielens-100k", tmp_path)) == {"1": {"Amé": 1, "Bat [12]": 1}, "2": {"Bat": 1}}
    assert "ml-100k.zip: checksum the publisher's" in capsys.readouterr().err
    assert documents(fetch("movielens-1m", tmp_path)) == {"1": {"Am": 1}, "2": {"Bat": 1}}
    assert documents(fetch("lastfm-2k", tmp_path)) == {"7": {"Abba": 9}, "8": {"Can": 4}}
    assert documents(fetch("lastfm-360k", tmp_path)) == {"u1": {"Abba": 4, "Can": 2}, "u2": {"Moé": 5}}


def test_papers_with_years(server, tmp_path):
    corpus = fetch("nips-1987-2015", tmp_path, progress=False)
    assert documents(corpus) == {"1987_1": {"neuron": 2}, "X2015_7": {"kernel": 3}}
    assert list(corpus.select(year=2015).document_ids()) == ["X2015_7"]


def test_papers_with_authors(server, tmp_path, monkeypatch):
    read = PUBLIC["nips-authors"].read
    everything = replace(PUBLIC["nips-authors"], read=lambda *given: (read(*given)[0], {"max_df": 1.0}))
    monkeypatch.setitem(PUBLIC, "nips-authors", everything)
    corpus = fetch("nips-authors", tmp_path / "inner" / "most", progress=False)
    assert documents(corpus) == {"0_1": {"deep": 6, "nets": 3}, "0_2": {"shallow": 1, "nets": 1}}
    assert sorted(corpus.authors) == ["A. Ng", "C. Box"] and sorted(corpus["0_2"].authors) == [
        "A. Ng",
        "C. Box",
    ]
    assert corpus.select(year=1987).n_docs == 2
    assert not list(tmp_path.rglob("escaped.txt"))


def test_questions_with_tags_and_reviews(server, tmp_path, monkeypatch):
    server.files["cooking.stackexchange.com.7z"] = seven_zip()
    read = PUBLIC["cooking"].read
    monkeypatch.setitem(
        PUBLIC, "cooking", replace(PUBLIC["cooking"], read=lambda *given: (read(*given)[0], {}))
    )
    corpus = fetch("cooking", tmp_path, progress=False)
    assert documents(corpus) == {"1": {"bread": 1, "flour": 1}, "3": {"soup": 1, "water": 1}}
    assert sorted(corpus["1"].authors) == ["baking", "dough"] and corpus["3"].authors == ["broth"]
    reviews = fetch("imdb", tmp_path, progress=False)
    assert reviews.n_docs == 6 and reviews.select(sentiment="pos", split="train").n_docs == 3


def test_a_cut_download_leaves_nothing(server, tmp_path, monkeypatch):
    moved(monkeypatch, "kos", "/cut/")
    with pytest.raises(StoreError, match=r"cut/docword\.kos.*could not be downloaded .*put it at .*docword"):
        fetch("kos", tmp_path, progress=False)
    assert not list((tmp_path / "kos").glob("*"))


def test_a_missing_file_and_a_missing_network_say_what_to_do_by_hand(server, tmp_path, monkeypatch):
    del server.files["vocab.kos.txt"]
    with pytest.raises(StoreError, match=rf"404.*put it at {re.escape(str(tmp_path))}/kos/vocab\.kos\.txt"):
        fetch("kos", tmp_path, progress=False)
    nowhere = replace(PUBLIC["imdb"], urls=("http://127.0.0.1:9/aclImdb_v1.tar.gz",))
    monkeypatch.setitem(PUBLIC, "imdb", nowhere)
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:9/aclImdb_v1\.tar\.gz could not be downloaded"):
        fetch("imdb", tmp_path, progress=False)


def test_a_wrong_checksum_is_refused_and_a_changed_file_too(server, tmp_path):
    server.files["ml-100k.zip"] = FILES["ml-1m.zip"]
    with pytest.raises(InputError, match=r"ml-100k\.zip does not have the checksum md5:"):
        fetch("movielens-100k", tmp_path, progress=False)
    assert not list((tmp_path / "movielens-100k").glob("*"))
    fetch("lastfm-2k", tmp_path, progress=False)
    folder = tmp_path / "lastfm-2k"
    (folder / "hetrec2011-lastfm-2k.zip").unlink()
    (folder / "corpus.zarr").rename(tmp_path / "away.zarr")
    server.files["hetrec2011-lastfm-2k.zip"] += b"\0"
    with pytest.raises(InputError, match=r"delete its line in .*sha256\.txt"):
        fetch("lastfm-2k", tmp_path, progress=False)


BOMB = tarred({"aclImdb/train/pos/1_8.txt": b"a " * 500_000, "aclImdb/train/pos/2_8.txt": b"b"})


@pytest.mark.parametrize(
    ("name", "file", "content", "found"),
    [
        ("imdb", "aclImdb_v1.tar.gz", BOMB, r"decompresses to more than 0 MB"),
        ("imdb", "aclImdb_v1.tar.gz", FILES["aclImdb_v1.tar.gz"][:-60], r"damaged"),
        ("imdb", "aclImdb_v1.tar.gz", b"<html>Sign in</html>", r"not the published data.*delete it"),
        ("lastfm-2k", "hetrec2011-lastfm-2k.zip", b"<html>", r"not the published data"),
        ("lastfm-2k", "hetrec2011-lastfm-2k.zip", zipped(artists_dat="1\n" * 999_999), r"more than 0 MB"),
        ("lastfm-2k", "hetrec2011-lastfm-2k.zip", zipped(artists_dat="1\tx\n"), r"has 0 files user_artists\.dat"),
        ("nips-1987-2015", "NIPS_1987-2015.csv", b'"","1987_1"\n"neuron",2,0\n', r"line 2: 2 counts of 1 papers"),
        ("kos", "docword.kos.txt.gz", gzip.compress(b"2\n3\n3\n1 1 2\n1 9 1\n"), r"not the published data"),
        ("cooking", "cooking.stackexchange.com.7z", b"<html>", r"is not a 7z archive"),
    ],
    ids=["tar bomb", "cut tar", "page", "page for zip", "zip bomb", "no member", "ragged", "bad counts", "page for 7z"],
)  # fmt: skip
def test_hostile_and_damaged_files_leave_neither_corpus_nor_pin(
    server, tmp_path, monkeypatch, name, file, content, found
):
    server.files[file] = content
    monkeypatch.setitem(PUBLIC, name, replace(PUBLIC[name], megabytes=0.001))
    with pytest.raises(InputError, match=found):
        fetch(name, tmp_path, progress=False)
    assert {path.name for path in (tmp_path / name).iterdir()} <= {file, "vocab.kos.txt"}


def test_names_and_the_page():
    rows = available()
    assert {row["name"] for row in rows} == set(PUBLIC) and all(row["terms"] and row["urls"] for row in rows)
    heading, first, *_ = repr(rows).splitlines()
    assert heading.split() == ["name", "megabytes", "about", "terms"] and first.split()[:2] == ["kos", "1"]
    assert "http" not in repr(rows) and "<bdi>movielens-1m</bdi>" in rows._repr_html_()
    with pytest.raises(SettingError, match="did you mean 'pubmed'"):
        fetch("pubmet")
    page = (Path(__file__).parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    assert [row["name"] for row in rows] == re.findall(r"^\| `([\w-]+)` \|", page, re.MULTILINE)


def encrypted(archive: bytes) -> bytes:
    """The archive, whose members say that a password is needed."""
    found = bytearray(archive)
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = -1
        while (at := found.find(mark, at + 1)) >= 0:
            found[at + offset] |= 1
    return bytes(found)


def posts(xml: str) -> bytes:
    py7zr, stream = pytest.importorskip("py7zr"), io.BytesIO()
    with py7zr.SevenZipFile(stream, "w") as archive:
        archive.writestr(xml, "Posts.xml")
    return stream.getvalue()


def test_an_archive_with_a_password_and_markup_that_is_cut_are_damaged(server, tmp_path):
    server.files["hetrec2011-lastfm-2k.zip"] = encrypted(FILES["hetrec2011-lastfm-2k.zip"])
    with pytest.raises(InputError, match=r"lastfm-2k\.zip: not the published data, or damaged .*encrypted"):
        fetch("lastfm-2k", tmp_path, progress=False)
    server.files["cooking.stackexchange.com.7z"] = posts('<posts>\n<row Id="1" PostTypeId="1" Tit')
    with pytest.raises(
        InputError, match=r"cooking\.stackexchange\.com\.7z: not the published data, or damaged"
    ):
        fetch("cooking", tmp_path, progress=False)
    assert not list(tmp_path.rglob("sha256.txt"))


def test_a_pin_that_cannot_be_written_is_an_error_of_the_store(server, tmp_path):
    (tmp_path / "kos" / "sha256.txt").mkdir(parents=True)
    with pytest.raises(StoreError, match=r"sha256\.txt exists but is not a file of checksums"):
        fetch("kos", tmp_path, progress=False)
    for name in (["kos"], None, 5):
        with pytest.raises(SettingError, match="name="):
            fetch(name, tmp_path)


def test_a_fetch_that_was_killed_while_it_stored_the_corpus_is_done_again(server, tmp_path):
    store = tmp_path / "kos" / "corpus.zarr"
    begun = {
        ".bigtopic.journal-0123456789ab": '"zarr.json"\n',
        "zarr.json": '{"zarr_format": 3, "node_type": "group", "attributes": {}}',
    }
    for files in ({}, begun):
        store.mkdir(parents=True)
        for name, text in files.items():
            (store / name).write_text(text)
        assert fetch("kos", tmp_path, progress=False).n_docs == 2
        shutil.rmtree(store)
    store.mkdir()
    (store / "mine.txt").write_text("precious")
    with pytest.raises(CorpusExists, match=r"corpus\.zarr exists and is not a bigtopic corpus"):
        fetch("kos", tmp_path, progress=False)


def test_a_corpus_that_another_process_has_stored_meanwhile_is_opened(server, tmp_path, monkeypatch):
    read = PUBLIC["kos"].read

    def slowly(*given):
        monkeypatch.setitem(PUBLIC, "kos", replace(PUBLIC["kos"], read=read))
        fetch("kos", tmp_path, progress=False)
        return read(*given)

    monkeypatch.setitem(PUBLIC, "kos", replace(PUBLIC["kos"], read=slowly))
    assert fetch("kos", tmp_path, progress=False).n_docs == 2


def test_a_folder_that_cannot_be_made_is_named(server, tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(
        StoreError, match=r"file/kos cannot be made: what should be a folder on its path is a file"
    ):
        fetch("kos", tmp_path / "file", progress=False)
    assert not server.asked
