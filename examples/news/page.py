"""A page of what changed, from what `bigtopic train --follow --json` has printed: one file, without any network.

    python page.py live.zarr windows.jsonl news.html

Each line of the file is a window, here a day. Every text is escaped, because words come from documents.
"""

import json
import sys
from html import escape
from pathlib import Path

import bigtopic as bt

WIDTH, HEIGHT, EDGE = 900.0, 190.0, 44.0
COLOURS = (
    "#2f6690",
    "#d1793b",
    "#5a9367",
    "#a4476b",
    "#7d6bb0",
    "#b79a2e",
    "#3f9aa0",
    "#8a6f5c",
    "#6a7f8f",
    "#c25b56",
)
STYLE = """
:root { --ground: #faf9f6; --card: #fff; --ink: #1f2328; --soft: #5f656d; --line: #e4e2dc; --deep: #2f6690; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #16181b; --card: #1e2125; --ink: #e6e4df; --soft: #9aa0a8; --line: #30343a; --deep: #7fb2d8; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink); }
body { font: 15px/1.45 system-ui, "Segoe UI", Arial, sans-serif; }
main { max-width: 1000px; margin: 0 auto; padding: 2.6rem 1.5rem 4rem; }
h1 { font: 600 2rem/1.15 Georgia, serif; margin: 0; }
h2 { font-size: 1.05rem; margin: 2.4rem 0 0.2rem; }
p { color: var(--soft); margin: 0 0 0.7rem; max-width: 46rem; }
svg { display: block; width: 100%; height: auto; }
svg text { font: 12px system-ui, "Segoe UI", Arial, sans-serif; fill: var(--soft); }
svg .grid { stroke: var(--line); }
svg .score { fill: none; stroke: var(--deep); stroke-width: 2; }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; font-size: 0.8rem; font-weight: 600; color: var(--soft); padding: 0 0.8rem 0.3rem 0; }
td { border-top: 1px solid var(--line); padding: 0.4rem 0.8rem 0.4rem 0; vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.line { width: 190px; }
td.day { white-space: nowrap; }
.swatch { display: inline-block; width: 0.7rem; height: 0.7rem; border-radius: 2px; margin-right: 0.4rem; }
.event { display: inline-block; border: 1px solid var(--line); border-radius: 9px; font-size: 0.85rem; }
.event { padding: 0 0.5rem; margin: 0 0.3rem 0.2rem 0; }
.event b { font-weight: 600; }
.soft { color: var(--soft); }
"""


def names_of(windows):
    """The windows' names: their dates, or their numbers where a date has several."""
    dates = [window["time"][:10] for window in windows]
    return dates if len({*dates}) == len(dates) else [f"day {i}" for i, _ in enumerate(windows, 1)]


def across(i, n):
    return EDGE + i * (WIDTH - 2 * EDGE) / max(1, n - 1)


def dates_below(names):
    step = -(-len(names) // 10)
    shown = [(i, name) for i, name in enumerate(names) if i % step == 0]
    return "".join(
        f'<text x="{across(i, len(names)):.1f}" y="{HEIGHT - 4}" text-anchor="middle">{escape(name)}</text>'
        for i, name in shown
    )


def svg(inside, title):
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)}">{inside}</svg>'


def score_curve(windows, names):
    """The score of each day before it was learned from, with a dot on days on which topics changed."""
    points = [(i, w["score"], w["changed"]) for i, w in enumerate(windows) if w["score"] is not None]
    if not points:
        return "<p>The first day has no score: nothing was learned before it.</p>"
    low, high = min(s for _, s, _ in points), max(s for _, s, _ in points)
    span = (high - low) or 1.0

    def place(i, score):
        return across(i, len(windows)), 20 + (high - score) / span * (HEIGHT - 60)

    grid = ""
    for score in (high, low):
        y = place(0, score)[1]
        grid += f'<line class="grid" x1="{EDGE}" x2="{WIDTH - EDGE}" y1="{y:.1f}" y2="{y:.1f}"/>'
        grid += f'<text x="{WIDTH - EDGE + 9}" y="{y + 4:.1f}">{score:.2f}</text>'
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(i, score) for i, score, _ in points))
    dots = ""
    for i, score, changed in points:
        (x, y), said = place(i, score), "; ".join(f"{name(one)} {what(one)}" for one in changed)
        fill = "var(--deep)" if changed else "var(--ground)"
        title = f"{names[i]}: {score:.3f} nats per word{'; ' if said else ''}{said}"
        dots += (
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="{fill}" stroke="var(--deep)" stroke-width="2">'
        )
        dots += f"<title>{escape(title)}</title></circle>"
    return svg(
        f'{grid}<polyline class="score" points="{path}"/>{dots}{dates_below(names)}', "score of each day"
    )


