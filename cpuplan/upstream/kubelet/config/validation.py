"""What the kubelet refuses in its configuration (pkg/kubelet/apis/config/validation).

Read in 1.25 to 1.36; what 1.37 adds is from its documentation. Policies and options of the CPU and
memory managers are not looked at here: they fail when the managers are made. Fields that are
defaulted when empty have no rule.
"""

from typing import Any, NamedTuple

from cpuplan.platforms.versions import Version
from cpuplan.upstream.kubelet.config.rules import allocatable, images, node, numbers, telemetry
from cpuplan.upstream.kubelet.config.rules.base import Check, Given
from cpuplan.upstream.kubelet.releases.features import Gates

#: The first version that was read.
_FIRST: Version = (1, 25)
_ALWAYS: Version = (99, 0)


class Rule(NamedTuple):
    """A check, and the versions that have it: from `since` up to, not including, `until`.

    `is_plain`: its texts do not begin with "invalid configuration: ". Of the rules of one `stage`
    the kubelet reports the first that fails.
    """

    check: Check
    since: Version = _FIRST
    until: Version = _ALWAYS
    is_plain: bool = False
    stage: str = ""


#: Checks of the operating system (validation_linux.go).
_OS = "operating system"
#: Every rule, in the kubelet's order.
RULES: tuple[Rule, ...] = (
    Rule(numbers.lease),
    Rule(allocatable.nothing_enforced, until=(1, 31)),
    Rule(allocatable.system_cgroups),
    Rule(numbers.negative),
    Rule(numbers.ranges),
    Rule(numbers.quota_period),
    Rule(numbers.image_thresholds),
    Rule(images.maximum_age_gate, since=(1, 29)),
    Rule(images.minimum_age, since=(1, 36)),
    Rule(images.maximum_age, since=(1, 29)),
    Rule(numbers.status_images),
    Rule(images.parallel_pulls, since=(1, 27)),
    Rule(node.server_certificate),
    Rule(node.run_once, since=(1, 32)),
    Rule(node.taints, is_plain=True),
    Rule(node.taint_times),
    Rule(node.topology_gate, until=(1, 27)),
    Rule(node.topology),
    Rule(node.shutdown),
    Rule(node.shutdown_by_priority),
    Rule(allocatable.swap),
    Rule(numbers.restart_period, since=(1, 32)),
    Rule(allocatable.compressible, since=(1, 32)),
    Rule(allocatable.enforced_twice, since=(1, 31)),
    Rule(allocatable.enforced),
    Rule(allocatable.cgroups_per_qos, since=(1, 31)),
    Rule(node.hairpin),
    Rule(images.pulled_secretly, since=(1, 33)),
    Rule(allocatable.reserved_cpus),
    Rule(allocatable.reserved_memory),
    Rule(node.cgroup_version, since=(1, 31), is_plain=True, stage=_OS),
    Rule(node.single_process_kill, since=(1, 32), stage=_OS),
    Rule(node.ids_per_pod, since=(1, 33), stage=_OS),
    Rule(node.default_sysctls, since=(1, 37), stage=_OS),
    Rule(telemetry.hidden_metrics, is_plain=True),
    Rule(telemetry.logging, is_plain=True),
    Rule(telemetry.tracing_gate, until=(1, 34)),
    Rule(telemetry.tracing, is_plain=True),
    Rule(numbers.throttling_factor),
    Rule(allocatable.memory_reservation, since=(1, 36)),
    Rule(telemetry.log_query, since=(1, 27)),
    Rule(numbers.log_workers, since=(1, 30)),
    Rule(numbers.log_interval, since=(1, 30)),
    Rule(numbers.log_files, since=(1, 33)),
    Rule(telemetry.pod_logs, since=(1, 30)),
)


def validate(config: dict[str, Any], gates: Gates, *, cgroup_v1: bool = False) -> list[str]:
    """Every error of an effective configuration, in the kubelet's words."""
    given = Given(config, gates, cgroup_v1)
    errors: list[str] = []
    failed_stages: set[str] = set()
    for rule in RULES:
        if not rule.since <= gates.version < rule.until or rule.stage in failed_stages:
            continue
        texts = list(rule.check(given))
        errors += texts if rule.is_plain else [f"invalid configuration: {text}" for text in texts]
        if texts and rule.stage:
            failed_stages.add(rule.stage)
    return errors
