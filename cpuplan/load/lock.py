"""The plan's file form, `intents/plan.lock.yaml`: solved layouts, kept until what they were solved from changes.

It holds CPU lists only: reasons follow from the intent and the layout (`solve.solver.explain`), so that a plan read
back is equal to the plan that was written, and a comment added to an intent does not touch the file.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from cpuplan import API_VERSION
from cpuplan.cpuset import CpuSet, CpuSetError, union
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.emit import to_yaml
from cpuplan.plan import NodeClass, NodePlan
from cpuplan.pools import PARTITION, POOLS, QOS_SETS
from cpuplan.source import Data, Position, Source

#: Raised with the built-in rules, so that a lock from before is not taken for one that was edited by hand.
FORM = 2
_CONFLICT = "take either side and compile again: what does not fit any more is solved with the fewest moves"
HEADER = "Layouts as cpuplan solved them. Commit this file: with it, `compile` moves no CPU without need.\n"


class Locked(NamedTuple):
    """The layout of one class, what it was solved from, and where it stands in the file."""

    solved_from: str
    pools: dict[str, CpuSet]
    position: Position
    places: dict[str, Position]  # of each pool's list

    @property
    def overlaps(self) -> bool:
        """Is some CPU in two pools, as no layout has it?"""
        pools = [cpus for name, cpus in self.pools.items() if name in POOLS]
        return len(union(pools)) < sum(map(len, pools))


#: Layouts by (cluster, class).
Lock = Mapping[tuple[str, str], Locked]


def find(lock: Lock, node_class: NodeClass) -> tuple[Locked | None, bool]:
    """The layout that a class starts from, and whether it is its own.

    A class that is new starts from that of its hardware without facts of its own (CPUs that are offline on some
    nodes), or from one that was solved from the same: then an intent was renamed.
    """
    cluster = node_class.cluster
    if own := lock.get((cluster, node_class.name)):
        return own, True
    if kin := lock.get((cluster, f"{node_class.intent}-{node_class.hardware}")):
        return kin, False
    wanted = digest(node_class) if lock else ""
    same = (entry for (where, _), entry in sorted(lock.items()) if where == cluster and entry.solved_from == wanted)
    return next(same, None), False


def digest(node_class: NodeClass) -> str:
    """What a layout depends on, in 16 hexadecimal digits: what is asked for and the machine."""
    import hashlib

    spec = node_class.spec
    said = (spec.pools, spec.qos, *spec.workloads, *spec.rules)
    pools = " ".join(each.model_dump_json(exclude_none=True) for each in said)
    policy = spec.kubelet.cpu_manager_policy
    near = [device.model_dump_json(exclude_none=True) for device in node_class.devices if '"near"' in pools]
    text = f"{FORM} {pools} {spec.objective} {policy} {near} {node_class.topology.fingerprint()}"
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


def read(path: Path, shown: str, *, within: Path | None = None) -> tuple[Lock, list[Diagnostic]]:
    """The locked layouts; none when there is no file yet."""
    if not os.path.lexists(path):
        return {}, []
    from cpuplan.load import yaml

    sources, diagnostics = yaml.read(path, shown, within=within)
    diagnostics = [each._replace(remedy=_CONFLICT) if each.code == "CP101" else each for each in diagnostics]
    lock: dict[tuple[str, str], Locked] = {}
    for source in sources:
        data = source.data
        form = " ".join(str(data[key]) for key in ("apiVersion", "kind") if isinstance(data, dict) and key in data)
        if form != f"{API_VERSION} Plan":
            place = source.value_at(("apiVersion",)) if form else source.value_at(())
            found = form or "without apiVersion and kind"
            diagnostics.append(diagnose("CP242", place, found=found, expected=f"{API_VERSION} Plan"))
            continue
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
    places: dict[str, Position] = {}
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
        places[name] = source.value_at(field)
    key = str(entry["cluster"]), str(entry["class"])
    if key in lock:
        labels = [Label(lock[key].position, "the first one")]
        diagnostics.append(diagnose("CP241", place, labels=labels, problem=f"has class {key[1]} of {key[0]} twice"))
        return
    lock[key] = Locked(str(entry["solvedFrom"]), pools, place, places)
