"""What scripts in docs/ generate is what is committed."""

import re
import runpy
import sys
from pathlib import Path

import pytest

from bigtopic import methods

sys.path.insert(0, str(Path(__file__).parents[1]))

from known import known

ROOT = Path(__file__).parents[2]
NUMBER = re.compile(r"-?\d+(?:[,.]\d+)*")


@pytest.mark.parametrize(("script", "picture"), [("draw_round", "round"), ("draw_flow", "data-flow")])
def test_picture_is_that_of_the_script(script, picture):
    drawn = runpy.run_path(str(ROOT / "docs" / f"{script}.py"))["svg"]()
    assert (ROOT / "docs" / "images" / f"{picture}.svg").read_text(encoding="utf-8") == drawn


def test_tables_of_methods_are_those_of_the_code():
    script = runpy.run_path(str(ROOT / "docs" / "methods_table.py"))
    for page in script["PAGES"]:
        text = page.read_text(encoding="utf-8")
        drawn, old = script["filled"](text), f"{page.name} is old; run python docs/methods_table.py"
        assert not {*text.splitlines()} - {*drawn.splitlines()}, old
        assert not [line for line in drawn.splitlines() if line not in text and not of_new(line)], old
    assert all(f"| `{row['method']}` |" in text for row in methods())
    assert {*script["FEW"]} <= {row["method"] for row in methods()}


def of_new(line):
    """Whether a row of a table is of a kernel, scheme or method that is not listed yet."""
    from bigtopic import kernels, schemes

    new = {*kernels.names()} - known("kernel") | {row["method"] for row in methods()} - known("method")
    new |= {schemes.load(name).__name__ for name in {*schemes.names()} - known("scheme")}
    return line.startswith(tuple(f"| `{name}` |" for name in new))


def test_every_setting_of_kernels_and_schemes_is_on_the_page_of_settings():
    from bigtopic import kernels, schemes

    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    found = [(name, option) for name in known("kernel") for option in kernels.load(name).options]
    for scheme in map(schemes.load, known("scheme")):
        found += [(scheme.__name__, setting) for setting in schemes.options(scheme())]
    assert not [(owner, name) for owner, name in found if f"\n| `{owner}` | `{name}` | `" not in page]


def test_every_note_is_on_the_page_of_papers():
    from bigtopic.methods.notes import NOTES

    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    assert not [note.text for note in NOTES if note.text not in page or f"## {note.paper}\n" not in page]


def test_every_kernel_has_a_method_or_a_row():
    from bigtopic import kernels

    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){3}$", page, re.MULTILINE)
    of_methods = {row["kernel"] for row in methods()}
    assert not of_methods & set(rows)
    assert known("kernel") <= {*rows, *of_methods} <= {*kernels.names()}


