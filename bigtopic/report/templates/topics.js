"use strict";
// The page of topics: a map, the words and documents of a topic, and search, linked with one another.
// `source` answers questions about topics, words and documents (see page.js and explorer.js); everything is shown as
// text, never as markup.

const byId = (id) => document.getElementById(id);

// Text from data: control characters, and those that change the direction of writing, as escapes.
function printable(text, keep = "") {
  return String(text).replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Cn}\u2028\u2029]/gu, (c) =>
    keep.includes(c) || KEPT.includes(c) ? c : `\\u${c.codePointAt(0).toString(16).padStart(4, "0")}`);
}
const KEPT = "\u200c\u200d";  // joiners, which words have

function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

const isolated = (text) => element("bdi", {}, printable(text));
const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;
const number = (value) => value.toLocaleString("en");

// A choice: a button, pressed while it is chosen.
function choice(text, chosen, choose, attributes = {}) {
  const own = { type: "button", "aria-pressed": String(chosen), "data-key": String(text), onclick: choose };
  return element("button", { ...own, ...attributes }, isolated(text));
}

function bar(value, most, label) {
  return element("meter", { min: 0, max: most || 1, value, "aria-label": label, title: label });
}

// What a source does not answer, with the reason to show.
class Refused extends Error {}

class Explorer {
  constructor(source, topics) {
    this.source = source;
    this.show(topics);
    this.state = { topic: null, word: null, document: null };
    this.relevance = Number(byId("relevance").value);
    this.map = new TopicMap(byId("map"), byId("map-says"), (topic) => this.choose({ topic }));
    this.time = new TimeChart(byId("time-chart"));
    this.found = null;  // topics that were searched for
    this.map.draw(this.topics);
    this.listen();
    this.follow();
  }

  show(topics) {
    this.topics = topics;
    this.of = new Map(topics.map((topic) => [topic.topic, topic]));
  }

  name(k) {
    const topic = this.of.get(k);
    return topic ? topic.label || topic.words.slice(0, 3).map(([word]) => word).join(" ") : "";
  }

  listen() {
    byId("relevance").addEventListener("input", (event) => {
      this.relevance = Number(event.target.value);
      byId("relevance-value").textContent = this.relevance.toFixed(1);
      this.showWords();
    });
    byId("search").addEventListener("input", later(() => this.search()));
    byId("sort").addEventListener("change", () => this.order());
    byId("previous").addEventListener("click", () => this.step(-1));
    byId("next").addEventListener("click", () => this.step(1));
    byId("clear").addEventListener("click", () => this.choose({ word: null, document: null }));
    byId("reset-map")?.addEventListener("click", () => this.map.reset());
    const failed = (error) => this.failed(error);
    byId("group-column")?.addEventListener("change", () => this.showGroups().catch(failed));
    byId("freq")?.addEventListener("change", () => this.showTime().catch(failed));
    window.addEventListener("popstate", () => this.follow());
    this.order();
  }

  // The topics in the order that was chosen; lists and the buttons follow it.
  order() {
    const by = byId("sort").value;
    const value = by === "number" ? (topic) => -topic.topic : (topic) => (by === "share" ? topic.size : topic.scores[by][1]) ?? -Infinity;
    this.ordered = [...this.topics].sort((a, b) => value(b) - value(a) || a.topic - b.topic);
    this.source.ordered?.(this.ordered.map((topic) => topic.topic));
    this.list();
  }

  // Shows the topics that were found, or all.
  list() {}

  // Says what went wrong, or nothing.
  say(text = "") {
    byId("says").textContent = printable(text);
    byId("says").hidden = !text;
  }

  step(by) {
    const at = this.ordered.findIndex((topic) => topic.topic === this.state.topic);
    const n = this.ordered.length;
    this.choose({ topic: this.ordered[(at + by + n) % n].topic });
  }

