"""The table of learning methods: a kernel, a scheme for each global array, and the paper's settings. A row is all it
takes to add one."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from types import ModuleType
from typing import Any

from bigtopic.errors import SettingError
from bigtopic.models.base import Model
from bigtopic.models.lda import LDA, TOPIC_WORDS
from bigtopic.schemes.add import Add
from bigtopic.schemes.interpolate import Interpolate
from bigtopic.schemes.interpolate_normalised import InterpolateNormalised
from bigtopic.schemes.replace import Replace
from bigtopic.types import Kernel, Scheme

__all__ = ["DEFAULT", "Method", "MethodTable", "get", "methods", "names"]


Prior = float | Callable[[int], float] | None


@dataclass(frozen=True)
class Method:
    """How a model is learnt.

    Attributes
    ----------
    name : as given to `LDA(method=...)`
    kernel : name of a file in `kernels/`, or a `Kernel` of your own
    inference : the kernel that infers documents' topics once the model has learnt, likewise; None for `kernel`
    schemes : {global array: scheme}
    model : the arrays and their axes
    batch_size : documents of one update, at most; None for the whole corpus
    least_rounds : a smaller corpus gets smaller minibatches, down to 64 documents, so that a pass has this many updates
    slice_size : documents of one kernel call; None lets the plan choose. A hyper-parameter when documents interact
    delay : updates that a minibatch need not have seen: 1 lets its E-step overlap with that of the one before; for
        minibatches too short to be shared among threads
    inner : turns of a round: a number, or a rule `(turn from 1, info) -> another turn?`
    max_iter : passes over the corpus
    enough_rounds : fewer passes suffice when they have this many updates together; None always does all passes
    tol : stop when a pass changes less than this (see `LDA`); 0 never
    priors : {name of a prior: a number, a function of n_components}; 1 / n_components for those not named
    init : how the statistics begin where not as the model says, {array: (distribution, share)}: "gamma" is
        Gamma(100, 0.01) per entry, "uniform" is Uniform(0, 1); the share is None for entries as drawn, or that of the
        corpus' tokens to scale them to
    options : settings of the kernel that differ from its defaults
    summary, paper : for the table
    """

    name: str
    kernel: str | Kernel
    schemes: Mapping[str, Scheme]
    model: Model = LDA
    batch_size: int | None = 500
    least_rounds: int = 1
    slice_size: int | None = None
    delay: int = 0
    inner: int | Callable[[int, Mapping[str, float]], bool] = 1
    max_iter: int = 1
    enough_rounds: int | None = None
    tol: float = 0.0
    priors: Mapping[str, Prior] = field(default_factory=dict)
    init: Mapping[str, tuple[str, float | None]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    paper: str = ""
    inference: str | Kernel | None = None

    def load_kernel(self) -> Kernel:
        """The kernel; its file is imported now."""
        return _loaded(self.kernel)

    def load_inference(self) -> Kernel:
        """The kernel that infers the topics of documents under a fixed model."""
        return _loaded(self.inference or self.kernel)

    def prior(self, name: str, n_components: int) -> float:
        """The default of a prior for so many components."""
        prior = self.priors.get(name)
        if prior is None:
            return 1.0 / n_components
        return prior(n_components) if callable(prior) else prior

    def kernel_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The kernel's settings: its defaults, the method's, then those given.

        Raises
        ------
        SettingError
            For a name the kernel does not have.
        """
        known = self.load_kernel().options
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise SettingError(
                f"method {self.name!r} has no option {unknown[0]!r}; its options are: "
                + (", ".join(sorted(known)) or "none")
            )
        return {**known, **self.options, **given}

    def batch_size_for(self, n_docs: int) -> int | None:
        """Documents of one update on a corpus of this size."""
        if self.batch_size is None:
            return None
        return min(self.batch_size, max(SMALLEST_BATCH, n_docs // self.least_rounds))

    def max_iter_for(self, n_docs: int, batch_size: int | None) -> int:
        """Passes over a corpus of this size."""
        if self.enough_rounds is None or batch_size is None:
            return self.max_iter
        rounds = max(1, -(-n_docs // batch_size))
        return min(self.max_iter, -(-self.enough_rounds // rounds))

    def with_schedule(self, learning_decay: float | None, learning_offset: float | None) -> Method:
        """This method with another step size, in every scheme that has one.

        Raises
        ------
        SettingError
            When no scheme of the method has a step size.
        """
        given = {"learning_decay": learning_decay, "learning_offset": learning_offset}
        given = {name: value for name, value in given.items() if value is not None}
        if not given:
            return self
        schemes = {}
        used = False
        for array, scheme in self.schemes.items():
            own = {f.name for f in fields(scheme)}  # type: ignore[arg-type]
            changes = {name: value for name, value in given.items() if name in own}
            used = used or bool(changes)
            schemes[array] = replace(scheme, **changes) if changes else scheme  # type: ignore[type-var]
        if not used:
            raise SettingError(
                f"{next(iter(given))} was given, but method {self.name!r} has no step size; leave it out, "
                "or choose an online method"
            )
        return replace(self, schemes=schemes)


def _loaded(kernel: str | Kernel) -> Kernel:
    if isinstance(kernel, Kernel):
        return kernel
    from bigtopic import kernels

    return kernels.load(kernel)


SMALLEST_BATCH = 64
_OPE = "Than & Doan, Guaranteed inference in topic models"
_GAMMA = {TOPIC_WORDS: ("gamma", None)}
_UNIFORM = {TOPIC_WORDS: ("uniform", None)}
# The tolerance is a mean over topics: a looser one ends a document of five words after three iterations.
_CLOSE = {"mean_change_tol": 1e-4}

DEFAULT = "online-cvb0"


def _few_tokens(n_components: int) -> float:
    """In the literature alpha: one token over all topics while they are few, five when they are many."""
    return max(1 / n_components, min(0.1, 5 / n_components))


def _by_root(n_components: int) -> float:
    """In the literature eta: the more topics, the fewer words each has."""
    root: float = n_components**0.5
    return max(1 / n_components, 0.35 / root)


_TABLE = (
    Method(
        "vb",
        "vb",
        {TOPIC_WORDS: Replace()},
        batch_size=None,
        max_iter=100,
        tol=1e-4,
        init=_GAMMA,
        options=_CLOSE,
        summary="batch variational Bayes: one update per pass, monotone in the bound",
        paper="Blei, Ng, Jordan 2003; Hoffman et al. 2013",
    ),
    Method(
        "online-vb",
        "vb",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init=_GAMMA,
        options={"max_doc_update_iter": 50, **_CLOSE},
        summary="stochastic variational inference",
        paper=f"Hoffman et al. 2013; settings of {_OPE}",
    ),
    Method(
        "streaming-vb",
        "vb",
        {TOPIC_WORDS: Add()},
        batch_size=5000,
        init=_GAMMA,
        options={"max_doc_update_iter": 50, **_CLOSE},
        summary="sufficient statistics update: add what each minibatch says; needs no corpus size, never forgets",
        paper="Broderick et al. 2013 (SSU)",
    ),
    Method(
        "ml-ope",
        "ope",
        {TOPIC_WORDS: InterpolateNormalised(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        priors={"topic_word_prior": 0.0},
        init=_UNIFORM,
        options={"statistic": "theta"},
        summary="online maximum-likelihood topics with online maximum-a-posteriori inference",
        paper=f"{_OPE}, equations 20-21",
    ),
    Method(
        "online-ope",
        "ope",
        {TOPIC_WORDS: Interpolate(learning_decay=0.9, learning_offset=1.0)},
        batch_size=5000,
        init=_UNIFORM,
        options={"statistic": "phi"},
        summary="stochastic variational topics with online maximum-a-posteriori inference",
        paper=f"{_OPE}, section 4",
    ),
    Method(
        "streaming-ope",
        "ope",
        {TOPIC_WORDS: Add()},
        batch_size=5000,
        init=_UNIFORM,
        options={"statistic": "phi"},
        summary="the same for streams: add what each minibatch says",
        paper=f"{_OPE}, equation 27",
    ),
    Method(
        "online-cvb0",
        "cvb0",
        {TOPIC_WORDS: Interpolate(learning_decay=0.7, learning_offset=1.0, scale="tokens")},
        batch_size=500,
        delay=1,
        least_rounds=20,
        max_iter=5,
        enough_rounds=300,
        priors={"doc_topic_prior": _few_tokens, "topic_word_prior": _by_root},
        init={TOPIC_WORDS: ("uniform", 1.0)},
        summary="collapsed variational inference of order zero against fixed topics, small minibatches; the default",
        paper="Foulds et al. 2013; Asuncion et al. 2009",
    ),
)

_BY_NAME = {method.name: method for method in _TABLE}


def names() -> list[str]:
    """Names of the methods in the table."""
    return [method.name for method in _TABLE]


def get(method: str | Method | None) -> Method:
    """A method by name; None is the default, a `Method` is itself.

    Raises
    ------
    SettingError
        When there is no such method.
    """
    if isinstance(method, Method):
        return method
    name = method or DEFAULT
    if name not in _BY_NAME:
        raise SettingError(f"method={name!r} is not known; choose one of: {', '.join(sorted(_BY_NAME))}")
    return _BY_NAME[name]


class MethodTable(list[dict[str, Any]]):
    """The methods as a list of rows, drawn as a table."""

    def __repr__(self) -> str:
        rows = [[str(row[c]) for c in _COLUMNS] for row in self]
        widths = [max(len(c), *(len(row[i]) for row in rows)) for i, c in enumerate(_COLUMNS)]
        lines = [_COLUMNS, ["-" * w for w in widths], *rows]
        return "\n".join(
            "  ".join(cell.ljust(w) for cell, w in zip(line, widths, strict=True)) for line in lines
        )

    def _repr_html_(self) -> str:
        from html import escape

        head = "".join(f"<th>{escape(c)}</th>" for c in _COLUMNS)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(row[c]))}</td>" for c in _COLUMNS) + "</tr>" for row in self
        )
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


_COLUMNS = ["method", "kernel", "scheme", "batch_size", "max_iter", "summary", "paper"]


def methods() -> MethodTable:
    """Every learning method: its kernel, scheme, defaults and source."""
    return MethodTable(_row(method) for method in _TABLE)


def _row(method: Method) -> dict[str, Any]:
    return {
        "method": method.name,
        "kernel": method.kernel if isinstance(method.kernel, str) else method.kernel.name,
        "scheme": ", ".join(str(scheme) for scheme in method.schemes.values()),
        "batch_size": method.batch_size or "all",
        "max_iter": method.max_iter,
        "summary": method.summary,
        "paper": method.paper,
    }


class _CallableModule(ModuleType):
    """`bigtopic.methods()` is the table although importing this file binds `bigtopic.methods` to the file."""

    def __call__(self) -> MethodTable:
        return methods()


sys.modules[__name__].__class__ = _CallableModule
