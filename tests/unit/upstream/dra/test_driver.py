"""The CPUs of claims and containers; rows are what the real driver answers (vectors/nri)."""

import random

import pytest

from cpuplan.upstream.dra import opaque_config
from cpuplan.upstream.dra.api import DraError
from cpuplan.upstream.dra.cpuinfo import discover
from cpuplan.upstream.dra.driver import Claim, Container, Driver, Result
from cpuplan.upstream.dra.driverconfig import Config
from cpuplan.upstream.kubernetes.bits import parse_cpus, to_text
from tests.machines.nrifiles import regular

DUAL = discover(regular(2, 4))  # node 0: 0-3,8-11; node 1: 4-7,12-15
NODE_0, NODE_1 = "cpudevnuma000", "cpudevnuma001"


def started(reserved: str = "", mode: str = "grouped", group: str = "numanode") -> Driver:
    return Driver(DUAL, Config(reserved_cpus=reserved, cpu_device_mode=mode, group_by=group))


def claim(uid: str, *results: tuple[str, str | None], cpus: str = "") -> Claim:
    """A claim with a request for each (device, consumed); `cpus` of an external scheduler."""
    requests = tuple(Result(f"r{at}", *result) for at, result in enumerate(results))
    parameters = {"apiVersion": "v1alpha1", "cpuConfig": {"cpuset": cpus}}
    return Claim(uid, uid, requests, (opaque_config.Config((), parameters),) if cpus else ())


def prepared(driver: Driver, claimed: Claim) -> str:
    return to_text(driver.prepare(claimed).cpus or 0)


def refused(driver: Driver, claimed: Claim) -> str:
    with pytest.raises(DraError) as caught:
        driver.prepare(claimed)
    return str(caught.value)


def container(driver: Driver, pod: str, *uids: str) -> Container:
    return Container(pod, "main", f"{pod}/main", driver.environment(uids))


def test_a_claim_gets_whole_cores_and_keeps_them() -> None:
    driver = started("0,8")
    assert prepared(driver, claim("a", (NODE_0, "2"))) == "1,9"
    assert prepared(driver, claim("a", (NODE_0, "2"))) == "1,9"
    assert to_text(driver.store.shared) == "2-7,10-15"


def test_bug_core_ids_that_repeat_send_half_of_a_claim_to_the_other_socket() -> None:
    """kubernetes-sigs/dra-driver-cpu#210"""
    driver = started("0")
    assert prepared(driver, claim("a", (NODE_0, "4"))) == "1,5,9,13"
    driver = started("0,8")
    assert prepared(driver, claim("a", (NODE_0, "1"))) == "1"
    assert prepared(driver, claim("b", (NODE_0, "4"))) == "2,6,10,14"


def test_bug_a_node_with_room_refuses_where_the_other_socket_has_none() -> None:
    driver = started("0")
    assert prepared(driver, claim("a", (NODE_1, "8"))) == "4-7,12-15"
    text = 'claim "b" has overlapping CPU assignment "1,5,9,13"'
    assert refused(driver, claim("b", (NODE_0, "4"))) == text
    assert to_text(driver.store.shared) == "1-3,8-11"


def test_bug_a_half_taken_core_counts_as_free_where_siblings_are_offline() -> None:
    """There is one thread in a core on average: what is left of a core looks like all of it."""
    files = regular(1, 4)
    topology = discover(files._replace(online=files.online & ~(1 << 7)))
    driver = Driver(topology, Config())
    assert prepared(driver, claim("a", (NODE_0, "1"))) == "3"
    assert prepared(driver, claim("b", (NODE_0, "1"))) == "0"
    assert "overlapping CPU assignment" in refused(driver, claim("c", (NODE_0, "2")))


@pytest.mark.parametrize(
    ("results", "message"),
    [
        ([(NODE_0, None)], f'CPU capacity "dra.cpu/cpu" for device "{NODE_0}" is missing'),
        ([(NODE_0, "0")], f'CPU capacity for device "{NODE_0}" must be positive, got 0'),
        (
            [(NODE_0, "1500m")],
            f'CPU capacity for device "{NODE_0}" must be a whole number, got 1500m',
        ),
        ([("cpudevsocket000", "1")], "no valid NUMA node ID found for device cpudevsocket000"),
        (
            [(NODE_0, "6"), (NODE_0, "3")],
            "not enough cpus available to satisfy request: requested=3, available=2",
        ),
    ],
)
def test_refusals(results: list[tuple[str, str | None]], message: str) -> None:
    assert refused(started(), claim("a", *results)) == message


