"""Clean files of every format, each of other words and another length, are read in silence and in full."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

from known import known
from reference import sources

from bigtopic.corpus.readers import known_formats, open_source
from bigtopic.corpus.readers.containers.files import expand
from bigtopic.corpus.readers.signatures import SIGNATURES

OBJECTS = ("matrix_c", "matrix_dense", "anndata_object", "dask", "pandas", "arrow", "iterable", "text_glob")
MAKERS = [
    make
    for make in (*sources.WHOLE, *sources.TRIPLES, sources.word_counts)
    if not make.__name__.startswith(OBJECTS)
]
# No part of the marks of a format itself, but what prose and lists are full of.
WORDS = [
    *(
        "sea",
        "the",
        "of",
        "and",
        "one",
        "von",
        "für",
        "naïve",
        "café",
        "straße",
        "œuvre",
        "привет",
        "мир",
        "猫",
        "don't",
    ),
    *(
        "e-mail",
        "co2",
        "2024",
        "3d",
        "c++",
        "@ann",
        "#cats",
        "$5",
        "50%",
        "a_b",
        "x=y",
        "(left)",
        "[right]",
        "{both}",
    ),
    *(
        "<unk>",
        "title",
        "author",
        "text",
        "id",
        "label",
        "count",
        "word",
        "ty",
        "pmid",
        "subject",
        "begin",
        "end",
    ),
    *("none", "true", "import", "class", "10:30", "1.5", "-1", "+1", "&", "/", "!", "?", "...", "---", "^"),
]


N_FILES = 8  # of each format


def test_every_format_of_files_is_among_them(tmp_path):
    covered = set()
    for make in MAKERS:
        folder = tmp_path / make.__name__
        folder.mkdir()
        source, options = make(folder, np.ones((sources.N_DOCS, sources.N_WORDS)))
        covered.add({"matrix": "saved_matrix"}.get(name := open_source(source, **options).name, name))
    formats = known_formats()
    assert covered >= {name for name in known("format") if formats[name].match}


@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_clean_files_are_read_without_a_word(make, tmp_path, monkeypatch):
    for seed in range(N_FILES):
        rng = np.random.default_rng(seed)
        n_docs = int(rng.integers(4, 40))
        words = ["cat", *map(str, rng.choice(WORDS, 12, replace=False))]
        monkeypatch.setattr(sources, "WORDS", words)
        monkeypatch.setattr(sources, "N_WORDS", len(words))
        monkeypatch.setattr(sources, "N_DOCS", n_docs)
        counts = rng.poisson(rng.choice([0.3, 1, 4]), (n_docs, len(words))).astype(float)
        counts[:, 0] += 1  # none is empty
        counts[0, -1] += 1  # the last word is used
        folder = tmp_path / str(seed)
        folder.mkdir()
        source, options = make(folder, counts)
        options.setdefault("text", sources.PLAIN)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            reader = open_source(source, **options)
            blocks = [reader.parse(chunk) for stream in reader.streams() for chunk in stream.chunks()]
        assert sum(block.n_docs for block in blocks) == n_docs, (seed, words)
        assert sum(float(block.counts.sum()) for block in blocks) == counts.sum(), (seed, words)


@pytest.mark.costly(13)
@pytest.mark.parametrize("make", MAKERS, ids=lambda make: make.__name__)
def test_no_signature_claims_a_clean_file_of_text(make, tmp_path):
    """Nor would the name of a file, if it were taken away."""
    source, _ = make(tmp_path, sources.make_counts())
    if "remote" in make.__name__ or Path(str(source)).is_dir():
        return
    for file in expand([source]):
        found = [row.what for row in SIGNATURES if row.matches(file.sample.lstrip())]
        assert not [what for what in found if not what.startswith(("a ZIP", "an HDF5", "an Excel"))]
