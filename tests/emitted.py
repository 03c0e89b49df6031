"""All that cpuplan emits for the sample, for the cases of `tests/cases/` and for recorded profiles.

For tests that give it to the programs that will read it on a cluster. Cases are taken for every
release of OpenShift too, those for Kubernetes included, so that there are far more settings
together than in the vectors.
"""

from base64 import b64decode
from collections.abc import Iterator
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from cpuplan.backends import configure, kubernetes, openshift
from cpuplan.facts import platforms
from cpuplan.plan import ConfiguredPlan, NodePlan
from tests import named_cases
from tests.conformance import nto_render
from tests.projects import REPOSITORY

UNITS = "/etc/systemd/system"


class File(NamedTuple):
    """A file of a node."""

    mode: int
    data: bytes


def sample() -> Iterator[tuple[str, dict[str, Any]]]:
    """(where, object) of the MachineConfigs in the repository's `out/`."""
    for path in sorted((REPOSITORY / "out" / "clusters").rglob("manifests/*machineconfig-*.yaml")):
        yield (
            str(path.relative_to(REPOSITORY)),
            yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader),
        )


def sample_nodes() -> Iterator[tuple[str, dict[str, File]]]:
    """(where, files by absolute path) of the nodes' trees in the repository's `out/`."""
    for node in sorted((REPOSITORY / "out" / "nodes").glob("*/*/")):
        paths = (path for path in sorted(node.rglob("*")) if path.is_file())
        files = {f"/{path.relative_to(node)}": File(0o644, path.read_bytes()) for path in paths}
        yield str(node.relative_to(REPOSITORY)), files


@cache
def case_plans() -> tuple[tuple[str, ConfiguredPlan], ...]:
    """(case, plan) of every class of every case, as its intent has it."""
    return tuple(
        (name, plan) for name in named_cases.CASES for plan in named_cases.compiled(name).plan.nodes
    )


def openshift_plans() -> Iterator[tuple[str, ConfiguredPlan]]:
    """(where, plan) of every case for every release of OpenShift, in mode mco."""
    for name, plan in case_plans():
        for release in platforms.OPENSHIFT.releases:
            yield f"{name} on {release}", _on_openshift(plan, release)


def _on_openshift(plan: ConfiguredPlan, release: str) -> ConfiguredPlan:
    target = plan.node_class.target
    node_class = copy(plan.node_class)
    update = {
        "platform": "openshift",
        "version": release,
        "mode": "mco",
        "pool": target.pool or "worker-cnf",
    }
    node_class.target = target.model_copy(update=update)
    return configure(NodePlan(node_class, plan.pools, plan.sets))


def recorded() -> Iterator[tuple[Path, list[nto_render.Compiled]]]:
    """(case, plans) of recorded profiles that the node tuning operator and cpuplan both take."""
    for case in sorted(nto_render.VECTORS.rglob("case.yaml")):
        if nto_render._load(case)[0]["exit_code"] == 0:
            try:
                yield case.parent, nto_render._compile_all(case.parent)
            except nto_render.RefusedError:
                continue


def machine_configs(plan: ConfiguredPlan) -> Iterator[dict[str, Any]]:
    """The MachineConfigs of a plan."""
    yield from (
        item.data for item in openshift.manifests(plan) if item.data["kind"] == "MachineConfig"
    )


def recorded_machine_configs() -> Iterator[tuple[str, dict[str, Any]]]:
    """(case, object) of all recorded profiles, and of clusters that are only pinned."""
    for case, compiled in recorded():
        for (kind, name), data in nto_render._manifests(case, compiled).items():
            if kind == "MachineConfig":
                yield f"{case.name}: {name}", data


def ignition_files(machine_config: dict[str, Any]) -> dict[str, File]:
    """The files that a MachineConfig lays down, by absolute path, its units among them."""
    config = machine_config["spec"]["config"]
    files = {}
    for file in config["storage"]["files"]:
        header, _, text = file["contents"]["source"].partition(",")
        assert header == "data:text/plain;charset=utf-8;base64"
        files[file["path"]] = File(file["mode"], b64decode(text, validate=True))
    for unit in config.get("systemd", {}).get("units", ()):
        files[f"{UNITS}/{unit['name']}"] = File(0o644, unit["contents"].encode())
    return files


def node_files(plan: ConfiguredPlan) -> dict[str, File]:
    """The same of a plan for Kubernetes, where an administrator copies them.

    Scripts are started by their shell.
    """
    return {f"/{path}": File(0o644, data) for path, data in kubernetes.node_files(plan).items()}
