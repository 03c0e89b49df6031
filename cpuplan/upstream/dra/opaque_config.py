"""The configuration of a claim's request that names CPUs.

An external scheduler writes it; only the device of the whole machine needs it.

Upstream: kubernetes-sigs/dra-driver-cpu api/opaque_config.go
  @ de98098690f25e59d781c1659b5c3e0b0a210c2a
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.dra.api import API_VERSION, DRIVER, DraError
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.json import kind_of
from cpuplan.upstream.kubernetes.strconv import quote

FROM_CLAIM = "FromClaim"
_STRUCT = "OpaqueConfig"
_SHAPES: Mapping[str, Mapping[str, str]] = {
    _STRUCT: {"apiVersion": "string", "cpuConfig": "CPUConfig"},
    "CPUConfig": {"cpuset": "string"},
}


class Config(NamedTuple):
    """A configuration in the status of a claim; without `requests` it is for all of them."""

    requests: tuple[str, ...]
    parameters: Any
    source: str = FROM_CLAIM
    driver: str = DRIVER

    def is_for(self, request: str) -> bool:
        """Whether it is for a request, or for the one of which this is an alternative."""
        base = request.partition("/")[0]
        return not self.requests or request in self.requests or base in self.requests


def cpus_of(configs: Sequence[Config], request: str) -> int:
    """The CPUs that are named for a request; DraError with the driver's text."""
    targeting = []
    for config in configs:
        if config.driver != DRIVER or not config.is_for(request):
            continue
        if config.source != FROM_CLAIM:
            raise DraError(
                "opaque config: configuration from DeviceClass is not supported by this driver, "
                "custom cpusets must be defined per ResourceClaim request"
            )
        targeting.append(config)
    if len(targeting) != 1:
        targeted = f"request {quote(request)} is targeted by {len(targeting)} configurations"
        raise DraError(f"opaque config: {targeted}, must be targeted by exactly 1")
    return _parse(targeting[0].parameters)


def _parse(parameters: Any) -> int:
    try:
        fields = _struct(parameters, _STRUCT, ())
    except DraError as error:
        raise DraError(f"failed to unmarshal opaque config: {error}") from None
    version = fields.get("apiVersion", "")
    if version != API_VERSION:
        raise DraError(f"unsupported opaque config apiVersion: {quote(version)}")
    text = fields.get("cpuConfig", {}).get("cpuset", "")
    if not text:
        raise DraError("opaque config: cpuConfig.cpuset is empty or missing")
    try:
        return parse_cpus(text)
    except KubeletError as error:
        given = f"failed to parse cpuset {quote(text)}: {error}"
        raise DraError(f"opaque config: {given}") from None


def _struct(value: Any, struct: str, path: tuple[str, ...]) -> dict[str, Any]:
    """The fields that the driver knows, in any letter case; null is as if nothing was there."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise _mismatch(value, f"v1alpha1.{struct}", struct, path)
    shape = _SHAPES[struct]
    known = {name.lower(): name for name in shape}
    fields: dict[str, Any] = {}
    for key, item in value.items():
        name = known.get(key.lower())
        if name is None or item is None:
            continue
        if shape[name] in _SHAPES:
            fields[name] = _struct(item, shape[name], (*path, name))
        elif isinstance(item, str):
            fields[name] = item
        else:
            raise _mismatch(item, "string", struct, (*path, name))
    return fields


def _mismatch(value: Any, go_type: str, struct: str, path: tuple[str, ...]) -> DraError:
    where = f"Go value of type {go_type}"
    if path:
        owner = _STRUCT if go_type != "string" else struct
        where = f"Go struct field {owner}.{'.'.join(path)} of type {go_type}"
    return DraError(f"json: cannot unmarshal {kind_of(value)} into {where}")
