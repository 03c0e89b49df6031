"""containerd: keys of its plugins' tables."""

from functools import partial

from cpuplan.facts.settings.costs import Cost, Impact, Rule
from cpuplan.facts.settings.row import Row

NAME = "containerd"
_CONFIG = Rule(
    "containerd-config",
    Impact.RESTART,
    "restart of containerd.service",
    "containerd reads its configuration when it starts. Containers go on.",
    "containerd/containerd docs/man/containerd-config.toml.5.md",
    costs=Cost.CONTAINERD_RESTART,
)
_row = partial(Row, NAME, shown_by="containerd config dump", cost=_CONFIG)
_nri = partial(_row, field="targets.mechanism")
_handler = partial(_row, field="runtime.handler")

NRI_DISABLE = _nri("nri.disable")
#: The validator that refuses containers while the mechanism's plugin is away.
VALIDATOR = _nri("nri.default_validator.enable")
REQUIRED_PLUGINS = _nri("nri.default_validator.required_plugins")
TOLERATION = _nri("nri.default_validator.tolerate_missing_plugins_annotation")
ENABLE_CDI = _row("cri.enable_cdi", field="kubelet.dynamicResourceAllocation")
RUNTIME_TYPE = _handler("cri.containerd.runtimes.{handler}.runtime_type")
SYSTEMD_CGROUP = _handler("cri.containerd.runtimes.{handler}.options.SystemdCgroup")
