"""A node of each platform, by the files that the platform itself has; recorded from its sources.

The files of a plan come on top: `files` has what is there before.
"""

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

from cpuplan.components import kubelet
from cpuplan.facts.platforms import PLATFORMS
from cpuplan.plan import ConfiguredPlan

HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
FOLDER = "/etc/kubernetes/kubelet.conf.d"
Files = Mapping[str, str]


class Form(NamedTuple):
    """The files, the one that gives flags and how one is added, and the main configuration.

    `start` is the file without whose content nobody knows how the kubelet is started.
    """

    files: Callable[[ConfiguredPlan], Files]
    flags: str
    flag: Callable[[str, str], str]
    start: str
    main: str = ""
    target: Mapping[str, str] = {}


def _base(plan: ConfiguredPlan) -> str:
    """What lies under the drop-in, as JSON."""
    platform = plan.node_class.platform
    version = platform.releases[plan.node_class.target.version]
    return json.dumps({**kubelet.HEAD, **platform.base(version)}, indent=2)


def _added(variable: str) -> Callable[[str, str], str]:
    """A flag at the end of a variable of an environment file."""

    def add(text: str, flag: str) -> str:
        lines = text.splitlines()
        at = next(number for number, line in enumerate(lines) if line.startswith(f"{variable}="))
        end = '"' if lines[at].endswith('"') else ""
        lines[at] = f"{lines[at].removesuffix(end)} {flag}{end}"
        return "\n".join([*lines, ""])

    return add


def _of_kubeadm(plan: ConfiguredPlan) -> Files:
    unit = "usr/lib/systemd/system/kubelet.service"
    return {
        unit: "[Service]\nExecStart=/usr/bin/kubelet\n",
        f"{unit}.d/10-kubeadm.conf": (
            '[Service]\nEnvironment="KUBELET_KUBECONFIG_ARGS='
            '--kubeconfig=/etc/kubernetes/kubelet.conf"\n'
            'Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"\n'
            "EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env\n"
            "EnvironmentFile=-/etc/default/kubelet\nExecStart=\n"
            "ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS "
            "$KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS\n"
        ),
        "var/lib/kubelet/kubeadm-flags.env": 'KUBELET_KUBEADM_ARGS="--node-ip=192.0.2.1"\n',
        "etc/default/kubelet": "KUBELET_EXTRA_ARGS=--v=2\n",
        "var/lib/kubelet/config.yaml": _base(plan),
    }


def _of_eks(plan: ConfiguredPlan) -> Files:
    return {
        "etc/systemd/system/kubelet.service": (
            "[Unit]\nAfter=containerd.service\n[Service]\nSlice=runtime.slice\n"
            "EnvironmentFile=/etc/eks/kubelet/environment\n"
            "ExecStartPre=/sbin/iptables -P FORWARD ACCEPT -w 5\n"
            "ExecStart=/usr/bin/kubelet $NODEADM_KUBELET_ARGS\nRestart=on-failure\n"
        ),
        "etc/eks/kubelet/environment": (
            "NODEADM_KUBELET_ARGS=--config=/etc/kubernetes/kubelet/config.json "
            "--cloud-provider=external --runtime-cgroups=/runtime.slice/containerd.service"
        ),
        "etc/kubernetes/kubelet/config.json": _base(plan),
    }


def _of_k0s(plan: ConfiguredPlan) -> Files:
    return {
        "etc/systemd/system/k0sworker.service": (
            "[Unit]\nDescription=k0s - Zero Friction Kubernetes\n[Service]\n"
            "ExecStart=/usr/local/bin/k0s worker "
            f'"--kubelet-extra-args=--config-dir={FOLDER}" --token-file=/etc/k0s/token\n'
        ),
        "run/k0s/kubelet/config.yaml": _base(plan),
    }


def _of_microk8s(_plan: ConfiguredPlan) -> Files:
    return {
        "etc/systemd/system/snap.microk8s.daemon-kubelite.service": (
            "[Service]\nExecStart=/usr/bin/snap run microk8s.daemon-kubelite\n"
        ),
        "var/snap/microk8s/current/args/kubelet": (
            "--root-dir=${SNAP_COMMON}/var/lib/kubelet\n--fail-swap-on=false\n"
            '--eviction-hard="memory.available<100Mi,nodefs.available<1Gi"\n'
            f"--config-dir={FOLDER}\n"
        ),
    }


def _of_kubespray(plan: ConfiguredPlan) -> Files:
    return {
        "etc/systemd/system/kubelet.service": (
            "[Service]\nEnvironmentFile=-/etc/kubernetes/kubelet.env\n"
            "ExecStart=/usr/local/bin/kubelet \\\n"
            "\t\t$KUBE_LOGTOSTDERR \\\n\t\t$KUBE_LOG_LEVEL \\\n\t\t$KUBELET_API_SERVER \\\n"
            "\t\t$KUBELET_ADDRESS \\\n\t\t$KUBELET_PORT \\\n\t\t$KUBELET_ARGS \\\n"
            "\t\t$DOCKER_SOCKET\nRestart=always\n"
        ),
        "etc/kubernetes/kubelet.env": (
            'KUBE_LOG_LEVEL="--v=2"\nKUBELET_ADDRESS="--node-ip=192.0.2.1"\n\n'
            'KUBELET_ARGS="--config=/etc/kubernetes/kubelet-config.yaml \\\n'
            '--kubeconfig=/etc/kubernetes/kubelet.conf "\n'
        ),
        "etc/kubernetes/kubelet-config.yaml": _base(plan),
    }


