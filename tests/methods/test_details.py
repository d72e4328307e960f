"""One method in full: settings, notes on papers, BibTeX."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import replace

import pytest

import bigtopic as bt
from bigtopic.errors import SettingError
from bigtopic.methods import get, names
from bigtopic.methods.notes import NOTES, PAPERS, bibtex_of
from bigtopic.methods.settings import settings_of

# The papers whose names for methods begin so.
CITED = {
    "ope": "Than & Doan, Guaranteed inference",
    "sgs": "Gao, Chen, Zhu 2016",
    "g-oem": "Dupuy and Bach 2017",
    "ilr": "Rugeles et al.",
    "broderick": "Broderick et al. 2013",
    "mortensen": "Mortensen 2017",
}


@pytest.mark.parametrize("name", names())
def test_a_method_in_full(name):
    details, text = bt.methods(name), repr(bt.methods(name))
    (row,) = [row for row in bt.methods() if row["method"] == name]
    assert row.items() <= details.items() and details["settings"] == settings_of(get(name))
    assert max(map(len, text.partition("@")[0].splitlines())) <= 100
    html, flat = details._repr_html_(), " ".join(text.split())
    for setting in details["settings"]:
        assert f"\n  {setting['option']} = {setting['default']!r} (" in text
        assert " ".join(setting["meaning"].split()) in flat and f"<td>{setting['option']}</td>" in html
    assert all(note["text"] in flat for note in details["notes"]) and details["bibtex"] in text


def test_a_method_of_ones_own_has_details():
    own = replace(get("sgs"), name="own", paper="")
    assert bt.methods(own)["method"] == "own" and bt.methods(own)["bibtex"] == ""
    assert repr(bt.methods(own))
    with pytest.raises(SettingError, match="'magic' is not known"):
        bt.methods("magic")


@pytest.mark.parametrize("name", names())
def test_every_paper_of_a_method_has_an_entry(name):
    entries = bibtex_of(get(name))
    assert entries.count("\n@") + 1 == sum(words in get(name).paper for words in PAPERS) >= 1
    # Nothing is cited that has no entry: a year, or "et al.", is part of the words of one.
    left = get(name).paper
    for words in PAPERS:
        left = left.replace(words, "")
    assert not re.search(r"\b(19|20)\d\d\b|et al", left)


def test_entries_are_bibtex():
    keys = [re.match(r"@\w+\{([\w-]+),\n", entry)[1] for entry in PAPERS.values()]
    assert len({*keys}) == len(keys)
    for entry in PAPERS.values():
        assert entry.count("{") == entry.count("}") and entry.endswith("\n}")
        assert re.search(r"^  author = \{.+\},$", entry, re.MULTILINE) and "  title = {" in entry


def test_notes_name_papers_and_methods():
    for note in NOTES:
        assert note.paper in PAPERS and note.kind in ("choice", "erratum", "settings")
        assert {*note.methods} <= {*names()} and note.text.endswith(".")


def priors_and_minibatch(method):
    """The priors of topics' words and of documents' or authors', and how many documents an update of a stream has."""
    priors = tuple(sorted({method.prior_text(s.prior) for s in method.model.arrays.values() if s.prior}))
    whole = method.load_kernel().state == "run" or method.batch_size is None
    return priors, "whole" if whole else method.batch_size


@pytest.mark.parametrize(
    "paper", sorted({alias.split(":")[0] for name in names() for alias in get(name).aliases})
)
def test_the_methods_of_a_paper_share_its_priors_and_minibatches_or_a_note_says_not(paper):
    found = defaultdict(set)
    for name in names():
        if any(alias.startswith(f"{paper}:") for alias in get(name).aliases):
            found[name] = priors_and_minibatch(get(name))
    told = {
        n
        for note in NOTES
        if note.kind == "settings" and note.paper == CITED.get(paper)
        for n in note.methods
    }
    for number in (0, 1):
        own = {name: values[number] for name, values in found.items() if values[number] != "whole"}
        others = [{name for name in own if own[name] != usual} for usual in own.values()]
        assert not own or any(names <= told for names in others), (paper, own)
