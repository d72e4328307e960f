"""Everything that a folder can hold, on an S3 server: corpora, models and topics."""

import json

import numpy as np
import pytest

from bigtopic.corpus.store import open_corpus
from bigtopic.errors import CorpusExists
from bigtopic.estimators.lda import LDA
from bigtopic.estimators.persistence import load_model
from bigtopic.ingestion.ingest import append, compact, ingest

OLD = ["a cat sat", "a dog ran", "the cat ran far"]
NEW = ["a bird sang", "the dog sang"]


def words(corpus):
    corpus.verify()
    return sorted(tuple(sorted(corpus[i].counts)) for i in range(len(corpus)))


def split(*texts):
    return sorted(tuple(sorted(set(text.split()) - {"a"})) for text in texts)


@pytest.mark.slow
def test_corpus(bucket):
    url, options = bucket.url("deep/pets.zarr"), bucket.options
    corpus = ingest(OLD, url, storage_options=options, n_threads=2, columns={"what?": [1, 2, 3]})
    assert words(corpus) == split(*OLD)
    assert corpus.read_columns(["what?"])["what?"].sum() == 6
    longer = append(url, NEW, storage_options=options, n_threads=2)
    assert words(longer) == split(*OLD, *NEW)
    assert words(compact(longer, n_threads=2)) == split(*OLD, *NEW)
    assert words(ingest(NEW, url, overwrite=True, storage_options=options, n_threads=1)) == split(*NEW)
    assert words(open_corpus(url + "/", options)) == split(*NEW)
    below = {key.removeprefix("deep/pets.zarr/").split("/")[0] for key in bucket.list_keys()}
    assert below == {"parts", "vocabulary", "zarr.json"}


def fitted(corpus, **settings):
    return LDA(n_components=2, max_iter=2, random_state=0, n_threads=1, **settings).fit(corpus)


def test_model(bucket):
    url = bucket.url("model.zarr")
    corpus = ingest(OLD, "memory://s3-model.zarr", n_threads=1)
    first, second = fitted(corpus), fitted(corpus, doc_topic_prior=0.3)
    for model in (first, second):
        model.save(url, storage_options=bucket.options, overwrite=model is second)
        with pytest.raises(CorpusExists, match="pass overwrite=True"):
            first.save(url, storage_options=bucket.options)
        again = load_model(url, storage_options=bucket.options)
        assert np.array_equal(again.get_topics(), model.get_topics())
    assert {key.split("/")[1].split("-")[0] for key in bucket.list_keys()} == {"state", "zarr.json"}
    assert len({key.split("/")[1] for key in bucket.list_keys()}) == 2


def topics_at(bucket, key):
    """What a reader that knows only Zarr finds: the topics, or None where the store is not finished."""
    import zarr

    store = zarr.storage.FsspecStore.from_url(bucket.url(key), storage_options=bucket.options)
    root = zarr.open_group(store, mode="r")
    if root.attrs.get("encoding-type") != "anndata":
        return None
    arrays = {name: root[f"X/{name}"][:] for name in ("data", "indices", "indptr")}
    return {**arrays, "ids": root["obs/document_id"][:], "rows": root["obs/source_row"][:]}


@pytest.mark.slow
def test_topics(bucket):
    corpus = ingest(OLD, "memory://s3-topics.zarr", n_threads=1)
    longer = ingest(OLD * 3, "memory://s3-topics-longer.zarr", n_threads=1)
    model, url = fitted(corpus), bucket.url("deep/theta.zarr")
    settings = {"storage_options": bucket.options, "min_probability": 0.0}
    assert model.transform_to(longer, url, **settings) == url
    assert topics_at(bucket, "deep/theta.zarr")["indptr"].tolist() == [2 * i for i in range(10)]
    with pytest.raises(CorpusExists, match="pass overwrite=True"):
        model.transform_to(corpus, url, **settings)
    model.transform_to(corpus, url, overwrite=True, **settings)
    found = topics_at(bucket, "deep/theta.zarr")
    assert found["indptr"].tolist() == [0, 2, 4, 6]
    expected = model.transform(corpus, order="stored")
    assert np.array_equal(found["data"].reshape(3, 2), expected)
    below = {key.removeprefix("deep/theta.zarr/").split("/")[0] for key in bucket.list_keys("deep")}
    assert below == {"X", "obs", "var", "zarr.json"}


def test_part_of_an_object(bucket):
    from bigtopic.storage.place import Place

    place = Place.of(bucket.url("folder/object"), bucket.options)
    place.write(b"0123456789")
    assert place.read(2, 5) == b"234" and place.read() == b"0123456789"
    assert place.n_bytes() == 10


