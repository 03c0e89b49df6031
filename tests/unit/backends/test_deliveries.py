"""Every delivery holds what the plain tree holds."""

import json
from base64 import b64decode
from copy import copy
from typing import Any

import pytest
import yaml

from cpuplan import backends
from cpuplan.backends import deliveries, kubernetes
from cpuplan.backends.base import Manifest, NodeFile, NodeTree
from cpuplan.backends.deliveries import ansible, cluster_api, ignition, node_wright, script
from cpuplan.plan import ConfiguredPlan, Plan
from tests.machines.plans import no_position, plan

#: Something of each kind: files, a script, units, boot arguments.
SPEC: dict[str, Any] = {
    "platform": "kubernetes",
    "version": "1.36",
    "shared": "1",
    "offlined": "3",
}

OBJECTS = (cluster_api.KIND, node_wright.KIND)
TREE = NodeTree({}, ("a",), (), {})


def delivered(*names: str, **further: Any) -> tuple[ConfiguredPlan, dict[str, bytes]]:
    made = plan(**SPEC, target={"delivery": list(names), **further})
    return made, dict(kubernetes.delivered(made))


def tree_of(made: ConfiguredPlan) -> NodeTree:
    """The tree that deliveries get: files with the stamp, whose components they do not know."""
    tree = kubernetes.stamped(made)
    files = {path: file._replace(component="") for path, file in tree.files.items()}
    return tree._replace(files=files)


def laid(tree: NodeTree) -> dict[str, NodeFile]:
    """What a delivery with a script lays down."""
    return dict(script.script_files(tree))


def test_cloud_init() -> None:
    made, files = delivered("cloudInit")
    (data,) = files.values()
    config = yaml.safe_load(data)
    written = {
        file["path"]: NodeFile(file["content"].encode(), int(file["permissions"], 8))
        for file in config["write_files"]
    }
    assert written == laid(tree_of(made))
    assert config["runcmd"] == [["bash", script.APPLY]]


def test_butane_and_ignition() -> None:
    made, files = delivered("butane", "ignition")
    tree = tree_of(made)
    by_end = {path.rpartition(".")[2]: data for path, data in files.items()}
    butane, ignition = yaml.safe_load(by_end["yaml"]), json.loads(by_end["ign"])
    assert tree.files == {
        file["path"]: NodeFile(file["contents"]["inline"].encode(), file["mode"])
        for file in butane["storage"]["files"]
    }
    assert tree.files == {
        file["path"]: NodeFile(decoded(file["contents"]["source"]), file["mode"])
        for file in ignition["storage"]["files"]
    }
    assert butane["kernel_arguments"]["should_exist"] == list(tree.arguments)
    assert ignition["kernelArguments"]["shouldExist"] == list(tree.arguments)
    assert butane["variant"] == "fcos"


def decoded(url: str) -> bytes:
    return b64decode(url.partition(",")[2], validate=True)


def test_units_are_enabled() -> None:
    tree = NodeTree({}, (), ("x.service",), {})
    for render in (ignition.butane, ignition.ignition):
        config = yaml.safe_load(render(tree, delivered("butane")[0].node_class.target))
        assert config["systemd"]["units"] == [{"name": "x.service", "enabled": True}]


def test_the_variant_of_flatcar() -> None:
    (data,) = delivered("butane", osFamily="flatcar")[1].values()
    assert yaml.safe_load(data)["variant"] == "flatcar"


def test_an_inventory_for_ansible() -> None:
    made, files = delivered("ansible")
    (data,) = files.values()
    ((group, content),) = yaml.safe_load(data).items()
    assert group == "cpuplan_" + made.node_class.name.replace("-", "_")
    assert list(content["hosts"]) == list(made.node_class.nodes)
    paths = {file["path"].lstrip("/") for file in content["vars"]["cpuplan_files"]}
    assert paths == kubernetes.node_files(made).keys() - {"cmdline"}


def test_groups_of_classes_differ() -> None:
    names = ["a.b", "a-b", "a--b", "a-dot-b"]
    assert len({ansible.group(name) for name in names}) == len(names)


def test_the_tree_is_there_for_ansible() -> None:
    made, _ = delivered("ansible")
    paths = backends.tree(Plan((made,)))
    assert f"nodes/site-a/{made.node_class.name}/cmdline" in paths
    assert "ansible/roles/cpuplan/tasks/main.yaml" in paths


def objects(*names: str, **further: Any) -> tuple[ConfiguredPlan, list[Manifest]]:
    made = plan(**SPEC, target={"delivery": list(names), **further})
    return made, [
        manifest for manifest in kubernetes.manifests(made) if manifest.data["kind"] in OBJECTS
    ]


