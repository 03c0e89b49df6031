"""What a node really gets."""

import pytest

from cpuplan.upstream.mco.common import NodePoolError, RenderError
from tests.conformance.mco.effective import effective
from tests.unit.upstream.mco.objects import machine_config, node, pool

POOLS = [pool("worker"), pool("master"), pool("cnf", "worker", "cnf")]
CONFIGS = [
    machine_config("00-worker", kernelArguments=["w"]),
    machine_config("50-cnf", "cnf", kernelArguments=["c"]),
    machine_config("00-master", "master", kernelArguments=["m"]),
]


@pytest.mark.parametrize(
    ("roles", "expected"),
    [
        (("worker",), ("w",)),
        (("worker", "cnf"), ("w", "c")),
        (("cnf",), ("w", "c")),
        (("master", "worker", "cnf"), ("m",)),
    ],
)
def test_the_first_pool_decides(roles: tuple[str, ...], expected: tuple[str, ...]) -> None:
    rendered = effective(node(*roles), POOLS, CONFIGS).rendered
    assert rendered is not None
    assert rendered.kernel_arguments == expected


def test_a_node_without_pool_gets_nothing() -> None:
    assert effective(node("infra"), POOLS, CONFIGS).rendered is None


def test_refusals_pass_through() -> None:
    with pytest.raises(NodePoolError):
        effective(node("cnf", "infra"), [*POOLS, pool("infra")], CONFIGS)
    with pytest.raises(RenderError):
        effective(node("worker"), POOLS, [machine_config("a", kernelType="rt")])
