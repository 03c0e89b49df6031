"""Open vSwitch with DPDK: its poll-mode threads have the CPUs of the pool isolcpus alone.

The kernel isolates them and the kubelet reserves them; here a cgroup of ovs-vswitchd gets them
exclusively (cgroup v2, cpuset.cpus.exclusive), and irqbalance and irqaffinity= leave them out.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.base.patterns import expression
from cpuplan.components import kubelet
from cpuplan.components.base import template
from cpuplan.components.chosen import stated
from cpuplan.components.emission import emit, given_or
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings import openshift as rows
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Setting, Value, cpus_or_text
from cpuplan.upstream.kubelet.policy_options import STRICT_RESERVATION

NAME = rows.OVS_DPDK
CPUS_KEY = rows.OVS_DPDK_CPUS.key
UNIT = "ovs-dpdk-cpus-configure.service"
SCRIPT_PATH = "/usr/local/bin/ovs-dpdk-cpus-configure.sh"
_PARTITION = rows.OVS_DPDK_PARTITION.key
_COMMAND = expression(rf"^ExecStart={re.escape(SCRIPT_PATH)} (\S+) (\S+)$", re.MULTILINE)


def cpus(plan: NodePlan) -> CpuSet:
    """The CPUs of the poll-mode threads; none without DPDK."""
    wanted = plan.node_class.platform.manages_open_v_switch and plan.spec.open_v_switch.dpdk
    return plan.pool("isolcpus").cpus if wanted else EMPTY


def reason(plan: NodePlan) -> Reason:
    """Why these CPUs are separate."""
    return stated(
        plan, "Open vSwitch's DPDK threads have these CPUs to themselves", "openVSwitch.dpdk"
    )


def settings(plan: NodePlan) -> Iterator[Setting]:
    """The arguments of the unit: the CPUs, and whether the scheduler balances between them."""
    thread_cpus = cpus(plan)
    if not thread_cpus:
        return
    because = plan.pool("isolcpus").because
    yield from emit(plan, rows.OVS_DPDK_CPUS, thread_cpus, (*because, reason(plan)))
    if plan.spec.open_v_switch.load_balancing:
        kind, text = "member", "the scheduler may move the threads"
    else:
        kind, text = "isolated", "the scheduler does not move the threads"
    why = given_or(plan, rows.OVS_DPDK_PARTITION, text)
    yield from emit(plan, rows.OVS_DPDK_PARTITION, kind, (why,))


def render(settings: Sequence[Setting]) -> str:
    """The unit."""
    values = {setting.key: str(setting.value) for setting in settings}
    return (
        template(f"units/{UNIT}.j2", cpus=values[CPUS_KEY], partition=values[_PARTITION])
        if values
        else ""
    )


def parse(text: str) -> Mapping[str, Value]:
    """The same from the unit's text."""
    match = _COMMAND.search(text)
    return {CPUS_KEY: cpus_or_text(match[1]), _PARTITION: match[2]} if match else {}


def files(settings: Sequence[Setting]) -> dict[str, tuple[int, str]]:
    """(mode, text) by absolute path; none without settings."""
    return {SCRIPT_PATH: (0o700, template("bin/ovs-dpdk-cpus-configure.sh"))} if settings else {}


def units(settings: Sequence[Setting]) -> dict[str, str]:
    """The unit to enable; none without settings."""
    return {UNIT: render(settings)} if settings else {}


def check(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """DPDK without CPUs, and pods on its CPUs (as in the node tuning operator's controller)."""
    if not plan.spec.open_v_switch.dpdk:
        return
    position = locate(plan.node_class.place("openVSwitch.dpdk"))
    if not cpus(plan):
        yield diagnose("CP556", position)
        return
    is_strict = STRICT_RESERVATION in kubelet.true_cpu_options(plan)
    if not plan.node_class.target.cpu_partitioning and not is_strict:
        yield diagnose("CP557", position, option=STRICT_RESERVATION)
