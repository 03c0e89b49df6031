"""The kernel's pools of huge pages: of each NUMA node, and of the machine."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.quantity import to_text
from cpuplan.check.subject import Subject

NODES = "sys/devices/system/node"
POOLS = "sys/kernel/mm/hugepages"
_FOLDER = re.compile(r"hugepages-([0-9]{1,9})kB")


class Pages(NamedTuple):
    """The pages of a size on one node, or of the machine (node -1)."""

    node: int
    kib: int
    #: Those that stay: pages beyond the pool (surplus) go when they are freed.
    number: int
    free: int
    path: str


def of_folder(subject: Subject, node: int, folder: str) -> Iterator[Pages]:
    """The pools in a folder, by size; those of the machine have node -1."""
    for name in subject.root.names(folder):
        match = _FOLDER.fullmatch(name)
        number = read(subject, f"{folder}/{name}/nr_hugepages") if match else None
        if match and number is not None:
            surplus = read(subject, f"{folder}/{name}/surplus_hugepages") or 0
            free = read(subject, f"{folder}/{name}/free_hugepages")
            free = number if free is None else free
            path = f"{folder}/{name}/nr_hugepages"
            yield Pages(node, int(match[1]), number - surplus, free, path)


def read(subject: Subject, path: str) -> int | None:
    """The number in a file; None where there is none."""
    return nodetext.natural(subject.root.read(path) or "")


def size_text(kib: int) -> str:
    """A size as boot arguments have it."""
    return to_text(kib * 1024).removesuffix("i")
