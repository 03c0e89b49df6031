"""Cluster API: a KubeadmConfigTemplate for each class, in the management cluster.

Templates are not changed, so that the name has a digest of the content: a MachineDeployment that
gets the new name replaces its machines.
"""

from collections.abc import Iterator
from hashlib import sha256

from cpuplan.backends.base import MAY_BE_MISSING, NODE_WAVE, Manifest, NodeTree, metadata
from cpuplan.backends.deliveries import script
from cpuplan.base import naming
from cpuplan.base.emit import to_json
from cpuplan.plan import NodeClass

API_VERSION = "bootstrap.cluster.x-k8s.io/v1beta2"
KIND = "KubeadmConfigTemplate"
_APPLY = f"bash {script.APPLY}"
#: A minute later, when Cluster API has seen that the node is set up.
_REBOOT = f"if {script.NEEDS_REBOOT}; then shutdown -r +1; fi"


def manifests(node_class: NodeClass, tree: NodeTree) -> Iterator[Manifest]:
    """The template of a class."""
    spec = {
        "files": script.entries(tree),
        "preKubeadmCommands": [_APPLY],
        "postKubeadmCommands": [_REBOOT],
    }
    digest = sha256(to_json(spec).encode()).hexdigest()[:8]
    name = f"{naming.shortened(node_class.name, naming.LONGEST_OBJECT - 9)}-{digest}"
    made = metadata(name, NODE_WAVE, options=MAY_BE_MISSING)
    made["namespace"] = node_class.target.hosting_namespace
    template = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "metadata": made,
        "spec": {"template": {"spec": spec}},
    }
    file = f"10-kubeadmconfigtemplate-{node_class.name}.yaml"
    yield Manifest(file, template, is_for_host=True)
