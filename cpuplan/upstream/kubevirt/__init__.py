"""KubeVirt 1.9: the pod of virt-launcher in which a virtual machine runs.

Like every port it is pure: it knows no plan and no diagnostics. What depends on the cluster is read
from its KubeVirt object, or is as KubeVirt has it by default.
"""
