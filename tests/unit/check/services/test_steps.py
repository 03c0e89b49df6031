"""A running node where everything holds has no finding; one changed fact has exactly its own."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cpuplan.base.cpuset import CpuSet
from cpuplan.check import irqbalance
from cpuplan.check.interrupts import affinity
from cpuplan.check.kernel import tunables
from cpuplan.check.services import affinities, compiled_files, tuned, units
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Answer, Verdict
from cpuplan.upstream.nto.controller import PROFILES, RECOMMEND_FILE
from tests.checked import expected, subject
from tests.hosts import CPU
from tests.machines.plans import plan, regular
from tests.unit.check.services import node
from tests.unit.check.services.node import (
    CARD,
    CLOCK,
    DISK,
    LATER,
    SHOWN,
    UNITS,
    VERDICT,
    make,
    write,
)

SPEC = {
    "workloadHints": {"realTime": True},
    "hugePages": {"pages": [{"size": "2M", "count": 16}]},
    "hardwareTuning": {"isolatedCpuFreq": 2500000, "reservedCpuFreq": 2800000},
    "net": {"userLevelNetworking": True},
}
Change = Callable[[Path], None]
#: What the rooms `services` and `interrupts` look at, and files of single settings.
STEPS = (
    tunables.shown_by_files,
    compiled_files.compiled,
    units.in_force,
    units.overridden,
    units.results,
    affinities.foreign,
    tuned.active,
    tuned.installed,
    tuned.runs,
    tuned.verdict,
    tuned.options,
    affinity.kept_off,
    affinity.managed,
    affinity.queue_counts,
    irqbalance.environment,
)


def answers(root: Path, made: ConfiguredPlan) -> list[Answer]:
    """All answers of these steps on a node."""
    about = subject(root, made)
    return [answer for step in STEPS for answer in step(about)]


def kubernetes() -> ConfiguredPlan:
    return plan(regular(cores=8), isolcpus="6-7", platform="kubernetes", version="1.34", spec=SPEC)


def openshift() -> ConfiguredPlan:
    spec = {**SPEC, "isolation": {"globallyDisableIrqLoadBalancing": True}}
    return plan(regular(cores=8), isolcpus="6-7", version="4.20", spec=spec)


def complete(made: ConfiguredPlan, root: Path) -> Path:
    """A running node with a network card and limits of frequencies."""
    make(made, root)
    for cpu in range(8):
        limit = "2800000" if cpu < 2 else "2500000"
        write(root, f"{CPU}/cpu{cpu}/cpufreq/scaling_max_freq", f"{limit}\n")
    for queue in range(2):
        write(root, f"sys/class/net/eth0/queues/rx-{queue}/rps_cpus", "00\n")
    write(root, "sys/class/net/eth0/device/vendor", "0x15b3\n")
    return root


def findings(given: list[Answer]) -> list[tuple[str, str]]:
    """(code, message) of what differs."""
    diagnostics = (answer.finding for answer in given)
    return [(finding.code, finding.message) for finding in diagnostics if finding]


@pytest.mark.parametrize("make_plan", [kubernetes, openshift])
def test_node_where_everything_holds(
    make_plan: Callable[[], ConfiguredPlan], tmp_path: Path
) -> None:
    made = make_plan()
    given = answers(complete(made, tmp_path), made)
    assert findings(given) == []
    held = {answer.fact for answer in given if answer.verdict is Verdict.HELD}
    for fact in (
        "TuneD",
        "verdict of TuneD",
        "profile of TuneD",
        "counts of interrupts",
        "managed interrupts",
        "affinities of units",
        "tuned cpu.governor",
        "tuned cpu.min_perf_pct",
        "tuned net.channels",
        "tuned scheduler.group.ksoftirqd",
        "tuned service.service.stalld",
        "tuned vm.transparent_hugepages",
    ):
        assert fact in held


def text(path: str, content: str) -> Change:
    return lambda root: write(root, path, content)


def replace(path: str, old: str, new: str) -> Change:
    def change(root: Path) -> None:
        content = (root / path).read_text()
        assert old in content
        (root / path).write_text(content.replace(old, new))

    return change


def remove(path: str) -> Change:
    return lambda root: (root / path).unlink()


def mask(unit: str, folder: str = UNITS) -> Change:
    def change(root: Path) -> None:
        path = root / folder / unit
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to("/dev/null")

    return change


def stop(program: str) -> Change:
    def change(root: Path) -> None:
        for comm in (root / "proc").glob("[0-9]*/comm"):
            if comm.read_text().strip() == program:
                comm.write_text("other\n")

    return change


def environment(content: str) -> Change:
    def change(root: Path) -> None:
        next((root / "proc").glob("*/environ")).write_text(content)

    return change


def came(number: int, *cpus: int) -> Change:
    """An interrupt comes to some CPUs, too, between two readings."""
    counts = dict.fromkeys(node.DEVICES, CpuSet((0,)))
    counts[number] = CpuSet((0, *cpus))
    return lambda root: write(root, LATER, node.table(expected(kubernetes()), counts))


def unit_result(unit: str, state: str) -> Change:
    return replace(SHOWN, f"Id={unit}\nActiveState=active\nResult=success\n", f"Id={unit}\n{state}")


def both(*changes: Change) -> Change:
    def change(root: Path) -> None:
        for edit in changes:
            edit(root)

    return change


def not_delivered(path: str, content: str | None = None) -> Change:
    """The MachineConfig of the node has a file otherwise, or not at all."""

    def change(root: Path) -> None:
        data = json.loads((root / node.RENDERED).read_text())
        storage = data["spec"]["config"]["storage"]
        others = [file for file in storage["files"] if file["path"] != f"/{path}"]
        own = {"path": f"/{path}", "contents": {"source": f"data:,{content}"}}
        storage["files"] = others if content is None else [*others, own]
        write(root, node.RENDERED, json.dumps(data))

    return change


def add(root: Path, path: str, content: str) -> None:
    """Lines at the end of a file."""
    with (root / path).open("a") as file:
        file.write(content)


LOG = "var/log/tuned/tuned.log"
LOST = "2026-11-22 10:04 ERROR    tuned.units.manager: failed to initialize plugin scheduler\n"
REFUSED = "2026-11-22 10:04 ERROR    tuned.daemon.daemon: Cannot load profile(s) 'cpuplan'\n"
IRQ, GOVERNOR = "proc/irq", "cpufreq/scaling_governor"
INTERRUPTS, CHECK = "cpuplan-interrupts.service", "hugepages-check-2048kB.service"
KUBERNETES: list[tuple[str, str, Change]] = [
    ("CP873", "77 (mlx5_comp0) on CPU 3", text(f"{IRQ}/{CARD}/smp_affinity_list", "0-1,3\n")),
    ("CP873", "8 (rtc0) on CPU 7", text(f"{IRQ}/{CLOCK}/effective_affinity_list", "7\n")),
    ("CP866", "77 (mlx5_comp0) 2 times on CPUs 4-5", came(CARD, 4, 5)),
    ("CP868", "31 (nvme0q1) on 2", text(f"{IRQ}/{DISK}/effective_affinity_list", "2\n")),
    ("CP875", "it should be", environment("IRQBALANCE_BANNED_CPULIST=2-6\0")),
    (
        "CP875",
        "IRQBALANCE_BANNED_CPUS=0, ",
        environment("IRQBALANCE_BANNED_CPUS=0\0IRQBALANCE_BANNED_CPULIST=2-7\0"),
    ),
    ("CP875", "started with neither", environment("LANG=C\0")),
    ("CP867", "it is masked", mask(INTERRUPTS)),
    ("CP867", "it is masked", mask(INTERRUPTS, "etc/systemd/system.control")),
    ("CP867", "it is masked", mask("tuned.service")),
    ("CP867", "it is masked", mask("stalld.service", "run/systemd/system")),
    ("CP867", "systemd.mask=", replace("proc/cmdline", " ro ", f" ro systemd.mask={CHECK} ")),
    (
        "CP867",
        "a drop-in changes it: ExecStart=/bin/true",
        text(f"{UNITS}/{CHECK}.d/site.conf", "[Service]\nExecStart=\nExecStart=/bin/true\n"),
    ),
    (
        "CP867",
        "hides the compiled file",
        text(f"run/systemd/transient/{CHECK}", "[Service]\nExecStart=/bin/true\n"),
    ),
    (
        "CP867",
        "it failed: exit-code, status 1",
        unit_result(CHECK, "ActiveState=failed\nResult=exit-code\nExecMainStatus=1\n"),
    ),
    (
        "CP867",
        "another file",
        replace(
            SHOWN, "Result=success\nNeedDaemonReload=no", "Result=success\nNeedDaemonReload=yes"
        ),
    ),
    (
        "CP867",
        "start-limit-hit",
        replace(
            SHOWN,
            f"Id={CHECK}",
            f"Id=irqbalance.service\nActiveState=failed\nResult=start-limit-hit\n\nId={CHECK}",
        ),
    ),
    (
        "CP869",
        "isolated CPUs 2-3",
        text(f"{UNITS}/chronyd.service.d/cpus.conf", "[Service]\nCPUAffinity=0-3\n"),
    ),
    (
        "CP869",
        "pods inherit it",
        text(f"{UNITS}/crio.service.d/cpus.conf", "[Service]\nCPUAffinity=0\n"),
    ),
    (
        "CP869",
        "isolated CPUs 2-7 only",
        text(f"{UNITS}/kubelet.service.d/zz.conf", "[Service]\nAllowedCPUs=\nAllowedCPUs=2-7\n"),
    ),
    (
        "CP869",
        "it is throttled",
        text(f"{UNITS}/kubelet.service.d/90-quota.conf", "[Service]\nCPUQuota=50%\n"),
    ),
    (
        "CP869",
        "pods are throttled",
        text(f"{UNITS}/kubepods.slice.d/90-quota.conf", "[Slice]\nCPUQuota=400%\n"),
    ),
    (
        "CP869",
        "pods take their memory",
        text(f"{UNITS}/crio.service.d/numa.conf", "[Service]\nNUMAPolicy=bind\nNUMAMask=0\n"),
    ),
    (
        "CP869",
        "isolated CPUs 2-7 only",
        text(f"{UNITS}/system.slice.d/site.conf", "[Slice]\nAllowedCPUs=2-7\n"),
    ),
    (
        "CP869",
        "isolated CPU 4",
        text("usr/lib/systemd/system/chronyd.service", "[Service]\nCPUAffinity=4\n"),
    ),
    (
        "CP869",
        "memory of these NUMA nodes",
        text(f"{UNITS}/kubepods.slice.d/site.conf", "[Slice]\nAllowedMemoryNodes=0\n"),
    ),
    (
        "CP867",
        "a drop-in takes EnvironmentFile=/etc/cpuplan/irqbalance back",
        text(
            f"{UNITS}/irqbalance.service.d/zz.conf",
            "[Service]\nEnvironmentFile=\nEnvironmentFile=/etc/site\n",
        ),
    ),
    ("CP898", "no profile is loaded", lambda root: add(root, LOG, REFUSED)),
    (
        "CP869",
        "isolated CPU 5",
        text("etc/systemd/system.conf.d/zz.conf", "[Manager]\nCPUAffinity=5\n"),
    ),
    ("CP871", "this line should be: ", replace("etc/cpuplan/irqbalance", "2-7", "3-7")),
    ("CP870", "place-interrupts.sh", remove("usr/local/bin/place-interrupts.sh")),
    ("CP874", "is balanced", text("etc/tuned/active_profile", "balanced\n")),
    ("CP898", "does not run", stop("tuned")),
    ("CP898", "verification", text(VERDICT, "Verification failed, current settings differ\n")),
    ("CP8210", "not running", stop("stalld")),
    ("CP8208", "powersave on CPU 4", text(f"{CPU}/cpu4/{GOVERNOR}", "powersave\n")),
    ("CP8208", "15 on CPU 4", text(f"{CPU}/cpu4/power/energy_perf_bias", "15\n")),
    ("CP8208", "3500000 on CPU 4", text(f"{CPU}/cpu4/cpufreq/scaling_max_freq", "3500000\n")),
    (
        "CP8201",
        "madvise",
        text("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ),
    ("CP8206", "eth0 has 3", text("sys/class/net/eth0/queues/rx-2/rps_cpus", "00\n")),
    ("CP8210", "enabled", text(f"{UNITS}/timers.target.wants/fwupd-refresh.timer", "")),
    ("CP8209", "with priority 12", replace(f"proc/{node.SOFT}/stat", " 11 1 0 0", " 12 1 0 0")),
]


def mutations(rows: list[tuple[str, str, Change]]) -> list[object]:
    return [pytest.param(*row, id=f"{at}-{row[0]}-{row[1]}") for at, row in enumerate(rows)]


@pytest.mark.parametrize(("code", "words", "change"), mutations(KUBERNETES))
def test_one_changed_fact(code: str, words: str, change: Change, tmp_path: Path) -> None:
    made = kubernetes()
    root = complete(made, tmp_path)
    change(root)
    reported = findings(answers(root, made))
    assert [number for number, _ in reported] == [code]
    assert words in reported[0][1]


def test_a_unit_in_a_slice_of_pods_is_no_service(tmp_path: Path) -> None:
    made = kubernetes()
    root = complete(made, tmp_path)
    unit = "[Service]\nAllowedCPUs=2-7\nSlice=kubepods-besteffort-pod1.slice\n"
    text("run/systemd/transient/container-1.service", unit)(root)
    assert findings(answers(root, made)) == []


OWN = "openshift-node-performance-ran"
PROFILE, SITE = f"{PROFILES}/{OWN}/tuned.conf", f"{PROFILES}/site/tuned.conf"
SITE_IN_FORCE = text(RECOMMEND_FILE, "[site]\n")
ONE_SHOT = "ocp-tuned-one-shot.service"
OFFLINE = "usr/local/bin/cpuset-configure.sh"
OPENSHIFT: list[tuple[str, str, Change]] = [
    ("CP899", OFFLINE, both(not_delivered(OFFLINE), remove(OFFLINE))),
    ("CP899", OFFLINE, both(not_delivered(OFFLINE, "true"), text(OFFLINE, "true"))),
    ("CP899", "nohz_full=2-7", replace(node.RENDERED, "nohz_full=2-7", "nohz_full=2-6")),
    ("CP871", "this line should be", replace(OFFLINE, "set -", "set +")),
    ("CP871", "not executable", lambda root: (root / OFFLINE).chmod(0o644)),
    ("CP870", OFFLINE, remove(OFFLINE)),
    ("CP873", "of new devices on CPUs 2-7", text(f"{IRQ}/default_smp_affinity", "ff\n")),
    ("CP873", "77 (mlx5_comp0) on CPU 3", text(f"{IRQ}/{CARD}/smp_affinity_list", "3\n")),
    ("CP874", "is openshift-node;", text(RECOMMEND_FILE, "[openshift-node]\n")),
    ("CP874", "is none;", text(RECOMMEND_FILE, "")),
    (
        "CP874",
        "is balanced;",
        both(remove(RECOMMEND_FILE), text("etc/tuned/active_profile", "balanced\n")),
    ),
    (
        "CP874",
        "is site;",
        both(SITE_IN_FORCE, text(SITE, "[main]\ninclude=openshift-node\n")),
    ),
    (
        "CP8380",
        f"is site, which includes {OWN}",
        both(SITE_IN_FORCE, text(SITE, f"[main]\ninclude=-gone,{OWN}\n")),
    ),
    (
        "CP898",
        "site includes gone, which is not there",
        both(SITE_IN_FORCE, text(SITE, f"[main]\ninclude=gone,{OWN}\n")),
    ),
    (
        "CP867",
        f"{ONE_SHOT} does not do what was compiled: not enabled",
        remove(f"{UNITS}/kubelet-dependencies.target.wants/{ONE_SHOT}"),
    ),
    ("CP871", "vm.swappiness=10", replace(PROFILE, "vm.swappiness=10", "vm.swappiness=60")),
    ("CP871", "scheduler.runtime=0", replace(PROFILE, "runtime=0\n", "")),
    ("CP8200", "vm.swappiness", text("proc/sys/vm/swappiness", "60\n")),
    ("CP875", "2-7 or more", environment("IRQBALANCE_BANNED_CPUS=7c\0")),
    ("CP898", "plugins: scheduler", lambda root: add(root, LOG, LOST)),
]


@pytest.mark.parametrize(("code", "words", "change"), mutations(OPENSHIFT))
def test_one_changed_fact_of_openshift(
    code: str, words: str, change: Change, tmp_path: Path
) -> None:
    made = openshift()
    root = complete(made, tmp_path)
    change(root)
    reported = findings(answers(root, made))
    assert [number for number, _ in reported] == [code]
    assert words in reported[0][1]


#: What changes nothing, or is right as well.
EQUAL: list[tuple[str, Change]] = [
    ("other order", text(f"{IRQ}/{CARD}/smp_affinity_list", "1,0\n")),
    ("list otherwise", environment("IRQBALANCE_BANNED_CPULIST=2,3,4-7\0IRQBALANCE_BANNED_CPUS=\0")),
    ("irqbalance stopped", stop("irqbalance")),
    ("interrupt of no device", text(f"{IRQ}/3/smp_affinity_list", "0-7\n")),
    ("timers of CPUs", replace(LATER, "LOC: 9 5", "LOC: 9 9")),
    ("queue that is not started", text(f"{IRQ}/{CARD}/effective_affinity_list", "\n")),
    (
        "description",
        text(f"{UNITS}/{CHECK}.d/site.conf", "[Unit]\nDescription=ours\n[Service]\nNice=5\n"),
    ),
    (
        "program of isolcpus",
        text(f"{UNITS}/dpdk.service", "[Service]\nExecStart=/bin/dpdk\nCPUAffinity=6-7\n"),
    ),
    (
        "reset affinity",
        text(f"{UNITS}/a.service.d/b.conf", "[Service]\nCPUAffinity=0-7\nCPUAffinity=\n"),
    ),
    (
        "what the kubelet gives a pod",
        text(
            "run/systemd/transient/kubepods-pod1.slice.d/50-CPUQuotaPerSecUSec.conf",
            "[Slice]\nCPUQuota=200%\n",
        ),
    ),
    (
        "cpuset with CPUs of the system",
        text(f"{UNITS}/a.service.d/b.conf", "[Service]\nAllowedCPUs=0-7\n"),
    ),
    ("masked drop-in", mask("50-x.conf", f"{UNITS}/{CHECK}.d")),
    ("mask of another unit", mask("containerd.service")),
]


@pytest.mark.parametrize(("name", "change"), EQUAL)
def test_what_matters_to_nobody(name: str, change: Change, tmp_path: Path) -> None:
    made = kubernetes()
    root = complete(made, tmp_path)
    change(root)
    assert findings(answers(root, made)) == [], name
