"""The versions of a run in a checkpoint: which there are, and the newest one that is intact."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from bigtopic.errors import CorpusDamaged, CorpusExists, ModelError, ModelVersionError, warn
from bigtopic.methods import Method
from bigtopic.state import model_store
from bigtopic.state.model import TopicModel
from bigtopic.storage.lock import LOCK
from bigtopic.storage.place import Place
from bigtopic.storage.writers import root_attributes
from bigtopic.storage.zarr_metadata import DRAFT, ROOT

__all__ = [
    "DOCUMENTS",
    "FORMAT",
    "VERSION_NAME",
    "WHAT",
    "documents_of",
    "is_rest",
    "load_newest",
    "load_version",
    "name_of",
    "newest_intact",
    "record_of",
    "versions",
    "writer_of",
]

FORMAT = "bigtopic-checkpoint"
VERSION_NAME = re.compile(r"(phase-\d{2}-)?step-\d{12}")
DOCUMENTS = re.compile(r"documents(-\d{2})?")
WHAT = "a bigtopic checkpoint"
_BESIDE = {ROOT, DRAFT, LOCK}

Loaded = TypeVar("Loaded")


def name_of(model: TopicModel) -> str:
    """The name of the version that a model is saved in."""
    phase = f"phase-{model.cursor.phase:02d}-" if model.cursor.phase else ""
    return f"{phase}step-{model.cursor.step:012d}"


def documents_of(phase: int) -> str:
    """The name of the folder of the state of documents, in a phase of the method."""
    return f"documents-{phase:02d}" if phase else "documents"


def versions(place: Place) -> list[str]:
    """Names of the versions that were completed, the oldest first. They may be damaged by now."""
    names = [name for name in place.names() if VERSION_NAME.fullmatch(name)]
    complete = [name for name in names if (place / name / "zarr.json").exists()]
    return sorted(complete, key=lambda name: (name.startswith("phase"), name))


def is_rest(place: Place) -> bool:
    """Whether a folder whose root is missing or damaged holds versions of a run, and nothing else than a checkpoint."""
    names = place.names() if versions(place) else []
    return bool(names) and all(
        name in _BESIDE or VERSION_NAME.fullmatch(name) or DOCUMENTS.fullmatch(name) for name in names
    )


def record_of(version: Place) -> Mapping[str, Any]:
    """The record of the run that was saved with a version; empty where it is damaged, or was saved by hand."""
    with suppress(KeyError, TypeError):
        record = model_store.describe(version)["extra"]["run"]
        return record if isinstance(record, Mapping) else {}
    return {}


def writer_of(place: Place) -> str:
    """The version of bigtopic that wrote a checkpoint, as far as its newest version tells."""
    for version in reversed(versions(place)):
        known = record_of(place / version).get("versions")
        if isinstance(known, Mapping) and known.get("bigtopic"):
            return f"bigtopic {known['bigtopic']}"
    return "an earlier version of bigtopic"


def newest_intact(place: Place, load: Callable[[Place], Loaded]) -> Loaded | None:
    """The newest version in a checkpoint that loads; None where there is no version yet. Warns of damaged ones.

    Parameters
    ----------
    load : reads a version; raises CorpusDamaged or ModelError when it is damaged

    Raises
    ------
    CorpusDamaged, ModelError
        When all versions are damaged; the message is about the newest.
    ModelVersionError
        When a newer bigtopic saved one of those that are tried.
    """
    damaged: list[CorpusDamaged | ModelError] = []
    for version in reversed(versions(place)):
        try:
            found = load(place / version)
        except ModelVersionError:  # intact: a run that goes on from the one before it would remove it
            raise
        except (CorpusDamaged, ModelError) as error:
            if version not in versions(place):  # a run that goes on has removed it, and has newer ones
                return newest_intact(place, load)
            damaged.append(error)
            continue
        for failure in damaged:
            what = str(failure).partition("; ")[0]  # without the remedy, which is of no use here
            warn(f"{what}; going on from the version before it, {version}")
        return found
    if damaged:
        raise damaged[0]
    return None


def load_version(version: Place, method: Method | None) -> tuple[TopicModel, dict[str, Any]]:
    """The model of a version, and the extra data saved with it.

    Raises
    ------
    ModelError
        When it is damaged, or is a model of another phase, or after another number of updates, than its name says.
    """
    model, extra = model_store.load(version.url, method)
    if version.url.rpartition("/")[2] != name_of(model):
        raise ModelError(f"{version.url} holds the model of {name_of(model)}")
    return model, extra


def load_newest(
    url: Any, method: Method | None = None, storage_options: Mapping[str, Any] | None = None
) -> tuple[TopicModel, dict[str, Any], Any]:
    """The model at a path or URL, or the newest intact version of a checkpoint; the extra data saved with it; its URL.

    Raises
    ------
    ModelError
        As `model_store.load` does; and when the run has not been saved yet, or the root of its folder is lost.
    """
    place = Place.of(url)
    about: Mapping[str, Any] | None = None
    if place.local:
        with suppress(CorpusExists):
            about = root_attributes(place, WHAT)
    if FORMAT not in (about or {}):
        if place.local and is_rest(place):
            raise ModelError(
                f"{place.url}/{ROOT}, which says that this is a checkpoint, is missing or damaged; resume the run, "
                f"which writes it again, or load a version: {(place / versions(place)[-1]).url}"
            )
        return *model_store.load(url, method, storage_options), url
    found = newest_intact(place, lambda version: (*load_version(version, method), version.url))
    if found is None:
        raise ModelError(f"{place.url} is a checkpoint of a run that has not been saved yet")
    return found
