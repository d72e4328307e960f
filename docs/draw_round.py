"""Draw the graph of a round, as `bigtopic.learning.executors.graph_tasks` builds it, into docs/images/round.svg.

    python docs/draw_round.py

Nodes, names and arrows between tasks are read from the Dask graph; only the driver's part (dashed) and the tree of
slices inside one task are added by hand. A test compares the committed picture with the script's output.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
from dask import delayed

from bigtopic.corpus.memory import from_matrix
from bigtopic.learning.executors.graph_tasks import sum_graph
from bigtopic.learning.run import Iteration
from bigtopic.learning.tasks import SliceTask, nodes
from bigtopic.parallel.workers import task_key
from bigtopic.plan.slices import Plan

N_TASKS, N_SLICES = 4, 16  # slices of each task
WIDTH, HEIGHT = 980, 680
BOX = 168, 46
COLUMN, LEFT, TOP = 232, 26, 62
DATA_PLACES = {"run": (LEFT + 150, TOP), "params": (LEFT + 480, TOP)}
SUMS = [(0.5, 206), (2.5, 206), (0.5, 292)]  # column and height of each
INK, LINE, TASK, SUM, DATA = "#1f2933", "#7b8794", "#dbeafe", "#dcfce7", "#fef3c7"


def graph() -> dict[str, set[str]]:
    """Key -> keys it depends on, of a round; sums without the run, of whose content they need nothing."""
    corpus = from_matrix(np.ones((N_TASKS * N_SLICES, 1)))
    plan = Plan([corpus.n_docs], 1, None, 1, shuffled=False)
    slices = next(plan.rounds(0)).slices
    run, params = delayed("run", name="run"), delayed("params", name="params")
    computed = nodes([SliceTask(ref, Iteration(0)) for ref in slices], N_TASKS)
    tasks = dict(sum_graph(run, computed, params, "round").__dask_graph__())
    found = {str(key): set(map(str, task.dependencies)) for key, task in tasks.items()}
    return {key: needs - {"run"} if key.startswith("bt-add") else needs for key, needs in found.items()}


def parts(key: str) -> tuple[str, int]:
    """Kind and number of a task."""
    kind, number, _ = key.rsplit("-", 2)
    return kind, int(number)


def place(key: str) -> tuple[float, float]:
    """Middle of a node."""
    if key in DATA_PLACES:
        return DATA_PLACES[key]
    kind, number = parts(key)
    column, y = (number, 112) if kind == "bt-estep" else SUMS[number]
    return LEFT + BOX[0] / 2 + column * COLUMN, TOP + y


def label(key: str) -> tuple[str, str]:
    """Name and explanation of a node."""
    if key == "run":
        return "run", "parts and kernel, sent once"
    if key == "params":
        return "params(t)", "mapped file, or a future"
    kind, number = parts(key)
    if kind == "bt-add":
        return f"bt-add, {number}", "sum of two statistics"
    return f"bt-estep, {number}", f"slices {number * N_SLICES} – {(number + 1) * N_SLICES - 1}"


def box(
    x: float, y: float, lines: tuple[str, str], fill: str, dashed: bool = False, width: float = BOX[0]
) -> str:
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return (
        f'<rect x="{x - width / 2:g}" y="{y - BOX[1] / 2:g}" width="{width:g}" height="{BOX[1]}" rx="6" '
        f'fill="{fill}" stroke="{LINE}"{dash}/>'
        f'<text x="{x:g}" y="{y - 4:g}" class="name">{escape(lines[0])}</text>'
        f'<text x="{x:g}" y="{y + 14:g}" class="note">{escape(lines[1])}</text>'
    )


def arrow(start: tuple[float, float], stop: tuple[float, float], dashed: bool = False) -> str:
    (x1, y1), (x2, y2) = start, stop
    if abs(y1 - y2) < 1:
        side = BOX[0] / 2 if x2 > x1 else -BOX[0] / 2
        x1, x2 = x1 + side, x2 - side - (6 if x2 > x1 else -6)
    else:
        y1, y2 = y1 + BOX[1] / 2, y2 - BOX[1] / 2 - 6
    dash = ' stroke-dasharray="5 4"' if dashed else ""
    return f'<path d="M{x1:g} {y1:g} L{x2:g} {y2:g}" stroke="{LINE}" marker-end="url(#head)"{dash}/>'


def tasks_drawn() -> list[str]:
    nodes = graph()
    keys = sorted(nodes, key=str)
    lines = [arrow(place(source), place(key)) for key in keys for source in sorted(nodes[key], key=str)]
    fills = {"bt-estep": TASK, "bt-add": SUM}
    boxes = [
        box(*place(key), label(key), DATA if key in DATA_PLACES else fills[parts(key)[0]]) for key in keys
    ]
    return lines + boxes


def driver_drawn() -> list[str]:
    """What the driver does with the result."""
    x, y = place(task_key("bt-add", "round", N_TASKS - 2))
    step, again = (x + 1.25 * COLUMN, y), (x + 2.5 * COLUMN, y)
    return [
        arrow((x, y), step, dashed=True),
        arrow(step, again, dashed=True),
        box(*step, ("scheme.step", "driver: params(t) moves"), "white", dashed=True),
        box(*again, ("params(t + 1)", "the next round's graph"), DATA, dashed=True),
    ]


def tree_drawn() -> list[str]:
    """The part of the merge tree inside one task."""
    top, left, gap = TOP + 420, LEFT + 14, 56
    out = [
        f'<text x="{LEFT}" y="{top - 52}" class="title">Inside one bt-estep task: '
        f"{N_SLICES} slices, added along the merge tree</text>"
    ]
    xs, level = [left + 22 + i * gap for i in range(N_SLICES)], 0
    while True:
        y = top + level * 40
        for i, x in enumerate(xs):
            if level == 0:
                out.append(
                    f'<rect x="{x - 20:g}" y="{y - 14}" width="40" height="26" rx="4" fill="{TASK}" stroke="{LINE}"/>'
                )
                out.append(f'<text x="{x:g}" y="{y + 4}" class="note">{i}</text>')
            else:
                out.append(f'<circle cx="{x:g}" cy="{y}" r="10" fill="{SUM}" stroke="{LINE}"/>')
                out.append(f'<text x="{x:g}" y="{y + 5}" class="name">+</text>')
        if len(xs) == 1:
            return out
        parents = [(a + b) / 2 for a, b in zip(xs[::2], xs[1::2], strict=True)]
        for i, x in enumerate(xs):
            begin = y + (12 if level == 0 else 10)
            out.insert(1, f'<path d="M{x:g} {begin} L{parents[i // 2]:g} {y + 30}" stroke="{LINE}"/>')
        xs, level = parents, level + 1


def svg() -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="system-ui, sans-serif" fill="none">'
        f"<style>text{{fill:{INK};text-anchor:middle}}.name{{font-size:14px;font-weight:600}}"
        f".note{{font-size:12px}}.title{{font-size:15px;font-weight:600;text-anchor:start}}</style>"
        f'<defs><marker id="head" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="{LINE}"/></marker></defs>'
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
        f'<text x="{LEFT}" y="26" class="title">The Dask graph of a round of four tasks</text>'
    )
    return "\n".join([head, *tasks_drawn(), *driver_drawn(), *tree_drawn(), "</svg>", ""])


if __name__ == "__main__":
    path = Path(__file__).parent / "images" / "round.svg"
    path.write_text(svg(), encoding="utf-8")
    print(path)
