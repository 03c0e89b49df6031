"""What the balloons policy does with containers, and its mistakes."""

import pytest

from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.balloons.balloons_policy import Policy
from cpuplan.upstream.nri.balloons.setup import decode
from tests.machines.nrifiles import arriving, isolated, policy, regular

DUAL = regular(2, 4)  # node 0: 0-3,8-11; node 1: 4-7,12-15
_RESERVED = "reservedResources: {cpu: 'cpuset:0,8'}"
_FIXED = "{name: reserved, minCPUs: 2, maxCPUs: 2}"


def cpus(running: Policy) -> dict[str, str]:
    """The CPUs of each balloon that has some."""
    balloons = running.state.balloons
    return {balloon.name: to_text(balloon.cpus) for balloon in balloons if balloon.cpus}


def test_a_balloon_grows_and_shrinks_with_its_containers() -> None:
    running = policy(DUAL, "reservedResources: {cpu: '1'}")
    first, second = arriving("a", 2000), arriving("b", 1500)
    running.create(first)
    running.create(second)
    assert cpus(running) == {"reserved[0]": "0", "default[0]": "1-2,9-10"}
    assert first.cpus == second.cpus == "1-2,9-10"
    running.remove(first)
    assert cpus(running) == {"reserved[0]": "0", "default[0]": "1,9"}
    assert second.cpus == "1,9"


def test_exact_cpus_by_devices_and_a_composite() -> None:
    """A type for each core, and a composite of them, get exactly the CPUs that the paths mean."""
    cores = ", ".join(
        f"{{name: core{cpu}, minCPUs: 2, maxCPUs: 2, allocatorPriority: high, "
        f"preferCloseToDevices: [/sys/devices/system/cpu/cpu{cpu}/cache/index0]}}"
        for cpu in (3, 5)
    )
    parts = "components: [{balloonType: core3}, {balloonType: core5}]"
    team = f"{{name: team, minBalloons: 1, maxBalloons: 1, allocatorPriority: high, {parts}}}"
    running = policy(DUAL, f"{_RESERVED}, balloonTypes: [{cores}, {team}]")
    assert cpus(running)["team[0]"] == "3,5,11,13"


def test_idle_cpus_are_shared_except_isolated_ones() -> None:
    types = f"balloonTypes: [{_FIXED}, {{name: default, shareIdleCPUsInSame: numa}}]"
    running = policy(isolated(DUAL, "3,11"), f"{_RESERVED}, {types}")
    container = arriving("a", 1000)
    running.create(container)
    assert cpus(running) == {"reserved[0]": "0,8", "default[0]": "1"}
    assert container.cpus == "1-2,9-10"


def test_an_unknown_annotated_type_is_refused() -> None:
    with pytest.raises(NriError, match='no balloon for annotation "nosuch"'):
        policy(DUAL, _RESERVED).create(arriving("a", balloon="nosuch"))


def test_containers_come_again_in_order_of_their_pods() -> None:
    running = policy(DUAL, "reservedResources: {cpu: '1'}, balloonTypes: [{name: a}]")
    containers = [arriving(name, 1000, balloon="a") for name in ("first", "second")]
    for container in containers:
        running.create(container)
    running.restart()
    assert [container.cpus for container in containers] == ["1,8", "1,8"]
    running.reconfigure(decode("spec: {reservedResources: {cpu: '2'}, balloonTypes: [{name: a}]}"))
    assert [container.cpus for container in containers] == ["1,9", "1,9"]


def test_after_a_wrong_configuration_the_old_one_holds() -> None:
    running = policy(DUAL, f"{_RESERVED}, balloonTypes: [{_FIXED}]")
    container = arriving("a", 1000)
    running.create(container)
    with pytest.raises(NriError, match=r"MinCpus \(4\) > MaxCpus \(2\)"):
        running.reconfigure(decode("spec: {balloonTypes: [{name: a, minCPUs: 4, maxCPUs: 2}]}"))
    assert cpus(running) == {"reserved[0]": "0,8", "default[0]": "1"}
    assert container.cpus == "1"


def test_bug_a_reserved_set_without_a_maximum_starts_empty() -> None:
    """And a type of a higher priority takes its CPUs."""
    eater = "{name: a, minCPUs: 15, minBalloons: 1, allocatorPriority: high}"
    assert cpus(policy(DUAL, f"{_RESERVED}, balloonTypes: [{eater}]")) == {"a[0]": "0-14"}


