"""The steps of a check of one node, in the order of their answers."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from cpuplan.check import irqbalance, prerequisites
from cpuplan.check.interrupts import affinity
from cpuplan.check.kernel import arguments, effects, hugepages, tunables
from cpuplan.check.kernel.kernel_log import CMDLINE
from cpuplan.check.kubelet import unit
from cpuplan.check.machine import identity, presence
from cpuplan.check.pods import crio, exclusive, slices
from cpuplan.check.roots.root import Root
from cpuplan.check.runtimes import process
from cpuplan.check.services import affinities, compiled_files, tuned, units
from cpuplan.check.subject import Subject, name
from cpuplan.check.threads import kernel, programs
from cpuplan.components import containerd, kubelet
from cpuplan.components.crio import NAME as CRIO
from cpuplan.diagnostics import diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan.expected import folder
from cpuplan.plan.expected.evidence import DELIVERED, FILE, FILES, Answer, Verdict
from cpuplan.plan.expected.state import Expected, used
from cpuplan.plan.setting import Setting


def stamped(subject: Subject) -> Iterator[Answer]:
    """The stamp is that of the plan. Without one, the files themselves are all that tells."""
    if not subject.expected.platform.takes_files:
        return
    path = folder.STAMP_PATH.lstrip("/")
    text = subject.root.read(path)
    if text is None:
        reason = "files of older releases have no stamp, so only the files themselves are compared"
        yield subject.unverifiable(DELIVERED, path, reason)
        return
    stamp, wanted = folder.parse_stamp(text), folder.stamp_of(subject.expected)
    if stamp == wanted:
        yield subject.held(DELIVERED, path)
        return
    observed = _words(stamp) if stamp else "no stamp that can be read"
    yield subject.differs(DELIVERED, "CP800", path, observed=observed, expected=_words(wanted))


def _words(stamp: folder.Stamp) -> str:
    return f"class {stamp.name} of cluster {stamp.cluster}, plan {stamp.digest[:12]}"


Step = Callable[[Subject], Iterator[Answer]]
#: The fact that everything was read that a check asks for.
_WHOLE = "root within the limits of a check"

STEPS: tuple[Step, ...] = (
    stamped,
    presence.cpus,
    identity.machine,
    presence.memory,
    presence.devices,
    arguments.arguments,
    arguments.conflicting,
    arguments.next_boot,
    arguments.kernel_type,
    effects.effects,
    hugepages.pages,
    tunables.sysctls,
    tunables.workqueue_masks,
    affinity.steering,
    tunables.shown_by_files,
    *unit.STEPS,
    *process.STEPS,
    compiled_files.compiled,
    units.in_force,
    units.overridden,
    units.results,
    affinities.foreign,
    slices.limits,
    slices.unplanned,
    slices.services,
    prerequisites.control_groups,
    prerequisites.complaints,
    prerequisites.pinning,
    exclusive.planned_partition,
    exclusive.foreign_partitions,
    exclusive.containers,
    exclusive.throttling,
    exclusive.aligned,
    crio.infrastructure,
    crio.mixed,
    programs.programs,
    kernel.movable,
    kernel.callbacks,
    tuned.active,
    tuned.installed,
    tuned.runs,
    tuned.verdict,
    tuned.options,
    affinity.kept_off,
    affinity.managed,
    affinity.queue_counts,
    irqbalance.environment,
)


def check(root: Root, expected: Expected, node: str, locate: Locate) -> list[Answer]:
    """An answer on every fact: settings in their order, and what no setting says.

    For a folder that is no root, CP801 alone. Raises CpuplanError (CP8175) for a state with which
    nothing can be compared.
    """
    subject = Subject(root, expected, node, locate)
    steps = STEPS
    if not root.names("sys") and root.read(CMDLINE) is None and not root.refused:
        steps = (presence.cpus,)
    with used(expected, node):
        return _answers(subject, steps)


def _answers(subject: Subject, steps: Sequence[Step]) -> list[Answer]:
    root, answers = subject.root, list[Answer]()
    for step in steps:
        made = list(_run(step, subject))
        if root.spent:
            # It has seen a part of the node: what that says may be otherwise.
            finding = diagnose("CP8160", path=root.spent.path, problem=root.spent.problem)
            answers.append(subject.answered(_WHOLE, finding))
            break
        answers += made
    reason = f"{root.spent.path}: {root.spent.problem}" if root.spent else ""
    return [*dict.fromkeys(answers), *unverified(subject.expected, answers, reason)]


def _of_whole_folders(subject: Subject, answers: list[Answer]) -> Iterator[Answer]:
    """The answers of a step; none where it saw a part of a folder: the rest may say otherwise.

    What it leaves for others in the cache is of a part too.
    """
    reasons = [f"{path}: {problem}" for path, problem in sorted(subject.root.unlisted.items())]
    if reasons:
        subject.partial |= dict.fromkeys(subject.cache.used, reasons[0])
    reasons += [subject.partial[name] for name in sorted(subject.cache.used & set(subject.partial))]
    if not reasons:
        yield from answers
        return
    for answer in answers:
        if answer.verdict is Verdict.UNVERIFIABLE:
            yield answer
        else:
            yield answer._replace(
                verdict=Verdict.UNVERIFIABLE,
                observed="",
                reason=reasons[0],
                finding=None,
                heals=None,
            )


def _run(step: Step, subject: Subject) -> Iterator[Answer]:
    """The answers of one step, and all that it could not read: that never passes a check.

    What an agent is not to read is no difference, and not verified either.
    """
    subject.root.refused.clear()
    subject.root.unlisted.clear()
    subject.cache.used.clear()
    yield from _of_whole_folders(subject, list(step(subject)))
    for path, problem in sorted(subject.root.refused.items()):
        fact = f"readable {path}"
        if path in subject.root.withheld:
            is_of_others = subject.root.withheld[path]
            tell = subject.unshown if is_of_others else subject.unverifiable
            yield tell(fact, "", f"{path} is not for this reader: {problem}")
        else:
            yield subject.answered(fact, diagnose("CP805", path=path, problem=problem))


#: Programs of a node, whose steps answer on each of their settings if there is anything to read.
_PROGRAMS = (kubelet.NAME, CRIO, containerd.NAME)
_NOT_SHOWN = "nothing that was read here shows it"


def unverified(expected: Expected, given: Sequence[Answer], reason: str = "") -> Iterator[Answer]:
    """An answer on each setting that has none among those that were given.

    A `reason` says why no more was read.
    """
    by_fact = {answer.fact: answer for answer in given}
    for setting in expected.settings:
        if name(setting) not in by_fact:
            paths = _files(setting, expected)
            left = _open(setting, reason, has_files=bool(paths))
            yield _in_files(setting, paths, by_fact) or left


def _files(setting: Setting, expected: Expected) -> list[str]:
    """The files that have a setting: the one of its name, or all of its component."""
    own = [path for path, file in expected.files.items() if file.component == setting.component]
    named = [path for path in own if path == setting.key or path.endswith(f"/{setting.key}")]
    return named or own


def _in_files(
    setting: Setting, paths: Iterable[str], by_fact: Mapping[str, Answer]
) -> Answer | None:
    """Held where each file is as it was compiled; with the finding of the first that is not."""
    by_path = [by_fact.get(f"{FILE}{path}", by_fact.get(FILES)) for path in paths]
    answered = [answer for answer in by_path if answer]
    if not answered or len(answered) < len(by_path):
        return None
    order = (Verdict.DIFFERS, Verdict.UNVERIFIABLE, Verdict.HELD)
    worst = min(answered, key=lambda answer: order.index(answer.verdict))
    return worst._replace(fact=name(setting))


def _open(setting: Setting, reason: str, *, has_files: bool) -> Answer:
    """No step has read it: of what neither a file nor a program of the node has, none can."""
    shown_by = setting.effect.shown_by if setting.effect else ""
    not_read = f"{shown_by} shows it, which is not read" if shown_by else _NOT_SHOWN
    reason = reason or not_read
    is_of_node = has_files or shown_by.startswith("/") or setting.component in _PROGRAMS
    fact, verdict = name(setting), Verdict.UNVERIFIABLE
    return Answer(fact, verdict, "", reason=reason, is_unshown=not is_of_node)