def test_individual_devices() -> None:
    driver = started("0", "individual")
    assert prepared(driver, claim("a", ("cpudev000", None), ("cpudev001", None))) == "1,9"
    overlap = "claim default/b has overlapping device assignment with other claims"
    assert refused(driver, claim("b", ("cpudev001", None))) == overlap
    text = 'device "cpudev015" not found in device to CPU ID map'
    assert refused(driver, claim("c", ("cpudev015", None))) == text
    other = "claim default/a is already prepared with different CPUs 1,9 (requested 2)"
    assert refused(driver, claim("a", ("cpudev002", None))) == other


@pytest.mark.parametrize(
    ("cpus", "message"),
    [
        ("2", "opaque config cpuset size 1 does not match requested capacity 2"),
        ("2,16", "requested CPUs 2,16 from opaque config contain offline cores: 16"),
        ("0,2", "requested CPUs 0,2 from opaque config contain reserved cores: 0"),
        ("1,2", "requested CPUs 1-2 from opaque config conflict with already allocated claims"),
        (
            "x",
            (
                'opaque config: failed to parse cpuset "x": strconv.Atoi: parsing "x": invalid '
                "syntax"
            ),
        ),
    ],
)
def test_named_cpus_that_are_refused(cpus: str, message: str) -> None:
    driver = started("0", group="machine")
    assert prepared(driver, claim("a", ("cpudevmachine", "1"), cpus="1")) == "1"
    assert refused(driver, claim("b", ("cpudevmachine", "2"), cpus=cpus)) == message


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"apiVersion": "v1alpha1"}, "opaque config: cpuConfig.cpuset is empty or missing"),
        (None, 'unsupported opaque config apiVersion: ""'),
        (
            [],
            (
                "failed to unmarshal opaque config: json: cannot unmarshal array into Go value of "
                "type v1alpha1.OpaqueConfig"
            ),
        ),
        (
            {"cpuConfig": {"cpuset": 1}},
            (
                "failed to unmarshal opaque config: json: cannot unmarshal "
                "number into Go struct field CPUConfig.cpuConfig.cpuset of type string"
            ),
        ),
    ],
)
def test_opaque_configurations_that_are_refused(parameters: object, message: str) -> None:
    with pytest.raises(DraError) as caught:
        opaque_config.cpus_of([opaque_config.Config(("r",), parameters)], "r/first")
    assert str(caught.value) == message


def test_bug_the_shared_pool_shrinks_only_when_the_owner_is_created() -> None:
    """Until then containers of the pool run on CPUs of the claim."""
    driver = started()
    assert to_text(driver.create(container(driver, "shared")).cpus) == "0-15"
    driver.prepare(claim("a", (NODE_0, "2")))
    created = driver.create(container(driver, "owner", "a"))
    assert (to_text(created.cpus), created.updates) == (
        "0,8",
        {"shared/main": parse_cpus("1-7,9-15")},
    )
    assert not driver.create(container(driver, "owner", "a")).updates  # restarted


def test_bug_running_containers_stay_narrow_when_a_claim_ends() -> None:
    """kubernetes-sigs/dra-driver-cpu#279"""
    driver = started()
    driver.prepare(claim("a", (NODE_0, "8")))
    assert to_text(driver.create(container(driver, "early")).cpus) == "4-7,12-15"
    driver.unprepare("a")
    assert to_text(driver.create(container(driver, "late")).cpus) == "0-15"
    driver.prepare(claim("b", (NODE_0, "2")))
    widened = driver.create(container(driver, "owner", "b")).updates
    assert {name: to_text(cpus) for name, cpus in widened.items()} == {
        "early/main": "1-7,9-15",
        "late/main": "1-7,9-15",
    }


def test_bug_an_empty_shared_pool_is_no_change_for_the_runtime() -> None:
    """kubernetes-sigs/dra-driver-cpu#295: the container runs on all CPUs."""
    driver = started()
    driver.prepare(claim("a", (NODE_0, "8"), (NODE_1, "8")))
    assert driver.create(container(driver, "shared")).cpus == 0


