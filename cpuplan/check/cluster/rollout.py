"""Whether the machine config operator has brought a node what its pool renders.

Source: openshift/machine-config-operator, pkg/daemon/constants (annotations of nodes),
pkg/controller/node/status.go (conditions of pools), pkg/controller/kubelet-config (conditions).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.check.cluster.objects import Absent
from cpuplan.check.cluster.rendered import rendered
from cpuplan.check.cluster.subject import Place, Subject
from cpuplan.components.derived import RENDERED
from cpuplan.components.openshift import pool as pools
from cpuplan.diagnostics.source import Field
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.simulate.koordinatorfiles.objects import Object

_PREFIX = "machineconfiguration.openshift.io/"
CURRENT, DESIRED = f"{_PREFIX}currentConfig", f"{_PREFIX}desiredConfig"
STATE, REASON = f"{_PREFIX}state", f"{_PREFIX}reason"
_DONE, _DEGRADED = "Done", "Degraded"
#: Conditions of a pool that keep its nodes from what is rendered.
_BROKEN = ("RenderDegraded", "NodeDegraded", "Degraded")
_CONFIGURATION: Field = ("spec", "configuration")


def configuration(subject: Subject) -> Iterator[Answer]:
    """CP892 for a pool or node that has not arrived; then what its rendered object has (CP891).

    Compared is what the pool renders now, since a node on its way will get that; without the pool,
    what the node has.
    """
    expected = subject.expected.facts.get(RENDERED)
    if not isinstance(expected, dict):
        return
    pool = subject.objects.find("MachineConfigPool", str(expected["pool"]))
    node = subject.objects.find("Node", subject.node)
    of_pool = _pool(subject, pool, str(expected["pool"]))
    yield of_pool
    yield _node(subject, node, pool, of_pool)
    missing = _not_taken(subject, pool, expected)
    if missing:
        yield missing
        return
    yield from rendered(subject, _target(pool) or _annotation(node, CURRENT))


def _target(pool: Object | Absent) -> str:
    """The rendered MachineConfig that a pool wants on its nodes."""
    if isinstance(pool, Absent):
        return ""
    return str(value_of(pool.data, (*_CONFIGURATION, "name")) or "")


def _annotation(node: Object | Absent, key: str) -> str:
    return "" if isinstance(node, Absent) else node.annotations.get(key, "")


def _pool(subject: Subject, pool: Object | Absent, name: str) -> Answer:
    fact = f"pool {name}"
    if isinstance(pool, Absent) and pool.is_unknown:
        return subject.unverifiable(fact, pool.reason)
    problem = pool.reason if isinstance(pool, Absent) else pool_problem(pool)
    found = None if isinstance(pool, Absent) else pool
    return _answer(subject, fact, found, (), f"MachineConfigPool {name}", problem)


def pool_problem(pool: Object) -> str:
    """Why a pool has not brought its nodes to what it renders; empty if it has."""
    conditions = conditions_of(pool)
    for kind, status, message in conditions:
        if kind in _BROKEN and status == "True":
            return f"{kind}: {message}" if message else kind
    generation = value_of(pool.data, ("metadata", "generation"))
    observed = value_of(pool.data, ("status", "observedGeneration"))
    if isinstance(generation, int) and isinstance(observed, int) and observed < generation:
        return "the operator has not seen its newest version"
    wanted, reached = _target(pool), value_of(pool.data, ("status", "configuration", "name"))
    is_updated = any(each[:2] == ("Updated", "True") for each in conditions)
    if is_updated and wanted == reached:
        return ""
    paused = value_of(pool.data, ("spec", "paused")) is True
    counts = _counts(pool)
    return f"it is paused{counts}" if paused else f"its nodes are being updated{counts}"


def _counts(pool: Object) -> str:
    status = value_of(pool.data, ("status",))
    numbers = status if isinstance(status, Mapping) else {}
    if "machineCount" not in numbers:
        return ""
    return f", {numbers.get('updatedMachineCount', 0)} of {numbers['machineCount']} are"


def conditions_of(found: Object) -> list[tuple[str, str, str]]:
    """Type, status and message of each condition, in their order."""
    listed = value_of(found.data, ("status", "conditions"))
    items = listed if isinstance(listed, list) else []
    return [
        (str(item.get("type")), str(item.get("status")), _line(item.get("message")))
        for item in items
        if isinstance(item, dict)
    ]


def _line(message: Any) -> str:
    return " ".join(str(message or "").split())


def _node(
    subject: Subject, node: Object | Absent, pool: Object | Absent, of_pool: Answer
) -> Answer:
    """A node that waits for its pool has the finding of the pool, which says why."""
    fact = "node configuration"
    if isinstance(node, Absent):
        return subject.unverifiable(fact, node.reason)
    if not _annotation(node, CURRENT):
        return subject.unverifiable(fact, f"the Node has no annotation {CURRENT}", node)
    is_degraded = _annotation(node, STATE) == _DEGRADED
    problem = _failure(node) if is_degraded else _way(node, _target(pool))
    field = ("metadata", "annotations", STATE if is_degraded else CURRENT)
    answer = _answer(subject, fact, node, field, f"node {subject.node}", problem)
    if of_pool.finding and problem and not is_degraded:
        return answer._replace(finding=of_pool.finding)
    return answer


def _failure(node: Object) -> str:
    reason = _line(_annotation(node, REASON))
    return f"its configuration failed: {reason}" if reason else "its configuration failed"


def _way(node: Object, target: str) -> str:
    """What a node waits for; empty for one that has arrived."""
    current, state = _annotation(node, CURRENT), _annotation(node, STATE)
    desired = _annotation(node, DESIRED) or current
    if current != desired:
        return f"it is on the way from {current} to {desired}"
    if target and current != target:
        return f"it has {current}, and its pool wants {target}"
    return f"its state is {state}" if state not in ("", _DONE) else ""


def _not_taken(
    subject: Subject, pool: Object | Absent, expected: Mapping[str, Any]
) -> Answer | None:
    """CP892 for compiled objects that the pool does not render: everything of theirs lacks."""
    if isinstance(pool, Absent):
        return None
    listed = value_of(pool.data, (*_CONFIGURATION, "source"))
    sources = listed if isinstance(listed, list) else []
    names = {str(item.get("name")) for item in sources if isinstance(item, dict)}
    missing = [name for name in expected["machineConfigs"] if name not in names]
    if not names or not missing:
        return None
    problem = f"{_target(pool)} is rendered without MachineConfig {', '.join(missing)}"
    what = f"MachineConfigPool {pool.name}"
    return _answer(
        subject, "rendered MachineConfig", pool, (*_CONFIGURATION, "source"), what, problem
    )


def _answer(
    place: Place, fact: str, found: Object | None, field: Field, what: str, problem: str
) -> Answer:
    if not problem and found:
        return place.held(fact, found)
    because = place.because(pools.NAME) if isinstance(place, Subject) else ()
    return place.differs(
        fact,
        "CP892",
        (found, field) if found else None,
        observed=problem,
        expected="",
        because=because,
        heals=Heals.REBOOT,
        what=what,
        problem=problem,
    )
