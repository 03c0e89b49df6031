"""What a case of `tests/rejected/` needs beside its files: output, roots, archives, other runs.

Most of it is a row of steps, in order, on the project's folder. What must last while the command
runs is a context.
"""

import fcntl
import gzip
import io
import json
import multiprocessing
import os
import signal
import tarfile
import tempfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stderr
from pathlib import Path
from typing import Any
from unittest.mock import patch
from urllib.parse import quote

from cpuplan import pipeline
from cpuplan.cli.main import run
from cpuplan.solve import budget
from cpuplan.upstream.kubelet import manager
from cpuplan.upstream.kubelet.cpumanager import state
from cpuplan.workers import Workers
from tests import arrange_git, arrange_pods, arrange_values
from tests.hosts import CPU, make_root
from tests.unit.change.impact import by_cost

Step = Callable[[Path], object]
Context = Callable[[Path], AbstractContextManager[object]]


def _compiled(project: Path) -> None:
    with redirect_stderr(io.StringIO()):
        assert run(["-C", str(project), "compile"]) == 0


def _node(project: Path) -> None:
    """The root of worker-0 in the folder `node`, as it is when everything holds."""
    plan, _ = pipeline.solve(pipeline.load(project))
    make_root(plan.by_node["lab", "worker-0"], project / "node")


def _forged(project: Path) -> None:
    """An expected state with a value that no compilation gives, and the digest of what it says."""
    from tests.fuzz.wholes import with_digest

    (path,) = (project / "out/clusters/lab/expected/state").glob("*.json")
    data = json.loads(path.read_text())
    settings = data["settings"]
    first = [setting["component"] for setting in settings].index("kubelet")
    made = {"component": "kubelet", "key": "reservedMemory", "value": ["1Gi"], "because": []}
    settings.insert(first, made)
    path.write_text(with_digest(data))


def _write(path: str, content: str | bytes) -> Step:
    def write(project: Path) -> None:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def _replace(path: str, old: str, new: str) -> Step:
    def replace(project: Path) -> None:
        text = (project / path).read_text()
        assert old in text, text
        (project / path).write_text(text.replace(old, new, 1))

    return replace


def _remove(path: str) -> Step:
    return lambda project: (project / path).unlink()


def _link(path: str, target: str) -> Step:
    return lambda project: (project / path).symlink_to(target)


def _folder(path: str) -> Step:
    return lambda project: (project / path).mkdir(parents=True)


def _pipe(path: str) -> Step:
    return lambda project: os.mkfifo(project / path)


def _archive(path: str, files: Mapping[str, str]) -> Step:
    """A tar archive; names as they are given, also those that tar(1) only keeps with -P."""

    def archive(project: Path) -> None:
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        with tarfile.open(project / path, "w:gz" if path.endswith("gz") else "w") as tar:
            for name, text in files.items():
                member = tarfile.TarInfo(name)
                member.size = len(text)
                tar.addfile(member, io.BytesIO(text.encode()))

    return archive


def _resize(path: str, size: int) -> Step:
    """Cut a file short, or make it longer with zeros that take no room on the disk."""
    return lambda project: os.truncate(project / path, size)


def _many_links_to_one_folder(project: Path) -> None:
    """The root of worker-0 in an archive, with a hundred NUMA nodes that are one large folder."""
    large = "sys/kernel/large"
    with tarfile.open(project / "node.tar", "w") as tar:
        tar.add(project / "node", ".")
        for number in range(20_000):
            tar.addfile(tarfile.TarInfo(f"{large}/{number}"))
        for number in range(100, 201):
            link = tarfile.TarInfo(f"sys/devices/system/node/node{number}/hugepages")
            link.type, link.linkname = tarfile.SYMTYPE, f"/{large}"
            tar.addfile(link)


