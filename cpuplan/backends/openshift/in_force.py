"""The settings that nodes get: a plan's own, under what Tuned objects of others put on top.

Boot arguments of the planned profile have the names that the node tuning operator gives them, by
which others may replace them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain

from cpuplan.components import cmdline, kernel
from cpuplan.components.emission import emit
from cpuplan.components.openshift import tuned
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import kernel as arguments
from cpuplan.facts.settings import table
from cpuplan.facts.settings import tuned as rows
from cpuplan.facts.settings.host import shown_in
from cpuplan.facts.settings.row import Form
from cpuplan.plan import ConfiguredPlan, tuned_profiles
from cpuplan.plan.setting import Effect, Evidence, Setting, Settings, Value, cpus_or_text
from cpuplan.plan.tuned_profiles import DERIVED, Evaluated, Options, Planned, added, at
from cpuplan.upstream.tuned import merger, plugin_bootloader
from cpuplan.upstream.tuned.config_parser import Option
from cpuplan.upstream.tuned.merger import Unit
from cpuplan.upstream.tuned.variables import Variables

_BOOTLOADER, _VARIABLES = plugin_bootloader.SECTION, merger.VARIABLES
#: The options of the operator's profile, and of its parents, that have boot arguments
#: (assets/performanceprofile/tuned; TuneD's network-latency).
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "cmdline_network_latency": (
        arguments.TSC.key,
        arguments.RCU_NORMAL_AFTER_BOOT.key,
        arguments.PATIENCE_DELAY.key,
    ),
    "cmdline_cpu_part": (
        arguments.NOHZ.key,
        arguments.RCU_NOCBS.key,
        arguments.NON_ISOLCPUS.key,
        arguments.CPU_AFFINITY.key,
    ),
    "cmdline_cpu_part_nohzfull": (arguments.NOHZ_FULL.key,),
    "cmdline_cpu_tuning": (arguments.SKEW_TICK.key,),
    "cmdline_iommu_{vendor}": (
        arguments.INTEL_IOMMU.key,
        arguments.IOMMU.key,
        arguments.IOMMU_PASSTHROUGH.key,
    ),
    "cmdline_pstate": (arguments.INTEL_PSTATE.key, arguments.AMD_PSTATE.key),
    "cmdline_realtime_{vendor}": (arguments.NMI_WATCHDOG.key, arguments.MCE.key),
    "cmdline_power_performance_{vendor}": (
        arguments.MAX_CSTATE.key,
        arguments.INTEL_IDLE_MAX_CSTATE.key,
    ),
    "cmdline_idle_poll_{vendor}": (arguments.IDLE.key,),
    "cmdline_isolation": (arguments.ISOLCPUS.key,),
    "cmdline_realtime_nosoftlookup": (arguments.NOSOFTLOCKUP.key,),
    "cmdline_realtime_common": (arguments.KTHREAD_PRIO.key,),
    "cmdline_hugepages": (arguments.DEFAULT_HUGEPAGESZ.key,),
    "cmdline_irqaffinity": (arguments.IRQAFFINITY.key,),
}
_OTHER_ARGUMENTS = "cmdline_additionalArg"
_VENDORS = {kernel.INTEL: "intel", kernel.AMD: "amd", kernel.ARM: "arm"}
#: Variables that the operator's profile writes arguments with, which others may set.
_WITH_VARIABLES = (rows.ISOLATED_CORES.last, "not_isolated_cpumask", "not_isolated_cores_expanded")


def evaluated(plan: ConfiguredPlan) -> Evaluated | None:
    """What nodes of a class get, on top of the plan's own profile and boot arguments."""
    if not plan.node_class.cluster_facts.tuneds or not plan.written.of(tuned.NAME):
        return None
    return tuned_profiles.evaluated(plan.node_class, _planned(plan))


@lru_cache(maxsize=256)
def _planned(plan: ConfiguredPlan) -> Planned:
    options = tuple(
        (section, name, str(setting.value))
        for setting in plan.written.of(tuned.NAME)
        for section, _, name in [setting.key.partition(".")]
        if setting.key != rows.INCLUDE.key
    )
    if plan.node_class.target.is_profile:
        options += _planned_arguments(plan)
    return Planned(options, plan.pool("offlined").cpus)


