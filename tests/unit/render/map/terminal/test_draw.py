"""The map and the picture of a node."""

import re

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.topology import Cpu, NumaNodeFacts, Topology
from cpuplan.plan import ConfiguredPlan, NodePlan, Pool
from cpuplan.render.map.boxes import Box, memory_text
from cpuplan.render.map.plan import plan_map
from cpuplan.render.map.svg import draw_svg
from cpuplan.render.map.terminal import draw_text, listed
from tests.unit.render.plans import GIB, bare, guest, hybrid, make_plan, regular

PLANS = {
    "small": make_plan(
        regular(1, 4, 2, offline=CpuSet.parse("8-9")),
        {"reserved": "0", "shared": "1,5", "isolated": "2-4,6", "offlined": "7"},
    ),
    "numa": make_plan(
        regular(2, 8, 2, numa=2, caches=2, memory=None),
        {"reserved": "0,16", "isolated": "1-15,17-31"},
    ),
    "snc": make_plan(regular(1, 8, numa=2), {"reserved": "0,4", "isolated": "1-3,5-7"}),
    "power": make_plan(
        regular(1, 4, 8, caches=4, adjacent=True),
        {"reserved": "0-7", "shared": "8-11", "isolated": "12-31"},
    ),
    "hybrid": make_plan(hybrid(), {"reserved": "0-1", "isolated": "2-8"}),
    "guest": make_plan(guest(), {"reserved": "0-1", "isolated": "2-11"}),
    "bare": make_plan(bare(), {"reserved": "0", "isolated": "1-2"}),
    "server": make_plan(
        regular(2, 28, 2),
        {"reserved": "0-1,28-29,56-57,84-85", "isolated": "2-27,30-55,58-83,86-111"},
    ),
    "epyc": make_plan(
        regular(2, 64, 2, numa=4, caches=8), {"reserved": "0,128", "isolated": "1-127,129-255"}
    ),
    "huge": make_plan(
        regular(4, 192, 2, caches=12), {"reserved": "0,768", "isolated": "1-767,769-1535"}
    ),
}

HEAD = """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
"""
#: What stands below HEAD.
SHOWN = {
    "small": """\
8 CPUs, 4 cores, 1 socket, 1 NUMA node, 1 last-level cache

┌─ socket 0, NUMA node 0, 256 GiB, cache 0 ─┐
│ R0 I4│S 1 5│I 2 6│I3 O7                   │
└───────────────────────────────────────────┘

 R  reserved  1 CPU   0
 S  shared    2 CPUs  1,5
 I  isolated  4 CPUs  2-4,6
 O  offlined  1 CPU   7
 .  offline   2 CPUs  8-9
""",
    "numa": """\
32 CPUs, 16 cores, 2 sockets, 4 NUMA nodes, 4 last-level caches

╔═ socket 0 ══════════════════════════╗
║ ┌─ NUMA node 0, cache 0 ──────────┐ ║
║ │ R  0 16│I  1 17│I  2 18│I  3 19 │ ║
║ └─────────────────────────────────┘ ║
║ ┌─ NUMA node 1, cache 4 ──────────┐ ║
║ │ I  4 20│I  5 21│I  6 22│I  7 23 │ ║
║ └─────────────────────────────────┘ ║
╚═════════════════════════════════════╝
╔═ socket 1 ══════════════════════════╗
║ ┌─ NUMA node 2, cache 8 ──────────┐ ║
║ │ I  8 24│I  9 25│I 10 26│I 11 27 │ ║
║ └─────────────────────────────────┘ ║
║ ┌─ NUMA node 3, cache 12 ─────────┐ ║
║ │ I 12 28│I 13 29│I 14 30│I 15 31 │ ║
║ └─────────────────────────────────┘ ║
╚═════════════════════════════════════╝

 R  reserved   2 CPUs  0,16
 I  isolated  30 CPUs  1-15,17-31
""",
    "snc": """\
8 CPUs, 8 cores, 1 socket, 2 NUMA nodes, 1 last-level cache

╔═ socket 0, cache 0 ════════╗
║ ┌─ NUMA node 0, 256 GiB ─┐ ║
║ │ R 0│I 1│I 2│I 3        │ ║
║ └────────────────────────┘ ║
║ ┌─ NUMA node 1, 256 GiB ─┐ ║
║ │ R 4│I 5│I 6│I 7        │ ║
║ └────────────────────────┘ ║
╚════════════════════════════╝

 R  reserved  2 CPUs  0,4
 I  isolated  6 CPUs  1-3,5-7
""",
    "power": """\
32 CPUs, 4 cores, 1 socket, 1 NUMA node, 4 last-level caches, a last-level cache for each core

┌─ socket 0, NUMA node 0, 256 GiB ────────────────────┐
│ R 0-7       │S8-11 I12-15│I 16-23     │I 24-31      │
└─────────────────────────────────────────────────────┘

 R  reserved   8 CPUs  0-7
 S  shared     4 CPUs  8-11
 I  isolated  20 CPUs  12-31
""",
    "hybrid": """\
9 CPUs, 7 cores, 1 socket, 1 NUMA node, 1 last-level cache

┌─ socket 0, NUMA node 0, 32 GiB ───────┐
│ cache 0, performance  R 0 1│I 2 3     │
│ cache 0, efficient    I 4│I 5│I 6│I 7 │
│ no cache, low power   I 8             │
└───────────────────────────────────────┘

 R  reserved  2 CPUs  0-1
 I  isolated  7 CPUs  2-8
""",
    "guest": """\
12 CPUs, 12 cores, 12 sockets, 2 NUMA nodes, 12 last-level caches, a socket for each core,
a last-level cache for each core

┌─ NUMA node 0, 32 GiB ───────────────────────────────────────┐
│ R  0│R  1│I  2│I  3│I  4│I  5│I  6│I  7│I  8│I  9│I 10│I 11 │
└─────────────────────────────────────────────────────────────┘
NUMA node 4, 96 GiB, no CPUs

 R  reserved   2 CPUs  0-1
 I  isolated  10 CPUs  2-11
""",
    "bare": """\
4 CPUs, 4 cores

┌─ machine ───────┐
│ R 0│I 1│I 2│? 3 │
└─────────────────┘

 R  reserved  1 CPU   0
 I  isolated  2 CPUs  1-2
 ?  no pool   1 CPU   3
""",
}


