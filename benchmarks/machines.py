"""Made-up machines to measure with: /sys and /proc of many sockets, a must-gather of many nodes."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.emit import to_yaml

_SYSTEM = "sys/devices/system"
_CORES = 60  # of a socket: a Xeon Platinum 8490H
#: index, level, type, size and whether the socket shares it.
_CACHES = (
    (0, 1, "Data", "48K", False),
    (1, 1, "Instruction", "32K", False),
    (2, 2, "Unified", "2048K", False),
    (3, 3, "Unified", "115200K", True),
)
_CPUINFO = """\
processor\t: {cpu}
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8490H
stepping\t: 8
physical id\t: {socket}
siblings\t: {threads}
core id\t\t: {core}
cpu cores\t: {cores}
flags\t\t: fpu vme de pse tsc msr ht lm constant_tsc nopl xtopology

"""


def make_root(root: Path, sockets: int) -> int:
    """Write /sys and /proc of a machine below `root`, and return the number of its CPUs.

    It has `sockets` sockets, a NUMA node each. The files are those of a live kernel 6.x that a
    reader may want, with the links between CPUs and NUMA nodes. First threads are numbered before
    second ones, as most x86 firmware does.
    """
    cores = sockets * _CORES
    cpus = 2 * cores
    package = [
        CpuSet((*range(at, at + _CORES), *range(at + cores, at + cores + _CORES)))
        for at in range(0, cores, _CORES)
    ]
    for cpu in range(cpus):
        socket, core = cpu % cores // _CORES, cpu % _CORES
        core_cpus = CpuSet((cpu % cores, cpu % cores + cores))
        folder = root / _SYSTEM / f"cpu/cpu{cpu}"
        _write(folder / "topology", dict(_topology(socket, core, core_cpus, package[socket], cpus)))
        for index, level, kind, size, shared in _CACHES:
            members = package[socket] if shared else core_cpus
            identity = socket if shared else socket * 64 + core
            _write(
                folder / f"cache/index{index}", _cache(level, kind, size, identity, members, cpus)
            )
        (folder / f"node{socket}").symlink_to(f"../../node/node{socket}")
        if cpu:
            (folder / "online").write_text("1\n")
    for node in range(sockets):
        _make_node(root / _SYSTEM / f"node/node{node}", package[node], node, sockets, cpus)
    _make_lists(root, cpus, sockets)
    return cpus


def _topology(
    socket: int, core: int, core_cpus: CpuSet, package: CpuSet, cpus: int
) -> Iterator[tuple[str, str]]:
    yield from (
        ("physical_package_id", f"{socket}"),
        ("die_id", "0"),
        ("core_id", f"{core}"),
        ("cluster_id", "65535"),
    )
    sets = {
        "core": core_cpus,
        "thread": core_cpus,
        "cluster": core_cpus,
        "die": package,
        "package": package,
    }
    for name, members in sets.items():
        stem = "thread_siblings" if name == "thread" else f"{name}_cpus"
        yield stem, members.mask(cpus)
        yield f"{stem}_list", str(members)
    yield "core_siblings", package.mask(cpus)
    yield "core_siblings_list", str(package)


def _cache(
    level: int, kind: str, size: str, identity: int, members: CpuSet, cpus: int
) -> dict[str, str]:
    return {
        "level": f"{level}",
        "type": kind,
        "size": size,
        "id": f"{identity}",
        "coherency_line_size": "64",
        "shared_cpu_list": str(members),
        "shared_cpu_map": members.mask(cpus),
    }


def _distance(node: int, other: int) -> str:
    if other == node:
        return "10"
    return "21" if other // 4 == node // 4 else "31"


def _make_node(folder: Path, members: CpuSet, node: int, nodes: int, cpus: int) -> None:
    distances = " ".join(_distance(node, other) for other in range(nodes))
    memory = f"Node {node} MemTotal:      268435456 kB\nNode {node} MemFree:      241591910 kB"
    _write(
        folder,
        {
            "cpulist": str(members),
            "cpumap": members.mask(cpus),
            "distance": distances,
            "meminfo": memory,
        },
    )
    for size in (2048, 1048576):
        pages = {f"{kind}_hugepages": "0" for kind in ("nr", "free", "surplus")}
        _write(folder / f"hugepages/hugepages-{size}kB", pages)
    for cpu in members:
        (folder / f"cpu{cpu}").symlink_to(f"../../cpu/cpu{cpu}")


def _make_lists(root: Path, cpus: int, sockets: int) -> None:
    every = f"0-{cpus - 1}"
    lists = dict.fromkeys(("online", "present", "possible"), every) | dict.fromkeys(
        ("offline", "isolated"), ""
    )
    _write(root / _SYSTEM / "cpu", {**lists, "kernel_max": "8191"})
    _write(root / _SYSTEM / "cpu/smt", {"active": "1", "control": "on"})
    nodes = f"0-{sockets - 1}"
    _write(
        root / _SYSTEM / "node",
        dict.fromkeys(("online", "possible", "has_cpu", "has_memory"), nodes),
    )
    cores = sockets * _CORES
    blocks = (
        _CPUINFO.format(
            cpu=cpu,
            socket=cpu % cores // _CORES,
            core=cpu % _CORES,
            threads=2 * _CORES,
            cores=_CORES,
        )
        for cpu in range(cpus)
    )
    memory = f"MemTotal:       {sockets * 268435456} kB"
    _write(
        root / "proc",
        {"cpuinfo": "".join(blocks), "cmdline": "root=/dev/sda2 ro", "meminfo": memory},
    )


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text + "\n")


def make_must_gather(folder: Path, samples: list[Path], nodes: int) -> None:
    """Write a must-gather of `nodes` nodes, whose snapshots are `samples` in turn, to `folder`."""
    objects = folder / "image/cluster-scoped-resources/core/nodes"
    objects.mkdir(parents=True)
    for number in range(nodes):
        name = f"worker-{number}"
        place = folder / "image/nodes" / name
        place.mkdir(parents=True)
        shutil.copyfile(samples[number % len(samples)], place / "sysinfo.tgz")
        (objects / f"{name}.yaml").write_text(to_yaml(_node_object(name)))


def _node_object(name: str) -> dict[str, Any]:
    """A Node as a kubelet reports it: fifty images (nodeStatusMaxImages) are most of it."""
    labels = {
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name,
        "node-role.kubernetes.io/worker": "",
    }
    labels |= {f"feature.node.kubernetes.io/cpu-cpuid.F{number}": "true" for number in range(100)}
    digest = f"quay.example.com/release@sha256:{'0123456789abcdef' * 4}"
    images = [{"names": [digest, digest], "sizeBytes": 1000000 + number} for number in range(50)]
    status = {"capacity": {"cpu": "112", "memory": "263849572Ki"}, "images": images}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": status,
    }
