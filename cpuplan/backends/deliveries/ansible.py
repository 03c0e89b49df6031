"""Ansible: an inventory file for each class, a role, and a playbook that gives the role to nodes.

The role is the same for all and copies the plain tree, so that a change shows once in a review. An
inventory file has the nodes of a class as a group, with the variables that the role reads.
"""

from collections.abc import Iterator

from cpuplan.backends.base import to_file
from cpuplan.backends.deliveries import boot
from cpuplan.backends.tree import NodeFile, NodeTree
from cpuplan.plan import NodeClass
from cpuplan.resources import resource

FOLDER = "ansible"
_ROLE = f"{FOLDER}/roles/cpuplan"
#: Of the role and the playbook; the same paths below `templates/`.
_SHIPPED = (
    f"{FOLDER}/cpuplan.yaml",
    *(f"{_ROLE}/{part}/main.yaml" for part in ("defaults", "handlers", "meta", "tasks")),
)


def common_files() -> Iterator[tuple[str, bytes]]:
    """(path below `out/`, content) of the playbook and the role."""
    for path in _SHIPPED:
        yield path, resource("templates", path).read_bytes()
    script = resource("templates", "bin", "cpuplan-apply.sh")
    yield f"{_ROLE}/files/{script.name}", script.read_bytes()


def inventory(node_class: NodeClass, tree: NodeTree) -> bytes:
    """The nodes of a class as a group, and what the role does to them."""
    loader = {f"/{path}": NodeFile(data) for path, data in boot.grub(tree).items()}
    files = {**tree.files, **loader}
    place = f"nodes/{node_class.cluster}/{node_class.name}"
    variables = {
        "cpuplan_tree": f"{{{{ role_path }}}}/../../../{place}",
        "cpuplan_files": [
            {"path": path, "mode": file.permissions} for path, file in sorted(files.items())
        ],
        "cpuplan_arguments": list(tree.arguments),
        "cpuplan_units": list(tree.enabled),
        "cpuplan_kubelet": node_class.target.kubelet_service,
        "cpuplan_runtime": _runtime(node_class),
    }
    hosts = dict.fromkeys(node_class.nodes)
    return to_file({group(node_class.name): {"hosts": hosts, "vars": variables}})


def _runtime(node_class: NodeClass) -> str:
    """The unit that runs containers."""
    target = node_class.target
    is_own = node_class.platform.has_runtime_unit
    return f"{target.runtime}.service" if is_own else target.kubelet_service


def group(name: str) -> str:
    """The group of a class: Ansible takes neither dashes nor dots, and classes no upper case."""
    return "cpuplan_" + name.replace("-", "_").replace(".", "_DOT_")
