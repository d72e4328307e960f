"""The table of methods. To add a method, add a row to a file of `families/`; to add a family, add a file there.

`find` takes a method's own name, or one that papers use. Papers give one name to different methods, and one method
different names. A paper's name is therefore kept with its paper, as "ope:Online-VB", and may be given without it, in
capitals or not, where only one method is meant.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from bigtopic.errors import SettingError, argument, either, setting
from bigtopic.methods import families
from bigtopic.methods.method import Method
from bigtopic.models.base import Model
from bigtopic.models.lda import LDA
from bigtopic.support import discovery
from bigtopic.support.aliases import METHODS, of_attribute

__all__ = ["DEFAULT", "FAMILIES", "TABLE", "find"]

DEFAULT = "auto"


def _rows(family: str) -> tuple[Method, ...]:
    rows: tuple[Method, ...] = discovery.load(families.__name__, family, "METHODS", "family of methods")
    return rows


FAMILIES = {family: _rows(family) for family in discovery.modules(families.__name__)}
TABLE = tuple(method for rows in FAMILIES.values() for method in rows)


# Names of methods in papers that this package does not have, with the nearest one that it has.
_NOT_OFFERED = {
    "alsumait:OLDA": f"{argument('method', 'sgs')} with {setting('decay', 1.0)} is it, but for its mixing of topics"
}
_LIST = either("bigtopic.methods()", "'bigtopic methods'")
_BY_NAME = {method.name: method for method in TABLE}


def find(name: object, fits: Callable[[Model], bool] = lambda model: True) -> Method:
    """The method that a name means, of whatever model.

    Raises
    ------
    SettingError
        When no method has the name, or several do; lists the names to choose from, of models that fit.
    """
    if not isinstance(name, str):
        raise _unknown(name, fits)
    if name in _BY_NAME:
        return _BY_NAME[name]
    meant = {form: method for method in TABLE for form in _forms(method) if _means(name, form)}
    absent = {form: nearest for form, nearest in _NOT_OFFERED.items() if _means(name, form)}
    if len({*(method.name for method in meant.values()), *absent}) > 1:
        raise _ambiguous(name, meant, absent, fits)
    for form, nearest in absent.items():
        raise SettingError(f"{argument('method', name)}: {form} is not offered; {nearest}")
    for method in meant.values():
        return method
    raise _unknown(name, fits)


def _forms(method: Method) -> tuple[str, ...]:
    return (method.name, *method.aliases)


def _means(name: str, form: str) -> bool:
    """Whether a name is this one, with its paper or without it."""
    return name.lower() in (form.lower(), form.rpartition(":")[2].lower())


def _ambiguous(
    name: str, meant: Mapping[str, Method], absent: Mapping[str, str], fits: Callable[[Model], bool]
) -> SettingError:
    """Names first the methods of models that fit, and LDA's before others, which most people mean."""
    order = sorted(meant.items(), key=lambda item: (not fits(item[1].model), item[1].model is not LDA))
    forms = [form if form == method.name else f"{form} ({method.name})" for form, method in order]
    return SettingError(
        f"{argument('method', name)} is ambiguous; choose one of: {', '.join(forms)}"
        + "".join(f"; {form} is not offered: {nearest}" for form, nearest in absent.items())
    )


def _unknown(name: object, fits: Callable[[Model], bool]) -> SettingError:
    known = [method for method in TABLE if fits(method.model)]
    aliases = sorted(a for method in known for a in method.aliases if a.split(":")[1].lower() not in _BY_NAME)
    names = sorted(method.name for method in known)
    elsewhere = re.sub(r"[\s_]+", "-", str(name).lower())
    answer = of_attribute(elsewhere, [*names, *aliases], METHODS)
    if answer:
        return SettingError(f"{argument('method', name)} is not known, see {_LIST}{answer}")
    return SettingError(
        f"{argument('method', name)} is not known; choose one of: {', '.join(names)}; or a paper's name: "
        f"{', '.join(aliases)}; {either('or pass a bigtopic.Method', f'see {_LIST}')}"
    )
