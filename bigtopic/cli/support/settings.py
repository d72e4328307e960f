"""Settings of measures and plots as options of a verb, which follow from the files of a folder."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import click
from click import Context, Parameter, UsageError

from bigtopic.cli.support.parameters import is_given

__all__ = ["WithFound", "WithMeasures", "WithSettings", "given", "joined", "named", "options_of"]


class WithFound(click.Command):
    """A verb with options that follow from the files of a folder, which is read when click asks for them."""

    @cached_property
    def _found(self) -> list[Parameter]:
        return []

    def get_params(self, ctx: Context) -> list[Parameter]:
        return joined(super().get_params(ctx), self._found, ctx.command_path)


class WithMeasures(WithFound):
    """A verb with --measure; its help says what each of them is."""

    meaning = "Measure to compute; may be repeated."

    def usual(self) -> list[str]:
        """Names of the measures that are computed without the option."""
        from bigtopic.evaluation import measures

        return [measure.name for measure in measures.defaults()]

    @cached_property
    def _found(self) -> list[Parameter]:
        from bigtopic.evaluation import measures

        return [
            click.Option(
                ["--measure", "measures"],
                type=click.Choice(measures.names()),
                multiple=True,
                default=self.usual(),
                help=self.meaning,
            )
        ]

    def format_epilog(self, ctx: Context, formatter: click.HelpFormatter) -> None:
        from bigtopic.evaluation import measures

        with formatter.section("Measures"):
            formatter.write_dl([(one.name, one.meaning) for one in map(measures.load, measures.names())])


class WithSettings(WithMeasures):
    """A verb with --measure, and an option for each setting of a measure."""

    @cached_property
    def _found(self) -> list[Parameter]:
        from bigtopic.evaluation import measures

        return [*super()._found, *options_of(map(measures.load, measures.names()))]


def joined(own: Sequence[Parameter], found: Sequence[Parameter], verb: str) -> list[Parameter]:
    """The parameters of a verb: its arguments, the options found in a folder, its options.

    Raises
    ------
    click.UsageError
        When an option of the verb has the name of a setting.
    """
    taken = {spelling for param in own for spelling in (param.name, *param.opts)}
    for setting in found:
        if clash := taken.intersection((setting.name, *setting.opts)):
            raise UsageError(
                f"setting {setting.name!r} of a measure or plot is also {min(map(str, clash))} of {verb}; "
                "give the setting another name"
            )
        taken |= {setting.name, *setting.opts}
    n_arguments = sum(isinstance(param, click.Argument) for param in own)
    return [*own[:n_arguments], *found, *own[n_arguments:]]


def options_of(members: Iterable[Any]) -> list[Parameter]:
    """An option for each setting that one or several of the members (measures, plots) have."""
    settings: dict[str, dict[str, Any]] = {}
    for member in members:
        for name, setting in member.settings.items():
            settings.setdefault(name, {})[member.name] = setting
    return [_option(name, same, settings.keys()) for name, same in settings.items()]


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
    shared: dict[str, list[str]] = {}
    for member, text in values.items():
        shared.setdefault(str(text), []).append(member)
    if len(shared) == 1:
        return next(iter(shared))
    return "; ".join(f"{', '.join(members)}: {text.rstrip('.')}" for text, members in shared.items())


def given(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings on the command line; the others keep their defaults, which differ from measure to measure."""
    return {name: value for name, value in settings.items() if is_given(name)}


def named(names: Sequence[str]) -> Sequence[str] | None:
    """The measures named on the command line, or None without --measure."""
    return names if is_given("measures") else None
