"""The dynamic policy: by example, and on small machines against every possible layout."""

from collections.abc import Iterator, Mapping
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpuplan.simulate.dynamic.policy import Admission, DynamicPolicy, Update, order_updates
from cpuplan.upstream.kubelet.cpumanager.policy_static import Reserved, new_static_policy
from cpuplan.upstream.kubelet.cpumanager.topology import CPUTopology
from cpuplan.upstream.kubelet.topologymanager.policy import (
    BEST_EFFORT,
    POD,
    RESTRICTED,
    SINGLE,
    NUMAInfo,
    new_policy,
)
from cpuplan.upstream.kubernetes.bits import bits_of, members, parse_cpus, to_text
from cpuplan.upstream.kubernetes.errors import AdmissionError, KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates
from cpuplan.upstream.kubernetes.pod import Pod
from tests.machines.cputopologies import hybrid, regular, without
from tests.machines.pods import container, guaranteed, named, pod

FULL = {"full-pcpus-only": "true"}
#: Siblings are (0, 4) (1, 5) on node 0 and (2, 6) (3, 7) on node 1.
SMALL = regular(1, 2, 2)


def dynamic(
    topology: CPUTopology = SMALL,
    policy: str = SINGLE,
    options: Mapping[str, str] = FULL,
    *,
    reserved: str = "",
    scope: str = "container",
    limit: int = 50_000,
) -> DynamicPolicy:
    nodes = tuple(topology.numa_nodes)
    chosen = new_policy(
        policy, NUMAInfo(nodes, {node: [10] * (max(nodes) + 1) for node in nodes}), {}
    )
    cpus = parse_cpus(reserved)
    static = new_static_policy(
        topology, Reserved(cpus.bit_count(), cpus), options, Gates(), topology_policy=policy
    )
    return DynamicPolicy(static, chosen, scope=scope, limit=limit)


def texts(cpus: Mapping[str, int]) -> dict[str, str]:
    return {name: to_text(bits) for name, bits in cpus.items()}


def seen(updates: tuple[Update[tuple[str, str]], ...]) -> list[tuple[str, str, str]]:
    return [(update.key[0], to_text(update.old), to_text(update.new)) for update in updates]


def exclusive(policy: DynamicPolicy) -> dict[str, str]:
    return {
        uid: to_text(cpus)
        for uid, entries in policy.state.entries.items()
        for cpus in entries.values()
    }


def shared(uid: str) -> Pod:
    return named(uid, pod(container("500m", "1Gi")))


def fill_with_holes(policy: DynamicPolicy) -> DynamicPolicy:
    """Four pods of a core each, of which one on each node goes again."""
    for uid in "abcd":
        policy.admit(guaranteed(uid, 2))
    policy.remove("b")
    policy.remove("d")
    return policy


@pytest.mark.parametrize(
    ("given", "cpus"),
    [
        (named("p", pod(container("500m", "1Gi"))), {"a": "0-7"}),
        (named("p", pod(container("2", "1Gi"))), {"a": "0,4"}),
        (named("p", pod(container("1", "1Gi"), container("500m", "1Gi"))), {"a": "0", "b": "1-7"}),
        (
            named("p", pod(container("1500m", "1Gi"), container("500m", "1Gi"))),
            {"a": "0-7", "b": "0-7"},
        ),
        (named("p", pod(container("2", ""))), {"a": "0-7"}),
        (named("p", pod(container())), {"a": "0-7"}),
    ],
)
def test_the_seeds_example_pods(given: Pod, cpus: dict[str, str]) -> None:
    """Both policies agree on the table that cpu-manager.txt gives for the static policy.

    For the dynamic policy it has an empty one.
    """
    admission = dynamic(options={}).admit(given)
    assert (texts(admission.cpus), admission.updates, admission.is_exact) == (cpus, (), True)


