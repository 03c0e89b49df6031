"""Files of /sys and /proc of small made-up machines, as {path: text}, in folders and archives."""

import io
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path

from cpuplan.base.cpuset import CpuSet

CPUINFO = """\
processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 106
model name\t: Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz
flags\t\t: fpu lm
"""


def server(cores: int = 4, memory_kb: int = 1024 * 1024) -> dict[str, str]:
    """Two sockets with a NUMA node and an L3 each, and `cores` cores in all.

    The cores alternate, and siblings are apart by `cores`.
    """
    files = {
        "proc/cpuinfo": CPUINFO,
        "proc/cmdline": "root=/dev/sda\n",
        "sys/devices/system/cpu/online": f"0-{2 * cores - 1}\n",
        "sys/devices/system/cpu/present": f"0-{2 * cores - 1}\n",
    }
    for cpu in range(2 * cores):
        socket, core = cpu % 2, cpu % cores
        package = CpuSet(range(socket, 2 * cores, 2))
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        files |= {
            f"{folder}/topology/physical_package_id": f"{socket}\n",
            f"{folder}/topology/core_id": f"{core // 2}\n",
            f"{folder}/topology/die_id": "0\n",
            f"{folder}/topology/core_cpus_list": f"{core},{core + cores}\n",
            f"{folder}/cache/index3/level": "3\n",
            f"{folder}/cache/index3/id": f"{socket}\n",
            f"{folder}/cache/index3/size": "32768K\n",
            f"{folder}/cache/index3/type": "Unified\n",
            f"{folder}/cache/index3/shared_cpu_list": f"{package}\n",
        }
    for node in range(2):
        folder = f"sys/devices/system/node/node{node}"
        files |= {
            f"{folder}/cpulist": f"{CpuSet(range(node, 2 * cores, 2))}\n",
            f"{folder}/distance": "10 21\n" if node == 0 else "21 10\n",
            f"{folder}/meminfo": f"Node {node} MemTotal:       {memory_kb} kB\n",
            f"{folder}/hugepages/hugepages-2048kB/nr_hugepages": "0\n",
        }
    return files


def put(files: Mapping[str, str], root: Path) -> Path:
    """Write the files below `root`."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root


def tar(
    files: Mapping[str, str],
    mode: str = "w:gz",
    extra: tuple[tarfile.TarInfo, ...] = (),
    prefix: str = "",
) -> bytes:
    """The files in an archive, then the members `extra`, which have no bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as archive:  # type: ignore[call-overload]
        for path, text in files.items():
            member = tarfile.TarInfo(prefix + path)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
        for member in extra:
            archive.addfile(member)
    return buffer.getvalue()


def link(path: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    """A link as an archive's member; a device, pipe or folder with another `kind`."""
    member = tarfile.TarInfo(path)
    member.type, member.linkname = kind, target
    return member


def switched_off(files: Mapping[str, str], off: CpuSet) -> dict[str, str]:
    """The files of a machine of which the CPUs `off` are offline.

    The kernel takes them out of lists and folders.
    """
    left = {}
    for path, text in files.items():
        cpu = re.match(r"sys/devices/system/cpu/cpu([0-9]+)/(topology|cache)/", path)
        if cpu and int(cpu[1]) in off:
            continue
        if path.endswith(("_list", "/cpulist", "cpu/online")):
            text = f"{CpuSet.parse_kernel(text) - off}\n"  # noqa: PLW2901
        left[path] = text
    left["sys/devices/system/cpu/offline"] = f"{off}\n"
    return left
