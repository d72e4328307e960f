"""The page in a real browser: what is chosen in one place is followed by the others, and nothing in a corpus runs."""

import json
import re

import numpy as np
import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicWarning
from bigtopic.report import html_page, summarise, write_html

RIVERS = ["water", "river", "bank", "delta", "flood", "stream", "ford", "ferry", "weir", "canal"]
MUSIC = ["violin", "choir", "opera", "sonata", "cello", "chord", "fugue", "tenor", "organ", "hymn"]
BREAD = ["flour", "yeast", "dough", "oven", "crust", "loaf", "knead", "bake", "rye", "salt"]
SUBJECTS = {"rivers": RIVERS, "music": MUSIC, "bread": BREAD}
PAYLOAD = '<img src=x onerror="document.title=1"></script><script>document.title=2</script>'
TURNED = "a\u202egnp.exe"


def records():
    """Three subjects: rivers in the first years, music in all, bread in the last."""
    rng = np.random.default_rng(0)
    for i in range(240):
        year = 2000 + i % 12
        subject = ["rivers" if year < 2005 else "bread", "music"][i % 2]
        words = [str(word) for word in rng.choice(SUBJECTS[subject], 30)]
        yield {
            "id": f"{subject}-{i}", "text": " ".join(words).capitalize() + ".", "date": f"{year}-05-{i % 28 + 1:02}",
            "section": subject,
        }  # fmt: skip


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "corpus.zarr"
    return bt.ingest(records(), path, keep_text=True, max_df=1.0, client=False, progress=False)


@pytest.fixture(scope="module")
def model(corpus):
    own = {"client": False, "n_threads": 1, "progress": False, "random_state": 0}
    return bt.LDA(3, method="online-cvb0", max_iter=30, **own).fit(corpus)


@pytest.fixture(scope="module")
def address(corpus, model, tmp_path_factory):
    model.set_topic_labels({topic_of(model, "violin"): "Music"})
    summary = summarise(model, corpus, time="date", by=["section"], n_threads=1)
    return write_html(summary, tmp_path_factory.mktemp("page") / "page.html", title="Three subjects").as_uri()


def topic_of(model, word):
    return int(model.find_topics(word, 1)["topic"][0])


def test_a_topic_that_is_chosen_shows_its_words_documents_years_and_groups(tab, address, model, corpus):
    page = tab(address)
    k = topic_of(model, "flour")
    page.page.get_by_role("button", name=f"Topic {k}", exact=True).click()
    assert page.texts("#topic-number") == [f"Topic {k}"]
    assert set(page.texts("#words button")[:10]) == set(BREAD)
    assert all(name.startswith("bread-") for name in page.texts("#documents button"))
    assert page.texts("#time-says")[0].startswith("2000 to 2011; most in 20")
    assert int(page.texts("#time-says")[0].split("most in ")[1][:4]) >= 2005
    table = model.topics_over("section", corpus, topics=k)
    assert page.texts("#group-shares li > span") == list(table["section"])
    shares = [float(text.removesuffix(" %")) for text in page.texts("#group-shares li > small")]
    assert shares == pytest.approx(100 * np.array(table["share"]), abs=0.06)  # a decimal of four digits


@pytest.mark.slow
def test_the_buttons_go_through_the_topics_in_their_order(tab, address):
    page = tab(address)
    order = [page.texts("#topic-number")[0]]
    for _ in range(3):
        page.page.get_by_role("button", name="Next").click()
        order.append(page.texts("#topic-number")[0])
    assert order[0] == order[3] and len(set(order)) == 3
    assert order[:3] == page.texts("#cards article header button")
    page.page.get_by_label("Sort topics by").select_option("number")
    assert page.texts("#cards article header button") == ["Topic 0", "Topic 1", "Topic 2"]


def test_a_word_that_is_chosen_shows_its_topics_and_colours_the_map(tab, address, model):
    page = tab(address)
    page.page.get_by_label("Search words, topics and documents").fill("viol")
    page.page.locator("#found-words button", has_text="violin").click()
    k = topic_of(model, "violin")
    assert page.texts("#topic-number") == [f"Topic {k}"] and page.texts("#topic-name") == ["Music"]
    assert page.texts("#word-topics button")[0] == f"{k} Music"
    assert page.page.locator("#words button[aria-pressed=true]").inner_text() == "violin"
    alpha = page.page.evaluate("page.map.data.data.alpha")
    assert int(np.argmax(alpha)) == page.page.evaluate(
        f"page.topics.findIndex((topic) => topic.topic === {k})"
    )
    assert max(alpha) > 0.9 and sorted(alpha)[1] < 0.2
    page.page.get_by_role("button", name="Clear").click()
    assert not page.page.locator("#word").is_visible()


