"""The map and the picture of a machine."""

from typing import Any
from xml.dom.minidom import parseString

import pytest

from cpuplan.fleet import hardware
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.language.read.documents import Document
from cpuplan.render.map.boxes import Map
from cpuplan.render.map.drawing import hardware_map
from cpuplan.render.map.svg import draw_svg
from cpuplan.render.map.terminal import draw_text


def drawn(spec: dict[str, Any] | HardwareSpec, name: str = "machine") -> Map:
    model = spec if isinstance(spec, HardwareSpec) else HardwareSpec.model_validate(spec)
    topology, problems = hardware.build(model)
    assert topology is not None, problems
    return hardware_map(name, model, topology)


SERVER = {
    "vendor": "GenuineIntel",
    "model": "Intel(R) Xeon(R) Gold 6330",
    "topology": {
        "cores": [{"threads": ["0-7", "8-15"]}],
        "sockets": [{"id": 0, "cpus": "0-14:1/2"}, {"id": 1, "cpus": "1-15:1/2"}],
        "numaNodes": [
            {
                "id": 0,
                "cpus": "0-14:1/2",
                "memory": "64Gi",
                "hugePages": {"1Gi": 4},
                "distances": [10, 21, 17],
            },
            {"id": 1, "cpus": "1-15:1/2", "memory": "64Gi", "distances": [21, 10, 28]},
            {"id": 4, "memory": "124Gi", "distances": [17, 28, 10]},
        ],
        "caches": [
            {"level": 2, "size": "1280Ki", "per": "core"},
            {"level": 3, "size": "42Mi", "per": "socket", "ids": "0-1"},
        ],
    },
    "hugePageSizes": ["2Mi", "1Gi"],
    "devices": [
        {
            "address": "0000:31:00.0",
            "class": "network",
            "driver": "ice",
            "numaNode": 0,
            "functions": 64,
        },
        {
            "address": "0000:31:00.1",
            "class": "network",
            "driver": "ice",
            "numaNode": 0,
            "functions": 64,
        },
        {
            "address": "0000:b1:00.0",
            "class": "storage",
            "vendor": "0x8086",
            "device": "0x0b60",
            "numaNode": 1,
        },
        {"address": "10000:e1:00.0", "class": "gpu", "name": "gpu0", "numaNode": 4},
        {"address": "0000:03:00.0", "class": "other", "vendor": "0x102b", "device": "0x0536"},
    ],
}
HYBRID = {
    "topology": {
        "cores": [
            {"type": "performance", "threads": ["0,2", "1,3"]},
            {"type": "efficient", "threads": ["4-11"]},
            {"type": "lowPower", "threads": ["12-13"]},
        ],
        "clusters": ["4-7", "8-11"],
        "caches": [{"level": 3, "size": "24Mi", "cpus": ["0-11"], "ids": "0"}],
    }
}
OFFLINE = {
    "topology": {
        "offline": "2,5,7,9",
        "cores": [{"threads": ["0-1", "4,6"]}, {"threads": ["3"]}],
        "sockets": [{"id": 0, "cpus": "0,2,4"}, {"id": 1, "cpus": "1,3,6-7"}],
        "numaNodes": [{"id": 0, "cpus": "0-7", "memory": "16Gi"}],
    }
}
DIES = {
    "topology": {
        "cores": [{"threads": ["0-7"], "ids": ["0-1,0-1,0-1,0-1"]}],
        "sockets": [{"id": 0, "cpus": "0-7"}],
        "dies": [{"id": 0, "cpus": "0-3"}, {"id": 1, "cpus": "4-7"}],
        "numaNodes": [{"id": node, "cpus": f"{2 * node}-{2 * node + 1}"} for node in range(4)],
    }
}
GUEST = {
    "topology": {
        "cores": [{"threads": ["0-3"]}],
        "sockets": [{"id": socket, "cpus": str(socket)} for socket in range(4)],
        "numaNodes": [{"id": 0, "cpus": "0-3", "memory": "8Gi"}],
    }
}
GPU = {
    "regular": {"coresPerSocket": 4, "cacheSize": "114Mi", "memoryOnlyNodes": ["96Gi", "0", "0"]}
}
EPYC = {
    "regular": {"coresPerSocket": 8, "threadsPerCore": 2, "cachesPerSocket": 4, "cacheSize": "8Mi"}
}
ALTIX = {
    "topology": {
        "cores": [{"threads": ["0-511"]}],
        "sockets": [
            {"id": 3 * socket, "cpus": f"{2 * socket}-{2 * socket + 1}"} for socket in range(256)
        ],
        "numaNodes": [
            {
                "id": node,
                "cpus": f"{4 * node}-{4 * node + 3}",
                "distances": [22] * node + [10] + [22] * (127 - node),
            }
            for node in range(128)
        ],
    }
}
SPECS: dict[str, dict[str, Any]] = {
    "server": SERVER,
    "hybrid": HYBRID,
    "offline": OFFLINE,
    "dies": DIES,
    "guest": GUEST,
    "gpu": GPU,
    "epyc": EPYC,
    "altix": ALTIX,
}


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param(
            SERVER,
            """\
machine
Intel(R) Xeon(R) Gold 6330, GenuineIntel, x86_64
16 CPUs, 8 cores, 2 sockets, 3 NUMA nodes, 2 last-level caches
L2 1280 KiB per core, L3 42 MiB per socket, huge pages of 2 MiB and 1 GiB

┌─ socket 0, NUMA node 0, 64 GiB, 4 pages of 1 GiB, L3 0 ─┐
│  0  8│ 2 10│ 4 12│ 6 14                                 │
│ network: 31:00.0-1 ice up to 64 VFs                     │
└─────────────────────────────────────────────────────────┘
┌─ socket 1, NUMA node 1, 64 GiB, L3 1 ───────────────────┐
│  1  9│ 3 11│ 5 13│ 7 15                                 │
│ storage: b1:00.0 [8086:0b60]                            │
└─────────────────────────────────────────────────────────┘
NUMA node 4, 124 GiB, no CPUs: distance 17 from NUMA node 0, gpu: 10000:e1:00.0 gpu0
other at no NUMA node: 03:00.0 [102b:0536]

NUMA distances
   0  1  4
0 10 21 17
1 21 10 28
4 17 28 10
""",
            id="server",
        ),
        pytest.param(
            HYBRID,
            """\
machine
x86_64
14 CPUs, 12 cores, 1 socket, 1 NUMA node, 1 last-level cache
L3 24 MiB

┌─ socket 0, NUMA node 0 ────────────────────┐
│ L3 0, performance   0  1│ 2  3             │
│ L3 0, efficient     4│ 5│ 6│ 7║ 8│ 9│10│11 │
│ no L3, low power   12│13                   │
└────────────────────────────────────────────┘
""",
            id="hybrid",
        ),
        pytest.param(
            OFFLINE,
            """\
machine
x86_64
5 CPUs, 3 cores, 2 sockets, 1 NUMA node

╔═ NUMA node 0, 16 GiB ════════════════════════════════╗
║ ┌─ socket 0 ───────────────────────────────────────┐ ║
║ │ online     0 4   offline    2                    │ ║
║ └──────────────────────────────────────────────────┘ ║
║ ┌─ socket 1 ───────────────────────────────────────┐ ║
║ │ 2 threads  1 6   1 thread   3     offline    7   │ ║
║ └──────────────────────────────────────────────────┘ ║
║ offline: 5                                           ║
╚══════════════════════════════════════════════════════╝
offline, at an unknown place: 9
""",
            id="offline",
        ),
        pytest.param(
            DIES,
            """\
machine
x86_64
8 CPUs, 8 cores, 1 socket, 4 NUMA nodes

╔═ socket 0 ══════════════════╗
║ ┌─ NUMA node 0, in die 0 ─┐ ║
║ │ 0│1                     │ ║
║ └─────────────────────────┘ ║
║ ┌─ NUMA node 1, in die 0 ─┐ ║
║ │ 2│3                     │ ║
║ └─────────────────────────┘ ║
║ ┌─ NUMA node 2, in die 1 ─┐ ║
║ │ 4│5                     │ ║
║ └─────────────────────────┘ ║
║ ┌─ NUMA node 3, in die 1 ─┐ ║
║ │ 6│7                     │ ║
║ └─────────────────────────┘ ║
╚═════════════════════════════╝
""",
            id="dies",
        ),
        pytest.param(
            GUEST,
            """\
machine
x86_64
4 CPUs, 4 cores, 4 sockets, 1 NUMA node
a socket for each core

┌─ NUMA node 0, 8 GiB ─┐
│ 0│1│2│3              │
└──────────────────────┘
""",
            id="guest",
        ),
        pytest.param(
            GPU,
            """\
machine
x86_64
4 CPUs, 4 cores, 1 socket, 4 NUMA nodes, 1 last-level cache
L3 114 MiB per socket

┌─ socket 0, NUMA node 0, L3 ─┐
│ 0│1│2│3                     │
└─────────────────────────────┘
NUMA node 1, 96 GiB, no CPUs
NUMA nodes 2-3, no memory, no CPUs
""",
            id="gpu",
        ),
        pytest.param(
            EPYC,
            """\
machine
x86_64
16 CPUs, 8 cores, 1 socket, 1 NUMA node, 4 last-level caches
L3 4 x 8 MiB per socket

┌─ socket 0, NUMA node 0 ───────────────────────────────────────────────┐
│ L3   0  8│ 1  9   L3   2 10│ 3 11   L3   4 12│ 5 13   L3   6 14│ 7 15 │
└───────────────────────────────────────────────────────────────────────┘
""",
            id="epyc",
        ),
    ],
)
def test_draw(spec: dict[str, Any], text: str) -> None:
    assert draw_text(drawn(spec), colour=False) == text


