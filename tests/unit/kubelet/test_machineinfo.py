"""The machine as cadvisor reports it."""

from cpuplan.kubelet.cpu.topology import MachineCore
from cpuplan.kubelet.machineinfo import CPUS, NODES, MachineInfo, Tree, read_machine_info


def tree(online: str, *, l3: str, nodes: int = 1, caches: bool = True) -> Tree:
    """Two cores with two threads each, (0, 2) and (1, 3), and an L3 shared by the CPUs of the mask
    `l3`.
    """
    files = {f"{CPUS}/online": online}
    for cpu in range(4):
        for folder in (CPUS, f"{NODES}/node0"):
            files[f"{folder}/cpu{cpu}/topology/core_id"] = str(cpu % 2)
            files[f"{folder}/cpu{cpu}/topology/physical_package_id"] = "0"
        if caches:
            index = f"{CPUS}/cpu{cpu}/cache/index3"
            found = {
                "id": "5",
                "level": "3",
                "type": "Unified",
                "size": "8192K",
                "shared_cpu_map": l3,
            }
            files.update({f"{index}/{name}": text for name, text in found.items()})
    for node in range(nodes):
        files[f"{NODES}/node{node}/meminfo"] = f"Node {node} MemTotal:  1024 kB"
        files[f"{NODES}/node{node}/distance"] = " ".join(
            "10" if other == node else "20" for other in range(nodes)
        )
    return Tree(files)


def uncore(info: MachineInfo) -> list[tuple[int, ...]]:
    return [core.uncore_caches for node in info.nodes for core in node.cores.cores]


def test_a_cache_of_the_whole_node_is_no_uncore_cache() -> None:
    info = read_machine_info(tree("0-3", l3="f"))
    assert uncore(info) == [(), ()]
    assert info.nodes[0].caches == (5,)
    assert info.nodes[0].cores.cores[0] == MachineCore(0, 0, (0, 2), ())
    assert (info.num_cpus, info.num_sockets) == (4, 1)


def test_a_cache_of_part_of_the_node_is_one() -> None:
    assert uncore(read_machine_info(tree("0-3", l3="5"))) == [(5,), (5,)]


def test_offlining_a_thread_makes_the_node_s_cache_an_uncore_cache_of_some_cores() -> None:
    """The kernel takes the CPU out of the mask; cadvisor multiplies cores by the threads of each
    core.
    """
    info = read_machine_info(tree("0-2", l3="7"))
    assert uncore(info) == [(5,), (5,)]
    info = read_machine_info(tree("0-2", l3="3"))
    assert uncore(info) == [(5,), ()]


def test_memory_only_nodes_stay() -> None:
    info = read_machine_info(tree("0-3", l3="f", nodes=2))
    assert [len(node.cores.cores) for node in info.nodes] == [2, 0]
    assert [node.distances for node in info.nodes] == [(10, 20), (20, 10)]
    assert info.nodes[1].memory.memory == 1024 * 1024


def test_node_directories_are_walked_by_the_letters_of_their_names() -> None:
    info = read_machine_info(tree("0-3", l3="f", nodes=11))
    assert [node.cores.id for node in info.nodes] == [0, 1, 10, 2, 3, 4, 5, 6, 7, 8, 9]


def test_without_cache_files_there_are_no_caches() -> None:
    assert uncore(read_machine_info(tree("0-3", l3="", caches=False))) == [(), ()]
