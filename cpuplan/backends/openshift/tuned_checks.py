"""What is wrong with Tuned objects of others, for the nodes of a class."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.backends.openshift import in_force
from cpuplan.base.text import joined
from cpuplan.components import cmdline, kernel
from cpuplan.components.checks.kernel import diagnostics, problems
from cpuplan.components.openshift import tuned
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.facts.settings import tuned as rows
from cpuplan.plan import ConfiguredPlan, tuned_profiles
from cpuplan.plan.setting import cpus_or_text
from cpuplan.plan.tuned_profiles import Evaluated
from cpuplan.upstream.linux import hugetlb
from cpuplan.upstream.linux.cmdline import Argument, arguments
from cpuplan.upstream.nto.profilecalculator import Recommendation, is_by_labels, uses_pods
from cpuplan.upstream.tuned import merger, plugin_bootloader
from cpuplan.upstream.tuned.config_parser import Option
from cpuplan.upstream.tuned.loader import LoadError
from cpuplan.upstream.tuned.packaged import PARENTS

_BOOTLOADER = plugin_bootloader.SECTION


class _Case(NamedTuple):
    """A class with what its nodes get, and how lines are found."""

    plan: ConfiguredPlan
    outcome: Evaluated
    locate: Locate
    #: The profiles of other classes of the cluster.
    neighbours: frozenset[str]

    @property
    def names(self) -> dict[str, Any]:
        """What most messages name."""
        node_class = self.plan.node_class
        return {"pool": node_class.target.pool or "", "intent": node_class.intent}

    def recommended(self, given: Recommendation, field: str = "profile") -> Position | None:
        """The place of a field of a recommendation."""
        for number, item in tuned_profiles.others(self.plan.node_class):
            if item.name == given.tuned:
                path = f"tuneds.{number}.recommend.{given.number}.{field}"
                return self.locate(self.plan.node_class.cluster_place(path))
        return None

    def option(self, profile: str, option: Option, word: str = "") -> Position | None:
        """The place of an option of a profile, or of a word of its value."""
        place = tuned_profiles.place_of(self.plan.node_class, profile)
        return self.locate(tuned_profiles.at(place, option, word)) if place else None

    def line(self, profile: str, number: int) -> Position | None:
        """The place of a line of a profile."""
        place = tuned_profiles.place_of(self.plan.node_class, profile)
        return self.locate(f"{place}#{number}.1.2") if place else None


def check(plans: Sequence[ConfiguredPlan], locate: Locate) -> Iterator[Diagnostic]:
    """All of it, for the classes of one cluster."""
    profiles = {plan.node_class.key: tuned.of_operator(plan.node_class.profile) for plan in plans}
    for plan in plans:
        outcome = in_force.evaluated(plan)
        if outcome:
            own = profiles[plan.node_class.key]
            neighbours = frozenset(profiles.values()) - {own}
            yield from _of_class(_Case(plan, outcome, locate, neighbours))


def _of_class(case: _Case) -> Iterator[Diagnostic]:
    yield from _of_priority(case)
    yield from _of_pods(case)
    yield from _duplicates(case)
    outcome = case.outcome
    if outcome.problem:
        yield _unloadable(case, outcome.chosen, outcome.problem)
        return
    yield from _unknown(case)
    if not outcome.is_on_top:
        yield diagnose(
            "CP5381",
            case.recommended(outcome.chosen),
            profile=outcome.chosen.profile,
            name=outcome.chosen.tuned,
            priority=outcome.chosen.priority,
            planned=outcome.planned.profile,
            own=outcome.planned.priority,
            **case.names,
        )
        return
    if outcome.chosen == outcome.planned:
        yield from _without_effect(case)
        return
    yield from _without_arguments(case)
    yield from _of_arguments(case)
    yield from _of_options(case)


def _unloadable(case: _Case, given: Recommendation, problem: LoadError) -> Diagnostic:
    """CP5382: TuneD applies nothing, and the operator reports the node's Profile as degraded."""
    if problem.include:
        place = case.option(problem.profile, problem.include, problem.missing)
    elif problem.line:
        place = case.line(problem.profile, problem.line)
    else:
        place = case.recommended(given)
    if problem.missing:
        planned = case.outcome.planned.profile
        hint = f"name a profile that is there; that of intent {case.names['intent']} is {planned}"
        what = f"there is no profile {problem.missing}"
        if problem.missing in case.neighbours:
            hint = f"include {planned} instead"
            what = f"{problem.missing} is the profile of other nodes"
    else:
        what, hint = problem.problem, "write the profile as tuned.conf(5) says"
    return diagnose(
        "CP5382",
        place,
        profile=given.profile,
        name=given.tuned,
        problem=what,
        hint=hint,
        **case.names,
    )


def _of_priority(case: _Case) -> Iterator[Diagnostic]:
    """CP5383: several profiles with the priority that counts."""
    first = case.outcome.chosen
    for other in tuned_profiles.by_priority(case.outcome.applying):
        mine = other if first == case.outcome.planned else first
        yield diagnose(
            "CP5383",
            case.recommended(mine, "priority"),
            first=first.profile,
            name=first.tuned,
            second=other.profile,
            other=other.tuned,
            priority=first.priority,
            **case.names,
        )


