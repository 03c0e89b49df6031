"""Huge pages: those of each NUMA node and size, in all, free, and of no size that nobody asked for.

The kernel chooses the nodes of pages that an intent asks for without a node: of these the sum
counts, not where they are.
"""

import re
from collections.abc import Iterator, Mapping
from functools import partial

from cpuplan.base.text import counted
from cpuplan.check.kernel import line, pagesinuse
from cpuplan.check.kernel.pagepools import NODES, POOLS, Pages, of_folder, read, size_text
from cpuplan.check.kernel.said import said
from cpuplan.check.subject import Subject
from cpuplan.components import kernel, units
from cpuplan.components.derived import ANYWHERE, HUGE_PAGES
from cpuplan.components.hugepages import to_kib
from cpuplan.plan.expected.answer import Answer, Heals
from cpuplan.plan.setting import Setting

_MEMINFO = "proc/meminfo"
_FIELD = re.compile(r"^([A-Za-z_]+):[ \t]+([0-9]{1,15})", re.MULTILINE)

#: Pages by size in KiB.
Sizes = dict[int, int]


def pages(subject: Subject) -> Iterator[Answer]:
    """The pools of each NUMA node, then of the machine, then the default size."""
    planned = _planned(subject)
    found = list(_on_nodes(subject))
    if found:
        yield from _each_node(subject, planned, found)
        sums = list(map(partial(_of_machine, subject), _added_up(found)))
        yield from _sums(subject, planned, sums)
        yield from _machine(subject, planned, sums)
    else:
        machine = list(of_folder(subject, -1, POOLS))
        yield from _unseen_nodes(subject, planned)
        yield from _sums(subject, planned, machine)
    yield from _default(subject)


def _planned(subject: Subject) -> dict[int, Sizes]:
    return _numbers(subject.expected.facts.get(HUGE_PAGES))


def _numbers(nodes: object) -> dict[int, Sizes]:
    """Numbers of pages by node and size, of a fact."""
    found: dict[int, Sizes] = {}
    for node, sizes in nodes.items() if isinstance(nodes, Mapping) else ():
        found[int(node)] = {int(kib): int(count) for kib, count in sizes.items()}
    return found


def _anywhere(subject: Subject) -> Sizes:
    """Sizes that an intent asks for without a node, and how many pages may come to any node."""
    return _numbers({"-1": subject.expected.facts.get(ANYWHERE, {})}).get(-1, {})


def _on_nodes(subject: Subject) -> Iterator[Pages]:
    names = subject.root.names(NODES)
    for node in sorted(int(name[4:]) for name in names if re.fullmatch(r"node[0-9]{1,5}", name)):
        yield from of_folder(subject, node, f"{NODES}/node{node}/hugepages")


def _each_node(subject: Subject, planned: dict[int, Sizes], found: list[Pages]) -> Iterator[Answer]:
    """Sizes whose pages all have a node: exactly those. Others have the sum."""
    anywhere = _anywhere(subject)
    seen = set()
    for each in found:
        wanted = planned.get(each.node, {}).get(each.kib, 0)
        seen.add((each.node, each.kib))
        if each.kib not in anywhere:
            yield _compared(subject, each, wanted)
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


def _compared(subject: Subject, each: Pages, wanted: int, spare: int = 0) -> Answer:
    """Held where the number is `wanted`, or at most `spare` away from it."""
    fact, shown = _fact(each.node, each.kib), f"{each.number}, {each.free} of them free"
    if abs(each.number - wanted) <= spare:
        answer = subject.held(fact, each.path)
        return answer._replace(expected=str(wanted), observed=shown)
    pages = _settings(subject, each)
    if not all(
        line.as_planned(subject, setting) for setting in pages if setting.component == kernel.NAME
    ):
        reason = "the node was not booted with the argument for these pages"
        return subject.unverifiable(fact, each.path, reason)
    words = "".join(f"; the kernel said: {text}" for text in _said(subject))
    return subject.differs(
        fact,
        "CP817",
        each.path,
        observed=str(each.number),
        expected=str(wanted),
        pages=counted(each.number, "huge page"),
        labels=subject.all_labels(pages),
        heals=Heals.LIVE if each.kib < 1024**2 else Heals.REBOOT,
        size=size_text(each.kib),
        owner="the machine" if each.node < 0 else f"NUMA node {each.node}",
        said=words,
    )


def _settings(subject: Subject, pages: Pages) -> list[Setting]:
    """The boot arguments and the unit that ask for pages of a size, there."""
    planned = subject.expected.settings
    sizes = ((setting, setting.key.partition("=")) for setting in planned.of(kernel.NAME))
    own = f"-{pages.kib}kB-NUMA{pages.node}.service"
    return [
        *(one for one, key in sizes if key[0] == "hugepagesz" and to_kib(key[2]) == pages.kib),
        *(unit for unit in planned.of(units.NAME) if unit.key.endswith(own)),
    ]


def _said(subject: Subject) -> tuple[str, ...]:
    log = said(subject).log
    return log.pages[:1] if log else ()


def _added_up(found: list[Pages]) -> list[Pages]:
    """The pages of the machine by size, from those of its nodes."""
    sums: dict[int, Pages] = {}
    for each in found:
        old = sums.get(each.kib, Pages(-1, each.kib, 0, 0, each.path))
        number, free = old.number + each.number, old.free + each.free
        sums[each.kib] = old._replace(number=number, free=free)
    return list(sums.values())


def _of_machine(subject: Subject, pages: Pages) -> Pages:
    """A sum with the file of the machine's pool as its evidence, where that file is here."""
    path = f"{POOLS}/hugepages-{pages.kib}kB/nr_hugepages"
    return pages if read(subject, path) is None else pages._replace(path=path)


def _sums(subject: Subject, planned: dict[int, Sizes], found: list[Pages]) -> Iterator[Answer]:
    """The sum of each size that has pages without a node, and pages that others than pods use."""
    anywhere, by_size = _anywhere(subject), {each.kib: each for each in found}
    for kib in sorted(anywhere.keys() | by_size.keys()):
        wanted = sum(sizes.get(kib, 0) for sizes in planned.values())
        path = f"{POOLS}/hugepages-{kib}kB/nr_hugepages"
        each = by_size.get(kib, Pages(-1, kib, 0, 0, path))
        if kib in anywhere:
            if not found:
                yield subject.unverifiable(_fact(-1, kib), path, "no pool of huge pages is here")
                continue
            yield _compared(subject, each, wanted, _spare(planned, anywhere, kib))
        yield from pagesinuse.foreign_use(subject, pagesinuse.with_reserved(subject, each))


def _machine(subject: Subject, planned: dict[int, Sizes], sums: list[Pages]) -> Iterator[Answer]:
    """The pools of the machine, where they say anything else than those of its nodes."""
    by_size = {each.kib: each for each in sums}
    for each in (*of_folder(subject, -1, POOLS), *_of_defaultsize_text(subject)):
        added = by_size.get(each.kib)
        wanted = sum(sizes.get(each.kib, 0) for sizes in planned.values())
        if added and added.number == wanted != each.number:
            yield _compared(subject, each, wanted)


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
    setting = planned.get("default_hugepagesz")
    if setting is None or not line.as_planned(subject, setting):
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
            heals=Heals.REBOOT,
            argument=kernel.argument(setting),
            file=f"/{_MEMINFO}",
            said="",
        )
