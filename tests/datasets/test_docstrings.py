"""Docstrings as documents: prose without furniture, found by parsing, never by importing."""

import inspect
import sys
import textwrap

import pytest

from bigtopic.datasets import docstrings, installed_packages
from bigtopic.datasets._parse import documents_of, n_words, prose
from bigtopic.errors import SettingError

LONG = "Every sentence of this documentation string talks about rivers, bridges and boats, " * 3


def clean(text):
    return prose(inspect.cleandoc(text))


def words(text):
    return " ".join(text.split())


def test_numpydoc_furniture_goes_and_descriptions_stay():
    text = clean(
        """Fit a curve.

        Parameters
        ----------
        width : ndarray of shape (n,), optional
            Breadth of the river.
        *others : int

        Returns
        -------
        float
            Height of the bridge.

        Notes
        -----
        Boats pass below.

        Examples
        --------
        This text belongs to the example.

        >>> fit(3)
        4
        """
    )
    assert words(text) == "Fit a curve. Breadth of the river. Height of the bridge. Boats pass below."


def test_google_and_sphinx_fields_keep_their_descriptions():
    google = clean("Open.\n\nArgs:\n    path (str): Where the file is.\n\nReturns:\n    The file.")
    assert words(google) == "Open. Where the file is. The file."
    sphinx = clean("Open.\n\n:param str path: Where the file is.\n:type path: str\n:returns: The file.")
    assert words(sphinx) == "Open. Where the file is. The file."


@pytest.mark.parametrize(
    "code",
    [
        ">>> boats(3)\n[1, 2]\n",
        "::\n\n    boats = 3\n\n",
        "```\nboats = 3\n```\n",
        ".. code-block:: python\n\n    boats = 3\n\n",
        ".. versionadded:: 1.2\n   The boats.\n\n",
        "+------+\n| boats|\n+------+\n",
        "https://boats.example/boats\n",
        ":math:`boats^2`\n",
    ],
)
def test_code_tables_and_formulas_are_dropped(code):
    text = clean(f"Before.\n\n{code}\nAfter.")
    assert "boats" not in text
    assert "Before." in text and "After." in text


def test_roles_leave_their_text():
    assert clean("See :class:`~bank.River` and ``bridge``.").split() == [
        "See",
        "~bank.River",
        "and",
        "bridge",
        ".",
    ]


def source_of(text):
    return textwrap.dedent(text).replace("LONG", LONG).encode()


def test_a_document_per_module_class_and_function():
    source = source_of(
        '''
        """LONG"""
        if True:
            class Boat:
                """LONG"""
                def sail(self):
                    """LONG"""
        async def ferry():
            """LONG"""
        '''
    )
    records = list(documents_of("fleet.boats", source))
    assert {record["id"] for record in records} == {
        "fleet.boats",
        "fleet.boats.Boat",
        "fleet.boats.Boat.sail",
        "fleet.boats.ferry",
    }
    assert all(record["authors"] == ["fleet"] for record in records)


def test_a_short_docstring_joins_what_it_stands_in():
    source = source_of(
        '''
        class Boat:
            """LONG"""
            def sail(self):
                """Catches the wind."""
        '''
    )
    (record,) = documents_of("boats", source)
    assert record["id"] == "boats.Boat"
    assert record["text"].endswith("Catches the wind.")


def test_source_that_does_not_parse_has_no_documents():
    assert list(documents_of("broken", b'"""Words."""\nprint "two"')) == []


def test_nothing_is_imported_and_the_order_is_fixed(tmp_path, monkeypatch):
    site = tmp_path / "site-packages"
    (site / "fleet" / "tests").mkdir(parents=True)
    (site / "fleet" / "__init__.py").write_bytes(source_of('"""LONG"""\nraise SystemExit'))
    (site / "fleet" / "zeta.py").write_bytes(source_of('def row():\n    """LONG oars"""'))
    (site / "fleet" / "alpha.py").write_bytes(source_of('def row():\n    """LONG"""'))  # the text of __init__
    (site / "fleet" / "tests" / "test_row.py").write_bytes(source_of('"""LONG tests"""'))
    monkeypatch.setattr(sys, "path", [*sys.path, str(site)])
    assert [record["id"] for record in docstrings(["fleet"])] == ["fleet", "fleet.zeta.row"]
    assert "fleet" not in sys.modules


def test_the_standard_library_is_there():
    records = list(docstrings(["asyncio", "json"]))
    assert {record["authors"][0] for record in records} == {"asyncio", "json"}
    assert len({record["id"] for record in records}) == len(records) > 50
    assert min(n_words(record["text"]) for record in records) >= 20


def test_an_unknown_package_is_named():
    with pytest.raises(SettingError, match="no_such_package"):
        list(docstrings(["no_such_package"]))


def test_versions_of_what_is_installed():
    found = installed_packages()
    assert found["python"] == sys.version.split()[0]
    assert "numpy" in found
