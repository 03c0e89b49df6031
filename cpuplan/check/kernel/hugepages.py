"""Huge pages of each NUMA node and size: in all, free, and taken by programs outside of pods."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import NamedTuple

from cpuplan.base import nodetext
from cpuplan.base.text import counted
from cpuplan.check.kernel import arguments
from cpuplan.check.kernel.kernel_log import log_of_boot
from cpuplan.check.subject import Subject
from cpuplan.components import kernel, units
from cpuplan.components.derived import ANYWHERE, HUGE_PAGES
from cpuplan.components.hugepages import size_text, to_kib
from cpuplan.facts.settings.kernel import DEFAULT_HUGEPAGESZ
from cpuplan.plan.expected.evidence import Answer, Heals
from cpuplan.plan.setting import Setting

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


def pools_of_folder(subject: Subject, node: int, folder: str) -> Iterator[Pages]:
    """The pools in a folder, by size; those of the machine have node -1."""
    for name in subject.root.names(folder):
        match = _FOLDER.fullmatch(name)
        number = read_count(subject, f"{folder}/{name}/nr_hugepages") if match else None
        if match and number is not None:
            surplus = read_count(subject, f"{folder}/{name}/surplus_hugepages") or 0
            free = read_count(subject, f"{folder}/{name}/free_hugepages")
            free = number if free is None else free
            path = f"{folder}/{name}/nr_hugepages"
            yield Pages(node, int(match[1]), number - surplus, free, path)


def read_count(subject: Subject, path: str) -> int | None:
    """The number in a file; None where there is none."""
    return nodetext.natural(subject.root.read(path) or "")


_GROUPS = "sys/fs/cgroup"
#: A pod's group with systemd and with cgroupfs.
_POD = re.compile(r"(?:\A|-)pod[0-9a-f]")


def foreign_use(subject: Subject, pool: Pages) -> Iterator[Answer]:
    """Pages in use that no pod has: the kubelet promises them, and a pod that gets them ends."""
    used = pool.number - pool.free
    by_pods = _used_by_pods(subject, pool.kib) if used > 0 else 0
    if used <= 0 or by_pods is None:
        return
    if used > by_pods:
        yield subject.differs(
            f"huge pages of {size_text(pool.kib)} that pods do not use",
            "CP819",
            pool.path.replace("nr_hugepages", "free_hugepages"),
            observed=f"{used} of {pool.number} in use",
            expected=f"{by_pods} in use by pods",
            size=size_text(pool.kib),
            number=pool.number,
            used=used,
            pods=by_pods,
        )


def with_reserved(subject: Subject, pool: Pages) -> Pages:
    """Pages that the machine's pool counts as free and promised (reserved), or as used.

    A program has promised pages when it maps them, before it touches one.
    """
    folder = f"{POOLS}/hugepages-{pool.kib}kB"
    free, reserved = (
        read_count(subject, f"{folder}/{kind}_hugepages") for kind in ("free", "resv")
    )
    left = min(pool.free, pool.free if free is None else free)
    return pool._replace(free=left - (reserved or 0))


def _used_by_pods(subject: Subject, kib: int) -> int | None:
    """Pages in the control groups of pods; None where that cannot be known, 0 without pods."""
    names = subject.root.names(_GROUPS)
    if "cgroup.controllers" not in names and "hugetlb" not in names:
        return None
    folder = _GROUPS if "cgroup.controllers" in names else f"{_GROUPS}/hugetlb"
    pods = [name for name in subject.root.names(folder) if name.startswith("kubepods")]
    if not pods:
        return 0
    unit = f"{kib // 1024**2}GB" if kib >= 1024**2 else f"{kib // 1024}MB"
    unit = unit if kib >= 1024 else f"{kib}KB"
    used = [
        read_count(subject, f"{folder}/{pod}/hugetlb.{unit}.{kind}")
        for pod in pods
        for kind in ("current", "usage_in_bytes")
    ]
    bytes_of = [used_bytes for used_bytes in used if used_bytes is not None]
    if bytes_of:
        return sum(bytes_of) // (kib * 1024)
    return None if any(_has_pods(subject, f"{folder}/{pod}") for pod in pods) else 0


def _has_pods(subject: Subject, path: str) -> bool:
    """Whether the group of all pods has one, itself or in the groups of its QoS classes."""
    names = subject.root.names(path)
    further = [child for name in names for child in subject.root.names(f"{path}/{name}")]
    return any(_POD.search(name) for name in (*names, *further))


_MEMINFO = "proc/meminfo"
_FIELD = re.compile(r"^([A-Za-z_]+):[ \t]+([0-9]{1,15})", re.MULTILINE)

#: Pages by size in KiB.
Sizes = dict[int, int]


def pages(subject: Subject) -> Iterator[Answer]:
    """The pools of each NUMA node, then of the machine, then the default size."""
    planned = _planned(subject)
    pools = list(_on_nodes(subject))
    if pools:
        yield from _each_node(subject, planned, pools)
        sums = list(map(partial(_of_machine, subject), _added_up(pools)))
        yield from _sums(subject, planned, sums)
        yield from _machine(subject, planned, sums)
    else:
        machine = list(pools_of_folder(subject, -1, POOLS))
        yield from _unseen_nodes(subject, planned)
        yield from _sums(subject, planned, machine)
    yield from _default(subject)


def _planned(subject: Subject) -> dict[int, Sizes]:
    return _numbers(subject.expected.facts.get(HUGE_PAGES))


def _numbers(nodes: object) -> dict[int, Sizes]:
    """Numbers of pages by node and size, of a fact."""
    by_node: dict[int, Sizes] = {}
    for node, sizes in nodes.items() if isinstance(nodes, Mapping) else ():
        by_node[int(node)] = {int(kib): int(count) for kib, count in sizes.items()}
    return by_node


def _anywhere(subject: Subject) -> Sizes:
    """Sizes that an intent asks for without a node, and how many pages may come to any node."""
    return _numbers({"-1": subject.expected.facts.get(ANYWHERE, {})}).get(-1, {})


def _on_nodes(subject: Subject) -> Iterator[Pages]:
    names = subject.root.names(NODES)
    for node in sorted(int(name[4:]) for name in names if re.fullmatch(r"node[0-9]{1,5}", name)):
        yield from pools_of_folder(subject, node, f"{NODES}/node{node}/hugepages")


def _each_node(subject: Subject, planned: dict[int, Sizes], pools: list[Pages]) -> Iterator[Answer]:
    """Sizes whose pages all have a node: exactly those. Others have the sum."""
    anywhere = _anywhere(subject)
    seen = set()
    for pool in pools:
        wanted = planned.get(pool.node, {}).get(pool.kib, 0)
        seen.add((pool.node, pool.kib))
        if pool.kib not in anywhere:
            yield _compared(subject, pool, wanted)
    for node, sizes in planned.items():
        for kib, wanted in sizes.items():
            if wanted and (node, kib) not in seen and kib not in anywhere:
                path = f"{NODES}/node{node}/hugepages/hugepages-{kib}kB/nr_hugepages"
                yield _compared(subject, Pages(node, kib, 0, 0, path), wanted)


def _unseen_nodes(subject: Subject, planned: dict[int, Sizes]) -> Iterator[Answer]:
    for node, sizes in planned.items():
        for kib in sizes:
            reason = "the pools of NUMA nodes are not here"
            yield subject.unverifiable(_fact(node, kib), f"{NODES}/node{node}/hugepages", reason)


def _fact(node: int, kib: int) -> str:
    where = "" if node < 0 else f" of NUMA node {node}"
    return f"huge pages of {size_text(kib)}{where}"


def _compared(subject: Subject, pool: Pages, wanted: int, spare: int = 0) -> Answer:
    """Held where the number is `wanted`, or at most `spare` away from it."""
    fact, shown = _fact(pool.node, pool.kib), f"{pool.number}, {pool.free} of them free"
    if abs(pool.number - wanted) <= spare:
        answer = subject.held(fact, pool.path)
        return answer._replace(expected=str(wanted), observed=shown)
    pages = _settings(subject, pool)
    if not all(
        arguments.as_planned(subject, setting)
        for setting in pages
        if setting.component == kernel.NAME
    ):
        reason = "the node was not booted with the argument for these pages"
        return subject.unverifiable(fact, pool.path, reason)
    words = "".join(f"; the kernel said: {text}" for text in _said(subject))
    return subject.differs(
        fact,
        "CP817",
        pool.path,
        observed=str(pool.number),
        expected=str(wanted),
        pages=counted(pool.number, "huge page"),
        labels=subject.all_labels(pages),
        heals=Heals.LIVE if pool.kib < 1024**2 else Heals.REBOOT,
        size=size_text(pool.kib),
        owner="the machine" if pool.node < 0 else f"NUMA node {pool.node}",
        said=words,
    )


def _settings(subject: Subject, pages: Pages) -> list[Setting]:
    """The boot arguments and the unit that ask for pages of a size, there."""
    planned = subject.expected.settings
    sizes = ((setting, setting.key.partition("=")) for setting in planned.of(kernel.NAME))
    own = f"-{pages.kib}kB-NUMA{pages.node}.service"
    return [
        *(size for size, key in sizes if key[0] == "hugepagesz" and to_kib(key[2]) == pages.kib),
        *(unit for unit in planned.of(units.NAME) if unit.key.endswith(own)),
    ]


def _said(subject: Subject) -> tuple[str, ...]:
    log = log_of_boot(subject).log
    return log.pages[:1] if log else ()


def _added_up(pools: list[Pages]) -> list[Pages]:
    """The pages of the machine by size, from those of its nodes."""
    sums: dict[int, Pages] = {}
    for pool in pools:
        old = sums.get(pool.kib, Pages(-1, pool.kib, 0, 0, pool.path))
        number, free = old.number + pool.number, old.free + pool.free
        sums[pool.kib] = old._replace(number=number, free=free)
    return list(sums.values())


def _of_machine(subject: Subject, pages: Pages) -> Pages:
    """A sum with the file of the machine's pool as its evidence, where that file is here."""
    path = f"{POOLS}/hugepages-{pages.kib}kB/nr_hugepages"
    return pages if read_count(subject, path) is None else pages._replace(path=path)


