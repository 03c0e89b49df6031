"""Node disruption policies: the operator's, and those of a user.

Source: pkg/apihelpers/apihelpers.go, pkg/daemon/update.go.

Upstream: openshift/machine-config-operator pkg/apihelpers/apihelpers.go pkg/daemon/update.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.upstream.mco.common import McoError, Release, has, mapping, mappings, text
from cpuplan.upstream.mco.ignition.types import clean


class Action(NamedTuple):
    """One step: None, Reboot, Drain, DaemonReload, Special, or Reload and Restart of a service.

    Special reloads CRI-O, and drains where registries.conf asks for it. The legacy path has `reload
    crio` and `restart crio`.
    """

    type: str
    service: str = ""


NONE, REBOOT, SPECIAL = Action("None"), Action("Reboot"), Action("Special")
RELOAD_CRIO, RESTART_CRIO = Action("reload crio"), Action("restart crio")
DRAIN = Action("Drain")


def combined(actions: Sequence[Action]) -> tuple[Action, ...]:
    """One reboot makes all a single reboot; None disappears beside others."""
    if REBOOT in actions:
        return (REBOOT,)
    others = tuple(action for action in actions if action != NONE)
    return (NONE,) if actions and not others else others


Actions = tuple[Action, ...]

REGISTRIES_CONF = "/etc/containers/registries.conf"
_CRIO, _KUBELET, _REGISTRY = "crio.service", "kubelet.service", "iri-registry.service"
_CA_TRUST = "coreos-update-ca-trust.service"
_ANCHORS = "/etc/pki/ca-trust/source/anchors"
_TYPES = ("DaemonReload", "Drain", "None", "Reboot", "Reload", "Restart")
_RELOAD_CRIO = (Action("Reload", _CRIO),)
_RESTART_REGISTRY = (Action("Restart", _REGISTRY),)
_DAEMON_RELOAD = Action("DaemonReload")

#: Built-in policies of files, with the feature they came with.
_FILES: tuple[tuple[str, Actions, str], ...] = (
    ("/var/lib/kubelet/config.json", (NONE,), "cost.policies"),
    ("/etc/machine-config-daemon/no-reboot/containers-gpg.pub", _RELOAD_CRIO, "cost.policies"),
    ("/etc/containers/policy.json", _RELOAD_CRIO, "cost.policies"),
    (REGISTRIES_CONF, (SPECIAL,), "cost.policies"),
    ("/etc/containers/registries.d", _RELOAD_CRIO, "cost.policies"),
    ("/etc/crio/policies", _RELOAD_CRIO, "cost.crio_policies"),
    ("/etc/nmstate/openshift", (NONE,), "cost.policies"),
    (
        f"{_ANCHORS}/openshift-config-user-ca-bundle.crt",
        (Action("Restart", _CA_TRUST), Action("Restart", _CRIO)),
        "cost.policies",
    ),
    (
        "/etc/kubernetes/credential-providers",
        (Action("Restart", _KUBELET),),
        "cost.credential_providers",
    ),
    (
        "/etc/systemd/system/kubelet.service.d/40-kubelet-crio-image-credential-provider.conf",
        (_DAEMON_RELOAD, Action("Restart", _KUBELET)),
        "cost.credential_providers",
    ),
    ("/etc/iri-registry", _RESTART_REGISTRY, "cost.internal_registry"),
    ("/usr/local/bin/load-registry-image.sh", _RESTART_REGISTRY, "cost.internal_registry"),
    (
        f"{_ANCHORS}/iri-root-ca.crt",
        (Action("Restart", _CA_TRUST),),
        "cost.internal_registry",
    ),
)
_UNITS: tuple[tuple[str, Actions, str], ...] = (
    (_REGISTRY, (_DAEMON_RELOAD, *_RESTART_REGISTRY), "cost.internal_registry"),
)


class Policies(NamedTuple):
    """Actions by path, by unit, and for SSH keys and the password of core."""

    files: tuple[tuple[str, Actions], ...]
    units: Mapping[str, Actions]
    ssh_keys: Actions

    def for_file(self, path: str) -> Actions | None:
        """Those of the longest path that equals it or is a directory above it."""
        length, actions = 0, None
        for policy_path, policy_actions in self.files:
            if _covers(policy_path, path) and len(policy_path) > length:
                length, actions = len(policy_path), policy_actions
        return actions

    def actions(self, files: Iterable[str], units: Iterable[str], has_keys: bool) -> Actions:
        """What a node does after these changes; a change without policy is a reboot."""
        actions: list[Action] = []
        for path in files:
            own = self.for_file(path)
            actions += (REBOOT,) if own is None else own
        for name in units:
            actions += self.units.get(name, (REBOOT,))
        if has_keys:
            actions += self.ssh_keys
        return combined(actions)


def _covers(policy_path: str, path: str) -> bool:
    """`/` covers nothing (MCO bug)."""
    return policy_path == path or clean(path).startswith(clean(policy_path) + "/")


def policies(configuration: Mapping[str, Any], release: Release) -> Policies:
    """The built-in policies with those of a MachineConfiguration.

    A user's policy for the path or the unit of a built-in one replaces it. McoError for what the
    API server refuses.
    """
    given = mapping(mapping(configuration, "spec"), "nodeDisruptionPolicy")
    built_in = {path: actions for path, actions, since in _FILES if has(release, since)}
    own_files = [(text(file, "path"), _read(file)) for file in mappings(given, "files")]
    replaced = dict(own_files)
    files = [(path, replaced.get(path, actions)) for path, actions in built_in.items()]
    files += [(path, actions) for path, actions in own_files if path not in built_in]
    built_in_units = {name: actions for name, actions, since in _UNITS if has(release, since)}
    units = dict(built_in_units)
    for unit in mappings(given, "units"):
        name = text(unit, "name")
        # The first of several wins, but the last that replaces a built-in one.
        if name in built_in_units or name not in units:
            units[name] = _read(unit)
    ssh_keys = _read(mapping(given, "sshkey")) or (NONE,)
    return Policies(tuple(files), units, ssh_keys)


def _read(policy: Mapping[str, Any]) -> Actions:
    return tuple(map(_action, mappings(policy, "actions")))


def _action(action: Mapping[str, Any]) -> Action:
    kind = text(action, "type")
    if kind not in _TYPES:
        raise McoError("unknown action of a policy", value=kind)
    return Action(kind, text(mapping(action, kind.lower()), "serviceName"))
