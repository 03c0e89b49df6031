"""An import put into the spec of a Hardware document: what changes, what stays."""

from typing import Any

import pytest

from cpuplan.base.emit import Flow
from cpuplan.write.inventory.merge import align, merge_hardware, plain, same_facts

CORES: list[Any] = [{"threads": ["0-3", "4-7"]}]
NIC = {"address": "0000:18:00.0", "class": "network", "numaNode": 0}
GPU = {"address": "0000:3b:00.0", "class": "gpu"}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        # what says the same stays as it is written
        (
            {"topology": {"cores": [{"threads": ["0,1,2,3", "4-7"]}]}},
            {"topology": {"cores": CORES}},
            None,
        ),
        ({"hugePageSizes": ["2048Ki", "1Gi"]}, {"hugePageSizes": Flow(["2Mi", "1Gi"])}, None),
        (
            {"topology": {"cores": CORES, "offline": 8}},
            {"topology": {"cores": CORES, "offline": "8"}},
            None,
        ),
        ({"model": "Xeon", "vendor": "Intel"}, {"vendor": "Intel", "model": "Xeon"}, None),
        # the kernel keeps some memory; a DIMM is more
        (
            {"topology": {"cores": CORES, "numaNodes": [{"id": 0, "memory": "64Gi"}]}},
            {"topology": {"cores": CORES, "numaNodes": [{"id": 0, "memory": "66500000Ki"}]}},
            None,
        ),
        (
            {"topology": {"cores": CORES, "numaNodes": [{"id": 0, "memory": "64Gi"}]}},
            {"topology": {"cores": CORES, "numaNodes": [{"id": 0, "memory": "48Gi"}]}},
            {"topology": {"cores": CORES, "numaNodes": [{"id": 0, "memory": "48Gi"}]}},
        ),
        # the machine wins
        ({"modelNumber": 84}, {"modelNumber": 85}, {"modelNumber": 85}),
        # what the import does not tell stays: by hand, or from a format that tells more
        ({"devices": [NIC], "model": "Xeon"}, {"model": "Xeon"}, None),
        ({"devices": [{**NIC, "name": "ens1"}]}, {"devices": [NIC]}, None),
        # items are known by their addresses and ids, whatever their order
        ({"devices": [GPU, NIC]}, {"devices": [NIC, GPU]}, None),
        ({"devices": [GPU, NIC]}, {"devices": [NIC]}, {"devices": [NIC]}),
        ({"devices": [GPU]}, {"devices": [NIC, GPU]}, {"devices": [NIC, GPU]}),
        (
            {"topology": {"cores": CORES, "caches": [{"level": 3, "per": "socket", "ids": "0-1"}]}},
            {
                "topology": {
                    "cores": CORES,
                    "caches": [{"level": 2, "per": "core"}, {"level": 3, "cpus": ["0-7"]}],
                }
            },
            {
                "topology": {
                    "cores": CORES,
                    "caches": [{"level": 2, "per": "core"}, {"level": 3, "cpus": ["0-7"]}],
                }
            },
        ),
        # new keys come behind the ones that they follow in a new document
        (
            {"devices": [], "vendor": "a"},
            {"vendor": "a", "model": "b"},
            {"devices": [], "vendor": "a", "model": "b"},
        ),
        # of a hand-written machine, the topology takes the place
        (
            {"regular": {"coresPerSocket": 4}},
            {"topology": {"cores": CORES}},
            {"topology": {"cores": CORES}},
        ),
    ],
)
def test_merge(old: dict[str, Any], new: dict[str, Any], expected: dict[str, Any] | None) -> None:
    merged = plain(merge_hardware(old, new, complete=True))
    assert merged == (old if expected is None else expected)
    assert list(merged) == list(old if expected is None else expected)
    assert same_facts(old, new, complete=True) is (expected is None)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("offline", "8-9"),
        ("dies", [{"id": 0, "cpus": "0-7"}]),
        ("kubelet", {"sockets": 2}),
        ("clusters", ["0-3"]),
    ],
)
def test_told_by_absence(key: str, value: Any) -> None:
    """The kernel's own files tell that there are none; other formats may not tell them."""
    new = {"topology": {"cores": CORES if key != "offline" else [{"threads": ["0-9"]}]}}
    old = {"topology": {"cores": new["topology"]["cores"], key: value}}
    assert key not in merge_hardware(old, new, complete=True)["topology"]
    assert (key in merge_hardware(old, new, complete=False)["topology"]) is (key != "offline")


def test_tells_less() -> None:
    """A format without memory and devices adds what is new, and is not believed beyond it."""
    node = {"id": 0, "cpus": "0-7", "memory": "1Gi"}
    old = {
        "architecture": "aarch64",
        "topology": {"cores": CORES, "numaNodes": [node], "sockets": []},
    }
    new = {
        "architecture": "x86_64",
        "model": "Kunpeng",
        "topology": {"cores": [{"threads": ["0-7"]}], "clusters": ["0-3"], "offline": "9"},
    }
    merged = merge_hardware(old, new, complete=False)
    assert merged == {
        "architecture": "aarch64",
        "model": "Kunpeng",
        "topology": {**old["topology"], "clusters": ["0-3"], "offline": "9"},  # type: ignore[dict-item]
    }
    assert not same_facts(old, new, complete=False)
    # With other CPUs it is another machine.
    new["topology"] = {"cores": [{"threads": ["0-3"]}]}
    assert merge_hardware(old, new, complete=False)["topology"] == new["topology"]


def test_other_cpus() -> None:
    """Groups of CPUs that are not there any more would make the document wrong."""
    old = {
        "topology": {"cores": CORES, "caches": [{"level": 3, "cpus": ["0-7"]}]},
        "devices": [NIC],
    }
    new = {"topology": {"cores": [{"threads": ["0-1", "2-3"]}]}}
    assert merge_hardware(old, new, complete=False) == {**new, "devices": [NIC]}


def test_software() -> None:
    """Drivers and configured pages follow the machine, though they are no facts of hardware."""
    node = {"id": 0, "cpus": "0-7"}
    old = {
        "topology": {"cores": CORES, "numaNodes": [{**node, "hugePages": {"1Gi": 4}}]},
        "devices": [NIC],
    }
    new = {"topology": {"cores": CORES, "numaNodes": [node]}, "devices": [{**NIC, "driver": "ice"}]}
    assert same_facts(old, new, complete=True)
    merged = merge_hardware(old, new, complete=True)
    assert merged["topology"]["numaNodes"] == [node]
    assert merged["devices"] == [{**NIC, "driver": "ice"}]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (["a", "b"], ["c"], [0]),
        (["a"], ["c", "d"], [0, None]),
        ([NIC, GPU], [GPU, NIC], [1, None]),
        # groups of nodes, renamed; not so devices and what has ids
        (
            [{"name": "w[0-2]"}, {"name": "x"}],
            [{"name": "w0"}, {"name": "w2"}, {"name": "x"}],
            [0, None, 1],
        ),
        (
            [{"name": "w[0-2]"}, {"name": "x"}],
            [{"name": "w0"}, {"name": "y"}, {"name": "z"}],
            [0, 1, None],
        ),
        ([NIC], [GPU], [None]),
        ([{"level": 2}, {"level": 2, "size": 1}], [{"level": 2}, {"level": 2}], [0, 1]),
    ],
)
def test_align(old: list[Any], new: list[Any], expected: list[int | None]) -> None:
    assert align(old, new) == expected
