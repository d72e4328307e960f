"""Containers of the examples as local processes: each on a host of its own, with its command, its environment and its
mounts as they are written, and as the user of the image. Of the places that they name, only these are other ones here:
names of hosts lead to network namespaces (/etc/hosts), and mounted folders lie below the test's folder. `/tmp` is the
machine's.
"""

from __future__ import annotations

import os
import re
import shlex
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from hosts import REPOSITORY, Host

EXAMPLES = REPOSITORY / "examples"
KUBERNETES = EXAMPLES / "kubernetes"
COMPOSE = EXAMPLES / "docker-compose" / "compose.yaml"
USER = 1000  # of the image
ORDINARY = f"--reuid {USER} --regid {USER} --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all"
PROGRAMS = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Container:
    """What a container runs.

    command, environment : as written, references resolved as Kubernetes or Compose does
    mounts : {path: folder of this machine}
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    mounts: Mapping[str, Path]

    def start(self, host: Host, names: Mapping[str, str], folder: Path, log: Path) -> subprocess.Popen[bytes]:
        """The process, on a host that knows others by these names."""
        known = folder / "hosts"
        known.write_text("127.0.0.1 localhost\n" + "".join(f"{a} {name}\n" for name, a in names.items()))
        script = [
            "set -e",
            f"cd {shlex.quote(str(folder))}",
            *_mounting(self.mounts),
            *_reachable(Path(sys.base_prefix)),
        ]
        script += ["mount --bind hosts /etc/hosts", "cd /tmp", f'exec setpriv {ORDINARY} "$@"']
        # Each of these becomes the next one, so that what is killed is the program
        command = ["ip", "netns", "exec", host.network, "unshare", "-m", "sh", "-c", "\n".join(script), "sh"]
        variables = {"PATH": PROGRAMS, "HOME": "/tmp", "PYTHONPATH": str(REPOSITORY), **self.environment}
        with log.open("ab") as file:
            return subprocess.Popen([*command, *self.command], env=variables, stdout=file, stderr=file)


def _reachable(path: Path) -> Iterator[str]:
    """Commands that let an ordinary user reach a folder, of Python, although it is in one of root's."""
    closed = [
        folder for folder in (*reversed(path.parents), path) if not folder.stat().st_mode & stat.S_IXOTH
    ]
    if closed:
        quoted = shlex.quote(str(path))
        yield f"mkdir -p python && mount --bind {quoted} python"
        yield f"mount -t tmpfs -o mode=755 tmpfs {shlex.quote(str(closed[0]))}"
        yield f"mkdir -p {quoted} && mount --bind python {quoted}"


def _mounting(mounts: Mapping[str, Path]) -> Iterator[str]:
    """Commands that make the mounted paths, in a namespace of mounts, without a trace in the machine's folders."""
    missing = {path: source for path, source in mounts.items() if not Path(path).exists()}
    for folder in {_there(Path(path)) for path in missing}:
        yield f"mount -t tmpfs tmpfs {shlex.quote(str(folder))}"
    for path, source in missing.items():
        yield f"mkdir -p {shlex.quote(path)}"
        yield f"mount --bind {shlex.quote(str(source))} {shlex.quote(path)}"


def _there(path: Path) -> Path:
    """The nearest folder above that exists."""
    found = next(folder for folder in path.parents if folder.is_dir())
    assert found != Path("/"), f"{path} would need a new folder in /"
    return found


# ------------------------------------------------------------------ Kubernetes


def objects(*names: str) -> list[dict[str, Any]]:
    """The objects in files of examples/kubernetes; of all of them without names."""
    paths = [KUBERNETES / name for name in names] or sorted(KUBERNETES.glob("*.yaml"))
    return [one for path in paths for one in yaml.safe_load_all(path.read_text(encoding="utf-8"))]


def pods(one: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The specifications of pods in an object, by their place in it."""
    spec = one.get("spec", {})
    found = {
        "Job": lambda: {"template": spec["template"]},
        "CronJob": lambda: {"template": spec["jobTemplate"]["spec"]["template"]},
        "DaskCluster": lambda: {"scheduler": spec["scheduler"], "worker": spec["worker"]},
    }.get(one["kind"], dict)()
    return {place: pod["spec"] for place, pod in found.items()}


def containers(pod: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The containers of a pod, in the order in which they run."""
    return [*pod.get("initContainers", ()), *pod["containers"]]


def of_pod(
    pod: Mapping[str, Any],
    container: Mapping[str, Any],
    stored: Mapping[str, Mapping[str, str]],
    folders: Mapping[str, Path],
    injected: Mapping[str, str],
) -> Container:
    """A container of a pod.

    Parameters
    ----------
    stored : data of config maps and secrets, by name
    folders : by name of the volume
    injected : variables that the operator adds
    """
    variables: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        (reference,) = source.values()
        variables |= stored[reference["name"]]
    variables |= {one["name"]: one["value"] for one in container.get("env", ())}
    variables = {**injected, **variables}
    command = [_expanded(word, variables) for word in [*container.get("command", ()), *container["args"]]]
    mounts = {one["mountPath"]: folders[one["name"]] for one in container["volumeMounts"]}
    return Container(command, variables, mounts)


def _expanded(word: str, variables: Mapping[str, str]) -> str:
    return re.sub(r"\$\((\w+)\)", lambda found: variables.get(found[1], found[0]), word)


# ------------------------------------------------------------------ Compose


def services() -> dict[str, dict[str, Any]]:
    """The services of the compose file."""
    found: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text(encoding="utf-8"))["services"]
    return found


def of_service(service: Mapping[str, Any], volumes: Mapping[str, Path]) -> Container:
    """A container of a service; `volumes` are the named ones."""
    command = [_interpolated(word) for word in [*service.get("entrypoint", ()), *service.get("command", ())]]
    variables = {name: _interpolated(value) for name, value in service.get("environment", {}).items()}
    mounts = {}
    for one in service.get("volumes", ()):
        source, path, *_ = _interpolated(one).split(":")
        mounts[path] = volumes[source] if source in volumes else (COMPOSE.parent / source).resolve()
    return Container(command, variables, mounts)


def _interpolated(text: str) -> str:
    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else os.environ.get(found[1], found[2])

    return re.sub(r"\$\$|\$\{(\w+):-([^}]*)\}", value, text)
