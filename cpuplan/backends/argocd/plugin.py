"""The config management plugin, for those who do not commit `out/`."""

from cpuplan.backends.base import Files
from cpuplan.base.resources import resource


def files() -> Files:
    """The plugin's own configuration, for its sidecar."""
    path = resource("templates", "argocd", "plugin.yaml")
    return {"argocd/plugin.yaml": path.read_bytes()}