def _planned_arguments(plan: ConfiguredPlan) -> Options:
    """The arguments by option; lists of CPUs follow from variables where they are theirs."""
    machine = tuned_profiles.machine(plan.node_class, plan.pool("offlined").cpus)
    variables = Variables(machine)
    isolated = str(plan.written.value(rows.ISOLATED_CORES) or "")
    variables.add([(rows.ISOLATED_CORES.last, isolated), *DERIVED])
    names = {variables.get(name): name for name in _WITH_VARIABLES}
    words: dict[str, list[str]] = {}
    for setting in plan.written.of(kernel.NAME):
        texts = cmdline.words(setting.key, setting.value)
        if setting.key in cmdline.CPU_LISTS:
            texts = [_with_variable(text, names) for text in texts]
        words.setdefault(option_of(plan, setting.key), []).extend(texts)
    return tuple((_BOOTLOADER, name, f"+{' '.join(texts)}") for name, texts in words.items())


def _with_variable(word: str, names: Mapping[str | None, str]) -> str:
    """`name=2-31` as `name=${variable}` of the isolated CPUs, after flags too."""
    key, _, value = word.partition("=")
    flags = "".join(re.findall(r"[a-z_]+,", value))
    name = names.get(value[len(flags) :])
    return f"{key}={flags}${{{name}}}" if name else word


def option_of(plan: ConfiguredPlan, key: str) -> str:
    """The option of the operator's profile that has a boot argument."""
    vendor = _VENDORS.get(plan.node_class.cpu_vendor, "arm")
    if key.startswith("hugepagesz="):
        key = arguments.DEFAULT_HUGEPAGESZ.key
    names = (name for name, keys in _OPTIONS.items() if key in keys)
    return next(names, _OTHER_ARGUMENTS).format(vendor=vendor)


def settings(plan: ConfiguredPlan) -> Settings:
    """The settings that nodes get; those of the plan where no other profile is on top of its."""
    outcome = evaluated(plan)
    if outcome is None or outcome.chosen == outcome.planned or not outcome.is_on_top:
        return plan.written
    replaced = {
        tuned.NAME: list(_options(plan, outcome)),
        kernel.NAME: list(_arguments(plan, outcome)),
    }
    components = dict.fromkeys(setting.component for setting in plan.written)
    made = (replaced.get(name, plan.written.of(name)) for name in (components | replaced))
    return Settings(chain.from_iterable(made))


def _reason(plan: ConfiguredPlan, profile: str, option: Option, word: str = "") -> Reason:
    text = f"profile {profile} of Tuned {tuned_profiles.owner(plan.node_class, profile)} says so"
    return Reason(text, at(tuned_profiles.place_of(plan.node_class, profile), option, word))


def _options(plan: ConfiguredPlan, outcome: Evaluated) -> Iterator[Setting]:
    """Options of the planned profile as they hold, and further ones that others add."""
    assert outcome.merged is not None  # noqa: S101 - the profile is on top
    known = set()
    for setting in plan.written.of(tuned.NAME):
        known.add(setting.key)
        section, _, name = setting.key.partition(".")
        value = outcome.options(section).get(name)
        is_own = value is not None and value.profile == outcome.planned.profile
        if is_own or section in (merger.MAIN, _BOOTLOADER):
            yield setting
        elif value:
            yield from _option(plan, outcome, setting.key, value)
    for section, unit in outcome.merged.units.items():
        if section == _BOOTLOADER or not unit.is_enabled:
            continue
        for name, value in unit.options.items():
            key = f"{_section(section, unit)}.{name}"
            if key not in known and value.profile != outcome.planned.profile:
                yield from _option(plan, outcome, key, value)


def _section(name: str, unit: Unit) -> str:
    """Sections of one plugin may have any names; sysctls are sysctls in all of them."""
    return unit.type if unit.type == "sysctl" else name