def test_cluster_api() -> None:
    made, (manifest,) = objects("clusterApi", hostingNamespace="prod")
    assert manifest.is_for_host
    assert manifest.data["metadata"]["namespace"] == "prod"
    spec = manifest.data["spec"]["template"]["spec"]
    assert laid(tree_of(made)) == {
        file["path"]: NodeFile(file["content"].encode(), int(file["permissions"], 8))
        for file in spec["files"]
    }
    assert spec["preKubeadmCommands"] == [f"bash {script.APPLY}"]


def test_a_template_is_called_by_its_content() -> None:
    _, (first,) = objects("clusterApi")
    _, (same,) = objects("clusterApi", clusters=["site-a"])
    _, (other,) = objects("clusterApi", version="1.35")
    names = [manifest.data["metadata"]["name"] for manifest in (first, same, other)]
    assert names[0] == names[1]
    made = plan(**SPEC | {"offlined": ""}, target={"delivery": ["clusterApi"]})
    (changed,) = cluster_api.manifests(made.node_class, tree_of(made))
    assert changed.data["metadata"]["name"] != names[0]
    assert changed.file == first.file


def test_node_wright() -> None:
    made, (manifest,) = objects("nodeWright")
    spec = manifest.data["spec"]
    assert spec["nodeSelectors"]["matchLabels"] == deliveries.node_labels(made.node_class)
    config = spec["packages"]["cpuplan"]["configMap"]
    listed = [line.split(" ") for line in config["files"].splitlines()]
    assert laid(tree_of(made)) == {
        path: NodeFile(config[key].encode(), int(mode, 8)) for mode, key, path in listed
    }


def test_keys_of_files_differ() -> None:
    files = {"/a_b": NodeFile(b"1"), "/a/b": NodeFile(b"2")}
    (manifest,) = node_wright.manifests(delivered("tree")[0].node_class, TREE._replace(files=files))
    config = manifest.data["spec"]["packages"]["cpuplan"]["configMap"]
    assert {"1", "2"} <= set(config.values())


def test_long_names_of_classes() -> None:
    node_class = copy(delivered("tree")[0].node_class)
    node_class.name = "a" * 100
    (manifest,) = node_wright.manifests(node_class, TREE)
    assert len(f"nodeState_{manifest.data['metadata']['name']}") <= 63
    assert all(len(value) <= 63 for value in deliveries.node_labels(node_class).values())


def test_labels_of_nodes() -> None:
    made, _ = objects("nodeWright")
    files = backends.tree(Plan((made,)))
    path = f"clusters/site-a/node-labels/{made.node_class.name}.json"
    assert json.loads(files[path]) == {
        name: {"cpuplan.io/class": made.node_class.name} for name in made.node_class.nodes
    }


def test_templates_go_to_the_named_cluster() -> None:
    made, _ = objects("clusterApi", hostingCluster="management", hostingNamespace="prod")
    files = backends.tree(Plan((made,)))
    facts = json.loads(files["clusters/site-a/hosting/cluster.json"])
    assert facts["destination"] == "management"


def codes(*names: str, **further: Any) -> list[str]:
    made, _ = delivered(*names, **further)
    return [finding.code for finding in kubernetes.check(made, no_position)]


@pytest.mark.parametrize(
    ("names", "system", "wanted"),
    [
        (["tree"], None, []),
        (["tree", "ignition"], None, []),
        (["ignition", "cloudInit"], None, ["CP596"]),
        (["ansible"], "flatcar", ["CP595"]),
        (["tree", "cloudInit"], "flatcar", ["CP595"]),
        (["ignition"], "flatcar", ["CP596"]),
        (["clusterApi"], None, ["CP597"]),
        (["nodeWright"], "flatcar", ["CP595"]),
    ],
)
def test_what_deliveries_cannot_do(names: list[str], system: str | None, wanted: list[str]) -> None:
    assert codes(*names, osFamily=system) == wanted


def test_scripts_on_flatcar() -> None:
    made, _ = delivered("ignition", osFamily="flatcar")
    files = tree_of(made).files
    scripts = [path for path in files if path.endswith(".sh")]
    assert scripts
    assert all(path.startswith("/opt/bin/") for path in scripts)
    texts = "".join(file.text for file in files.values())
    assert all(f" {path}\n" in texts for path in scripts)
    assert "/usr/local/" not in texts


def test_the_script_reads_what_it_is_given() -> None:
    tree = NodeTree({}, ("a", "b=c"), ("x.service",), {})
    files = script.script_files(tree)
    assert files[script.ARGUMENTS].data == b"a\nb=c\n"
    assert files[script.UNITS].data == b"x.service\n"
    text = files[script.APPLY].text
    assert all(f"root{path}\n" in text for path in (script.ARGUMENTS, script.UNITS))


def test_only_what_is_named() -> None:
    assert delivered("tree")[1] == {}
