"""Pools, partitions and containers are told apart by letters, colours and patterns."""

import re
from xml.etree import ElementTree

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.fleet import hardware
from cpuplan.language.model.pools import POOLS, QOS_SETS
from cpuplan.language.read.documents import Document
from cpuplan.plan import NodePlan, Pool
from cpuplan.render.map import boxes
from cpuplan.render.map.boxes import Box
from cpuplan.render.map.drawing import hardware_map
from cpuplan.render.map.plan import plan_map
from cpuplan.render.map.svg import (
    DARK,
    PARTITIONS,
    PATTERNS,
    SETS,
    draw_svg,
    fill_of,
    ink_of,
    pattern_of,
)
from cpuplan.render.map.terminal import draw_text
from cpuplan.render.text import STYLES
from tests.unit.render.plans import make_plan, regular

NAMES = [
    f"isolated.{name}"
    for name in ("dpdk", "data", "db", "ran", "sriov", "isolated", "oam", "kernel", "l")
]
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("count", [1, 9, 40])
def test_every_partition_has_a_letter_of_its_own(count: int) -> None:
    names = [*NAMES, *(f"isolated.p{number}" for number in range(40))][:count]
    letters = [mark.letter for mark in boxes.partition_marks(names).values()]
    assert len({*letters}) == count
    assert all(letter.islower() and letter not in "rsikol" for letter in letters)


def test_letters_are_those_of_the_names() -> None:
    assert [mark.letter for mark in boxes.partition_marks(NAMES).values()] == [*"dabnvtmec"]


def test_every_container_has_a_letter_of_its_own() -> None:
    pools = {mark.letter for mark in boxes.pool_marks(POOLS).values()}
    letters = [mark.letter for mark in boxes.owner_marks(list(map(str, range(400))))]
    assert len({*letters}) == 400
    assert not pools & {*letters}
    assert letters[:10] == [*"ABCDEFGHJL"]
    assert letters[21:23] == ["AA", "AB"]


def test_letters_are_equally_wide() -> None:
    marks = boxes.equally_wide(
        {mark.name: mark for mark in boxes.owner_marks(list(map(str, range(30))))}
    )
    assert {len(mark.letter) for mark in marks.values()} == {2}


def test_no_colour_means_two_things() -> None:
    """Containers have no colour of a pool or partition, on light and dark screens."""
    of_pools = [*POOLS, "offline"]
    of_partitions = [f"partition{number}" for number in range(boxes.PARTITION_STYLES)]
    of_owners = [f"owner{number}" for number in range(boxes.OWNER_STYLES)]
    styles = [*of_pools, *of_partitions, *of_owners]
    assert len({STYLES[style] for style in styles}) == len(styles)
    looks = {
        (fill_of(style)[0], pattern_of(style) and PATTERNS[int(style[9:]) % len(PATTERNS)])
        for style in styles
    }
    assert len(looks) == len(styles)
    owners = {fill_of(style)[0] for style in of_owners}
    assert not owners & {fill_of(style)[0] for style in (*of_pools, *of_partitions)}
    assert not {DARK[fill] for fill in owners} & {
        DARK[fill_of(style)[0]] for style in (*of_pools, *of_partitions)
    }


@pytest.mark.parametrize("dark", [False, True])
def test_numbers_are_readable_on_every_colour(dark: bool) -> None:
    """Contrast of 4.5 to 1 at least (WCAG 2.1, 1.4.3)."""
    for style in (
        *POOLS,
        "offline",
        *(f"partition{n}" for n in range(12)),
        *(f"owner{n}" for n in range(6)),
    ):
        fill, ink = fill_of(style)[0], ink_of(style) or "#1b2430"
        assert contrast(DARK[fill] if dark else fill, DARK[ink] if dark else ink) >= 4.5, style


def test_containers_are_dark_where_all_else_is_light() -> None:
    """Printed in black and white, too."""
    lights = [luminance(fill) for fill, _ in (*map(fill_of, POOLS), *PARTITIONS)]
    assert max(luminance(fill_of(f"owner{number}")[0]) for number in range(6)) < 0.15
    assert min(lights) > 0.4


