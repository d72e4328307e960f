"use strict";
// The data of this page, as answers.

const data = JSON.parse(byId("data").textContent);

const answers = {
  topic: (k) => ({ ...topicOf.get(k), similar: data.similar?.[k] ?? [] }),
  of: "of the tokens",
  documents: (k) => topicOf.get(k).documents.map(([row, id, share]) => ({ row, id, share, excerpt: excerpt(row) })),
  document: (row) => (Object.hasOwn(data.documents, row) ? data.documents[row] : null),
  word: (word) => {
    const i = data.index.words.indexOf(word);
    return { word, topics: i < 0 ? [] : pairs(data.index.topics[i]) };
  },
  words: (asked) => {
    const wanted = folded(asked);
    const rank = (word) => (word === wanted ? 0 : word.startsWith(wanted) ? 1 : word.includes(wanted) ? 2 : 3);
    const found = data.index.words.map((word, i) => [rank(folded(word)), i]).filter(([own]) => own < 3);
    found.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return found.slice(0, 12).map(([, i]) => ({ word: data.index.words[i], topics: pairs(data.index.topics[i]) }));
  },
  search: (asked) => {
    const found = Object.entries(data.documents)
      .filter(([, { id, pieces }]) => has(id, asked) || has((pieces ?? []).map(([text]) => text).join(""), asked))
      .map(([row, { id, topics }]) => ({ row, id, excerpt: excerpt(row), topics: topics.slice(0, 3) }));
    return { n: found.length, documents: found.slice(0, 20) };
  },
  time: (k) => (data.time ? { ...of(data.time, k), periods: data.time.groups } : null),
  groups: (k, i) => (data.groups.length ? of(data.groups[i], k) : null),
  // Cards follow the order of the topics.
  ordered: (topics) => byId("cards").append(...topics.map((k) => byId(`topic-${k}`))),
};

const topicOf = new Map(data.topics.map((topic) => [topic.topic, topic]));
const pairs = (flat) => flat.flatMap((k, i) => (i % 2 ? [] : [[k, flat[i + 1]]]));
const of = (table, k) => ({ ...table, share: table.share[k], error: table.error[k] });
const excerpt = (row) => {
  const text = (data.documents[row]?.pieces ?? []).map(([own]) => own).join("").replace(/\s+/g, " ");
  return text.length > 160 ? `${text.slice(0, 160)}…` : text;
};

class Page extends Explorer {
  // Cards of topics that were not found are hidden.
  list() {
    for (const card of document.querySelectorAll("article[data-topic]")) {
      card.hidden = this.found !== null && !this.found.has(Number(card.dataset.topic));
    }
  }
}

const page = new Page(answers, data.topics);
for (const button of document.querySelectorAll("button[data-choose]")) {
  button.addEventListener("click", () => {
    page.choose({ topic: Number(button.dataset.choose) });
    byId("panel").scrollIntoView({ block: "start" });
    byId("heading").focus({ preventScroll: true });
  });
}
