"""What CRI-O's releases make of annotations for CPUs: what came when, and what they break.

Read from the heads of the branches release-1.27 to release-1.37 of August 2026, whose commits
`facts.programs` has, and, for the first release with a change, from the tags; distributions build
from the branches. In all of them `true` is the old way to write `disable`.

Upstream: cri-o/cri-o internal/runtimehandlerhooks/high_performance_hooks_linux.go
  pkg/annotations/annotations.go @ f954a17e505f8931e91004403b5f5eac71ab6085
"""

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from cpuplan.facts import programs
from cpuplan.facts.programs import Version
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.strconv import atoi

#: The first and the newest branch that are told apart.
FIRST: Version = programs.first(programs.CRIO)
LATEST: Version = programs.latest(programs.CRIO)

LOAD_BALANCING = "cpu-load-balancing.crio.io"
QUOTA = "cpu-quota.crio.io"
IRQ = "irq-load-balancing.crio.io"
C_STATES = "cpu-c-states.crio.io"
GOVERNOR = "cpu-freq-governor.crio.io"
SHARED = "cpu-shared.crio.io"
#: The annotations of the hooks for high performance.
HOOKS = (LOAD_BALANCING, QUOTA, IRQ, C_STATES, GOVERNOR, SHARED)
ENABLE = "enable"
#: What switches a thing off.
OFF = ("disable", "true")
#: Interrupts stay on the container's first core.
HOUSEKEEPING = "housekeeping"
_MAX_LATENCY = "max_latency:"


class Change(NamedTuple):
    """What came with a branch and is in all later ones.

    `patches` has the number of the first release with it by branch, where it is not 0; the lowest
    branch is the one that it came with.
    """

    patches: Mapping[Version, int]
    source: str

    @property
    def since(self) -> Version:
        """The first branch with it."""
        return min(self.patches)

    @property
    def first(self) -> str:
        """Its first release, `1.34.3`."""
        major, minor = self.since
        return f"{major}.{minor}.{self.patches[self.since]}"

    def is_in(self, release: Version) -> bool:
        """Whether the head of the branch has it."""
        return release >= self.since

    def missing_until(self, release: Version) -> int:
        """How many of the first releases of a branch that has it are without it."""
        return self.patches.get(release, 0)


def _since(minor: int, patch: int, source: str) -> Change:
    return Change({(1, minor): patch}, f"cri-o/cri-o#{source}")


_ALWAYS = Change({FIRST: 0}, "release-1.27")
LATENCY_BY_NUMBER = _since(28, 0, "6718")
#: Before, a container without load balancing does not start on cgroup v2.
BALANCING_ON_V2 = _since(28, 3, "7485")
SHARING = _since(28, 3, "7502")
#: Before, the cgroup of exclusive CPUs lists the shared ones too.
CHILD_IS_EXCLUSIVE = _since(30, 0, "7715")
#: Interrupts come back once, after a container has stopped; before, when it begins to stop.
IRQS_AFTER_STOP = Change(
    {(1, 31): 14, (1, 32): 14, (1, 33): 10, (1, 34): 5}, "cri-o/cri-o#9350, #9613"
)
EXEC_AFFINITY = _since(34, 0, "9286")
IRQ_HOUSEKEEPING = _since(34, 3, "9223")
#: The runtime gives the container its shared CPUs; before, CRI-O does when it starts.
SHARED_IN_SPEC = _since(34, 4, "9681")
#: Before, exec starts on a CPU of the handler's choice only by affinity.
EXEC_CGROUP = _since(34, 4, "9681, containers/crun#1915")
#: `NAME/CONTAINER`, for load balancing, the quota and interrupts.
BY_CONTAINER = _since(36, 4, "9989, #10152")
#: Exclusive CPUs are given up after a container has stopped; before, when it begins to stop, so
#: not by one that ends by itself.
BALANCING_AFTER_STOP = _since(37, 0, "10208")


class Kind(StrEnum):
    """What becomes of an annotation."""

    DONE = "done"
    #: Nothing happens, and CRI-O says nothing.
    IGNORED = "ignored"
    #: The container does not start.
    REFUSED = "refused"


class Outcome(NamedTuple):
    """What a release makes of an annotation.

    `problem` says why nothing happens or no container starts; for the latter it is CRI-O's text.
    `change` is what a later release brings for just this annotation and value; None where no
    release has it. `instead` is what the release itself can do.
    """

    kind: Kind
    problem: str = ""
    change: Change | None = None
    instead: str = ""


_DONE = Outcome(Kind.DONE)
#: The values that a hook compares with; others do nothing.
_VALUES: Mapping[str, Mapping[str, Change]] = {
    LOAD_BALANCING: dict.fromkeys(OFF, _ALWAYS),
    QUOTA: dict.fromkeys(OFF, _ALWAYS),
    IRQ: {**dict.fromkeys(OFF, _ALWAYS), HOUSEKEEPING: IRQ_HOUSEKEEPING},
    SHARED: {ENABLE: SHARING},
}
#: What an annotation for one container can switch, off or (with `enable`) not off.
SWITCHES = (LOAD_BALANCING, QUOTA, IRQ)
_NOT_ON_V2 = "set CPU load balancing: disabling CPU load balancing on cgroupv2 not yet supported"