  // What the address says: #topic=5&word=fish or #topic=5&document=17, by its row
  follow() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const topic = asked.has("topic") ? Number(asked.get("topic")) : this.ordered[0].topic;
    const known = this.of.has(topic);
    this.choose({
      topic: known ? topic : this.ordered[0].topic,
      word: asked.get("word"),
      document: asked.get("document"),
    }, false);
    if (!known) this.say(`There is no topic ${asked.get("topic")}.`);
  }

  choose(changes, remember = true) {
    if (changes.word) changes.document = null;
    if (changes.document) changes.word = null;
    Object.assign(this.state, changes);
    if (remember) {
      const asked = Object.entries(this.state).filter(([, value]) => value !== null);
      try {
        history.pushState(null, "", `#${new URLSearchParams(asked)}`);
      } catch { /* a frame that may not */ }
    }
    this.say();
    this.render().then(() => remember && reveal(changes.document ? byId("document") : changes.word ? byId("word") : null))
      .catch((error) => this.failed(error));
  }

  failed(error) {
    this.say(error.message);
    if (!(error instanceof Refused)) console.error(error);
    for (const busy of document.querySelectorAll("[aria-busy=true]")) busy.setAttribute("aria-busy", "false");
  }

  async render() {
    const focus = focused();
    const { topic, word, document: id } = this.state;
    const chosen = this.of.get(topic);
    const title = [isolated(this.name(topic))];
    if (chosen.unused) title.push(element("span", { class: "badge" }, "unused"));
    byId("topic-number").textContent = `Topic ${topic}`;
    byId("topic-name").replaceChildren(...title);
    const facts = chosen.scores.filter(([, value]) => value !== null)
      .map(([name, value]) => `${printable(name)} ${value.toFixed(3)}`);
    if (chosen.share !== null) facts.unshift(`${percent(chosen.share)} ${this.source.of}`);
    byId("topic-facts").textContent = facts.join(" · ");
    byId("clear").hidden = !word && !id;
    this.map.choose(topic);
    byId("panel").setAttribute("aria-busy", "true");
    const asked = this.asked = {};  // an answer that is late is not shown
    const [about, documents, found] = await Promise.all([
      this.source.topic(topic),
      this.source.documents(topic),
      id ? this.source.document(id) : word ? this.source.word(word) : null,
    ]);
    if (asked !== this.asked) return;
    if (id && !found) this.say("This document is not here.");
    this.about = about;
    this.showWords();
    this.showSimilar();
    this.showAuthors();
    this.showDocuments(documents);
    this.showDocument(id ? found : null);
    this.showWord(word ? found : null);
    this.map.paint(found ? new Map(found.topics) : null);
    await Promise.all([this.showTime(), this.showGroups()]);
    if (asked === this.asked) byId("panel").setAttribute("aria-busy", "false");
    for (const card of document.querySelectorAll("[data-topic]")) {
      card.classList.toggle("chosen", Number(card.dataset.topic) === topic);
    }
    focus();
  }

  // Words by relevance: lambda log p + (1 - lambda) log lift.
  showWords() {
    const weight = this.relevance;
    const score = ([, p, lift]) => weight * Math.log(p) + (1 - weight) * Math.log(lift ?? 1);
    const words = [...this.about.words].sort((a, b) => score(b) - score(a)).slice(0, 30);
    const most = Math.max(...words.map(([, p]) => p));
    byId("words").replaceChildren(...words.map(([word, p, lift]) => element("li", {},
      choice(word, word === this.state.word, () => this.choose({ word: word === this.state.word ? null : word })),
      bar(p, most, `${percent(p, 2)} of the topic`),
      lift === null ? null : element("small", { title: `${lift.toFixed(1)} times as frequent here as in all topics` },
        `× ${lift < 10 ? lift.toFixed(1) : Math.round(lift)}`))));
  }

  showSimilar() {
    byId("similar").replaceChildren(...(this.about.similar ?? []).map(([k, score]) => element("li", {},
      choice(`${k} ${this.name(k)}`, false, () => this.choose({ topic: k })), element("small", {}, score.toFixed(2)))));
  }

  showAuthors() {
    const authors = this.about.authors ?? [];
    byId("authors-part").hidden = !authors.length;
    byId("authors").replaceChildren(...authors.map(([name, share]) =>
      element("li", {}, isolated(name), element("small", {}, percent(share, 0)))));
  }

  showDocuments(documents) {
    byId("documents-none").hidden = documents.length > 0;
    byId("documents").replaceChildren(...documents.map((found) => this.documentRow(found, percent(found.share, 0))));
  }

  // `also`: what else is chosen with the document.
  documentRow(found, figure, also = {}) {
    const row = found.row === null ? null : String(found.row);
    const chosen = row !== null && row === this.state.document;
    const name = choice(found.id, chosen, () => this.choose(chosen ? { document: null } : { document: row, ...also }), { "data-key": row });
    return element("li", {}, row === null ? isolated(found.id) : name,
      element("small", {}, figure),
      found.excerpt ? element("p", { class: "excerpt" }, isolated(found.excerpt)) : null);
  }

  showDocument(found) {
    byId("document").hidden = !found;
    if (!found) return;
    byId("document-id").replaceChildren(isolated(found.id));
    const facts = Object.entries(found.columns ?? {}).map(([name, value]) =>
      element("div", {}, element("dt", {}, isolated(name)), element("dd", {}, isolated(value ?? "–"))));
    byId("document-columns").replaceChildren(...facts);
    const shares = found.topics.slice(0, 7);
    const colour = new Map(shares.map(([k], i) => [k, `tint-${i}`]));
    byId("document-topics").replaceChildren(...shares.map(([k, share], i) => element("li", {},
      element("span", { class: `key tint-${i}` }, String(k)),
      choice(this.name(k), k === this.state.topic, () => this.choose({ topic: k })),
      bar(share, 1, `${percent(share, 0)} of the document`), element("small", {}, percent(share, 0)))));
    byId("document-text").replaceChildren(...(found.pieces ?? []).map(([text, k]) => {
      const shown = printable(text, "\n\t");
      return colour.has(k) ? element("span", { class: colour.get(k), title: `topic ${k}` }, shown) : shown;
    }));
    byId("document-no-text").hidden = Boolean(found.pieces);
  }

  showWord(found) {
    byId("word").hidden = !found;
    if (!found) return;
    byId("word-name").replaceChildren(isolated(found.word));
    byId("word-topics").replaceChildren(...found.topics.map(([k, p]) => element("li", {},
      choice(`${k} ${this.name(k)}`, k === this.state.topic, () => this.choose({ topic: k })),
      bar(p, 1, `${percent(p, 0)} of the word's tokens`), element("small", {}, percent(p, 0)))));
  }

  async showTime() {
    const found = await this.source.time(this.state.topic, byId("freq")?.value);
    byId("time").hidden = !found;
    if (!found) return;
    if (byId("freq")) byId("freq").value = found.freq;  // that the server chose
    this.time.draw(found);
  }

  async showGroups() {
    const found = await this.source.groups(this.state.topic, byId("group-column")?.value);
    byId("groups").hidden = !found;
    if (!found) return;
    const most = Math.max(...found.share);
    const [shown, all, without] = [found.groups.length, found.n_groups ?? null, found.n_without ?? 0];
    const said = [all > shown ? `The ${shown} of ${number(all)} groups with most documents.` : "",
      without ? `Without a value: ${number(without)} documents.` : ""];
    byId("groups-say").textContent = said.filter(Boolean).join(" ");
    byId("group-shares").replaceChildren(...found.groups.map((group, i) => element("li", {},
      element("span", {}, isolated(group)),
      bar(found.share[i], most, `${percent(found.share[i])} ± ${percent(found.error[i] ?? 0)}, ${number(found.n[i])} documents`),
      element("small", {}, percent(found.share[i])))));
  }

  search() {
    this.searched().catch((error) => this.failed(error));
  }

  async searched() {
    const asked = byId("search").value.trim();
    byId("found").hidden = !asked;
    this.found = null;
    if (!asked) return this.list();
    byId("found").setAttribute("aria-busy", "true");
    const [words, { documents, n, words_left_out: leftOut }] = await Promise.all([this.source.words(asked), this.source.search(asked)]);
    if (asked !== byId("search").value.trim()) return;
    const topics = this.ordered.filter((topic) => has(`${topic.topic} ${topic.label ?? ""} ${topic.words.map(([word]) => word).join(" ")}`, asked));
    byId("found-words").replaceChildren(...words.map((found) => element("li", {},
      choice(found.word, found.word === this.state.word, () => this.choose({ word: found.word, topic: found.topics[0]?.[0] ?? this.state.topic })),
      element("small", {}, found.topics.slice(0, 3).map(([k, p]) => `${k}: ${percent(p, 0)}`).join(" · ")))));
    byId("found-topics").replaceChildren(...topics.slice(0, 20).map((topic) => element("li", {},
      choice(`${topic.topic} ${this.name(topic.topic)}`, topic.topic === this.state.topic, () => this.choose({ topic: topic.topic })))));
    byId("found-documents").replaceChildren(...documents.map((found) =>
      this.documentRow(found, found.topics.map(([k]) => k).join(" · "), { topic: found.topics[0]?.[0] ?? this.state.topic })));
    const all = n === null ? `${documents.length} or more` : number(n);
    byId("found-says").textContent = words.length + topics.length + documents.length
      ? `Words: ${words.length}. Topics: ${topics.length}. Documents: ${all}.` : "Nothing found.";
    if (leftOut) byId("found-says").textContent += ` The last ${number(leftOut)} words were left out.`;
    this.found = new Set(topics.map((topic) => topic.topic));
    this.list();
    byId("found").setAttribute("aria-busy", "false");
  }
}

