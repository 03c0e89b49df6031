"""The Node object: which CPUs and other resources it says that the node has for pods."""

from collections.abc import Iterator

from cpuplan.check.cluster.objects import Absent, Subject
from cpuplan.components import kubelet, nrt
from cpuplan.components.derived import ALLOCATABLE, AMOUNTS, CAPACITY, KEPT, SHARED_CPUS
from cpuplan.components.openshift import mixedcpus
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings.kubelet import RESERVED_CPUS, SYSTEM_RESERVED
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.simulate.files.objects import Object
from cpuplan.upstream.koordinator.extension import constants
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, HUGEPAGES, MEMORY
from cpuplan.upstream.kubernetes.quantity import Quantity, parse

#: What is left of a sum or difference for the finding: one resource, one fact.
_NOTHING = "nothing"


def amounts(subject: Subject) -> Iterator[Answer]:
    """CP890 for each amount that is not as the plan has it."""
    expected = subject.expected.facts.get(AMOUNTS)
    node = subject.objects.find("Node", subject.node)
    for resource, wanted in (expected if isinstance(expected, dict) else {}).items():
        for column, amount in (wanted if isinstance(wanted, dict) else {}).items():
            fact = f"node {resource} {column}"
            if isinstance(node, Absent):
                yield subject.unverifiable(fact, node.reason)
            else:
                yield _compare(subject, node, resource, column, str(amount))


def _compare(subject: Subject, node: Object, resource: str, column: str, wanted: str) -> Answer:
    fact = f"node {resource} {column}"
    if node.annotations.get(constants.RAW_ALLOCATABLE) and column == ALLOCATABLE:
        return subject.unverifiable(fact, "koord-manager amplifies what can be allocated", node)
    text = _difference(node, resource) if column == KEPT else _given(node, column, resource)
    if text is None and value_of(node.data, ("status", CAPACITY)) is None:
        return subject.unverifiable(fact, "the Node has no status", node)
    if _amount(text) == _amount(wanted):
        return subject.held(fact, node, wanted)
    field = ("status", ALLOCATABLE if column == KEPT else column, resource)
    return subject.differs(
        fact,
        "CP890",
        (node, field),
        observed=_NOTHING if text is None else text,
        expected=wanted,
        because=_because(subject, resource, column),
        heals=Heals.RESTART,
        node=subject.node,
        amount=f"{column} of {resource}" if column != KEPT else f"the {resource} {column}",
    )


def _given(node: Object, column: str, resource: str) -> str | None:
    given = value_of(node.data, ("status", column, resource))
    return None if given is None else str(given)


def _difference(node: Object, resource: str) -> str | None:
    """How much less can be allocated of a resource than there is."""
    amounts = [_amount(_given(node, column, resource)) for column in (CAPACITY, ALLOCATABLE)]
    whole, free = amounts
    return str(whole.minus(free)) if whole and free else None


def _amount(text: str | None) -> Quantity | None:
    """A quantity without the form in which it was written."""
    try:
        return None if text is None else Quantity(parse(text).nano)
    except KubeletError:
        return None


def _because(subject: Subject, resource: str, column: str) -> tuple[Reason, ...]:
    """The statement from which an amount follows."""
    if resource == CPU and column == ALLOCATABLE:
        return subject.because(kubelet.NAME, RESERVED_CPUS.key)
    if resource == CPU:
        return subject.expected.pool("offlined").because
    if resource == MEMORY:
        return subject.because(kubelet.NAME, f"{SYSTEM_RESERVED.head}.memory")
    if resource == SHARED_CPUS:
        return subject.because(mixedcpus.NAME)
    if resource.startswith(HUGEPAGES):
        ending = f".resources.{resource}"
        zones = (one for one in subject.expected.settings.of(nrt.NAME) if one.key.endswith(ending))
        return next((zone.reasons for zone in zones), ())
    return ()
