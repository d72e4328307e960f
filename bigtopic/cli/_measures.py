"""Options of verbs that take measures; the folder of measures is read when click asks for the options."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import click
from click.core import ParameterSource

__all__ = ["WithMeasures", "WithSettings", "given", "is_given", "joined", "named", "options_of"]


class WithMeasures(click.Command):
    """A verb with --measure."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        own = super().get_params(ctx)
        return joined(own, self._found, ctx.command_path)

    @cached_property
    def _found(self) -> list[click.Parameter]:
        from bigtopic.evaluation import measures

        return [
            click.Option(
                ["--measure", "measures"],
                type=click.Choice(measures.names()),
                multiple=True,
                default=[measure.name for measure in measures.defaults()],
                show_default=True,
                help="Measure to compute; may be repeated.",
            )
        ]


class WithSettings(WithMeasures):
    """A verb with --measure, and an option for each setting of a measure."""

    @cached_property
    def _found(self) -> list[click.Parameter]:
        from bigtopic.evaluation import measures

        return [*super()._found, *options_of(map(measures.load, measures.names()))]


def joined(
    own: Sequence[click.Parameter], found: Sequence[click.Parameter], verb: str
) -> list[click.Parameter]:
    """The parameters of a verb: its arguments, the options found in a folder, its options.

    Raises
    ------
    click.UsageError
        When an option of the verb has the name of a setting.
    """
    taken = {spelling for param in own for spelling in (param.name, *param.opts)}
    for option in found:
        if clash := taken.intersection((option.name, *option.opts)):
            raise click.UsageError(
                f"setting {option.name!r} of a measure or plot is also {min(map(str, clash))} of {verb}; "
                "give the setting another name"
            )
        taken |= {option.name, *option.opts}
    n_arguments = sum(isinstance(param, click.Argument) for param in own)
    return [*own[:n_arguments], *found, *own[n_arguments:]]


def options_of(members: Iterable[Any]) -> list[click.Parameter]:
    """An option for each setting that one or several of the members (measures, plots) have."""
    settings: dict[str, dict[str, Any]] = {}
    for member in members:
        for name, setting in member.settings.items():
            settings.setdefault(name, {})[member.name] = setting
    return [_option(name, same, settings.keys()) for name, same in settings.items()]


def given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings on the command line; the others keep their defaults, which differ from measure to measure."""
    return {name: value for name, value in settings.items() if is_given(name)}


def named(names: Sequence[str]) -> Sequence[str] | None:
    """The measures named on the command line, or None without --measure."""
    return names if is_given("measures") else None


def is_given(name: str) -> bool:
    """Whether an option is on the command line, or in the file of --config."""
    return click.get_current_context().get_parameter_source(name) is not ParameterSource.DEFAULT


def _option(name: str, members: Mapping[str, Any], taken: Collection[str]) -> click.Option:
    """The option of a setting that measures or plots of these names have, whose meanings and defaults may differ; its
    old name is a second spelling, unless taken."""
    setting, defaults = next(iter(members.values())), _for_each({m: s.default for m, s in members.items()})
    old = sorted({setting.formerly for setting in members.values()} - {"", *taken})
    return click.Option(
        [*(f"--{spelling.replace('_', '-')}" for spelling in (name, *old)), name],
        type=click.Choice(setting.choices) if setting.choices else type(setting.default),
        default=setting.default,
        show_default=True if defaults == str(setting.default) else defaults,
        help=_for_each({member: own.meaning for member, own in members.items()}),
    )


def _for_each(values: Mapping[str, Any]) -> str:
    """One text for what all members share, otherwise one for each, after its name."""
    texts = {member: str(value) for member, value in values.items()}
    shared: dict[str, list[str]] = {}
    for member, text in texts.items():
        shared.setdefault(text, []).append(member)
    if len(shared) == 1:
        return next(iter(shared))
    return "; ".join(f"{', '.join(members)}: {text.rstrip('.')}" for text, members in shared.items())
