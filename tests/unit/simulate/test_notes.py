"""What is said beside the outcome of a simulation."""

from typing import Any

import pytest

from cpuplan.simulate import findings
from cpuplan.upstream.kubernetes.pod import read_pod
from tests.machines.plans import plan

EXCLUSIVE = {"limits": {"cpu": 2, "memory": "1Gi"}}
SHARED = {"requests": {"cpu": "500m"}}


@pytest.mark.parametrize(
    ("isolation", "resources", "is_said"),
    [
        ({}, SHARED, False),
        ({"domain": True}, EXCLUSIVE, False),
        ({"domain": True}, SHARED, True),
    ],
)
def test_load_that_the_kernel_does_not_balance(
    isolation: dict[str, Any], resources: dict[str, Any], is_said: bool
) -> None:
    node = plan(spec={"isolation": isolation})
    container = {"name": "a", "resources": resources}
    pod = read_pod({"metadata": {"name": "web"}, "spec": {"containers": [container]}})
    said = [text for text in findings.notes([node], [pod], {}) if "balances no load" in text]
    assert bool(said) is is_said
    assert not said or "on CPUs 2-7 of class ran-server" in said[0]
