"""Nothing that comes from data reaches a terminal as anything but text."""

import json
import sys
import unicodedata
import warnings

import numpy as np
import pytest
from click.testing import CliRunner

from bigtopic import errors
from bigtopic.cli import main
from bigtopic.corpus.memory import from_matrix
from bigtopic.estimators.lda import LDA
from bigtopic.ingestion.ingest import ingest
from bigtopic.wording import printable

EVIL = (
    "\x1b]0;owned\x07\x9b31m\u202eevil\u2066\r\x7f\u2028"  # OSC, BEL, C1 CSI, bidi, CR, DEL, line separator
)
HERE = {"client": False, "n_threads": 1}


def harmless(text):
    """No control character but the ends of lines, no bidi control, no half of a character."""
    kinds = {unicodedata.category(c) for c in text if c != "\n"}
    bidi = {"\u061c", "\u200e", "\u200f", *map(chr, range(0x202A, 0x202F)), *map(chr, range(0x2066, 0x206A))}
    return not kinds & {"Cc", "Cs", "Zl", "Zp"} and not bidi & set(text)


def test_every_character_is_harmless_and_words_stay_as_they_are():
    everything = "".join(map(chr, range(sys.maxunicode + 1)))
    shown = printable(everything)
    assert harmless(shown) and "\n" not in shown
    for word in ("naïve", "می\u200cشود", "क्\u200dष", "日本語", "a\u00a0b", "👩\u200d🚀", "a\\nb"):
        assert printable(word) == word
    assert printable("\x1b[2J\ud800\u202e") == r"\x1b[2J\ud800\u202e"


def test_errors_and_warnings_are_harmless_wherever_they_are_printed():
    kinds = [kind for kind in map(errors.__dict__.get, errors.__all__) if isinstance(kind, type)]
    assert len(kinds) > 10
    for kind in kinds:
        assert harmless(str(kind(f"line 3: {EVIL}"))) and "evil" in str(kind(EVIL))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warnings.warn(EVIL, errors.BigtopicWarning, stacklevel=1)
    assert harmless(str(caught[0].message))


def test_reprs_are_harmless():
    corpus = from_matrix(np.eye(2), [EVIL, "b"])
    assert harmless(repr(corpus.vocabulary)) and harmless(repr(corpus))


@pytest.fixture(scope="module")
def crafted(tmp_path_factory):
    """A corpus whose path, words, columns, authors and ids are crafted, and a model of it."""
    folder = tmp_path_factory.mktemp("crafted")
    path = folder / f"evil{EVIL}.zarr"
    records = [
        {
            "id": EVIL + str(i),
            "tokens": [EVIL, "cat", "dog"][: 1 + i % 3],
            "authors": [EVIL],
            EVIL: i,
            "year": i,
        }
        for i in range(30)
    ]
    corpus = ingest(records, path, **HERE)
    LDA(2, method="online-cvb0", max_iter=1, **HERE).fit(corpus).save(folder / f"model{EVIL}.zarr")
    return path, folder / f"model{EVIL}.zarr"


def test_the_command_prints_nothing_that_a_terminal_obeys(crafted, tmp_path):
    corpus, model = map(str, crafted)
    page = str(tmp_path / f"page{EVIL}.html")
    missing = str(tmp_path / f"missing{EVIL}")
    for arguments in (
        ["info", corpus],
        ["info", model],
        ["topics", model],
        ["topics", model, "--corpus", corpus],
        ["topics", model, "--corpus", corpus, "--json"],
        ["infer", model, corpus, str(tmp_path / f"theta{EVIL}.zarr")],
        ["report", model, page, "--corpus", corpus],
        ["train", corpus, str(tmp_path / f"m{EVIL}.zarr"), "--topics", "2", "--passes", "1"],
        ["info", missing],
        ["ingest", missing, str(tmp_path / "c.zarr")],
        ["info", EVIL, EVIL],
        [EVIL],
        ["train", corpus, "x", "--method", EVIL],
        ["ingest", missing, "x", "--min-df", EVIL],
    ):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code in (0, 2), (arguments, result.output)
        assert harmless(result.output), (arguments, result.output)
    topics = json.loads(CliRunner().invoke(main, ["topics", model, "--json"]).stdout)
    assert EVIL in {word["word"] for word in topics[0]["words"]}
