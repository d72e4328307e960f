"""Stores behind a URL: their errors, and conditional writes.

A *version* stands for the content of an object: on S3 its ETag, elsewhere the bytes themselves. S3 compares versions
itself, so of several writers one wins. Google Cloud Storage and Azure create an object on the condition that there is
none, but fsspec offers no replacement on a condition there, nor on any other file system: the content is then
compared just before it is written, which leaves a gap of one round trip between processes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock
from typing import Any

from bigtopic.errors import BigtopicError, StoreError, either

__all__ = [
    "Version",
    "has_buckets",
    "patient",
    "reaching",
    "remove_if",
    "replace_if",
    "uncached",
    "version_of",
]

Version = str | bytes

ATTEMPTS = 12  # at a request to S3
_S3 = {"s3", "s3a"}
_BUCKETS = _S3 | {"gs", "gcs", "abfs", "abfss", "az", "adl"}
_LIBRARIES = {"botocore", "aiobotocore", "aiohttp", "gcsfs", "google", "azure", "requests", "paramiko"}
_REFUSED = {"PreconditionFailed", "ConditionalRequestConflict", "NoSuchKey", "412", "409", "404"}
_ONE_AT_A_TIME = Lock()  # for file systems that compare nothing themselves, `memory://` among them


def _protocols(filesystem: Any) -> set[str]:
    named = filesystem.protocol
    return {named} if isinstance(named, str) else set(named)


def has_buckets(filesystem: Any) -> bool:
    """Whether folders are but prefixes of keys, and need not be made."""
    return bool(_protocols(filesystem) & _BUCKETS)


def patient(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with which a request to S3 that gets no answer, or an error of the server such as 503, is repeated.

    It is made `ATTEMPTS` times, with random pauses that double up to 20 seconds: at most 151 seconds in all. What
    `config_kwargs` says about retries counts instead. The libraries of other stores repeat requests by themselves.
    """
    if url.split("://")[0] not in _S3:
        return dict(options)
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    return {**options, "config_kwargs": {"retries": retries, **(options.get("config_kwargs") or {})}}


def uncached(url: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with which fsspec asks the store itself: the listings it keeps do not show what others wrote.

    s3fs reads objects in pieces at once, after a request for the size; ours are read whole, in one request.
    """
    scheme = url.split("://")[0]
    settings: dict[str, Any] = {"use_listings_cache": False} if scheme in _BUCKETS else {}
    if scheme in _S3:
        settings["max_concurrency"] = 1
    return {**settings, **patient(url, options)}


@contextmanager
def reaching(url: str) -> Iterator[None]:
    """Turn what the libraries below fsspec raise into an error that names the URL and the remedy.

    An object that is not there stays a FileNotFoundError; a bucket that is not there does not.

    Raises
    ------
    StoreError
    """
    try:
        yield
    except (FileExistsError, IsADirectoryError, NotADirectoryError, BigtopicError):
        raise
    except FileNotFoundError as error:
        if _code(error) == "NoSuchBucket":
            raise StoreError(f"{url}: there is no such bucket; create it, or check the URL") from error
        raise
    except Exception as error:
        library = type(error).__module__.split(".")[0] in _LIBRARIES
        if not library and not isinstance(error, OSError | NotImplementedError):
            raise
        raise StoreError(f"{url}: {_what(error)}", getattr(error, "errno", None), url) from error


_OPTIONS = either("storage_options", "the environment")


def _what(error: Exception) -> str:
    """The problem and its remedy."""
    code, name = _code(error), type(error).__name__
    found = f"{code}: {error}" if code else f"{name}: {error}"
    if code in ("ExpiredToken", "TokenRefreshRequired", "InvalidToken"):
        return f"the credentials have expired ({found}); renew them and try again"
    if "Credentials" in name or code in ("InvalidAccessKeyId", "SignatureDoesNotMatch"):
        return (
            f"the credentials are missing or wrong ({found}); give them in "
            f"{either('storage_options or ', '')}the environment"
        )
    if isinstance(error, PermissionError):
        return f"access was denied ({found}); the credentials need to list, read, write and delete there"
    if isinstance(error, NotImplementedError):
        return f"this kind of URL cannot be written to ({found}); give another"
    if isinstance(error, TimeoutError | ConnectionError) or "Connect" in name or "Timeout" in name:
        return f"the server does not answer ({found}); check the address, the network and {_OPTIONS}"
    return f"the server refused ({found}); check the URL and {_OPTIONS}"


def _code(error: BaseException) -> str:
    """The code in S3's answer, if that is what this is about."""
    for reason in (error, error.__cause__):
        response = getattr(reason, "response", None)
        if isinstance(response, dict):
            return str(response.get("Error", {}).get("Code", ""))
    return ""


def version_of(filesystem: Any, path: str) -> Version | None:
    """The version of an object's current content; None if there is no object."""
    try:
        if _protocols(filesystem) & _S3:
            found = filesystem.info(path)
            return found["ETag"] if found["type"] == "file" else None
        return filesystem.cat_file(path)
    except FileNotFoundError:
        return None


def replace_if(filesystem: Any, path: str, data: bytes, version: Version | None) -> Version | None:
    """Write an object that still has this version (None: that is not there); its new version, or None if it has not.

    No two writers may ever write equal bytes: a request that is sent again after its answer was lost is refused, and
    known by its bytes.
    """
    if _protocols(filesystem) & _S3:
        condition = {"IfNoneMatch": "*"} if version is None else {"IfMatch": version}
        try:
            answer = filesystem.pipe_file(path, data, **condition)
        except OSError as error:
            if not (isinstance(error, FileExistsError) or _code(error) in _REFUSED):
                raise
            return _version_of_mine(filesystem, path, data)
        return answer["ETag"] if isinstance(answer, dict) else _version_of_mine(filesystem, path, data)
    with _ONE_AT_A_TIME:
        found = version_of(filesystem, path)
        if found != version:
            return data if found == data else None
        if version is None and has_buckets(filesystem):
            try:
                filesystem.pipe_file(path, data, mode="create")
            except FileExistsError:
                return data if version_of(filesystem, path) == data else None
        else:
            filesystem.pipe_file(path, data)
        return data


def _version_of_mine(filesystem: Any, path: str, data: bytes) -> Version | None:
    version = version_of(filesystem, path)
    with suppress(FileNotFoundError):  # its writer may remove it at any time
        if version is not None and filesystem.cat_file(path) == data:
            return version
    return None


def remove_if(filesystem: Any, path: str, version: Version) -> None:
    """Remove an object that still has this version."""
    if _protocols(filesystem) & _S3:
        bucket, key, _ = filesystem.split_path(path)
        try:
            filesystem.call_s3("delete_object", Bucket=bucket, Key=key, IfMatch=version)
        except OSError as error:
            if _code(error) not in _REFUSED:
                raise
        return
    with _ONE_AT_A_TIME:
        if version_of(filesystem, path) == version:
            filesystem.rm_file(path)