def test_a_document_that_is_chosen_shows_its_text_in_the_colours_of_its_topics(tab, address, model):
    page = tab(address)
    page.page.get_by_label("Search words, topics and documents").fill("rivers-")
    first = page.page.locator("#found-documents button").first
    name = first.inner_text()
    first.click()
    assert page.texts("#document-id") == [name]
    text = next(record["text"] for record in records() if record["id"] == name)
    assert page.texts("#document-text") == [text]
    k = topic_of(model, "river")
    assert page.page.locator("#document-text span").first.get_attribute("title") == f"topic {k}"
    assert page.texts("#document-topics .key")[0] == str(k)
    columns = dict(zip(page.texts("#document-columns dt"), page.texts("#document-columns dd"), strict=True))
    assert columns["section"] == "rivers" and columns["date"].startswith("200")
    assert f"document={name.split('-')[1]}" in page.page.url  # its row
    assert tab(page.page.url).texts("#document-id") == [name]  # a permanent link


def relevances(model, k, weight):
    """weight log p(w | k) + (1 - weight) log(p(w | k) / p(w)) of each word."""
    topics = model.get_topics().astype(np.float64)
    shares = model.topic_info()["share"].to_numpy()
    scores = weight * np.log(topics[k]) + (1 - weight) * np.log(topics[k] / (shares @ topics))
    return dict(zip(model.vocabulary_[:], scores, strict=True))


@pytest.mark.slow
def test_relevance_orders_the_words_as_its_formula_says(tab, address, model):
    page = tab(address)
    k = int(page.texts("#topic-number")[0].split()[1])
    for weight in (0.0, 0.4, 1.0):
        page.page.locator("#relevance").fill(str(weight))
        best = relevances(model, k, weight)
        shown = [best[word] for word in page.texts("#words button")[:8]]
        assert shown == pytest.approx(sorted(best.values(), reverse=True)[:8], abs=2e-3)  # of four digits


def test_the_map_is_chosen_from_with_the_mouse_and_says_what_is_under_it(tab, address, model):
    page = tab(address)
    canvas = page.page.locator("#map")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    chosen, places = set(), np.random.default_rng(0).uniform(0.03, 0.97, (300, 2))
    for x, y in places:
        page.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])
        chosen.add(page.texts("#topic-number")[0])
        if len(chosen) == 3:
            break
    assert chosen == {"Topic 0", "Topic 1", "Topic 2"}


@pytest.mark.costly
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_is_accessible_and_fits(tab, address, scheme, width):
    page = tab(address, color_scheme=scheme, viewport={"width": width, "height": 900})
    page.page.get_by_label("Search words, topics and documents").fill("r")
    page.page.locator("#found-documents button").first.click()
    assert page.violations() == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_the_keyboard_reaches_everything(tab, address):
    wanted = {
        "sort",
        "relevance",
        "reset-map",
        "previous",
        "next",
        "words",
        "documents",
        "group-column",
        "group-shares",
    }
    page = tab(address)
    page.page.locator("#search").focus()
    reached = set()
    for _ in range(400):
        page.page.keyboard.press("Tab")
        reached.add(page.page.evaluate("document.activeElement.closest('[id]')?.id ?? ''"))
        if wanted <= reached:
            break
    assert wanted <= reached


def nasty(tmp_path):
    texts = [{"id": f"{PAYLOAD}{i}", "text": f"{TURNED} {PAYLOAD} choir", PAYLOAD: TURNED} for i in range(20)]
    own = {"client": False, "progress": False}
    with pytest.warns(BigtopicWarning, match="holds HTML"):
        corpus = bt.ingest(
            texts, tmp_path / "nasty.zarr", keep_text=True, max_df=1.0, min_df=1, tokenizer=str.split, **own
        )
    model = bt.LDA(2, method="online-cvb0", max_iter=2, n_threads=1, **own).fit(corpus)
    return model.set_topic_labels({0: PAYLOAD, 1: TURNED}), corpus


def test_nothing_in_words_ids_labels_columns_or_texts_runs(tab, tmp_path):
    model, corpus = nasty(tmp_path)
    summary = summarise(model, corpus, by=[PAYLOAD], n_threads=1)
    path = write_html(summary, tmp_path / "page.html", title=PAYLOAD, subtitle=TURNED)
    text = path.read_text(encoding="utf-8")
    assert "\u202e" not in text and PAYLOAD not in text
    page = tab(path.as_uri())
    page.page.get_by_label("Search words, topics and documents").fill("img")
    page.page.locator("#found-documents button").first.click()
    page.page.get_by_role("button", name="Next").click()
    assert page.page.title() == PAYLOAD
    shown = page.page.locator("body").inner_text()
    assert "\u202e" not in shown and r"\u202egnp" in shown and PAYLOAD in shown
    assert page.page.locator("img").count() == 0