#: What `check` reads in parts: a policy, a priority, CPUs and an expression for names of threads.
_GROUP = re.compile(r"[0-9-]{1,5}:[fbroi*]?:[0-9]{1,3}:[^:]*:[\w.*/@^$ -]{1,64}")
_GROUPS = "scheduler.group."
#: Files of one CPU; TuneD takes patterns for them too.
_FREQUENCIES = "sysfs./sys/devices/system/cpu/cpufreq/"
_FREQUENCY = re.compile(rf"{re.escape(_FREQUENCIES)}policy[0-9]{{1,5}}/\w+")
_SYSCTL = re.compile(r"\w[\w-]*(\.[\w-]+)+")


def _option(
    plan: ConfiguredPlan, outcome: Evaluated, key: str, value: merger.Value
) -> Iterator[Setting]:
    """The setting of an option of others, unless nobody could read its value."""
    text = outcome.text(value)
    because = (_reason(plan, value.profile, value.option),)
    row = table.row_of(rows.NAME, key)
    is_number = row is None or row.file is None or row.file[1] is not Form.NUMBER
    if key.startswith(_GROUPS) and not _GROUP.fullmatch(text):
        return
    if key.startswith(_FREQUENCIES) and not _FREQUENCY.fullmatch(key):
        return
    if row and (is_number or re.fullmatch(r"-?[0-9]{1,18}", text)):
        own: Value = text
        if row is rows.ISOLATED_CORES:
            own = cpus_or_text(text)
        yield from emit(plan, row, own, because, **row.names_in(key))
    elif row is None:
        yield Setting(rows.NAME, key, text, because, _effect(key, text))


def _effect(key: str, text: str) -> Effect:
    """Of a sysctl its file, unless the value is a bound or a list, which the kernel aligns."""
    section, _, name = key.partition(".")
    path = shown_in(name)
    is_shown = section == "sysctl" and _SYSCTL.fullmatch(name) and re.fullmatch(r"-?\w+", text)
    evidence = (Evidence(path, Form.TEXT, text),) if is_shown else ()
    shown_by = f"/{path}" if is_shown else "tuned-adm verify"
    return Effect(shown_by, rows.BY_OPERATOR.cost, evidence)


def _arguments(plan: ConfiguredPlan, outcome: Evaluated) -> Iterator[Setting]:
    """The boot arguments of a node: TuneD's, and those of the plan's own MachineConfig."""
    own_arguments = plan.written.of(kernel.NAME)
    texts = [word.text for word in outcome.words]
    if not plan.node_class.target.is_profile:
        # Both MachineConfigs are merged in the order of their names: 50-nto comes first.
        texts += kernel.arguments(own_arguments)
    by_key = {cmdline.canonical(setting.key): setting for setting in own_arguments}
    made: list[Setting] = []
    for key, value in cmdline.keyed(" ".join(texts)).items():
        own = by_key.get(cmdline.canonical(key))
        if own and own.value == value:
            made.append(own)
            continue
        because = _why(plan, outcome, key, value)
        if own:
            made.append(own._replace(value=value, reasons=because))
        else:
            made += emit(plan, arguments.FURTHER, value, because, argument=key)
    yield from kernel.with_evidence(made, plan.topology)


def _why(plan: ConfiguredPlan, outcome: Evaluated, key: str, value: Value) -> tuple[Reason, ...]:
    """The option that gives an argument, or the variable that it follows from."""
    last = cmdline.words(key, value)[-1]
    name = key.partition("=")[0]
    for word in reversed(added(outcome)):
        if word.text == last or cmdline.canonical(word.text).startswith(cmdline.canonical(name)):
            given = outcome.options(_BOOTLOADER)[word.option]
            return (_reason(plan, given.profile, given.option, word.text),)
    changed = (
        value
        for value in outcome.options(_VARIABLES).values()
        if value.profile != outcome.planned.profile
    )
    return tuple(_reason(plan, variable.profile, variable.option) for variable in changed)


def profiles_of(plans: Iterable[ConfiguredPlan]) -> Mapping[tuple[str, str], str]:
    """The names of profiles in force that are not the planned ones, by the keys of classes."""
    made: dict[tuple[str, str], str] = {}
    for plan in plans:
        outcome = evaluated(plan)
        if outcome and outcome.chosen.profile != outcome.planned.profile:
            made[plan.node_class.key] = outcome.chosen.profile
    return made