def test_a_pod_that_the_static_policy_refuses_finds_room() -> None:
    policy = fill_with_holes(dynamic())
    assert exclusive(policy) == {"a": "0,4", "c": "2,6"}
    admission = policy.admit(guaranteed("e", 4))
    assert texts(admission.cpus) == {"a": "0-1,4-5"}
    assert seen(admission.updates) == [("a", "0,4", "3,7")]


def test_the_shared_pool_makes_way_before_others_move() -> None:
    policy = dynamic(regular(1, 2, 3), reserved="0,6")
    policy.admit(shared("s"))
    updates = [seen(policy.admit(guaranteed(uid, 2)).updates) for uid in "abcde"]
    assert updates[:2] == [[("s", "0-11", "0,2-6,8-11")], [("s", "0,2-6,8-11", "0,3-6,9-11")]]
    assert seen(policy.remove("b")) == [("s", "0,6", "0,2,6,8")]
    policy.remove("d")
    admission = policy.admit(guaranteed("f", 4))
    assert texts(admission.cpus) == {"a": "1-2,7-8"}
    assert seen(admission.updates) == [("s", "0,2,4,6,8,10", "0,6"), ("a", "1,7", "4,10")]


def test_what_cannot_be_admitted_changes_nothing() -> None:
    policy = fill_with_holes(dynamic())
    policy.admit(guaranteed("e", 2))
    before = exclusive(policy)
    with pytest.raises(AdmissionError) as refused:
        policy.admit(guaranteed("f", 4))
    assert refused.value.reason == "TopologyAffinityError"
    assert exclusive(policy) == before
    assert [active.uid for active in policy.active] == ["a", "c", "e"]


def test_part_of_a_core_is_refused_as_by_the_static_policy() -> None:
    with pytest.raises(AdmissionError, match="requested 3 cpus not multiple cpus per core = 2"):
        dynamic().admit(guaranteed("p", 3))


def test_reserved_cpus_stay() -> None:
    policy = dynamic(reserved="0,4")
    policy.admit(guaranteed("a", 2))
    assert exclusive(policy) == {"a": "1,5"}
    policy.admit(guaranteed("b", 4))
    assert exclusive(policy) == {"a": "1,5", "b": "2-3,6-7"}
    with pytest.raises(KubeletError):
        policy.admit(guaranteed("c", 2))
    assert to_text(policy.state.default) == "0,4"


def test_containers_of_a_pod_may_part_in_the_scope_of_containers() -> None:
    """A core is free on either node, and the new pod needs two on one."""
    policy = dynamic(regular(1, 2, 3))
    policy.admit(named("p", pod(container("2", "1Gi"), container("2", "1Gi"))))
    policy.admit(guaranteed("q", 4))
    assert texts(policy.state.entries["p"]) == {"a": "0,6", "b": "1,7"}
    admission = policy.admit(guaranteed("r", 4))
    assert seen(admission.updates) == [("p", "1,7", "5,11")]
    assert texts(admission.cpus) == {"a": "1-2,7-8"}


def test_containers_of_a_pod_stay_together_in_the_scope_of_pods() -> None:
    policy = dynamic(regular(1, 2, 3), scope=POD)
    policy.admit(named("p", pod(container("2", "1Gi"), container("2", "1Gi"))))
    policy.admit(guaranteed("q", 4))
    with pytest.raises(AdmissionError):
        policy.admit(guaranteed("r", 4))
    assert texts(policy.state.entries["p"]) == {"a": "0,6", "b": "1,7"}


def test_init_containers_use_what_the_others_have() -> None:
    policy = fill_with_holes(dynamic())
    admission = policy.admit(named("p", pod(container("4", "1Gi"), init=(container("2", "1Gi"),))))
    assert parse_cpus(texts(admission.cpus)["a"]) & ~parse_cpus(texts(admission.cpus)["b"]) == 0
    assert list(policy.state.entries["p"]) == ["b"]


