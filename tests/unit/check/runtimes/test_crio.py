"""CRI-O as it runs: flags, variables, other folders, handlers' programs."""

from pathlib import Path

import pytest

from cpuplan.check.runtimes import crio, handlers
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.upstream.crio.config import RefusedError
from cpuplan.upstream.crio.criocli import parse
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan

INFRA = "crio infra_ctr_cpuset"
UNIT = "usr/lib/systemd/system/crio.service"


def node() -> ConfiguredPlan:
    return plan(platform="kubernetes", version="1.34", shared="2-3")


def keys(root: Path, changes: dict[str, str]) -> dict[str, Answer]:
    made = make_root(node(), root)
    for path, text in changes.items():
        (made / path).parent.mkdir(parents=True, exist_ok=True)
        (made / path).write_text(text)
    return {answer.fact: answer for answer in crio.configuration(checked.subject(made, node()))}


def codes(checks: dict[str, Answer]) -> set[str]:
    return {answer.finding.code for answer in checks.values() if answer.finding}


def started(*flags: str) -> dict[str, str]:
    line = "".join(f"{word}\0" for word in ("/usr/bin/crio", *flags))
    return {"proc/801/comm": "crio\n", "proc/801/cmdline": line}


def test_every_planned_key_is_held(tmp_path: Path) -> None:
    checks = keys(tmp_path, {})
    assert INFRA in checks
    assert {answer.verdict for answer in checks.values()} == {Verdict.HELD}


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ((), set()),
        (("--infra-ctr-cpuset=0,1",), set()),
        (("--infra-ctr-cpuset", "0"), {"CP824"}),
        (("--selinux", "--log-level=debug"), set()),
        (("--pids-limit=many",), {"CP847"}),
        (("--config-dir=/etc/crio/site.d",), {"CP835"}),
        (("--config-dir", "/etc/crio/crio.conf.d/"), set()),
    ],
)
def test_flags(tmp_path: Path, flags: tuple[str, ...], expected: set[str]) -> None:
    assert codes(keys(tmp_path, started(*flags))) == expected


def test_variable_of_the_unit(tmp_path: Path) -> None:
    unit = "[Service]\nEnvironment=CONTAINER_SHARED_CPUSET=5\nExecStart=/usr/bin/crio\n"
    checks = keys(tmp_path, {UNIT: unit})
    answer = checks["crio shared_cpuset"]
    assert answer.observed == "5"
    assert answer.finding is not None
    assert "CONTAINER_SHARED_CPUSET" in answer.finding.message


def test_annotations_in_another_order(tmp_path: Path) -> None:
    made = make_root(node(), tmp_path)
    path = made / "etc/crio/crio.conf.d/99-zz-cpuplan.conf"
    text = path.read_text()
    first, second = '"cpu-quota.crio.io"', '"cpu-shared.crio.io"'
    assert first in text
    path.write_text(text.replace(first, "x").replace(second, first).replace("x", second, 1))
    checks = crio.configuration(checked.subject(made, node()))
    assert {answer.verdict for answer in checks} == {Verdict.HELD}


@pytest.mark.parametrize(
    ("programs", "verdict"),
    [
        ({}, Verdict.UNVERIFIABLE),
        ({"env": 0o755, "crun": 0o755, "conmon": 0o755}, Verdict.HELD),
        ({"env": 0o755, "crun": 0o644, "conmon": 0o755}, Verdict.DIFFERS),
        ({"env": 0o755, "crun": 0o755}, Verdict.DIFFERS),
    ],
)
def test_programs_of_handlers(tmp_path: Path, programs: dict[str, int], verdict: Verdict) -> None:
    made = make_root(node(), tmp_path)
    for name, mode in programs.items():
        path = made / "usr/bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
        path.chmod(mode)
    checks = list(handlers.programs(checked.subject(made, node())))
    assert {answer.verdict for answer in checks} == {verdict}


def test_flags_that_give_a_handler() -> None:
    flags = parse(["--runtimes=fast:/opt/crun:/run/fast:oci", "-c", "/etc/other.conf"], {})
    table = {"runtime_path": "/opt/crun", "runtime_root": "/run/fast", "runtime_type": "oci"}
    assert flags.file.tables == {"runtime": {"runtimes": {"fast": table}}}
    assert flags.config == "/etc/other.conf"


@pytest.mark.parametrize("words", [["--config"], ["--selinux=x"], ["--ctr-stop-timeout=x"]])
def test_flags_that_crio_refuses(words: list[str]) -> None:
    with pytest.raises(RefusedError):
        parse(words, {})
