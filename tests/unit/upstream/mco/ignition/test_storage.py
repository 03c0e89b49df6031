"""Rules that look at many entries of an Ignition config at once."""

from itertools import permutations
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from cpuplan.upstream.mco.ignition import validate

Json = dict[str, Any]

PARTITIONS = st.fixed_dictionaries(
    {"number": st.integers(0, 3)},
    optional={"startMiB": st.integers(0, 12), "sizeMiB": st.integers(0, 4)},
)
#: More than can be compared in pairs.
MANY = 50_000


def problems(rule: str, config: Json) -> list[str]:
    return [problem for _, problem in getattr(validate, rule)(config, (3, 5, 0))]


def in_pairs(partitions: list[Json]) -> bool:
    """Whether two partitions overlap, by looking at all pairs, as Ignition does."""
    for first, other in permutations(partitions, 2):
        placed = all(part.get("startMiB") and "sizeMiB" in part for part in (first, other))
        if not placed or first == other:
            continue
        ends = [part["startMiB"] + max(part["sizeMiB"] - 1, 0) for part in (first, other)]
        if first["startMiB"] <= ends[1] and other["startMiB"] <= ends[0]:
            return True
    return False


@given(st.lists(PARTITIONS, max_size=6))
def test_partitions_overlap_as_their_pairs_do(partitions: list[Json]) -> None:
    told = "partitions overlap" in problems("disk", {"device": "/dev/a", "partitions": partitions})
    assert told == in_pairs(partitions)


def test_a_disk_may_have_very_many_partitions() -> None:
    partitions = [
        {"number": number, "startMiB": 2 * number, "sizeMiB": 2} for number in range(1, MANY)
    ]
    disk = {"device": "/dev/a", "partitions": partitions}
    assert problems("disk", disk) == []
    partitions[7]["sizeMiB"] = 3
    assert problems("disk", disk) == ["partitions overlap"]


def test_very_many_paths_and_links() -> None:
    files = [{"path": f"/etc/{number}/a"} for number in range(MANY)]
    links = [{"path": f"/var/{number}", "target": "/b", "hard": True} for number in range(MANY)]
    section = {"files": files, "links": links, "directories": [{"path": "/a"}] * MANY}
    assert problems("storage", section) == []
    links[9]["path"], links[8]["target"] = "/etc/7", "/a"
    assert problems("storage", section) == [
        "the path lies below a link",
        "a hard link to a directory",
    ]
