"""What Tuned objects of others make of a plan: which profile nodes get, and what is in it.

The planned profile is taken as what nodes have of it: its options, and the boot arguments under the
names that the node tuning operator gives them. Its parents give nothing beside these.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple

from cpuplan.components import cmdline, kernel
from cpuplan.components.emission import emit
from cpuplan.components.host import tuned as common
from cpuplan.components.openshift import machineconfig, pool, tuned
from cpuplan.components.openshift.machineconfig import ROLE, WORKER
from cpuplan.diagnostics import Reason
from cpuplan.facts.settings import kernel as arguments
from cpuplan.facts.settings import table
from cpuplan.facts.settings import tuned as rows
from cpuplan.facts.settings.host import shown_in
from cpuplan.facts.settings.openshift import POOL_SELECTOR
from cpuplan.facts.settings.row import Form
from cpuplan.language.model.cluster import Tuned, TunedMatch, TunedRecommendation
from cpuplan.plan import ConfiguredPlan, NodePlan
from cpuplan.plan.setting import Effect, Evidence, Setting, Settings, Value
from cpuplan.upstream.mco.helpers import read_selector
from cpuplan.upstream.nto import profilecalculator
from cpuplan.upstream.nto.profilecalculator import Match, Recommendation
from cpuplan.upstream.tuned import merger, plugin_bootloader
from cpuplan.upstream.tuned.config_parser import Option, Sections
from cpuplan.upstream.tuned.functions import Machine
from cpuplan.upstream.tuned.loader import Loader, LoadError, Profile
from cpuplan.upstream.tuned.merger import Merged, Unit
from cpuplan.upstream.tuned.packaged import is_packaged
from cpuplan.upstream.tuned.plugin_bootloader import Word
from cpuplan.upstream.tuned.variables import UnknownValueError, Variables

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
_WITH_VARIABLES = ("isolated_cores", "not_isolated_cpumask", "not_isolated_cores_expanded")
#: Variables of cpu-partitioning, from `isolated_cores`.
_DERIVED = (
    ("isolated_cores_expanded", "${f:cpulist_unpack:${isolated_cores}}"),
    ("isolated_cpumask", "${f:cpulist2hex:${isolated_cores_expanded}}"),
    ("not_isolated_cores_expanded", "${f:cpulist_invert:${isolated_cores_expanded}}"),
    ("isolated_cores_online_expanded", "${f:cpulist_online:${isolated_cores}}"),
    ("not_isolated_cores_online_expanded", "${f:cpulist_online:${not_isolated_cores_expanded}}"),
    ("not_isolated_cpumask", "${f:cpulist2hex:${not_isolated_cores_expanded}}"),
)


class Evaluated(NamedTuple):
    """The profile that nodes of a class get, and what TuneD makes of it.

    `applying` are all recommendations for the nodes, the first one of which counts. `merged` is
    None where TuneD loads nothing, which `problem` tells.
    """

    planned: Recommendation
    applying: tuple[Recommendation, ...]
    profiles: tuple[Profile, ...] = ()
    merged: Merged | None = None
    variables: Variables | None = None
    words: tuple[Word, ...] = ()
    #: Options that only a node can tell: the section, the option and the profile.
    unknown: tuple[tuple[str, str, str], ...] = ()
    problem: LoadError | None = None

    @property
    def chosen(self) -> Recommendation:
        """The recommendation that counts."""
        return self.applying[0]

    @property
    def is_on_top(self) -> bool:
        """Whether the planned profile is in force, by itself or below others."""
        names = {profile.name for profile in self.profiles}
        return self.problem is None and self.planned.profile in names

    def options(self, section: str) -> Mapping[str, merger.Value]:
        """The options of a section that hold, those about the section included."""
        assert self.merged is not None  # noqa: S101 - callers ask whether it is on top
        if section == _VARIABLES:
            return self.merged.variables
        unit = self.merged.units.get(section)
        if unit is None:
            return {}
        return {**unit.about, **(unit.options if unit.is_enabled else {})}

    def text(self, value: merger.Value) -> str:
        """A value in which variables and functions are replaced, as far as that is known."""
        assert self.variables is not None  # noqa: S101 - the same
        try:
            return self.variables.expand(value.text)
        except UnknownValueError:
            return value.text


def others(plan: NodePlan) -> tuple[tuple[int, Tuned], ...]:
    """The Tuned objects of others with their numbers in the Cluster document."""
    own = tuned.of_operator(plan.node_class.profile)
    given = enumerate(plan.node_class.cluster_facts.tuneds)
    return tuple((number, item) for number, item in given if item.name != own)


@lru_cache(maxsize=256)
def written(plan: NodePlan) -> Settings:
    """The settings of the plan's own objects that decide."""
    components = (machineconfig, pool, tuned, kernel)
    return Settings(chain.from_iterable(component.settings(plan) for component in components))


