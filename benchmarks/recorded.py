"""The recorded machines, by the facts that are known of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import UNKNOWN, Cpu, Topology

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
#: The facts' names of the types of cores; others have none here.
TYPES = {"P": "performance", "E": "efficient", "LPE": "lowPower"}


def recorded() -> Iterator[tuple[str, Topology]]:
    """Each machine with its name; none where there is no corpus."""
    for path in sorted(CORPUS.glob("*/expected.json")):
        facts = json.loads(path.read_text())
        topology = Topology(_cpu(row) for row in facts["cpus"] if row["online"] and row["siblings"])
        if len(topology.cores) > 1:
            yield path.parent.name, topology


def _cpu(row: dict[str, Any]) -> Cpu:
    socket, die, node, cache = (
        UNKNOWN if row.get(key) is None else row[key] for key in ("socket", "die", "numa", "l3")
    )
    core = CpuSet.parse_kernel(row["siblings"]).first
    return Cpu(row["cpu"], core, socket, die, node, cache, row["core"] or 0, _type(row))


def _type(row: dict[str, Any]) -> str:
    kind: str = row.get("type") or ""
    return TYPES.get(kind, kind)
