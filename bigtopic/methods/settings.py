"""Settings of a method by name, changed and listed: its kernels' settings, called options there, and its schemes'.

`learning` adds the schemes that learn a method's priors.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from re import search
from typing import Any

import numpy as np

from bigtopic import schemes
from bigtopic.errors import SettingError, argument, did_you_mean, setting, warn
from bigtopic.methods.method import Method
from bigtopic.methods.table import TABLE
from bigtopic.models.author_topic import AUTHOR_TOPICS
from bigtopic.models.base import DOC_TOPIC_PRIOR
from bigtopic.models.lda import TOPIC_WORDS
from bigtopic.schemes.own_prior import OwnPrior, OwnRowPrior
from bigtopic.support.numbers import is_number
from bigtopic.types import Scheme

__all__ = [
    "PHASE_SETTINGS",
    "check_learns",
    "learning",
    "named",
    "read_by",
    "settings_of",
    "symbol_in",
    "with_settings",
    "without_symbol",
]

PROVED_DECAY = 0.5  # of a step size; above it, stochastic approximation converges (Robbins and Monro 1951)
_STEP_SIZE = ("learning_decay", "learning_offset")

# Of a phase after the first, beside those of its kernel and schemes: attributes of `Method`, and what they mean.
PHASE_SETTINGS = {
    "max_iter": "passes over the corpus at most; 0 leaves the phase out. If given, as many for short documents",
    "average": "share of its updates, at the end, over which the topics are averaged, 0 to 1; 0 takes the latest",
    "enough_tokens": "fewer passes once they have read so many tokens, and none where fewer than 10 would be left",
    "enough_length": "tokens of a document, on average; if they are fewer, up to five times as many passes",
    "batch_size": "largest number of documents per update",
    "slice_size": "largest number of documents per kernel call",
    "tol": "stop when a pass changes less than this",
}


def with_settings(
    method: Method, given: Mapping[str, Any], of: Method | None = None
) -> tuple[Method, dict[str, Any]]:
    """The method with settings of its schemes, and the options among those given, which are its kernels'.

    A setting such as "decay" is set in every scheme that has it; "topic_words.decay", with the name of an array or of
    a learned prior, in one, whatever all have. If a kernel has an option of that name, the name alone is the option.
    A kernel that takes the schemes' steps itself has them among the method's options, as `local_decay` and
    `local_offset`; they change with `learning_decay` and `learning_offset`. Warns of decays with which learning need
    not converge.

    Parameters
    ----------
    of : the method that has this one as a later phase, whose options are named "phase.option"; to say so in errors

    Raises
    ------
    SettingError
        When the method has no such setting, does not read it beside its others, or the value is not allowed.
    """
    options = _options(method)
    places = _places(method)
    changes: dict[str, dict[str, Any]] = {place: {} for place in places}
    chosen: dict[str, list[str]] = {}
    for name in sorted(given.keys() - options.keys(), key=lambda name: ("." in str(name), str(name))):
        place, dot, setting = str(name).rpartition(".")
        chosen[name] = [
            each
            for each, scheme in places.items()
            if (place == each or not dot) and setting in schemes.options(scheme)
        ]
        if not chosen[name]:
            raise _unknown(method if of is None else of, name if of is None else f"{method.phase}.{name}")
        for each in chosen[name]:
            changes[each][setting] = _like(schemes.options(places[each])[setting], name, given[name])
    for place, own in changes.items():
        if "learning_decay" in own and hasattr(places[place], "stream_decay"):
            own.setdefault("stream_decay", None)  # the decay that was given is also that of streams
    changed = {place: replace(places[place], **own) for place, own in changes.items()}  # type: ignore[type-var]
    for name, where in chosen.items():
        _check_read(method, name, [changed[place] for place in where])
    before = {**options, **{place: schemes.options(scheme) for place, scheme in places.items()}}
    _warn_of_decays(given, chosen, before)
    own = {name: _plain(value) for name, value in given.items() if name in options}
    if changed == places:
        return method, own
    local = {name.replace("learning_", "local_"): given[name] for name in _STEP_SIZE if name in given}
    return replace(
        method,
        options={name: local.get(name, value) for name, value in method.options.items()},
        schemes={array: changed[array] for array in method.schemes},
        prior_schemes={array: changed[_prior_of(method, array)] for array in method.prior_schemes},
    ), own


def named(estimator: Any, names: Iterable[str], options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of these names that an estimator was given.

    Raises
    ------
    SettingError
        When `options` have one of them, too.
    """
    given = {name: value for name in names if (value := getattr(estimator, name)) is not None}
    for name in given.keys() & options.keys():
        raise SettingError(f"{argument(name, given[name])}: options has {name!r}, too; leave one of them out")
    return given


