"""Machines that nobody described."""

from cpuplan.fleet import synthetic
from tests.unit.profiles.test_intents import profile, read


def test_numa_nodes_are_those_that_are_named_and_those_between() -> None:
    pages = {"defaultHugepagesSize": "1G", "pages": [{"size": "1G", "count": 4, "node": 15}]}
    snippet = '{"reservedMemory": [{"numaNode": 3, "limits": {"memory": "1100Mi"}}]}'
    document = read(
        profile({"hugepages": pages}, annotations={"kubeletconfig.experimental": snippet})
    )
    plan = synthetic.plan(document.name, document.spec)
    assert list(plan.topology.numa_facts) == [0, 1, 2, 3, 15]
    assert plan.topology.online == plan.pool("reserved").cpus | plan.pool("isolated").cpus
