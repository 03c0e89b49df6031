"""Where the kubelet sees a machine differently than the kernel."""

from typing import Any

import pytest

from cpuplan.kubelet.view import deviations
from tests.unit.kubelet.test_machineinfo import PAIRS, SINGLES, TWO_CACHES, build


@pytest.mark.parametrize(
    ("topology", "codes"),
    [
        (PAIRS, []),
        ({**PAIRS, "caches": [{"level": 3, "per": "numaNode", "ids": "7-8"}]}, []),
        ({**SINGLES, "caches": [TWO_CACHES], "kubelet": {"unreadCaches": "0-7"}}, ["CP361"]),
        ({"cores": [{"threads": ["0-7"], "ids": ["0-1,0-1,0-3"]}]}, ["CP360"]),
        ({**PAIRS, "kubelet": {"unlabelled": "1,4-5"}}, ["CP362"]),
        ({**PAIRS, "kubelet": {"noNumaNodes": True}, "numaNodes": []}, ["CP363"]),
        ({**PAIRS, "kubelet": {"unlabelled": "0-7"}}, ["CP362"]),
    ],
)
def test_deviations(topology: dict[str, Any], codes: list[str]) -> None:
    assert [deviation.code for deviation in deviations(build(topology))] == codes