def show(plan: NodePlan, *, colour: bool = False, width: int = 100) -> str:
    return draw_text(plan_map(plan, "worker-3"), colour=colour, width=width)


@pytest.mark.parametrize("name", SHOWN)
def test_show(name: str) -> None:
    assert show(PLANS[name]) == HEAD + SHOWN[name]


def test_a_machine_that_does_not_fit_is_told_in_ranges() -> None:
    plan = make_plan(
        regular(1, 300, 2, caches=2), {"reserved": "0,300-301", "isolated": "1-299,302-599"}
    )
    assert (
        show(plan, width=60)
        == """\
worker-3
cluster site-a, hardware xeon, intent ran-du,
class ran-du-xeon
600 CPUs, 300 cores, 1 socket, 1 NUMA node,
2 last-level caches

┌─ socket 0, NUMA node 0, 256 GiB ────────────────┐
│ cache 0    R/IIIIII IIIIIIII  R 0,300-301       │
│            IIIIIIII IIIIIIII  I 1-149,302-449   │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIII                               │
│ cache 150  IIIIIIII IIIIIIII  I 150-299,450-599 │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIIIII IIIIIIII                    │
│            IIIIII                               │
└─────────────────────────────────────────────────┘

 R  reserved    3 CPUs  0,300-301
 I  isolated  597 CPUs  1-299,302-599
 /  core whose threads are in different pools
"""
    )