def test_a_claim_belongs_to_one_container() -> None:
    driver = started()
    driver.prepare(claim("a", (NODE_0, "2")))
    driver.create(container(driver, "one", "a"))
    with pytest.raises(DraError, match='claimUID "a" already bound to pod "one" container "main"'):
        driver.create(container(driver, "two", "a"))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("DRA_CPUSET_abc", 'malformed DRA env entry "DRA_CPUSET_abc"'),
        ("DRA_CPUSET_b=0-1", 'claim "b" is not prepared by this driver'),
        (
            "DRA_CPUSET_b=x",
            (
                'failed to parse cpuset value "x" from env "DRA_CPUSET_b=x": '
                'strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
        (
            "DRA_CPUSET_a=0-1",
            ('validation failed for claim "a": cpuset mismatch (expected "0,8", got "0-1")'),
        ),
    ],
)
def test_environments_that_are_refused(entry: str, message: str) -> None:
    driver = started()
    driver.prepare(claim("a", (NODE_0, "2")))
    with pytest.raises(DraError) as caught:
        driver.create(Container("p", "main", "p/main", (entry,)))
    assert str(caught.value) == message


def test_bug_a_restart_forgets_claims_whose_container_does_not_run() -> None:
    """kubernetes-sigs/dra-driver-cpu#318"""
    driver = started()
    driver.prepare(claim("running", (NODE_0, "2")))
    driver.prepare(claim("pulling", (NODE_0, "2")))
    running = container(driver, "one", "running")
    shared = container(driver, "shared")
    driver.create(running)
    updates = driver.synchronize([running, shared])
    assert {name: to_text(cpus) for name, cpus in updates.items()} == {
        "one/main": "0,8",
        "shared/main": "1-7,9-15",
    }
    with pytest.raises(DraError, match='claim "pulling" is not prepared by this driver'):
        driver.create(container(driver, "two", "pulling"))
    assert prepared(driver, claim("next", (NODE_0, "2"))) == "1,9"  # those of the forgotten claim


def test_foreign_and_malformed_entries_after_a_restart() -> None:
    driver = started()
    foreign = Container("one", "main", "one/main", ("DRA_CPUSET_x=0-1",))
    malformed = Container("two", "main", "two/main", ("DRA_CPUSET_x",))
    assert set(driver.synchronize([foreign, malformed])) == {"one/main"}


def test_a_moment_can_be_gone_back_to() -> None:
    driver = started()
    driver.prepare(claim("a", (NODE_0, "2")))
    moment = driver.take()
    driver.create(container(driver, "one", "a"))
    driver.unprepare("a")
    driver.restore(moment)
    assert driver.take() == moment


@pytest.mark.parametrize("seed", range(12))
def test_prepared_claims_never_overlap(seed: int) -> None:
    """Whatever comes and goes: sets are disjoint, as large as asked, and the pool is the rest.

    A set is within its node unless core ids repeat; then the driver refuses or leaves the node.
    """
    chance = random.Random(seed)  # noqa: S311
    files = regular(chance.choice((1, 2)), 8, chance.choice((1, 2)), chance.choice((1, 2)))
    reserved = sorted(chance.sample(range(16), chance.randrange(4)))
    driver = Driver(discover(files), Config(reserved_cpus=",".join(map(str, reserved))))
    sizes: dict[str, int] = {}
    for step in range(60):
        if sizes and chance.random() < 0.35:
            gone = chance.choice(sorted(sizes))
            driver.unprepare(gone)
            del sizes[gone]
        else:
            _prepare_one(driver, chance, f"c{step}", sizes)
        given = driver.store.claims
        assert {uid: cpus.bit_count() for uid, cpus in given.items()} == sizes
        assert driver.store.prepared.bit_count() == sum(sizes.values())
        assert driver.store.shared == driver.store.available & ~driver.store.prepared


def _prepare_one(driver: Driver, chance: random.Random, uid: str, sizes: dict[str, int]) -> None:
    device, size = chance.choice(sorted(driver.chooser.devices)), chance.randint(1, 8)
    room = driver.store.shared & driver.chooser.devices[device].cpus
    try:
        cpus = driver.prepare(claim(uid, (device, str(size)))).cpus
    except DraError:
        assert room.bit_count() < size or driver.topology.num_sockets > 1
        return
    assert cpus is not None
    assert not cpus & ~room or driver.topology.num_sockets > 1
    sizes[uid] = size