// Without accents and capitals, for comparison.
const folded = (text) => text.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
const has = (text, asked) => folded(text).includes(folded(asked));

// A function that gives the focus back to the choice that has it, once its list is made anew; or to the topic's name.
function focused() {
  const { key } = document.activeElement?.dataset ?? {};
  const list = document.activeElement?.closest("[id]")?.id;
  return () => {
    if (key === undefined || document.activeElement !== document.body) return;
    const again = document.querySelector(`#${list} [data-key="${CSS.escape(key)}"]`);
    (again ?? byId("heading")).focus({ preventScroll: true });
  };
}

function reveal(place) {
  if (!place || place.hidden) return;
  const { top } = place.getBoundingClientRect();
  if (top < 0 || top > innerHeight - 120) place.scrollIntoView({ block: "start" });
}

// Calls wait until nobody has typed for a moment.
function later(call, milliseconds = 150) {
  let timer = null;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(call, milliseconds);
  };
}

const colours = () => {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ink", "soft", "line", "deep", "card"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
};

// Charts are drawn again in the colours of the other scheme, or of paper.
function onTheme(draw) {
  for (const media of ["(prefers-color-scheme: dark)", "print"]) matchMedia(media).addEventListener("change", draw);
}

const MOST_NUMBERS = 80;  // that can be read beside one another
const MOST_CIRCLES = 2000;  // the largest
const TOUCH = "* { touch-action: pan-y pinch-zoom !important; }";

