"""The map and the picture of a node."""

import re

import pytest

from cpuplan.cpuset import CpuSet
from cpuplan.plan import NodePlan
from cpuplan.render.machine import memory_text
from cpuplan.render.show import show, show_svg
from cpuplan.topology import Cpu, NumaNodeFacts, Topology

from .plans import GIB, bare, guest, hybrid, make_plan, regular

SMALL = make_plan(
    regular(1, 4, 2, offline=CpuSet.parse("8-9")), {"reserved": "0", "shared": "1,5", "isolated": "2-4,6", "offlined": "7"}
)
NUMA = make_plan(regular(2, 8, 2, numa=2, caches=2, memory=None), {"reserved": "0,16", "isolated": "1-15,17-31"})
SNC = make_plan(regular(1, 8, numa=2), {"reserved": "0,4", "isolated": "1-3,5-7"})
POWER = make_plan(
    regular(1, 4, 8, caches=4, adjacent=True), {"reserved": "0-7", "shared": "8-11", "isolated": "12-31"}
)
HYBRID = make_plan(hybrid(), {"reserved": "0-1", "isolated": "2-8"})
GUEST = make_plan(guest(), {"reserved": "0-1", "isolated": "2-11"})
BARE = make_plan(bare(), {"reserved": "0", "isolated": "1-2"})
SERVER = make_plan(regular(2, 28, 2), {"reserved": "0-1,28-29,56-57,84-85", "isolated": "2-27,30-55,58-83,86-111"})
EPYC = make_plan(regular(2, 64, 2, numa=4, caches=8), {"reserved": "0,128", "isolated": "1-127,129-255"})
HUGE = make_plan(regular(4, 192, 2, caches=12), {"reserved": "0,768", "isolated": "1-767,769-1535"})
PLANS = [SMALL, NUMA, SNC, POWER, HYBRID, GUEST, BARE, SERVER, EPYC, HUGE]


@pytest.mark.parametrize(
    ("plan", "text"),
    [
        pytest.param(
            SMALL,
            """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
8 CPUs, 4 cores, 1 socket, 1 NUMA node, 1 last-level cache

╔═ socket 0 ═══════════════════════════════════════╗
║ ┌─ NUMA node 0, 256 GiB, one last-level cache ─┐ ║
║ │ R0 I4│S 1 5│I 2 6│I3 O7                      │ ║
║ └──────────────────────────────────────────────┘ ║
╚══════════════════════════════════════════════════╝

 R  reserved  1 CPU   0
 S  shared    2 CPUs  1,5
 I  isolated  4 CPUs  2-4,6
 O  offlined  1 CPU   7
 .  offline   2 CPUs  8-9
""",
            id="small",
        ),
        pytest.param(
            NUMA,
            """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
32 CPUs, 16 cores, 2 sockets, 4 NUMA nodes, 4 last-level caches

╔═ socket 0 ══════════════════════════════╗
║ ┌─ NUMA node 0, one last-level cache ─┐ ║
║ │ R  0 16│I  1 17│I  2 18│I  3 19     │ ║
║ └─────────────────────────────────────┘ ║
║ ┌─ NUMA node 1, one last-level cache ─┐ ║
║ │ I  4 20│I  5 21│I  6 22│I  7 23     │ ║
║ └─────────────────────────────────────┘ ║
╚═════════════════════════════════════════╝
╔═ socket 1 ══════════════════════════════╗
║ ┌─ NUMA node 2, one last-level cache ─┐ ║
║ │ I  8 24│I  9 25│I 10 26│I 11 27     │ ║
║ └─────────────────────────────────────┘ ║
║ ┌─ NUMA node 3, one last-level cache ─┐ ║
║ │ I 12 28│I 13 29│I 14 30│I 15 31     │ ║
║ └─────────────────────────────────────┘ ║
╚═════════════════════════════════════════╝

 R  reserved   2 CPUs  0,16
 I  isolated  30 CPUs  1-15,17-31
""",
            id="numa",
        ),
        pytest.param(
            SNC,
            """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
8 CPUs, 8 cores, 1 socket, 2 NUMA nodes, 1 last-level cache

╔═ socket 0, one last-level cache ═════╗
║ ┌─ NUMA node 0, 256 GiB ───────────┐ ║
║ │ R 0│I 1│I 2│I 3                  │ ║
║ └──────────────────────────────────┘ ║
║ ┌─ NUMA node 1, 256 GiB ───────────┐ ║
║ │ R 4│I 5│I 6│I 7                  │ ║
║ └──────────────────────────────────┘ ║
╚══════════════════════════════════════╝

 R  reserved  2 CPUs  0,4
 I  isolated  6 CPUs  1-3,5-7
""",
            id="snc",
        ),
        pytest.param(
            POWER,
            """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
32 CPUs, 4 cores, 1 socket, 1 NUMA node, 4 last-level caches

╔═ socket 0 ═══════════════════════════════════════════════════╗
║ ┌─ NUMA node 0, 256 GiB, a last-level cache for each core ─┐ ║
║ │ R 0-7       │S8-11 I12-15│I 16-23     │I 24-31           │ ║
║ └──────────────────────────────────────────────────────────┘ ║
╚══════════════════════════════════════════════════════════════╝

 R  reserved   8 CPUs  0-7
 S  shared     4 CPUs  8-11
 I  isolated  20 CPUs  12-31
""",
            id="power",
        ),
        pytest.param(
            HYBRID,
            """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
9 CPUs, 7 cores, 1 socket, 1 NUMA node, 1 last-level cache

╔═ socket 0 ═══════════════════════════════╗
║ ┌─ NUMA node 0, 32 GiB ────────────────┐ ║
║ │ cache 0 performance  R 0 1│I 2 3     │ ║
║ │ cache 0 efficient    I 4│I 5│I 6│I 7 │ ║
║ │ no cache low power   I 8             │ ║
║ └──────────────────────────────────────┘ ║
╚══════════════════════════════════════════╝

 R  reserved  2 CPUs  0-1
 I  isolated  7 CPUs  2-8
""",
            id="hybrid",
        ),
        pytest.param(
            GUEST,
            """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
12 CPUs, 12 cores, 12 sockets, 2 NUMA nodes, 12 last-level caches

┌─ NUMA node 0, 32 GiB, a socket for each core, a last-level cache for each core ─┐
│ R  0│R  1│I  2│I  3│I  4│I  5│I  6│I  7│I  8│I  9│I 10│I 11                     │
└─────────────────────────────────────────────────────────────────────────────────┘
NUMA nodes without CPUs: 4 with 96 GiB

 R  reserved   2 CPUs  0-1
 I  isolated  10 CPUs  2-11
""",
            id="guest",
        ),
        pytest.param(
            BARE,
            """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
4 CPUs, 4 cores

┌─ machine ───────┐
│ R 0│I 1│I 2│? 3 │
└─────────────────┘

 R  reserved  1 CPU   0
 I  isolated  2 CPUs  1-2
 ?  no pool   1 CPU   3
""",
            id="bare",
        ),
    ],
)
def test_show(plan: NodePlan, text: str) -> None:
    assert show(plan, "worker-3", colour=False) == text


