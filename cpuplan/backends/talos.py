"""Talos Linux: patches of the machine configuration, and a schematic with the boot arguments.

Talos takes settings and no files. Boot arguments are part of its image, which the Image Factory
builds from a schematic: a machine configuration cannot change them where systemd-boot starts an
image that is one file (docs.siderolabs.com, Boot Loader).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from cpuplan.backends import kubernetes, registry, unsupported
from cpuplan.backends.base import to_file
from cpuplan.components import kernel, kubelet
from cpuplan.components.host import sysctl
from cpuplan.diagnostics import Diagnostic
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.platforms import TALOS
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting, plain

#: The first release whose kubelet has a document of its own, beside which the older field is
#: refused.
_FIRST_WITH_DOCUMENTS = "1.14"
#: Fields of the kubelet that Talos keeps to itself (siderolabs/talos, pkg/machinery/kubelet).
_PROTECTED = frozenset(
    {
        "authentication",
        "authorization",
        "cgroupRoot",
        "kubeletCgroups",
        "port",
        "protectKernelDefaults",
        "resolvConf",
        "rotateCertificates",
        "systemCgroups",
        "staticPodPath",
        "seccompDefault",
    }
)
manifests = unsupported.manifests
node_files = unsupported.node_files
on_node = unsupported.on_node
expected = kubernetes.expected
check_cluster = kubernetes.check_cluster
expected_of_cluster = kubernetes.expected_of_cluster
facts_of_cluster = kubernetes.facts_of_cluster


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """What needs files, units or CRI-O, and fields of the kubelet that Talos refuses."""
    yield from unsupported.check(plan, registry.lacking(plan), locate, _dead(plan))
    for setting in plan.settings.of(kubelet.NAME):
        if setting.key.partition(".")[0] in _PROTECTED:
            yield unsupported.refused(plan, setting, locate)


def delivered(plan: ConfiguredPlan) -> Mapping[str, bytes]:
    """The patches, and the schematic, by path below `out/`."""
    cluster, name = plan.node_class.key
    place = f"nodes/{cluster}/{name}"
    patches = b"---\n".join(map(to_file, _patches(plan)))
    dead = _dead(plan)
    read = [setting for setting in plan.settings.of(kernel.NAME) if setting not in dead]
    arguments = kernel.arguments(read)
    schematic = {"customization": {"extraKernelArgs": arguments}}
    return {f"{place}.talos.yaml": patches, f"{place}.schematic.yaml": to_file(schematic)}


def _dead(plan: ConfiguredPlan) -> list[Setting]:
    """Boot arguments for systemd, which Talos does not have."""
    settings = plan.settings.of(kernel.NAME)
    return [setting for setting in settings if setting.key.startswith("systemd.")]


def _patches(plan: ConfiguredPlan) -> Iterator[dict[str, Any]]:
    """One patch, or from 1.14 on a document for each part."""
    configuration = kubelet.configuration(plan.settings.of(kubelet.NAME))
    config = {key: value for key, value in configuration.items() if key not in kubelet.HEAD}
    sysctls = {key: str(plain(value)) for key, value in plan.settings.values(sysctl.NAME).items()}
    releases = list(TALOS.releases)
    version = plan.node_class.target.version
    has_documents = version in releases and releases.index(version) >= releases.index(
        _FIRST_WITH_DOCUMENTS
    )
    if has_documents:
        yield {"apiVersion": "v1alpha1", "kind": "KubeletConfig", "config": config}
        if sysctls:
            yield {"apiVersion": "v1alpha1", "kind": "SysctlConfig", "params": sysctls}
    else:
        machine: dict[str, Any] = {"kubelet": {"extraConfig": config}}
        yield {"machine": machine | ({"sysctls": sysctls} if sysctls else {})}