def evaluated(plan: NodePlan) -> Evaluated | None:
    """What nodes of a class get; None where nobody has a Tuned object but cpuplan."""
    node_class = plan.node_class
    if not others(plan) or not node_class.platform.has_pools or node_class.target.is_hosted:
        return None
    if plan.spec.paused or not written(plan).of(tuned.NAME):
        return None
    return _evaluated(plan)


@lru_cache(maxsize=256)
def _evaluated(plan: NodePlan) -> Evaluated:
    name = tuned.of_operator(plan.node_class.profile)
    labels = machineconfig.labels(written(plan).of(machineconfig.NAME))
    planned = Recommendation(
        name,
        0,
        name,
        tuned.priority(labels),
        machine_config_labels=tuned.pool_labels(labels),
    )
    applying = tuple(_applying(plan, planned))
    outcome = Evaluated(planned, applying)
    profiles, unknown, problem = load(plan, outcome.chosen.profile)
    outcome = outcome._replace(profiles=profiles, problem=problem)
    if not outcome.is_on_top:
        return outcome._replace(unknown=unknown)
    merged = merger.merge((made.name, made.sections) for made in profiles if made.sections)
    variables = Variables(_machine(plan))
    variables.add(_with_derived(merged.variables))
    options, unknown_values = _expanded(merged, variables)
    return outcome._replace(
        merged=merged,
        variables=variables,
        words=tuple(plugin_bootloader.words(options)),
        unknown=(*unknown, *unknown_values),
    )


def _with_derived(variables: Mapping[str, merger.Value]) -> Iterator[tuple[str, str]]:
    """The variables of others after those of cpu-partitioning, which follow from the first one."""
    first = rows.ISOLATED_CORES.last
    if first in variables:
        yield first, variables[first].text
    yield from ((name, text) for name, text in _DERIVED if name not in variables)
    yield from ((name, value.text) for name, value in variables.items() if name != first)


def _expanded(
    merged: Merged, variables: Variables
) -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    """The options of the boot loader as (name, value); of what is not known, of all sections."""
    known: list[tuple[str, str]] = []
    unknown: list[tuple[str, str, str]] = []
    for section, unit in merged.units.items():
        if not unit.is_enabled:
            continue
        for name, value in unit.options.items():
            try:
                text = variables.expand(value.text)
            except UnknownValueError:
                unknown.append((section, name, value.profile))
                continue
            if section == _BOOTLOADER:
                known.append((name, text))
    return known, unknown


def _applying(plan: NodePlan, planned: Recommendation) -> Iterator[Recommendation]:
    """The recommendations for nodes of the class, in the order in which they count."""
    selectors = [read_selector(selector) for selector in _selectors(plan)]

    def selects(labels: Mapping[str, str]) -> bool:
        return any(selector.matches(labels) for selector in selectors if not selector.is_empty)

    given = chain([planned], *(_recommendations(item) for _, item in others(plan)))
    every = profilecalculator.in_order([*given, *profilecalculator.defaults()])
    for recommendation in every:
        if any(profilecalculator.is_for(recommendation, own, selects) for own in labels(plan)):
            yield recommendation


def labels(plan: NodePlan) -> tuple[Mapping[str, str], ...]:
    """The labels of the nodes of a class: those of the inventory, and those of the pool."""
    selector = written(plan).values(pool.NAME)[pool.NODE_SELECTOR]
    of_pool = (
        {key: str(value) for key, value in selector.items()} if isinstance(selector, dict) else {}
    )
    return tuple({**of_pool, **own} for own in plan.node_class.labels or ({},))


