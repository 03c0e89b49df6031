"""Which devices claims get."""

import random
from collections.abc import Iterable
from itertools import combinations

import pytest

from cpuplan.upstream.dra.allocator_incubating import (
    Constraint,
    Request,
    SchedulerError,
    Search,
    Spec,
    StoppedError,
    Usage,
)
from cpuplan.upstream.dra.api import CAPACITY, CORE_ID, NUMA_NODE_ID, SOCKET_ID
from cpuplan.upstream.dra.builder import Device, build
from cpuplan.upstream.dra.cpuinfo import discover
from cpuplan.upstream.dra.driver import Result
from cpuplan.upstream.dra.driverconfig import Config
from tests.machines.nrifiles import regular

CLASSES: dict[str, tuple[str, ...]] = {"dra.cpu": ('device.driver == "dra.cpu"',)}
DUAL = discover(regular(2, 4))  # node 0: 0-3,8-11; node 1: 4-7,12-15
GROUPED = build(DUAL, Config())
SINGLE = build(DUAL, Config(cpu_device_mode="individual"))


def asked(name: str = "r", count: int | None = 1, cpus: str = "", *selectors: str) -> Request:
    capacity = ((CAPACITY, cpus),) if cpus else ()
    return Request(name, "dra.cpu", selectors, count, capacity)


def allocated(
    devices: list[Device],
    *specs: Spec,
    usage: Usage = Usage(),  # noqa: B008 - a value
) -> list[list[str]] | None:
    results = Search(devices, usage, CLASSES).allocate(specs)
    return None if results is None else [_short_names(own) for own in results]


def _short_names(results: Iterable[Result]) -> list[str]:
    return [result.device.removeprefix("cpudev") for result in results]


def test_the_first_device_with_room_is_taken() -> None:
    six, four = Spec((asked(cpus="6"),)), Spec((asked(cpus="4"),))
    assert allocated(GROUPED, six, four) == [["numa000"], ["numa001"]]
    usage = Usage(consumed={"cpudevnuma000": 3 * 10**9})
    assert allocated(GROUPED, six, usage=usage) == [["numa001"]]
    assert allocated(GROUPED, Spec((asked(cpus="9"),))) is None


def test_without_an_amount_a_request_takes_all_of_a_device() -> None:
    of_one, of_all = Spec((asked(cpus="1"),)), Spec((asked(),))
    results = Search(GROUPED, Usage(), CLASSES).allocate([of_one, of_all])
    assert results is not None
    assert results[1][0] == ("r", "cpudevnuma001", "8", "dra.cpu")


def test_an_unknown_capacity_is_on_no_device() -> None:
    odd = Spec((Request("r", "dra.cpu", capacity=(("dra.cpu/cores", "1"),)),))
    assert allocated(GROUPED, odd) is None
    assert allocated(SINGLE, Spec((asked(cpus="1"),))) is None


def test_a_request_takes_no_device_twice() -> None:
    assert allocated(GROUPED, Spec((asked("r", 2, "1"),))) == [["numa000", "numa001"]]
    assert allocated(GROUPED, Spec((asked("r", 3, "1"),))) is None


def test_whole_cores_on_one_node() -> None:
    """The free thread of core 0 has no sibling; node 1 is the first with three whole cores."""
    requests = tuple(asked(f"core-{at}", 2) for at in range(4))
    own = [Constraint(key, (request.name,)) for request in requests for key in (CORE_ID, SOCKET_ID)]
    spec = Spec(requests, (*own, Constraint(NUMA_NODE_ID)))
    used = Usage(frozenset({"cpudev000"}))
    assert allocated(SINGLE, spec, usage=used) == [[f"{at:03d}" for at in range(8, 16)]]
    both = Usage(frozenset({"cpudev000", "cpudev015"}))
    assert allocated(SINGLE, spec, usage=both) is None


def test_attributes_that_differ() -> None:
    spec = Spec((asked("r", 2),), (Constraint(SOCKET_ID, is_distinct=True),))
    assert allocated(SINGLE, spec) == [["000", "008"]]
    assert allocated(GROUPED, Spec((asked("r", 1),), (Constraint(CORE_ID),))) is None


