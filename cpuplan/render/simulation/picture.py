"""A node with the containers that have exclusive CPUs."""

from cpuplan.base.cpuset import CpuSet
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.plan import Pool
from cpuplan.render.map.boxes import Map
from cpuplan.render.map.plan import plan_map
from cpuplan.simulate.fleet import Simulated
from cpuplan.simulate.names import full_name


def owners_map(node: Simulated, name: str, spec: HardwareSpec | None = None) -> Map:
    """The node with the containers that have exclusive CPUs; elsewhere its pools and partitions."""
    owned = [
        Pool(f"{full_name(outcome.pod)} {container.name}", CpuSet.from_bits(container.cpus), ())
        for outcome in node.outcome.outcomes
        for container in outcome.containers
        if container.is_exclusive
    ]
    drawn = plan_map(node.plan, name, spec, owned)
    return drawn._replace(about=f"containers with exclusive CPUs on {name}")
