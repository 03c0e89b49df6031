"""Health checks in Lua: what the status of each kind says about its nodes.

Argo CD has none for these kinds, and takes what it does not know for done. The scripts use nothing
but the basic library and `table`: Argo CD opens no others for scripts of its users.
"""

from collections.abc import Iterable

from cpuplan.base.resources import resource

#: The kinds whose objects get a status from somebody, by API group; each has a script.
CHECKED = (
    ("config.nri", "BalloonsPolicy"),
    ("config.nri", "TopologyAwarePolicy"),
    ("machineconfiguration.openshift.io", "KubeletConfig"),
    ("machineconfiguration.openshift.io", "MachineConfigPool"),
    ("performance.openshift.io", "PerformanceProfile"),
    ("skyhook.nvidia.com", "Skyhook"),
    ("tuned.openshift.io", "Tuned"),
)


def script(kind: str) -> str:
    """The check of a kind."""
    path = resource("templates", "argocd", "health", f"{kind}.lua")
    return path.read_text(encoding="utf-8")


def of_config_map(kinds: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The checks of these kinds as keys of the ConfigMap argocd-cm."""
    return {
        f"resource.customizations.health.{group}_{kind}": script(kind)
        for group, kind in CHECKED
        if (group, kind) in set(kinds)
    }


def of_operator(kinds: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    """The same as a field of the ArgoCD object, from which its operator writes argocd-cm."""
    return [
        {"group": group, "kind": kind, "check": script(kind)}
        for group, kind in CHECKED
        if (group, kind) in set(kinds)
    ]
