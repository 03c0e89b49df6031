"""The admission plugin that refuses pods of a RuntimeClass that the cluster lacks.

Upstream: kubernetes/kubernetes plugin/pkg/admission/runtimeclass/admission.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Container

from cpuplan.upstream.kubernetes.errors import AdmissionError
from cpuplan.upstream.kubernetes.pod import Pod
from cpuplan.upstream.kubernetes.strconv import quote


def check(pod: Pod, classes: Container[str]) -> None:
    """AdmissionError for a pod whose runtimeClassName is none of `classes`."""
    name = pod.runtime_class
    if name and name not in classes:
        problem = f"pod rejected: RuntimeClass {quote(name)} not found"
        raise AdmissionError("Forbidden", f"pods {quote(pod.name)} is forbidden: {problem}")
