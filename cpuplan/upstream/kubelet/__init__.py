"""The kubelet of a given version: its CPUs, its memory, its pods.

From Kubernetes v1.36.2, pkg/kubelet/cm.

The modules carry the kubelet's names for its steps and repeat its mistakes: they exist to know the
outcome beforehand, not to improve it. CPU sets and sets of NUMA nodes are integers used as bit
sets; `CpuSet.from_bits` prints them.
"""
