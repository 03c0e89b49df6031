"""Cpusets of a machine with eight CPUs: what Kubernetes runs into; more is in the suite `crio`."""

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux.cpuset import Refused
from cpuplan.upstream.linux.cpuset_files import Tree

PODS, BEST_EFFORT, POD = "kubepods", "kubepods/besteffort", "kubepods/pod"
CONTAINER = "kubepods/pod/container"
CPUS, EXCLUSIVE, PARTITION = "cpuset.cpus", "cpuset.cpus.exclusive", "cpuset.cpus.partition"


@pytest.fixture
def tree() -> Tree:
    """A slice of pods with a slice of BestEffort pods and a pod."""
    made = Tree(0xFF)
    made.mkdir(PODS)
    made.write(PODS, "cgroup.subtree_control", "+cpuset +cpu")
    made.mkdir(BEST_EFFORT)
    made.mkdir(POD)
    return made


def effective(tree: Tree, path: str) -> str:
    return str(CpuSet.from_bits(tree.cpuset(path).effective))


def test_a_wish_outside_of_the_slice_is_no_wish(tree: Tree) -> None:
    tree.write(PODS, CPUS, "0-3")
    tree.write(BEST_EFFORT, CPUS, "4-5")
    assert effective(tree, BEST_EFFORT) == "0-3"


def test_a_remote_partition_takes_its_cpus_from_all_others(tree: Tree) -> None:
    tree.write(BEST_EFFORT, CPUS, "2-5")
    tree.write(POD, "cgroup.subtree_control", "+cpuset +cpu")
    tree.mkdir(CONTAINER)
    for path in (PODS, POD, CONTAINER):
        tree.write(path, EXCLUSIVE, "4-5")
    tree.write(CONTAINER, PARTITION, "isolated")
    assert tree.partition(CONTAINER) == "isolated"
    assert (effective(tree, CONTAINER), effective(tree, BEST_EFFORT)) == ("4-5", "2-3")


def test_a_set_inside_of_the_wanted_cpus_prevents_it(tree: Tree) -> None:
    tree.write(BEST_EFFORT, CPUS, "4-5")
    tree.write(PODS, EXCLUSIVE, "4-5")
    with pytest.raises(Refused, match="EINVAL"):
        tree.write(POD, EXCLUSIVE, "4-5")


def test_a_local_partition_does_not_heal(tree: Tree) -> None:
    tree.mkdir("ovs")
    tree.write("ovs", CPUS, "6-7")
    tree.write("ovs", PARTITION, "isolated")
    tree.write(PODS, CPUS, "0-7")
    assert tree.partition("ovs") == "isolated invalid"
    tree.write(PODS, CPUS, "0-5")
    assert tree.partition("ovs") == "isolated invalid"
    tree.write("ovs", PARTITION, "isolated")
    assert tree.partition("ovs") == "isolated"


def test_bug_clearing_the_parent_first_leaks(tree: Tree) -> None:
    """Clear bottom-up: else CPUs stay isolated after every cgroup is gone, until a reboot."""
    tree.write(PODS, EXCLUSIVE, "4-5")
    tree.write(POD, EXCLUSIVE, "4-5")
    tree.write(POD, PARTITION, "isolated")
    tree.write(PODS, EXCLUSIVE, "\n")
    assert CpuSet.from_bits(tree.leak()) == CpuSet.parse("4-5")


def test_bug_cpus_of_isolcpus_are_for_no_local_partition() -> None:
    """The check takes the state before the change for the one after it."""
    tree = Tree(0xFF, housekeeping=0x0F)
    tree.mkdir("a")
    tree.write("a", CPUS, "6-7")
    tree.write("a", PARTITION, "isolated")
    assert "conflicts with housekeeping" in tree.partition("a")
    assert tree.leak() == 0


@pytest.mark.parametrize(
    ("path", "file", "text", "error"),
    [
        ("absent", CPUS, "0", "ENOENT"),
        (PODS, CPUS, "8", "ERANGE"),
        (PODS, CPUS, "x", "EINVAL"),
        (PODS, PARTITION, "x", "EINVAL"),
        (PODS, "cpuset.cpus.isolated", "0", "ENOENT"),
    ],
)
def test_refused(tree: Tree, path: str, file: str, text: str, error: str) -> None:
    with pytest.raises(Refused, match=error):
        tree.write(path, file, text)


def test_places_of_tasks(tree: Tree) -> None:
    tree.spawn(PODS, "one")
    with pytest.raises(Refused, match="EOPNOTSUPP"):
        tree.spawn(POD, "two")
    with pytest.raises(Refused, match="EBUSY"):
        tree.rmdir(PODS)
