"""The ContainerRuntimeConfig controller (pkg/controller/container-runtime-config).

One drop-in for each setting, so objects of one pool combine.

Upstream: openshift/machine-config-operator
  pkg/controller/container-runtime-config/container_runtime_config_controller.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from collections.abc import Mapping
from typing import Any

from cpuplan.upstream.mco.common import McoError, mapping
from cpuplan.upstream.mco.controller_helpers import (
    Controller,
    size,
    validate_container_runtime_config,
)
from cpuplan.upstream.mco.helpers import Object

STORAGE_CONF = "/etc/containers/storage.conf"
_DROP_IN = "/etc/crio/crio.conf.d/01-ctrcfg-{}"
#: The operator's storage.conf around the size.
_STORAGE = """\
[storage]
  driver = "overlay"
  runroot = "/run/containers/storage"
  graphroot = "/var/lib/containers/storage"
  [storage.options]
    size = "{size}"
    force_mask = 0
    auto-userns-min-size = 0
    auto-userns-max-size = 0
    [storage.options.overlay]
      skip_mount_home = "true"
    [storage.options.pull_options]
      enable_partial_images = "false"
      ostree_repos = ""
      use_hard_links = "false"
"""


class ContainerRuntimeConfigs(Controller):
    """The ContainerRuntimeConfigs of a cluster, and the MachineConfigs written of them."""

    kind = "containerruntime"

    def validate(self, spec: Object) -> None:
        """Raises McoError for a spec that no pool takes."""
        validate_container_runtime_config(spec)

    def validate_for_pool(self, spec: Object, pool: Object) -> None:
        """Every pool takes the same."""

    def files(self, spec: Object, pool: Object) -> Mapping[str, str]:
        """A file for each setting; McoError where the operator crashes on an absent section."""
        if spec.get("containerRuntimeConfig") is None:
            raise McoError("without containerRuntimeConfig the operator crashes")
        config = mapping(spec, "containerRuntimeConfig")
        files = {}
        overlay = size(config.get("overlaySize"))
        if overlay is not None and overlay.value:
            files[STORAGE_CONF] = _STORAGE.format(size=overlay)
        for name, (key, value) in _settings(config).items():
            files[_DROP_IN.format(name)] = f"[crio]\n  [crio.runtime]\n    {key} = {value}\n"
        return files


def _settings(config: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Keys and values as TOML, by the settings' names."""
    settings = {}
    if config.get("logLevel"):
        settings["logLevel"] = ("log_level", f'"{config["logLevel"]}"')
    if config.get("pidsLimit") is not None:
        settings["pidsLimit"] = ("pids_limit", str(config["pidsLimit"]))
    log_size = size(config.get("logSizeMax"))
    if log_size is not None and log_size.value:
        settings["logSizeMax"] = ("log_size_max", str(log_size.value))
    if config.get("defaultRuntime"):
        settings["defaultRuntime"] = ("default_runtime", f'"{config["defaultRuntime"]}"')
    return settings
