"""What Tuned objects of others make of a plan: which profile nodes get, and what is in it.

The planned profile is taken as what nodes have of it: its parents give nothing beside its options.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias

from cpuplan.components.openshift import machineconfig, pool, tuned
from cpuplan.components.openshift.machineconfig import ROLE, WORKER
from cpuplan.facts.settings import tuned as rows
from cpuplan.facts.settings.openshift import POOL_SELECTOR
from cpuplan.language.model.cluster import Tuned, TunedMatch, TunedRecommendation
from cpuplan.plan import NodePlan
from cpuplan.plan.setting import Settings
from cpuplan.upstream.mco.helpers import read_selector
from cpuplan.upstream.nto import profilecalculator
from cpuplan.upstream.nto.profilecalculator import Match, Recommendation
from cpuplan.upstream.tuned import merger, plugin_bootloader
from cpuplan.upstream.tuned.config_parser import Option, Sections
from cpuplan.upstream.tuned.functions import Machine
from cpuplan.upstream.tuned.loader import Loader, LoadError, Profile
from cpuplan.upstream.tuned.merger import Merged
from cpuplan.upstream.tuned.packaged import is_packaged
from cpuplan.upstream.tuned.plugin_bootloader import Word
from cpuplan.upstream.tuned.variables import UnknownValueError, Variables

_BOOTLOADER, _VARIABLES = plugin_bootloader.SECTION, merger.VARIABLES
#: Variables of cpu-partitioning, from `isolated_cores`.
DERIVED = (
    ("isolated_cores_expanded", "${f:cpulist_unpack:${isolated_cores}}"),
    ("isolated_cpumask", "${f:cpulist2hex:${isolated_cores_expanded}}"),
    ("not_isolated_cores_expanded", "${f:cpulist_invert:${isolated_cores_expanded}}"),
    ("isolated_cores_online_expanded", "${f:cpulist_online:${isolated_cores}}"),
    ("not_isolated_cores_online_expanded", "${f:cpulist_online:${not_isolated_cores_expanded}}"),
    ("not_isolated_cpumask", "${f:cpulist2hex:${not_isolated_cores_expanded}}"),
)


#: Options of the boot loader: names and values.
Arguments: TypeAlias = tuple[tuple[str, str], ...]


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
    components = (machineconfig, pool, tuned)
    return Settings(chain.from_iterable(component.settings(plan) for component in components))


def evaluated(plan: NodePlan, arguments: Arguments = ()) -> Evaluated | None:
    """What nodes of a class get; None where nobody has a Tuned object but cpuplan.

    `arguments` are options of the planned profile with boot arguments: without them, the words are
    those of others alone.
    """
    node_class = plan.node_class
    if not others(plan) or not node_class.platform.has_pools or node_class.target.is_hosted:
        return None
    if plan.spec.paused or not written(plan).of(tuned.NAME):
        return None
    return _evaluated(plan, arguments)


@lru_cache(maxsize=256)
def _evaluated(plan: NodePlan, arguments: Arguments) -> Evaluated:
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
    profiles, unknown, problem = load(plan, outcome.chosen.profile, arguments)
    outcome = outcome._replace(profiles=profiles, problem=problem)
    if not outcome.is_on_top:
        return outcome._replace(unknown=unknown)
    merged = merger.merge((made.name, made.sections) for made in profiles if made.sections)
    variables = Variables(machine(plan))
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
    yield from ((name, text) for name, text in DERIVED if name not in variables)
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
    plan: NodePlan, name: str, arguments: Arguments = ()
) -> tuple[tuple[Profile, ...], tuple[tuple[str, str, str], ...], LoadError | None]:
    """The profiles that a profile is made of, includes that are not known, and what is wrong."""
    texts: dict[str, str | Sections] = {}
    for _, item in sorted(others(plan), key=lambda numbered: numbered[1].name):
        texts |= {profile.name: profile.data for profile in item.profile}
    texts[tuned.of_operator(plan.node_class.profile)] = _planned_sections(plan, arguments)
    # Variables are defined after profiles are loaded.
    loader = Loader(texts, is_packaged, Variables(machine(plan)).expand)
    problem = None
    try:
        loader.load(name)
    except LoadError as error:
        problem = error
    unknown = tuple((merger.MAIN, "include", profile) for profile, _ in loader.unknown)
    return tuple(loader.profiles), unknown, problem


def machine(plan: NodePlan) -> Machine:
    """What TuneD's functions read of a node."""
    node_class, topology = plan.node_class, plan.topology
    online = topology.online - plan.pool("offlined").cpus
    vendor = f"Vendor ID: {node_class.cpu_vendor}\n" if node_class.cpu_vendor else ""
    return Machine(
        tuple(online),
        tuple(topology.online | topology.offline),
        f"Architecture: {node_class.architecture}\n{vendor}",
    )


def _planned_sections(plan: NodePlan, arguments: Arguments) -> Sections:
    """The planned profile; its parents are in it."""
    options = [
        (*setting.key.split(".", 1), str(setting.value))
        for setting in written(plan).of(tuned.NAME)
        if setting.key != rows.INCLUDE.key
    ]
    triples = [(section, name, text) for section, name, text in options]
    triples += [(_BOOTLOADER, name, text) for name, text in arguments]
    return merger.sections_of(triples)


def added(outcome: Evaluated) -> list[Word]:
    """The boot arguments of profiles that are not the planned one."""
    options = outcome.options(_BOOTLOADER)
    own = outcome.planned.profile
    return [word for word in outcome.words if options[word.option].profile != own]


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


def by_priority(applying: Sequence[Recommendation]) -> tuple[Recommendation, ...]:
    """The recommendations of the priority that counts which name another profile."""
    first = applying[0]
    return tuple(
        given
        for given in applying[1:]
        if given.priority == first.priority and given.profile != first.profile
    )
