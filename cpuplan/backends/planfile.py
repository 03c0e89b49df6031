"""The plan for programs: `.cpuplan/classes/<cluster>/<class>.json`.

A file for each class: its nodes, pools and settings, with all reasons.
"""

from functools import lru_cache
from typing import Any

from cpuplan.base.emit import Encoded, to_json
from cpuplan.diagnostics import Reason
from cpuplan.fleet import paused
from cpuplan.fleet.before import CLASSES, VERSION
from cpuplan.language.model.words import PARTITION
from cpuplan.plan import ConfiguredPlan, Pool
from cpuplan.plan.setting import Setting, plain


def path(plan: ConfiguredPlan) -> str:
    """The path of the file of a class, below `out/`."""
    cluster, name = plan.node_class.key
    return f"{CLASSES}/{cluster}/{name}.json"


def render(plan: ConfiguredPlan) -> bytes:
    """One class as JSON; of a paused one, what it was."""
    current = {"version": VERSION, **_class(plan)}
    return to_json(paused.noted(plan.kept, current) if plan.kept else current).encode()


def _class(plan: ConfiguredPlan) -> dict[str, Any]:
    node_class = plan.node_class
    return {
        "cluster": node_class.cluster,
        "class": node_class.name,
        "hardware": node_class.hardware,
        "intent": node_class.intent,
        **({"pool": node_class.target.pool} if node_class.target.pool else {}),
        "nodes": list(node_class.nodes),
        "pools": _pools(plan.pools),
        **({"sets": _sets(plan)} if plan.sets else {}),
        "settings": list(map(_setting, plan.settings)),
    }


def _setting(setting: Setting) -> dict[str, Any]:
    return {
        "component": setting.component,
        "key": setting.key,
        "value": plain(setting.value),
        "because": _because(setting.reasons),
    }


def _pools(pools: tuple[Pool, ...]) -> dict[str, Any]:
    return {
        pool.name: {"cpus": str(pool.cpus), "because": _because(pool.because)} for pool in pools
    }


def _sets(plan: ConfiguredPlan) -> dict[str, Any]:
    """QoS sets and partitions, these with what the kernel keeps off them alone."""
    sets = _pools(plan.sets)
    isolated = plan.spec.pools.isolated
    for name, partition in isolated.partitions.items() if isolated else ():
        stated = partition.isolation
        own = stated.model_dump(by_alias=True, exclude_none=True) if stated else {}
        if own and PARTITION + name in sets:
            sets[PARTITION + name]["isolation"] = own
    return sets


@lru_cache(maxsize=1 << 12)
def _because(reasons: tuple[Reason, ...]) -> Encoded:
    """Reasons, half of a file: most settings have the same in all classes."""
    return Encoded([{"text": reason.text, "origin": reason.origin} for reason in reasons])
