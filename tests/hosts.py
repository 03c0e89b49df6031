"""A node's root file system, made from its plan: what a node looks like that holds everything."""

from pathlib import Path

from cpuplan.backends.kubernetes import node_files
from cpuplan.backends.openshift import objects
from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.check.roots.openings import openings_at
from cpuplan.check.roots.root import Root
from cpuplan.components import containerd, kernel, kubelet
from cpuplan.components.host import tuned
from cpuplan.components.openshift import operator_units
from cpuplan.components.units import UNIT_FOLDER
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.containerd.cri_config import cri_table, highest

CPU = "sys/devices/system/cpu"


def roots_at(path: Path) -> list[Root]:
    """All roots at a path at once. Raises CpuplanError as `Opening.open`."""
    return [opening.open() for opening in openings_at(path)]


def containerd_main(plan: ConfiguredPlan) -> str:
    """A config.toml as kubeadm's documentation has it, with the import."""
    release = containerd.release(plan.node_class.target)
    handler = f"plugins.'{cri_table(release)}'.containerd.runtimes.runc"
    return (
        f'version = {min(3, highest(release))}\nimports = ["{containerd.IMPORT}"]\n'
        f"[{handler}]\nruntime_type = 'io.containerd.runc.v2'\n"
        f"[{handler}.options]\nSystemdCgroup = true\n"
    )


def _apart(plan: ConfiguredPlan, isolated: CpuSet, isolcpus: CpuSet) -> CpuSet:
    """The CPUs of `isolcpus=domain`."""
    if plan.spec.isolation.by == "partitions":
        return EMPTY
    return isolated if plan.spec.isolation.domain else isolcpus


def make_root(plan: ConfiguredPlan, root: Path) -> Path:
    """Write /proc/cmdline, sysfs, kubelet and CRI-O files of a node of `plan` below `root`."""
    settings = plan.settings
    offlined = plan.pool("offlined").cpus
    online = plan.topology.online - offlined
    isolcpus = plan.pool("isolcpus").cpus
    isolated = plan.pool("isolated").cpus | isolcpus
    line = kernel.render(settings.of(kernel.NAME))
    files = {
        "proc/cmdline": f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 ro {line}\n",
        f"{CPU}/online": f"{online}\n",
        f"{CPU}/present": f"{plan.topology.online | plan.topology.offline}\n",
        f"{CPU}/isolated": f"{_apart(plan, isolated, isolcpus)}\n",
        f"{CPU}/nohz_full": f"{isolated if plan.spec.isolation.nohz_full else EMPTY}\n",
    }
    for cpu in online:
        siblings = plan.topology.siblings(cpu) - offlined
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = f"{siblings}\n"
    if plan.node_class.target.platform == "openshift":
        files["etc/kubernetes/kubelet.conf"] = kubelet.render(settings.of(kubelet.NAME))
        files |= {path.lstrip("/"): text for path, (_mode, text) in objects.files(plan).items()}
        files |= {
            f"{UNIT_FOLDER}/{name}".lstrip("/"): text
            for name, text in operator_units.units(settings.of(operator_units.NAME)).items()
        }
    else:
        files["var/lib/kubelet/config.yaml"] = (
            "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
        )
        files |= {path: data.decode() for path, data in node_files(plan).items()}
        if plan.node_class.target.runtime == containerd.NAME:
            files["etc/containerd/config.toml"] = containerd_main(plan)
        if settings.of(tuned.NAME):
            files["etc/tuned/active_profile"] = "cpuplan\n"
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root
