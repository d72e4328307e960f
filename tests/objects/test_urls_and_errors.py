"""What a URL may be, and what is said when the store behind it refuses or does not answer."""

import socket
import zipfile

import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.corpus.stored.transaction import Transaction
from bigtopic.errors import BigtopicError, CorpusExists, CorpusVersionError, SettingError, StoreError
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.ingestion.ingest import append, ingest
from bigtopic.storage.place import Place

TEXTS = ["a cat sat", "a dog ran"]


def fitted():
    return LDA(n_components=2, max_iter=1, n_threads=1).fit(TEXTS)


def every_operation(url, options):
    """What a user may do with a URL, writing first."""
    model = fitted()
    return {
        "ingest": lambda: ingest(TEXTS, url, storage_options=options, n_threads=1),
        "append": lambda: append(url, TEXTS, storage_options=options, n_threads=1),
        "save": lambda: model.save(url, storage_options=options),
        "transform_to": lambda: model.transform_to(TEXTS, url, storage_options=options),
        "open": lambda: open_corpus(url, options),
        "load": lambda: load_model(url, storage_options=options),
        "read": lambda: ingest(
            f"{url}/texts.txt", "memory://never.zarr", storage_options=options, n_threads=1
        ),
    }


def refused(url, options, error, match, only=None):
    for name, run in every_operation(url, options).items():
        if only is None or name in only:
            with pytest.raises(error, match=match) as caught:
                run()
            assert url in str(caught.value), name


def test_no_such_bucket(bucket):
    refused("s3://no-such-bucket/c", bucket.options, BigtopicError, "no-such-bucket")
    writing = ("ingest", "append", "save", "transform_to")
    refused("s3://no-such-bucket/c", bucket.options, StoreError, "no such bucket; create it", writing)
    assert "no-such-bucket" not in [found["Name"] for found in bucket.client.list_buckets()["Buckets"]]


def test_server_that_does_not_answer():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        endpoint = f"http://127.0.0.1:{free.getsockname()[1]}"
    options = {
        "key": "a",
        "secret": "b",
        "endpoint_url": endpoint,
        "config_kwargs": {"retries": {"max_attempts": 0}, "connect_timeout": 1},
    }
    refused("s3://bucket/c", options, StoreError, "the server does not answer.*check the address")


@pytest.mark.slow
def test_no_credentials(bucket, monkeypatch, tmp_path):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    options = {name: value for name, value in bucket.options.items() if name not in ("key", "secret")}
    refused(bucket.url("c"), options, StoreError, "credentials are missing or wrong")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "status", "match"),
    [
        ("AccessDenied", 403, "access was denied.*list, read, write and delete"),
        ("ExpiredToken", 400, "credentials have expired.*renew them"),
        ("InvalidAccessKeyId", 403, "credentials are missing or wrong"),
        ("ServiceUnavailable", 503, "the server refused.*ServiceUnavailable"),
    ],
)
def test_answers_that_are_errors(code, status, match):
    """Any S3 server may answer this to any request."""
    from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
    from threading import Thread

    class Refusing(BaseHTTPRequestHandler):
        def refuse(self):
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            body = f"<Error><Code>{code}</Code><Message>no</Message></Error>".encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = refuse

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    Thread(target=server.serve_forever, daemon=True).start()
    options = {
        "key": "a",
        "secret": "b",
        "endpoint_url": f"http://127.0.0.1:{server.server_port}",
        "config_kwargs": {"retries": {"max_attempts": 0}},
    }
    try:
        refused("s3://bucket/c", options, StoreError, match, ("ingest", "append", "save", "transform_to"))
        refused("s3://bucket/c", options, StoreError, "the server refused|access was denied|credentials")
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize("url", ["s3://", "s3:///", "memory://", "gs://"])
def test_urls_that_name_nothing(url):
    refused(url, {}, SettingError, "names no folder or bucket", ("ingest", "append", "open", "load", "save"))


@pytest.mark.parametrize("url", ["s3://b/a*", "memory://what?", "s3://b/c?versionId=1", "memory://x[1]"])
def test_urls_that_fsspec_takes_for_patterns(url):
    refused(url, {}, SettingError, "without", ("ingest", "append", "open", "load", "save", "transform_to"))


@pytest.mark.parametrize("url", ["nonsense://x", "s4://bucket/x"])
def test_urls_of_no_known_kind(url):
    refused(url, {}, SettingError, "a URL that fsspec knows", ("ingest", "append", "open", "load", "save"))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with space.zarr", "ümlaut.zarr", "a+b=c&d%20e#f.zarr", "deep/er//x.zarr"])
def test_odd_names(bucket, name):
    url, options = bucket.url(name), bucket.options
    ingest(TEXTS, url, storage_options=options, n_threads=1).verify()
    assert len(append(url + "/", TEXTS, storage_options=options, n_threads=1)) == 4
    assert {key[: len(name)] for key in bucket.list_keys()} == {name}


def test_file_urls(tmp_path):
    for scheme in ("file://", "local://"):
        corpus = ingest(TEXTS, f"{scheme}{tmp_path}/c.zarr/", overwrite=True, n_threads=1)
        assert corpus.url == str(tmp_path / "c.zarr") and Place.of(f"{scheme}{tmp_path}").local


def test_in_memory():
    url = "memory://deep/er/objects.zarr/"
    assert len(ingest(TEXTS, url, n_threads=2)) == 2
    assert len(append(url, TEXTS, n_threads=2)) == 4
    model = fitted()
    model.save("memory://deep/model.zarr")
    assert load_model("memory://deep/model.zarr").n_components == 2
    model.transform_to(TEXTS, "memory://deep/theta.zarr")
    model.transform_to(TEXTS, "memory://deep/theta.zarr", overwrite=True)
    with pytest.raises(CorpusExists, match="not a bigtopic model"):
        model.save("memory://deep/theta.zarr")
    with pytest.raises(CorpusExists, match="not a store of topics"):
        model.transform_to(TEXTS, "memory://deep/model.zarr", overwrite=True)
    with pytest.raises(CorpusVersionError, match="a model, not a corpus"):
        ingest(TEXTS, "memory://deep/model.zarr", overwrite=True)
    assert sorted(Place.of("memory://deep/theta.zarr").names()) == ["X", "obs", "var", "zarr.json"]


@pytest.mark.slow
def test_chains_are_read_but_not_written(bucket, tmp_path):
    ingest(TEXTS, bucket.url("c.zarr"), storage_options=bucket.options, n_threads=1)
    archive = tmp_path / "corpus.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for key, data in bucket.contents().items():
            file.writestr(key, data)
    zipped = open_corpus(f"zip://c.zarr::{archive}")
    zipped.verify()
    assert len(zipped) == 2
    cached = f"simplecache::{bucket.url('c.zarr')}"
    opened = open_corpus(cached, {"s3": bucket.options})
    opened.verify()
    for url, options in ((f"zip://new.zarr::{archive}", {}), (cached, {"s3": bucket.options})):
        with pytest.raises(SettingError, match="a chain of file systems can only be read"):
            ingest(TEXTS, url, overwrite=True, storage_options=options, n_threads=1)
        with pytest.raises(SettingError, match="a chain of file systems can only be read"):
            fitted().save(url, storage_options=options)


def test_a_part_that_a_worker_wrote_is_where_it_belongs():
    """A place comes back from a worker with options that may have changed on the way."""
    with Transaction(Place.of("memory://workers/c.zarr", {"retries": 3})) as transaction:
        transaction.install(Place.of("memory://workers/c.zarr", {"retries": 4}), "parts/00000000")
