"""What /proc and /sys of a planned node show of its machine, its memory and its kernel."""

from collections.abc import Iterator
from pathlib import Path

from cpuplan.base.cpuset import CpuSet
from cpuplan.components import hugepages
from cpuplan.components.derived import facts
from cpuplan.plan import ConfiguredPlan
from tests.hosts import CPU, make_root

NODES = "sys/devices/system/node"
PAGES = "hugepages-{}kB"
WORKQUEUE = "sys/devices/virtual/workqueue/cpumask"
#: Sizes that the kernel of x86 has, in KiB.
_SIZES = (2048, 1024**2)


def make_machine(plan: ConfiguredPlan, root: Path) -> Path:
    """`hosts.make_root` with the machine around it."""
    make_root(plan, root)
    for path, text in (*_cpus(plan), *_nodes(plan), *_kernel(plan)):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(f"{text}\n")
    return root


def _cpus(plan: ConfiguredPlan) -> Iterator[tuple[str, object]]:
    topology, offlined = plan.topology, plan.pool("offlined").cpus
    online = topology.online - offlined
    yield f"{CPU}/possible", topology.online
    yield f"{CPU}/offline", offlined
    yield f"{CPU}/smt/active", int(topology.threads_per_core > 1)
    for cpu in online:
        core, folder = topology[cpu], f"{CPU}/cpu{cpu}"
        yield f"{folder}/topology/core_id", core.core_id
        yield f"{folder}/topology/physical_package_id", core.socket
        yield f"{folder}/topology/die_id", core.die
        yield f"{folder}/cache/index3/level", 3
        shared = topology.uncore_caches[core.uncore_cache] & online
        yield f"{folder}/cache/index3/shared_cpu_list", shared


def _nodes(plan: ConfiguredPlan) -> Iterator[tuple[str, object]]:
    topology, pages = plan.topology, hugepages.per_node(plan)
    online = topology.online - plan.pool("offlined").cpus
    for node, known in topology.numa_facts.items():
        folder = f"{NODES}/node{node}"
        yield f"{folder}/cpulist", topology.numa_nodes.get(node, CpuSet()) & online
        yield f"{folder}/distance", " ".join(map(str, known.distances))
        if known.memory:
            yield f"{folder}/meminfo", f"Node {node} MemTotal:  {known.memory // 1024} kB"
        for kib in _SIZES:
            pool = f"{folder}/hugepages/{PAGES.format(kib)}"
            count = pages.get(node, {}).get(kib, 0)
            yield f"{pool}/nr_hugepages", count
            yield f"{pool}/free_hugepages", count
            yield f"{pool}/surplus_hugepages", 0


def _kernel(plan: ConfiguredPlan) -> Iterator[tuple[str, object]]:
    node_class = plan.node_class
    vendor, number = node_class.cpu_vendor, node_class.cpu_model_number
    fields = {"vendor_id": vendor, "model": number, "model name": node_class.cpu_model}
    yield "proc/cpuinfo", "\n".join(f"{key}\t: {value}" for key, value in fields.items())
    yield "proc/version", "Linux version 6.12.0"
    yield WORKQUEUE, _mask(facts(plan)["CPUs of unbound work"])
    for setting in plan.settings.of("kernel"):
        for evidence in setting.effect.evidence if setting.effect else ():
            value = evidence.value
            if evidence.form.value == "mask":
                yield evidence.path, _mask(value)
            elif value != ("",):
                yield evidence.path, value[0] if isinstance(value, tuple) else value
    size = plan.spec.huge_pages.default_size
    yield "proc/meminfo", f"Hugepagesize:  {hugepages.to_kib(size) if size else 2048} kB"


def _mask(value: object) -> str:
    return value.mask() if isinstance(value, CpuSet) else str(value)
