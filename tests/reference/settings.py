"""Other values of the settings of methods, and the methods that read them."""

from __future__ import annotations

from bigtopic.methods import get
from bigtopic.methods.settings import learning, settings_of

__all__ = ["defaults", "method_for", "needed", "other"]

# Texts that a setting may have, in place of its own; of documents of authors, there is but one array.
OTHERS = {
    "gamma": "theta",
    "phi": "theta",
    "theta": "phi",
    "labels": "theta",
    "conditionals": "labels",
    "uniform": "words",
    "words": "uniform",
    "documents": "tokens",
    "tokens": "documents",
    "symmetric": "asymmetric",
    "author_documents": "author_documents",
    "doc_topic_prior": "",
}


def other(value):
    """An allowed value that is not this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return OTHERS[value]
    if value is None:
        return 0.6
    return value + 1 if isinstance(value, int) else 0.8 * value + 0.15


def method_for(name, option):
    """The method, with the prior learned that the setting is of."""
    method = get(name)
    (row,) = [row for row in settings_of(method) if row["option"] == option]
    learned = row["read"].removeprefix("learn_")
    return method if learned == row["read"] else learning(method, **{learned: "symmetric"})


def defaults(method):
    """Of those that it reads; priors that could be learned take their steps from the topics."""
    return {row["option"]: row["default"] for row in settings_of(method) if "learn_" not in row["read"]}


def needed(method, option):
    """What must be set for this setting to be read: {} where it is read anyway."""
    place, _, setting = option.rpartition(".")
    of_priors = {method.model.arrays[array].prior: scheme for array, scheme in method.prior_schemes.items()}
    scheme = {**method.schemes, **of_priors}.get(place)
    if setting not in getattr(scheme, "unread", {}):
        return {}
    if setting == "shrinkage":
        return {f"{place}.shape": "asymmetric"}
    (decay,) = [each for each in ("learning_decay", "forgetting_decay") if hasattr(scheme, each)]
    return {f"{place}.{decay}": 0.6}
