"""Places name fields that there are: in the models, and wherever the source writes a path."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import cpuplan
from cpuplan.components.chosen import is_written
from cpuplan.language.model.field_paths import is_field, of_field
from tests.machines.plans import plan

SOURCE = Path(cpuplan.__file__).parent
#: Functions that take a path below `spec`: the number of the argument, and the kind of document.
TAKERS = {
    "place": (0, "Intent"),
    "reason": (1, "Intent"),
    "stated": (2, "Intent"),
    "stated_or": (2, "Intent"),
    "is_written": (1, "Intent"),
    "hardware_place": (0, "Hardware"),
    "of_hardware": (2, "Hardware"),
    "cluster_place": (0, "Cluster"),
    "target_field": (0, "Intent"),
}
#: What the paths that a function takes are below.
BELOW = {"target_field": "targets.0."}
#: What may stand at a `{…}` in the middle of a path: a place in a list, or a pool.
STAND_INS = ("0", "isolated")


def test_place() -> None:
    assert of_field("Intent", "ran-du", "pools.shared") == "Intent/ran-du:spec.pools.shared"
    assert (
        of_field("Hardware", "r760", "topology.cores", of_key=True)
        == "Hardware/r760:spec.topology.cores:"
    )
    assert of_field("Intent", "ran-du") == "Intent/ran-du:spec"


@pytest.mark.parametrize(
    "path",
    [
        "kernel.realTime",
        "hugePages.pages.3.numaNode",
        "targets.0.version",
        "kubelet.evictionHard.memory.available",
        "kubelet.configuration.any.thing",
        "pools.isolated.partitions.dpdk.cores",
        "hardwareTuning.isolatedCpuFreq",
    ],
)
def test_fields_of_intents(path: str) -> None:
    assert is_field("Intent", path)


@pytest.mark.parametrize(
    "path", ["kernel.realtime", "pools.isolate", "hugePages.pages.first", "kernel.realTime.x"]
)
def test_no_field(path: str) -> None:
    assert not is_field("Intent", path)
    with pytest.raises(ValueError, match=path):
        of_field("Intent", "ran-du", path)


def test_every_path_in_the_source_is_a_field() -> None:
    paths = list(_paths())
    assert len(paths) > 60
    wrong = [
        f"{where}: {kind} spec.{path}" for where, kind, path in paths if not _is_any(kind, path)
    ]
    assert not wrong


def test_a_mistyped_path_is_refused_and_not_taken_for_a_default() -> None:
    node = plan()
    assert not is_written(node, "kernel.realTime")
    with pytest.raises(ValueError, match=r"no field spec\.kernel\.realtime"):
        is_written(node, "kernel.realtime")


def _is_any(kind: str, path: str) -> bool:
    """Whether there is such a field, with something that stands for each `*`."""
    return any(is_field(kind, path.replace("*", stand_in)) for stand_in in STAND_INS)


def _paths() -> Iterator[tuple[str, str, str]]:
    """(place, kind, path) of each path in a call; `*` is what an f-string fills in."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and (taker := TAKERS.get(_name(node.func))):
                number, kind = taker
                path = _path(node.args[number]) if len(node.args) > number else ""
                if path and "/" not in path:  # `Subject.place` takes paths of files
                    below = BELOW.get(_name(node.func), "")
                    yield f"{file.relative_to(SOURCE)}:{node.lineno}", kind, below + path


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def _path(argument: ast.expr) -> str:
    """The path, up to the last name that is known: what an f-string ends with may be any."""
    if isinstance(argument, ast.Constant):
        return str(argument.value)
    if not isinstance(argument, ast.JoinedStr):
        return ""
    parts = [str(part.value) if isinstance(part, ast.Constant) else "*" for part in argument.values]
    return "".join(parts).removesuffix("*").removesuffix(".")