def test_init_containers_that_need_more_have_cpus_of_their_own() -> None:
    policy = dynamic()
    admission = policy.admit(named("p", pod(container("2", "1Gi"), init=(container("4", "1Gi"),))))
    assert texts(admission.cpus) == {"a": "0-1,4-5", "b": "0,4"}
    assert texts(policy.state.entries["p"]) == {"a": "1,5", "b": "0,4"}


def test_removal_brings_together_what_best_effort_had_to_divide() -> None:
    policy = dynamic(policy=BEST_EFFORT)
    for uid in "abc":
        policy.admit(guaranteed(uid, 2))
    policy.remove("b")
    assert texts(policy.admit(guaranteed("d", 4)).cpus) == {"a": "1,3,5,7"}
    assert seen(policy.remove("a")) == [("d", "1,3,5,7", "0-1,4-5")]


def test_bug_of_the_static_policy_on_hybrid_machines_is_not_repeated() -> None:
    """Averages make it hand out CPUs of others."""
    topology = hybrid(2, 4)
    policy = dynamic(topology, BEST_EFFORT, {}, reserved="0")
    for uid, count in (("a", 3), ("b", 2), ("c", 2)):
        policy.admit(guaranteed(uid, count))
    taken = [cpus for entries in policy.state.entries.values() for cpus in entries.values()]
    assert sum(taken).bit_count() == 7 == sum(cpus.bit_count() for cpus in taken)


def test_beyond_the_limit_room_is_found_but_not_the_least_movement() -> None:
    policy = fill_with_holes(dynamic(limit=1))
    admission = policy.admit(guaranteed("e", 4))
    assert not admission.is_exact
    assert admission.cpus["a"].bit_count() == 4


@pytest.mark.parametrize(
    ("before", "after", "updates"),
    [
        ({"a": 0b01}, {"a": 0b01}, []),
        (
            {"a": 0b001, "b": 0b010},
            {"a": 0b010, "b": 0b100},
            [("b", 0b010, 0b100), ("a", 0b001, 0b010)],
        ),
        (
            {"a": 0b0011, "b": 0b1100},
            {"a": 0b0101, "b": 0b1010},
            [("a", 0b0011, 0b0001), ("b", 0b1100, 0b1010), ("a", 0b0001, 0b0101)],
        ),
        # A full exchange cannot do without a moment of sharing.
        ({"a": 0b01, "b": 0b10}, {"a": 0b10, "b": 0b01}, [("a", 0b01, 0b10), ("b", 0b10, 0b01)]),
    ],
)
def test_order_of_updates(
    before: dict[str, int], after: dict[str, int], updates: list[tuple[str, int, int]]
) -> None:
    assert [tuple(update) for update in order_updates(before, after)] == updates


OWNERS = st.lists(st.sampled_from(["a", "b", "c", ""]), min_size=8, max_size=8)


def sets_of(owners: list[str], kept: int) -> dict[str, int]:
    """The CPUs of each owner by CPU; the first three stay whose they are, if so many are `kept`."""
    fixed = ["a", "b", "c"][:kept]
    sets = dict.fromkeys("abc", 0)
    for cpu, owner in enumerate([*fixed, *owners]):
        if owner in sets:
            sets[owner] |= 1 << cpu
    return sets


@given(before=OWNERS, after=OWNERS)
def test_no_cpu_has_two_owners_on_the_way(before: list[str], after: list[str]) -> None:
    """The seed's pitfall: a CPU is exclusive by being taken from all other sets first."""
    now, end = sets_of(before, 3), sets_of(after, 3)
    for key, old, new in order_updates(now, end):
        assert now[key] == old != new
        now[key] = new
        assert sum(now.values()).bit_count() == sum(cpus.bit_count() for cpus in now.values())
    assert now == end


