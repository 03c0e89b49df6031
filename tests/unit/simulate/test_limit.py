"""Simulation that ends at its limit of work: nothing is said of what was not reached."""

import pytest

from cpuplan.plan import ConfiguredPlan
from cpuplan.render.simulation import data, text
from cpuplan.simulate import admission, fleet, startup
from cpuplan.simulate.allocators import base
from cpuplan.simulate.allocators.base import NOT_SIMULATED
from cpuplan.simulate.allocators.dynamic import DynamicAllocator
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.fleet import Result, Simulated, Starter
from cpuplan.simulate.manifests import Item
from cpuplan.simulate.planned import planned
from cpuplan.solve import budget
from cpuplan.solve.budget import UndecidedError
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.plans import plan, regular
from tests.machines.pods import guaranteed

SPEC = {"kubelet": {"memoryManagerPolicy": "None"}}
NODE = plan(regular(cores=32), reserved="0", spec=SPEC, platform="kubernetes")
ON_NODES: list[tuple[ConfiguredPlan, tuple[str, ...]]] = [(NODE, ("a", "b"))]
ALLOCATORS = [KubeletAllocator, DynamicAllocator]


def pods(number: int) -> list[Pod]:
    return [guaranteed(f"pod-{index}", 1)._replace(priority=index) for index in range(number)]


def items(number: int) -> list[Item]:
    return [Item(pod) for pod in pods(number)]


def became(result: Result) -> list[list[bool]]:
    """Which pods of each node were simulated."""

    def simulated(node: Simulated) -> list[bool]:
        return [not outcome.is_unknown for outcome in node.outcome.outcomes]

    return list(map(simulated, result.nodes))


@pytest.mark.parametrize("start", ALLOCATORS)
def test_pods_after_the_limit_are_not_simulated(start: type[KubeletAllocator]) -> None:
    result = fleet.on_each(ON_NODES, items(20), Starter(start, seconds=0.0019))
    assert became(result) == [[True] * 10 + [False] * 10]
    assert (result.is_complete, result.refuses) == (False, False)
    report = text.report(result)
    assert "10 pods admitted, 10 not simulated" in report
    assert "not proven: 20 of 40 pods simulated within the limit of work" in report
    assert "refused" not in report
    document = data.to_data(result)
    assert document["complete"] is False
    assert document["nodes"][0]["pods"][-1]["refused"]["reason"] == NOT_SIMULATED


def test_a_pod_that_one_node_was_not_asked_about_is_not_refused() -> None:
    result = fleet.spread(ON_NODES, items(40), Starter(KubeletAllocator, seconds=0.0019))
    assert result.nowhere
    assert all(pod.is_unknown for pod in result.nowhere)
    assert (result.is_complete, result.refuses) == (False, False)
    assert "30 not simulated" in text.report(result)
    assert "refused" not in text.report(result)


def test_a_refusal_before_the_limit_stays_one() -> None:
    too_large = Item(guaranteed("large", 33))
    result = fleet.on_each(
        ON_NODES, [too_large, *items(20)], Starter(KubeletAllocator, seconds=0.0019)
    )
    assert (result.is_complete, result.refuses) == (False, True)


@pytest.mark.parametrize("start", ALLOCATORS)
def test_what_is_left_is_not_known_after_the_limit(start: type[KubeletAllocator]) -> None:
    with budget.limited(0.0039):
        outcome = admission.run(start(planned(NODE)), pods(20))
    assert outcome.remainder.left is None
    assert outcome.remainder.limit == "0.0039 seconds"
    assert not any(item.refused for item in outcome.outcomes)


def test_the_same_pods_end_at_the_same_place_however_often() -> None:
    start = Starter(KubeletAllocator, seconds=0.003)
    first, again = (fleet.on_each(ON_NODES, items(30), start) for _ in range(2))
    assert first == again


def test_many_numa_nodes_are_more_work() -> None:
    spent = []
    for nodes in (1, 8):
        kubelet = {**SPEC["kubelet"], "topologyManagerPolicy": "restricted"}
        made = plan(
            regular(numa_nodes=nodes, cores=32),
            reserved="0",
            spec={"kubelet": kubelet},
            platform="kubernetes",
        )
        with budget.limited() as limit:
            before = limit.left
            base.count_admission(planned(made).start(), guaranteed("a", 1))
            spent.append(before - limit.left)
    assert spent[1] > 2 * spent[0]


def test_a_step_that_is_not_counted_is_not_taken() -> None:
    with budget.limited(0.001) as limit:
        limit.step(1)
        with pytest.raises(UndecidedError):
            limit.step(0)


def test_a_search_before_takes_nothing_from_a_simulation() -> None:
    with budget.limited(5) as limit:
        limit.spend(limit.left)
        with budget.simulated() as own:
            assert own.seconds == 5
            own.step(0.1)
        assert limit.is_over


def test_workloads_that_are_not_simulated_are_an_error() -> None:
    spec = {**SPEC, "workloads": [{"name": "a", "cpus": 1, "pods": 20}]}
    made = plan(regular(cores=32), reserved="0", spec=spec, platform="kubernetes")
    with budget.limited(0.0019):
        (problem,) = startup.check(made, lambda _: None)
    assert problem.code == "CP7155"
    assert "the limit of 0.0019 seconds" in problem.message
    assert startup.check(made, lambda _: None) == []
