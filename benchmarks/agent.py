"""The agent's memory, and its share of a CPU at a check a minute, on a large machine.

`python -m benchmarks.agent [CHECKS]`: an agent that checks a machine of 240 CPUs with 2,000 threads
and 500 interrupts, made here on a file system in memory. It checks once a second, and what one
check takes is divided by the minute that it has.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.machines import make_root

PROGRAM = (sys.executable, "-c", "from cpuplan.__main__ import main; main()")
#: What the agent may take: memory in MiB, and per cent of a CPU at a check a minute.
MEMORY, SHARE = 40.0, 0.5
_TICK = os.sysconf("SC_CLK_TCK")
_PROCESSES, _THREADS = 200, 10
_INTERRUPTS = 500
_INTENT = """\
apiVersion: cpuplan.io/v1alpha1
kind: Intent
metadata: {name: low-latency}
spec:
  selector: {}
  targets: [{platform: kubernetes, version: "1.34", runtime: crio}]
  pools:
    reserved: {cores: 2, per: numaNode}
    isolated: rest
  isolation: {domain: true}
  hugePages:
    defaultSize: 1G
    pages: [{size: 1G, count: 32}]
  kubelet: {topologyManagerPolicy: restricted}
"""


def make_tasks(root: Path, cpus: int) -> None:
    """Write the threads of /proc, all of which may run on every CPU."""
    allowed = f"Cpus_allowed_list:\t0-{cpus - 1}\n"
    for process in range(_PROCESSES):
        pid = 1 + process * _THREADS
        head = f"Name:\tserver-{process}\nTgid:\t{pid}\nPPid:\t1\nThreads:\t{_THREADS}\n"
        files = {
            "comm": f"server-{process}\n",
            "cmdline": f"/usr/bin/server-{process}\0--all\0",
            "cgroup": f"0::/system.slice/server-{process}.service\n",
        }
        for thread in range(_THREADS):
            tid = pid + thread
            numbers = " ".join(["0"] * 48)
            own = {
                **files,
                "status": f"{head}Pid:\t{tid}\n{allowed}",
                "stat": f"{tid} (server-{process}) S 1 {numbers}\n",
            }
            _write(root / f"proc/{pid}/task/{tid}", own)
        _write(root / f"proc/{pid}", own)


def make_interrupts(root: Path, cpus: int) -> None:
    """Write /proc/interrupts, and the CPUs of each."""
    lines = ["     " + "".join(f"CPU{cpu}".rjust(11) for cpu in range(cpus))]
    for number in range(_INTERRUPTS):
        mine = number % cpus
        counts = "".join(str(number * (cpu == mine)).rjust(11) for cpu in range(cpus))
        lines.append(f"{number:4}:{counts}  IR-PCI-MSI {number}-edge  eth0-TxRx-{number}")
        cpu = f"{mine}\n"
        files = {"smp_affinity_list": cpu, "effective_affinity_list": cpu, "node": "0\n"}
        _write(root / f"proc/irq/{number}", files)
    _write(root / "proc", {"interrupts": "\n".join(lines) + "\n"})
    _write(root / "proc/irq", {"default_smp_affinity": f"{(1 << cpus) - 1:x}\n"})


def _write(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text)


def make_project(project: Path, root: Path) -> None:
    """Import the machine, and compile an intent for it."""
    (project / "intents").mkdir(parents=True)
    (project / "intents/main.yaml").write_text(_INTENT)
    (root / "etc").mkdir(exist_ok=True)
    (root / "etc/hostname").write_text("worker-0\n")
    for words in (("import", str(root)), ("compile",)):
        subprocess.run([*PROGRAM, "-C", str(project), *words], check=True, capture_output=True)


def measure(project: Path, root: Path, checks: int) -> tuple[float, float]:
    """The agent's peak of memory in MiB, and the CPU seconds of one check."""
    options = ("--node", "worker-0", "--root", str(root), "--interval", "1s", "--listen", "off")
    file = project / "cpuplan.prom"
    command = [*PROGRAM, "-C", str(project), "agent", *options, "--textfile", str(file)]
    agent = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        before = _after(file, 1, agent.pid)
        after = _after(file, 1 + checks, agent.pid)
        status = Path(f"/proc/{agent.pid}/status").read_text()
    finally:
        agent.send_signal(signal.SIGTERM)
        agent.wait()
    [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(peak) / 1024, (after - before) / checks


def _after(file: Path, checks: int, pid: int) -> float:
    """The CPU seconds of the agent when it has made so many checks."""
    wanted = f'cpuplan_checks_total{{result="done"}} {checks}\n'
    while not file.exists() or wanted not in file.read_text():
        time.sleep(0.05)
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def main() -> None:
    """Print what was measured, and fail where it is more than it may be."""
    checks = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        root, project = Path(folder, "root"), Path(folder, "project")
        cpus = make_root(root, 2)
        make_tasks(root, cpus)
        make_interrupts(root, cpus)
        make_project(project, root)
        memory, seconds = measure(project, root, checks)
    share = seconds / 60 * 100
    print(f"{cpus} CPUs, {_PROCESSES * _THREADS} threads, {_INTERRUPTS} interrupts")
    print(f"memory {memory:.1f} MiB (at most {MEMORY:g})")
    print(
        f"CPU {seconds:.3f} s a check, {share:.2f} % of a CPU at one a minute (at most {SHARE:g})"
    )
    sys.exit(int(memory > MEMORY or share > SHARE))


if __name__ == "__main__":
    main()
