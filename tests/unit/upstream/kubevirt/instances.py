"""Instances for the tests of KubeVirt's rules."""

from typing import Any

from cpuplan.upstream.kubevirt.defaults import with_defaults
from cpuplan.upstream.kubevirt.types import Instance, read_instance
from cpuplan.upstream.kubevirt.virt_config import DEFAULT, Config


def instance(
    domain: dict[str, Any],
    annotations: dict[str, str] | None = None,
    config: Config = DEFAULT,
    **spec: Any,
) -> Instance:
    """An instance with a domain, as KubeVirt stores it."""
    return with_defaults(read_instance({**spec, "domain": domain}, annotations or {}), config)


def pinned(cores: int, **cpu: Any) -> dict[str, Any]:
    """A domain with dedicated CPUs and 1 GiB."""
    given = {"cores": cores, "dedicatedCpuPlacement": True, **cpu}
    return {"cpu": given, "memory": {"guest": "1Gi"}}
