"""A pattern that comes from a store is not run unasked; whoever chose it says so once."""

import subprocess
import sys
import textwrap

import pytest

import bigtopic as bt
from bigtopic.errors import ModelError, SettingError

HERE = {"client": False, "n_threads": 1}
PATTERN = r"(?:(?:\w+)+)+(?=y)|\w+"  # takes for ever on a long word
TEXTS = ["cat dog", "dog bird", "bird cat"] * 5


@pytest.fixture
def stores(tmp_path):
    corpus = bt.ingest(TEXTS, tmp_path / "c.zarr", token_pattern=PATTERN, **HERE)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, **HERE).fit(corpus)
    assert model.transform(["cat dog"]).shape == (1, 2)  # this process was given the pattern
    model.save(tmp_path / "m.zarr")
    (tmp_path / "new.txt").write_text("cat dog\n")
    return tmp_path


def elsewhere(code, folder):
    """What a process that was given nothing prints."""
    code = f"import bigtopic as bt\nHERE = {HERE!r}\nPATTERN = {PATTERN!r}\n{textwrap.dedent(code)}"
    command = [sys.executable, "-c", code]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_appending_asks_for_the_pattern_again(stores):
    shown = elsewhere(
        """
        from bigtopic.errors import SettingError
        try:
            bt.append("c.zarr", ["a" * 60], **HERE)
        except SettingError as error:
            print(error)
        print(len(bt.append("c.zarr", ["cat"], token_pattern=PATTERN, **HERE)))
        """,
        stores,
    )
    assert "c.zarr: this text was tokenised with token_pattern=" in shown
    assert "pass the same pattern again as token_pattern=" in shown and shown.endswith("16\n")
    with pytest.raises(SettingError, match="leave out token_pattern"):
        bt.append(stores / "c.zarr", ["cat"], token_pattern=r"\w", **HERE)


def test_a_model_asks_for_the_pattern_again(stores):
    shown = elsewhere(
        """
        from bigtopic.errors import ModelError
        model = bt.load_model("m.zarr")
        print(len(model.topics()), model.transform(bt.open_corpus("c.zarr")).shape)
        try:
            model.transform(["a" * 60])
        except ModelError as error:
            print(error)
        print(bt.load_model("m.zarr", token_pattern=PATTERN).transform(["cat"]).shape)
        """,
        stores,
    )
    assert "2 (15, 2)" in shown and "load_model" in shown and shown.endswith("(1, 2)\n")
    with pytest.raises(SettingError, match=r"were tokenised with"):
        bt.load_model(stores / "m.zarr", token_pattern=r"\w")


def test_the_command_asks_for_the_pattern_again(stores):
    command = [sys.executable, "-m", "bigtopic", "infer", "m.zarr", "new.txt", "theta.zarr"]
    refused = subprocess.run(command, cwd=stores, capture_output=True, text=True, timeout=120, check=False)
    assert refused.returncode == 2 and "--token-pattern" in refused.stderr
    subprocess.run(
        [*command, "--token-pattern", PATTERN], cwd=stores, check=True, timeout=120, capture_output=True
    )
    assert (stores / "theta.zarr").exists()


def test_a_function_is_still_asked_for(tmp_path):
    corpus = bt.ingest(TEXTS, tmp_path / "c.zarr", token_filter=str.title, **HERE)
    model = bt.LDA(2, method="online-cvb0", max_iter=1, **HERE).fit(corpus)
    with pytest.raises(ModelError, match=r"token_filter=.*functions are not stored.*bigtopic.ingest"):
        model.transform(["cat"])