def test_bug_an_empty_balloon_takes_any_request() -> None:
    types = "balloonTypes: [{name: default, maxCPUs: 1, minBalloons: 1}]"
    running = policy(DUAL, f"reservedResources: {{cpu: '1'}}, {types}")
    running.create(arriving("a", 2500))
    assert cpus(running)["default[0]"] == "8"


def test_bug_the_maximum_does_not_count_where_fewer_cpus_are_free() -> None:
    taken = "{name: b, minCPUs: 11, minBalloons: 1, allocatorPriority: high}"
    types = f"balloonTypes: [{taken}, {{name: a, maxCPUs: 3, maxBalloons: 1}}]"
    running = policy(DUAL, f"reservedResources: {{cpu: '1'}}, {types}")
    for name in ("first", "second"):
        running.create(arriving(name, 2000, balloon="a"))
    assert running.state.balloons[-1].cpus.bit_count() == 3
    assert running.state.balloons[-1].requested == 4000


def test_bug_the_qos_class_of_a_pod_never_matches() -> None:
    for key, name in (("pod/qosclass", "default[0]"), ("qosclass", "a[0]")):
        match = f"matchExpressions: [{{key: {key}, operator: Equals, values: [Burstable]}}]"
        running = policy(
            DUAL, f"reservedResources: {{cpu: '1'}}, balloonTypes: [{{name: a, {match}}}]"
        )
        running.create(arriving("a", 1000))
        assert name in cpus(running)


def test_bug_cpus_of_a_deleted_balloon_are_not_shared() -> None:
    share = "{name: b, minBalloons: 1, minCPUs: 2, shareIdleCPUsInSame: system}"
    types = f"balloonTypes: [{share}, {{name: a, minCPUs: 2}}]"
    running = policy(DUAL, f"reservedResources: {{cpu: '1'}}, {types}")
    sharing = next(known for known in running.state.balloons if known.type.name == "b")
    before = sharing.shared_idle
    container = arriving("a", 1000, balloon="a")
    running.create(container)
    running.remove(container)
    assert running.state.free == before
    assert sharing.shared_idle.bit_count() == before.bit_count() - 2


def test_bug_memory_of_running_containers_widens_beyond_the_balloon() -> None:
    running = policy(regular(4, 2), "reservedResources: {cpu: '1'}")
    first, second = arriving("a", 1000), arriving("b", 4000)
    running.create(first)
    running.create(second)
    assert first.cpus == second.cpus
    assert (first.mems, second.mems) == ("0-3", "0-1")


def test_bug_components_share_a_request_rounded_down() -> None:
    parts = "components: [{balloonType: a}, {balloonType: b}]"
    types = f"balloonTypes: [{{name: a}}, {{name: b}}, {{name: c, {parts}}}]"
    running = policy(DUAL, f"reservedResources: {{cpu: '1'}}, {types}")
    running.create(arriving("a", 2001, balloon="c"))
    assert running.state.balloons[-1].cpus.bit_count() == 2


@pytest.mark.parametrize(
    ("loads", "own", "expected"),
    [
        # two threads of a core, and whole cores
        ("[]", "false", ["1", "9", "2-3,10-11"]),
        # the second balloon keeps off the core that the first disturbs
        ("[avx]", "false", ["1", "10", "3-4,11-12"]),
        # and each CPU of a balloon off the cores of the others in it, as long as there are any
        ("[avx]", "true", ["1", "10", "3,12-14"]),
    ],
)
def test_balloons_keep_off_the_cores_that_loads_disturb(
    loads: str, own: str, expected: list[str]
) -> None:
    """Only core 1 and up: 0 is reserved."""
    classes = f"loadClasses: [{{name: avx, level: core, overloadsLevelInBalloon: {own}}}]"
    types = f"balloonTypes: [{{name: heavy, loads: {loads}, preferNewBalloons: true}}]"
    running = policy(regular(1, 8), f"{_RESERVED}, {classes}, {types}")
    for name, milli in (("a", 1000), ("b", 1000), ("c", 4000)):
        running.create(arriving(name, milli, balloon="heavy"))
    assert [text for name, text in cpus(running).items() if name.startswith("heavy")] == expected
