"""The KubeletConfig controller (pkg/controller/kubelet-config).

Upstream: openshift/machine-config-operator
  pkg/controller/kubelet-config/kubelet_config_controller.go
  pkg/controller/kubelet-config/kubelet_config_nodes.go @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import yaml

from cpuplan.upstream.mco.common import NEWEST, McoError, Release, flag, has, mapping, text, texts
from cpuplan.upstream.mco.controller_helpers import (
    ARBITER,
    PREFIX,
    Config,
    Controller,
    Generated,
    Source,
    check_cgroups,
    decode_kubelet_configuration,
    generated_name,
    merge_kubelet_configuration,
    validate_kubelet_config,
    validate_static_pods,
)
from cpuplan.upstream.mco.helpers import MASTER, WORKER, Object, name_of

_FOR_1_3 = ("TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256")
#: Names of OpenSSL, by those that Go takes; others are dropped.
_CIPHERS = {
    **{name: name for name in _FOR_1_3},
    "ECDHE-ECDSA-AES128-GCM-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384": "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305": "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-RSA-CHACHA20-POLY1305": "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
    "ECDHE-ECDSA-AES128-SHA256": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256",
    "ECDHE-RSA-AES128-SHA256": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256",
    "ECDHE-ECDSA-AES128-SHA": "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA",
    "ECDHE-RSA-AES128-SHA": "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA",
    "ECDHE-ECDSA-AES256-SHA": "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA",
    "ECDHE-RSA-AES256-SHA": "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA",
    "ECDHE-RSA-DES-CBC3-SHA": "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA",
    "AES128-GCM-SHA256": "TLS_RSA_WITH_AES_128_GCM_SHA256",
    "AES256-GCM-SHA384": "TLS_RSA_WITH_AES_256_GCM_SHA384",
    "AES128-SHA256": "TLS_RSA_WITH_AES_128_CBC_SHA256",
    "AES128-SHA": "TLS_RSA_WITH_AES_128_CBC_SHA",
    "AES256-SHA": "TLS_RSA_WITH_AES_256_CBC_SHA",
    "DES-CBC3-SHA": "TLS_RSA_WITH_3DES_EDE_CBC_SHA",
}
_FOR_1_2 = (
    "ECDHE-ECDSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-ECDSA-AES256-GCM-SHA384",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "ECDHE-ECDSA-CHACHA20-POLY1305",
    "ECDHE-RSA-CHACHA20-POLY1305",
)
_OLD = (
    "ECDHE-ECDSA-AES128-SHA256",
    "ECDHE-RSA-AES128-SHA256",
    "ECDHE-ECDSA-AES128-SHA",
    "ECDHE-RSA-AES128-SHA",
    "ECDHE-ECDSA-AES256-SHA",
    "ECDHE-RSA-AES256-SHA",
    "AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "AES128-SHA256",
    "AES128-SHA",
    "AES256-SHA",
    "DES-CBC3-SHA",
)


class Profile(NamedTuple):
    """The oldest version, and the ciphers as OpenSSL names them."""

    version: str
    ciphers: tuple[str, ...]


_INTERMEDIATE = Profile("VersionTLS12", _FOR_1_3 + _FOR_1_2)
_PROFILES = {
    "Old": Profile("VersionTLS10", _FOR_1_3 + _FOR_1_2 + _OLD),
    "Intermediate": _INTERMEDIATE,
    "Modern": Profile("VersionTLS13", _FOR_1_3),
}


def tls_fields(profile: Mapping[str, Any]) -> dict[str, Any]:
    """What a profile sets; an unknown one is the intermediate one."""
    kind = text(profile, "type")
    chosen = _PROFILES.get(kind, _INTERMEDIATE)
    if kind == "Custom" and profile.get("custom") is not None:
        custom = mapping(profile, "custom")
        chosen = Profile(text(custom, "minTLSVersion"), texts(custom, "ciphers"))
    known = [_CIPHERS[name] for name in chosen.ciphers if name in _CIPHERS]
    fields = {"tlsMinVersion": chosen.version, "tlsCipherSuites": known}
    return {name: value for name, value in fields.items() if value}


KUBELET_CONF = "/etc/kubernetes/kubelet.conf"
NODE_SIZING = "/etc/node-sizing-enabled.env"
#: The folder of --config-dir in the kubelet's unit (templates/*/01-*-kubelet).
DROP_INS = "/etc/openshift/kubelet.conf.d"
LOGGING = "/etc/systemd/system/kubelet.service.d/20-logging.conf"

_KIND = "kubelet"
_NODE_PREFIX, _DEFAULTS_PREFIX = "97", "98"
#: nodeStatusUpdateFrequency by worker latency profile.
_LATENCY = {"Default": "10s", "MediumUpdateAverageReaction": "20s", "LowUpdateSlowReaction": "1m0s"}
_FAST_PROFILES = ("", "Default")
_SLOW_PROFILE = "LowUpdateSlowReaction"
_CGROUP_ARGUMENTS = ("systemd.unified_cgroup_hierarchy=1", 'cgroup_no_v1="all"')
_PODS, _SYSTEM = "pods", ("system-reserved", "system-reserved-compressible")
#: What moves to NODE_SIZING, with its variable and its default.
_SIZING = (
    ("memory", "MEMORY", "1Gi"),
    ("cpu", "CPU", "500m"),
    ("ephemeral-storage", "ES", "1Gi"),
)


class KubeletConfigs(Controller):
    """The KubeletConfigs of a cluster, and the MachineConfigs written of them.

    `defaults` are the KubeletConfigurations of the roles without any KubeletConfig, as JSON; those
    of worker hold for custom pools.
    """

    kind = _KIND

    def __init__(
        self, pools: Sequence[Object], defaults: Mapping[str, Config], release: Release = NEWEST
    ) -> None:
        super().__init__(pools, release)
        self._defaults = defaults
        self._node: Object | None = None
        self._has_started = False

    def set_node_config(self, item: Object) -> None:
        """nodes.config.openshift.io appears or changes: `97-` objects for every pool.

        All other files are written anew. McoError for a latency profile or a mode of cgroups that
        is unknown.
        """
        spec = mapping(item, "spec")
        if self._node is not None and not _may_follow(self._node, spec):
            return
        self._node = spec
        self._sync_node()

    def restart(self) -> None:
        """The controller starts: `98-` objects with the defaults for every pool."""
        self._has_started = True
        self._sync_defaults()
        if self._node is not None:
            self._sync_node()

    def _sync_node(self) -> None:
        spec = self._node or {}
        for pool in self.pools:
            role = name_of(pool)
            if role == WORKER and (text(spec, "workerLatencyProfile") or "Default") not in _LATENCY:
                raise McoError("unknown latency profile", value=spec["workerLatencyProfile"])
            arguments: tuple[str, ...] = ()
            if role in (WORKER, MASTER, ARBITER):
                arguments = _cgroup_arguments(spec)
            self._write_defaults(_NODE_PREFIX, pool, arguments)
        for source in self.sources.values():
            self.sync(source)
        if self._has_started:
            self._sync_defaults()

    def _sync_defaults(self) -> None:
        if has(self.release, "kubelet.defaults_for_every_pool"):
            for pool in self.pools:
                self._write_defaults(_DEFAULTS_PREFIX, pool)

    def _write_defaults(self, prefix: str, pool: Object, arguments: tuple[str, ...] = ()) -> None:
        name = generated_name(prefix, pool, _KIND)
        files = {KUBELET_CONF: _text(self.defaults_of(pool))}
        self.machine_configs[name] = Generated(
            name, name_of(pool), files, kernel_arguments=arguments
        )

    def defaults_of(self, pool: Object) -> Config:
        """The fields of a pool without any KubeletConfig; the latency profile is for worker."""
        role = name_of(pool)
        known = {ARBITER: MASTER}.get(role, WORKER)
        fields = copy.deepcopy(dict(self._defaults.get(role, self._defaults[known])))
        profile = (self._node or {}).get("workerLatencyProfile")
        if role == WORKER and profile in _LATENCY:
            fields["nodeStatusUpdateFrequency"] = _LATENCY[profile]
        return fields

    def validate(self, spec: Object) -> None:
        """Raises McoError for a spec that no pool takes."""
        validate_kubelet_config(spec, self.release)

    def validate_for_pool(self, spec: Object, pool: Object) -> None:
        """Raises McoError for a spec that this pool does not take."""
        validate_static_pods(spec, pool, self.release)

    def files(self, spec: Object, pool: Object) -> Mapping[str, str]:
        """A complete kubelet.conf, and the files for what is not in it."""
        raw = spec.get("kubeletConfig")
        config = decode_kubelet_configuration(raw) if raw is not None else {}
        reserved = config.get("systemReserved") or {}
        moved = {name: reserved.pop(name) for name, *_ in _SIZING if name in reserved}
        files = {}
        if moved or spec.get("autoSizingReserved") is not None:
            is_automatic = flag(spec, "autoSizingReserved") and not moved
            files[NODE_SIZING] = _sizing(moved, is_automatic)
        if spec.get("logLevel") is not None:
            files[LOGGING] = f'[Service]\nEnvironment="KUBELET_LOG_LEVEL={spec["logLevel"]}"\n'
        fields = self._fields(spec, raw or {}, config, self.defaults_of(pool))
        return {**files, KUBELET_CONF: _text(fields)}

    def _fields(self, spec: Object, raw: Object, config: Config, defaults: Config) -> Config:
        if spec.get("tlsSecurityProfile") is not None:
            for name in ("tlsMinVersion", "tlsCipherSuites"):
                defaults.pop(name, None)
            defaults |= tls_fields(mapping(spec, "tlsSecurityProfile"))
        if raw.get("protectKernelDefaults") is False:
            defaults.pop("protectKernelDefaults", None)
        fields = merge_kubelet_configuration(defaults, config)
        if has(self.release, "kubelet.system_reserved_enforced"):
            _enforce(fields, config)
            check_cgroups(fields)
        return fields


def _may_follow(old: Object, new: Object) -> bool:
    """From the slowest latency profile to the fastest, or back, is refused in silence."""
    profiles = {text(spec, "workerLatencyProfile") for spec in (old, new)}
    return _SLOW_PROFILE not in profiles or not profiles & set(_FAST_PROFILES)


def _cgroup_arguments(spec: Object) -> tuple[str, ...]:
    if text(spec, "cgroupMode") not in ("", "v2"):
        raise McoError("unknown mode of cgroups", value=spec["cgroupMode"])
    return _CGROUP_ARGUMENTS


def _enforce(fields: Config, config: Config) -> None:
    """Takes the enforcement of system-reserved away where it cannot hold."""
    enforced = config.get("enforceNodeAllocatable") or []
    if enforced and not config.get("systemReservedCgroup") and not set(_SYSTEM) & set(enforced):
        fields.pop("systemReservedCgroup", None)
    if fields.get("reservedSystemCPUs"):
        fields.pop("systemReservedCgroup", None)
        kept = [name for name in fields.get("enforceNodeAllocatable") or () if name not in _SYSTEM]
        fields["enforceNodeAllocatable"] = kept if _PODS in kept else [_PODS, *kept]


def _sizing(moved: Mapping[str, str], is_automatic: bool) -> str:
    lines = [f"NODE_SIZING_ENABLED={'true' if is_automatic else 'false'}"]
    for name, variable, default in _SIZING:
        lines.append(f"SYSTEM_RESERVED_{variable}={moved.get(name) or default}")
    return "\n".join(lines) + "\n"


def _text(fields: Config) -> str:
    return yaml.safe_dump(fields, default_flow_style=False)


def installed(
    pools: Sequence[Object],
    items: Sequence[Object],
    defaults: Mapping[str, Any],
    release: Release = NEWEST,
) -> list[Generated]:
    """What an installation writes of KubeletConfigs that are there from the start.

    McoError for a refused one, and for two for one pool.
    """
    controller = KubeletConfigs(pools, defaults, release)
    sources = [Source(name_of(item), mapping(item, "spec"), {}, 0) for item in items]
    for source in sources:
        controller.validate(source.spec)
    written: dict[str, Generated] = {}
    for source in sources:
        for pool in (pool for pool in pools if source.selects(pool)):
            controller.validate_for_pool(source.spec, pool)
            files = controller.files(source.spec, pool)
            name = generated_name(PREFIX, pool, _KIND)
            if name in written:
                raise McoError("two KubeletConfigs for a pool", pool=name_of(pool))
            written[name] = Generated(name, name_of(pool), files)
    return list(written.values())
