"""What a node does without policies: until 4.16, and on a first boot in all releases.

Source: calculatePostConfigChangeActionFromMCDiffs, isDrainRequired (pkg/daemon).
"""

from collections.abc import Collection, Iterable
from posixpath import dirname

from cpuplan.upstream.mco.cost.actions import NONE, REBOOT, RELOAD_CRIO, RESTART_CRIO, Action
from cpuplan.upstream.mco.cost.policies import REGISTRIES_CONF
from cpuplan.upstream.mco.cost.registries import is_safe
from cpuplan.upstream.mco.ignition.schema import Config
from cpuplan.upstream.mco.releases import Release, has

_FREE = ("/etc/kubernetes/kubelet-ca.crt", "/var/lib/kubelet/config.json")
_OLD_FREE = "/etc/mco/internal-registry-pull-secret.json"
_FREE_FOLDER = "/etc/nmstate/openshift"
_RELOADED = (
    REGISTRIES_CONF,
    "/etc/machine-config-daemon/no-reboot/containers-gpg.pub",
    "/etc/containers/policy.json",
)
_RELOADED_FOLDER = "/etc/containers/registries.d"
_RESTARTED = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
#: Sections that no file decides about.
REBOOTING = frozenset({"osUpdate", "kernelArguments", "fips", "kernelType", "extensions"})


def action(sections: Collection[str], files: Iterable[str], release: Release) -> Action:
    """The one action; until 4.15 the last file decides between a reload and a restart of CRI-O."""
    if {*sections} & REBOOTING or "units" in sections:
        return REBOOT
    chosen = NONE
    for path in files:
        own = _of_file(path, release)
        if own == REBOOT:
            return REBOOT
        keeps_restart = has(release, "cost.legacy_folders") and chosen == RESTART_CRIO
        if own != NONE and not keeps_restart:
            chosen = own
    return chosen


def _of_file(path: str, release: Release) -> Action:
    with_folders = has(release, "cost.legacy_folders")
    if path in _FREE or (path == _OLD_FREE and not with_folders):
        return NONE
    if path in _RELOADED or (with_folders and dirname(path) == _RELOADED_FOLDER):
        return RELOAD_CRIO
    if path == _RESTARTED:
        return RESTART_CRIO
    return NONE if with_folders and dirname(path) == _FREE_FOLDER else REBOOT


def drains(chosen: Action, files: Collection[str], old: Config, new: Config) -> bool:
    """Whether the node is drained first; McoError where registries.conf cannot be read."""
    if chosen in (RELOAD_CRIO, RESTART_CRIO) and REGISTRIES_CONF in files:
        return not is_safe(old, new)
    return chosen == REBOOT
