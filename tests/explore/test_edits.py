"""Labels, merged topics, undoing and saving; answers about merged topics are those of their sums."""

import shutil
import threading
from pathlib import Path

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.explore import explorer as module
from bigtopic.questions.words import relevant_words


@pytest.fixture(scope="session")
def theta(stores):
    return stores("stored")


@pytest.fixture
def summed(dense):
    """Shares in which topics 1 and 3 are one."""
    return np.column_stack([dense[:, 0], dense[:, 1] + dense[:, 3], dense[:, 2], dense[:, 4]])


def labels(client):
    return [one["label"] if one["named"] else "" for one in client.answer("model")["topics"]]


def test_labels(client, model):
    assert client.edit("rename", topic=2, label="  rivers <b> ")["revision"] == 1
    assert labels(client) == ["", "", "rivers <b>", "", ""]
    assert client.edit("rename", topic=2, label="")["revision"] == 2
    assert labels(client) == [""] * 5
    assert client.edit("undo")["revision"] == 3
    assert labels(client)[2] == "rivers <b>" and client.answer("model")["can_undo"]
    assert client.edit("undo")["revision"] == 4
    assert labels(client)[2] == "" and not client.answer("model")["can_undo"]
    assert "no change to undo" in client.edit("undo", 400)["error"]
    assert model._labels is None


def test_merged_topics(exploration, model, summed, records):
    client = exploration.client
    client.edit("rename", topic=3, label="both")
    client.edit("merge", topics=[3, 1])
    exploration.explorer.wait()
    found = client.answer("model")
    merged = model.merge_topics([[1, 3]])
    assert found["indexing"] is None and labels(client) == ["", "both", "", ""]
    np.testing.assert_allclose([one["share"] for one in found["topics"]], summed.mean(axis=0))
    assert [one["words"] for one in found["topics"]] == [[w for w, _ in own] for own in merged.topics(8)]
    np.testing.assert_allclose(
        [one["x"] for one in found["topics"]], list(merged.topic_map()["x"]), atol=1e-6
    )
    words = relevant_words(merged.topic_source(), 30)[1]
    assert [word for word, *_ in client.answer("topic/1")["words"]] == [word for word, *_ in words]
    listed = client.answer("topic/1/documents", n=30)
    np.testing.assert_allclose([one["share"] for one in listed], np.sort(summed[:, 1])[::-1][:30])
    document = client.answer("document", row=17)
    wanted = {k: share for k, share in enumerate(summed[17]) if share > 0}
    assert dict(map(tuple, document["topics"])) == pytest.approx(wanted)
    n_led = [client.answer("documents", topic=k)["n"] for k in range(4)]
    assert n_led == np.bincount(summed.argmax(axis=1), minlength=4).tolist()
    kinds = client.answer("topic/1/groups", column="kind")
    for group, share, error, n in zip(
        *(kinds[name] for name in ("groups", "share", "error", "n")), strict=True
    ):
        own = summed[[one["kind"] == group for one in records], 1]
        assert (n, share) == (len(own), pytest.approx(own.mean()))
        assert error == pytest.approx(own.std(ddof=1) / np.sqrt(n))


def test_what_is_known_before_the_pass(exploration, summed, dense, monkeypatch):
    """Shares are exact at once; errors are unknown, and documents are those of the topics."""
    go_on, tally = threading.Event(), module.tally

    def slow(*arguments):
        go_on.wait(30)
        return tally(*arguments)

    monkeypatch.setattr(module, "tally", slow)
    client = exploration.client
    client.edit("merge", topics=[1, 3])
    try:
        found = client.answer("model")
        assert found["indexing"] == 0.0
        np.testing.assert_allclose([one["share"] for one in found["topics"]], summed.mean(axis=0))
        groups, other = (client.answer(f"topic/{k}/groups", column="kind") for k in (1, 0))
        assert groups["error"] == [None] * 3 and None not in other["error"]
        assert {one["row"] for one in client.answer("topic/1/documents")} <= {*np.flatnonzero(summed[:, 1])}
        answer = client.request("GET", "/api/topic/1/documents")
        assert answer.headers["X-Bigtopic-Complete"] == "no"
    finally:
        go_on.set()
    exploration.explorer.wait()
    assert None not in client.answer("topic/1/groups", column="kind")["error"]


def test_merged_again_and_undone(exploration, dense):
    client = exploration.client
    client.edit("merge", topics=[0, 4])
    client.edit("merge", topics=[0, 2])
    assert len(client.answer("model")["topics"]) == 3
    exploration.explorer.wait()
    shares = [one["share"] for one in client.answer("topic/0/documents", n=5)]
    np.testing.assert_allclose(shares, np.sort(dense[:, [0, 2, 4]].sum(axis=1))[::-1][:5])
    client.edit("undo")
    client.edit("undo")
    exploration.explorer.wait()
    np.testing.assert_allclose([one["share"] for one in client.answer("model")["topics"]], dense.mean(axis=0))
    client.edit("merge", topics=[0, 1, 2, 3, 4])
    exploration.explorer.wait()
    assert client.answer("topic/0")["similar"] == []
    assert client.answer("model")["topics"][0]["share"] == pytest.approx(1)