def test_the_methods_that_learn_priors_are_those_of_the_page():
    from bigtopic import kernels

    page = (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| (`.*`) \| yes \| (yes|no)\b.*\|$", page, re.MULTILINE)
    kernel_of = {row["method"]: kernels.load(row["kernel"]) for row in methods()}
    learn = {
        name: "yes" if kernel.posteriors else "no"
        for name, kernel in kernel_of.items()
        if "doc_topic_prior" in kernel.offers
    }
    assert {name: words for row, words in found for name in re.findall("`([^`]+)`", row)} == learn


def sections_of_benchmarks():
    """{(page below docs/benchmarks, benchmark): text of its section}."""
    found = {}
    for page in sorted((ROOT / "docs" / "benchmarks").glob("*.md")):
        _, *parts = re.split(r"^## `(.*)`$", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
        found |= {(page.name, name): text for name, text in zip(parts[::2], parts[1::2], strict=True)}
    return found


def test_every_benchmark_has_a_section_with_its_command():
    sections = sections_of_benchmarks()
    names = runpy.run_path(str(ROOT / "tests" / "benchmarks" / "__main__.py"))["names"]()
    assert sorted(name for _, name in sections) == names
    command = ".venv/bin/python -m tests.benchmarks "
    assert not [name for (_, name), text in sections.items() if f"\n{command}{name}" not in text]


def test_every_benchmark_is_in_the_summary_where_links_to_it_used_to_lead():
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    rows = re.findall(r'^\| <a id="(\w+)"></a>\[`(\w+)`\]\(benchmarks/([^#)]+)#(\w+)\)', page, re.MULTILINE)
    assert sorted(rows) == sorted((name, name, page, name) for page, name in sections_of_benchmarks())


def test_figures_of_the_summary_are_on_the_pages_that_it_links():
    sections = sections_of_benchmarks()
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    n_figures = 0
    for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        links = re.findall(r"\]\(benchmarks/([^#)]+)#(\w+)\)", part)
        known = {n for link in links for n in NUMBER.findall(sections[link])}
        rows = [line for line in part.splitlines() if line.startswith("|") and "<a id" not in line]
        figures = [n for row in rows for n in NUMBER.findall(re.sub(r"`[^`]*`|\]\([^)]*\)", "", row))]
        assert not {*figures} - known, f"{part.splitlines()[0]}: figures that no linked page has"
        n_figures += len(figures)
    assert n_figures > 50


def test_the_benchmark_of_kernels_counts_what_each_must_do():
    from bigtopic import kernels

    counts = runpy.run_path(str(ROOT / "tests" / "benchmarks" / "counts.py"))["COUNTS"]
    assert known("kernel") <= counts.keys() <= {*kernels.names()}


def test_every_format_has_a_row():
    from bigtopic.corpus.readers import known_formats

    page = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \|(?:[^|]*\|){3}$", page, re.MULTILINE)
    assert known("format") <= {*rows} <= known_formats().keys()


def test_every_measure_has_a_row_with_its_settings():
    from bigtopic.evaluation import measures

    page = (ROOT / "docs" / "evaluation.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE))
    found = {name: ", ".join(f"`{s}`" for s in measures.load(name).settings) for name in measures.names()}
    assert known("measure") <= rows.keys() and rows.items() <= found.items()


def test_every_plot_has_a_row_with_its_settings():
    from bigtopic import plots

    page = (ROOT / "docs" / "pictures.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \|.*\| ([^|]*) \|$", page, re.MULTILINE))
    found = {name: ", ".join(f"`{s}`" for s in plots.load(name).settings) for name in plots.names()}
    assert known("plot") <= rows.keys() and rows.items() <= found.items()


def test_every_setting_of_the_tokeniser_has_a_row():
    from dataclasses import fields

    from bigtopic.corpus.text.text_settings import TextSettings

    page = (ROOT / "docs" / "ingest.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("| `")]
    assert not [f.name for f in fields(TextSettings) if not any(f"`{f.name}`" in row for row in rows)]


def test_every_field_of_the_manifest_is_in_the_page_of_the_format(corpus, tmp_path):
    from bigtopic.corpus.stored.manifest import read_manifest
    from bigtopic.ingestion.ingest import ingest
    from bigtopic.storage.place import Place

    ingest(corpus, tmp_path / "corpus.zarr")
    manifest = read_manifest(Place.of(tmp_path / "corpus.zarr")).to_dict()
    page = (ROOT / "docs" / "format-corpus.md").read_text(encoding="utf-8")
    names = [*manifest, *manifest["parts"][0], *manifest["vocabulary"]]
    assert not [name for name in names if f"`{name}`" not in page]


def test_every_verb_and_format_of_topics_is_on_the_page_of_the_shell():
    from bigtopic.estimators.topic_stores import formats
    from bigtopic.support import discovery

    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert known("verb") <= discovery.modules("bigtopic.cli").keys()
    assert [verb for verb in known("verb") if f"bigtopic {verb}" not in page] == []
    assert [name for name in formats.FORMATS if f"`.{name}`" not in page] == []
