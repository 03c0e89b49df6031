"""The plan's file form, `intents/plan.lock.yaml`: solved layouts, kept until what they were solved from changes.

It holds CPU lists only: reasons follow from the intent and the layout (`solve.solver.explain`), so that a plan read
back is equal to the plan that was written, and a comment added to an intent does not touch the file.
"""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan import API_VERSION
from cpuplan.cpuset import CpuSet, CpuSetError
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.emit import to_yaml
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.pools import PARTITION, POOLS, QOS_SETS
from cpuplan.source import Data, Position, Source

HEADER = "Layouts as cpuplan solved them. Commit this file: with it, `compile` moves no CPU without need.\n"


class Locked(NamedTuple):
    """The layout of one class, what it was solved from, and where it stands in the file."""

    solved_from: str
    pools: dict[str, CpuSet]
    position: Position


#: Layouts by (cluster, class).
Lock = Mapping[tuple[str, str], Locked]


def digest(node_class: NodeClass) -> str:
    """What a layout depends on, in 16 hexadecimal digits: what is asked for and the machine."""
    import hashlib

    spec = node_class.spec
    said = (spec.pools, spec.qos, *spec.workloads, *spec.rules)
    pools = " ".join(each.model_dump_json(exclude_none=True) for each in said)
    policy = spec.kubelet.cpu_manager_policy
    near = [device.model_dump_json(exclude_none=True) for device in node_class.devices if '"near"' in pools]
    text = f"{pools} {spec.objective} {policy} {near} {node_class.topology.fingerprint()}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def render(plans: Iterable[NodePlan]) -> str:
    """The text of the lock file."""
    classes: list[Data] = [
        {
            "cluster": plan.node_class.cluster,
            "class": plan.node_class.name,
            "solvedFrom": digest(plan.node_class),
            "pools": {pool.name: str(pool.cpus) for pool in (*plan.pools, *plan.sets)},
        }
        for plan in plans
    ]
    return to_yaml({"apiVersion": API_VERSION, "kind": "Plan", "classes": classes}, HEADER)


def read(path: Path, shown: str) -> tuple[Lock, list[Diagnostic]]:
    """The locked layouts; none when there is no file yet."""
    if not path.exists():
        return {}, []
    from cpuplan.load import yaml

    sources, diagnostics = yaml.read(path, shown)
    lock: dict[tuple[str, str], Locked] = {}
    for source in sources:
        data = source.data
        classes = data.get("classes") if isinstance(data, dict) else None
        if not isinstance(classes, list):
            diagnostics.append(diagnose("CP241", source.value_at(()), problem="has no list `classes`"))
            continue
        for index, entry in enumerate(classes):
            _read_entry(source, index, entry, lock, diagnostics)
    return lock, diagnostics


def _read_entry(
    source: Source, index: int, entry: Data, lock: dict[tuple[str, str], Locked], diagnostics: list[Diagnostic]
) -> None:
    place = source.value_at(("classes", index))
    if not isinstance(entry, dict) or not all(
        isinstance(entry.get(key), kind)
        for key, kind in (("cluster", str), ("class", str), ("solvedFrom", str | int), ("pools", dict))
    ):
        diagnostics.append(diagnose("CP241", place, problem="needs cluster, class, solvedFrom and pools"))
        return
    written = entry["pools"]
    assert isinstance(written, dict)  # noqa: S101 - tested above
    pools: dict[str, CpuSet] = {}
    for name, text in written.items():
        field = ("classes", index, "pools", name)
        if name not in (*POOLS, *QOS_SETS) and not name.startswith(PARTITION):
            diagnostics.append(diagnose("CP241", source.key_at(field), problem=f"has {name!r}, which is no pool"))
            return
        try:
            pools[name] = CpuSet.parse("" if text is None else str(text))
        except CpuSetError as error:
            diagnostics.append(diagnose("CP241", source.value_at(field), problem=f"has a wrong CPU list: {error}"))
            return
    lock[str(entry["cluster"]), str(entry["class"])] = Locked(str(entry["solvedFrom"]), pools, place)
