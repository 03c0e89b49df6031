"""A node that runs: interrupts, programs, units and TuneD of a plan, where everything holds."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cpuplan.base.cpuset import CpuSet
from cpuplan.check.irqbalance import PROGRAM
from cpuplan.check.services import units
from cpuplan.components import derived, kernel
from cpuplan.components.host import irqbalance, tuned
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.state import Expected
from tests.checked import expected
from tests.hosts import CPU, make_root

UNITS = "etc/systemd/system"
SHOWN = "cpuplan/systemctl-show"
RENDERED = "etc/machine-config-daemon/currentconfig"
VERDICT = "cpuplan/tuned-adm-verify"
LATER = "cpuplan/interrupts.later"
#: The first number of processes that are only there.
_FIRST = 300
#: That of a thread for soft interrupts.
SOFT = 14
#: A bound thread of the kernel with policy FIFO and priority 11 (proc_pid_stat(5)).
_STAT = "{} ({}) S 2 0 0 0 0 69238848" + " 0" * 30 + " 11 1 0 0\n"
_STATUS = "Name:\t{}\nPPid:\t2\nCpus_allowed_list:\t{}\n"
#: Devices by interrupts: of a network card, and of a disk whose queues the kernel places.
CARD, DISK, CLOCK = 77, 31, 8
DEVICES = {CLOCK: "rtc0", DISK: "nvme0q1", CARD: "mlx5_comp0"}


def write(root: Path, path: str, text: str) -> None:
    """A file of the node."""
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


def make(plan: ConfiguredPlan, root: Path) -> Path:
    """The root of a node of a plan while it runs."""
    make_root(plan, root)
    node = expected(plan)
    _interrupts(node, root)
    _programs(node, root)
    _units(node, root)
    _tuned(node, root)
    if node.platform.has_pools:
        write(root, RENDERED, json.dumps(rendered(node)))
    return root


def table(node: Expected, counts: dict[int, CpuSet]) -> str:
    """/proc/interrupts, in which each interrupt came once to some CPUs."""
    cpus = list(node.cpus(derived.ONLINE))
    lines = ["       " + " ".join(f"CPU{cpu}" for cpu in cpus)]
    for number, devices in DEVICES.items():
        times = " ".join("1" if cpu in counts[number] else "0" for cpu in cpus)
        lines.append(f"{number:3}: {times}   PCI-MSI {number}-edge      {devices}")
    lines.append("LOC: " + " ".join("5" for _ in cpus) + "   Local timer interrupts")
    return "\n".join(lines) + "\n"


def rendered(node: Expected) -> dict[str, Any]:
    """The rendered MachineConfig of a node, as its daemon keeps it."""
    files, units = [], []
    for path, file in node.files.items():
        name = path.removeprefix(f"/{UNITS}/")
        if "/" in name:
            files.append({"path": path, "contents": {"source": f"data:,{quote(file.text)}"}})
        else:
            units.append({"name": name, "contents": file.text, "enabled": True})
    config = {"storage": {"files": files}, "systemd": {"units": units}}
    arguments = [kernel.argument(setting) for setting in node.settings.of(kernel.NAME)]
    return {
        "metadata": {"name": "rendered-ran-1"},
        "spec": {"kernelArguments": arguments, "config": config},
    }


def _interrupts(node: Expected, root: Path) -> None:
    reserved, isolated = node.pool("reserved").cpus, node.cpus(derived.ISOLATED)
    first = CpuSet(list(reserved)[:1])
    allowed = {CLOCK: reserved, DISK: first | CpuSet(list(isolated)[:2]), CARD: reserved}
    for number, cpus in allowed.items():
        write(root, f"proc/irq/{number}/smp_affinity_list", f"{cpus}\n")
        write(root, f"proc/irq/{number}/effective_affinity_list", f"{first}\n")
    write(root, "proc/irq/2/smp_affinity_list", f"{node.cpus(derived.ONLINE)}\n")
    write(root, "proc/irq/default_smp_affinity", f"{reserved.mask()}\n")
    text = table(node, dict.fromkeys(DEVICES, first))
    write(root, "proc/interrupts", text)
    write(root, LATER, text.replace("LOC: 5", "LOC: 9"))


def _programs(node: Expected, root: Path) -> None:
    banned = node.settings.values(irqbalance.NAME).get(irqbalance.LIST)
    mask = node.cpus(derived.ISOLATED).short_mask()
    names = ["systemd", "kubelet", PROGRAM, "tuned", "stalld", *(f"worker-{n}" for n in range(9))]
    for number, name in enumerate(names, start=_FIRST):
        write(root, f"proc/{number}/comm", f"{name}\n")
    for number, cpu in ((SOFT, 0), (SOFT + 1, 1)):
        write(root, f"proc/{number}/stat", _STAT.format(number, f"ksoftirqd/{cpu}"))
        write(root, f"proc/{number}/status", _STATUS.format(f"ksoftirqd/{cpu}", cpu))
    balancer = _FIRST + names.index(PROGRAM)
    pair = f"{irqbalance.LIST}={banned}" if banned else f"{irqbalance.MASK}={mask}"
    environment = f"LANG=C\0{pair}\0"
    write(root, f"proc/{balancer}/environ", environment)
    system = node.cpus(derived.SYSTEM)
    write(root, "proc/1/status", f"Name:\tsystemd\nCpus_allowed_list:\t{system}\n")


def _units(node: Expected, root: Path) -> None:
    """Every unit ran, those with a link to make are enabled, and scripts are executable."""
    for path, file in node.files.items():
        if file.is_executable:
            (root / path.lstrip("/")).chmod(0o755)
    blocks = []
    for unit in units.compiled_units(node):
        blocks.append(f"Id={unit.name}\nActiveState=active\nResult=success\nNeedDaemonReload=no\n")
        for line in unit.lines:
            if line.section == "Install":
                folder = root / UNITS / f"{line.value}.wants"
                folder.mkdir(parents=True, exist_ok=True)
                (folder / unit.name).symlink_to(f"../{unit.name}")
    write(root, SHOWN, "\n".join(blocks))
    (root / UNITS / "timers.target.wants").mkdir(exist_ok=True)


def _tuned(node: Expected, root: Path) -> None:
    profile = str(node.facts[derived.TUNED_PROFILE])
    write(root, "etc/tuned/active_profile", f"{profile}\n")
    if node.platform.has_pools:
        write(root, f"etc/tuned/{profile}/tuned.conf", tuned.render(node.settings.of(tuned.NAME)))
    write(root, VERDICT, "Verification succeeded, current system settings match.\n")
    line = "2026-11-22 10:03:41,220 INFO     tuned.profiles.loader: loading profile: "
    write(root, "var/log/tuned/tuned.log", f"{line}{profile}\n")
    for setting in node.settings.of(tuned.NAME):
        for evidence in setting.effect.evidence if setting.effect else ():
            write(root, evidence.path, f"{evidence.value}\n")
    for cpu in node.cpus(derived.ONLINE):
        write(root, f"{CPU}/cpu{cpu}/cpufreq/scaling_governor", "performance\n")
        write(root, f"{CPU}/cpu{cpu}/power/energy_perf_bias", "0\n")
