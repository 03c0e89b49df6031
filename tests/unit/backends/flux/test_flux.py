"""The objects for Flux, their health checks evaluated, and their patches built by Kustomize."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import celpy
import pytest
import yaml

from cpuplan import backends
from cpuplan.backends import argocd as of_argo_cd
from cpuplan.backends import flux
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.write import emitted
from tests.machines.plans import plan, regular
from tests.unit.backends.argocd.test_health import FOLDER, cases

SHARING: dict[str, Any] = {"runtime": {"sharedNamespaces": ["ran"]}}
VERIFY: dict[str, Any] = {"verify": {"image": "registry.example.com/cpuplan:1.0"}}
POOL = plan(
    regular(cores=8), shared="2-3", target={"pool": "worker-cnf"}, spec={**SHARING, **VERIFY}
)
#: What Flux says where Argo CD says this; it has no word for what waits.
MEANING = {"Healthy": "current", "Suspended": "current", "Degraded": "failed"}
CHECKS = {health["kind"]: health for health in flux.health_expressions(flux._CHECKS)}


def tree(*nodes: ConfiguredPlan, **given: Any) -> dict[str, bytes]:
    """All files, each valid by its schema."""
    repository = given.pop("repository", "https://git.example.com/a.git")
    delivery = DeliverySpec(repository=repository, tools=("flux",), **given)
    files = backends.tree(Plan(nodes), delivery)
    assert emitted.check(files) == []
    return files


def objects(*nodes: ConfiguredPlan, name: str = "site-a", **given: Any) -> dict[str, Any]:
    """The two objects of a cluster, by kind."""
    documents = yaml.safe_load_all(tree(*nodes, **given)[f"flux/{name}.yaml"])
    return {document["kind"]: document for document in documents}


def holds(expression: str, data: dict[str, Any]) -> bool:
    """What CEL makes of it; what cannot be evaluated is waited for."""
    environment = celpy.Environment()
    program = environment.program(environment.compile(expression))
    given = {key: celpy.json_to_cel(value) for key, value in data.items()}
    try:
        return bool(program.evaluate(given))
    except celpy.CELEvalError:
        return False


@pytest.mark.parametrize(
    ("kind", "path", "expected"), cases(), ids=lambda value: str(value).replace("/", "-")
)
def test_flux_says_the_same_as_argo_cd(kind: str, path: str, expected: dict[str, str]) -> None:
    if kind == "Tuned":
        pytest.skip("Flux takes it for current as soon as it exists")
    data = yaml.safe_load((FOLDER / kind / path).read_text())
    check = CHECKS[kind]
    words = [word for word in ("failed", "current") if holds(check[word], data)]
    wanted = MEANING.get(expected["status"])
    if path in ("testdata/paused-by-annotation.yaml", "testdata/disabled.yaml"):
        # The annotation is seen once the operator has written its status.
        wanted = None
    assert words == ([wanted] if wanted else [])


def test_every_kind_that_argo_cd_checks_is_checked() -> None:
    assert set(CHECKS) | {"Tuned"} == {kind for _, kind in of_argo_cd.HEALTH_CHECKED}


def test_a_cluster_gets_its_folder() -> None:
    made = objects(POOL, path="sites/north", flux={"dependsOn": ["operators"], "timeout": "4h"})
    spec = made["Kustomization"]["spec"]
    assert spec["path"] == "./sites/north/out/clusters/site-a/manifests"
    assert spec["dependsOn"] == [{"name": "operators"}]
    assert (spec["interval"], spec["timeout"], spec["wait"], spec["prune"]) == (
        "10m",
        "4h",
        True,
        True,
    )
    assert {health["kind"] for health in spec["healthCheckExprs"]} == {
        "KubeletConfig",
        "MachineConfigPool",
    }


@pytest.mark.parametrize(
    ("repository", "url"),
    [
        ("https://git.example.com/a.git", "https://git.example.com/a.git"),
        ("git@git.example.com:platform/a.git", "ssh://git@git.example.com/platform/a.git"),
        ("ssh://git@git.example.com/a.git", "ssh://git@git.example.com/a.git"),
    ],
)
def test_flux_reads_no_short_addresses(repository: str, url: str) -> None:
    assert objects(POOL, repository=repository)["GitRepository"]["spec"]["url"] == url


@pytest.mark.parametrize(
    ("revision", "reference"),
    [("main", {"branch": "main"}), ("refs/tags/v1", {"name": "refs/tags/v1"})],
)
def test_a_revision_is_a_branch_unless_it_says_otherwise(
    revision: str, reference: dict[str, str]
) -> None:
    spec = objects(POOL, revision=revision, flux={"secret": "git"})["GitRepository"]["spec"]
    assert spec["ref"] == reference
    assert spec["secretRef"] == {"name": "git"}


def test_the_hosting_cluster_gets_a_file_of_its_own() -> None:
    hosted = {"mode": "performanceProfile", "controlPlaneTopology": "External", "pool": "np"}
    made = objects(plan(target=hosted), name="site-a-hosting")["Kustomization"]
    assert made["metadata"]["name"] == "cpuplan-site-a-hosting"
    assert made["spec"]["path"] == "./out/clusters/site-a/hosting/manifests"


def test_only_the_files_of_the_tools_are_written() -> None:
    paths = tree(POOL)
    assert not any(path.startswith("argocd/") for path in paths)
    both = DeliverySpec(repository="https://git.example.com/a.git", tools=("argocd", "flux"))
    made = backends.tree(Plan((POOL,)), both)
    assert {"argocd/appproject.yaml", "flux/site-a.yaml"} <= made.keys()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
def test_what_would_reboot_nodes_stays(tmp_path: Path) -> None:
    """Kustomize, which Flux builds with, puts the mark on each object that must stay."""
    files = tree(POOL)
    folder = "clusters/site-a/manifests/"
    for path, data in files.items():
        if path.startswith(folder):
            (tmp_path / path.removeprefix(folder)).write_bytes(data)
    [_, kustomization] = yaml.safe_load_all(files["flux/site-a.yaml"])
    listed = yaml.safe_load((tmp_path / "kustomization.yaml").read_text())
    listed["patches"] = kustomization["spec"]["patches"]
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(listed))
    built = subprocess.run(
        ["kubectl", "kustomize", tmp_path], capture_output=True, text=True, check=True
    )
    marked: dict[bool, set[str]] = {True: set(), False: set()}
    for document in yaml.safe_load_all(built.stdout):
        annotations = document["metadata"]["annotations"]
        stays = annotations.get("kustomize.toolkit.fluxcd.io/prune") == "disabled"
        marked[stays].add(document["kind"])
        assert "argocd.argoproj.io/sync-options" in annotations
    assert marked[True] >= {"KubeletConfig", "MachineConfig", "MachineConfigPool", "Namespace"}
    assert marked[False] == {
        "ClusterRole",
        "ClusterRoleBinding",
        "DaemonSet",
        "NetworkPolicy",
        "SecurityContextConstraints",
        "ServiceAccount",
    }
