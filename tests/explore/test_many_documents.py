"""The page and the explorer of 60,000 documents and 200 topics in a real browser."""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.report import summarise, write_html

pytestmark = pytest.mark.slow

N_DOCS, N_TOPICS, N_WORDS = 60_000, 200, 8
HERE = {"client": False, "progress": False}


def words_of(subject: int) -> list[str]:
    return [f"own{subject}x{j}" for j in range(N_WORDS)]


def drawn() -> Iterator[dict[str, str]]:
    """Each document is about one subject, and half of them are of the year of their subject."""
    rng = np.random.default_rng(0)
    for i in range(N_DOCS):
        subject = i % N_TOPICS
        year = 2000 + (subject % 10 if rng.random() < 0.5 else int(rng.integers(0, 10)))
        words = [f"own{subject}x{j}" for j in rng.integers(0, N_WORDS, 24)]
        words += [f"common{j}" for j in rng.integers(0, 500, 6)]
        yield {
            "id": f"{subject}-{i}", "text": " ".join(words).capitalize() + ".",
            "date": f"{year}-{i % 12 + 1:02}-{i % 28 + 1:02}", "section": f"section {subject % 40}",
        }  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return bt.ingest(
        drawn(), tmp_path_factory.mktemp("many") / "corpus.zarr", keep_text=True, max_df=1.0, **HERE
    )


@pytest.fixture(scope="module")
def model(corpus):
    prior = bt.seed_prior([words_of(k) for k in range(N_TOPICS)], corpus, N_TOPICS, base=0.01, weight=200)
    own = {"method": "online-cvb0", "max_iter": 3, "topic_word_prior": prior, "random_state": 0}
    return bt.LDA(N_TOPICS, **own, **HERE).fit(corpus)


@pytest.fixture(scope="module")
def page(model, corpus, tmp_path_factory):
    summary = summarise(model, corpus, time="date", by=["section"])
    return write_html(summary, tmp_path_factory.mktemp("many") / "page.html").as_uri()


@pytest.fixture(scope="module")
def exploration(model, corpus, tmp_path_factory):
    with model.explore(corpus, index=tmp_path_factory.mktemp("many") / "index") as found:
        yield found


def settle(found):
    """Wait until everything that was asked for is shown."""
    found.page.wait_for_load_state("networkidle")
    found.page.wait_for_selector("[aria-busy=true]", state="detached")


def search(found, text):
    found.page.get_by_label("Search words, topics and documents").fill(text)
    found.page.wait_for_timeout(300)  # typing has ended
    settle(found)


def says_of_the_subject(found, subject):
    """What the panel shows of a topic is about the subject."""
    orders = []
    for relevance in ("0", "1"):
        found.page.locator("#relevance").fill(relevance)
        orders.append(found.texts("#words button"))
        assert {*orders[-1][:N_WORDS]} == {*words_of(subject)}
    assert orders[0] != orders[1]
    assert found.texts("#documents button")
    assert all(name.startswith(f"{subject}-") for name in found.texts("#documents button"))
    if found.page.locator("#freq").count():
        found.page.locator("#freq").select_option("year")
        settle(found)
    assert f"most in {2000 + subject % 10}" in found.texts("#time-says")[0]
    rows = zip(found.texts("#group-shares li > span"), found.texts("#group-shares li > small"), strict=True)
    shares = {name: float(share.removesuffix(" %")) for name, share in rows}
    assert max(shares, key=shares.__getitem__) == f"section {subject % 40}"


def everything(found):
    """Topics, words, documents and what is searched for."""
    settle(found)
    search(found, "own7x1")
    found.page.locator("#found-words button", has_text="own7x1").first.click()
    settle(found)
    says_of_the_subject(found, 7)
    assert found.page.locator("#word-topics li").count() >= 1
    topic = found.texts("#topic-number")
    search(found, "")
    found.page.get_by_role("button", name="Next").click()
    settle(found)
    assert found.texts("#topic-number") != topic
    found.page.get_by_role("button", name=topic[0], exact=True).click()
    settle(found)
    assert found.texts("#topic-number") == topic
    found.page.locator("#documents button").first.click()
    found.page.wait_for_selector("#document", state="visible")
    settle(found)
    assert found.texts("#document-text")[0].lower().startswith("own7x")
    assert found.page.locator("#document-text span").first.get_attribute("title") == topic[0].lower()
    assert found.texts("#document-columns dd")[1] == "section 7"
    number = found.texts("#document-id")[0]
    search(found, number)
    assert found.texts("#found-documents button")[0] == number


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page(tab, page, scheme):
    begun = perf_counter()
    found = tab(page, color_scheme=scheme)
    found.page.wait_for_selector("#map > *")
    shown = perf_counter() - begun
    everything(found)
    print(f"page, {scheme}: shown after {shown:.1f} s, all answers after {perf_counter() - begun:.1f} s")
    assert found.violations() == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_explorer(tab, exploration, scheme):
    begun = perf_counter()
    found = tab(exploration.url, own=exploration.url.split("?")[0], color_scheme=scheme)
    found.page.wait_for_selector("#map > *")
    shown = perf_counter() - begun
    everything(found)
    search(found, "")
    found.page.locator("#label").fill("The seventh")
    found.page.get_by_role("button", name="Rename").click()
    found.page.locator("#topic-name", has_text="The seventh").wait_for()
    settle(found)
    search(found, "seventh")
    assert found.texts("#found-topics button")[0].endswith(" The seventh")
    found.page.get_by_role("button", name="Undo").click()
    found.page.locator("#topic-name", has_text="The seventh").wait_for(state="detached")
    found.page.locator("#filter-column").select_option("date")
    found.page.locator("#filter-value").fill("2003-04")
    found.page.locator("#filter-value").dispatch_event("change")
    search(found, "own7x1")
    found.page.locator("#found-documents button").first.click()
    settle(found)
    assert found.texts("#document-columns dd")[0].startswith("2003-04-")
    print(f"explorer, {scheme}: shown after {shown:.1f} s, all answers after {perf_counter() - begun:.1f} s")
    assert found.violations() == []
