"""Introspection data of Ironic."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from cpuplan import importers
from cpuplan.importers.base import Imported
from tests.unit.importers.objects.test_reader import JUNK


def row(cpu: int, node: int, *threads: int) -> dict[str, Any]:
    return {"cpu": cpu, "numa_node": node, "thread_siblings": list(threads)}


def topology(
    *cpus: dict[str, Any], ram: tuple[int, ...] = (1024, 2048), **more: Any
) -> dict[str, Any]:
    rows = [{"numa_node": node, "size_kb": size} for node, size in enumerate(ram)]
    return {"ram": rows, "cpus": list(cpus), "nics": [], **more}


CPUS = (row(0, 0, 0, 4), row(1, 0, 2, 6), row(0, 1, 1, 5), row(1, 1, 3, 7))


def read(tmp_path: Path, data: object) -> Imported:
    (tmp_path / "w0.json").write_text(json.dumps(data))
    return importers.run("ironic", [tmp_path / "w0.json"])


@pytest.mark.parametrize("key", [None, "plugin_data"])
def test_server(tmp_path: Path, key: str | None) -> None:
    data: dict[str, Any] = {
        "numa_topology": topology(*CPUS, nics=[{"name": "eno1", "numa_node": 0}])
    }
    cpu = {"architecture": "aarch64", "model_name": "Neoverse-N1 ", "count": 8}
    data["inventory"] = {
        "cpu": cpu,
        "bmc_address": "192.0.2.7",
        "interfaces": [{"mac_address": "52:54:00:12:34:56"}],
    }
    imported = read(tmp_path, {key: data} if key else data)
    machine = imported.nodes[0].machine
    assert [str(core) for core in machine.siblings] == ["0,4", "1,5", "2,6", "3,7"]
    assert machine.core_ids == {0: 0, 4: 0, 2: 1, 6: 1, 1: 0, 5: 0, 3: 1, 7: 1}
    assert machine.sockets == {}
    assert [(node.id, str(node.cpus), node.memory) for node in machine.numa_nodes] == [
        (0, "0,2,4,6", 1 << 20),
        (1, "1,3,5,7", 2 << 20),
    ]
    assert (machine.architecture, machine.model) == ("aarch64", "Neoverse-N1")
    assert imported.diagnostics == ()
    assert (
        f"{tmp_path}/w0.json: the PCI addresses of eno1 are missing: they are left out"
        in imported.remarks
    )
    assert "192.0.2.7" not in repr(imported)
    assert "52:54" not in repr(imported)


def test_detected(tmp_path: Path) -> None:
    (tmp_path / "w0.json").write_text(json.dumps({"numa_topology": topology(*CPUS)}))
    assert [node.name for node in importers.run(None, [tmp_path]).nodes] == ["w0"]


@pytest.mark.parametrize(
    ("ram", "memory"), [((0, 0), [None, None]), ((8, 0), [8192, 0]), ((8,), [8192, None])]
)
def test_memory(tmp_path: Path, ram: tuple[int, ...], memory: list[int | None]) -> None:
    imported = read(tmp_path, {"numa_topology": topology(*CPUS, ram=ram)})
    assert [node.memory for node in imported.nodes[0].machine.numa_nodes] == memory


@pytest.mark.parametrize(
    "odd",
    [
        row(0, 0, 1, 5),
        row(9, 0, 99999),
        row(9, -1, 9),
        row(9, 0),
        {"cpu": 9},
        {"cpu": 9, "thread_siblings": 7},
        {},
    ],
)
def test_rows_that_cannot_be(tmp_path: Path, odd: dict[str, Any]) -> None:
    imported = read(tmp_path, {"numa_topology": topology(*CPUS, odd)})
    assert [diagnostic.code for diagnostic in imported.diagnostics] == ["CP125"]
    assert str(imported.nodes[0].machine.online) == "0-7"


def test_nothing_there(tmp_path: Path) -> None:
    assert [
        diagnostic.code for diagnostic in read(tmp_path, [{"numa_topology": {}}]).diagnostics
    ] == ["CP124"]


@given(JUNK)
def test_junk_is_never_raised(tmp_path_factory: pytest.TempPathFactory, junk: object) -> None:
    path = tmp_path_factory.mktemp("junk") / "w0.json"
    for data in (
        junk,
        {"numa_topology": junk, "inventory": junk},
        {"numa_topology": {"cpus": junk, "ram": junk, "nics": junk}},
        {
            "numa_topology": {"cpus": [row(0, 0, 0)], "ram": [junk], "nics": [junk]},
            "inventory": {"cpu": junk},
        },
    ):
        path.write_text(json.dumps(data))
        importers.run("ironic", [path])