def test_selectors_of_class_and_request() -> None:
    odd = 'device.attributes["dra.cpu"].cpuID in [3, 9]'
    assert allocated(SINGLE, Spec((asked("r", 2, "", odd),))) == [["003", "006"]]
    assert allocated(SINGLE, Spec((asked("r", None, "", odd),))) == [["003", "006"]]
    used = Usage(frozenset({"cpudev003"}))
    assert allocated(SINGLE, Spec((asked("r", None, "", odd),)), usage=used) is None


def test_the_first_alternative_that_can_be_had() -> None:
    choice = Request("r", alternatives=(asked("all", 1, "9"), asked("half", 1, "4")))
    results = Search(GROUPED, Usage(), CLASSES).allocate([Spec((choice,))])
    assert results is not None
    assert results[0][0].request == "r/half"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (asked("r", 33), "number of requested devices 33 exceeds the claim limit of 32"),
        (
            Request("r", "gpu"),
            (
                "request r: could not retrieve device class gpu: deviceclass.resource.k8s.io "
                '"gpu" not found'
            ),
        ),
        (
            asked("r", 1, "", 'device.attributes["gpu"].id == 1'),
            "request r: selector #1: CEL runtime error: no such key: id",
        ),
    ],
)
def test_errors(request_: Request, message: str) -> None:
    with pytest.raises(SchedulerError) as caught:
        allocated(SINGLE, Spec((request_,)))
    assert str(caught.value) == message


def test_a_search_that_takes_too_long_is_stopped() -> None:
    """Twelve single CPUs with whole ones before them that do not go together."""
    many = build(discover(regular(2, 32)), Config(cpu_device_mode="individual"))
    requests = (asked("a", 14), asked("b", 16), asked("c", 1, "", "false"))
    with pytest.raises(StoppedError):
        allocated(many, Spec(requests))


def _naive(devices: list[Device], specs: list[Spec], taken: set[int]) -> list[list[int]] | None:
    """The first solution by trying all: devices of a request ascend, others are free to choose."""
    wanted = [(at, request) for at, spec in enumerate(specs) for request in spec.requests]

    def keeps(spec: Spec, chosen: list[tuple[str, int]]) -> bool:
        for constraint in spec.constraints:
            own = [at for name, at in chosen if constraint.is_for(name)]
            if len({devices[at].attributes[constraint.attribute] for at in own}) > 1:
                return False
        return True

    def search(
        position: int, chosen: list[tuple[int, str, int]]
    ) -> list[tuple[int, str, int]] | None:
        if position == len(wanted):
            return chosen
        claim, request = wanted[position]
        for group in combinations(range(len(devices)), request.number or 0):
            used = taken | {at for _, _, at in chosen}
            made = [*chosen, *((claim, request.name, at) for at in group)]
            own = [(name, at) for of, name, at in made if of == claim]
            if not used & set(group) and keeps(specs[claim], own):
                solution = search(position + 1, made)
                if solution is not None:
                    return solution
        return None

    solution = search(0, [])
    if solution is None:
        return None
    devices_of: list[list[int]] = [[] for _ in specs]
    for claim, _, at in solution:
        devices_of[claim].append(at)
    return devices_of


@pytest.mark.parametrize("seed", range(40))
def test_the_first_solution_is_that_of_trying_all(seed: int) -> None:
    """What the search leaves out is never the first solution."""
    chance = random.Random(seed)  # noqa: S311
    machine = discover(regular(2, 2, chance.choice((1, 2))))
    devices = build(machine, Config(cpu_device_mode="individual"))
    taken = set(chance.sample(range(len(devices)), chance.randrange(3)))
    specs = []
    for _ in range(chance.choice((1, 1, 2))):
        names = [f"r{at}" for at in range(chance.randint(1, 3))]
        count = chance.randint(1, 2)
        requests = tuple(asked(name, chance.choice((count, count, 1))) for name in names)
        keys = chance.sample([CORE_ID, SOCKET_ID, NUMA_NODE_ID], 2)
        own = [Constraint(keys[0], (name,)) for name in names if chance.random() < 0.8]
        shared = [Constraint(keys[1])] * chance.choice((0, 1))
        specs.append(Spec(requests, (*own, *shared)))
    usage = Usage(frozenset(devices[at].name for at in taken))
    results = Search(devices, usage, CLASSES).allocate(specs)
    naive = _naive(devices, specs, taken)
    numbers = {device.name: at for at, device in enumerate(devices)}

    def numbered(own: Iterable[Result]) -> list[int]:
        return [numbers[result.device] for result in own]

    assert naive == (None if results is None else list(map(numbered, results)))