def _sums(subject: Subject, planned: dict[int, Sizes], sums: list[Pages]) -> Iterator[Answer]:
    """The sum of each size that has pages without a node, and pages that others than pods use."""
    anywhere, by_size = _anywhere(subject), {pool.kib: pool for pool in sums}
    for kib in sorted(anywhere.keys() | by_size.keys()):
        wanted = sum(sizes.get(kib, 0) for sizes in planned.values())
        path = f"{POOLS}/hugepages-{kib}kB/nr_hugepages"
        pool = by_size.get(kib, Pages(-1, kib, 0, 0, path))
        if kib in anywhere:
            if not sums:
                yield subject.unverifiable(_fact(-1, kib), path, "no pool of huge pages is here")
                continue
            yield _compared(subject, pool, wanted, _spare(planned, anywhere, kib))
        yield from foreign_use(subject, with_reserved(subject, pool))


def _machine(subject: Subject, planned: dict[int, Sizes], sums: list[Pages]) -> Iterator[Answer]:
    """The pools of the machine, where they say anything else than those of its nodes."""
    by_size = {pool.kib: pool for pool in sums}
    for pool in (*pools_of_folder(subject, -1, POOLS), *_of_defaultsize_text(subject)):
        added = by_size.get(pool.kib)
        wanted = sum(sizes.get(pool.kib, 0) for sizes in planned.values())
        if added and added.number == wanted != pool.number:
            yield _compared(subject, pool, wanted)


