"""Names from data on pages and cards: nothing in them turns the writing around, and their direction ends with them."""

import re

import numpy as np
import pandas as pd
import pytest

from bigtopic.corpus.documents import Document
from bigtopic.corpus.readers import open_source
from bigtopic.ingestion.job import read_corpus
from bigtopic.questions.compare import TopicTree
from bigtopic.questions.documents import DocumentTopics
from bigtopic.questions.table import Table
from bigtopic.report import Summary, Topic, html_page

HOSTILE = "a\u202egnp.exe\u200f\x1b[31m\x85\u2028\u2066b"
ESCAPED = r"a\u202egnp.exe\u200f\x1b[31m\x85\u2028\u2066b"
HEBREW = "נהר"


def summary(name):
    topic = Topic(0, [(name, 0.5), ("b", 0.25)], 1.0, {name: 0.5}, [(name, 1.0)], [(name, 0.9)], label=name)
    return Summary([topic], 2, 1, 3.0)


def document(name):
    fields = {"id": name, "row": 0, "counts": {name: 1.0}, "text": f"{name}\nnext", "columns": {}}
    given = {field: fields.get(field) for field in Document._fields}
    table = pd.DataFrame({"label": [name], "share": [1.0]})
    return DocumentTopics(Document(**given), table, table)


SHOWN = {
    "page": lambda name: html_page(
        summary(name), title=name, subtitle=name, figures={name: name}, author_noun=name
    ),
    "summary": lambda name: summary(name)._repr_html_(),
    "table": lambda name: Table({name: [name], "list": [[name, "b"]]})._repr_html_(),
    "document": lambda name: document(name)._repr_html_(),
    "tree": lambda name: TopicTree([name, "b"], np.array([[0.0, 1.0, 0.5, 2.0]]))._repr_html_(),
    "corpus": lambda name: read_corpus(open_source([{"text": "a word", name: 1}]))._repr_html_(),
}


@pytest.mark.parametrize("face", SHOWN)
def test_what_turns_the_writing_around_is_shown_as_on_a_terminal(face):
    html = SHOWN[face](HOSTILE)
    assert not set("\u202e\u200f\x1b\x85\u2028\u2066") & set(html)
    assert ESCAPED in html


def test_half_a_character_can_be_written():
    assert rb"a\ud800" in html_page(summary("a\ud800")).encode()


ISOLATED = re.compile("<bdi>[^<]*</bdi>|&#x2068;[^&]*&#x2069;")
WHOLE = re.compile("<(dt|dd|title)>[^<]*</")  # nothing else is in these


@pytest.mark.parametrize("face", SHOWN)
def test_the_direction_of_a_name_ends_with_it(face):
    html = re.sub(
        "<script.*?</script>", "", SHOWN[face](HEBREW), flags=re.DOTALL
    )  # data, which scripts isolate
    others = WHOLE.sub("", ISOLATED.sub("", html)).replace(f"and {HEBREW}", "")  # the noun is at an end
    assert HEBREW in html and HEBREW not in others


def test_the_text_of_a_document_keeps_its_lines():
    assert "</bdi><br><bdi>next</bdi></pre>" in document("a")._repr_html_()
