"""`bigtopic verify`: read every chunk of stores, and check it."""

from __future__ import annotations

from click import argument
from click import command as verb

from bigtopic.cli.support import terminal
from bigtopic.cli.support.parameters import PATH, as_json


@verb("verify", short_help="Read and check every chunk of stores.")
@argument("stores", nargs=-1, required=True, metavar="STORE...", type=PATH)
@as_json
def command(stores: tuple[str, ...], as_json: bool) -> None:
    """Read every chunk of each STORE, a corpus, a model or topics of documents, and check that it is as it was written.

    Checksums, counts and the rules of the format are checked; the first damage ends the command with exit code 2, and
    names the part and the array. `bigtopic info STORE --verify` describes the store, too.

    \b
    Example:
        bigtopic verify articles.zarr topics.zarr theta.zarr
    """
    from bigtopic.cli.support.facts import described

    found = []
    for store in stores:
        kind = described(store, verify=True)[0]["kind"]
        found.append({"store": store, "kind": kind, "verified": True})
        if not as_json:
            terminal.line(f"{store}: every array of the {kind} is as it was written")
    if as_json:
        terminal.to_json(found)