def _of_defaultsize_text(subject: Subject) -> Iterator[Pages]:
    """Those of /proc/meminfo, which has one size."""
    fields = dict(_FIELD.findall(subject.root.read(_MEMINFO) or ""))
    if {"Hugepagesize", "HugePages_Total", "HugePages_Surp"} <= fields.keys():
        number = int(fields["HugePages_Total"]) - int(fields["HugePages_Surp"])
        free = int(fields.get("HugePages_Free", number))
        yield Pages(-1, int(fields["Hugepagesize"]), number, free, _MEMINFO)


def _spare(planned: dict[int, Sizes], anywhere: dict[int, int], kib: int) -> int:
    """Where some nodes have counts of their own, the kernel's choice changes the sum a little."""
    return 0 if anywhere[kib] == sum(sizes.get(kib, 0) for sizes in planned.values()) else 1


def _default(subject: Subject) -> Iterator[Answer]:
    """The size that a program gets when it asks for none."""
    planned = {setting.key: setting for setting in subject.expected.settings.of(kernel.NAME)}
    setting = planned.get(DEFAULT_HUGEPAGESZ.key)
    if setting is None or not arguments.as_planned(subject, setting):
        return
    about, wanted = f"effect of {setting.key}", to_kib(str(setting.value))
    fields = dict(_FIELD.findall(subject.root.read(_MEMINFO) or ""))
    text = fields.get("Hugepagesize", "")
    if not text:
        yield subject.unverifiable(about, _MEMINFO, "it has no line Hugepagesize")
    elif int(text) == wanted:
        answer = subject.held(about, _MEMINFO)
        yield answer._replace(expected=f"{wanted} kB", observed=f"{text} kB")
    else:
        yield subject.differs(
            about,
            "CP814",
            _MEMINFO,
            observed=f"Hugepagesize {text} kB",
            expected=f"Hugepagesize {wanted} kB",
            labels=subject.labels(setting.reasons),
            argument=kernel.argument(setting),
            file=f"/{_MEMINFO}",
            said="",
        )
