"""The citation and the recipe for conda-forge say what pyproject.toml says."""

import re
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONDA_NAMES = {"dask": "dask-core"}  # the names of conda-forge, where they differ


def read(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def requirements(lines):
    """{name as on PyPI: version specifiers}."""
    pypi = {conda: name for name, conda in CONDA_NAMES.items()}
    pairs = (re.fullmatch(r"([\w-]+) ?(.*)", line).groups() for line in lines)
    return {pypi.get(name, name): {*filter(None, versions.split(","))} for name, versions in pairs}


def test_the_citation_is_valid_and_up_to_date():
    citation, project = read("CITATION.cff"), PROJECT["project"]
    required = {"cff-version", "message", "title", "authors"}  # of Citation File Format 1.2.0
    optional = {
        "type",
        "abstract",
        "version",
        "license",
        "keywords",
        "date-released",
        "doi",
        "repository-code",
        "url",
    }
    assert required <= {*citation} <= required | optional
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert all(
        {*author} <= {"name", "given-names", "family-names", "orcid"} for author in citation["authors"]
    )
    for key, value in (
        ("version", "version"),
        ("license", "license"),
        ("keywords", "keywords"),
        ("abstract", "description"),
    ):
        assert citation[key] == project[value]


def test_the_recipe_requires_what_the_package_requires():
    recipe, project = read(".github/conda/recipe.yaml"), PROJECT["project"]
    run = requirements(recipe["requirements"]["run"])
    assert run.pop("python") == {">=${{ python_min }}"}
    assert run == requirements(project["dependencies"])
    host = requirements(recipe["requirements"]["host"])
    assert host["hatchling"] == requirements(PROJECT["build-system"]["requires"])["hatchling"]


def test_the_recipe_describes_the_package():
    recipe, project = read(".github/conda/recipe.yaml"), PROJECT["project"]
    assert recipe["context"]["version"] == project["version"] and recipe["package"]["name"] == project["name"]
    assert (
        recipe["about"]["summary"] == project["description"]
        and recipe["about"]["license"] == project["license"]
    )
    commands = dict(line.split(" = ") for line in recipe["build"]["python"]["entry_points"])
    assert commands == project["scripts"]