@given(before=OWNERS, after=OWNERS)
def test_updates_end_where_they_should_also_when_all_is_exchanged(
    before: list[str], after: list[str]
) -> None:
    now, end = sets_of(before, 0), sets_of(after, 0)
    for key, _, new in order_updates(now, end):
        now[key] = new
    assert now == end


def test_the_seeds_scenarios() -> None:
    """cpu-manager.txt: a container arrives, one terminates, the shared pool cannot become empty."""
    policy = dynamic(policy=BEST_EFFORT, reserved="0,4")
    policy.admit(shared("s"))
    assert seen(policy.admit(guaranteed("a", 2)).updates) == [("s", "0-7", "0,2-4,6-7")]
    assert seen(policy.remove("a")) == [("s", "0,2-4,6-7", "0-7")]
    policy.admit(guaranteed("b", 6))
    assert to_text(policy.state.default) == "0,4"
    with pytest.raises(KubeletError):
        policy.admit(guaranteed("c", 2))


# Against every possible layout.


def allowed_sets(policy: DynamicPolicy, count: int) -> Iterator[int]:
    """Every set that a container of `count` CPUs may have, by the rules alone."""
    topology = policy.topology
    sizes = sorted((cpus.bit_count() for cpus in topology.numa_nodes.values()), reverse=True)
    fewest = next(
        (number for number in range(1, len(sizes) + 1) if sum(sizes[:number]) >= count), len(sizes)
    )
    most = 1 if policy.alignment.name == SINGLE else fewest
    for chosen in combinations(members(topology.all & ~policy.static.reserved), count):
        cpus = bits_of(chosen)
        if sum(bool(cpus & node) for node in topology.numa_nodes.values()) > most:
            continue
        if policy.static.options.full_pcpus_only and any(
            core & cpus not in (0, core) for core in topology.cores.values()
        ):
            continue
        yield cpus


def least_movement(policy: DynamicPolicy, count: int) -> float:
    """The fewest CPUs that others give up for `count` new ones; infinite without any layout."""
    old = [cpus for entries in policy.state.entries.values() for cpus in entries.values()]
    choices = [list(allowed_sets(policy, cpus.bit_count())) for cpus in old] + [
        list(allowed_sets(policy, count))
    ]

    def search(number: int, taken: int, moved: int, best: float) -> float:
        if number == len(choices):
            return moved
        for cpus in choices[number]:
            gained = (cpus & ~old[number]).bit_count() if number < len(old) else 0
            if not cpus & taken and moved + gained < best:
                best = min(best, search(number + 1, taken | cpus, moved + gained, best))
        return best

    return search(0, 0, 0, float("inf"))


def moved(policy: DynamicPolicy, before: Mapping[str, int]) -> int:
    now = {uid: cpus for uid, entries in policy.state.entries.items() for cpus in entries.values()}
    return sum((now[uid] & ~cpus).bit_count() for uid, cpus in before.items())


def check_sets(policy: DynamicPolicy, admission: Admission) -> None:
    sets = [cpus for entries in policy.state.entries.values() for cpus in entries.values()]
    assert sum(cpus.bit_count() for cpus in sets) == sum(sets).bit_count()
    assert all(cpus in set(allowed_sets(policy, cpus.bit_count())) for cpus in sets)
    assert policy.state.default == policy.topology.all & ~sum(sets)
    assert admission.is_exact


MACHINES = [
    (regular(1, 2, 2), ""),
    (regular(1, 2, 2), "0"),
    (regular(1, 2, 2), "0,4"),
    (regular(2, 2, 3, threads=1), "0"),
    (regular(1, 3, 1), ""),
    (regular(1, 4, 2, threads=1), ""),
]


#: Admit until the machine is full, make holes, admit again: there it is that others must move.
STEPS = st.tuples(
    st.lists(st.sampled_from([1, 2, 2, 3]), max_size=3),
    st.sampled_from([[1] * 8, [2] * 4]),
    st.lists(st.integers(-8, -1), min_size=2, max_size=5),
    st.lists(st.sampled_from([2, 3, 4, -1, -3]), min_size=1, max_size=4),
).map(lambda parts: [step for part in parts for step in part])


