"""A node's root file system, made from its plan: what a node looks like that holds everything."""

from collections.abc import Mapping
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
from cpuplan.facts.platforms import Platform
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.containerd.cri_config import cri_table, highest
from cpuplan.upstream.nto.controller import RECOMMEND_FILE
from tests.platform_nodes import FORMS, HEAD

CPU = "sys/devices/system/cpu"
#: Units of the vendor: that of OpenShift, and what packages and kubeadm have.
KUBELET_UNIT = "usr/lib/systemd/system/kubelet.service"
OF_OPENSHIFT = {
    KUBELET_UNIT: (
        "[Service]\nExecStart=/usr/local/bin/kubenswrapper \\\n    /usr/bin/kubelet \\\n"
        "      --config=/etc/kubernetes/kubelet.conf \\\n"
        "      --config-dir=/etc/kubernetes/kubelet.conf.d \\\n      --node-ip=${KUBELET_NODE_IP}\n"
    )
}
OF_KUBEADM = {
    KUBELET_UNIT: "[Service]\nExecStart=/usr/bin/kubelet\n",
    f"{KUBELET_UNIT}.d/10-kubeadm.conf": (
        '[Service]\nEnvironment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"\n'
        "EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n"
        "EnvironmentFile=-/etc/default/kubelet\nExecStart=\n"
        "ExecStart=/usr/bin/kubelet $KUBELET_CONFIG_ARGS $KUBELET_EXTRA_ARGS\n"
    ),
}


def _rancher_unit(platform: Platform) -> dict[str, str]:
    """The unit of the installer of K3s or RKE2."""
    host = platform.kubelet_host
    if host is None:
        return {}
    path = f"etc/systemd/system/{platform.kubelet_unit}"
    return {path: f"[Service]\nExecStart=/usr/local/bin/{host.program} \\\n    agent \\\n"}


def _of_platform(plan: ConfiguredPlan) -> Mapping[str, str]:
    """What is there before the files of a plan."""
    platform = plan.node_class.platform
    if platform.takes_files and platform.name in FORMS and platform.kubelet_host is None:
        return FORMS[platform.name].files(plan)
    own = OF_KUBEADM if platform.has_runtime_choice else _rancher_unit(platform)
    return {**own, "var/lib/kubelet/config.yaml": HEAD}


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


def make_root(plan: ConfiguredPlan, root: Path, *, with_kubelet: bool = False) -> Path:
    """Write /proc/cmdline, sysfs, kubelet and CRI-O files of a node of `plan` below `root`.

    `with_kubelet` is for the kubelet's unit: where processes are there, its own has to be too.
    """
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
        files |= OF_OPENSHIFT
        files["etc/kubernetes/kubelet.conf"] = kubelet.render(settings.of(kubelet.NAME))
        files |= {path.lstrip("/"): text for path, (_mode, text) in objects.files(plan).items()}
        files |= {
            f"{UNIT_FOLDER}/{name}".lstrip("/"): text
            for name, text in operator_units.units(settings.of(operator_units.NAME)).items()
        }
        if settings.of(tuned.NAME):
            files[RECOMMEND_FILE] = f"[{tuned.of_operator(plan.node_class.profile)}]\n"
    else:
        files |= _of_platform(plan)
        files |= {path: data.decode() for path, data in node_files(plan).items()}
        if plan.node_class.target.runtime == containerd.NAME:
            files["etc/containerd/config.toml"] = containerd_main(plan)
        if settings.of(tuned.NAME):
            files["etc/tuned/active_profile"] = "cpuplan\n"
    for path, text in files.items():
        if KUBELET_UNIT in path and not with_kubelet:
            continue
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return root
