"""What the mutating webhook of KubeVirt adds to an instance.

Upstream: kubevirt/kubevirt pkg/defaults/defaults.go
  pkg/virt-api/webhooks/mutating-webhook/mutators/vmi-mutator.go
  @ 79d34c1762169e5b0370ec491cef5ca12e6b504c
"""

from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY
from cpuplan.upstream.kubernetes.quantity import ZERO, Quantity, parse
from cpuplan.upstream.kubevirt.types import EVEN_PARITY, Instance
from cpuplan.upstream.kubevirt.virt_config import Config


def with_defaults(instance: Instance, config: Config) -> Instance:
    """The instance as it is stored."""
    instance = _with_cpu_request(instance)
    if instance.guest is None:
        instance = instance._replace(guest=_guest_memory(instance))
    if not instance.vcpus:
        sockets = instance.limits.get(CPU) or instance.requests.get(CPU)
        count = sockets.value if sockets else 1
        instance = instance._replace(sockets=count, cores=1, threads=1)
    if instance.isolates_emulator and config.completes_to_even_parity:
        instance = instance._replace(annotations={**instance.annotations, EVEN_PARITY: ""})
    return instance


def _with_cpu_request(instance: Instance) -> Instance:
    limit = instance.limits.get(CPU, ZERO)
    if not limit.nano or instance.requests.get(CPU, ZERO).nano:
        return instance
    return instance._replace(requests={**instance.requests, CPU: limit})


def _guest_memory(instance: Instance) -> Quantity | None:
    for resources in (instance.requests, instance.limits):
        if resources.get(MEMORY, ZERO).nano:
            return resources[MEMORY]
    try:
        return parse(instance.page_size) if instance.page_size else None
    except KubeletError:
        return None
