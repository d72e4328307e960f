"use strict";
// The explorer: answers come from the server that sent this page, and edits go to it.

async function ask(path, query = {}) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") parameters.append(name, one);
  }
  return answer(await fetch(`api/${path}?${parameters}`));
}

async function tell(path, body) {
  const headers = { "Content-Type": "application/json", "X-Bigtopic": "1" };
  return answer(await fetch(`api/${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answer(response) {
  const found = await response.json();
  byId("edit-says").textContent = response.ok ? "" : printable(found.error ?? response.statusText);
  if (!response.ok) throw new Error(found.error);
  return found;
}

const filters = () => {
  const [column, value] = [byId("filter-column").value, byId("filter-value").value.trim()];
  return column && value ? [`${column}=${value}`] : [];
};

const answers = {
  topic: (k) => ask(`topic/${k}`),
  documents: (k) => ask(`topic/${k}/documents`, { n: 20, where: filters() }),
  document: (id) => ask("document", { id }),
  word: async (word) => (await ask("words", { q: word, n: 50 })).find((found) => found.word === word) ?? { word, topics: [] },
  words: (asked) => ask("words", { q: asked, n: 12 }),
  search: (asked) => ask("documents", { q: asked, n: 20, where: filters() }),
  time: (k, freq) => ask(`topic/${k}/time`, { freq }),
  groups: (k, column) => (column ? ask(`topic/${k}/groups`, { column }) : null),
};

const topicsOf = (model) => model.topics.map((topic) => ({
  ...topic, label: topic.named ? topic.label : "", words: topic.words.map((word) => [word]), scores: [],
}));

class Application extends Explorer {
  listen() {
    super.listen();
    byId("rename").addEventListener("click", () => this.edit("rename", { topic: this.state.topic, label: byId("label").value }));
    byId("merge").addEventListener("click", () => this.merge(Number(byId("other").value)));
    byId("undo").addEventListener("click", () => this.edit("undo", {}));
    byId("save").addEventListener("click", async () => {
      const { saved } = await tell("save", {});
      byId("edit-says").textContent = `Saved to ${printable(saved)}.`;
    });
    byId("filter-column").addEventListener("change", () => this.suggest());
    for (const id of ["filter-column", "filter-value"]) {
      byId(id).addEventListener("change", () => {
        this.render();
        this.search();
      });
    }
  }

  suggest() {
    const column = this.model.columns.find(({ name }) => name === byId("filter-column").value);
    byId("filter-values").replaceChildren(...(column?.values ?? []).map((value) => element("option", { value: String(value) })));
  }

  async merge(other) {
    const topic = Math.min(this.state.topic, other);
    await this.edit("merge", { topics: [this.state.topic, other] }, topic);
  }

  async edit(path, body, topic = this.state.topic) {
    await tell(path, body);
    this.describe(await ask("model"));
    this.show(topicsOf(this.model));
    this.order();
    await this.map.draw(this.topics);
    this.choose({ topic: this.of.has(topic) ? topic : this.ordered[0].topic });
  }

  describe(model) {
    this.model = model;
    byId("undo").disabled = !model.can_undo;
  }

  async render() {
    const chosen = this.of.get(this.state.topic);
    byId("label").value = chosen.label;
    byId("other").replaceChildren(...this.ordered.filter((topic) => topic !== chosen).map((topic) =>
      element("option", { value: topic.topic }, `${topic.topic} ${printable(this.name(topic.topic))}`)));
    await super.render();
  }

  // A card for each topic that was found.
  list(found = null) {
    const shown = this.ordered.filter((topic) => found === null || found.has(topic.topic)).slice(0, MOST_CARDS);
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

async function start() {
  const model = await ask("model");
  document.title = byId("title").textContent = printable(model.title);
  byId("figures").replaceChildren(...Object.entries(model.figures).map(([name, value]) =>
    element("div", {}, element("dt", {}, isolated(name)), element("dd", {}, isolated(value)))));
  const names = (columns) => columns.map(({ name }) => element("option", { value: name }, printable(name)));
  byId("group-column").replaceChildren(...names(model.columns.filter(({ values }) => values !== null)));
  byId("filter-column").append(...names(model.columns));
  byId("freq").replaceChildren(...(model.freqs ?? []).map((freq) => element("option", {}, freq)));
  byId("freq").value = "";
  const application = new Application(answers, topicsOf(model));
  application.describe(model);
  window.explorer = application;
}

start();
