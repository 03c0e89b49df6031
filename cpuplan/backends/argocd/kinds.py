"""The kinds that cpuplan writes, by API group: all that its AppProject may sync."""

NAMESPACED_KINDS = (
    ("", "ConfigMap"),
    ("bootstrap.cluster.x-k8s.io", "KubeadmConfigTemplate"),
    ("config.nri", "BalloonsPolicy"),
    ("config.nri", "TopologyAwarePolicy"),
    ("tuned.openshift.io", "Tuned"),
)
CLUSTER_KINDS = (
    ("", "Namespace"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"),
    ("machineconfiguration.openshift.io", "KubeletConfig"),
    ("machineconfiguration.openshift.io", "MachineConfig"),
    ("machineconfiguration.openshift.io", "MachineConfigPool"),
    ("node.k8s.io", "RuntimeClass"),
    ("performance.openshift.io", "PerformanceProfile"),
    ("resource.k8s.io", "DeviceClass"),
    ("skyhook.nvidia.com", "Skyhook"),
)
#: The same where Koordinator gives CPUs to pods.
KOORDINATOR_KINDS = (
    ("", "Node"),
    ("config.koordinator.sh", "ClusterColocationProfile"),
)
#: The same where a cluster verifies its nodes.
VERIFY_KINDS = (
    ("", "ServiceAccount"),
    ("apps", "DaemonSet"),
    ("batch", "Job"),
    ("monitoring.coreos.com", "PodMonitor"),
    ("monitoring.coreos.com", "PrometheusRule"),
    ("networking.k8s.io", "NetworkPolicy"),
    ("rbac.authorization.k8s.io", "Role"),
    ("rbac.authorization.k8s.io", "RoleBinding"),
)
VERIFY_CLUSTER_KINDS = (
    ("rbac.authorization.k8s.io", "ClusterRole"),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"),
    ("security.openshift.io", "SecurityContextConstraints"),
)