def _of_kops(plan: ConfiguredPlan) -> Files:
    return {
        "lib/systemd/system/kubelet.service": (
            "[Service]\nEnvironmentFile=/etc/sysconfig/kubelet\n"
            'ExecStart=/usr/local/bin/kubelet "$DAEMON_ARGS"\nRestart=always\n'
        ),
        "etc/sysconfig/kubelet": (
            'DAEMON_ARGS="--cloud-provider=external --config=/var/lib/kubelet/kubelet.conf"\n'
            'HOME="/root"\n'
        ),
        "var/lib/kubelet/kubelet.conf": _base(plan),
    }


def _of_rancher(plan: ConfiguredPlan) -> Files:
    platform = plan.node_class.platform
    folder = platform.kubelet_folder.strip("/")
    return {
        f"{folder}/00-{platform.name}-defaults.conf": f"{HEAD}cgroupDriver: systemd\n",
        f"etc/systemd/system/{platform.kubelet_unit}": (
            "[Service]\nEnvironmentFile=-/etc/default/%N\n"
            f"ExecStart=/usr/local/bin/{platform.name} \\\n    agent \\\n"
            "\t'--server' \\\n\t'https://192.0.2.1:6443' \\\n"
            "\t'--kubelet-arg' \\\n\t'max-pods=40' \\\n"
        ),
    }


def _of_talos(plan: ConfiguredPlan) -> Files:
    """Its kubelet runs in a container of the host, with one file."""
    words = ("/usr/local/bin/kubelet", "--config=/etc/kubernetes/kubelet.yaml")
    return {
        "etc/kubernetes/kubelet.yaml": kubelet.render(plan.settings.of(kubelet.NAME)),
        "proc/901/comm": "kubelet\n",
        "proc/901/cgroup": "0::/podruntime/kubelet\n",
        "proc/901/cmdline": "\0".join((*words, "--cert-dir=/var/lib/kubelet/pki", "")),
    }


def _of_bottlerocket(plan: ConfiguredPlan) -> Files:
    """Its image has the unit, its settings become the file and a drop-in of the unit."""
    unit = "etc/systemd/system/kubelet.service"
    return {
        "etc/kubernetes/kubelet/config": kubelet.render(plan.settings.of(kubelet.NAME)),
        unit: "[Service]\nType=notify\nExecStart=/usr/bin/false\n",
        f"{unit}.d/exec-start.conf": (
            "[Service]\nExecStart=\nExecStart=/usr/bin/kubelet \\\n"
            "    --cloud-provider external \\\n    --config /etc/kubernetes/kubelet/config \\\n"
            "    --root-dir /var/lib/kubelet\n"
        ),
    }


def _rancher_form(name: str) -> Form:
    unit = f"etc/systemd/system/{PLATFORMS[name].kubelet_unit}"
    return Form(
        _of_rancher, unit, lambda text, flag: f"{text}\t'--kubelet-arg' \\\n\t'{flag}' \\\n", unit
    )


def _k0s_flag(text: str, flag: str) -> str:
    return text.replace('" --token-file', f' {flag}" --token-file')


_KUBELET = "etc/systemd/system/kubelet.service"
_KUBEADM = "usr/lib/systemd/system/kubelet.service.d/10-kubeadm.conf"
_K0S = "etc/systemd/system/k0sworker.service"
_ARGS = "var/snap/microk8s/current/args/kubelet"
#: By platform.
FORMS: Mapping[str, Form] = {
    "kubeadm": Form(
        _of_kubeadm,
        "etc/default/kubelet",
        _added("KUBELET_EXTRA_ARGS"),
        _KUBEADM,
        "var/lib/kubelet/config.yaml",
        {"runtime": "containerd"},
    ),
    "eks": Form(
        _of_eks,
        "etc/eks/kubelet/environment",
        _added("NODEADM_KUBELET_ARGS"),
        _KUBELET,
        "etc/kubernetes/kubelet/config.json",
    ),
    "k0s": Form(_of_k0s, _K0S, _k0s_flag, _K0S, "run/k0s/kubelet/config.yaml"),
    "microk8s": Form(_of_microk8s, _ARGS, lambda text, flag: f"{text}{flag}\n", _ARGS),
    "kubespray": Form(
        _of_kubespray,
        "etc/kubernetes/kubelet.env",
        lambda text, flag: text.replace('kubelet.conf "', f'kubelet.conf {flag} "'),
        _KUBELET,
        "etc/kubernetes/kubelet-config.yaml",
        {"runtime": "containerd"},
    ),
    "kops": Form(
        _of_kops,
        "etc/sysconfig/kubelet",
        _added("DAEMON_ARGS"),
        "lib/systemd/system/kubelet.service",
        "var/lib/kubelet/kubelet.conf",
    ),
    "k3s": _rancher_form("k3s"),
    "rke2": _rancher_form("rke2"),
    "talos": Form(
        _of_talos,
        "proc/901/cmdline",
        lambda text, flag: f"{text}{flag}\0",
        "proc/901/cmdline",
        "etc/kubernetes/kubelet.yaml",
    ),
    "bottlerocket": Form(
        _of_bottlerocket,
        f"{_KUBELET}.d/exec-start.conf",
        lambda text, flag: f"{text.rstrip()} \\\n    {flag}\n",
        f"{_KUBELET}.d/exec-start.conf",
        "etc/kubernetes/kubelet/config",
    ),
}
