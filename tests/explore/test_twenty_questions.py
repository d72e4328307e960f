"""Twenty questions about documents of planted subjects, answered by clicks and typing alone: ten on the page, ten in
the explorer. What it takes is printed with `-s`."""

import re

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.report import summarise, write_html

SUBJECTS = {
    "rivers": "river delta flood stream ford ferry weir canal bank water",
    "lakes": "lake shore reed trout pier rowing swan ferry bank water",
    "music": "violin choir opera sonata cello chord fugue tenor organ hymn",
    "bodies": "liver kidney lung nerve muscle organ tissue blood bone skin",
    "bread": "flour yeast dough oven crust loaf knead bake rye salt",
}
PEAKS = {"rivers": 2003, "lakes": 2005, "music": 2008, "bodies": 2010, "bread": 2013}
AUTHORS = {"rivers": "Ida", "lakes": "Ida", "music": "Otto", "bodies": "Bela", "bread": "Olga"}
SECTIONS = {"rivers": "nature", "lakes": "nature", "music": "arts", "bodies": "science", "bread": "food"}
N = {"rivers": 60, "lakes": 50, "music": 90, "bodies": 40, "bread": 70}


def planted():
    rng = np.random.default_rng(4)
    for subject, words in SUBJECTS.items():
        for i in range(N[subject]):
            year = PEAKS[subject] if rng.random() < 0.4 else int(rng.integers(2000, 2015))
            text = " ".join(map(str, rng.choice(words.split(), 40)))
            if subject == "bread" and i == 7:
                text += " cellophane" * 2
            yield {
                "id": f"{subject}-{i}", "text": text, "authors": [AUTHORS[subject]], "section": SECTIONS[subject],
                "date": f"{year}-{i % 12 + 1:02}-11",
            }  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("planted") / "corpus.zarr"
    settings = {"keep_text": True, "max_df": 1.0, "min_df": 1, "author_column": "authors"}
    return bt.ingest(planted(), path, client=False, progress=False, **settings)


@pytest.fixture(scope="module")
def model(corpus):
    here = {"client": False, "n_threads": 1, "progress": False, "random_state": 1}
    seeds = [words.split()[:4] for words in SUBJECTS.values()]
    prior = bt.seed_prior(seeds, corpus, 5, base=0.1, weight=20)
    return bt.LDA(5, method="cgs", max_iter=50, doc_topic_prior=0.1, topic_word_prior=prior, **here).fit(
        corpus
    )


class Reader:
    """A reader of the page: counts clicks; what is typed counts as one."""

    def __init__(self, tab):
        self.page, self.texts, self.clicks = tab.page, tab.texts, 0

    def click(self, selector, text=None):
        """The first element that has exactly this text."""
        self.clicks += 1
        found = self.page.locator(selector)
        found = found.filter(has_text=re.compile(f"^{re.escape(text)}$")) if text is not None else found
        found.first.click()
        self.settle()

    def type(self, selector, text):
        self.clicks += 1
        self.page.locator(selector).fill(text)
        self.page.locator(selector).dispatch_event("change")
        self.page.wait_for_timeout(300)  # typing has ended
        self.settle()

    def choose(self, selector, value):
        self.clicks += 1
        self.page.locator(selector).select_option(value)
        self.page.wait_for_timeout(100)
        self.settle()

    def settle(self):
        """Wait until everything that was asked for is shown."""
        self.page.wait_for_load_state("networkidle")
        self.page.wait_for_selector("[aria-busy=true]", state="detached")

    def word(self, word):
        """Search a word, and choose it: shows its leading topic."""
        self.type("#search", word)
        self.click("#found-words button", word)

    def one(self, selector):
        return self.texts(selector)[0]

    def answer(self, question, found, expected):
        print(f"{self.clicks:>2} clicks: {question} {found}")
        assert found == expected, question
        self.clicks = 0


def about(topic_words):
    """The subject with most of these words."""
    return max(SUBJECTS, key=lambda name: len({*SUBJECTS[name].split()} & {*topic_words}))


