"""What the API of a cluster says of a node, and of the cluster: the steps in their order."""

from collections.abc import Callable, Iterator

from cpuplan.check.cluster.amounts import amounts
from cpuplan.check.cluster.compiled import compiled
from cpuplan.check.cluster.devices import devices
from cpuplan.check.cluster.koordinator import published
from cpuplan.check.cluster.objects import Absent, Objects
from cpuplan.check.cluster.rollout import configuration
from cpuplan.check.cluster.subject import Place, Subject
from cpuplan.check.cluster.topology import topology
from cpuplan.diagnostics.source import Locate
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.expected.objects import Compiled
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.expected.used import used

STEPS: tuple[Callable[[Subject], Iterator[Answer]], ...] = (
    amounts,
    configuration,
    topology,
    devices,
    published.check,
)


def check_node(objects: Objects, expected: Expected, node: str, locate: Locate) -> list[Answer]:
    """All answers on a node; for one that the cluster does not have, CP887 alone."""
    subject = Subject(node, expected, objects, locate)
    found = objects.find("Node", node)
    if isinstance(found, Absent) and not found.is_unknown:
        return [_absent(subject, found)]
    with used(expected, node):
        answers = [answer for step in STEPS for answer in step(subject)]
        return list(dict.fromkeys(answers))


def _absent(subject: Subject, absent: Absent) -> Answer:
    return subject.differs(
        f"Node {subject.node}",
        "CP887",
        None,
        observed="nothing",
        expected="a Node",
        kind="Node",
        name=subject.node,
        problem=absent.reason,
    )


def check_objects(objects: Objects, wanted: tuple[Compiled, ...], locate: Locate) -> list[Answer]:
    """All answers on the objects that were compiled for the cluster."""
    return list(compiled(Place(objects, locate), wanted))
