"""Every number of every kind of document, as large as it can be written: answered with little work.

A sample of the numbers runs always. With `-m slow` each number has the values that it must have,
and each number and text one of the others.
"""

import io
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from cpuplan.cli.main import run
from tests.bounds.child import Ran, run_in_child, write
from tests.bounds.generator import (
    INTENT,
    NUMBERS,
    SITE,
    TEXTS,
    Leaf,
    is_reachable,
    leaves,
    project,
)

COMMANDS = (["validate"], ["compile", "--stdout"], ["simulate", "worker-0"])
#: Fields whose usual value the generator does not find: texts for people, which hold no number.
_OTHERS = 40
NUMBERED = [leaf for leaf in leaves() if leaf.is_number]
SAMPLE = ("10000000", "9223372036854775807")
LARGE = ("10000000", "1000000000000", "9223372036854775807")


@cache
def _warm() -> None:
    """Load what commands load, so that children need only what is theirs."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        crowded = INTENT.replace("cores: 1", "cores: 9")
        for intent in (INTENT, crowded):
            write(folder, {"inventories/site.yaml": SITE, "intents/main.yaml": intent})
            printed = io.StringIO()
            with chdir(folder), redirect_stdout(printed), redirect_stderr(printed):
                for command in COMMANDS:
                    run(list(command))


def _answers(folder: Path, leaf: Leaf, value: str) -> None:
    _warm()
    write(folder, project(leaf, value))
    ran = run_in_child(folder, *COMMANDS)
    assert ran.has_answered, _words(leaf, value, ran)


def _words(leaf: Leaf, value: str, ran: Ran) -> str:
    return f"{leaf} = {value[:40]}: exit {ran.code}, {ran.seconds:.1f} s\n{ran.printed[-2000:]}"


def test_every_number_is_reached() -> None:
    assert [str(leaf) for leaf in NUMBERED if not is_reachable(leaf)] == []
    assert sum(not is_reachable(leaf) for leaf in leaves()) < _OTHERS


def _sample() -> Iterator[tuple[Leaf, str]]:
    """One value for each sixth number, in turn."""
    for index, leaf in enumerate(NUMBERED[::6]):
        yield leaf, SAMPLE[index % len(SAMPLE)]


def _values() -> Iterator[tuple[Leaf, list[str]]]:
    """The values of each number, and one of the others, in turn, for each number and text."""
    for index, leaf in enumerate(filter(is_reachable, leaves())):
        others = NUMBERS if leaf.is_number else TEXTS
        required = LARGE if leaf.is_number else ()
        yield leaf, [*required, others[index % len(others)]]


@pytest.mark.parametrize(("leaf", "value"), list(_sample()), ids=str)
def test_large_numbers_are_answered(leaf: Leaf, value: str, tmp_path: Path) -> None:
    _answers(tmp_path, leaf, value)


@pytest.mark.slow
@pytest.mark.parametrize(("leaf", "values"), list(_values()), ids=str)
def test_all_values_are_answered(leaf: Leaf, values: list[str], tmp_path: Path) -> None:
    for value in values:
        _answers(tmp_path, leaf, value)


def _with(intent: str = INTENT, site: str = SITE) -> dict[str, str]:
    return {"inventories/site.yaml": site, "intents/main.yaml": intent}


def _validated(folder: Path, files: dict[str, str], *options: str, seconds: int = 3) -> Ran:
    _warm()
    write(folder, files)
    ran = run_in_child(folder, ["validate", *options], seconds=seconds)
    assert ran.has_answered, ran.printed[-2000:]
    return ran


@pytest.mark.parametrize("number", ["1000", "10000000", "9223372036854775807"])
def test_a_number_is_lowered_to_what_the_machine_has(number: str, tmp_path: Path) -> None:
    intent = INTENT.replace("cores: 1, per: numaNode", f"cores: {number}")
    ran = _validated(tmp_path, _with(intent))
    assert number in ran.printed
    assert "lower reserved.cores to 7" in ran.printed


def test_pods_are_lowered_to_what_the_machine_has(tmp_path: Path) -> None:
    intent = INTENT + "  workloads: [{name: a, cpus: 2, pods: 1000000000000}]\n"
    ran = _validated(tmp_path, _with(intent))
    assert "lower workloads.0.pods to 6" in ran.printed


def test_a_numa_node_has_a_number_that_kernels_have(tmp_path: Path) -> None:
    leaf = next(leaf for leaf in leaves() if str(leaf) == "Hardware:topology.numaNodes.0.id")
    ran = _validated(tmp_path, project(leaf, "1000000000000"))
    assert ran.code == 1
    assert "1023" in ran.printed


def test_many_nodes_of_one_range(tmp_path: Path) -> None:
    """As many as are allowed, in the time that reading them takes."""
    ran = _validated(tmp_path, _with(site=SITE.replace("worker-0", '"w-[0-99999]"')), seconds=10)
    assert "100000 nodes" in ran.printed


def test_many_ranges_are_bounded_together(tmp_path: Path) -> None:
    groups = "".join(
        f'  - {{name: "w{index}-[0-99999]", labels: {{role: worker}}}}\n' for index in range(8)
    )
    ran = _validated(tmp_path, _with(site=SITE + groups), seconds=20)
    assert ran.code == 1
    assert "CP228" in ran.printed


@pytest.mark.parametrize(
    ("nodes", "settings", "code"),
    [
        (34, "topologyManagerPolicy: restricted", "CP512"),
        (34, "memoryManagerPolicy: Static, evictionHard: {memory.available: 100Mi}", "CP705"),
        (20, "memoryManagerPolicy: Static, evictionHard: {memory.available: 100Mi}", "CP5151"),
    ],
)
def test_many_numa_nodes(nodes: int, settings: str, code: str, tmp_path: Path) -> None:
    memory = ", ".join(["8Gi"] * nodes)
    site = SITE.replace("coresPerSocket: 4", f"coresPerSocket: 72, memoryOnlyNodes: [{memory}]")
    intent = INTENT + f"  kubelet: {{{settings}}}\n  workloads: [{{name: a, cpus: 8}}]\n"
    ran = _validated(tmp_path, _with(intent, site))
    assert code in ran.printed


@pytest.mark.slow
@pytest.mark.parametrize("number", [800, 3000])
def test_many_statements_that_contradict_each_other(number: int, tmp_path: Path) -> None:
    """The limit is one of work, so that the processor's time is not far from it."""
    partitions = ", ".join(f"p{index}: {{cores: 1}}" for index in range(number))
    intent = INTENT.replace("isolated: rest", f"isolated: {{partitions: {{{partitions}}}}}")
    site = SITE.replace("coresPerSocket: 4", "coresPerSocket: 64")
    ran = _validated(tmp_path, _with(intent, site), "--time-limit", "5", seconds=30)
    assert ran.code == 1
    assert "CP401" in ran.printed or "CP323" in ran.printed