def check_learns(method: Method, given: Mapping[str, Any]) -> Mapping[str, Any]:
    """These options, which the kernel that learns must read.

    Raises
    ------
    SettingError
        When it does not; says what to do where the kernel that infers topics of documents does.
    """
    for name, value in given.items():
        reads = read_by(method, name)
        if "learning" not in reads:
            remedy = f"; for topics of documents alone, give {setting(name, value)}" if reads else ""
            options = ", ".join(method.load_kernel().options) or "none"
            raise SettingError(
                f"{argument(name, value)}: method {method.name!r} does not read it when it learns{remedy}; its "
                f"kernel's options are: {options}"
            )
    return given


def settings_of(method: Method) -> list[dict[str, Any]]:
    """Every setting of a method, a row each; of its later phases as "phase.option".

    Returns
    -------
    list of dict
        "option", the name as `options` takes it; "default", the method's; "read", what reads it: "learning",
        "inference", both, or the argument with which its scheme learns a prior; "symbol", the paper's, or "";
        "meaning".
    """
    kernel, inference = method.load_kernel(), method.load_inference()
    rows = []
    for name, default in _options(method).items():
        meanings = {**inference.meanings, **kernel.meanings}
        rows.append(_row(name, default, read_by(method, name), meanings.get(name, "")))
    for place, scheme, reads in _all_places(method):
        meanings = schemes.meanings(type(scheme))
        for name, default in schemes.options(scheme).items():
            rows.append(_row(f"{place}.{name}", default, reads, meanings[name]))
    for phase in method.then:
        own = [
            _row(name, getattr(phase, name), "learning", meaning) for name, meaning in PHASE_SETTINGS.items()
        ]
        learns = [row for row in settings_of(phase) if row["read"] != "inference"]
        rows += [{**row, "option": f"{phase.phase}.{row['option']}"} for row in own + learns]
    return rows


def read_by(method: Method, option: str) -> str:
    """What reads an option of the kernels: "learning", "inference", or both; "" if neither."""
    inference = method.load_inference()
    reads = {
        "learning": option in method.load_kernel().options,
        "inference": option in inference.options and option not in inference.of_statistics,
    }
    return " and ".join(use for use, does in reads.items() if does)


def _options(method: Method) -> dict[str, Any]:
    """The options of the kernels that something reads, with the method's values."""
    return {name: value for name, value in method.kernel_options({}).items() if read_by(method, name)}


def symbol_in(meaning: str) -> str:
    """The paper's symbol in the text about a setting, or "".

    Examples
    --------
    >>> symbol_in("iterations over a document, from 1; in the literature T")
    'T'
    """
    found = search(r"in the literature (\w+(?: or \w+)*)", meaning)
    return found[1] if found else ""


def without_symbol(meaning: str) -> str:
    """The text about a setting without its symbol."""
    return meaning.replace(f"; in the literature {symbol_in(meaning)}", "")


def _row(name: str, default: Any, reads: str, meaning: str) -> dict[str, Any]:
    told = {"symbol": symbol_in(meaning), "meaning": without_symbol(meaning)}
    return {"option": name, "default": default, "read": reads, **told}


def _places(method: Method) -> dict[str, Scheme]:
    """The schemes by the names that settings have before their dot: their array, or the prior that they learn."""
    own = {_prior_of(method, array): scheme for array, scheme in method.prior_schemes.items()}
    return {**method.schemes, **own}


def _prior_of(method: Method, array: str) -> str:
    return str(method.model.arrays[array].prior)


def _all_places(method: Method) -> Iterator[tuple[str, Scheme, str]]:
    """The schemes with their names and what reads their settings, those that could learn its priors at last."""
    own = _places(method)
    for place, scheme in own.items():
        yield place, scheme, "learning"
    kernel = method.load_kernel()
    learnable = {"doc_topic_prior": DOC_TOPIC_PRIOR in kernel.offers}
    for array in (TOPIC_WORDS, AUTHOR_TOPICS):
        if array in kernel.posteriors:
            learnable[_prior_of(method, array)] = method.model.arrays[array].prior is not None
    for prior in (name for name, can in learnable.items() if can and name not in own):
        yield prior, _places(learning(method, **{prior: "symmetric"}))[prior], f"learn_{prior}"


def _like(default: Any, name: str, value: Any) -> Any:
    """The value as Python's own; text and truth values are like their defaults. Schemes check their numbers."""
    value = _plain(value)
    if isinstance(default, bool | str) and type(value) is not type(default):
        raise SettingError(f"{argument(name, value)}: must be like its default, {default!r}")
    return value


def _plain(value: Any) -> Any:
    """A number of NumPy as Python's own, which can be saved."""
    return value.item() if isinstance(value, np.generic) else value


def _check_read(method: Method, name: str, changed: list[Scheme]) -> None:
    """Refuse a setting that other settings of all these schemes turn off."""
    setting = str(name).rpartition(".")[2]
    reasons = [getattr(scheme, "unread", {}).get(setting) for scheme in changed]
    if all(reasons):
        raise SettingError(
            f"option {name}: method {method.name!r} does not read it while {reasons[0]}; leave it out, or "
            "change that, too"
        )


