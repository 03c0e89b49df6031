"""What the policy refuses before there is any container, and what a restart changes."""

import pytest

from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.topologyaware.config import decode
from cpuplan.upstream.nri.topologyaware.topology_aware_policy import Policy
from tests.machines.nrifiles import arriving, isolated, regular

DUAL = regular(2, 4)  # node 0: 0-3,8-11; node 1: 4-7,12-15
_SPEC = "spec: {{pinCPU: true, pinMemory: true, unlimitedBurstable: package, {}}}"


def _policy(spec: str) -> Policy:
    return Policy(DUAL, decode(_SPEC.format(spec)))


@pytest.mark.parametrize(
    ("reserved", "text"),
    [
        ("{}", "cannot start without CPU reservation"),
        ("{cpu: 'cpuset:16'}", "some CPUs (16) are not part of the online allowed cpuset (0-15)"),
        ("{cpu: '20'}", "cannot reserve 20000m CPUs for ReservedResources"),
    ],
)
def test_reservations(reserved: str, text: str) -> None:
    with pytest.raises(NriError) as caught:
        _policy(f"reservedResources: {reserved}")
    assert text in str(caught.value)


def test_reserved_cpus_mixed_with_isolated_ones() -> None:
    config = decode(_SPEC.format("reservedResources: {cpu: 'cpuset:0,3'}"))
    with pytest.raises(NriError, match=r"mixes isolated \(3\) and normal \(0\)"):
        Policy(isolated(DUAL, "3,11"), config)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ("nosuch: 1", 'decode: error unmarshaling JSON: .* unknown field "nosuch"'),
        ("reservedResources: {cpu: 1}", "cannot unmarshal number into Go struct field"),
        ("cpuClasses: [{name: a}]", "validate: shared CPU class not specified"),
        ("podQoSSchedulingClasses: {burstable: x}", 'validate: unknown scheduling class "x"'),
        ("controllableInterrupts: ['[']", "validate: invalid controllable interrupts"),
    ],
)
def test_configurations(spec: str, text: str) -> None:
    with pytest.raises(NriError, match=text):
        _policy(spec)


def test_a_class_of_a_container_without_exclusive_cpus() -> None:
    running = _policy(
        "reservedResources: {cpu: 'cpuset:0'}, cpuClasses: [{name: a}], sharedPoolCPUClass: a"
    )
    key = "cpu-class.resource-policy.nri.io/container.c"
    shared = arriving("p", 500, qos="Guaranteed")
    shared.pod.annotations[key] = "a"  # type: ignore[index]
    with pytest.raises(NriError, match="invalid without exclusive CPUs"):
        running.create(shared)


def test_a_restart_allocates_in_order_of_creation() -> None:
    """The program's own order is chance: this is one of its answers."""
    running = _policy("reservedResources: {cpu: 'cpuset:0,8'}")
    first, second = (arriving(name, 2000, qos="Guaranteed") for name in ("a", "b"))
    running.create(first)
    running.create(second)
    running.remove(first)
    assert second.cpus == "1,9"
    running.restart()
    assert second.cpus == "4,12"


def test_reserved_containers_lose_their_shares_with_a_new_configuration() -> None:
    running = _policy("reservedResources: {cpu: 'cpuset:0,8'}")
    system = arriving("dns", 500, namespace="kube-system")
    running.create(system)
    assert (system.cpus, system.shares) == ("0,8", 512)
    running.reconfigure(decode(_SPEC.format("reservedResources: {cpu: 'cpuset:0,8'}")))
    assert (system.cpus, system.shares) == ("0,8", 2)
