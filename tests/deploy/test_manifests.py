"""Manifests, image and compose file: what refers to something refers to what is there. The slow tests hold the
manifests against the schemas of Kubernetes and of the Dask operator, whose wheel has them."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import dask
import distributed  # noqa: F401  whose settings are in dask.config
import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parent))

import containers as c
from hosts import REPOSITORY

from bigtopic.cli import main

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
PORT = re.compile(r"(?=.*[a-z])[a-z0-9]([-a-z0-9]{0,13}[a-z0-9])?")
ALL = c.objects()
PODS = {f"{one['kind']} {place}": pod for one in ALL for place, pod in c.pods(one).items()}
KUBERNETES = "1.31"
OPERATOR = "2026.3.0"
CRD = "dask_kubernetes/operator/deployment/helm/dask-kubernetes-operator/crds/daskcluster.yaml"


def by_kind(kind):
    return {one["metadata"]["name"]: one for one in ALL if one["kind"] == kind}


def commands():
    """Every command of a container, as written."""
    for pod in PODS.values():
        for container in c.containers(pod):
            yield container["args"]
    for service in c.services().values():
        words = c.of_service(service, {"compiled": Path(), "runs": Path()}).command
        if words[0] == "sh":
            script = (
                words[-1]
                .replace("\\\n", "")
                .replace("$corpus", "corpus.zarr")
                .replace("$topics", "topics.zarr")
            )
            lines = [re.sub(r" > /dev/null.*", "", line).strip() for line in script.splitlines()]
            yield from (shlex.split(line) for line in lines if line.startswith("bigtopic "))
        else:
            yield words


def test_objects_have_names_that_are_used_once():
    names = [(one["kind"], one["metadata"]["name"]) for one in ALL]
    assert len({*names}) == len(names) == 5 and all(NAME.fullmatch(name) for _, name in names)
    assert len(f"{next(iter(by_kind('DaskCluster')))}-default-worker-{'0' * 10}") <= 63


def test_what_pods_refer_to_is_there():
    made = {
        *re.findall(r"create secret generic (\S+)", "".join(p.read_text() for p in c.KUBERNETES.iterdir()))
    }
    assert made == {"bigtopic-tls", "bigtopic-store"}
    assert {kind for kind, _ in (key.split() for key in PODS)} == {"DaskCluster", "Job", "CronJob"}
    for pod in PODS.values():
        volumes = {one["name"]: one for one in pod["volumes"]}
        for volume in volumes.values():
            assert volume.get("secret", {"secretName": "bigtopic-tls"})["secretName"] in made
            claim = volume.get("persistentVolumeClaim", {}).get("claimName")
            assert claim is None or claim in by_kind("PersistentVolumeClaim")
        mounted = set()
        for container in c.containers(pod):
            mounted |= {mount["name"] for mount in container["volumeMounts"]}
            ports = {port["name"] for port in container.get("ports", ())}
            assert all(map(PORT.fullmatch, ports))
            for probe in ("readinessProbe", "livenessProbe"):
                assert probe not in container or container[probe]["httpGet"]["port"] in ports
            for source in container["envFrom"]:
                ((kind, reference),) = source.items()
                known = made if kind == "secretRef" else by_kind("ConfigMap")
                assert reference["name"] in known
        assert mounted == volumes.keys()
    (cluster,) = by_kind("DaskCluster").values()
    scheduler = cluster["spec"]["scheduler"]
    (container,) = scheduler["spec"]["containers"]
    assert {port["targetPort"] for port in scheduler["service"]["ports"]} <= {
        p["name"] for p in container["ports"]
    }
    assert scheduler["service"]["selector"]["dask.org/cluster-name"] == cluster["metadata"]["name"]
    addresses = {
        word for pod in PODS.values() for one in c.containers(pod) for word in one["args"] if "://big" in word
    }
    assert addresses == {
        f"tls://{cluster['metadata']['name']}-scheduler:8786"
    }  # the operator's name of the service


def test_pods_run_one_image_as_an_ordinary_user():
    images = set()
    for pod in PODS.values():
        assert pod["securityContext"]["runAsNonRoot"] and pod["securityContext"]["runAsUser"] == 1000
        for container in c.containers(pod):
            images.add(container["image"])
            own = container["securityContext"]
            assert own["readOnlyRootFilesystem"] and not own["allowPrivilegeEscalation"]
            assert own["capabilities"] == {"drop": ["ALL"]} and "limits" in container["resources"]
            assert {"/tmp", "/var/cache/bigtopic"} <= {
                mount["mountPath"] for mount in container["volumeMounts"]
            }
    assert len(images) == 1 and f"-t {images.pop()} ." in (c.KUBERNETES / "Dockerfile").read_text()


def test_the_image_is_made_of_what_is_there():
    lines = (c.KUBERNETES / "Dockerfile").read_text().splitlines()
    for line in lines:
        if line.startswith("COPY "):
            sent = (REPOSITORY / ".dockerignore").read_text().split()
            assert all(
                (REPOSITORY / source).exists() and f"!{source}" in sent for source in line.split()[1:-1]
            )
    (extras,) = re.findall(r"/src\[([\w,]+)\]", "\n".join(lines))
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*extras.split(",")} <= {*project["optional-dependencies"]}
    users = [line for line in lines if line.startswith("USER ")]
    assert users == ["USER 1000"] and lines.index(users[0]) > max(
        lines.index(x) for x in lines if x.startswith("RUN")
    )
    for service in c.services().values():
        if "build" in service:
            assert (c.COMPOSE.parent / service["build"]["context"] / service["build"]["dockerfile"]).is_file()


def test_every_variable_is_a_setting():
    (config,) = by_kind("ConfigMap").values()
    variables = {**config["data"]}
    for service in c.services().values():
        variables |= service.get("environment", {})
    settings = [
        name for name in variables if name.startswith("DASK_") and name != "DASK_BIGTOPIC__ENVIRONMENT"
    ]
    assert len(settings) > 10
    for name in settings:
        path = name.removeprefix("DASK_").lower().replace("__", ".")
        assert dask.config.get(path, "no such setting") != "no such setting", name
    assert all(isinstance(value, str) for value in variables.values())


@pytest.mark.parametrize("command", [*commands()], ids=" ".join)
def test_commands_are_commands(command):
    if command[0] == "bigtopic":
        verb = main.get_command(None, command[1])
        verb.make_context(command[1], command[2:])
    elif command[0] == "dask":
        from distributed.cli import dask_scheduler, dask_worker

        verb = {"scheduler": dask_scheduler, "worker": dask_worker}[command[1]].main
        verb.make_context(command[1], command[2:])
    else:
        assert command[0] in ("moto_server", "python")


# ------------------------------------------------------------------ schemas


@pytest.fixture(scope="module")
def definition(tmp_path_factory):
    """The operator's definition of a DaskCluster, from its wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", str(folder)]
    done = subprocess.run([*pip, f"dask-kubernetes=={OPERATOR}"], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"the operator's wheel cannot be downloaded: {done.stderr}")
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
        found = yaml.safe_load(wheel.read(CRD))
    (version,) = found["spec"]["versions"]
    return closed(version["schema"]["openAPIV3Schema"])


