"""The steps about threads: what they say where not everything is there to be seen."""

from pathlib import Path

import pytest

from cpuplan.check.threads.kernel import CALLBACKS, KERNEL, callbacks, movable
from cpuplan.check.threads.programs import FACT, programs
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import checked, kubepods
from tests.hosts import CPU, make_root
from tests.machines.plans import plan
from tests.processes import Thread, write

#: Of a machine with CPUs 0-7.
PLAN = plan(platform="kubernetes", version="1.34")
PARTITIONS = plan(
    platform="kubernetes", version="1.34", isolcpus="7", spec={"isolation": {"by": "partitions"}}
)
PINNED = plan()
AFFINITY = "systemd CPUAffinity"


def _verdicts(answers: list[Answer]) -> dict[str, Verdict]:
    return {answer.fact: answer.verdict for answer in answers}


def _programs(node: ConfiguredPlan, root: Path, *threads: Thread) -> dict[str, Verdict]:
    make_root(node, root)
    write(root, *threads)
    return _verdicts(list(programs(checked.subject(root, node))))


def test_without_processes_nothing_is_said_of_threads(tmp_path: Path) -> None:
    verdicts = _programs(PLAN, tmp_path)
    assert verdicts == {AFFINITY: Verdict.UNVERIFIABLE, FACT: Verdict.UNVERIFIABLE}


def test_the_first_process_alone_shows_the_affinity_of_the_manager(tmp_path: Path) -> None:
    verdicts = _programs(PLAN, tmp_path, Thread(1, "systemd", "0-1"))
    assert verdicts == {AFFINITY: Verdict.HELD, FACT: Verdict.UNVERIFIABLE}


def test_other_processes_do_not_show_the_affinity_of_the_manager(tmp_path: Path) -> None:
    verdicts = _programs(PLAN, tmp_path, Thread(9, "sshd", "0-1", "/system.slice/ssh.service"))
    assert verdicts == {AFFINITY: Verdict.UNVERIFIABLE, FACT: Verdict.HELD}


def test_a_service_that_strays_says_nothing_of_the_manager(tmp_path: Path) -> None:
    init, other = Thread(1, "systemd", "0-1"), Thread(9, "sshd", "0-7", "/system.slice/ssh.service")
    verdicts = _programs(PLAN, tmp_path, init, other)
    assert verdicts == {AFFINITY: Verdict.HELD, FACT: Verdict.DIFFERS}


def test_what_the_first_process_has_is_one_finding_with_its_heirs(tmp_path: Path) -> None:
    init, other = Thread(1, "systemd", "0-7"), Thread(9, "sshd", "0-7", "/system.slice/ssh.service")
    assert _programs(PLAN, tmp_path, init, other) == {AFFINITY: Verdict.DIFFERS}


def test_nodes_that_take_no_files_have_a_boot_argument(tmp_path: Path) -> None:
    verdicts = _programs(PINNED, tmp_path, Thread(1, "systemd", "0-7"))
    assert list(verdicts.values()) == [Verdict.DIFFERS]


def test_files_of_others_that_say_so_are_a_finding_of_their_own(tmp_path: Path) -> None:
    make_root(PLAN, tmp_path)
    drop_in = tmp_path / "etc/systemd/system/backup.service.d/cpus.conf"
    drop_in.parent.mkdir(parents=True)
    drop_in.write_text("[Service]\nCPUAffinity=0-7\n")
    write(
        tmp_path,
        Thread(1, "systemd", "0-1", "/init.scope"),
        Thread(9, "backup", "0-7", "/system.slice/backup.service"),
    )
    codes = [finding.code for finding in checked.findings(tmp_path, PLAN)]
    assert "CP869" in codes
    assert "CP836" not in codes


@pytest.mark.parametrize(("allowed", "verdict"), [("0-6", Verdict.HELD), ("0-7", Verdict.DIFFERS)])
def test_a_partition_gives_kernel_threads_all_other_cpus(
    tmp_path: Path, allowed: str, verdict: Verdict
) -> None:
    make_root(PARTITIONS, tmp_path)
    kubepods.write_root(tmp_path, "0-6")
    write(tmp_path, Thread(2, "kthreadd", allowed, is_kernel=True))
    checks = list(movable(checked.subject(tmp_path, PARTITIONS)))
    assert _verdicts(checks) == {KERNEL: verdict}


def test_kernel_threads_where_the_argument_is_dead(tmp_path: Path) -> None:
    make_root(PLAN, tmp_path)
    (tmp_path / CPU / "nohz_full").write_text("(null)\n")
    write(tmp_path, Thread(2, "kthreadd", "0-7", is_kernel=True))
    checks = list(movable(checked.subject(tmp_path, PLAN)))
    assert _verdicts(checks) == {KERNEL: Verdict.UNVERIFIABLE}


def test_no_kernel_threads_prove_nothing(tmp_path: Path) -> None:
    make_root(PLAN, tmp_path)
    write(tmp_path, Thread(1, "systemd", "0-1"))
    subject = checked.subject(tmp_path, PLAN)
    verdicts = _verdicts([*movable(subject), *callbacks(subject)])
    assert verdicts == {KERNEL: Verdict.UNVERIFIABLE, CALLBACKS: Verdict.UNVERIFIABLE}


def test_threads_of_a_kernel_that_was_booted_otherwise_are_no_second_finding(
    tmp_path: Path,
) -> None:
    make_root(PLAN, tmp_path)
    line = tmp_path / "proc/cmdline"
    write(tmp_path, Thread(2, "kthreadd", "0-7", is_kernel=True))
    subject = checked.subject(tmp_path, PLAN)
    verdicts = _verdicts([*movable(subject), *callbacks(subject)])
    assert verdicts == {KERNEL: Verdict.DIFFERS, CALLBACKS: Verdict.DIFFERS}
    line.write_text("quiet\n")
    subject = checked.subject(tmp_path, PLAN)
    answers = [*movable(subject), *callbacks(subject)]
    assert [answer.reason for answer in answers] == [
        "the kernel was not booted with nohz_full as planned",
        "the kernel was not booted with rcu_nocbs as planned",
    ]
