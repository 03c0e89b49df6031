"""The kubelet: KubeletConfiguration, as the node tuning operator's controller renders it."""

from cpuplan.components.kubelet.settings import (
    DROP_IN,
    NAME,
    cpu_options,
    default_cpus,
    drop_in,
    hidden_cpus,
    is_static,
    reserved_cpus,
    settings,
    true_cpu_options,
)
from cpuplan.components.kubelet.text import HEAD, configuration, parse, render

__all__ = [
    "DROP_IN",
    "HEAD",
    "NAME",
    "configuration",
    "cpu_options",
    "default_cpus",
    "drop_in",
    "hidden_cpus",
    "is_static",
    "parse",
    "render",
    "reserved_cpus",
    "settings",
    "true_cpu_options",
]
