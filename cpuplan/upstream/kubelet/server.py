"""Loads a KubeletConfiguration file with its drop-ins (cmd/kubelet/app/server.go).

Upstream: kubernetes/kubernetes cmd/kubelet/app/server.go @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.facts.versions import Version
from cpuplan.upstream.kubelet.config.codec import convert, decode, decode_drop_in, encode, merge
from cpuplan.upstream.kubelet.config.defaults import set_defaults, set_eviction_defaults
from cpuplan.upstream.kubelet.config.options import override
from cpuplan.upstream.kubelet.config.types import of_version
from cpuplan.upstream.kubelet.config.validation import validate
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from cpuplan.upstream.kubernetes.kube_features import LATEST, Gates, set_gates

#: The folder of the drop-ins, which only stands in texts.
_DROP_INS = "/etc/kubernetes/kubelet.conf.d"
_NO_FLAGS: Mapping[str, Any] = MappingProxyType({})


class Loaded(NamedTuple):
    """The effective fields, what the kubelet warns of, and what it refuses."""

    config: dict[str, Any]
    strict_errors: list[str]
    errors: list[str]


class StageError(KubeletError):
    """Files that cannot be read or merged: `decode` or `dropin`; `flags` of a wrong form.

    `file` is the number of the file, 0 for the main one; None if merged files are refused.
    """

    def __init__(self, stage: str, error: KubeletError, file: int | None = None) -> None:
        super().__init__(str(error))
        self.stage = stage
        self.file = file


def load(
    text: str,
    drop_ins: Sequence[str] = (),
    version: Version = LATEST,
    *,
    is_openshift: bool = False,
    cgroup_v1: bool = False,
    path: str = "/etc/kubernetes/kubelet.conf",
    flags: Mapping[str, Any] = _NO_FLAGS,
) -> Loaded:
    """Decode, merge, default and validate; `path` is the file's, for the kubelet's texts.

    `flags` are the fields of the command line, which come last.

    StageError for files that cannot be read. PanicError for feature gates that are unknown, locked
    or lack another: the kubelet crashes while defaulting. OpenShift's kubelet only warns of unknown
    ones.
    """
    try:
        decoded = decode(text, path, version)
    except KubeletError as error:
        raise StageError("decode", error, 0) from error
    gates = _gates(decoded.config, version, is_openshift)
    config = set_eviction_defaults(set_defaults(decoded.config, gates), gates)
    if drop_ins:
        config = _merge(config, drop_ins, version)
        gates = _gates(config, version, is_openshift)
        config = set_defaults(config, gates)
    if flags:
        config = _override(config, flags)
        gates = _gates(config, version, is_openshift)
    return Loaded(config, decoded.strict_errors, validate(config, gates, cgroup_v1=cgroup_v1))


def _gates(config: dict[str, Any], version: Version, is_openshift: bool) -> Gates:
    try:
        return set_gates(config.get("featureGates", {}), version, is_openshift=is_openshift)
    except KubeletError as error:
        text = (
            "failed to merge global and in-flight KubeletConfiguration while setting "
            "defaults, error"
        )
        raise PanicError(f"{text}: {error}") from None


def _override(config: dict[str, Any], flags: Mapping[str, Any]) -> dict[str, Any]:
    try:
        return override(config, convert(flags, any_case=False))
    except KubeletError as error:
        raise StageError("flags", error) from error


def _merge(config: dict[str, Any], drop_ins: Sequence[str], version: Version) -> dict[str, Any]:
    """The drop-ins merged over the defaulted file, in order.

    Values of drop-ins are decoded once, when all are merged.
    """
    merged = encode(config)
    for number, text in enumerate(drop_ins, 1):
        try:
            merged = merge(merged, decode_drop_in(text, f"{_DROP_INS}/{number:02}.conf"))
        except KubeletError as error:
            raise StageError("dropin", error, number) from error
    try:
        return convert(of_version(merged, version), any_case=True)
    except KubeletError as error:
        raise StageError("dropin", error) from error