def closed(schema):
    """The same schema, which refuses fields that it does not name: the server would drop them in silence."""
    if isinstance(schema, list):
        return [closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(one) for name, one in schema.items()}
    if isinstance(found.get("properties"), dict) and found.get("type") == "object":
        found.setdefault("additionalProperties", bool(found.get("x-kubernetes-preserve-unknown-fields")))
    if found.get("x-kubernetes-int-or-string"):
        found.pop("type", None)
    return found


def problems(schema, value):
    jsonschema = pytest.importorskip("jsonschema")
    return [
        f"{list(e.path)}: {e.message[:200]}" for e in jsonschema.Draft7Validator(schema).iter_errors(value)
    ]


@pytest.mark.slow
def test_the_cluster_is_one_of_the_operator(definition):
    (cluster,) = by_kind("DaskCluster").values()
    spec = definition["properties"]["spec"]
    assert not problems(spec, cluster["spec"])
    # The schema does find what is wrong
    wrong = yaml.safe_load(yaml.safe_dump(cluster["spec"]))
    wrong["worker"]["spec"]["containers"][0]["enviroment"] = []
    wrong["worker"]["replicas"] = "four"
    wrong["scheduler"]["spec"]["containers"][0]["ports"][0]["containerPort"] = "8786"
    assert len(problems(spec, wrong)) == 3


@pytest.mark.slow
def test_pods_are_pods_of_kubernetes(definition):
    of_pods = definition["properties"]["spec"]["properties"]["worker"]["properties"]["spec"]
    assert "containers" in of_pods["properties"]
    for name, pod in PODS.items():
        assert not problems(of_pods, pod), name


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ConfigMap", "PersistentVolumeClaim", "Job", "CronJob"])
def test_objects_are_objects_of_kubernetes(kind):
    validate = pytest.importorskip("kubernetes_validate", reason="needs bigtopic[deploy]")
    for one in by_kind(kind).values():
        validate.validate(one, KUBERNETES, strict=True)
    with pytest.raises(validate.ValidationError):
        validate.validate({**one, "sepc": {}}, KUBERNETES, strict=True)
