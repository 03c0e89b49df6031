"""NVIDIA NodeWright (Skyhook): an object that lets its operator drain, change and reboot nodes.

Its package `shellscript` runs scripts of the object on each node. Ours install the files that are
beside them, set the boot arguments, and check after the reboot that the kernel has them.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.backends import rollouts
from cpuplan.backends.base import MAY_BE_MISSING, NODE_WAVE, Manifest, NodeFile, NodeTree, metadata
from cpuplan.backends.deliveries import script
from cpuplan.base import naming
from cpuplan.components.base import template
from cpuplan.facts.platforms import KUBERNETES
from cpuplan.plan import NodeClass

API_VERSION = "skyhook.nvidia.com/v1alpha1"
KIND = "Skyhook"
#: The label that says which class a node is of; out/clusters/<cluster>/node-labels/ lists it.
CLASS_LABEL = "cpuplan.io/class"
#: NVIDIA/nodewright-packages; the operator takes the version as the tag of the image.
_IMAGE, _VERSION = "ghcr.io/nvidia/nodewright-packages/shellscript", "1.1.2"
_PACKAGE = "cpuplan"
#: Stages of the package, by the names of their scripts, which are those in `templates/`.
_SCRIPTS = ("config.sh", "config_check.sh", "post_interrupt_check.sh", "uninstall.sh")
#: The operator makes an annotation `skyhook.nvidia.com/nodeState_<name>`.
_LONGEST = naming.LONGEST_LABEL - len("nodeState_")
#: What a key of a ConfigMap may not have.
_NOT_IN_KEYS = re.compile("[^-.0-9A-Za-z]")


def labels(node_class: NodeClass) -> dict[str, str]:
    """The labels that the nodes of a class need."""
    return {CLASS_LABEL: naming.shortened(node_class.name, naming.LONGEST_LABEL)}


def manifests(node_class: NodeClass, tree: NodeTree) -> Iterator[Manifest]:
    """The object of a class: one node after another, each drained before it reboots.

    Its rollout may allow more at a time.
    """
    unavailable = rollouts.unavailable(node_class) or 1
    name = naming.shortened(f"cpuplan-{node_class.name}", _LONGEST)
    reboot = {"type": "reboot"}
    package = {
        "version": _VERSION,
        "image": _IMAGE,
        "interrupt": reboot,
        "configInterrupts": {"*": reboot},
        "configMap": _config_map(script.script_files(tree), node_class.platform.root_directory),
    }
    data: dict[str, Any] = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": metadata(name, NODE_WAVE, options=MAY_BE_MISSING),
        "spec": {
            "nodeSelectors": {"matchLabels": labels(node_class)},
            "interruptionBudget": _budget(unavailable),
            "packages": {_PACKAGE: package},
        },
    }
    yield Manifest(f"10-skyhook-{node_class.name}.yaml", data)


def _script(name: str, kubelet: str) -> str:
    return template(f"nodewright/{name}").replace(KUBERNETES.root_directory, kubelet)


def _budget(unavailable: int | str) -> dict[str, int]:
    """How many nodes may change at a time; of a share, the operator rounds down to at least one."""
    if isinstance(unavailable, str):
        return {"percent": int(unavailable.removesuffix("%"))}
    return {"count": unavailable}


def _config_map(files: Mapping[str, NodeFile], kubelet: str) -> dict[str, str]:
    """The scripts, the files by keys, and a list that says where each belongs.

    The scripts are those of a kubelet whose folder is the usual one.
    """
    keys = {path: f"file{_NOT_IN_KEYS.sub('_', path)}" for path in files}
    if len(set(keys.values())) < len(keys):
        keys = {path: f"{key}-{index}" for index, (path, key) in enumerate(keys.items())}
    lines = [f"{file.permissions} {keys[path]} {path}\n" for path, file in files.items()]
    return {
        **{name: _script(name, kubelet) for name in _SCRIPTS},
        "files": "".join(lines),
        **{keys[path]: file.text for path, file in files.items()},
    }