def test_mistakes(client):
    for topics in ([1], [], "12", [1, 1], [1, 5], [1, -1], [1, "2"], None, [1, 2.5], [[1], [2]]):
        client.edit("merge", 400, topics=topics)
    for body in (
        {"topic": 9, "label": "x"},
        {"topic": 1},
        {"topic": 1, "label": 3},
        {"topic": True, "label": "x"},
    ):
        client.edit("rename", 400, **body)
    assert "at most 200" in client.edit("rename", 400, topic=1, label="x" * 201)["error"]
    client.edit("rename", 400, topic=1, label="\ud800")
    assert client.answer("model")["revision"] == 0
    client.edit("rename", topic=1, label="x", revision=0)
    assert "in another window" in client.edit("merge", 400, topics=[1, 2], revision=0)["error"]
    assert client.answer("model")["revision"] == 1


@pytest.fixture
def saved(explored, model, asked, theta, tmp_path):
    """The path of a saved model, and a client that explores it."""
    path = tmp_path / "model.zarr"
    model.save(path)
    with explored(bt.load_model(path), asked, theta, model_path=str(path)) as one:
        yield path, one.client


def test_labels_are_saved_in_place(saved):
    path, client = saved
    client.edit("rename", topic=1, label="rivers")
    assert client.edit("save") == {"saved": str(path)}
    assert bt.load_model(path).topic_labels_[1] == "rivers"
    client.edit("rename", topic=0, label="lakes")
    assert client.edit("save", path=str(path.parent / "." / path.name))["saved"]
    assert bt.load_model(path).topic_labels_[:2] == ["lakes", "rivers"]


def test_merged_topics_are_saved_elsewhere(saved, tmp_path):
    path, client = saved
    client.edit("merge", topics=[0, 2])
    client.edit("rename", topic=0, label="both")
    assert "give a path" in client.edit("save", 400)["error"]
    assert "give another path" in client.edit("save", 400, path=str(path))["error"]
    new = tmp_path / "merged.zarr"
    assert client.edit("save", path=str(new)) == {"saved": str(new)}
    found = bt.load_model(new)
    assert found.topic_labels_[0] == "both" and len(found.get_topics()) == 4
    assert "give another path" in client.edit("save", 400, path=str(new))["error"]
    assert len(bt.load_model(path).get_topics()) == 5


def test_nothing_of_others_is_replaced(saved, tmp_path):
    _, client = saved
    other, folder = tmp_path / "notes.txt", tmp_path / "folder"
    other.write_text("mine")
    folder.mkdir()
    (folder / "notes.txt").write_text("mine")
    for target in (other, folder, other / "below", tmp_path):
        client.edit("save", 400, path=str(target))
    for target in (3, ["a"], "\x00", "a\ud800"):
        client.edit("save", 400, path=target)
    assert other.read_text() == (folder / "notes.txt").read_text() == "mine"


def test_the_edited_model(exploration, model):
    exploration.client.edit("merge", topics=[0, 2])
    exploration.client.edit("rename", topic=0, label="both")
    assert exploration.model.topic_labels_[0] == "both" and len(exploration.model.get_topics()) == 4
    assert len(model.get_topics()) == 5


def test_without_a_path_of_the_model(client):
    client.edit("rename", topic=1, label="x")
    assert "was not loaded from a path" in client.edit("save", 400)["error"]


def test_another_model_is_not_replaced(saved, asked, model):
    path, client = saved
    bt.LDA(3, max_iter=1, client=False, n_threads=1, progress=False).fit(asked).save(path, overwrite=True)
    client.edit("rename", topic=0, label="lakes")
    for body in ({}, {"path": str(path)}):
        assert "open it again, or give another path" in client.edit("save", 400, **body)["error"]
    assert len(bt.load_model(path).get_topics()) == 3
    model.save(path, overwrite=True)  # the same topics again, by another process
    client.edit("save", 400)
    assert client.edit("save", path=str(path.parent / "new.zarr"))


def test_a_model_that_learned_is_not_saved_in_place(explored, asked, theta, model, tmp_path):
    """It was the one at the path when it was loaded."""
    path = tmp_path / "model.zarr"
    bt.LDA(5, method="online-cvb0", max_iter=1, client=False, n_threads=1, progress=False).fit(asked).save(
        path
    )
    client = explored(model, asked, theta, model_path=str(path)).client
    client.edit("rename", topic=0, label="lakes")
    assert "open it again" in client.edit("save", 400)["error"]


def test_two_explorations_keep_each_others_labels(saved, explored, asked, theta):
    path, client = saved
    other = explored(bt.load_model(path), asked, theta, model_path=str(path)).client
    client.edit("rename", topic=0, label="lakes")
    other.edit("rename", topic=1, label="rivers")
    client.edit("save")
    assert "open it again" in other.edit("save", 400)["error"]
    assert "rivers" not in bt.load_model(path).topic_labels_
    client.edit("rename", topic=2, label="seas")
    client.edit("save")
    assert bt.load_model(path).topic_labels_[::2][:2] == ["lakes", "seas"]


def test_two_windows_of_one_exploration(saved):
    path, client = saved
    client.edit("rename", topic=0, label="lakes")
    assert "in another window" in client.edit("save", 400, revision=0)["error"]
    assert client.edit("save", revision=1) == {"saved": str(path)}


def test_a_model_that_is_gone_is_saved_again(saved):
    path, client = saved
    shutil.rmtree(path)
    client.edit("rename", topic=0, label="lakes")
    client.edit("save")
    client.edit("save")
    assert bt.load_model(path).topic_labels_[0] == "lakes"


def test_nothing_is_saved_inside_a_store(saved, asked):
    path, client = saved
    for store in (asked.url, path):
        assert "inside the store" in client.edit("save", 400, path=f"{store}/inner.zarr")["error"]
    client.edit("rename", topic=0, label="lakes")
    assert client.edit("save", path="  ") == {"saved": str(path)}
    assert not Path(" ").exists() and not Path("  ").exists()
