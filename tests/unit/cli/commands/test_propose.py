"""`cpuplan propose` as a user runs it."""

import json
from pathlib import Path

import pytest
import yaml

from tests.machines import trees
from tests.projects import plain_environment, run_in
from tests.unit.profiles.propose.gathers import CLUSTER, gather, node

Capture = pytest.CaptureFixture[str]
WANTED = ["--pool", "worker-cnf", "--reserved", "2"]


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    plain_environment(monkeypatch)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a must-gather `mg`."""
    gather(tmp_path / "mg", [*CLUSTER, node("w0", "worker", "worker-cnf")], {"w0": trees.server()})
    return tmp_path


def test_what_is_proposed_compiles(folder: Path, capsys: Capture) -> None:
    assert run_in(folder, ["import", "must-gather", "mg"], capsys)[0] == 0
    assert run_in(folder, ["propose", "mg", *WANTED], capsys) == (
        0,
        "",
        "wrote intents/worker-cnf.yaml\n",
    )
    code, _, err = run_in(folder, ["compile"], capsys)
    assert code == 0, err
    path = folder / "out/clusters/lab/manifests/10-performanceprofile-worker-cnf.yaml"
    assert yaml.safe_load(path.read_text())["spec"]["cpu"] == {
        "reserved": "0,4",
        "isolated": "1-3,5-7",
    }


def test_threads_that_nosmt_keeps_down_are_in_no_set(folder: Path, capsys: Capture) -> None:
    run_in(folder, ["import", "must-gather", "mg"], capsys)
    run_in(
        folder,
        ["propose", "mg", *WANTED, "--disable-smt", "--offlined", "1", "--name", "ran"],
        capsys,
    )
    code, _, err = run_in(folder, ["compile"], capsys)
    assert code == 0, err
    path = folder / "out/clusters/lab/manifests/10-performanceprofile-ran.yaml"
    assert yaml.safe_load(path.read_text())["spec"]["cpu"] == {
        "reserved": "0,2",
        "isolated": "3",
        "offlined": "1",
    }


def test_on_standard_output_with_reasons(folder: Path, capsys: Capture) -> None:
    code, out, err = run_in(folder, ["propose", "mg", *WANTED, "--stdout"], capsys)
    assert (code, err) == (0, "")
    assert out.startswith(
        "# yaml-language-server: $schema=../schemas/intent.schema.json\n"
        "# Proposed for pool worker-cnf (1 node like w0)\n"
        "# reserved: 2 CPUs in whole cores, from the lowest NUMA node on (NUMA node 0: 0,4)\n"
        "apiVersion: cpuplan.io/v1alpha1\n"
    )
    assert not (folder / "intents").exists()


def test_an_intent_that_is_there_stays(folder: Path, capsys: Capture) -> None:
    path = folder / "site/worker-cnf.yaml"
    path.parent.mkdir()
    path.write_text("mine")
    arguments = ["propose", "mg", *WANTED, "-o", "site"]
    code, _, err = run_in(folder, arguments, capsys)
    assert code == 2
    assert "error[CP621]: site/worker-cnf.yaml already exists" in err
    assert path.read_text() == "mine"
    assert run_in(folder, [*arguments, "--force"], capsys)[0] == 0
    assert run_in(folder, arguments, capsys) == (0, "", "wrote site/worker-cnf.yaml\n")


def test_remarks_and_errors_go_to_standard_error(folder: Path, capsys: Capture) -> None:
    code, out, err = run_in(
        folder, ["propose", "mg", "--pool", "worker", "--reserved", "2"], capsys
    )
    assert (code, out) == (1, "")
    assert "error[CP281]" in err
    assert err.endswith("note: node w0 is not in pool worker: it is in pool worker-cnf\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["mg"], "--pool is missing"),
        (["mg", "--pool", "worker"], "--reserved is missing"),
        (["mg", *WANTED, "--rt-kernel"], "--rt-kernel needs"),
        (["mg", *WANTED, "--power", "turbo"], "'turbo' is not one of"),
        (["mg", *WANTED, "--topology-policy", "none"], "'none' is not one of"),
        (["mg", *WANTED, "--name", "Upper_Case!"], "error[CP207]"),
        (["mg", "--pool", "", "--reserved", "2"], "--pool is missing"),
        (["mg", *WANTED, "--release", "4"], "which is not a valid release; use one such as 4.20"),
        (["mg", *WANTED, "--hardware-tuning", "2500000", "0"], "0 is not in the range x>=1"),
        (["mg", *WANTED, "-o", "mg/image/nodes/w0/sysinfo.tgz/intents"], "error[CP607]"),
        (["mg", "false", *WANTED], "unexpected extra argument"),
        (["absent", *WANTED], "does not exist"),
    ],
)
def test_usage(folder: Path, capsys: Capture, arguments: list[str], message: str) -> None:
    code, out, err = run_in(folder, ["propose", *arguments], capsys)
    assert (code, out) in {(1, ""), (2, "")}
    assert message in err


def test_words_may_have_capitals(folder: Path, capsys: Capture) -> None:
    arguments = [
        "propose",
        "mg",
        *WANTED,
        "--stdout",
        "--power",
        "LOW-LATENCY",
        "--topology-policy",
        "Best-Effort",
    ]
    _, out, _ = run_in(folder, arguments, capsys)
    assert "topologyManagerPolicy: best-effort" in out
    assert "realTime: true" in out


LIST = """\
pool master: 0 nodes
pool worker: 0 nodes
pool worker-cnf: 1 node
  w0: 8 CPUs, 4 cores, SMT
    NUMA node 0: 0,2,4,6
      cores (0,4) (2,6)
    NUMA node 1: 1,3,5,7
      cores (1,5) (3,7)
"""


def test_the_list(folder: Path, capsys: Capture) -> None:
    assert run_in(folder, ["propose", "mg", "--list"], capsys) == (0, LIST, "")


def test_the_list_for_programs(folder: Path, capsys: Capture) -> None:
    code, out, _ = run_in(folder, ["propose", "mg", "--list", "--json"], capsys)
    assert code == 0
    assert json.loads(out)["worker-cnf"]["w0"]["numaNodes"]["1"] == {
        "cpus": "1,3,5,7",
        "cores": ["1,5", "3,7"],
    }


def test_the_list_goes_on_where_a_snapshot_is_missing(folder: Path, capsys: Capture) -> None:
    (folder / "mg/image/nodes/w0/sysinfo.tgz").unlink()
    code, out, err = run_in(folder, ["propose", "mg", "--list"], capsys)
    assert code == 1
    assert "  w0: not readable\n" in out
    assert "error[CP285]" in err
