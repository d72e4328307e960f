"""Pages, pictures and tables in a bucket: through Python with options, through the shell with the environment."""

import pytest

import bigtopic as bt
from bigtopic.errors import CorpusExists, StoreError
from bigtopic.foreign import to_mallet
from tests.cli.conftest import run

pytestmark = pytest.mark.battery
TEXTS = ["water bank delta river", "violin choir opera song"] * 10


@pytest.fixture(scope="module")
def model():
    return bt.LDA(2, method="online-cvb0", max_iter=2, client=False, n_threads=1, progress=False).fit(TEXTS)


def page(model, target, **options):
    return bt.report.write_html(bt.report.summarise(model), target, **options)


def picture(model, target, **options):
    return bt.plots.save(model.plot("topics"), target, **options)


def table(model, target, **options):
    return model.transform_to(TEXTS, target, **options)


WRITERS = {"a.html": page, "a.svg": picture, "a.csv": table}


@pytest.mark.parametrize("name", WRITERS)
def test_the_object_is_the_file(name, model, bucket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    url = bucket.url(f"deep/{name}")
    assert WRITERS[name](model, url, storage_options=bucket.options) == url
    assert list(tmp_path.iterdir()) == []
    WRITERS[name](model, tmp_path / name)
    assert bucket.contents() == {f"deep/{name}": (tmp_path / name).read_bytes()}


@pytest.mark.parametrize("name", WRITERS)
def test_what_is_not_such_a_file_stays(name, model, bucket):
    for key in (name, f"{name}/below"):  # an object, and a prefix
        bucket.restore("", {key: b"mine"})
        with pytest.raises((StoreError, CorpusExists), match=rf"{name} exists"):
            WRITERS[name](model, bucket.url(name), storage_options=bucket.options)
        assert bucket.contents() == {key: b"mine"}


@pytest.mark.slow
def test_an_empty_object_and_an_older_page_are_replaced(model, bucket):
    bucket.put("a.html", b"")
    for _ in range(2):
        page(model, bucket.url("a.html"), storage_options=bucket.options)
        assert bucket.get("a.html").startswith(b"<!doctype html>")


@pytest.mark.parametrize("name", WRITERS)
def test_nothing_is_written_into_a_store(name, model, bucket):
    bt.ingest(TEXTS, bucket.url("c.zarr"), storage_options=bucket.options, client=False, n_threads=1)
    before = bucket.contents()
    with pytest.raises(StoreError, match="is inside the store s3://"):
        WRITERS[name](model, bucket.url(f"c.zarr/parts/{name}"), storage_options=bucket.options)
    assert bucket.contents() == before


@pytest.mark.parametrize("name", WRITERS)
def test_a_bucket_that_is_not_there_is_a_clear_error(name, model, bucket):
    with pytest.raises(StoreError, match="there is no such bucket"):
        WRITERS[name](model, f"s3://{bucket.name}-not/{name}", storage_options=bucket.options)


@pytest.mark.slow
def test_files_of_mallet(model, bucket, tmp_path):
    to_mallet(model, bucket.url("mallet"), TEXTS, storage_options=bucket.options)
    paths = to_mallet(model, tmp_path, TEXTS)
    assert bucket.contents() == {f"mallet/{path.name}": path.read_bytes() for path in paths}


@pytest.mark.slow
def test_the_shell(model, bucket, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": bucket.options["endpoint_url"],
    }.items():
        monkeypatch.setenv(name, value)
    bt.ingest(TEXTS, bucket.url("c.zarr"), client=False, n_threads=1)
    model.save(bucket.url("m.zarr"))
    for command in (
        ("report", bucket.url("m.zarr"), bucket.url("shown/a.html"), "--corpus", bucket.url("c.zarr")),
        ("plot", "topics", bucket.url("m.zarr"), "--out", bucket.url("shown/a.svg")),
        ("infer", bucket.url("m.zarr"), bucket.url("c.zarr"), bucket.url("shown/theta.csv")),
    ):
        assert bucket.url("shown") in run(*command).stdout
    assert bucket.list_keys("shown") == ["shown/a.html", "shown/a.svg", "shown/theta.csv"]
    assert list(tmp_path.iterdir()) == []