@contextmanager
def _another_run(project: Path) -> Iterator[None]:
    folder = os.open(project, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    yield
    os.close(folder)


def _mount_point(project: Path) -> AbstractContextManager[object]:
    """Only root can mount, so this says of `out` that it is one."""
    return patch("os.path.ismount", lambda path: Path(path) == project / "out")


def _edited_meanwhile(project: Path) -> AbstractContextManager[object]:
    """Somebody saves a lock while the files are made."""
    from cpuplan import backends

    def output(*given: Any) -> backends.Output:
        (project / LOCK).write_text("# mine\n")
        return made(*given)

    made = backends.output
    return patch("cpuplan.backends.output", output)


def _few_names(project: Path) -> AbstractContextManager[object]:
    """A million names would take a while to make."""
    return patch("cpuplan.base.files.listing.MAX_NAMES", 1)


def _wrong_type(_project: Path) -> AbstractContextManager[object]:
    """A backend that writes a number where the kubelet reads text."""
    from cpuplan.backends.base import to_file

    def number_for_text(configuration: dict[str, Any]) -> bytes:
        return to_file(configuration | {"apiVersion": 1})

    return patch("cpuplan.backends.kubernetes.to_file", number_for_text)


def _without_a_package(_project: Path) -> AbstractContextManager[object]:
    """As where cpuplan was installed without the packages that it needs."""
    missing = ModuleNotFoundError("No module named 'jinja2'", name="jinja2")
    return patch("cpuplan.cli.main.import_module", side_effect=missing)


def _outside_of_a_pod(_project: Path) -> AbstractContextManager[object]:
    """Without an API server, whatever the tests run in."""
    own = {name: value for name, value in os.environ.items() if "KUBERNETES" not in name}
    return patch.dict(os.environ, own, clear=True)


@contextmanager
def _bug(project: Path) -> Iterator[None]:
    """A bug, whose traceback is saved in the project's folder."""
    # The name of the file differs each time; `rejected_cases` replaces it.
    with (
        patch("cpuplan.pipeline.load", side_effect=KeyError("isolated")),
        patch.object(tempfile, "tempdir", project),
    ):
        yield


@contextmanager
def _no_memory(project: Path) -> Iterator[None]:
    """The first file is too much for the process."""
    with patch("cpuplan.language.read.yaml.compose", side_effect=MemoryError):
        yield


#: One core of two threads: enough for an import.
SYSROOT = {
    f"{CPU}/present": "0-1\n",
    f"{CPU}/online": "0-1\n",
    f"{CPU}/cpu0/topology/thread_siblings_list": "0-1\n",
    "proc/cpuinfo": (
        "vendor_id\t: GenuineIntel\nflags\t\t: lm\nmodel name\t: Intel(R) Xeon(R) Gold 6438N\n"
    ),
}


def _snapshot(path: str, cores: int) -> Step:
    """A node's sysinfo.tgz: `cores` cores of two threads."""
    files = {name: text for name, text in SYSROOT.items() if name.startswith("proc/")}
    files |= {f"{CPU}/{name}": f"0-{2 * cores - 1}\n" for name in ("present", "online")}
    for cpu in range(2 * cores):
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = (
            f"{cpu % cores},{cpu % cores + cores}\n"
        )
    return _archive(path, files)


def _interrupt(number: int, device: str, cpus: str) -> tuple[Step, ...]:
    """An interrupt as /proc shows it; it has a folder of the device that asked for it."""
    folder = f"node/proc/irq/{number}"
    steps = (_write(f"{folder}/effective_affinity_list", f"{cpus}\n"),)
    return (*steps, _folder(f"{folder}/{device}")) if device else steps


def _counts(reserved: str, second: str, isolated: str) -> str:
    """/proc/interrupts of four CPUs, of which the second and fourth are isolated."""
    return (
        "           CPU0       CPU1       CPU4       CPU5\n"
        f" 24:        {reserved}         {second}          0          {isolated}"
        "   PCI-MSI 1-edge      virtio1-input.0\n"
    )


def _link_over(path: str, target: str) -> Step:
    """A link in the place of a file."""

    def link(project: Path) -> None:
        (project / path).unlink()
        (project / path).symlink_to(target)

    return link


def _rendered(path: str) -> Step:
    """A rendered MachineConfig that has a file as it is on the node."""

    def write(project: Path) -> None:
        text = (project / path).read_text()
        line = (project / "node/proc/cmdline").read_text().strip()
        file = {"path": path.removeprefix("node"), "contents": {"source": f"data:,{quote(text)}"}}
        config = {
            "metadata": {"name": "rendered-worker-5"},
            "spec": {"kernelArguments": line.split(), "config": {"storage": {"files": [file]}}},
        }
        place = project / "node/etc/machine-config-daemon/currentconfig"
        place.parent.mkdir()
        place.write_text(json.dumps(config))

    return write


def _program(path: str) -> Step:
    """A program that can be run."""

    def write(project: Path) -> None:
        _write(path, "")(project)
        (project / path).chmod(0o755)

    return write


def _cpu_state(default: str, *containers: str) -> str:
    """A state file of the CPU manager, of pods with a container each, with its checksum."""
    pods = {f"pod-{number}": {"app": cpus} for number, cpus in enumerate(containers, 1)}
    content = {"policyName": "static", "defaultCpuSet": default, "entries": pods}
    return manager.write_checkpoint(content, manager.checksum(state.hash_input(content)))


UNITS = "node/etc/systemd/system"
MANIFEST = "out/.cpuplan/manifest"
CLASS = "out/nodes/lab/main-small"
RECORD = "out/.cpuplan/classes/lab/main-small.json"
KUBELET = "node/var/lib/kubelet/config.yaml"
SLICE = "node/etc/systemd/system/kubepods-besteffort.slice.d"
PARTITION = "node/sys/fs/cgroup/isolcpus.slice/isolcpus-threads.slice"
PODS = "node/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice"
KUBELET_DROP_INS = "node/etc/kubernetes/kubelet.conf.d"
KUBELET_HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
KUBELET_UNIT = "node/usr/lib/systemd/system/kubelet.service"
KUBELET_COMMAND = "ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS\n"
KUBEADM_FLAGS = "/var/lib/kubelet/kubeadm-flags.env"
RUNNING_KUBELET = (
    "/usr/bin/kubelet\0--config=/var/lib/kubelet/config.yaml\0"
    "--config-dir=/etc/kubernetes/kubelet.conf.d\0"
)
CPU_STATE = "var/lib/kubelet/cpu_manager_state"
CRIO = "node/etc/crio/crio.conf.d"
_PAGES = "sys/devices/system/node/node0/hugepages/hugepages-2048kB"
CONTAINERD = "node/etc/containerd/config.toml"
MIXED = "node/etc/kubernetes/openshift-workload-mixed-cpus"
LOCK = "intents/plan.lock.yaml"
DELIVERY = """\
apiVersion: cpuplan.io/v1alpha1
kind: Delivery
metadata:
  name: git
spec:
  repository: https://git.example.com/cpu.git
"""

STEPS: dict[str, tuple[Step, ...]] = {
    "CP628-without-claims": (
        _compiled,
        _replace("intents/main.yaml", 'version: "1.36"', 'version: "1.36"\n    mechanism: dra'),
    ),
    "CP681-no-pools": (
        _compiled,
        _write("out/.cpuplan/classes/lab/main-small.json", '{"version": 2}'),
    ),
    "CP682-list": (
        _compiled,
        _write("out/clusters/lab/manifests/10-more.yaml", "- kind: RuntimeClass\n"),
        _replace("out/.cpuplan/manifest", "\n", "\nclusters/lab/manifests/10-more.yaml\n"),
    ),
    "CP683-reboot": (
        _compiled,
        _replace("intents/main.yaml", "  pools:", "  kernel: {extraArguments: [quiet]}\n  pools:"),
    ),
    "CP108-no-text": (_write("intents/more.yaml", b"kind: \xff\xfe\n"),),
    "CP108-link-to-nothing": (_link("inventories/site-b", "../../site-b"),),
    "CP110-folder-elsewhere": (_link("intents/shared", "/etc"),),
    "CP110-link-to-a-device": (_link("inventories/z.yaml", "/dev/zero"),),
    "CP111-pipe": (_pipe("inventories/z.yaml"),),
    "CP113-tab": (_replace("intents/main.yaml", "isolated: rest", "isolated:\trest"),),
    "CP121-cut-short": (_archive("worker-0.tgz", SYSROOT), _resize("worker-0.tgz", 200)),
    "CP122-absolute-name": (_archive("worker-0.tar", SYSROOT | {"/etc/hostname": "worker-0\n"}),),
    "CP123-whole-disk": (_archive("backup.tar", {"etc/fstab": ""}), _resize("backup.tar", 1 << 30)),
    "CP126-two-dumps": (_archive("worker-0.tar", SYSROOT), _archive("old/worker-0.tar", SYSROOT)),
    "CP240-edited-lock": (_compiled, _replace(LOCK, '"0,4,', '"0-1,4,')),
    "CP240-moved-core": (
        _compiled,
        _replace(LOCK, '"0,4,8,12"', '"0-1,8-9"'),
        _replace(LOCK, "1-3,5-7,9-11,13-15", "2-7,10-15"),
    ),
    "CP241-cut-short": (_compiled, _replace(LOCK, "\n...\n", "\n")),
    "CP243-emptied": (_compiled, _write(LOCK, "")),
    "CP244-no-inventory": (_compiled, _remove("inventories/site.yaml")),
    "CP245-misspelt-pool": (_compiled, _replace("intents/main.yaml", "worker-cnf", "worker-cfn")),
    "CP246-misspelt-selector": (
        _compiled,
        _replace("intents/edge.yaml", "matchLabels: {role: edge}", "matchLabels: {role: egde}"),
    ),
    "CP282-more-cores": (
        _snapshot("mg/nodes/w0/sysinfo.tgz", 4),
        _snapshot("mg/nodes/w1/sysinfo.tgz", 8),
    ),
    "CP283-odd-number": (_snapshot("mg/nodes/w0/sysinfo.tgz", 4),),
    "CP284-labels-of-worker": (_snapshot("mg/nodes/w0/sysinfo.tgz", 4),),
    "CP286-two-images": (
        _snapshot("mg/one/nodes/w0/sysinfo.tgz", 4),
        _snapshot("mg/two/nodes/w0/sysinfo.tgz", 4),
    ),
    "CP286-two-snapshots": (
        _snapshot("mg/one/nodes/w0/sysinfo.tgz", 4),
        _snapshot("mg/two/nodes/w0/sysinfo.tgz", 8),
    ),
    "CP565-edited": (
        _compiled,
        _replace("intents/main.yaml", "spec:\n", "spec:\n  paused: true\n"),
        _compiled,
        _replace(f"{CLASS}/cmdline", "irqaffinity=0,4", "irqaffinity=0,5"),
    ),
    "CP566-conflict": (
        _compiled,
        _replace("intents/main.yaml", "spec:\n", "spec:\n  paused: true\n"),
        _replace(RECORD, "{\n", "<<<<<<< HEAD\n{\n"),
    ),
    "CP6116-no-repository": (
        _compiled,
        _replace("intents/main.yaml", "spec:\n", "spec:\n  paused: true\n"),
        _compiled,
    ),
    "CP601-link": (_link("out", "../elsewhere"),),
    "CP603-edited": (_compiled, _replace(f"{CLASS}/cmdline", "irqaffinity=0,4", "irqaffinity=0,5")),
    "CP604-no-first-line": (_compiled, _replace(MANIFEST, "# cpuplan manifest", "a manifest")),
    "CP608-not-committed": (_compiled, _remove(f"{CLASS}/cmdline")),
    "CP609-not-compiled": (
        _compiled,
        _replace(
            "intents/main.yaml", "  pools:", "  kubelet: {cpuManagerReconcilePeriod: 10s}\n  pools:"
        ),
    ),
    "CP610-left-over": (
        _write("intents/git.yaml", DELIVERY),
        _compiled,
        _remove("intents/git.yaml"),
    ),
    "CP620-lock-not-committed": (_compiled, _remove(LOCK)),
    "CP621-second-import": (_archive("worker-0.tar", SYSROOT),),
    "CP707-more-reserved": (_compiled, _replace("intents/main.yaml", "cores: 1", "cores: 2")),
    "CP801-no-sysfs": (_node, _remove(f"node/{CPU}/online")),
    "CP801-wrong-folder": (
        _write("node/worker-0/proc/cmdline", ""),
        _write("node/worker-1/proc/cmdline", ""),
    ),
    "CP802-another-server": (
        _node,
        _write(f"node/{CPU}/present", "0-31\n"),
        _write(f"node/{CPU}/online", "0-31\n"),
    ),
    "CP800-other-class": (
        _node,
        _replace("node/etc/cpuplan/plan.json", '"class": "main-small"', '"class": "other"'),
    ),
    "CP879-edited": (_node, _replace("intents/main.yaml", "cores: 1", "cores: 2")),
    "CP803-cpu-offline": (_node, _write(f"node/{CPU}/online", "0-14\n")),
    "CP804-other-siblings": (
        _node,
        _write(f"node/{CPU}/cpu1/topology/thread_siblings_list", "0-1\n"),
    ),
    "CP805-pipe": (_node, _pipe(f"{CRIO}/10-site.conf")),
    "CP806-other-kernel": (_node, _remove(f"node/{CPU}/nohz_full")),
    "CP807-cut-off": (_archive("node.tgz", SYSROOT), _resize("node.tgz", 100)),
    "CP808-bomb": (_write("node.tgz", gzip.compress(b"", mtime=0) * 20_001),),
    "CP8160-links": (_node, _many_links_to_one_folder),
    "CP809-must-gather": (
        _archive("gather/nodes/worker-0/sysinfo.tgz", SYSROOT),
        _archive("gather/nodes/worker-1/sysinfo.tgz", SYSROOT),
    ),
    "CP889-another-host": (_node, _write("node/etc/hostname", "laptop\n")),
    "CP810-no-cmdline": (_node, _remove("node/proc/cmdline")),
    "CP811-not-rebooted": (
        _node,
        _replace("node/proc/cmdline", " rcu_nocbs=1-3,5-7,9-11,13-15", ""),
    ),
    "CP811-before-the-first-reboot": (
        _node,
        _write("node/proc/cmdline", "BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n"),
        _write(f"node/{CPU}/nohz_full", "\n"),
    ),
    "CP812-other-list": (
        _node,
        _replace("node/proc/cmdline", "nohz_full=1-3,5-7", "nohz_full=2-3,5-7"),
    ),
    "CP812-further-list": (_node, _replace("node/proc/cmdline", " ro ", " ro isolcpus=2-7 ")),
    "CP813-second-tool": (_node, _replace("node/proc/cmdline", " ro ", " ro nohz_full=2-7 ")),
    "CP814-dropped": (_node, _write(f"node/{CPU}/nohz_full", "\n")),
    "CP814-said": (
        _node,
        _write(f"node/{CPU}/nohz_full", "(null)\n"),
        _write(
            "node/cpuplan/dmesg",
            "[    0.000000] Linux version 6.1.0\n"
            "[    0.000000] Housekeeping: nohz_full= or isolcpus= incorrect CPU range\n"
            "[    0.000000] rcu: \tOffload RCU callbacks from CPUs: 1-3,5-7,9-11,13-15.\n",
        ),
    ),
    "CP815-no-siblings": (
        _node,
        _replace("node/proc/cmdline", " ro ", " ro mitigations=auto,nosmt "),
    ),
    "CP816-new-kernel": (
        _node,
        _write(
            "node/boot/grub/grub.cfg",
            "menuentry 'Debian' {\n\tlinux /vmlinuz root=/dev/sda1 ro quiet\n}\n",
        ),
    ),
    "CP817-fewer": (_node, _write(f"node/{_PAGES}/nr_hugepages", "24\n")),
    "CP818-one-numa-node": (_node, _write("node/sys/devices/system/node/node0/cpulist", "0-15\n")),
    "CP819-database": (
        _node,
        _write(f"node/{_PAGES}/nr_hugepages", "32\n"),
        _write(f"node/{_PAGES}/free_hugepages", "8\n"),
        _write("node/sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory hugetlb pids\n"),
    ),
    "CP820-no-kubelet": (_node, _remove(KUBELET), _remove(f"{KUBELET_DROP_INS}/90-cpuplan.conf")),
    "CP821-damaged-drop-in": (
        _node,
        _write(f"{KUBELET_DROP_INS}/50-site.conf", "maxPods: 250\n  podPidsLimit: 4096\n"),
    ),
    "CP822-no-drop-in": (_node, _remove(f"{KUBELET_DROP_INS}/90-cpuplan.conf")),
    "CP822-taken-out": (
        _node,
        _replace(f"{KUBELET_DROP_INS}/90-cpuplan.conf", "cpuManagerPolicy: static\n", ""),
    ),
    "CP823-later-drop-in": (
        _node,
        _write(f"{KUBELET_DROP_INS}/99-site.conf", f"{KUBELET_HEAD}cpuManagerPolicy: none\n"),
    ),
    "CP843-not-imported": (
        _node,
        _write(CONTAINERD, 'version = 3\nimports = ["/etc/containerd/site.d/*.toml"]\n'),
    ),
    "CP844-newer-version": (
        _node,
        _replace(CONTAINERD, "version = 3", "version = 4"),
    ),
    "CP845-taken-out": (
        _node,
        _replace(
            "node/etc/containerd/conf.d/99-cpuplan.toml",
            'runtime_type = "io.containerd.runc.v2"',
            "",
        ),
    ),
    "CP846-later-file": (
        _node,
        _write(
            "node/etc/containerd/conf.d/99-site.toml",
            "[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.latency]\n"
            "options.SystemdCgroup = false\n",
        ),
    ),
    "CP824-kubeadm-flags": (
        _node,
        _write(KUBELET_UNIT, f"[Service]\nEnvironmentFile=-{KUBEADM_FLAGS}\n{KUBELET_COMMAND}"),
        _write(f"node{KUBEADM_FLAGS}", 'KUBELET_KUBEADM_ARGS="--cpu-manager-policy=none"\n'),
    ),
    "CP825-cpus-of-a-pod": (_node, _write(f"node/{CPU_STATE}", _cpu_state("4-7,12-15", "0"))),
    "CP826-two-containers": (_node, _write(f"node/{CPU_STATE}", _cpu_state("0-6,8-15", "7", "7"))),
    "CP827-not-restarted": (
        _node,
        _write("node/proc/stat", "btime 1000000000\n"),
        _write("node/proc/uptime", "9000000000.00 0.00\n"),
        _write("node/proc/901/comm", "kubelet\n"),
        _write("node/proc/901/stat", f"901 (kubelet) S {'0 ' * 18}100 0\n"),
        _write("node/proc/901/cmdline", RUNNING_KUBELET),
    ),
    "CP828-restarting": (
        _node,
        _write(
            "node/cpuplan/systemctl-show",
            "Id=kubelet.service\nActiveState=activating\nSubState=auto-restart\nResult=exit-code\n",
        ),
    ),
    "CP829-reserved-pages": (
        _node,
        _write(
            f"{KUBELET_DROP_INS}/99-site.conf",
            f"{KUBELET_HEAD}kubeReserved: {{hugepages-2Mi: 64Mi}}\n",
        ),
    ),
    "CP834-no-conmon": (
        _node,
        *(_program(f"node/usr/bin/{name}") for name in ("env", "crun", "runc")),
    ),
    "CP835-other-folder": (
        _node,
        _write(
            "node/usr/lib/systemd/system/crio.service",
            "[Service]\nEnvironmentFile=-/etc/sysconfig/crio\n"
            "ExecStart=/usr/bin/crio $CRIO_CONFIG_OPTIONS\n",
        ),
        _write("node/etc/sysconfig/crio", "CRIO_CONFIG_OPTIONS=--config-dir=/etc/crio/site.d\n"),
        _write("node/etc/crio/site.d/10-site.conf", '[crio.runtime]\nlog_level = "info"\n'),
    ),
    "CP830-containerd": (_node, _remove(f"{CRIO}/99-zz-cpuplan.conf")),
    "CP831-backup": (_node, _write(f"{CRIO}/10-site.conf.bak", "# once\nlog_level = info\n")),
    "CP832-misspelt": (
        _node,
        _replace(f"{CRIO}/99-zz-cpuplan.conf", "infra_ctr_cpuset", "infra_ctr_cpu_set"),
    ),
    "CP833-later-file": (
        _node,
        _write(f"{CRIO}/99-zzz.conf", '[crio.runtime]\ninfra_ctr_cpuset = "0-1"\n'),
    ),
    "CP840-missing": (_node, _remove(MIXED)),
    "CP841-no-json": (_node, _write(MIXED, "{")),
    "CP856-later-drop-in": (
        _node,
        _write(
            f"{KUBELET_DROP_INS}/99-site.conf",
            f"{KUBELET_HEAD}cpuCFSQuotaPeriod: 10ms\n"
            "featureGates: {CustomCPUCFSQuotaPeriod: true}\n",
        ),
    ),
    "CP687-reserved": (
        _node,
        _write(
            "node/run/cdi/dra.k8s.io-cpu_claim-0d3c.json",
            '{"devices": [{"containerEdits": {"env": ["DRA_CPUSET_0d3c=0-1,8-9"]}}]}',
        ),
    ),
    "CP842-other-limit": (_node, _replace(MIXED, "256", "25")),
    "CP860-no-drop-in": (_node, _remove(f"{SLICE}/99-cpuplan.conf")),
    "CP861-later-file": (_node, _write(f"{SLICE}/99-site.conf", "[Slice]\nAllowedCPUs=2-3\n")),
    "CP863-invalid": (
        _node,
        _write(
            f"{PARTITION}/cpuset.cpus.partition",
            "isolated invalid (Invalid cpu list in cpuset.cpus.exclusive)\n",
        ),
        _write(f"{PARTITION}/cpuset.cpus.exclusive.effective", "1,9\n"),
    ),
    "CP862-not-reloaded": (_node, _write(f"{PODS}/cpuset.cpus", "0-15\n")),
    "CP866-moved-meanwhile": (
        _node,
        *_interrupt(24, "virtio1-input.0", "0"),
        _write("node/proc/interrupts", _counts("100", "20", "0")),
        _write("node/cpuplan/interrupts.later", _counts("100", "27", "3")),
    ),
    "CP867-masked": (
        _node,
        _link_over(f"{UNITS}/cpuplan-interrupts.service", "/dev/null"),
    ),
    "CP867-failed": (
        _node,
        _write(
            "node/cpuplan/systemctl-show",
            "Id=cpuplan-interrupts.service\nActiveState=failed\nResult=exit-code\n"
            "ExecMainStatus=1\n",
        ),
    ),
    "CP868-argument-dropped": (
        _node,
        _write("node/proc/irq/31/smp_affinity_list", "0-3\n"),
        *_interrupt(31, "nvme0q1", "3"),
    ),
    "CP869-runtime": (
        _node,
        _write(
            f"{UNITS}/containerd.service.d/50-site.conf",
            "# for the backup window\n[Service]\nCPUAffinity=0-7\n",
        ),
    ),
    "CP865-later-file": (
        _node,
        _write("node/usr/lib/sysctl.d/99-zzz-vendor.conf", "# tuned\nvm/stat_interval = 1\n"),
    ),
    "CP870-script-missing": (_node, _remove("node/usr/local/bin/place-interrupts.sh")),
    "CP8175-forged": (_node, _forged),
    "CP871-edited": (
        _node,
        _replace("node/etc/cpuplan/irqbalance", "1-3,5-7,9-11,13-15", "1-3"),
    ),
    "CP873-hints-of-a-driver": (
        _node,
        _write("node/run/cpuplan-unmovable-interrupts", "26\n"),
        *_interrupt(24, "virtio1-input.0", "3"),
        *_interrupt(25, "virtio1-output.0", "0"),
        *_interrupt(26, "virtio0-req.0", "5"),
        *_interrupt(27, "", "0-15"),
    ),
    "CP874-other-profile": (
        _node,
        _write("node/etc/tuned/active_profile", "throughput-performance\n"),
    ),
    "CP898-no-plugin": (
        _node,
        _write(
            "node/var/log/tuned/tuned.log",
            "2026-11-22 10:03:41,220 INFO     tuned.profiles.loader: loading profile: cpuplan\n"
            "2026-11-22 10:04:16,412 ERROR    tuned.units.manager: failed to initialize plugin "
            "scheduler\n",
        ),
    ),
    "CP899-paused-pool": (
        _node,
        _replace("node/usr/local/bin/cpuset-configure.sh", "set -", "set +"),
        _rendered("node/usr/local/bin/cpuset-configure.sh"),
    ),
    "CP875-mask": (
        _node,
        _write("node/proc/812/comm", "irqbalance\n"),
        _write(
            "node/proc/812/environ",
            "LANG=C\0IRQBALANCE_BANNED_CPUS=0\0IRQBALANCE_BANNED_CPULIST=1-3,5-7,9-11,13-15\0",
        ),
    ),
    "CP876-own-flags": (
        _node,
        _write("node/proc/901/comm", "kubelet\n"),
        _write("node/proc/901/cmdline", "/usr/bin/kubelet\0--config=/etc/kubelet.yaml\0"),
        _write("node/etc/kubelet.yaml", KUBELET_HEAD),
    ),
    **{name: (_node, *steps) for name, steps in arrange_pods.CASES.items()},
    **{name: (_node, *steps) for name, steps in arrange_values.CASES.items()},
    **arrange_git.BEFORE,
    **{name: (_compiled, *steps) for name, steps in arrange_git.AFTER.items()},
}


def _without_a_client(_project: Path) -> AbstractContextManager[object]:
    missing = ImportError("No module named 'kubernetes'")
    return patch("cpuplan.check.cluster.client.import_module", side_effect=missing)


def _api(status: int, body: Any) -> Context:
    """An API server that answers one thing, and the file `kubeconfig` for it."""

    @contextmanager
    def serving(project: Path) -> Iterator[None]:
        from tests import api_http

        api = api_http.Api([])
        api.hostile["/"] = api_http.answer(body, status)
        with api_http.serving(api) as server:
            api_http.kubeconfig(project / "kubeconfig", server)
            yield

    return serving


def _judged_by_cost(_project: Path) -> AbstractContextManager[object]:
    return patch("cpuplan.change.impact.rules.steps", by_cost.steps)


@contextmanager
def _killed_workers(_project: Path) -> Iterator[None]:
    """Little work is divided too, and what it is given to kills itself."""
    here = os.getpid()

    def end(*_: object, **__: object) -> None:
        assert os.getpid() != here
        os.kill(os.getpid(), signal.SIGKILL)

    copy = multiprocessing.get_context("fork")  # it has the patches, too
    with (
        patch("cpuplan.workers.divide._MANY", 0),
        patch("cpuplan.workers.executors._context", lambda *_: copy),
        patch("cpuplan.pipeline.perclass.batch.make", end),
    ):
        yield


def _soon_unreachable(_project: Path) -> AbstractContextManager[object]:
    return patch("cpuplan.workers.dask._ANSWERS", 1)


@contextmanager
def _older_workers(_project: Path) -> Iterator[None]:
    """A scheduler whose workers have an earlier release."""
    own, other = "0.1.0 (6b0c7d21a5e9, Python 3.11)", "0.0.9 (1f3a94c0d2b7, Python 3.11)"
    with (
        ThreadPoolExecutor(1) as executor,
        patch("cpuplan.workers.dask.scheduler") as scheduler,
        patch("cpuplan.workers.executors.edition", side_effect=[own, other]),
    ):
        scheduler.return_value = nullcontext(Workers(1, executor))
        yield


def _without_dask(_project: Path) -> AbstractContextManager[object]:
    missing = ImportError("No module named 'distributed'")
    return patch("cpuplan.workers.dask.import_module", side_effect=missing)


@contextmanager
def _committed_cache(project: Path) -> Iterator[None]:
    """A cache folder in the project, as a pipeline's variables may name it."""
    with (
        patch.dict(os.environ, {"XDG_CACHE_HOME": str(project / ".cache")}),
        patch("cpuplan.cli.options.is_without_cache", return_value=False),
    ):
        yield


def _nothing_found(_: Path) -> AbstractContextManager[object]:
    """A second of work that is over before it begins."""
    return patch.object(budget.Effort, "check", side_effect=budget.UndecidedError)


def _nothing_explained(_: Path) -> AbstractContextManager[object]:
    """A second of work that is over with the proof."""
    return patch("cpuplan.solve.feasibility.most_calls", side_effect=budget.UndecidedError)


CONTEXTS: dict[str, Context] = {
    "CP6120-in-the-repository": _committed_cache,
    "CP404-too-short": _nothing_found,
    "CP323-too-short": _nothing_explained,
    "CP623-no-scheduler": _soon_unreachable,
    "CP624-older-worker": _older_workers,
    "CP625-without-the-extra": _without_dask,
    "CP622-killed": _killed_workers,
    "CP683-reboot": _judged_by_cost,
    "CP611-edited-meanwhile": _edited_meanwhile,
    "CP112-names": _few_names,
    "CP605-mount-point": _mount_point,
    "CP606-two-runs": _another_run,
    "CP570-number-for-text": _wrong_type,
    "CP893-without-a-package": _without_a_package,
    "CP897-no-client": _without_a_client,
    "CP8130-no-right": _api(403, {"message": 'nodes is forbidden: User "me" cannot list resource'}),
    "CP8131-null-items": _api(200, {"items": [None]}),
    "CP895-outside": _outside_of_a_pod,
    "CP901-bug": _bug,
    "CP1175-no-memory": _no_memory,
}


def around(name: str, project: Path) -> AbstractContextManager[object]:
    """Arrange the case `name`; what it gives is held while the command runs."""
    for step in STEPS.get(name, ()):
        step(project)
    return CONTEXTS[name](project) if name in CONTEXTS else nullcontext()
