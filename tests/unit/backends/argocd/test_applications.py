"""The ApplicationSet and the AppProject, as a Delivery document asks for them."""

from typing import Any

import yaml

from cpuplan import backends
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.write import emitted
from tests.machines.plans import plan, regular

SHARING: dict[str, Any] = {"runtime": {"sharedNamespaces": ["ran"]}}
POOL = plan(regular(cores=8), shared="2-3", target={"pool": "worker-cnf"}, spec=SHARING)
VERIFY: dict[str, Any] = {"image": "registry.example.com/cpuplan:1.0", "pullSecret": "pull"}
OTHER = plan(regular(cores=8), platform="kubernetes", version="1.34", spec={"verify": VERIFY})
OPTIONS = "argocd.argoproj.io/sync-options"


def tree(*nodes: ConfiguredPlan, **given: Any) -> dict[str, Any]:
    """The files for Argo CD, read; each is valid by its schema."""
    delivery = DeliverySpec(repository="https://git.example.com/a.git", **given)
    files = backends.tree(Plan(nodes), delivery)
    own = {path: data for path, data in files.items() if path.startswith("argocd/")}
    assert emitted.check(own) == []
    return {path: yaml.safe_load(data) for path, data in own.items()}


def template(files: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = files["argocd/applicationset.yaml"]["spec"]["template"]["spec"]
    return made


def ignored(*nodes: ConfiguredPlan, **given: Any) -> dict[str, list[str]]:
    entries = template(tree(*nodes, ignore_differences=True, **given))["ignoreDifferences"]
    return {entry["kind"]: entry["jsonPointers"] for entry in entries}


def test_what_controllers_write_is_left_alone() -> None:
    group = "machineconfiguration.openshift.io"
    assert ignored(POOL) == {
        "KubeletConfig": [f"/metadata/annotations/{group}~1mc-name-suffix", "/metadata/finalizers"],
        "MachineConfigPool": ["/spec/configuration", "/spec/paused"],
    }
    made = template(tree(POOL, ignore_differences=True))
    assert "RespectIgnoreDifferences=true" in made["syncPolicy"]["syncOptions"]


def test_nothing_that_is_ignored_is_emitted() -> None:
    """Git would have a field that is never applied."""
    delivery = DeliverySpec(repository="https://git.example.com/a.git", ignore_differences=True)
    files = backends.tree(Plan((POOL,)), delivery)
    entries = template(
        {"argocd/applicationset.yaml": yaml.safe_load(files["argocd/applicationset.yaml"])}
    )
    pointers = {entry["kind"]: entry["jsonPointers"] for entry in entries["ignoreDifferences"]}
    seen = set()
    for path, data in files.items():
        document = yaml.safe_load(data) if "/manifests/" in path else {}
        for pointer in pointers.get(document.get("kind"), ()):
            assert not has(document, pointer), (path, pointer)
            seen.add(document["kind"])
    assert seen == set(pointers)


def has(data: Any, pointer: str) -> bool:
    for part in pointer.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return True


def test_annotations_need_not_come_back_where_a_label_tracks() -> None:
    assert ignored(POOL, tracking="label")["KubeletConfig"] == [
        "/metadata/annotations",
        "/metadata/finalizers",
    ]


def test_pull_secrets_of_openshift_are_left_alone() -> None:
    entries = template(tree(OTHER, ignore_differences=True))["ignoreDifferences"]
    [account] = [entry for entry in entries if entry["kind"] == "ServiceAccount"]
    assert account["jqPathExpressions"] == [
        '.imagePullSecrets[]? | select(.name | test("-dockercfg-"))'
    ]


def test_a_restricted_project_names_what_is_compiled() -> None:
    spec = tree(POOL, restricted=True)["argocd/appproject.yaml"]["spec"]
    assert spec["sourceRepos"] == ["https://git.example.com/a.git"]
    assert spec["destinations"] == [
        {"name": "site-a"},
        {"name": "site-a", "namespace": "openshift-cluster-node-tuning-operator"},
    ]
    kinds = {entry["kind"] for entry in spec["clusterResourceWhitelist"]}
    assert kinds == {
        "KubeletConfig",
        "MachineConfig",
        "MachineConfigPool",
        "Namespace",
        "RuntimeClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    }
    assert spec["namespaceResourceWhitelist"] == [{"group": "tuned.openshift.io", "kind": "Tuned"}]


def kinds_of(entries: list[dict[str, str]]) -> set[tuple[str, str]]:
    """The group and kind of what a list of a project allows."""
    return {(entry["group"], entry["kind"]) for entry in entries}


def test_a_restricted_project_lets_each_object_in() -> None:
    """As Argo CD asks: the kind, and of objects in namespaces the destination too."""
    hosted = {"mode": "performanceProfile", "controlPlaneTopology": "External", "pool": "np"}
    host = plan(target={**hosted, "hostingCluster": "hub", "hostingNamespace": "clusters"})
    for node in (POOL, OTHER, host):
        delivery = DeliverySpec(repository="https://git.example.com/a.git", restricted=True)
        files = backends.tree(Plan((node,)), delivery)
        spec = yaml.safe_load(files["argocd/appproject.yaml"])["spec"]
        places = {
            (destination["name"], destination.get("namespace", ""))
            for destination in spec["destinations"]
        }
        lists = ("clusterResourceWhitelist", "namespaceResourceWhitelist")
        kinds = [kinds_of(spec[key]) for key in lists]
        for path, data in files.items():
            if "/manifests/" in path and not path.endswith("/kustomization.yaml"):
                document = yaml.safe_load(data)
                namespace = document["metadata"].get("namespace", "")
                cluster = "hub" if "/hosting/" in path else "site-a"
                assert {(cluster, ""), (cluster, namespace)} <= places
                group = document["apiVersion"].rpartition("/")[0]
                assert (group, document["kind"]) in kinds[bool(namespace)]


def test_objects_of_operators_that_may_be_missing_fail_alone() -> None:
    balloons = plan(platform="kubernetes", version="1.34", target={"mechanism": "balloons"})
    nodewright = plan(platform="kubernetes", version="1.34", target={"delivery": ["nodeWright"]})
    for node, kind in ((balloons, "BalloonsPolicy"), (nodewright, "Skyhook")):
        files = backends.tree(Plan((node,)))
        made = [yaml.safe_load(data) for path, data in files.items() if "/manifests/" in path]
        [only] = [document for document in made if document["kind"] == kind]
        options = only["metadata"]["annotations"][OPTIONS].split(",")
        assert options == ["Prune=confirm", "Delete=confirm", "SkipDryRunOnMissingResource=true"]


def test_the_plugin_gets_the_cluster_of_its_application() -> None:
    """Without `out/` in the repository, the clusters are listed in the set itself."""
    hosted = {"mode": "performanceProfile", "controlPlaneTopology": "External", "pool": "np"}
    host = plan(target={**hosted, "hostingCluster": "hub"})
    made = tree(host, plugin=True, path="sites/north")
    assert "argocd/plugin.yaml" in made
    [generator] = made["argocd/applicationset.yaml"]["spec"]["generators"]
    assert generator["list"]["elements"] == [
        {
            "name": "site-a-hosting",
            "platform": "openshift",
            "version": host.node_class.target.version,
            "destination": "hub",
            "cluster": "site-a",
            "hosting": "true",
        }
    ]
    assert template(made)["source"] == {
        "repoURL": "https://git.example.com/a.git",
        "targetRevision": "main",
        "path": "sites/north",
        "plugin": {
            "name": "cpuplan",
            "parameters": [
                {"name": "cluster", "string": "{{.cluster}}"},
                {"name": "hosting", "string": "{{.hosting}}"},
            ],
        },
    }
