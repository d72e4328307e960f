"""The explorer in a real browser: accessible, closed to the network, and nothing in a corpus runs."""

import pytest

import bigtopic as bt
from bigtopic.errors import BigtopicWarning

PAYLOAD = '<img src=x onerror="document.title=1"></script><script>document.title=2</script>'
TURNED = "a\u202egnp.exe"


@pytest.fixture(scope="module")
def exploration(tmp_path_factory):
    folder = tmp_path_factory.mktemp("explorer")
    records = [
        {
            "id": f"{PAYLOAD}{i}",
            "text": f"{TURNED} {PAYLOAD} choir organ",
            "date": f"200{i % 9}-01-01",
            PAYLOAD: [TURNED, PAYLOAD][i % 2],
        }
        for i in range(40)
    ]
    own = {"client": False, "progress": False}
    with pytest.warns(BigtopicWarning, match="holds HTML"):
        corpus = bt.ingest(
            records, folder / "corpus.zarr", keep_text=True, max_df=1.0, min_df=1, tokenizer=str.split, **own
        )
    model = bt.LDA(3, method="online-cvb0", max_iter=2, n_threads=1, **own).fit(corpus)
    model.set_topic_labels({0: PAYLOAD, 1: TURNED})
    with model.explore(corpus, index=folder / "index", title=PAYLOAD) as found:
        yield found


@pytest.fixture
def opened(exploration, tab):
    def open_(**settings):
        found = tab(exploration.url, own=exploration.url.split("?")[0], **settings)
        found.page.wait_for_selector("#cards article")
        found.page.wait_for_selector("[aria-busy=true]", state="detached")
        return found

    return open_


def test_nothing_in_words_ids_labels_columns_or_texts_runs(opened):
    page = opened()
    assert page.page.title() == PAYLOAD
    page.page.locator("#search").fill("onerror")
    page.page.locator("#found-documents button").first.click()
    page.page.wait_for_selector("#document", state="visible")
    for _ in range(3):
        page.page.get_by_role("button", name="Next").click()
        page.page.wait_for_selector("[aria-busy=true]", state="detached")
    shown = page.page.locator("body").inner_text()
    assert "\u202e" not in shown and r"\u202egnp" in shown and PAYLOAD in shown
    assert page.page.locator("img").count() == 0 and page.page.title() == PAYLOAD


@pytest.mark.costly
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1400])
def test_it_is_accessible_and_fits(opened, scheme, width):
    page = opened(color_scheme=scheme, viewport={"width": width, "height": 900})
    page.page.locator("#search").fill("choir")
    page.page.locator("#found-documents button").first.click()
    page.page.wait_for_selector("#document", state="visible")
    assert page.violations() == []
    assert page.page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_name_is_given_and_taken_back(opened):
    page = opened()
    before = page.texts("#topic-name")
    page.page.locator("#label").fill("x" * 150)
    page.page.get_by_role("button", name="Rename").click()
    page.page.locator("#topic-name", has_text="x" * 150).wait_for()
    page.page.get_by_role("button", name="Undo").click()
    page.page.locator("#topic-name", has_text="x" * 150).wait_for(state="detached")
    assert page.texts("#topic-name") == before


def test_a_permanent_link_leads_to_a_topic_and_a_document(opened, exploration, tab):
    page = opened()
    page.page.locator("#documents button").first.click()
    page.page.wait_for_selector("#document", state="visible")
    shown, address = page.texts("#document-id"), page.page.url
    assert "document=" in address
    page.page.reload()
    page.page.wait_for_selector("#document", state="visible")
    assert page.texts("#document-id") == shown


def test_what_the_server_refuses_is_said_and_the_page_goes_on(opened):
    page = opened()
    page.page.locator("#label").fill("x" * 201)  # the field takes no more than 200
    page.page.evaluate("document.getElementById('label').value = 'x'.repeat(201)")
    page.page.get_by_role("button", name="Rename").click()
    page.page.locator("#says", has_text="201 characters; give at most 200").wait_for()
    page.page.get_by_role("button", name="Next").click()
    page.page.wait_for_selector("#says", state="hidden")
    page.page.wait_for_selector("[aria-busy=true]", state="detached")
    page.faults = [fault for fault in page.faults if "400 (Bad Request)" not in fault]  # the refusal


def test_documents_without_a_value_are_asked_for(tab, tmp_path):
    """Chosen from the list, or typed; a value that is called like them goes in quotation marks."""
    kinds = [None, "(no value)", " a", "1..2"]
    records = [{"id": f"d{i}", "text": "choir organ hymn", "kind": kinds[i % 4]} for i in range(20)]
    own = {"client": False, "progress": False}
    corpus = bt.ingest(records, tmp_path / "corpus.zarr", keep_text=True, max_df=1.0, min_df=1, **own)
    model = bt.LDA(2, method="online-cvb0", max_iter=2, n_threads=1, **own).fit(corpus)
    with model.explore(corpus, index=tmp_path / "index") as exploration:
        found = tab(exploration.url, own=exploration.url.split("?")[0])
        found.page.locator("#filter-column").select_option("kind")
        suggested = found.page.locator("#filter-values option").evaluate_all(
            "all => all.map((one) => one.value)"
        )
        assert sorted(suggested) == sorted(['"(no value)"', '" a"', "1..2", "(no value)"])
        for typed, kind in [('"(no value)"', 1), ('" a"', 2), ("1..2", 3), ("(no value)", 0), ('""', 0)]:
            found.page.locator("#filter-value").fill(typed)
            found.page.locator("#filter-value").dispatch_event("change")
            found.page.locator("#search").fill("choir")
            found.page.wait_for_timeout(300)
            found.page.wait_for_load_state("networkidle")
            found.page.wait_for_selector("[aria-busy=true]", state="detached")
            shown = found.texts("#found-documents button")
            assert sorted(shown) == sorted(f"d{i}" for i in range(kind, 20, 4)), typed