def test_numa_nodes_of_several_sockets() -> None:
    cpus = [
        Cpu(cpu, cpu, socket=cpu // 2, die=0, numa_node=cpu // 4, uncore_cache=-1, core_id=cpu % 2)
        for cpu in range(8)
    ]
    plan = make_plan(
        Topology(cpus, [NumaNodeFacts(0), NumaNodeFacts(1)]), {"reserved": "0", "isolated": "1-7"}
    )
    assert (
        show(plan)
        == HEAD
        + """\
8 CPUs, 8 cores, 4 sockets, 2 NUMA nodes

╔═ NUMA node 0 ═════╗
║ ┌─ socket 0 ────┐ ║
║ │ R 0│I 1       │ ║
║ └───────────────┘ ║
║ ┌─ socket 1 ────┐ ║
║ │ I 2│I 3       │ ║
║ └───────────────┘ ║
╚═══════════════════╝
╔═ NUMA node 1 ═════╗
║ ┌─ socket 2 ────┐ ║
║ │ I 4│I 5       │ ║
║ └───────────────┘ ║
║ ┌─ socket 3 ────┐ ║
║ │ I 6│I 7       │ ║
║ └───────────────┘ ║
╚═══════════════════╝

 R  reserved  1 CPU   0
 I  isolated  7 CPUs  1-7
"""
    )


def test_colour() -> None:
    text = show(PLANS["bare"], colour=True)
    assert text.splitlines()[5] == (
        "│ \x1b[97;44mR 0\x1b[0m│\x1b[30;46mI 1\x1b[0m│\x1b[30;46mI 2\x1b[0m│? 3 │"
    )


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
@pytest.mark.parametrize("width", [20, 48, 60, 80, 100, 140])
def test_colour_only_adds_and_no_line_is_too_wide(plan: ConfiguredPlan, width: int) -> None:
    text = show(plan, width=width)
    assert re.sub(r"\x1b\[[0-9;]*m", "", show(plan, colour=True, width=width)) == text
    assert max(map(len, text.splitlines())) <= max(width, 48)
    boxes = [line for line in text.splitlines() if line[:1] in "╔║╚┌│└" and line]
    assert len({len(line) for line in boxes}) == 1


def test_svg() -> None:
    plan = make_plan(regular(1, 1, 2, caches=0), {"reserved": "0", "pool<x>": "1"})
    assert (
        re.sub("<style>.*</style>", "<style>STYLE</style>", draw_svg(plan_map(plan, "worker-3")))
        == """\
<svg xmlns="http://www.w3.org/2000/svg" width="616" height="318" viewBox="0 0 616 318" role="img"
font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="#1b2430">
<title>CPU pools of worker-3</title>
<style>STYLE</style>
<rect width="616" height="318" fill="#ffffff"/>
<g transform="translate(28 28)">
<text x="0" y="20" font-size="22" font-weight="bold">worker-3</text>
<text x="0" y="44" font-size="13" fill="#5a6675">\
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon</text>
<text x="0" y="64" font-size="13" fill="#5a6675">2 CPUs, 1 core, 1 socket, 1 NUMA node</text>
<g transform="translate(0 96)">
<rect x="0.5" y="0.5" width="285" height="87" rx="8" fill="#ffffff" stroke="#c5ccd6"/>
<text x="14" y="24" font-size="13" font-weight="bold">socket 0, NUMA node 0, 256 GiB</text>
<g transform="translate(14 38)">
<g><title>core 0: reserved 0; pool&lt;x&gt; 1; core id 0, socket 0, NUMA node 0</title>
<rect x="0.5" y="0.5" width="33" height="35" fill="#f6b96b" stroke="#b36b00"/>
<text x="17" y="12" font-size="9" font-weight="bold" text-anchor="middle">R</text>
<text x="17" y="28" font-size="11" text-anchor="middle">0</text>
<rect x="34.5" y="0.5" width="33" height="35" fill="#e3b5d0" stroke="#a3517d"/>
<text x="51" y="12" font-size="9" font-weight="bold" text-anchor="middle">P</text>
<text x="51" y="28" font-size="11" text-anchor="middle">1</text>
</g>
</g>
</g>
<g transform="translate(0 206)">
<rect x="0.5" y="0.5" width="27" height="19" fill="#f6b96b" stroke="#b36b00"/>
<text x="14" y="14" font-size="11" font-weight="bold" text-anchor="middle">R</text>
<text x="40" y="14" font-size="13" font-weight="bold">reserved</text>
<text x="186" y="14" font-size="13" text-anchor="end">1 CPU</text>
<text x="204" y="14" font-size="13" fill="#5a6675">0</text>
<rect x="0.5" y="28.5" width="27" height="19" fill="#e3b5d0" stroke="#a3517d"/>
<text x="14" y="42" font-size="11" font-weight="bold" text-anchor="middle">P</text>
<text x="40" y="42" font-size="13" font-weight="bold">pool&lt;x&gt;</text>
<text x="186" y="42" font-size="13" text-anchor="end">1 CPU</text>
<text x="204" y="42" font-size="13" fill="#5a6675">1</text>
</g>
</g>
</svg>
"""
    )


@pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)
def test_svg_is_well_formed_and_shows_every_cpu(plan: ConfiguredPlan) -> None:
    from xml.dom.minidom import parseString

    document = parseString(draw_svg(plan_map(plan, "worker-3")))  # noqa: S318 - reads what this test made
    texts = {element.childNodes[0].nodeValue for element in document.getElementsByTagName("text")}
    assert {str(cpu) for cpu in plan.topology.online} <= texts


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (0, "0 bytes"),
        (2048, "2 KiB"),
        (64 * 2**20, "64 MiB"),
        (256 * GIB - 12_345_678, "256 GiB"),
        (int(255.62 * GIB), "255.6 GiB"),
        (1536 * GIB, "1.5 TiB"),
    ],
)
def test_memory_text(size: int, text: str) -> None:
    assert memory_text(size) == text


def test_partitions_have_letters_and_sets_a_place_in_the_legend() -> None:
    plan = make_plan(regular(1, 4, 2), {"reserved": "0,4", "isolated": "1-3,5-7"})
    over = (
        Pool("isolated.dpdk", CpuSet.parse("2,6"), ()),
        Pool("bestEffort", CpuSet.parse("0-3"), ()),
    )
    text = show(NodePlan(plan.node_class, plan.pools, over), width=100)
    assert (
        text
        == HEAD
        + """\
8 CPUs, 4 cores, 1 socket, 1 NUMA node, 1 last-level cache

┌─ socket 0, NUMA node 0, 256 GiB, cache 0 ─┐
│ R 0 4│I 1 5│d 2 6│I 3 7                   │
└───────────────────────────────────────────┘

pools
 R  reserved       2 CPUs  0,4
 I  isolated       6 CPUs  1-3,5-7
partitions of isolated
 d  isolated.dpdk  2 CPUs  2,6
QoS sets, over the pools
    bestEffort     4 CPUs  0-3
"""
    )


@pytest.mark.parametrize(("width", "lines"), [(10, 3), (22, 3), (23, 2), (35, 2), (36, 1)])
def test_cells_of_a_list_are_beside_each_other_where_they_fit(width: int, lines: int) -> None:
    """Each has ten columns, and three are between two."""
    boxes = [Box(f"socket {number}") for number in range(3)]
    assert len(list(listed(boxes, width))) == lines