def _of_pods(case: _Case) -> Iterator[Diagnostic]:
    """CP5384 for recommendations before the one that counts, which pods decide about."""
    chosen = case.outcome.chosen
    for number, item in tuned_profiles.others(case.plan.node_class):
        for index, given in enumerate(item.recommend):
            match = tuned_profiles.match_of(given)
            if given.priority <= chosen.priority and uses_pods(match):
                path = f"tuneds.{number}.recommend.{index}.match"
                yield diagnose(
                    "CP5384",
                    case.locate(case.plan.node_class.cluster_place(path)),
                    what=f"whether nodes get profile {given.profile}",
                    name=item.name,
                    why="pods on them decide",
                    **case.names,
                )


def _duplicates(case: _Case) -> Iterator[Diagnostic]:
    """CP5385: two profiles of one name, for which the operator gives up."""
    texts: dict[str, tuple[str, str]] = {case.outcome.planned.profile: ("", "")}
    for number, item in tuned_profiles.others(case.plan.node_class):
        for index, given in enumerate(item.profile):
            owner, text = texts.setdefault(given.name, (item.name, given.data))
            if (owner, text) == ("", "") or text != given.data:
                path = f"tuneds.{number}.profile.{index}.name"
                yield diagnose(
                    "CP5385",
                    case.locate(case.plan.node_class.cluster_place(path)),
                    profile=given.name,
                    name=item.name,
                    other=owner or case.outcome.planned.tuned,
                    **case.names,
                )


def _unknown(case: _Case) -> Iterator[Diagnostic]:
    """CP5384: values that only a node can tell, and profiles of which only the name is known."""
    outcome = case.outcome
    sections = {made.name: made.sections for made in outcome.profiles if made.sections}
    for section, name, profile in outcome.unknown:
        if profile == outcome.planned.profile:
            continue
        option = sections[profile][section][name]
        yield diagnose(
            "CP5384",
            case.option(profile, option),
            what=f"[{section}] {name} of profile {profile}",
            name=tuned_profiles.owner(case.plan.node_class, profile),
            why="its value has variables or functions that only the node can tell",
            **case.names,
        )
    for made in outcome.profiles if outcome.is_on_top else ():
        if made.sections is None and made.name not in PARENTS and made.include:
            profile = _includer(outcome, made.include)
            yield diagnose(
                "CP5384",
                case.option(profile, made.include, made.name),
                what=f"the profile {made.name}, which comes with TuneD",
                name=tuned_profiles.owner(case.plan.node_class, profile),
                why="what it sets is not known here",
                **case.names,
            )


def _includer(outcome: Evaluated, include: Option) -> str:
    """The profile with an option `include`."""
    for made in outcome.profiles:
        if made.sections and made.sections.get(merger.MAIN, {}).get("include") is include:
            return made.name
    return ""


def _without_effect(case: _Case) -> Iterator[Diagnostic]:
    """CP5386: a profile on top of the planned one that comes after it."""
    outcome = case.outcome
    for given in outcome.applying[1:]:
        profiles, _, problem = tuned_profiles.load(case.plan.node_class, given.profile)
        names = {made.name for made in profiles}
        if problem is None and outcome.planned.profile in names - {given.profile}:
            yield diagnose(
                "CP5386",
                case.recommended(given, "priority"),
                profile=given.profile,
                name=given.tuned,
                priority=given.priority,
                planned=outcome.planned.profile,
                own=outcome.planned.priority,
                **case.names,
            )


def _without_arguments(case: _Case) -> Iterator[Diagnostic]:
    """CP5387: a profile that is recommended by labels of nodes, whose arguments go nowhere."""
    chosen, plan = case.outcome.chosen, case.plan
    has_arguments = plan.node_class.target.is_profile or tuned_profiles.added(case.outcome)
    labels = tuned_profiles.labels(plan.node_class)
    by_nodes = [own for own in labels if not is_by_labels(chosen, own)]
    if has_arguments and by_nodes:
        yield diagnose(
            "CP5387",
            case.recommended(chosen, "match"),
            profile=chosen.profile,
            name=chosen.tuned,
            wanted=joined(
                [f"{key}: {value}" for key, value in _labels(case.outcome.planned).items()]
            ),
            **case.names,
        )


def _labels(given: Recommendation) -> Mapping[str, str]:
    return given.machine_config_labels or {}


