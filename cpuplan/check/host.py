"""The steps of a check: each answers on one file or group of files."""

from collections.abc import Callable, Iterator, Sequence

from cpuplan.check import (
    basis,
    delivery,
    evidence,
    unanswered,
)
from cpuplan.check.interrupts import placed, queues, steering
from cpuplan.check.kernel import (
    effects,
    hugepages,
    line,
    nextboot,
    release,
    sysctls,
    undone,
    workqueues,
)
from cpuplan.check.kernel.said import CMDLINE
from cpuplan.check.kubelet import steps as kubelet
from cpuplan.check.machine import devices, identity, memory, online
from cpuplan.check.pods import companions, isolating, judging, limits
from cpuplan.check.programs import balancer
from cpuplan.check.roots.root import Root
from cpuplan.check.runtimes import steps as runtimes
from cpuplan.check.services import affinities, files, profile, tuning, units
from cpuplan.check.subject import Subject
from cpuplan.check.threads import kthreads, outside
from cpuplan.diagnostics import diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.plan.expected.answer import Answer, Verdict
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.expected.used import used

Step = Callable[[Subject], Iterator[Answer]]
#: The fact that everything was read that a check asks for.
_WHOLE = "root within the limits of a check"

STEPS: tuple[Step, ...] = (
    delivery.stamped,
    online.cpus,
    identity.machine,
    memory.memory,
    devices.devices,
    line.arguments,
    undone.others,
    nextboot.next_boot,
    release.kernel_type,
    effects.effects,
    hugepages.pages,
    sysctls.sysctls,
    workqueues.masks,
    steering.steering,
    evidence.shown_by_files,
    *kubelet.STEPS,
    *runtimes.STEPS,
    files.compiled,
    units.in_force,
    units.overridden,
    units.results,
    affinities.foreign,
    limits.limits,
    limits.unplanned,
    limits.services,
    basis.control_groups,
    basis.complaints,
    basis.pinning,
    isolating.planned,
    isolating.foreign,
    judging.containers,
    judging.throttling,
    judging.aligned,
    companions.infrastructure,
    companions.mixed,
    outside.programs,
    kthreads.movable,
    kthreads.callbacks,
    profile.active,
    profile.installed,
    profile.runs,
    profile.verdict,
    tuning.options,
    placed.placed,
    placed.managed,
    queues.counted,
    balancer.environment,
)


def check(root: Root, expected: Expected, node: str, locate: Locate) -> list[Answer]:
    """An answer on every fact: settings in their order, and what no setting says.

    For a folder that is no root, CP801 alone. Raises CpuplanError (CP8175) for a state with which
    nothing can be compared.
    """
    subject = Subject(root, expected, node, locate)
    steps = STEPS
    if not root.names("sys") and root.read(CMDLINE) is None and not root.refused:
        steps = (online.cpus,)
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
    return [*dict.fromkeys(answers), *unanswered.answers(subject.expected, answers, reason)]


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