def test_the_policy_allows_the_scripts_of_the_page_alone():
    page = html_page(summarise(np.eye(3) + 0.1))
    policy = re.search('Content-Security-Policy" content="([^"]*)"', page)[1]
    assert "default-src 'none'" in policy and policy.count("sha256-") == page.count("<script>") == 3
    assert "unsafe-eval" not in policy and "unsafe-inline" not in policy.split("style-src")[0]


def test_the_data_are_what_the_summary_says(model, corpus):
    summary = summarise(model, corpus, n_threads=1)
    page = html_page(summary)
    data = json.loads(
        re.search('<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)[1]
    )
    table, topics = model.topic_map(), model.get_topics().astype(np.float64)
    shares = np.zeros(3)
    for topic in summary.topics:
        shares[topic.number] = topic.share
    word = model.vocabulary_.index_of(["choir"])[0]
    of_word = shares * topics[:, word] / (shares @ topics[:, word])  # p(k | w), with the shares of the corpus
    for own in data["topics"]:
        k = own["topic"]
        assert (own["x"], own["y"]) == pytest.approx((table["x"][k], table["y"][k]), rel=1e-3, abs=1e-3)
        lift = {word: lift for word, _, lift in own["words"]}["choir"]
        assert lift == pytest.approx(of_word[k] / shares[k], rel=1e-3)
        assert lift <= 1 / shares[k] * 1.001
    index = dict(zip(data["index"]["words"], data["index"]["topics"], strict=True))
    assert index["choir"][:2] == pytest.approx([of_word.argmax(), of_word.max()], rel=1e-3)


@pytest.mark.slow
def test_documents_with_one_id_are_told_apart(tab, tmp_path):
    texts = [["choir organ hymn", "flour yeast dough"][i % 2] for i in range(30)]
    records = [{"id": "same", "text": text} for text in texts]
    own = {"client": False, "progress": False}
    corpus = bt.ingest(records, tmp_path / "c.zarr", keep_text=True, max_df=1.0, min_df=1, **own)
    model = bt.LDA(2, method="online-cvb0", max_iter=20, n_threads=1, random_state=0, **own).fit(corpus)
    path = write_html(summarise(model, corpus, n_threads=1), tmp_path / "page.html")
    page = tab(path.as_uri())
    for k in (0, 1):
        page.page.get_by_role("button", name=f"Topic {k}", exact=True).click()
        page.page.locator("#documents button").first.click()
        word = model.show_topic(k, 1)[0][0]
        assert word in page.texts("#document-text")[0]
        assert page.page.locator("#documents button[aria-pressed=true]").count() == 1
        page.page.get_by_role("button", name="Clear").click()


@pytest.mark.slow
def test_back_goes_back_and_the_focus_stays(tab, address):
    page = tab(address)
    page.page.locator("#words button").nth(2).focus()
    page.page.keyboard.press("Enter")
    page.page.wait_for_selector("#word", state="visible")
    assert page.page.evaluate("document.activeElement.closest('[id]').id") == "words"
    first = page.texts("#topic-number")
    page.page.get_by_role("button", name="Next").click()
    assert page.texts("#topic-number") != first
    page.page.go_back()
    assert page.texts("#topic-number") == first and page.page.locator("#word").is_visible()
    page.page.go_back()
    assert not page.page.locator("#word").is_visible()


def test_what_is_not_there_is_said(tab, address):
    for asked in ("topic=99", "document=constructor", "document=123456"):
        page = tab(f"{address}#{asked}")
        page.page.wait_for_selector("#says", state="visible")
        assert page.page.locator("#panel").get_attribute("aria-busy") == "false"


@pytest.mark.slow
def test_paper_has_all_topics_with_their_names(tab, address):
    page = tab(address, color_scheme="dark")
    page.page.get_by_label("Search words, topics and documents").fill("Music")
    page.page.wait_for_selector("article[hidden]", state="attached")
    page.page.emulate_media(media="print")
    assert page.page.locator("article").count() == 3
    for card in page.page.locator("article").all():
        assert card.is_visible() and card.get_by_role("button").is_visible()


@pytest.mark.slow
def test_a_document_on_a_telephone_is_shown_where_the_reader_looks(tab, address):
    page = tab(address, viewport={"width": 400, "height": 800}, has_touch=True)
    page.page.locator("#documents button").first.tap()
    page.page.wait_for_selector("#document", state="visible")
    page.page.wait_for_timeout(200)
    top = page.page.locator("#document").bounding_box()["y"]
    assert 0 <= top < 700


@pytest.mark.slow
def test_two_hundred_topics_are_less_than_five_megabytes(tmp_path):
    rng = np.random.default_rng(0)
    words = [f"{'abcdefghij'[i % 10]}word{i}" for i in range(60_000)]
    topics = rng.dirichlet(np.full(60_000, 0.01), 200)
    assert write_html(summarise(topics, vocabulary=words), tmp_path / "page.html").stat().st_size < 5e6
