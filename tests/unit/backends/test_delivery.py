"""What Git delivers: every folder builds, and the objects are what Argo CD may sync."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends import argocd
from cpuplan.backends.base import CLUSTER_KINDS, KOORDINATOR_KINDS, NAMESPACED_KINDS
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, Plan
from tests.machines.plans import plan, regular
from tests.projects import REPOSITORY

OUT = REPOSITORY / "out"
#: Not those of components, which are for others' Kustomizations.
FOLDERS = sorted(
    path.parent
    for path in OUT.rglob("kustomization.yaml")
    if "kind: Kustomization\n" in path.read_text()
)


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl is not installed")
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(OUT).as_posix())
def test_kustomize_builds(folder: Path) -> None:
    done = subprocess.run(
        ["kubectl", "kustomize", folder], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    built = {(data["kind"], data["metadata"]["name"]) for data in yaml.safe_load_all(done.stdout)}
    assert built == {(data["kind"], data["metadata"]["name"]) for data in objects(folder)}


def objects(folder: Path) -> list[dict[str, dict[str, str]]]:
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    return [yaml.safe_load((folder / name).read_text()) for name in listed]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.relative_to(OUT).as_posix())
def test_kustomization_lists_every_file(folder: Path) -> None:
    listed = yaml.safe_load((folder / "kustomization.yaml").read_text())["resources"]
    assert sorted([*listed, "kustomization.yaml"]) == sorted(path.name for path in folder.iterdir())


def test_the_project_allows_what_is_written_and_no_more() -> None:
    written = {
        # core objects have no group
        ("/".join(str(data["apiVersion"]).split("/")[:-1]), str(data["kind"]))
        for folder in FOLDERS
        if folder.name == "manifests"
        for data in objects(folder)
    }
    # The sample has no pool in mode performanceProfile, no hosted cluster, no balloons, no claims,
    # and no such deliveries; test_cases.py has them.
    others = {
        ("config.nri", "BalloonsPolicy"),
        ("config.nri", "TopologyAwarePolicy"),
        ("performance.openshift.io", "PerformanceProfile"),
        ("resource.k8s.io", "DeviceClass"),
        ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"),
        ("skyhook.nvidia.com", "Skyhook"),
    }
    assert written | others == {*CLUSTER_KINDS, *KOORDINATOR_KINDS, *NAMESPACED_KINDS}


SHARING: dict[str, Any] = {"runtime": {"sharedNamespaces": ["ran"]}}
#: What makes every kind of object.
PLANS: dict[str, ConfiguredPlan] = {
    "mco": plan(regular(cores=8), shared="2-3", target={"cpuPartitioning": True}, spec=SHARING),
    "profile": plan(target={"mode": "performanceProfile"}),
    "hosted": plan(target={"mode": "performanceProfile", "controlPlaneTopology": "External"}),
    "kubernetes": plan(
        regular(cores=8), shared="2-3", platform="kubernetes", version="1.34", spec=SHARING
    ),
}


@pytest.mark.parametrize("node", PLANS.values(), ids=PLANS)
def test_no_object_goes_without_a_word(node: ConfiguredPlan) -> None:
    files = backends.tree(Plan((node,)), DeliverySpec(repository="https://git.example.com/a.git"))
    made = [yaml.safe_load(data) for path, data in files.items() if "/manifests/" in path]
    documents = [document for document in made if document["kind"] != "Kustomization"]
    assert documents
    for document in documents:
        options = document["metadata"]["annotations"]["argocd.argoproj.io/sync-options"].split(",")
        assert {"Prune=confirm", "Delete=confirm"} <= set(options), document["kind"]


def application_set(**given: Any) -> dict[str, Any]:
    delivery = DeliverySpec(repository="https://git.example.com/a.git", **given)
    files = argocd.files(argocd.Inputs(delivery))
    made: dict[str, Any] = yaml.safe_load(files["argocd/applicationset.yaml"])
    return made


def test_a_cluster_that_leaves_the_list_loses_nothing() -> None:
    made = application_set()
    assert made["spec"]["syncPolicy"] == {
        "applicationsSync": "create-update",
        "preserveResourcesOnDeletion": True,
    }
    assert made["metadata"]["finalizers"] == ["resources-finalizer.argocd.argoproj.io"]
    # An Application with a finalizer would take its objects with it.
    assert "finalizers" not in made["spec"]["template"]["metadata"]


def test_what_git_has_no_more_is_removed_when_somebody_says_so() -> None:
    made = application_set()
    policy = made["spec"]["template"]["spec"]["syncPolicy"]
    assert policy["automated"] == {"prune": True, "selfHeal": True, "allowEmpty": False}
    # The machine config operator drops the annotations of a new KubeletConfig: the Application asks
    # all the same.
    assert {"Prune=confirm", "Delete=confirm", "PruneLast=true"} <= set(policy["syncOptions"])
    assert made["spec"]["preservedFields"]["annotations"] == [
        "argocd.argoproj.io/deletion-approved"
    ]
    by_hand = application_set(automated=False)["spec"]["template"]["spec"]["syncPolicy"]
    assert by_hand == {"syncOptions": policy["syncOptions"]}


def test_a_hosted_cluster_has_two_folders() -> None:
    """The profile goes to the hosting cluster; policies and namespaces guard the hosted one."""
    target = {"mode": "performanceProfile", "controlPlaneTopology": "External", "pool": "np"}
    target |= {"hostingCluster": "hub", "featureSet": "TechPreviewNoUpgrade"}
    hosted = plan(regular(cores=8), shared="2-3", target=target, spec=SHARING)
    files = backends.tree(Plan((hosted,)), DeliverySpec(repository="https://git.example.com/r.git"))
    folders: dict[str, set[str]] = {}
    for path in files:
        folder, _, name = path.rpartition("/")
        folders.setdefault(folder, set()).add(name)
    of_host = folders["clusters/site-a/hosting/manifests"]
    assert of_host == {"10-configmap-ran.yaml", "kustomization.yaml"}
    own = folders["clusters/site-a/manifests"]
    assert not any(name.startswith("10-") for name in own)
    assert {"30-namespace-ran.yaml", "kustomization.yaml"} < own
    facts = yaml.safe_load(files["clusters/site-a/hosting/cluster.json"])
    assert (facts["name"], facts["destination"]) == ("site-a-hosting", "hub")
    assert "destination" not in yaml.safe_load(files["clusters/site-a/cluster.json"])
    [generator] = yaml.safe_load(files["argocd/applicationset.yaml"])["spec"]["generators"]
    assert [entry["path"] for entry in generator["git"]["files"]] == [
        "out/clusters/*/cluster.json",
        "out/clusters/*/hosting/cluster.json",
    ]
