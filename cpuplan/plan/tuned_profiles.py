"""What Tuned objects of others make of a class: which profile nodes get, and what is in it.

The planned profile is taken as what nodes have of it: its parents give nothing beside its options.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from typing import NamedTuple, TypeAlias

from cpuplan.base.cpuset import EMPTY, CpuSet
from cpuplan.facts.settings import tuned as rows
from cpuplan.language.model.cluster import Tuned, TunedMatch, TunedRecommendation
from cpuplan.language.model.vocabulary import (
    BUILT_IN_POOLS,
    MACHINE_ROLE,
    WORKER,
    node_selector,
    takes_machine_config,
)
from cpuplan.plan import NodeClass
from cpuplan.upstream.nto import profilecalculator
from cpuplan.upstream.nto.profilecalculator import Match, Recommendation, performance_profile
from cpuplan.upstream.tuned import merger, plugin_bootloader
from cpuplan.upstream.tuned.config_parser import Option, Sections
from cpuplan.upstream.tuned.functions import Machine
from cpuplan.upstream.tuned.loader import INCLUDE, Loader, LoadError, Profile
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


#: The section, the name and the value of each option.
Options: TypeAlias = tuple[tuple[str, str, str], ...]
#: Lower numbers win; the operator's own profiles have 30 and 40. Nodes of custom pools match the
#: profile of the pool worker too (pkg/operator/profilecalculator.go: their pools are both).
PRIORITY, WORKER_PRIORITY = 20, 25


class Planned(NamedTuple):
    """The planned profile, and the CPUs that are switched off by it."""

    options: Options = ()
    offlined: CpuSet = EMPTY


NOTHING = Planned()


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


def others(node_class: NodeClass) -> tuple[tuple[int, Tuned], ...]:
    """The Tuned objects of others with their numbers in the Cluster document."""
    own = performance_profile(node_class.profile)
    given = enumerate(node_class.cluster_facts.tuneds)
    return tuple((number, item) for number, item in given if item.name != own)


def planned(node_class: NodeClass) -> Recommendation:
    """The recommendation of the class's own profile; the operator gives all the same priority."""
    name, target = performance_profile(node_class.profile), node_class.target
    labels = target.machine_config_label or {MACHINE_ROLE: target.pool or ""}
    is_marked = target.pool == WORKER and not target.is_profile
    priority = WORKER_PRIORITY if is_marked else PRIORITY
    return Recommendation(name, 0, name, priority, machine_config_labels={**labels})


def evaluated(node_class: NodeClass, profile: Planned = NOTHING) -> Evaluated | None:
    """What nodes of a class get; None where nobody has a Tuned object but cpuplan.

    Without the planned `profile`, the result has what others say alone.
    """
    if not others(node_class) or not node_class.platform.has_pools:
        return None
    if node_class.target.is_hosted or node_class.spec.paused:
        return None
    return _evaluated(node_class, profile)


@lru_cache(maxsize=256)
def _evaluated(node_class: NodeClass, profile: Planned) -> Evaluated:
    outcome = Evaluated(planned(node_class), tuple(_applying(node_class)))
    profiles, unknown, problem = load(node_class, outcome.chosen.profile, profile)
    outcome = outcome._replace(profiles=profiles, problem=problem)
    if not outcome.is_on_top:
        return outcome._replace(unknown=unknown)
    merged = merger.merge((made.name, made.sections) for made in profiles if made.sections)
    variables = Variables(machine(node_class, profile.offlined))
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


def _applying(node_class: NodeClass) -> Iterator[Recommendation]:
    """The recommendations for nodes of the class, in the order in which they count."""
    target = node_class.target

    def selects(wanted: Mapping[str, str]) -> bool:
        # Nodes of a custom pool are in the pool of the workers too.
        is_of_workers = target.pool not in BUILT_IN_POOLS and wanted.get(MACHINE_ROLE) == WORKER
        return is_of_workers or takes_machine_config(target, wanted)

    given = chain(
        [planned(node_class)], *(_recommendations(item) for _, item in others(node_class))
    )
    for recommendation in profilecalculator.in_order([*given, *profilecalculator.defaults()]):
        own = labels(node_class)
        if any(profilecalculator.is_for(recommendation, known, selects) for known in own):
            yield recommendation


def labels(node_class: NodeClass) -> tuple[Mapping[str, str], ...]:
    """The labels of the nodes of a class: those of the inventory, and those of the pool."""
    of_pool = node_selector(node_class.target)
    return tuple({**of_pool, **own} for own in node_class.labels or ({},))


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
    below = tuple(_match(TunedMatch.read(item)) for item in given.match)
    return Match(given.label, given.value, given.type == "pod", below)


def load(
    node_class: NodeClass, name: str, profile: Planned = NOTHING
) -> tuple[tuple[Profile, ...], tuple[tuple[str, str, str], ...], LoadError | None]:
    """The profiles that a profile is made of, includes that are not known, and what is wrong."""
    texts: dict[str, str | Sections] = {}
    for _, item in sorted(others(node_class), key=lambda numbered: numbered[1].name):
        texts |= {given.name: given.data for given in item.profile}
    texts[performance_profile(node_class.profile)] = merger.sections_of(profile.options)
    # Variables are defined after profiles are loaded.
    loader = Loader(texts, is_packaged, Variables(machine(node_class, profile.offlined)).expand)
    problem = None
    try:
        loader.load(name)
    except LoadError as error:
        problem = error
    unknown = tuple((merger.MAIN, INCLUDE, of_profile) for of_profile, _ in loader.unknown)
    return tuple(loader.profiles), unknown, problem


def machine(node_class: NodeClass, offlined: CpuSet = EMPTY) -> Machine:
    """What TuneD's functions read of a node."""
    topology = node_class.topology
    vendor = f"Vendor ID: {node_class.cpu_vendor}\n" if node_class.cpu_vendor else ""
    return Machine(
        tuple(topology.online - offlined),
        tuple(topology.online | topology.offline),
        f"Architecture: {node_class.architecture}\n{vendor}",
    )


def added(outcome: Evaluated) -> list[Word]:
    """The boot arguments of profiles that are not the planned one."""
    options = outcome.options(_BOOTLOADER)
    own = outcome.planned.profile
    return [word for word in outcome.words if options[word.option].profile != own]


def arguments(node_class: NodeClass) -> Iterator[tuple[str, str]]:
    """The boot arguments that others give the nodes, each with its place.

    Those that follow from variables of the planned profile are left out.
    """
    outcome = evaluated(node_class)
    if outcome is None or not outcome.is_on_top:
        return
    for word in added(outcome):
        if "${" in word.text:
            continue
        value = outcome.options(_BOOTLOADER)[word.option]
        yield word.text, at(place_of(node_class, value.profile), value.option, word.text)


def place_of(node_class: NodeClass, profile: str) -> str:
    """The place of the text of a profile in the Cluster document; "" of one that is not there."""
    place = ""
    for number, item in sorted(others(node_class), key=lambda numbered: numbered[1].name):
        for index, given in enumerate(item.profile):
            if given.name == profile:
                field = f"tuneds.{number}.profile.{index}.data"
                place = node_class.cluster_place(field)
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


def owner(node_class: NodeClass, profile: str) -> str:
    """The name of the Tuned object that has a profile; "" of a planned or packaged one."""
    names = [
        item.name
        for _, item in sorted(others(node_class), key=lambda numbered: numbered[1].name)
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