def _warn_of_decays(
    given: Mapping[str, Any], chosen: Mapping[str, list[str]], before: Mapping[str, Any]
) -> None:
    for name, value in given.items():
        setting = str(name).rpartition(".")[2]
        known = [before[place][setting] for place in chosen[name]] if name in chosen else [before.get(name)]
        small = setting.endswith("learning_decay") and is_number(value) and 0 < value <= PROVED_DECAY
        if small and value not in known:
            of = "topics" if name in chosen else "topics of documents"
            warn(
                f"{argument(name, value)}: convergence is not guaranteed for decays up to {PROVED_DECAY}; give a "
                f"larger one, up to 1, unless the {of} should keep changing",
            )


def _unknown(method: Method, name: object) -> SettingError:
    rows = settings_of(method)
    (needed,) = [row["read"] for row in rows if row["option"] == name] or [""]
    if needed:
        return SettingError(f"option {name}: method {method.name!r} learns no such prior; give {needed}, too")
    if name in _STEP_SIZE:
        return SettingError(
            f"{argument(name)} was given, but method {method.name!r} has no step size; leave it out, or choose an "
            "online method"
        )
    later = tuple(f"{phase.phase}." for phase in method.then)
    names = dict.fromkeys(
        "".join(part for part in later if row["option"].startswith(part)) + row["option"].rpartition(".")[2]
        for row in rows
        if "learn_" not in row["read"]
    )
    return SettingError(
        f"method {method.name!r} has no option {name!r}; its options are: {', '.join(names) or 'none'}"
        + did_you_mean(name, names)
    )


def learning(
    method: Method,
    doc_topic_prior: str | None = None,
    topic_word_prior: str | None = None,
    author_topic_prior: str | None = None,
) -> Method:
    """This method with schemes that learn its priors, at the step size of its topics.

    Parameters
    ----------
    doc_topic_prior, topic_word_prior, author_topic_prior : "symmetric" for one number, "asymmetric" for one per topic
        or word; None to leave that prior as it is

    Raises
    ------
    SettingError
        When the shape is unknown, or the method's kernel has nothing to learn the prior from; names methods that have.
    """
    if doc_topic_prior is not None:
        _check(method, "doc_topic_prior", DOC_TOPIC_PRIOR, _statistics)
        scheme = method.prior_learner(shape=doc_topic_prior, **_schedule(method, method.prior_learner))
        method = replace(method, schemes={**method.schemes, DOC_TOPIC_PRIOR: scheme})
    if topic_word_prior is not None:
        _check(method, "topic_word_prior", TOPIC_WORDS, _posteriors)
        own = OwnPrior(shape=topic_word_prior, **_schedule(method, OwnPrior))
        method = replace(method, prior_schemes={**method.prior_schemes, TOPIC_WORDS: own})
    if author_topic_prior is not None:
        _check(method, "author_topic_prior", AUTHOR_TOPICS, _posteriors)
        rows = OwnRowPrior(shape=author_topic_prior, same=DOC_TOPIC_PRIOR, **_schedule(method, OwnRowPrior))
        method = replace(method, prior_schemes={**method.prior_schemes, AUTHOR_TOPICS: rows})
    return method


def _statistics(method: Method) -> Collection[str]:
    kernel = method.load_kernel()
    return {**kernel.statistics, **kernel.offers}


def _posteriors(method: Method) -> Collection[str]:
    return method.load_kernel().posteriors


def _schedule(method: Method, learner: Any) -> dict[str, Any]:
    """The step size of the topics, if they and the learner have one."""
    scheme = method.schemes.get(TOPIC_WORDS)
    names = ("learning_decay", "learning_offset", "learning_scale", "hold")
    return {name: getattr(scheme, name) for name in names if hasattr(scheme, name) and hasattr(learner, name)}


def _check(method: Method, prior: str, array: str, known: Callable[[Method], Collection[str]]) -> None:
    if array in known(method):
        return
    from bigtopic import kernels

    def can(other: Method) -> bool:
        return array in known(other) and _counts_authors(other) == _counts_authors(method)

    methods = [other.name for other in TABLE if can(other)]
    fit = [name for name in kernels.names() if can(replace(method, kernel=name))]
    kernel = method.load_kernel().name
    raise SettingError(
        f"learn_{prior}: method {method.name!r} cannot learn it, because its kernel {kernel!r} has neither posteriors "
        f"nor labels to learn it from; choose one of the methods {', '.join(methods)}, or a Method with one of the "
        f"kernels {', '.join(fit)}"
    )


def _counts_authors(method: Method) -> bool:
    return AUTHOR_TOPICS in method.load_kernel().statistics