// Topics as circles whose area is their share; a word or document that is chosen colours those it belongs to.
class TopicMap {
  constructor(place, says, choose) {
    [this.place, this.says, this.chosenBy] = [place, says, choose];
    onTheme(() => this.draw(this.topics));
  }

  async draw(all) {
    const topics = this.topics = all.length > MOST_CIRCLES ? [...all].sort((a, b) => b.size - a.size).slice(0, MOST_CIRCLES) : all;
    if (!this.place || topics.some((topic) => topic.x === null)) return;
    const { ink, deep } = this.colours = colours();
    const span = (axis) => Math.max(...topics.map((topic) => topic[axis])) - Math.min(...topics.map((topic) => topic[axis]));
    const unit = Math.max(span("x"), span("y")) || 1;
    const shares = topics.map((topic) => topic.size);
    const named = new Set([...topics].sort((a, b) => b.size - a.size).slice(0, MOST_NUMBERS));
    const total = shares.reduce((sum, share) => sum + share, 0) || 1;
    const data = {
      x: topics.map((topic) => topic.x),
      y: topics.map((topic) => topic.y),
      radius: shares.map((share) => Math.max(0.008, Math.sqrt(0.22 * share / total / Math.PI)) * unit),
      name: topics.map((topic) => named.has(topic) ? String(topic.topic) : ""),
      alpha: topics.map(() => 0.25),
      width: topics.map(() => 1),
      ink: topics.map(() => ink),
    };
    this.data = new Bokeh.ColumnDataSource({ data });
    const figure = Bokeh.Plotting.figure({
      height: 420, sizing_mode: "stretch_width", match_aspect: true, toolbar_location: null, tools: [],
      background_fill_color: null, border_fill_color: null, outline_line_color: null, min_border: 0,
    });
    figure.axis.visible = false;
    figure.grid.visible = false;
    const of = { source: this.data };
    const circles = figure.circle({
      x: { field: "x" }, y: { field: "y" }, radius: { field: "radius" }, fill_color: deep, line_color: deep,
      fill_alpha: { field: "alpha" }, line_width: { field: "width" }, nonselection_fill_alpha: { field: "alpha" },
      nonselection_line_alpha: 1, hover_fill_color: deep, hover_line_color: ink, ...of,
    });
    figure.text({
      x: { field: "x" }, y: { field: "y" }, text: { field: "name" }, text_align: "center", text_baseline: "middle",
      text_font_size: topics.length > 60 ? "9px" : "11px", text_color: { field: "ink" }, ...of,
    });
    const hover = new Bokeh.HoverTool({ renderers: [circles], tooltips: null });
    figure.add_tools(new Bokeh.TapTool({ renderers: [circles] }), hover);
    if (!matchMedia("(pointer: coarse)").matches) {  // a finger scrolls the page
      figure.add_tools(new Bokeh.PanTool(), new Bokeh.WheelZoomTool({ modifiers: { ctrl: true } }));
    }
    figure.stylesheets = [TOUCH];
    this.data.selected.properties.indices.change.connect(() => {
      const [chosen] = this.data.selected.indices;
      if (chosen !== undefined && topics[chosen].topic !== this.chosen) this.chosenBy(topics[chosen].topic);
    });
    this.data.inspect.connect(() => {
      const [over] = this.data.inspected.indices;
      this.say(over === undefined ? null : topics[over]);
    });
    this.place.replaceChildren();
    await Bokeh.Plotting.show(figure, this.place);
    this.figure = figure;
    this.update();
  }

