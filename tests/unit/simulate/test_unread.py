"""What kubelets of a release do that was not read: notes, and nothing is proven."""

from typing import Any

import pytest

from cpuplan.simulate import unread
from tests.machines.plans import plan, regular

SPREAD = {"numa-allocation-strategy": "least-allocated"}


def node(version: str, numa_nodes: int = 2, **kubelet: Any) -> Any:
    topology = regular(sockets=numa_nodes, cores=4)
    return plan(topology, platform="kubernetes", version=version, spec={"kubelet": kubelet})


def test_releases_that_are_predicted() -> None:
    assert list(unread.notes([node("1.36"), node("1.36")])) == []
    notes = list(unread.notes([node("1.37"), node("1.37")]))
    assert notes == ["Kubernetes 1.37 is predicted by the rules of 1.36"]


@pytest.mark.parametrize(
    ("policy", "options", "numa_nodes", "reason"),
    [
        ("best-effort", SPREAD, 2, "numa-allocation-strategy least-allocated"),
        ("best-effort", SPREAD, 1, ""),
        ("none", SPREAD, 2, ""),
        ("best-effort", {"numa-allocation-strategy": "none"}, 2, ""),
        ("best-effort", {}, 2, ""),
    ],
)
def test_a_strategy_that_is_not_simulated(
    policy: str, options: dict[str, str], numa_nodes: int, reason: str
) -> None:
    kubelet = {"topologyManagerPolicy": policy, "topologyManagerPolicyOptions": options}
    given = [node("1.38", numa_nodes, **kubelet)]
    assert unread.reason(given) == reason
    is_said = any("is not simulated" in note for note in unread.notes(given))
    assert is_said is bool(reason)