def _selectors(plan: NodePlan) -> Iterator[object]:
    """Which MachineConfigs the pools of a node take: a custom pool's, and those of the workers."""
    name = plan.node_class.target.pool or ""
    if name not in pool.BUILT_IN:
        yield pool.document(written(plan).of(pool.NAME))["spec"][POOL_SELECTOR.key]
        name = WORKER
    yield {"matchLabels": {ROLE: name}}


def _recommendations(given: Tuned) -> Iterator[Recommendation]:
    for index, item in enumerate(given.recommend):
        match = None if item.match is None else match_of(item)
        yield Recommendation(
            given.name, index, item.profile, item.priority, match, item.machine_config_labels
        )


def match_of(given: TunedRecommendation) -> tuple[Match, ...]:
    """The labels that a recommendation is for."""
    return tuple(map(_match, given.match or ()))


def _match(given: TunedMatch) -> Match:
    below = tuple(_match(TunedMatch.model_validate(item)) for item in given.match)
    return Match(given.label, given.value, given.type == "pod", below)


def load(
    plan: NodePlan, name: str
) -> tuple[tuple[Profile, ...], tuple[tuple[str, str, str], ...], LoadError | None]:
    """The profiles that a profile is made of, includes that are not known, and what is wrong."""
    texts: dict[str, str | Sections] = {}
    for _, item in sorted(others(plan), key=lambda numbered: numbered[1].name):
        texts |= {profile.name: profile.data for profile in item.profile}
    texts[tuned.of_operator(plan.node_class.profile)] = _planned_sections(plan)
    # Variables are defined after profiles are loaded.
    loader = Loader(texts, is_packaged, Variables(_machine(plan)).expand)
    problem = None
    try:
        loader.load(name)
    except LoadError as error:
        problem = error
    unknown = tuple((merger.MAIN, "include", profile) for profile, _ in loader.unknown)
    return tuple(loader.profiles), unknown, problem


def _machine(plan: NodePlan) -> Machine:
    node_class, topology = plan.node_class, plan.topology
    online = topology.online - plan.pool("offlined").cpus
    vendor = f"Vendor ID: {node_class.cpu_vendor}\n" if node_class.cpu_vendor else ""
    return Machine(
        tuple(online),
        tuple(topology.online | topology.offline),
        f"Architecture: {node_class.architecture}\n{vendor}",
    )


def _planned_sections(plan: NodePlan) -> Sections:
    """The planned profile; its parents are in it."""
    options = [
        (*setting.key.split(".", 1), str(setting.value))
        for setting in written(plan).of(tuned.NAME)
        if setting.key != rows.INCLUDE.key
    ]
    triples = [(section, name, text) for section, name, text in options]
    if plan.node_class.target.is_profile:
        triples += _planned_arguments(plan)
    return merger.sections_of(triples)


def _planned_arguments(plan: NodePlan) -> Iterator[tuple[str, str, str]]:
    """The arguments by option; lists of CPUs follow from variables where they are theirs."""
    variables = Variables(_machine(plan))
    isolated = str(written(plan).value(rows.ISOLATED_CORES) or "")
    variables.add([(rows.ISOLATED_CORES.last, isolated), *_DERIVED])
    names = {variables.get(name): name for name in _WITH_VARIABLES}
    words: dict[str, list[str]] = {}
    for setting in written(plan).of(kernel.NAME):
        texts = cmdline.words(setting.key, setting.value)
        if setting.key in cmdline.CPU_LISTS:
            texts = [_with_variable(text, names) for text in texts]
        words.setdefault(option_of(plan, setting.key), []).extend(texts)
    for name, texts in words.items():
        yield _BOOTLOADER, name, f"+{' '.join(texts)}"


def _with_variable(word: str, names: Mapping[str | None, str]) -> str:
    """`name=2-31` as `name=${isolated_cores}`, after flags too."""
    key, _, value = word.partition("=")
    flags = "".join(re.findall(r"[a-z_]+,", value))
    name = names.get(value[len(flags) :])
    return f"{key}={flags}${{{name}}}" if name else word


def option_of(plan: NodePlan, key: str) -> str:
    """The option of the operator's profile that has a boot argument."""
    vendor = _VENDORS.get(plan.node_class.cpu_vendor, "arm")
    if key.startswith("hugepagesz="):
        key = arguments.DEFAULT_HUGEPAGESZ.key
    names = (name for name, keys in _OPTIONS.items() if key in keys)
    return next(names, _OTHER_ARGUMENTS).format(vendor=vendor)


