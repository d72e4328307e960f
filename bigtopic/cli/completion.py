"""`bigtopic completion`: completion of verbs, options, methods and paths in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion", short_help="Print a script that completes commands in a shell.")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print a script for SHELL that completes verbs, options, methods and paths.

    \b
    Examples:
        eval "$(bigtopic completion bash)"                  in ~/.bashrc
        eval "$(bigtopic completion zsh)"                   in ~/.zshrc
        bigtopic completion fish | source                   in ~/.config/fish/config.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = click.get_current_context().find_root()
    click.echo(kind(root.command, {}, "bigtopic", "_BIGTOPIC_COMPLETE").source())