def test_a_machine_that_does_not_fit_is_told_in_ranges() -> None:
    plan = make_plan(regular(1, 130, 2, caches=2), {"reserved": "0,130-131", "isolated": "1-129,132-259"})
    assert show(plan, "worker-3", colour=False, width=60) == """\
worker-3
cluster site-a, hardware xeon, intent ran-du,
class ran-du-xeon
260 CPUs, 130 cores, 1 socket, 1 NUMA node,
2 last-level caches

╔═ socket 0 ════════════════════════════════════════════╗
║ ┌─ NUMA node 0, 256 GiB ────────────────────────────┐ ║
║ │ cache 0   R   0 130│R131 I1  │I   2 132│I   3 133 │ ║
║ │           I   4 134│I   5 135│I   6 136│I   7 137 │ ║
║ │           I   8 138│I   9 139│I  10 140│I  11 141 │ ║
║ │           I  12 142│I  13 143│I  14 144│I  15 145 │ ║
║ │           I  16 146│I  17 147│I  18 148│I  19 149 │ ║
║ │           I  20 150│I  21 151│I  22 152│I  23 153 │ ║
║ │           I  24 154│I  25 155│I  26 156│I  27 157 │ ║
║ │           I  28 158│I  29 159│I  30 160│I  31 161 │ ║
║ │           I  32 162│I  33 163│I  34 164│I  35 165 │ ║
║ │           I  36 166│I  37 167│I  38 168│I  39 169 │ ║
║ │           I  40 170│I  41 171│I  42 172│I  43 173 │ ║
║ │           I  44 174│I  45 175│I  46 176│I  47 177 │ ║
║ │           I  48 178│I  49 179│I  50 180│I  51 181 │ ║
║ │           I  52 182│I  53 183│I  54 184│I  55 185 │ ║
║ │           I  56 186│I  57 187│I  58 188│I  59 189 │ ║
║ │           I  60 190│I  61 191│I  62 192│I  63 193 │ ║
║ │           I  64 194                               │ ║
║ │ cache 65  I  65 195│I  66 196│I  67 197│I  68 198 │ ║
║ │           I  69 199│I  70 200│I  71 201│I  72 202 │ ║
║ │           I  73 203│I  74 204│I  75 205│I  76 206 │ ║
║ │           I  77 207│I  78 208│I  79 209│I  80 210 │ ║
║ │           I  81 211│I  82 212│I  83 213│I  84 214 │ ║
║ │           I  85 215│I  86 216│I  87 217│I  88 218 │ ║
║ │           I  89 219│I  90 220│I  91 221│I  92 222 │ ║
║ │           I  93 223│I  94 224│I  95 225│I  96 226 │ ║
║ │           I  97 227│I  98 228│I  99 229│I 100 230 │ ║
║ │           I 101 231│I 102 232│I 103 233│I 104 234 │ ║
║ │           I 105 235│I 106 236│I 107 237│I 108 238 │ ║
║ │           I 109 239│I 110 240│I 111 241│I 112 242 │ ║
║ │           I 113 243│I 114 244│I 115 245│I 116 246 │ ║
║ │           I 117 247│I 118 248│I 119 249│I 120 250 │ ║
║ │           I 121 251│I 122 252│I 123 253│I 124 254 │ ║
║ │           I 125 255│I 126 256│I 127 257│I 128 258 │ ║
║ │           I 129 259                               │ ║
║ └───────────────────────────────────────────────────┘ ║
╚═══════════════════════════════════════════════════════╝

 R  reserved    3 CPUs  0,130-131
 I  isolated  257 CPUs  1-129,132-259
"""


