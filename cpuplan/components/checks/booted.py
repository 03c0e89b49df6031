"""Boot arguments of which the kernel makes something else than their words say."""

from collections.abc import Iterator

from cpuplan.components import booted, cmdline, kernel
from cpuplan.components.reasons import is_written
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.linux.remarks import REDUNDANT, Remark
from cpuplan.plan import ConfiguredPlan
from cpuplan.source import Locate


def check(plan: ConfiguredPlan, locate: Locate) -> Iterator[Diagnostic]:
    """CP536 to CP538."""
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


def _is_new(plan: ConfiguredPlan, remark: Remark, *, own: bool) -> bool:
    """Whether no other finding is about it.

    CP520 judges CPU lists among extra arguments, and CP214 a CPU 0 that is not reserved, unless its
    rule is off. Computed arguments say some things twice, as the node tuning operator does.
    """
    if own:
        return remark.key not in cmdline.CPU_LISTS
    has_rule = all(rule.disable != "cpu0-reserved" for rule in plan.spec.rules)
    return remark.key == "nohz_full" and not has_rule


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
    isolation = plan.spec.isolation
    is_alone = isolation.managed_irq and not isolation.domain and not isolation.nohz_full
    asked = is_written(plan, "isolation.managedIrq")
    if "isolcpus" in values and is_alone and asked:
        position = locate(plan.node_class.place("isolation.managedIrq"))
        yield diagnose("CP538", position, linux=booted.LINUX)