def _of_arguments(case: _Case) -> Iterator[Diagnostic]:
    """CP238 for boot arguments that contradict the plan, CP5380 for others that differ.

    What leaves the plan whole has the codes of an intent's own arguments.
    """
    outcome, plan = case.outcome, case.plan
    planned = {cmdline.canonical(setting.key): setting for setting in plan.written.of(kernel.NAME)}
    given = list(_arguments(case))
    arguments_alone = [argument for _, argument in given]
    wrong = {problem.argument: problem for problem in problems(plan, arguments_alone)}
    judged: set[str] = set()
    for profile, argument in given:
        ((key, value),) = cmdline.keyed(argument.text).items() or ((_END, True),)
        key = cmdline.canonical(key)
        judged.add(key)
        own, problem = planned.get(key), wrong.get(argument)
        position = case.locate(argument.place)
        if problem and not problem.is_error:
            yield from diagnostics([problem], case.locate)
        elif problem or _ends_line(argument.text):
            effect = problem.effect if problem else ""
            yield _contradiction(case, profile, argument.text, position, effect)
        elif own and argument.name not in _JUDGED and not cmdline.same(own.key, value, own.value):
            yield _override(case, profile, argument.text, kernel.argument(own), position)
    kept = cmdline.keyed(" ".join(word.text for word in outcome.words))
    if not plan.node_class.target.is_profile:
        return
    known = judged | set(map(cmdline.canonical, kept))
    for key, setting in planned.items():
        if key not in known:
            yield _gone_argument(case, key, kernel.argument(setting))


#: Arguments of which `problems` says all that there is.
_JUDGED = cmdline.CPU_LISTS | hugetlb.NAMES
_END = "--"


def _arguments(case: _Case) -> Iterator[tuple[str, Argument]]:
    """The arguments of others with their places, and the profiles that they are from."""
    options = case.outcome.options(_BOOTLOADER)
    for word in tuned_profiles.added(case.outcome):
        given = options[word.option]
        text = tuned_profiles.place_of(case.plan.node_class, given.profile)
        place = tuned_profiles.at(text, given.option, word.text)
        parts = arguments(word.text, place) or [Argument(_END, None, word.text, place)]
        yield from ((given.profile, argument) for argument in parts)


def _ends_line(text: str) -> bool:
    """Whether the kernel reads nothing after it."""
    return text == _END or bool(text.count('"') % 2)


def _gone_argument(case: _Case, key: str, planned: str) -> Diagnostic:
    """An argument that a later profile leaves out."""
    profile, option, what = _remover(case, key, planned)
    place = case.option(profile, option) if option else None
    if key.partition("=")[0] in _JUDGED:
        return _contradiction(case, profile, f"{what}, and so no {planned}", place)
    return _override(case, profile, what, planned, place)


def _remover(case: _Case, key: str, planned: str) -> tuple[str, Option | None, str]:
    """The profile and option that an argument of the plan is gone by, and how it is told."""
    outcome = case.outcome
    options = outcome.options(_BOOTLOADER)
    own = outcome.planned.profile
    name = in_force.option_of(case.plan, key)
    for made in reversed(outcome.profiles):
        given = (made.sections or {}).get(_BOOTLOADER, {})
        if made.name == own:
            break
        if name in given:
            return made.name, given[name], f"{name}={given[name].value}"
        for other, option in given.items():
            is_taken = option.value.startswith("-") and planned in option.value[1:].split()
            if is_taken or other in ("replace", "enabled", "drop"):
                return made.name, option, f"{other}={option.value}"
    foreign = [value for value in options.values() if value.profile != own]
    return (foreign[0].profile, foreign[0].option, planned) if foreign else (own, None, planned)


def _of_options(case: _Case) -> Iterator[Diagnostic]:
    """The same of all other options of the planned profile."""
    outcome = case.outcome
    for setting in case.plan.written.of(tuned.NAME):
        section, _, name = setting.key.partition(".")
        if section in (merger.MAIN, _BOOTLOADER):
            continue
        value = outcome.options(section).get(name)
        shown = f"{name}={setting.value}"
        if value is None:
            yield from _gone(case, section, shown)
        elif value.profile != outcome.planned.profile:
            text = outcome.text(value)
            place = case.option(value.profile, value.option)
            if setting.key == rows.ISOLATED_CORES.key:
                if cpus_or_text(text) != setting.value:
                    yield _contradiction(case, value.profile, f"{name}={text}", place)
            elif text != str(setting.value):
                yield _override(case, value.profile, f"{name}={text}", shown, place)


def _gone(case: _Case, section: str, planned: str) -> Iterator[Diagnostic]:
    """An option that a later section drops, replaces or switches off."""
    own = case.outcome.planned.profile
    for made in reversed(case.outcome.profiles):
        given = (made.sections or {}).get(section, {})
        for name in ("enabled", "replace", "drop"):
            if made.name != own and name in given:
                option = given[name]
                text = f"[{section}] {name}={option.value}"
                yield _override(case, made.name, text, planned, case.option(made.name, option))
                return


def _contradiction(
    case: _Case, profile: str, what: str, place: Position | None, effect: str = ""
) -> Diagnostic:
    return diagnose(
        "CP238",
        place,
        label=effect,
        kind="Tuned",
        name=tuned_profiles.owner(case.plan.node_class, profile),
        what=what,
        **case.names,
    )


def _override(
    case: _Case, profile: str, what: str, planned: str, place: Position | None
) -> Diagnostic:
    return diagnose(
        "CP5380",
        place,
        name=tuned_profiles.owner(case.plan.node_class, profile),
        what=what,
        planned=planned,
        **case.names,
    )