@pytest.mark.slow
@pytest.mark.distributed
def test_workers_share_scratch_in_the_store(bucket, one_worker):
    corpus = ingest(OLD, bucket.url("c.zarr"), storage_options=bucket.options, client=one_worker)
    assert words(corpus) == split(*OLD)
    longer = append(corpus, NEW, client=one_worker)
    assert words(longer) == split(*OLD, *NEW)
    assert {key.split("/")[1] for key in bucket.list_keys()} == {"parts", "vocabulary", "zarr.json"}


def test_what_others_wrote_is_seen(bucket):
    """fsspec keeps listings; what another process writes or removes must be seen all the same."""
    from bigtopic.storage.place import Place

    place = Place.of(bucket.url("folder"), bucket.options)
    bucket.put("folder/one", b"1")
    assert place.names() == ["one"] and (place / "one").exists() and not (place / "two").exists()
    assert place.n_bytes() == 1
    bucket.put("folder/two", b"22")
    assert place.names() == ["one", "two"] and (place / "two").exists()
    assert place.n_bytes() == 3
    bucket.restore("folder/one", {})
    assert place.names() == ["two"] and not (place / "one").exists()


@pytest.mark.slow
def test_sources_that_grew_are_read_whole(bucket):
    bucket.put("in/a.txt", b"a cat sat\n")
    sources, settings = bucket.url("in/*.txt"), {"storage_options": bucket.options, "n_threads": 1}
    assert words(ingest(sources, "memory://s3-grew.zarr", **settings)) == split("a cat sat")
    bucket.put("in/a.txt", b"a cat sat\na dog ran far away from the cat\n")
    bucket.put("in/b.txt", b"a bird sang\n")
    corpus = ingest(sources, "memory://s3-grew.zarr", overwrite=True, **settings)
    assert len(corpus) == 3
    bucket.put("in/a.txt", b"a cat sat\n" * 5)
    assert len(ingest(bucket.url("in/a.txt"), "memory://s3-grew.zarr", overwrite=True, **settings)) == 5


@pytest.mark.slow
def test_objects_of_somebody_else_are_left_alone(bucket):
    from bigtopic.errors import CorpusExists

    others = {
        "here/parts/mine.csv": b"1",
        "here/vocabulary/notes": b"2",
        "here/x.partial": b"3",
        "here/state-a/b": b"4",
    }
    model = fitted(ingest(OLD, "memory://s3-others.zarr", n_threads=1))
    for key, data in others.items():
        bucket.restore("", {key: data})
        with pytest.raises(CorpusExists, match="it holds"):
            ingest(OLD, bucket.url("here"), storage_options=bucket.options, n_threads=1)
        with pytest.raises(CorpusExists, match="it holds"):
            model.save(bucket.url("here"), storage_options=bucket.options)
        with pytest.raises(CorpusExists, match="it holds"):
            model.transform_to(OLD, bucket.url("here"), overwrite=True, storage_options=bucket.options)
        assert bucket.contents() == {key: data}
    bucket.restore("", {})
    ingest(OLD, bucket.url("here"), storage_options=bucket.options, n_threads=1)
    for key, data in others.items():
        bucket.put(key, data)
    compact(append(bucket.url("here"), NEW, storage_options=bucket.options, n_threads=1), n_threads=1)
    assert {key: bucket.get(key) for key in others} == others


@pytest.mark.slow
def test_a_bucket_itself(bucket):
    """A store may be the root of a bucket; a failure there never removes the bucket."""

    def source():
        yield from OLD
        raise ValueError("the source broke")

    with pytest.raises(ValueError, match="the source broke"):
        ingest(source(), bucket.url(), storage_options=bucket.options, n_threads=1)
    assert bucket.list_keys() == []
    corpus = ingest(OLD, bucket.url() + "/", storage_options=bucket.options, n_threads=1)
    assert words(corpus) == split(*OLD)
    from bigtopic.storage.place import Place

    bucket.restore("", {})
    Place.of(bucket.url(), bucket.options).remove()
    assert bucket.name in [found["Name"] for found in bucket.client.list_buckets()["Buckets"]]


@pytest.mark.slow
def test_failure_leaves_the_store_as_it_was(bucket):
    def source():
        yield from NEW * 3000
        raise ValueError("the source broke")

    url, options = bucket.url("c.zarr"), bucket.options
    with pytest.raises(ValueError, match="the source broke"):
        ingest(source(), url, storage_options=options, n_threads=2)
    assert bucket.list_keys() == []
    ingest(OLD, url, storage_options=options, n_threads=1)
    before = bucket.contents()
    with pytest.raises(ValueError, match="the source broke"):
        ingest(source(), url, overwrite=True, storage_options=options, n_threads=2)
    after = bucket.contents()
    for contents in (before, after):  # the mark says who wrote last
        root = json.loads(contents.pop("c.zarr/zarr.json"))
        contents["manifest"] = root["attributes"]["bigtopic"]
    assert after == before