def test_a_picture_has_patterns_and_bars() -> None:
    plan = make_plan(regular(1, 4, 2), {"reserved": "0,4", "isolated": "1-3,5-7"})
    over = (
        Pool("isolated.a", CpuSet.parse("2,6"), ()),
        Pool("isolated.b", CpuSet.parse("3"), ()),
        Pool("bestEffort", CpuSet.parse("0-3"), ()),
        Pool("other", CpuSet.parse("2-7"), ()),
    )
    drawn = draw_svg(plan_map(NodePlan(plan.node_class, plan.pools, over), "w"))
    tree = ElementTree.fromstring(drawn)  # noqa: S314 - made here
    patterns = [element.get("id") for element in tree.iter(f"{SVG}pattern")]
    assert patterns == ["partition0", "partition1"]
    fills = [element.get("fill") for element in tree.iter(f"{SVG}rect")]
    assert fills.count("url(#partition0)") == 3  # two CPUs and the legend
    assert fills.count("url(#partition1)") == 2
    strokes = [element.get("stroke") for element in tree.iter(f"{SVG}rect")]
    assert [strokes.count(SETS[name]) for name in QOS_SETS] == [5, 7]


def test_containers_lie_over_partitions() -> None:
    made = make_plan(regular(1, 4, 2), {"reserved": "0,4", "isolated": "1-3,5-7"})
    over = Pool("isolated.d", CpuSet.parse("1-2,5-6"), ())
    plan = NodePlan(made.node_class, made.pools, (over,))
    drawn = plan_map(
        plan,
        "w",
        owners=[Pool("ns/a main", CpuSet.parse("1,5"), ()), Pool("ns/b x", CpuSet((3,)), ())],
    )
    text = draw_text(drawn, colour=False)
    assert "R 0 4│A 1 5│d 2 6│B3 I7" in text
    assert (
        text.partition("\n\n")[2].partition("\n\n")[2]
        == """\
containers with exclusive CPUs
 A  ns/a main   2 CPUs  1,5
 B  ns/b x      1 CPU   3
pools without them
 R  reserved    2 CPUs  0,4
 I  isolated    3 CPUs  2,6-7
partitions of isolated without them
 d  isolated.d  2 CPUs  2,6
"""
    )


@pytest.mark.parametrize("entry", hardware.read_catalog(), ids=lambda entry: entry.name)
def test_a_plan_is_laid_out_like_its_hardware(entry: Document) -> None:
    topology, _ = hardware.build(entry.spec)
    assert topology
    plan = make_plan(topology, {"reserved": "0", "isolated": str(topology.online - CpuSet((0,)))})
    machine, planned = (
        hardware_map(entry.name, entry.spec, topology),
        plan_map(plan, "w", entry.spec),
    )
    assert [shape(box) for box in planned.boxes] == [shape(box) for box in machine.boxes]
    assert [box.title for box in planned.memory] == [box.title for box in machine.memory]
    picture = ElementTree.fromstring(draw_svg(planned))  # noqa: S314 - made here
    assert places(picture) == places(ElementTree.fromstring(draw_svg(machine)))  # noqa: S314 - made here
    width, height = int(picture.get("width", "0")), int(picture.get("height", "0"))
    assert height < 1.5 * width
    for wide in 80, 100, 160:
        assert max(map(len, draw_text(planned, colour=False, width=wide).splitlines())) <= wide


def shape(box: Box) -> object:
    """Titles but for the names of caches, and cores, all the way in."""
    groups = [
        (re.sub("(L3|cache)( [0-9]+)?", "cache", group.title), len(group.cores))
        for group in box.groups
    ]
    return (
        re.sub("(in )?(L3|cache)( [0-9]+)?", "cache", box.title),
        [shape(inner) for inner in box.boxes],
        groups,
    )


def places(picture: ElementTree.Element) -> dict[str, tuple[int, int]]:
    """Row and column of each CPU's number in the picture, whatever the sizes of cores."""
    origins: dict[str, tuple[int, int]] = {}
    todo = [(picture, 0, 0)]
    for element, left, top in todo:
        for child in element:
            x, y = re.findall("[0-9]+", child.get("transform", "")) or (0, 0)
            todo.append((child, left + int(x), top + int(y)))
            if (
                child.tag == f"{SVG}text"
                and child.text
                and element[0].tag == f"{SVG}title"
                and child.text.isdigit()
            ):
                origins[child.text] = (
                    top + int(child.get("y", "0")),
                    left + int(child.get("x", "0")),
                )
    rows = sorted({top for top, _ in origins.values()})
    columns = sorted({left for _, left in origins.values()})
    return {cpu: (rows.index(y), columns.index(x)) for cpu, (y, x) in origins.items()}


def luminance(colour: str) -> float:
    """Relative luminance (WCAG 2.1)."""
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4
        for channel in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)