def test_many_cpus_are_told_in_ranges() -> None:
    spec = {
        "regular": {
            "sockets": 2,
            "coresPerSocket": 128,
            "threadsPerCore": 2,
            "numaNodesPerSocket": 3,
        }
    }
    text = draw_text(drawn(spec), colour=False)
    assert "│ 43 cores  0-42 + 256-298    │" in text
    assert "│ 42 cores  214-255 + 470-511 │" in text
    assert len(text.splitlines()) == 27


def test_many_boxes_become_a_list() -> None:
    text = draw_text(drawn(ALTIX), colour=False)
    assert "NUMA node 2: 8-9 | 10-11           NUMA node 3: 12-13 | 14-15\n" in text
    assert text.endswith(
        "| divides sockets\nNUMA distances: 10 to itself, 22 between 16256 pairs\n"
    )
    assert len(text.splitlines()) < 80


@pytest.mark.parametrize("name", SPECS)
@pytest.mark.parametrize("width", [48, 60, 80, 100, 140])
def test_no_line_is_too_wide(name: str, width: int) -> None:
    text = draw_text(drawn(SPECS[name]), colour=False, width=width)
    assert max(map(len, text.splitlines())) <= width
    assert draw_text(drawn(SPECS[name]), colour=False, width=width) == text