def place_of(plan: NodePlan, profile: str) -> str:
    """The place of the text of a profile in the Cluster document; "" of one that is not there."""
    place = ""
    for number, item in sorted(others(plan), key=lambda numbered: numbered[1].name):
        for index, given in enumerate(item.profile):
            if given.name == profile:
                field = f"tuneds.{number}.profile.{index}.data"
                place = plan.node_class.cluster_place(field)
    return place


def at(place: str, option: Option, word: str = "") -> str:
    """The place of an option, or of a word of its value, within the text at `place`."""
    for line in option.lines if word else ():
        if (column := line.text.find(word)) >= 0:
            start = line.column + column
            return f"{place}#{line.line}.{start}.{start + len(word)}"
    last = option.lines[0]
    end = last.column + len(last.text) if last.line == option.line else option.column + 1
    return f"{place}#{option.line}.{option.column}.{end}"


def owner(plan: NodePlan, profile: str) -> str:
    """The name of the Tuned object that has a profile; "" of a planned or packaged one."""
    names = [
        item.name
        for _, item in sorted(others(plan), key=lambda numbered: numbered[1].name)
        for given in item.profile
        if given.name == profile
    ]
    return names[-1] if names else ""


def in_force(plan: ConfiguredPlan) -> Settings:
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


def _reason(plan: NodePlan, profile: str, option: Option, word: str = "") -> Reason:
    text = f"profile {profile} of Tuned {owner(plan, profile)} says so"
    return Reason(text, at(place_of(plan, profile), option, word))


def _options(plan: NodePlan, outcome: Evaluated) -> Iterator[Setting]:
    """Options of the planned profile as they hold, and further ones that others add."""
    assert outcome.merged is not None  # noqa: S101 - the profile is on top
    known = set()
    for setting in written(plan).of(tuned.NAME):
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
_SYSCTL = re.compile(r"\w[\w-]*(\.[\w-]+)+")


def _option(plan: NodePlan, outcome: Evaluated, key: str, value: merger.Value) -> Iterator[Setting]:
    """The setting of an option of others, unless nobody could read its value."""
    text = outcome.text(value)
    because = (_reason(plan, value.profile, value.option),)
    row = table.row_of(rows.NAME, key)
    is_number = row is None or row.file is None or row.file[1] is not Form.NUMBER
    if key.startswith(_GROUPS) and not _GROUP.fullmatch(text):
        return
    if row and (is_number or re.fullmatch(r"-?[0-9]{1,18}", text)):
        own: Value = text
        if row is rows.ISOLATED_CORES:
            own = common.cpus(text)
        yield from emit(plan, row, own, because, **row.names_in(key))
    elif row is None and not key.startswith("sysfs./sys/devices/system/cpu/cpufreq/"):
        yield Setting(rows.NAME, key, text, because, _effect(key, text))


def _effect(key: str, text: str) -> Effect:
    """Of a sysctl its file, unless the value is a bound or a list, which the kernel aligns."""
    section, _, name = key.partition(".")
    path = shown_in(name)
    is_shown = section == "sysctl" and _SYSCTL.fullmatch(name) and re.fullmatch(r"-?\w+", text)
    evidence = (Evidence(path, Form.TEXT, text),) if is_shown else ()
    shown_by = f"/{path}" if is_shown else "tuned-adm verify"
    return Effect(shown_by, rows.BY_OPERATOR.cost, evidence)


def added(outcome: Evaluated) -> list[Word]:
    """The boot arguments of profiles that are not the planned one."""
    options = outcome.options(_BOOTLOADER)
    own = outcome.planned.profile
    return [word for word in outcome.words if options[word.option].profile != own]


def _arguments(plan: NodePlan, outcome: Evaluated) -> Iterator[Setting]:
    """The boot arguments of a node: TuneD's, and those of the plan's own MachineConfig."""
    own_arguments = written(plan).of(kernel.NAME)
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


def _why(plan: NodePlan, outcome: Evaluated, key: str, value: Value) -> tuple[Reason, ...]:
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


def by_priority(applying: Sequence[Recommendation]) -> tuple[Recommendation, ...]:
    """The recommendations of the priority that counts which name another profile."""
    first = applying[0]
    return tuple(
        given
        for given in applying[1:]
        if given.priority == first.priority and given.profile != first.profile
    )