@settings(max_examples=150, deadline=None)
@given(
    machine=st.sampled_from(MACHINES),
    policy=st.sampled_from([SINGLE, RESTRICTED]),
    options=st.sampled_from([{}, FULL]),
    steps=STEPS,
)
def test_room_is_found_wherever_it_is_with_the_least_movement(
    machine: tuple[CPUTopology, str], policy: str, options: dict[str, str], steps: list[int]
) -> None:
    topology, reserved = machine
    compare_with_every_layout(dynamic(topology, policy, options, reserved=reserved), steps)


@settings(max_examples=30, deadline=None)
@given(steps=STEPS)
def test_room_is_found_with_a_thread_offline(steps: list[int]) -> None:
    compare_with_every_layout(dynamic(without(regular(1, 2, 2), 5), options={}), steps)


def compare_with_every_layout(policy: DynamicPolicy, steps: list[int]) -> None:
    """Admit pods of so many CPUs, or (negative) remove one."""
    for number, step in enumerate(steps):
        if step < 0:
            if policy.active:
                policy.remove(policy.active[step % len(policy.active)].uid)
            continue
        before = {
            uid: cpus for uid, entries in policy.state.entries.items() for cpus in entries.values()
        }
        least = least_movement(policy, step)
        try:
            admission = policy.admit(guaranteed(str(number), step))
        except KubeletError:
            assert least == float("inf")
            continue
        assert moved(policy, before) == least
        check_sets(policy, admission)


# Pods in their own scope on single NUMA nodes: only which node each pod is on matters.


def least_movement_of_pods(policy: DynamicPolicy, size: int) -> float:
    """By every choice of a node for each pod."""
    nodes = [cpus & ~policy.static.reserved for cpus in policy.topology.numa_nodes.values()]
    old = [sum(entries.values()) for entries in policy.state.entries.values()]
    best = float("inf")
    for chosen in product(range(len(nodes)), repeat=len(old) + 1):
        room = [cpus.bit_count() for cpus in nodes]
        for number, cpus in zip(chosen, [*old, (1 << size) - 1], strict=True):
            room[number] -= cpus.bit_count()
        if min(room) >= 0:
            pairs = zip(chosen, old, strict=False)
            best = min(best, sum((cpus & ~nodes[number]).bit_count() for number, cpus in pairs))
    return best


@settings(max_examples=60, deadline=None)
@given(
    machine=st.sampled_from(
        [(regular(1, 2, 8, threads=1), "0"), (regular(1, 3, 6, threads=1), ""), (SMALL, "0")]
    ),
    first=st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=3, max_size=6),
    gone=st.sets(st.integers(0, 5), min_size=1, max_size=3),
    then=st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=3),
)
def test_pods_in_their_scope_find_room_with_the_least_movement(
    machine: tuple[CPUTopology, str],
    first: list[tuple[int, int]],
    gone: set[int],
    then: list[tuple[int, int]],
) -> None:
    topology, reserved = machine
    policy = dynamic(topology, options={}, reserved=reserved, scope=POD)
    for number, sizes in enumerate([*first, *then]):
        if number == len(first):
            for removed in gone:
                policy.remove(str(removed))
        before = {uid: sum(entries.values()) for uid, entries in policy.state.entries.items()}
        least = least_movement_of_pods(policy, sum(sizes))
        try:
            policy.admit(named(str(number), pod(*(container(str(size), "1Gi") for size in sizes))))
        except KubeletError:
            assert least == float("inf")
            continue
        now = {uid: sum(entries.values()) for uid, entries in policy.state.entries.items()}
        assert sum((now[uid] & ~cpus).bit_count() for uid, cpus in before.items()) == least
        for cpus in now.values():
            assert any(not cpus & ~node for node in topology.numa_nodes.values())