  say(topic) {
    this.says.replaceChildren(...(topic ? [`Topic ${topic.topic}: `, isolated(topic.label || topic.words.slice(0, 5).map(([word]) => word).join(" "))] : ["\u00a0"]));
  }

  choose(topic) {
    this.chosen = topic;
    this.update();
  }

  // weights: {topic: 0 .. 1}, or null for none
  paint(weights) {
    this.weights = weights;
    this.update();
  }

  reset() {
    this.figure?.reset.emit();
  }

  update() {
    if (!this.data) return;
    const most = this.weights ? Math.max(...this.weights.values(), 1e-9) : 1;
    const alpha = this.topics.map(({ topic, unused }) =>
      this.weights ? 0.04 + 0.9 * (this.weights.get(topic) ?? 0) / most : unused ? 0.06 : 0.25);
    this.data.data = {
      ...this.data.data,
      alpha,
      ink: alpha.map((own) => own > 0.5 ? this.colours.card : this.colours.ink),
      width: this.topics.map(({ topic }) => topic === this.chosen ? 4 : 1),
    };
    this.data.selected.indices = [];
  }
}

const YEARS = { decade: 10, year: 1, quarter: 1 / 4, month: 1 / 12, week: 7 / 365, day: 1 / 365 };

// The share of a topic in each period, with a band of two standard errors.
class TimeChart {
  constructor(place) {
    this.place = place;
    onTheme(() => this.found && this.draw(this.found, true));
  }

  async draw(found, again = false) {
    const data = { x: [], share: [], low: [], high: [] };
    const add = (...values) => Object.values(data).forEach((column, i) => column.push(values[i]));
    found.share.forEach((share, i) => {
      const [year, error] = [found.years[i], 2 * (found.error[i] ?? 0)];
      if (i && year - found.years[i - 1] > 1.5 * YEARS[found.freq]) add(year, NaN, NaN, NaN);  // a gap
      add(year, share, Math.max(0, share - error), share + error);
    });
    byId("time-says").textContent = timeInWords(found);
    this.found = found;
    if (typeof Bokeh === "undefined") return;
    if (this.data && !again) {
      this.data.data = data;
      return;
    }
    const { soft, line, deep } = colours();
    this.data = new Bokeh.ColumnDataSource({ data });
    const figure = Bokeh.Plotting.figure({
      height: 170, sizing_mode: "stretch_width", toolbar_location: null, tools: [], background_fill_color: null,
      border_fill_color: null, outline_line_color: null, min_border_left: 42,
    });
    figure.y_range.start = 0;
    const of = { source: this.data, x: { field: "x" } };
    figure.varea({ ...of, y1: { field: "low" }, y2: { field: "high" }, fill_color: deep, fill_alpha: 0.2 });
    figure.line({ ...of, y: { field: "share" }, line_color: deep, line_width: 2 });
    figure.scatter({ ...of, y: { field: "share" }, fill_color: deep, line_color: deep, size: 4 });
    for (const axis of [figure.xaxis, figure.yaxis]) {
      axis.axis_line_color = axis.major_tick_line_color = line;
      axis.minor_tick_line_color = null;
      axis.major_label_text_color = soft;
    }
    figure.yaxis.formatter = new Bokeh.NumeralTickFormatter({ format: "0.[0]%" });
    figure.xaxis.formatter = new Bokeh.BasicTickFormatter({ use_scientific: false });
    figure.xgrid.grid_line_color = null;
    figure.ygrid.grid_line_color = line;
    this.place.replaceChildren();
    await Bokeh.Plotting.show(figure, this.place);
  }
}

function timeInWords(found) {
  const most = found.share.indexOf(Math.max(...found.share));
  const n = found.periods.length;
  return `${printable(found.periods[0])} to ${printable(found.periods[n - 1])}; most in ${printable(found.periods[most])}: mean share ${percent(found.share[most])}, ${number(found.n[most])} documents.`;
}
