"""Draw the data flow, one direction, into docs/images/data-flow.svg.

python docs/draw_flow.py
"""

from __future__ import annotations

from html import escape
from pathlib import Path

WIDTH, HEIGHT = 980, 500
INK, LINE, WORK, DATA, STORE = "#1f2933", "#7b8794", "#dbeafe", "#fef3c7", "#ede9fe"
BOXES = {  # name: (x, y, width, title, note, fill)
    "source": (20, 60, 150, "source", "files, URLs, matrices, …", DATA),
    "reader": (210, 60, 150, "reader.parse", "one task per chunk", WORK),
    "merge": (400, 60, 170, "tally, sort, merge", "final word ids, hash order", WORK),
    "corpus": (620, 60, 330, "Corpus", "Zarr parts + one manifest, committed last", STORE),
    "slice": (20, 210, 150, "read a slice", "of a part: Block", WORK),
    "docs": (210, 210, 150, "compact", "Docs: ids of the slice", WORK),
    "view": (400, 210, 170, "gather rows", "View: only these words", WORK),
    "kernel": (620, 210, 150, "kernel", "numba, nogil: Stats", WORK),
    "reduce": (820, 210, 130, "add", "fixed tree", WORK),
    "params": (400, 330, 170, "Params(t)", "raw × scale + prior", STORE),
    "scheme": (820, 330, 130, "scheme.step", "→ Params(t + 1)", WORK),
    "model": (20, 430, 150, "model store", "Zarr + JSON", STORE),
    "topics": (210, 430, 150, "topics, report", "words, HTML page", DATA),
    "theta": (400, 430, 170, "theta", "transform, transform_to", DATA),
    "scores": (620, 430, 150, "evaluation", "held out, coherence", DATA),
}
HEIGHT_OF_BOX = 48
BANDS = (  # y, height, x of the text, text
    (14, 110, 20, "ingest: once"),
    (164, 228, 120, "learn: many slices at a time, in threads or on Dask workers"),
)
ARROWS = (
    ("source", "reader"),
    ("reader", "merge"),
    ("merge", "corpus"),
    ("slice", "docs"),
    ("docs", "view"),
    ("view", "kernel"),
    ("kernel", "reduce"),
    ("reduce", "scheme"),
    ("scheme", "params"),
    ("params", "view"),
    ("params", "model"),
    ("params", "topics"),
    ("params", "theta"),
    ("params", "scores"),
)


def box(name: str) -> str:
    x, y, width, title, note, fill = BOXES[name]
    middle = x + width / 2
    return (
        f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT_OF_BOX}" rx="6" fill="{fill}" stroke="{LINE}"/>'
        f'<text x="{middle:g}" y="{y + 20}" class="name">{escape(title)}</text>'
        f'<text x="{middle:g}" y="{y + 38}" class="note">{escape(note)}</text>'
    )


def arrow(start: str, stop: str) -> str:
    x1, y1, w1 = BOXES[start][:3]
    x2, y2, w2 = BOXES[stop][:3]
    half = HEIGHT_OF_BOX / 2
    if y1 == y2 and x1 < x2:
        a, b = (x1 + w1, y1 + half), (x2 - 6, y2 + half)
    elif y1 == y2:
        a, b = (x1, y1 + half), (x2 + w2 + 6, y2 + half)
    elif y1 < y2:
        a, b = (x1 + w1 / 2, y1 + 2 * half), (x2 + w2 / 2, y2 - 6)
    else:
        a, b = (x1 + w1 / 2, y1), (x2 + w2 / 2, y2 + 2 * half + 6)
    return f'<path d="M{a[0]:g} {a[1]:g} L{b[0]:g} {b[1]:g}" stroke="{LINE}" marker-end="url(#head)"/>'


def svg() -> str:
    corpus_to_slice = f'<path d="M785 108 L785 148 L95 148 L95 204" stroke="{LINE}" marker-end="url(#head)"/>'
    bands = [
        f'<rect x="8" y="{y}" width="{WIDTH - 16}" height="{height}" rx="8" fill="#f5f7fa"/>'
        f'<text x="{x}" y="{y + 24}" class="title">{escape(text)}</text>'
        for y, height, x, text in BANDS
    ]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" fill="none">'
        f"<style>text{{fill:{INK};text-anchor:middle}}.name{{font-size:14px;font-weight:600}}"
        f".note{{font-size:12px}}.title{{font-size:14px;font-weight:600;text-anchor:start}}</style>"
        f'<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    )
    arrows = [corpus_to_slice, *(arrow(*ends) for ends in ARROWS)]
    return "\n".join([head, *bands, *arrows, *map(box, BOXES), "</svg>", ""])


if __name__ == "__main__":
    path = Path(__file__).parent / "images" / "data-flow.svg"
    path.write_text(svg(), encoding="utf-8")
    print(path)
