"""The kernel of a node: with one fact changed there is exactly its finding, at that fact."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan.diagnostics import Severity
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from tests import checked
from tests.hosts import CPU
from tests.machine_root import NODES, WORKQUEUE, make_machine
from tests.machines.plans import plan, regular

LINE = "proc/cmdline"
ISOLATED = "1-3,5-7"
PAGES = f"{NODES}/node0/hugepages/hugepages-2048kB"
GROUPS = "sys/fs/cgroup"
GRUB = "boot/grub/grub.cfg"

Change = Callable[[Path], object]


def node() -> ConfiguredPlan:
    """Two NUMA nodes of two cores; real-time, with isolated CPUs and huge pages."""
    pages = [{"size": "2M", "count": 64, "numaNode": 0}, {"size": "1G", "count": 2}]
    return plan(
        regular(sockets=2, cores=2, threads=2, memory=8 * 1024**3),
        platform="kubernetes",
        version="1.34",
        reserved="0,4",
        spec={
            "isolation": {"domain": True},
            "workloadHints": {"realTime": True},
            "hugePages": {"defaultSize": "2M", "pages": pages},
            "kernel": {"extraArguments": ["transparent_hugepage=never", "skew_tick=1"]},
        },
    )


def write(path: str, text: str) -> Change:
    def change(root: Path) -> None:
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)

    return change


def given(words: str) -> Change:
    """Further words of others on the command line."""
    return lambda root: (root / LINE).write_text(f"{words} {(root / LINE).read_text()}")


def without(word: str) -> Change:
    def change(root: Path) -> None:
        text = (root / LINE).read_text()
        assert f" {word}" in text
        (root / LINE).write_text(text.replace(f" {word}", "", 1))

    return change


def answers(tmp_path: Path, *changes: Change) -> list[Answer]:
    root = make_machine(node(), tmp_path)
    for change in changes:
        change(root)
    return checked.answers(root, node())


def codes(checks: list[Answer]) -> list[str]:
    return [answer.finding.code for answer in checks if answer.finding]


def test_a_node_that_holds_everything(tmp_path: Path) -> None:
    checks = answers(tmp_path)
    assert codes(checks) == []
    held = {answer.fact for answer in checks if answer.verdict is Verdict.HELD}
    assert {
        "kernel nohz_full",
        "effect of nohz_full",
        "effect of isolcpus",
        "effect of transparent_hugepage",
        "effect of default_hugepagesz",
        "huge pages of 2M of NUMA node 0",
        "huge pages of 2M of NUMA node 1",
        "huge pages of 1G",
        "CPUs of unbound work",
        "boot arguments of others",
    } <= held


def test_what_nothing_shows_is_not_verifiable(tmp_path: Path) -> None:
    [effect] = [answer for answer in answers(tmp_path) if answer.fact == "effect of skew_tick"]
    assert effect.verdict is Verdict.UNVERIFIABLE
    assert effect.reason == "only /proc/cmdline shows it"


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("CP814", write(f"{CPU}/isolated", "\n")),
        ("CP814", write(f"{CPU}/nohz_full", " (null)\n")),
        ("CP806", lambda root: (root / f"{CPU}/nohz_full").unlink()),
        ("CP814", write("proc/sys/kernel/soft_watchdog", "1\n")),
        # Both the argument and TuneD's option show there.
        ("CP8201", write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")),
        ("CP814", write("sys/module/rcutree/parameters/kthread_prio", "0\n")),
        ("CP814", write("proc/irq/default_smp_affinity", "ff\n")),
        ("CP814", write("proc/meminfo", "Hugepagesize: 1048576 kB\n")),
        ("CP815", given("nosmt")),
        ("CP815", given("cgroup_disable=cpuset maxcpus=64")),
        ("CP811", without("nosoftlockup")),
        ("CP813", given("nohz_full=2-3")),
        ("CP817", write(f"{PAGES}/nr_hugepages", "63\n")),
        ("CP817", write(f"{NODES}/node1/hugepages/hugepages-2048kB/nr_hugepages", "8\n")),
        ("CP817", write(f"{NODES}/node1/hugepages/hugepages-1048576kB/nr_hugepages", "0\n")),
        ("CP817", write("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "60\n")),
        ("CP816", write("etc/default/grub.d/50-cpuplan.cfg", "GRUB_CMDLINE_LINUX=quiet\n")),
        ("CP8203", write(WORKQUEUE, "ff\n")),
        ("CP8204", write("sys/devices/virtual/workqueue/writeback/cpumask", "0e\n")),
        ("CP8200", write("proc/sys/vm/stat_interval", "1\n")),
        ("CP865", write("etc/sysctl.d/99-zzz.conf", "-vm.stat_interval=1\n")),
        ("CP816", write(GRUB, "menuentry 'Debian' {\n linux /vmlinuz ro quiet\n}\n")),
    ],
)
def test_one_fact(tmp_path: Path, code: str, change: Change) -> None:
    assert codes(answers(tmp_path, change)) == [code]


@pytest.mark.parametrize(
    "change",
    [
        write(f"{CPU}/isolated", "1-3,5,6,7\n"),
        write(f"{CPU}/nohz_full", "5-7,1-3\n"),
        write(WORKQUEUE, "00000000,00000011\n"),
        write(WORKQUEUE, "1\n"),
        write("sys/devices/virtual/workqueue/writeback/cpumask", "ff\n"),
        write("proc/irq/default_smp_affinity", "00000000,00000011\n"),
        write("sys/class/net/eth0/queues/rx-0/rps_cpus", "00000000\n"),
        write("sys/module/rcutree/parameters/kthread_prio", "11"),
        # Of pages without a node, the sum counts.
        lambda root: [
            write(f"{NODES}/node{node}/hugepages/hugepages-1048576kB/nr_hugepages", text)(root)
            for node, text in ((0, "0\n"), (1, "2\n"))
        ],
        write(f"{PAGES}/free_hugepages", "3\n"),
        given("crashkernel=512M rd.shell=0 mitigations=off"),
        write("etc/sysctl.d/99-zzz.conf", "# vm.stat_interval=1\nvm/stat_interval = 10\n"),
        write("etc/sysctl.d/00-first.conf", "vm.stat_interval=1\n"),
    ],
)
def test_what_does_not_matter(tmp_path: Path, change: Change) -> None:
    assert codes(answers(tmp_path, change)) == []


def test_a_wrong_argument_has_no_second_finding_for_its_effect(tmp_path: Path) -> None:
    checks = answers(
        tmp_path,
        without("nohz_full=1-3,5-7"),
        write(f"{CPU}/nohz_full", "(null)\n"),
        without("hugepagesz=1G hugepages=2"),
        write(f"{NODES}/node0/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
        write(f"{NODES}/node1/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
    )
    assert codes(checks) == ["CP811"]
    assert [answer.fact for answer in checks if answer.verdict is Verdict.DIFFERS] == [
        "kernel nohz_full",
        "kernel hugepagesz=1G",
    ]


def test_the_same_argument_twice_is_a_warning(tmp_path: Path) -> None:
    [finding] = [
        answer.finding for answer in answers(tmp_path, given("nosoftlockup")) if answer.finding
    ]
    assert (finding.code, finding.severity) == ("CP813", Severity.WARNING)


def test_pages_that_no_pod_has(tmp_path: Path) -> None:
    changes = (
        write(f"{PAGES}/free_hugepages", "3\n"),
        write(f"{GROUPS}/cgroup.controllers", "cpuset cpu memory hugetlb pids\n"),
    )
    assert codes(answers(tmp_path, *changes)) == ["CP819"]
    pods = write(f"{GROUPS}/kubepods.slice/hugetlb.2MB.current", f"{61 * 2 * 1024**2}\n")
    assert codes(answers(tmp_path, *changes, pods)) == []


SAID = "[    0.000000] Linux version 6.12.0\n[    0.000000] Command line: {}\n"
CALLBACKS = f"[    0.000000] rcu: \tOffload RCU callbacks from CPUs: {ISOLATED}."


def effect(checks: list[Answer], argument: str) -> Answer:
    return next(answer for answer in checks if answer.fact == f"effect of {argument}")


def test_what_the_kernel_said(tmp_path: Path) -> None:
    def log(text: str) -> Change:
        return lambda root: write("cpuplan/dmesg", text.format((root / LINE).read_text().strip()))(
            root
        )

    checks = answers(tmp_path, log(f"{SAID}{CALLBACKS}\n"))
    assert effect(checks, "rcu_nocbs").verdict is Verdict.HELD
    checks = answers(tmp_path, log(SAID))
    assert codes(checks) == ["CP814"]
    checks = answers(tmp_path, log(CALLBACKS))
    assert effect(checks, "rcu_nocbs").reason == "the log lost its beginning"
    checks = answers(tmp_path, write("cpuplan/dmesg", f"{SAID.format('ro')}{CALLBACKS}"))
    assert effect(checks, "rcu_nocbs").reason == "the log is that of another boot"


def test_the_next_boot(tmp_path: Path) -> None:
    """Files that are right, and a running kernel that is older; and the other way round."""
    root = make_machine(node(), tmp_path)
    line = (root / LINE).read_text().strip()
    menu = "".join(
        f"menuentry '{title}' {{\n linux /vmlinuz {words}\n}}\n"
        for title, words in (("x (recovery mode)", "ro single"), ("x", line))
    )
    checks = answers(tmp_path, write(GRUB, menu))
    [answer] = [candidate for candidate in checks if candidate.fact == "next boot"]
    assert answer.verdict is Verdict.HELD
    [finding] = [
        candidate.finding
        for candidate in answers(tmp_path, write(GRUB, menu), without("nosoftlockup"))
        if candidate.finding
    ]
    assert "/boot/grub/grub.cfg has them, and only a reboot is left" in finding.message


@pytest.mark.parametrize(
    ("files", "verdict"),
    [
        ({"b.conf": "version 2\noptions {}\n", "a.conf": "version 1\noptions ro\n"}, "held"),
        ({"b.conf": "version 1\noptions {}\n", "a.conf": "version 10\noptions ro\n"}, "differs"),
        ({"b.conf": "version 1\noptions {}\n", "rescue.conf": "version 9\noptions ro\n"}, "held"),
    ],
)
def test_entries_of_the_boot_loader_specification(
    tmp_path: Path, files: dict[str, str], verdict: str
) -> None:
    root = make_machine(node(), tmp_path)
    line = (root / LINE).read_text().strip()
    changes = [
        write(f"boot/loader/entries/{name}", text.format(line)) for name, text in files.items()
    ]
    [answer] = [
        candidate for candidate in answers(tmp_path, *changes) if candidate.fact == "next boot"
    ]
    assert answer.verdict.value == verdict


def test_an_argument_that_the_kernel_does_not_know(tmp_path: Path) -> None:
    unknown = 'Unknown kernel command line parameters "nohz=on skew_tick=1", will be passed on.'
    known = f"[    0.000000] Linux version 6.12.0\n[    0.000000] {unknown}\n{CALLBACKS}\n"
    checks = answers(tmp_path, write("cpuplan/dmesg", known))
    [asked] = [answer for answer in checks if answer.fact == "effect of skew_tick"]
    assert "passes it on to the programs" in asked.reason
    made = {setting.key for setting in node().settings.of("kernel")}
    assert codes(checks) == (["CP814"] if "nohz" in made else [])


@pytest.mark.parametrize(
    ("groups", "verdict"),
    [(["identity", "DMA"], "held"), (["DMA", "DMA-FQ"], "differs"), ([], "not verifiable here")],
)
def test_iommus(tmp_path: Path, groups: list[str], verdict: str) -> None:
    made = plan(platform="openshift", version="4.20", spec={"workloadHints": {"realTime": True}})
    root = make_machine(made, tmp_path)
    write("sys/class/iommu/dmar0/devices", "")(root)
    for number, kind in enumerate(groups):
        write(f"sys/kernel/iommu_groups/{number}/type", f"{kind}\n")(root)
    [answer] = [
        candidate
        for candidate in checked.answers(root, made)
        if candidate.fact == "effect of iommu"
    ]
    assert answer.verdict.value == verdict


@pytest.mark.parametrize(
    ("version", "verdict"),
    [
        ("Linux version 5.14.0 (gcc) #1 SMP PREEMPT_DYNAMIC", "differs"),
        ("Linux version 5.14.0 (gcc) #1 SMP PREEMPT_RT", "held"),
    ],
)
def test_the_kind_of_kernel(tmp_path: Path, version: str, verdict: str) -> None:
    spec = {"kernel": {"realTime": True}, "workloadHints": {"realTime": True}}
    made = plan(platform="openshift", version="4.20", spec=spec)
    root = make_machine(made, tmp_path)
    write("proc/version", version)(root)
    checks = checked.answers(root, made)
    [answer] = [candidate for candidate in checks if candidate.fact == "machineconfig kernelType"]
    assert answer.verdict.value == verdict


def test_packet_steering_of_queues(tmp_path: Path) -> None:
    spec = {"net": {"receivePacketSteering": True}}
    made = plan(platform="openshift", version="4.20", spec=spec)
    root = make_machine(made, tmp_path)
    write("sys/class/net/veth0/queues/rx-0/rps_cpus", "03\n")(root)
    write("sys/class/net/eth0/queues/rx-0/rps_cpus", "00\n")(root)
    [answer] = [x for x in checked.answers(root, made) if x.fact == "packet steering of queues"]
    assert answer.verdict is Verdict.HELD
    write("sys/class/net/eth0/queues/rx-1/rps_cpus", "c\n")(root)
    [answer] = [x for x in checked.answers(root, made) if x.fact == "packet steering of queues"]
    assert answer.observed == "eth0 rx-1 (2-3)"
