"""Boot arguments of which the kernel makes something else than their words say."""

import re
from collections.abc import Iterator

from cpuplan.components import booted, cmdline, isolation, kernel
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.facts.settings.kernel import NOHZ_FULL
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.setting import Setting
from cpuplan.upstream.linux.isolation import REDUNDANT, Remark

_FLAGS = re.compile(r"^(?:[a-z_]+,)+")


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP536 to CP538, and CP600."""
    given = _given(plan)
    for remark in booted.remarks_of(plan):
        if not _is_new(plan, remark, own=remark.key in given):
            continue
        code = "CP537" if remark.kind == REDUNDANT else "CP536"
        field = given.get(remark.key, "isolation")
        position = locate(plan.node_class.place(field))
        yield diagnose(
            code, position, argument=_argument(plan, remark), reason=remark.text, linux=booted.LINUX
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
        yield diagnose("CP538", position, linux=booted.LINUX)


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