def share_areas(windows, names, words):
    """Shares of all topics, one above the other."""
    shares, floor, areas = [w["shares"] for w in windows], [0.0] * len(windows), ""
    top, room = 6.0, HEIGHT - 30

    def point(i, value):
        return f"{across(i, len(shares)):.1f},{top + (1 - value) * room:.1f}"

    for topic, of in enumerate(words):
        above = [low + own[topic] for low, own in zip(floor, shares, strict=True)]
        outline = [point(i, v) for i, v in enumerate(above)] + [point(i, v) for i, v in enumerate(floor)][
            ::-1
        ]
        areas += f'<polygon points="{" ".join(outline)}" fill="{COLOURS[topic % len(COLOURS)]}" fill-opacity="0.85" '
        areas += f'stroke="var(--ground)"><title>{escape(f"topic {topic}: {of}")}</title></polygon>'
        floor = above
    return svg(areas + dates_below(names), "shares of the topics")


def line_of(shares, most, colour):
    """A small curve of a topic's share, from 0 to the largest share of any topic."""
    n = max(1, len(shares) - 1)
    points = " ".join(f"{2 + i * 176 / n:.1f},{32 - share / most * 30:.1f}" for i, share in enumerate(shares))
    return (
        f'<svg viewBox="0 0 180 34" aria-hidden="true"><line class="grid" x1="2" x2="178" y1="32" y2="32"/>'
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/></svg>'
    )


def name(one):
    return f"{one['topic']} {' '.join(one['words'][:2])}"


def what(one):
    return ", ".join(one["what"]) + ("" if one["with"] is None else f" with {one['with']}")


def event(text, one):
    """A change, with the words that came and went where the words of the topic changed."""
    said = [f"{way}: {', '.join(one[way])}" for way in ("came", "gone") if one[way]]
    return f'<span class="event" title="{escape("; ".join(said))}"><b>{escape(text)}</b> {escape(what(one))}</span>'


def topics_table(windows, names, words):
    shares = [w["shares"] for w in windows]
    most = max(max(own) for own in shares)
    rows = ""
    for topic in sorted(range(len(words)), key=lambda k: -shares[-1][k]):
        colour = COLOURS[topic % len(COLOURS)]
        curve = line_of([own[topic] for own in shares], most, colour)
        events = [
            event(names[i], one)
            for i, w in enumerate(windows)
            for one in w["changed"]
            if one["topic"] == topic
        ]
        rows += (
            f'<tr><td class="number"><span class="swatch" style="background: {colour}"></span>{topic}</td>'
            f'<td>{escape(words[topic])}</td><td class="line">{curve}</td>'
            f'<td class="number">{shares[-1][topic]:.1%}</td><td>{"".join(events[-6:])}</td></tr>'
        )
    head = '<th class="number">topic</th><th>words now</th><th>share</th><th class="number">now</th><th>changes</th>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def days_table(windows, names):
    rows = ""
    for own, w in list(zip(names, windows, strict=True))[::-1]:
        new = ", ".join(one["word"] for one in w["new_words"][:8])
        score = "" if w["score"] is None else f"{w['score']:.3f}"
        none = "nothing was before it" if w is windows[0] else "nothing beyond chance"
        events = "".join(event(name(one), one) for one in w["changed"])
        events = events or f'<span class="soft">{none}</span>'
        rows += (
            f'<tr><td class="day">{escape(own)}</td><td class="number">{w["documents"]:,}</td>'
            f'<td class="number">{score}</td>'
            f"<td>{events}</td><td>{escape(new)}</td></tr>"
        )
    head = '<th>day</th><th class="number">documents</th><th class="number">score</th><th>topics</th><th>new words</th>'
    return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def page(windows, words):
    names, last = names_of(windows), windows[-1]
    until = last["time"].replace("T", " ")
    documents = sum(w["documents"] for w in windows)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>What changed in the news</title><style>{STYLE}</style></head><body><main>
<h1>What changed in the news</h1>
<p>{len(windows)} days, {documents:,} documents, {last["vocabulary"]:,} words, up to {escape(until)}.</p>
<h2>How well the topics of the day before predict each day</h2>
<p>Score in nats per word, before the day was learned from; higher is better. Words that the model did
not know are left out. A filled dot is a day on which topics changed: point at it.</p>
{score_curve(windows, names)}
<h2>What each day is about</h2>
<p>The share of each topic in the words of the day. Topics keep their numbers and colours.</p>
{share_areas(windows, names, words)}
{topics_table(windows, names, words)}
<h2>Day by day</h2>
<p>Topics that changed since the day before, by more than documents differ by chance, and words that the model did not
know; point at a topic that moved to see its words that came and went.</p>
{days_table(windows, names)}
</main></body></html>
"""


def main(model, log, out):
    lines = Path(log).read_text(encoding="utf-8").splitlines()
    windows = [window for window in map(json.loads, lines) if window["shares"] is not None]
    if not windows:
        raise SystemExit(f"{log} has no windows yet")
    words = [own for _, own in bt.load_model(model).show_topics(6)]
    draft = Path(f"{out}.part")
    draft.write_text(page(windows, words), encoding="utf-8")
    draft.replace(out)  # readers see the page before or this one
    print(f"wrote {out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
