"""Where the kubelet sees a machine differently than the kernel."""

from typing import Any

import pytest

from cpuplan.upstream.kubelet.sysinfo import Kind, deviations, unseen_cpus
from tests.unit.upstream.kubelet.test_machineinfo import PAIRS, SINGLES, TWO_CACHES, build


@pytest.mark.parametrize(
    ("topology", "kinds"),
    [
        (PAIRS, []),
        ({**PAIRS, "caches": [{"level": 3, "per": "numaNode", "ids": "7-8"}]}, []),
        ({**SINGLES, "caches": [TWO_CACHES], "kubelet": {"unreadCaches": "0-7"}}, [Kind.CACHE]),
        ({"cores": [{"threads": ["0-7"], "ids": ["0-1,0-1,0-3"]}]}, [Kind.CORE]),
        ({**PAIRS, "kubelet": {"unlabelled": "1,4-5"}}, []),
        ({**PAIRS, "kubelet": {"noNumaNodes": True}, "numaNodes": []}, [Kind.NUMA_NODE]),
        ({**PAIRS, "kubelet": {"unlabelled": "0-7"}}, []),
    ],
)
def test_deviations(topology: dict[str, Any], kinds: list[Kind]) -> None:
    assert [deviation.kind for deviation in deviations(build(topology))] == kinds


@pytest.mark.parametrize("unlabelled", ["", "1,4-5", "0-7"])
def test_unseen_cpus(unlabelled: str) -> None:
    topology = build({**PAIRS, "kubelet": {"unlabelled": unlabelled}})
    assert str(unseen_cpus(topology)) == unlabelled
