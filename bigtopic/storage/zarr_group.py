"""The root of a store: the `zarr.json` of a Zarr v3 group, whose attributes say what the store is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from bigtopic.storage.place import Place

__all__ = ["DRAFT", "ROOT", "NotAGroup", "group_attributes", "group_json", "replace_group"]

ROOT = "zarr.json"
DRAFT = "zarr.json.partial"


class NotAGroup(ValueError):
    """What is there is not the JSON of a Zarr group with attributes."""


def group_attributes(place: Place) -> dict[str, Any] | None:
    """Attributes of the group at a place, wherever it is; None where no file says anything.

    Raises
    ------
    NotAGroup
        When the file is something else.
    """
    try:
        attributes = json.loads((place / ROOT).read())["attributes"]
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise NotAGroup("it is not JSON, or has no attributes") from error
    if not isinstance(attributes, dict):
        raise NotAGroup("its attributes are not an object")
    return attributes


def group_json(attributes: Mapping[str, Any] | None = None) -> bytes:
    """The `zarr.json` of a group with these attributes."""
    return json.dumps(
        {"zarr_format": 3, "node_type": "group", "attributes": attributes or {}}, indent=1
    ).encode()


def replace_group(place: Place, attributes: Mapping[str, Any], *, sweep: bool = False) -> None:
    """Make these the attributes of the group in a folder, durably and in one step.

    Parameters
    ----------
    sweep : remove the draft that a killed process may have left. For folders without a journal: with one, the draft
        is listed there, and removed when it is ours
    """
    if sweep:
        (place / DRAFT).remove()
    (place / ROOT).replace(group_json(attributes))
