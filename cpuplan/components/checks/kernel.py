"""Boot arguments that a kernel would drop, or of which it makes something else."""

import re
from collections.abc import Iterator

from cpuplan.base.cpuset import CpuSet, cpus_text
from cpuplan.components import cmdline, isolation, kernel
from cpuplan.components.chosen import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kernel import DEFAULT_HUGEPAGESZ, NOHZ_FULL
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.plan.setting import Setting, Value
from cpuplan.upstream.linux.isolation import REDUNDANT, Remark

_FLAGS = re.compile(r"^(?:[a-z_]+,)+")


def check_effects(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP536 to CP538, and CP600."""
    given = _given(plan)
    for remark in kernel.remarks_of(plan):
        if not _is_new(plan, remark, own=remark.key in given):
            continue
        code = "CP537" if remark.kind == REDUNDANT else "CP536"
        field = given.get(remark.key, "isolation")
        position = locate(plan.node_class.place(field))
        yield diagnose(
            code, position, argument=_argument(plan, remark), reason=remark.text, linux=kernel.LINUX
        )
    yield from _check_managed(plan, locate)
    yield from _check_old_kernels(plan, locate)


def _is_new(plan: ConfiguredPlan, remark: Remark, *, own: bool) -> bool:
    """Whether no other finding is about it.

    CP520 judges CPU lists among extra arguments, and CP214 a CPU 0 that is not reserved, unless its
    rule is off. Computed arguments say some things twice, as the node tuning operator does.
    """
    if own:
        return remark.key not in cmdline.CPU_LISTS
    has_rule = all(rule.disable != "cpu0-reserved" for rule in plan.spec.rules)
    return remark.key == NOHZ_FULL.key and not has_rule


def _given(plan: ConfiguredPlan) -> dict[str, str]:
    """The fields of extra arguments, by key."""
    fields = {}
    for index, argument in enumerate(plan.spec.kernel.extra_arguments):
        key = cmdline.canonical(argument.partition("=")[0])
        fields[key] = f"kernel.extraArguments.{index}"
    return fields


def _argument(plan: ConfiguredPlan, remark: Remark) -> str:
    settings = plan.settings.of(kernel.NAME)
    for setting in settings:
        if cmdline.canonical(setting.key) == remark.key:
            return kernel.argument(setting)
    return remark.key


def _check_managed(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """managed_irq that is asked for by name, with nothing else that isolates a CPU."""
    values = plan.settings.values(kernel.NAME)
    switches = plan.spec.isolation
    others = (isolation.switch(switches, key) for key in ("domain", "nohzFull"))
    is_alone = switches.managed_irq and not any(others)
    asked = is_written(plan, "isolation.managedIrq")
    if "isolcpus" in values and is_alone and asked:
        position = locate(plan.node_class.place("isolation.managedIrq"))
        yield diagnose("CP538", position, linux=kernel.LINUX)


def _check_old_kernels(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """Lists that differ from the first one of the ticks and isolcpus=, where kernels may be old.

    Before Linux 5.18 there was one list for all (kernel/sched/isolation.c, housekeeping_setup).
    """
    keys = {NOHZ_FULL.key, "isolcpus"}
    # CP520 judges lists among extra arguments.
    if plan.node_class.platform.ships_kernel or keys & _given(plan).keys():
        return
    lists = list(_lists(plan))
    for (_, first), (setting, word) in zip(lists[:1] * len(lists), lists, strict=True):
        if _cpus(word) != _cpus(first):
            reasons = (reason for reason in reversed(setting.reasons) if locate(reason.origin))
            origin = next((reason.origin for reason in reasons), "")
            yield diagnose("CP600", locate(origin), argument=word, first=first)


def _lists(plan: ConfiguredPlan) -> Iterator[tuple[Setting, str]]:
    for setting in plan.settings.of(kernel.NAME):
        if setting.key in (NOHZ_FULL.key, "isolcpus"):
            yield from ((setting, word) for word in cmdline.words(setting.key, setting.value))


def _cpus(word: str) -> str:
    """The list of an argument without its flags."""
    return _FLAGS.sub("", word.partition("=")[2])


#: COMMAND_LINE_SIZE of the kernel (arch/*/include/uapi/asm/setup.h), the end included.
LINE_SIZES = {"x86_64": 2048, "aarch64": 2048, "ppc64le": 2048, "riscv64": 1024, "s390x": 4096}
#: What boot loader and installer put before it: BOOT_IMAGE=, root=, ostree=, console=.
OTHERS_SHARE = 256


def check(plan: ConfiguredPlan, locate: Locate) -> list[Diagnostic]:
    """Arguments against the plan, hints that exclude each other, a line that is too long."""
    return [
        *_check_extra(plan, locate),
        *_check_hints(plan, locate),
        *_check_length(plan, locate),
        *_check_vendor(plan, locate),
    ]


def _check_extra(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    if not plan.spec.kernel.extra_arguments:
        return
    own = kernel.computed(plan)
    words = {cmdline.canonical(key): cmdline.words(key, value) for key, value in own.items()}
    for index, argument in enumerate(plan.spec.kernel.extra_arguments):
        position = locate(plan.node_class.place(f"kernel.extraArguments.{index}"))
        ((key, value),) = cmdline.keyed(argument).items()
        name = cmdline.canonical(key)
        if name in cmdline.CPU_LISTS:
            if own.get(name) != value:
                planned = " ".join(words[name]) if name in words else f"no {name}="
                yield diagnose("CP520", position, argument=argument, planned=planned)
        elif name.partition("=")[0] in ("hugepagesz", "hugepages", DEFAULT_HUGEPAGESZ.key):
            if plan.spec.huge_pages.pages or plan.spec.huge_pages.default_size:
                yield diagnose("CP522", position, argument=argument)
        elif cpus := _switched_off(plan, name, value):
            yield diagnose("CP523", position, argument=argument, cpus=cpus_text(cpus))
        elif name in own and own[name] != value:
            yield diagnose("CP521", position, argument=argument, planned=" ".join(words[name]))
        # Further arguments are compared with this one. Sizes of huge pages take turns, so their
        # names repeat.
        if name not in own:
            own[name], words[name] = value, [argument]


def _switched_off(plan: NodePlan, name: str, value: Value) -> CpuSet:
    """The CPUs of the plan, offlined ones left out, that `name` keeps from coming up."""
    used = plan.topology.online - plan.pool("offlined").cpus
    if name == "nosmt":
        return used - CpuSet(plan.topology.cores)
    if (
        name in ("maxcpus", "nr_cpus")
        and isinstance(value, str)
        and value.isdecimal()
        and len(value) < 6
    ):
        # nr_cpus= bounds CPU numbers. maxcpus= counts what boots, in the order of the numbers.
        present = sorted(plan.topology.online | plan.topology.offline)
        limit = int(value)
        gone = (
            present[max(limit, 1) :]
            if name == "maxcpus"
            else [cpu for cpu in present if cpu >= max(limit, 1)]
        )
        return used & CpuSet(gone)
    return CpuSet()


def _check_hints(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """The pairs that the node tuning operator's webhook refuses, and kernels that do not exist."""
    hints, wanted = plan.spec.workload_hints, plan.spec.kernel
    power, pods = "workloadHints.highPowerConsumption", "workloadHints.perPodPowerManagement"
    pairs = [
        (
            hints.high_power_consumption and hints.per_pod_power_management,
            pods,
            "true",
            f"{power} true",
        ),
        (
            hints.real_time is False and wanted.real_time,
            "workloadHints.realTime",
            "false",
            "kernel.realTime true",
        ),
        (
            wanted.page_size == "64k" and wanted.real_time,
            "kernel.pageSize",
            "64k",
            "kernel.realTime true",
        ),
        (
            wanted.page_size == "64k" and plan.node_class.architecture not in ("aarch64", ""),
            "kernel.pageSize",
            "64k",
            f"hardware of architecture {plan.node_class.architecture}",
        ),
    ]
    for wrong, field, value, other in pairs:
        if wrong:
            position = locate(plan.node_class.place(field))
            yield diagnose("CP524", position, field=field, value=value, other=other)


def _check_length(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    limit = LINE_SIZES.get(plan.node_class.architecture, 2048) - OTHERS_SHARE
    length = len(plan.settings.text(kernel.NAME, kernel.render))
    if length > limit:
        position = locate(plan.node_class.place("pools"))
        yield diagnose("CP525", position, length=length, limit=limit, name=plan.node_class.name)


def _check_vendor(plan: NodePlan, locate: Locate) -> Iterator[Diagnostic]:
    """CPUs on which nothing is tuned."""
    node_class = plan.node_class
    if not kernel.is_tunable(plan):
        position = locate(node_class.hardware_place("vendor"))
        version = node_class.target.version
        yield diagnose("CP572", position, vendor=node_class.cpu_vendor, version=version)
