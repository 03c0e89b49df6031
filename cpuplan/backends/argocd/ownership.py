"""Fields of emitted objects that others write, which Argo CD must neither report nor change.

cpuplan emits none of them, and server-side apply leaves what it does not send. The list is for what
compares otherwise, and for what people do by hand.
"""

from collections.abc import Collection
from typing import Any

_MACHINE_CONFIG = "machineconfiguration.openshift.io"
#: By API group and kind, the fields of each and who writes them.
_OWNED: dict[tuple[str, str], tuple[str, ...]] = {
    # OpenShift adds the Secrets of its internal registry.
    ("", "ServiceAccount"): ("/secrets",),
    # Cluster API: the Cluster object becomes the owner.
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"): (
        "/metadata/labels/cluster.x-k8s.io~1cluster-name",
        "/metadata/ownerReferences",
    ),
    # The operator's own number of the MachineConfig that it makes, and what it still has to remove.
    (_MACHINE_CONFIG, "KubeletConfig"): (
        f"/metadata/annotations/{_MACHINE_CONFIG}~1mc-name-suffix",
        "/metadata/finalizers",
    ),
    # The configuration that the operator rendered; `paused` belongs to whoever pauses.
    (_MACHINE_CONFIG, "MachineConfigPool"): ("/spec/configuration", "/spec/paused"),
    ("performance.openshift.io", "PerformanceProfile"): ("/metadata/finalizers",),
    # NodeWright's command line pauses and disables by annotations.
    ("skyhook.nvidia.com", "Skyhook"): (
        "/metadata/annotations/skyhook.nvidia.com~1disable",
        "/metadata/annotations/skyhook.nvidia.com~1pause",
        "/metadata/annotations/skyhook.nvidia.com~1version",
        "/metadata/finalizers",
    ),
}
#: OpenShift adds its own pull secrets to those of an account.
_PULL_SECRETS = '.imagePullSecrets[]? | select(.name | test("-dockercfg-"))'


def ignored(
    kinds: Collection[tuple[str, str]], *, by_label: bool, pauses: bool
) -> list[dict[str, Any]]:
    """What Applications with these kinds leave alone.

    `pauses`: Git says whether pools are paused. `by_label`: objects are known by a label, so that
    annotations that the machine config operator removes need not come back.
    """
    made = []
    for (group, kind), pointers in sorted(_OWNED.items()):
        if (group, kind) not in kinds:
            continue
        fields = list(pointers)
        if kind == "MachineConfigPool" and pauses:
            fields.remove("/spec/paused")
        if kind == "KubeletConfig" and by_label:
            fields = ["/metadata/annotations", "/metadata/finalizers"]
        entry: dict[str, Any] = {"group": group, "kind": kind, "jsonPointers": fields}
        if kind == "ServiceAccount":
            entry["jqPathExpressions"] = [_PULL_SECRETS]
        made.append(entry)
    return made
