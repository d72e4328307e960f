"use strict";
// The explorer: answers come from the server that sent this page, and edits go to it.

async function ask(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") parameters.append(name, one);
  }
  return answer(`api/${path}?${parameters}`);
}

async function tell(path, body) {
  const headers = { "Content-Type": "application/json", "X-Bigtopic": "1" };
  return answer(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body) });
}

async function answer(...request) {
  const response = await fetch(...request).catch(() => {
    throw new Refused("The server does not answer; start it again.");
  });
  const found = await response.json();
  if (!response.ok) throw new Refused(found.error ?? response.statusText);
  if (response.headers.get("X-Bigtopic-Complete") === "no") found.partial = true;
  return found;
}

// What is typed for documents without a value; a value that is like it, or has spaces around it, goes in quotation marks.
const NO_VALUE = "(no value)";
const typed = (value) => (value === NO_VALUE || value !== value.trim() ? `"${value}"` : value);

const filters = () => {
  const [column, value] = [byId("filter-column").value, byId("filter-value").value.trim()];
  return column && value ? [`${column}=${value === NO_VALUE ? "" : value}`] : [];
};

const answers = {
  of: "of the documents, on average",
  topic: (k) => ask(`topic/${k}`),
  documents: (k) => ask(`topic/${k}/documents`, { n: 20, where: filters() }),
  document: (row) => ask("document", { row }),
  word: async (word) => (await ask("words", { q: word, n: 50 })).find((found) => found.word === word) ?? { word, topics: [] },
  words: (asked) => ask("words", { q: asked, n: 12 }),
  search: (asked) => ask("documents", { q: asked, n: 20, where: filters() }),
  time: (k, freq) => ask(`topic/${k}/time`, { freq }),
  groups: (k, column) => (column ? ask(`topic/${k}/groups`, { column }) : null),
};

const topicsOf = (model) => model.topics.map((topic) => ({
  ...topic, size: topic.share, label: topic.named ? topic.label : "", words: topic.words.map((word) => [word]), scores: [],
}));

class Application extends Explorer {
  listen() {
    super.listen();
    byId("rename").addEventListener("click", () => this.edit("rename", { topic: this.state.topic, label: byId("label").value }));
    byId("merge").addEventListener("click", () => byId("other").value && this.merge(Number(byId("other").value)));
    byId("undo").addEventListener("click", () => this.edit("undo", {}));
    byId("label").addEventListener("keydown", (event) => event.key === "Enter" && byId("rename").click());
    byId("save").addEventListener("click", () => this.save().catch((error) => this.failed(error)));
    byId("filter-column").addEventListener("change", () => this.suggest());
    for (const id of ["filter-column", "filter-value"]) {
      byId(id).addEventListener("change", () => {
        this.render().catch((error) => this.failed(error));
        this.search();
      });
    }
  }

  suggest() {
    const column = this.model.columns.find(({ name }) => name === byId("filter-column").value);
    const values = (column?.values ?? []).map((value) => typed(String(value)));
    byId("filter-values").replaceChildren(...(column ? [...values, NO_VALUE] : []).map((value) => element("option", { value })));
  }

  merge(other) {
    this.edit("merge", { topics: [this.state.topic, other] }, Math.min(this.state.topic, other));
  }

  // An edit of what this window shows: the server refuses it if another window has changed the topics since.
  edit(path, body, topic = this.state.topic) {
    tell(path, { ...body, revision: this.model.revision })
      .then(() => this.refresh(topic)).catch((error) => this.failed(error));
  }

  async save() {
    const path = byId("path").value.trim();
    const { saved } = await tell("save", { ...(path && { path }), revision: this.model.revision });
    byId("edit-says").textContent = `Saved to ${printable(saved)}.`;
  }

  async refresh(topic = this.state.topic) {
    this.describe(await ask("model"));
    this.show(topicsOf(this.model));
    this.order();
    this.edited = null;  // its name and the others are shown anew
    await this.map.draw(this.topics);
    this.choose({ topic: this.of.has(topic) ? topic : this.ordered[0].topic }, false);
  }

  // Figures, and what can be undone; figures of merged topics are asked for again until the server has them.
  describe(model) {
    this.model = model;
    byId("undo").disabled = !model.can_undo;
    showFigures(model);
    if (model.indexing !== null) setTimeout(() => this.refresh().catch((error) => this.failed(error)), 1500);
  }

  async render() {
    if (this.edited !== this.state.topic) {
      const chosen = this.of.get(this.state.topic);
      this.edited = this.state.topic;
      byId("label").value = chosen.label;
      byId("other").replaceChildren(element("option", { value: "" }, "choose a topic"),
        ...this.ordered.slice(0, MOST_OTHERS).filter((topic) => topic !== chosen).map((topic) =>
          element("option", { value: topic.topic }, `${topic.topic} ${printable(this.name(topic.topic))}`)));
    }
    await super.render();
  }

  showDocuments(documents) {
    super.showDocuments(documents);
    byId("documents-part").hidden = !documents.partial;
  }

  // A card for each topic that was found.
  list() {
    const shown = this.ordered.filter(({ topic }) => this.found?.has(topic) ?? true).slice(0, MOST_CARDS);
    byId("cards").replaceChildren(...shown.map((topic) => element("article", { "data-topic": topic.topic },
      element("header", {},
        element("button", { type: "button", class: "tool", onclick: () => this.choose({ topic: topic.topic }) }, `Topic ${topic.topic}`),
        element("span", {}, `${percent(topic.share)}${topic.unused ? " · unused" : ""}`)),
      topic.label ? element("h3", {}, isolated(topic.label)) : null,
      element("p", { class: "facts" }, isolated(topic.words.map(([word]) => word).join(" "))))));
    byId("cards-says").textContent = shown.length < this.ordered.length ? `${shown.length} of ${this.ordered.length} topics` : "";
  }
}

const MOST_CARDS = 200;
const MOST_OTHERS = 2000;  // topics to merge with, first in the order that was chosen

function showFigures(model) {
  byId("figures").replaceChildren(...Object.entries(model.figures).map(([name, value]) =>
    element("div", {}, element("dt", {}, isolated(name)), element("dd", {}, isolated(value)))));
}

async function start() {
  const model = await ask("model");
  document.title = byId("title").textContent = printable(model.title);
  const names = (columns) => columns.map(({ name }) => element("option", { value: name }, printable(name)));
  byId("group-column").replaceChildren(...names(model.columns.filter(({ values }) => values !== null)
    .sort((a, b) => a.values.length - b.values.length)));
  byId("filter-column").append(...names(model.columns.filter(({ kind }) => kind !== "authors")));
  byId("freq").replaceChildren(...(model.freqs ?? []).map((freq) => element("option", {}, freq)));
  byId("freq").value = "";
  const application = new Application(answers, topicsOf(model));
  application.describe(model);
}

start();