def test_numa_nodes_of_several_sockets() -> None:
    cpus = [Cpu(cpu, cpu, socket=cpu // 2, die=0, numa_node=cpu // 4, uncore_cache=-1, core_id=cpu % 2) for cpu in range(8)]
    plan = make_plan(Topology(cpus, [NumaNodeFacts(0), NumaNodeFacts(1)]), {"reserved": "0", "isolated": "1-7"})
    assert show(plan, "worker-3", colour=False) == """\
worker-3
cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon
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


def test_colour() -> None:
    text = show(BARE, "worker-3", colour=True)
    assert text.splitlines()[5] == (
        "│ \x1b[97;44mR 0\x1b[0m│\x1b[30;46mI 1\x1b[0m│\x1b[30;46mI 2\x1b[0m│? 3 │"
    )


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize("width", [20, 48, 60, 80, 100, 140])
def test_colour_only_adds_and_no_line_is_too_wide(plan: NodePlan, width: int) -> None:
    text = show(plan, "worker-3", colour=False, width=width)
    assert re.sub(r"\x1b\[[0-9;]*m", "", show(plan, "worker-3", colour=True, width=width)) == text
    assert max(map(len, text.splitlines())) <= max(width, 48)
    boxes = [line for line in text.splitlines() if line[:1] in "╔║╚┌│└" and line]
    assert len({len(line) for line in boxes}) == 1


def test_svg() -> None:
    plan = make_plan(regular(1, 1, 2, caches=0), {"reserved": "0", "pool<x>": "1"})
    assert show_svg(plan, "worker-3") == """\
<svg xmlns="http://www.w3.org/2000/svg" width="616" height="370" viewBox="0 0 616 370" role="img" font-family="DejaVu Sans, Verdana, Helvetica, Arial, sans-serif" fill="#1b2430">
<title>CPU pools of worker-3</title>
<rect width="616" height="370" fill="#ffffff"/>
<g transform="translate(28 28)">
<text x="0" y="20" font-size="22" font-weight="bold">worker-3</text>
<text x="0" y="44" font-size="13" fill="#5a6675">cluster site-a, hardware xeon, intent ran-du, class ran-du-xeon</text>
<text x="0" y="64" font-size="13" fill="#5a6675">2 CPUs, 1 core, 1 socket, 1 NUMA node</text>
<g transform="translate(0 96)">
<rect x="0.5" y="0.5" width="227" height="139" rx="8" fill="#f5f7fa" stroke="#c5ccd6"/>
<text x="14" y="24" font-size="13" font-weight="bold">socket 0</text>
<g transform="translate(14 38)">
<rect x="0.5" y="0.5" width="199" height="87" rx="8" fill="#ffffff" stroke="#c5ccd6"/>
<text x="14" y="24" font-size="13" font-weight="bold">NUMA node 0, 256 GiB</text>
<g transform="translate(14 38)">
<g><title>core 0: reserved 0; pool&lt;x&gt; 1</title>
<rect x="0.5" y="0.5" width="33" height="35" fill="#f6b96b" stroke="#b36b00"/>
<text x="17" y="12" font-size="9" font-weight="bold" text-anchor="middle">R</text>
<text x="17" y="28" font-size="11" text-anchor="middle">0</text>
<rect x="34.5" y="0.5" width="33" height="35" fill="#e3b5d0" stroke="#a3517d"/>
<text x="51" y="12" font-size="9" font-weight="bold" text-anchor="middle">P</text>
<text x="51" y="28" font-size="11" text-anchor="middle">1</text>
</g>
</g>
</g>
</g>
<g transform="translate(0 258)">
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


@pytest.mark.parametrize("plan", PLANS)
def test_svg_is_well_formed_and_shows_every_cpu(plan: NodePlan) -> None:
    from xml.dom.minidom import parseString  # noqa: S408 - reads what this test made

    document = parseString(show_svg(plan, "worker-3"))  # noqa: S318 - as above
    texts = {element.firstChild.data for element in document.getElementsByTagName("text")}
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
