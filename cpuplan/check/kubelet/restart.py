"""What the next start of the kubelet would say: it is simulated on the node's machine and files."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from cpuplan.check.kubelet.inforce import in_force, is_v1, release
from cpuplan.check.kubelet.machine import machine
from cpuplan.check.subject import Subject
from cpuplan.components import kubelet
from cpuplan.platforms.versions import Version
from cpuplan.upstream.kubelet.config.codec import encode, merge
from cpuplan.upstream.kubelet.cpumanager.policy_static import Fork
from cpuplan.upstream.kubelet.kubelet import Configuration, Kubelet, Node, StartError
from cpuplan.upstream.kubelet.machine import Machine
from cpuplan.upstream.kubelet.policy_options import MANAGERS, with_gates
from cpuplan.upstream.kubernetes.errors import HangError, KubeletError, PanicError
from cpuplan.upstream.kubernetes.kube_features import Gates

#: With it OpenShift's kubelet partitions workloads.
_PINNING = "etc/kubernetes/openshift-workload-pinning"


class Refusal(NamedTuple):
    """The stage of a start that fails, and the kubelet's words."""

    stage: str
    text: str


class Starter(NamedTuple):
    """All that a kubelet of the node starts with, except its state files."""

    configs: Mapping[str, Mapping[str, Any] | Configuration]
    machine: Machine
    version: Version
    fork: Fork
    has_memory: bool

    def start(self, config: str, node: Node = Node()) -> Kubelet | Refusal:  # noqa: B008 - a constant
        """The kubelet with a configuration and state files, or why it does not start."""
        given = self.configs[config]
        try:
            return Kubelet(given, self.machine, node, fork=self.fork, version=self.version)
        except StartError as error:
            return Refusal(error.stage, str(error))
        except (KubeletError, HangError, PanicError) as error:
            return Refusal("", str(error))


#: Names of configurations.
IN_FORCE, PLANNED = "in force", "planned"


def starter(subject: Subject) -> Starter:
    """A kubelet of the node, with the configuration in force and with the planned one."""
    found, has_memory = machine(subject, cgroup_v1=is_v1(subject))
    is_fork = subject.expected.platform.forks_kubelet
    fork = Fork(is_fork, is_fork and subject.root.is_file(_PINNING))
    version = release(subject)
    config = in_force(subject).config
    # Without the memory of the machine nothing can be said of the memory manager.
    unknown = {} if has_memory else {"memoryManagerPolicy": "None"}
    configs: dict[str, Mapping[str, Any] | Configuration] = {
        PLANNED: {**_planned(subject, config or {}, version), **unknown}
    }
    if config is not None:
        gates = Gates(config.get("featureGates") or {}, version)
        configs[IN_FORCE] = Configuration({**config, **unknown}, gates)
    return Starter(configs, found, version, fork, has_memory)


def _planned(subject: Subject, config: Mapping[str, Any], version: Version) -> dict[str, Any]:
    """The configuration in force with all that the plan says, and no policy options of others."""
    planned = kubelet.configuration(subject.expected.settings.of(kubelet.NAME))
    known = {name: value for name, value in encode(dict(config)).items() if name not in MANAGERS}
    return with_gates(merge(known, planned), version)
