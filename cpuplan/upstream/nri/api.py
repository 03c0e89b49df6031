"""Names of the resource policies, and the error with which they refuse.

Types of balloons, annotations of pods, and folders of /sys. Apart from the port, so that those who
only write them need not load it.

Upstream: containers/nri-plugins pkg/kubernetes/kubernetes.go
  cmd/plugins/balloons/policy/balloons-policy.go @ 83d986e963ad28ca31790102af6d509c7b7e7d45
"""


class NriError(Exception):
    """An error of the plugin; the message is its exact text."""


INDEX = "runtime error: index out of range"


#: The types that are always there, and the namespace whose pods come to the first.
RESERVED, DEFAULT = "reserved", "default"
SYSTEM_NAMESPACE = "kube-system"
#: In the name of every annotation that the policy reads.
SCOPE = "resource-policy.nri.io"
#: The type of the balloon that a container is to come to.
BALLOON = f"balloon.balloons.{SCOPE}"
#: Whether exclusive CPUs of a container are to be isolated by the kernel.
PREFER_ISOLATED = f"prefer-isolated-cpus.{SCOPE}"
CPU_FOLDER = "/sys/devices/system/cpu"
NODE_FOLDER = "/sys/devices/system/node"
#: The annotation of pods that may start without required plugins (nri, pkg/plugin/annotations.go).
TOLERATION = "tolerate-missing-plugins.noderesource.dev"