def test_ten_questions_on_the_page(corpus, model, tab, tmp_path):
    summary = summarise(model, corpus, time="date", by=["section"], n_threads=1)
    reader = Reader(tab(write_html(summary, tmp_path / "page.html").as_uri()))
    reader.word("yeast")
    reader.answer("Which topic is about yeast?", about(reader.texts("#words button")[:10]), "bread")
    share = float(reader.one("#topic-facts").split(" %")[0])
    reader.answer("How large is it?", abs(share - 100 * N["bread"] / sum(N.values())) < 2, True)
    reader.answer("When did it peak?", re.search(r"most in (\d+)", reader.one("#time-says"))[1], "2013")
    reader.answer("Which section has most of it?", largest(reader, "#group-shares"), "food")
    reader.answer("Who writes about it?", reader.one("#authors li").split("\n")[0], "Olga")
    reader.answer(
        "Which documents?", {name.split("-")[0] for name in reader.texts("#documents button")}, {"bread"}
    )
    reader.word("weir")
    reader.answer("Which topic is nearest to that of weirs?", words_of(reader, "#similar button"), "lakes")
    reader.type("#search", "organ")
    reader.click("#found-words button", "organ")
    topics = reader.texts("#word-topics button")[:2]
    reader.answer(
        "Which topics is an organ in?", {about(topic.split()) for topic in topics}, {"music", "bodies"}
    )
    reader.word("canal")
    reader.type("#relevance", "0")
    particular = {*reader.texts("#words button")[:7]}
    reader.answer("Which words are in no other topic?", bool(particular & {"ferry", "bank", "water"}), False)
    document = reader.texts("#documents button")[0]
    reader.click("#documents button", document)
    text = next(record["text"] for record in planted() if record["id"] == document)
    reader.answer("What does its first document say?", reader.one("#document-text"), text)


def test_ten_questions_in_the_explorer(corpus, model, tab, tmp_path):
    with model.explore(corpus, index=tmp_path / "index") as exploration:
        address = exploration.url.split("?")[0]
        opened = tab(exploration.url, own=address)
        opened.page.wait_for_selector("#cards article")
        reader = Reader(opened)
        reader.type("#search", "cellophane")
        reader.answer("Which document has cellophane?", reader.texts("#found-documents button"), ["bread-7"])
        reader.click("#found-documents button", "bread-7")
        reader.answer("What else is it about?", about(reader.texts("#words button")[:10]), "bread")
        (date,) = (record["date"] for record in planted() if record["id"] == "bread-7")
        reader.answer("Of which day is it?", columns(reader)["date"], date)
        reader.type("#search", "sonata")
        documents = sum("sonata" in record["text"] for record in planted())
        reader.answer("How many documents have a sonata?", found_documents(reader), documents)
        reader.choose("#filter-column", "section")
        reader.type("#filter-value", "science")
        reader.answer("And in science?", found_documents(reader), 0)
        reader.type("#filter-value", "")
        reader.word("lung")
        reader.choose("#freq", "year")
        reader.answer(
            "When did bodies peak?", re.search(r"most in (\d+)", reader.one("#time-says"))[1], "2010"
        )
        reader.choose("#group-column", "section")
        reader.answer("In which section are they?", largest(reader, "#group-shares"), "science")
        reader.type("#label", "Anatomy")
        reader.click("#rename")
        opened.page.locator("#topic-name", has_text="Anatomy").wait_for()
        opened.page.locator("#cards", has_text="Anatomy").wait_for()
        reader.answer("What is the topic called now?", "Anatomy" in reader.one("#cards"), True)
        before = model.n_components
        reader.word("lake")
        share = float(reader.one("#topic-facts").split(" %")[0])
        lakes = int(reader.one("#topic-number").split()[1])
        reader.word("river")
        rivers = int(reader.one("#topic-number").split()[1])
        share += float(reader.one("#topic-facts").split(" %")[0])
        reader.choose("#other", str(lakes))
        reader.click("#merge")
        opened.page.locator("#other option").nth(before - 1).wait_for(state="detached")
        assert reader.one("#topic-number") == f"Topic {min(rivers, lakes)}"
        merged = float(reader.one("#topic-facts").split(" %")[0])
        reader.answer("How large are rivers and lakes together?", abs(merged - share) < 0.21, True)
        reader.click("#undo")
        opened.page.locator("#other option").nth(before - 1).wait_for(state="attached")
        reader.answer("And without the merger?", len(opened.page.query_selector_all("#other option")), before)


def found_documents(reader):
    return int(re.search(r"Documents: (\d+)", reader.one("#found-says"))[1])


def largest(reader, selector):
    names, shares = reader.texts(f"{selector} li > span"), reader.texts(f"{selector} li > small")
    return names[int(np.argmax([float(share.split()[0]) for share in shares]))]


def words_of(reader, selector):
    return about(reader.one(selector).split())


def columns(reader):
    return dict(zip(reader.texts("#document-columns dt"), reader.texts("#document-columns dd"), strict=True))
