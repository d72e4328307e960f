"""A model while it learns, in a notebook: how far it is, its score and coherence, and its topics as they form."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from bigtopic.errors import SettingError, argument
from bigtopic.evaluation import Measure
from bigtopic.evaluation.runs.watch import Watch
from bigtopic.evaluation.source import labels_of, top_words
from bigtopic.evaluation.subject import CorpusOrPath
from bigtopic.learning.events import Event
from bigtopic.questions.words import shares_of
from bigtopic.report.curve import curve_of
from bigtopic.state.model import TopicModel
from bigtopic.support import cards
from bigtopic.support.numbers import is_whole

__all__ = ["LivePanel"]

_SECONDS = 0.5  # between two refreshes
_WORDS = 8  # of a topic


class LivePanel(Watch):
    """A callback that shows a model while it learns: `LDA(callbacks=[LivePanel(corpus)])`.

    The panel has the phase, passes, tokens per second, the time left, the held-out score or the bound and its curve, if
    there is one, what is measured, the words of the largest topics, and on a Dask client a link to its dashboard. The
    measurements are in `history_`, too, as `evaluate.Watch` records them. The panel appears below the cell of a
    notebook that calls `fit`; elsewhere nothing is shown.

    Parameters
    ----------
    corpus : documents to measure; None measures the topics alone
    measures : see `evaluate.Watch`; None for the NPMI on the corpus, or, without a corpus, the diversity of the topics
    every : updates between measurements; None for one per pass
    n_topics : topics to show, largest first
    settings : further arguments of `evaluate.Watch`

    Raises
    ------
    SettingError
        As `evaluate.Watch`, and when `n_topics` is not positive.
    """

    def __init__(
        self,
        corpus: CorpusOrPath | None = None,
        measures: str | Measure | Iterable[str | Measure] | None = None,
        every: int | None = None,
        n_topics: int = 12,
        **settings: Any,
    ) -> None:
        if not is_whole(n_topics) or n_topics < 1:
            raise SettingError(f"{argument('n_topics', n_topics)}: must be a whole number of at least 1")
        usual = "diversity" if corpus is None else "npmi"
        super().__init__(corpus, usual if measures is None else measures, every, **settings)
        self._n_topics = n_topics
        self._event: Event | None = None
        self._phase_began: Event | None = None
        self._begin()

    def _begin(self) -> None:
        """Forget what an earlier run has shown."""
        self._found: Mapping[str, float | None] = {}
        self._score: float | None = None
        self._rows: list[dict[str, Any]] = []  # of the curve
        self._dashboard: str | None = None
        self._topics: list[list[Any]] = []
        self._output: Any = None
        self._refreshed = 0.0

    def measure(self, model: TopicModel) -> dict[str, float | None]:
        """Measure the topics, see `evaluate.Watch`, and keep their words for the panel."""
        source = model.topic_source()
        shares, labels = shares_of(source), labels_of(source)
        words, _ = top_words(source, min(_WORDS, source.n_words))
        self._topics = [
            [
                int(k),
                labels[k],
                f"{shares[k]:.1%}",
                " ".join(str(source.vocabulary[int(i)]) for i in words[k]),
            ]
            for k in np.argsort(-shares, kind="stable")[: self._n_topics]
        ]
        found = super().measure(model)
        self._found = {name: value for name, value in found.items() if not name.endswith("standard error")}
        return found

    def __call__(self, event: Event) -> None:
        """Refresh the panel, at most twice a second."""
        self._event = event
        if event.kind == "start":
            self._phase_began = event
            if event.n_docs == 0 and event.step == 0:  # not a later phase, nor a run that is resumed
                self._begin()
            self._dashboard = event.dashboard
        if event.score is not None or event.bound is not None:
            self._rows.append({"score": event.score, "bound": event.bound, "n_tokens": event.n_tokens})
        self._score = self._score if event.score is None else event.score
        if event.kind != "round" or time.perf_counter() - self._refreshed > _SECONDS:
            self._show()

    def _show(self) -> None:
        self._refreshed = time.perf_counter()
        shown = _notebook()
        if shown is None:
            return
        html = {"text/html": self._repr_html_(), "text/plain": repr(self)}
        if self._output is None:
            self._output = shown(html, raw=True, display_id=True)
        else:
            self._output.update(html, raw=True)

    def figures(self) -> dict[str, str]:
        """What the panel says of the run, {label: text}; empty before it begins."""
        now, began = self._event, self._phase_began
        if now is None or began is None:
            return {}
        seconds, tokens = now.seconds - began.seconds, now.n_tokens - began.n_tokens
        speed = tokens / seconds if seconds > 0 else 0.0
        left = ""
        if now.kind != "end" and speed and began.planned_tokens:
            left = f"{max(0.0, began.planned_tokens - tokens) / speed:,.0f} s at most"
        return {
            "phase": now.phase,
            "state": f"ended: {now.reason}" if now.kind == "end" else "learning",
            "passes": f"{now.pass_number}",
            "updates": f"{now.step:,}",
            "time": f"{now.seconds:,.1f} s",
            "time left": left,
            "tokens per second": f"{speed:,.0f}",
            "held-out score": "" if self._score is None else f"{self._score:.4f} nats per token",
            **{name: "" if value is None else f"{value:.4f}" for name, value in self._found.items()},
        }

    def _repr_html_(self) -> str:
        columns = ["topic", "label", "share", "words"]
        rows = self._topics
        if not any(label for _, label, *_ in rows):
            columns, rows = ["topic", "share", "words"], [[k, *others] for k, _, *others in rows]
        table = cards.scrolling(columns, rows) if rows else ""
        curve = curve_of(self._rows)
        drawn = "" if curve is None else f"<div>{cards.shown(curve.title)}<br>{curve.svg}</div>"
        dashboard = (
            "" if self._dashboard is None else f"<p>{cards.link('Dask dashboard', self._dashboard)}</p>"
        )
        return cards.card("Learning", cards.figures(self.figures()), dashboard, drawn, table)

    def __repr__(self) -> str:
        return (
            ", ".join(f"{name} {value}" for name, value in self.figures().items() if value) or "LivePanel()"
        )


def _notebook() -> Any:
    """The function that displays in a notebook; None elsewhere."""
    try:
        from IPython import get_ipython
        from IPython.display import display
    except ImportError:
        return None
    shell = get_ipython()
    return display if shell is not None and hasattr(shell, "kernel") else None
