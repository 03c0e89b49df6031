"""Ansible: an inventory file for each class, a role, and a playbook that gives the role to nodes.

The role is the same for all and copies the plain tree, so that a change shows once in a review. An
inventory file has the nodes of a class as a group, with the variables that the role reads.
"""

from collections.abc import Iterable, Iterator
from itertools import chain
from operator import itemgetter
from typing import Any

from cpuplan.backends import rollouts
from cpuplan.backends.base import NodeFile, NodeTree, to_file
from cpuplan.backends.deliveries import script
from cpuplan.base.emit import to_yaml
from cpuplan.base.program import resource
from cpuplan.facts.platforms import KUBERNETES
from cpuplan.plan import NodeClass

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
    loader = {f"/{path}": NodeFile(data) for path, data in script.grub(tree).items()}
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
    if node_class.platform.root_directory != KUBERNETES.root_directory:
        variables["cpuplan_kubelet_folder"] = node_class.platform.root_directory
    groups: dict[str, Any] = {
        group(node_class.name): {"hosts": dict.fromkeys(node_class.nodes), "vars": variables}
    }
    for wave in node_class.waves:
        groups[wave_group(wave.name)] = {"hosts": dict.fromkeys(wave.nodes)}
    return to_file(groups)


def _runtime(node_class: NodeClass) -> str:
    """The unit that runs containers."""
    target = node_class.target
    is_own = node_class.platform.has_runtime_unit
    runtime = node_class.platform.runtime or target.runtime
    return f"{runtime}.service" if is_own else target.kubelet_service


def playbooks(node_classes: Iterable[NodeClass]) -> Iterator[tuple[str, bytes]]:
    """(path below `out/`, content) of a playbook for each cluster with a rollout.

    Wave after wave, what is in none last, and in each so many nodes at a time as the intent says.
    """
    by_cluster: dict[str, list[NodeClass]] = {}
    for node_class in node_classes:
        by_cluster.setdefault(node_class.cluster, []).append(node_class)
    for cluster, members in by_cluster.items():
        if any(member.waves or rollouts.unavailable(member) is not None for member in members):
            plays = sorted(chain.from_iterable(map(_plays, members)), key=itemgetter(0))
            yield f"{FOLDER}/rollout-{cluster}.yaml", to_yaml([play for _, play in plays]).encode()


def _plays(node_class: NodeClass) -> Iterator[tuple[int, dict[str, Any]]]:
    """The number of the wave, and its play, for each wave of a class."""
    own = group(node_class.name)
    most = rollouts.unavailable(node_class) or 1
    waves = node_class.spec.rollout.waves
    for wave in node_class.waves:
        hosts = f"{own}:&{wave_group(wave.name)}"
        at_once = waves[wave.number].max_unavailable or most
        yield wave.number, _play(f"{wave.name}: {node_class.name}", hosts, at_once)
    others = "".join(f":!{wave_group(wave.name)}" for wave in node_class.waves)
    yield len(waves), _play(node_class.name, own + others, most)


def _play(title: str, hosts: str, serial: int | str) -> dict[str, Any]:
    """A play that ends the whole run with the first node that fails."""
    return {
        "name": f"Partition the CPUs of nodes, {title}",
        "hosts": hosts,
        "become": True,
        "any_errors_fatal": True,
        "serial": serial,
        "roles": [{"role": "cpuplan"}],
    }


def wave_group(name: str) -> str:
    """The group of the nodes of a wave: no class has two underscores there."""
    return group(f"_wave_{name}")


def group(name: str) -> str:
    """The group of a class: Ansible takes neither dashes nor dots, and classes no upper case."""
    return "cpuplan_" + name.replace("-", "_").replace(".", "_DOT_")