def outcome(release: Version, annotation: str, value: str, *, cgroups: int = 2) -> Outcome:
    """What CRI-O of a branch does with an annotation of a pod for which it runs its hooks.

    `annotation` is the whole key, with `/CONTAINER` if it has that; `cgroups` the version of
    cgroups. Whether a machine has a governor, and a pod a container of the name, is not asked.
    """
    name, slash, _ = annotation.partition("/")
    if name not in HOOKS:
        return Outcome(Kind.IGNORED, f"CRI-O knows no annotation {name}", instead="remove it")
    faults = [_place(release, name, bool(slash)), _value(release, name, value)]
    is_off = name == LOAD_BALANCING and value in OFF
    if is_off and cgroups == 2 and not BALANCING_ON_V2.is_in(release):
        instead = "use version 1 of control groups"
        faults.append(Outcome(Kind.REFUSED, _NOT_ON_V2, BALANCING_ON_V2, instead))
    # What no release takes, or what comes last.
    return max(filter(None, faults), key=_comes, default=_DONE)


def _comes(fault: Outcome) -> Version:
    return fault.change.since if fault.change else (LATEST[0] + 1, 0)


def _place(release: Version, name: str, has_container: bool) -> Outcome | None:
    """What is wrong with the form of a key: for the pod, or for one container."""
    if name == SHARED:
        if has_container:
            return None
        problem, instead = "CRI-O reads it for one container only", f"write {name}/CONTAINER"
        return Outcome(Kind.IGNORED, problem, instead=instead)
    if not has_container:
        return None
    instead = f"write {name}, for all containers of the pod"
    if name not in SWITCHES:
        problem = "CRI-O reads it for the whole pod only"
        return Outcome(Kind.IGNORED, problem, instead=instead)
    if BY_CONTAINER.is_in(release):
        return None
    problem = f"CRI-O reads it for one container since {BY_CONTAINER.first}"
    return Outcome(Kind.IGNORED, problem, BY_CONTAINER, instead)


def _value(release: Version, name: str, value: str) -> Outcome | None:
    """What is wrong with a value; a governor is one of the machine's, and "" is none.

    With `enable` a switch asks for what there is without it.
    """
    if name in SWITCHES and value == ENABLE:
        return None
    if name == GOVERNOR:
        if value:
            return None
        return Outcome(Kind.IGNORED, "it names no governor", instead="name one of the machine's")
    if name == C_STATES:
        return _c_states(release, value)
    change = _VALUES[name].get(value)
    if change is None:
        known = [text for text, change in _VALUES[name].items() if change.is_in(release)]
        problem = f"CRI-O knows only {', '.join(known or _VALUES[name])}"
        return Outcome(Kind.IGNORED, problem, instead=_instead(name))
    if change.is_in(release):
        return None
    problem = f"CRI-O knows the value since {change.first}"
    return Outcome(Kind.IGNORED, problem, change, _instead(name))


def _instead(name: str) -> str:
    """The value that every release knows."""
    return f"write {next(iter(_VALUES[name]))}"


def _c_states(release: Version, value: str) -> Outcome | None:
    problem = _refusal(release, value)
    if not problem:
        return None
    change = None if _refusal(LATEST, value) else LATENCY_BY_NUMBER
    return Outcome(Kind.REFUSED, problem, change, "write enable or disable")


def _refusal(release: Version, value: str) -> str:
    """Why a container with this value for C-states does not start; "" where it does."""
    try:
        resume_latency(value, release)
    except KubeletError as error:
        return str(error)
    return ""


def resume_latency(value: str, release: Version = LATEST) -> str:
    """The pm_qos_resume_latency_us for a C-states annotation; KubeletError refuses the start."""
    if value in (ENABLE, "disable"):
        return "0" if value == ENABLE else "n/a"
    if value.startswith(_MAX_LATENCY) and LATENCY_BY_NUMBER.is_in(release):
        latency = atoi(value.removeprefix(_MAX_LATENCY))
        if latency > 0:
            return str(latency)
    raise KubeletError(f"invalid annotation value {value}")


class Needs(StrEnum):
    """What a defect needs beside its annotation."""

    NOTHING = ""
    EXEC_AFFINITY = "exec_cpu_affinity"
    INIT_CONTAINER = "init container"


class Defect(NamedTuple):
    """What releases of a branch do wrong with annotations that they know, on cgroup v2.

    `until` is the first release of the branch without it; empty where its head still has it.
    """

    annotation: str
    problem: str
    until: str
    source: str
    needs: Needs = Needs.NOTHING


#: By what removes it, from which branch on there is something to break, and what.
_DEFECTS: Sequence[tuple[Change, Version, str, Needs, str]] = (
    (BALANCING_ON_V2, (1, 28), LOAD_BALANCING, Needs.NOTHING, "no container starts"),
    (
        EXEC_CGROUP,
        (1, 34),
        LOAD_BALANCING,
        Needs.EXEC_AFFINITY,
        "exec into a container fails, with exec_cpu_affinity first",
    ),
    (
        BALANCING_AFTER_STOP,
        (1, 28),
        LOAD_BALANCING,
        Needs.INIT_CONTAINER,
        "a container may not start on CPUs of an init container that ended by itself",
    ),
    (
        IRQS_AFTER_STOP,
        FIRST,
        IRQ,
        Needs.NOTHING,
        "interrupts can come back to CPUs that a pod takes over from another one",
    ),
)


def defects(release: Version) -> Iterator[Defect]:
    """What is known to break in a branch, of pods that ask for nothing unknown to it."""
    for change, since, annotation, needs, problem in _DEFECTS:
        patch = change.missing_until(release)
        if release >= since and (patch or not change.is_in(release)):
            until = f"{release[0]}.{release[1]}.{patch}" if patch else ""
            yield Defect(annotation, problem, until, change.source, needs)