@pytest.mark.parametrize("name", SPECS)
def test_svg_is_well_formed_and_shows_every_cpu(name: str) -> None:
    shown = drawn(SPECS[name])
    picture = parseString(draw_svg(shown))  # noqa: S318 - reads what this test made
    texts = [element.childNodes[0].nodeValue for element in picture.getElementsByTagName("text")]
    topology, _ = hardware.build(HardwareSpec.model_validate(SPECS[name]))
    assert topology is not None
    assert {str(cpu) for cpu in topology.online} <= set(texts)
    assert {box.title for box in (*shown.boxes, *shown.memory)} <= set(texts)
    assert not picture.getElementsByTagName("script")
    root = picture.documentElement
    assert root is not None
    assert (
        root.getAttribute("viewBox")
        == f"0 0 {root.getAttribute('width')} {root.getAttribute('height')}"
    )


def test_svg_of_devices_memory_and_distances() -> None:
    text = draw_svg(drawn(SERVER))
    for words in (
        "network: 31:00.0-1 ice up to 64 VFs",
        "distance 17 from NUMA node 0",
        "NUMA distances",
    ):
        assert f">{words}<" in text
    assert text.count(">28</text>") == 2
    assert "prefers-color-scheme:dark" in text


@pytest.mark.parametrize("entry", hardware.read_catalog(), ids=lambda entry: entry.name)
def test_the_catalogue_can_be_drawn(entry: Document) -> None:
    shown = drawn(entry.spec, entry.name)
    assert max(map(len, draw_text(shown, colour=False).splitlines())) <= 100
    assert len(draw_text(shown, colour=False).splitlines()) < 90
    parseString(draw_svg(shown))  # noqa: S318 - reads what this test made
