"""The steps about containers: their CPUs, quotas and alignment against the kubelet's state file."""

import time
from collections.abc import Iterator

from cpuplan.base.cpuset import cpus_text, union
from cpuplan.base.text import at_most
from cpuplan.check.pods import alignment, placement, quotas
from cpuplan.check.pods.placement import Lost, Misplaced
from cpuplan.check.pods.statefile import PATH
from cpuplan.check.pods.view import View, cpuset, view
from cpuplan.check.roots.root import Root
from cpuplan.check.subject import Subject
from cpuplan.components import crio, kubelet
from cpuplan.components.koordinator import node
from cpuplan.components.openshift import pinning
from cpuplan.plan.expected.answer import Answer, Heals

EXCLUSIVE, POOLED = "containers with exclusive CPUs", "containers of the shared pool"
QUOTAS, ALIGNMENT = "quotas of exclusive CPUs", "alignment of exclusive CPUs"
#: Seconds within which the kubelet gives containers of the shared pool a changed set (its
#: cpuManagerReconcilePeriod), and some more.
_SETTLING = 15


def containers(subject: Subject) -> Iterator[Answer]:
    """CP857: every container has the CPUs that the state file gives it, and all its threads."""
    seen = view(subject)
    if reason := _unknown(seen):
        if _is_static(subject):
            yield subject.unread(EXCLUSIVE, PATH, reason)
            yield subject.unread(POOLED, PATH, reason)
        return
    lost = Lost(seen.online, union(each.cpus for each in seen.partitions if each.is_valid))
    found = [
        *placement.exclusive(seen.tree, seen.pairs, lost),
        *placement.gone(seen.state, seen.tree.pods(), PATH),
    ]
    yield from _answers(subject, EXCLUSIVE, found)
    yield from _pooled(subject, seen, lost)


def _unknown(seen: View) -> str:
    """Why nothing can be said of containers; empty if it can."""
    if seen.state.problem or seen.tree.problem:
        return seen.state.problem or seen.tree.problem
    if not seen.tree.all_pods():
        return "there is no control group of pods"
    return "" if seen.state.exclusive else "the kubelet gives no exclusive CPUs"


def _is_static(subject: Subject) -> bool:
    return subject.expected.settings.values(kubelet.NAME).get("cpuManagerPolicy") == "static"


def _pooled(subject: Subject, seen: View, lost: Lost) -> Iterator[Answer]:
    """Of containers without exclusive CPUs. A pod with CPUs of its own has a pool of its own."""
    if subject.expected.settings.of(node.NAME):
        return  # koordlet writes their cpusets by itself
    if _is_settling(subject.root):
        reason = "the kubelet has just changed its state file, and containers follow"
        yield subject.unverifiable(POOLED, PATH, reason)
        return
    own = {pair.running.container.path for pair in seen.pairs}
    others = [
        one
        for one in seen.containers
        if one.container.path not in own
        and one.container.pod not in seen.state.pods
        and not one.is_pause
        and one.cpus != cpuset(subject, crio.NAME, "infra_ctr_cpuset")
    ]
    pinned = cpuset(subject, pinning.NAME, "management.cpuset")
    found = placement.pooled(seen.tree, others, seen.state.default, pinned, lost)
    yield from _answers(subject, POOLED, list(found))


def _is_settling(root: Root) -> bool:
    """Whether a kubelet that runs has changed its state a moment ago."""
    written = root.mtime(PATH) if root.is_running else None
    return written is not None and 0 <= time.time() - written < _SETTLING


def _answers(subject: Subject, fact: str, found: list[Misplaced]) -> Iterator[Answer]:
    for each in found:
        yield subject.differs(
            fact,
            "CP857",
            each.path,
            observed=each.found,
            expected=each.wanted,
            heals=Heals.RESTART,
            who=each.who,
        )
    if not found:
        yield subject.held(fact, PATH)


def throttling(subject: Subject) -> Iterator[Answer]:
    """CP858: no quota stops a container with exclusive CPUs."""
    seen = view(subject)
    if not seen.pairs:
        return
    found = quotas.throttled(seen.tree, seen.pairs)
    for each in found:
        quota = f"{each.quota.quota} of {each.quota.period} µs"
        stopped = f", and has stopped it in {each.periods} periods" if each.periods else ""
        need = max(len(pair.wanted) for pair in each.pairs)
        who = at_most([pair.described for pair in each.pairs], placement.FEW)
        yield subject.differs(
            QUOTAS,
            "CP858",
            each.quota.path,
            observed=f"{quota}{stopped}",
            expected=f"no quota, or one of {need} CPUs",
            heals=Heals.RESTART,
            who=who,
            cpus=cpus_text(union(pair.wanted for pair in each.pairs)),
        )
    if not found:
        yield subject.held(QUOTAS, seen.tree.folder(seen.tree.all_pods()[0]))


def aligned(subject: Subject) -> Iterator[Answer]:
    """CP859: exclusive CPUs are whole cores, and on few NUMA nodes, where policies promise it."""
    seen, expected = view(subject), subject.expected
    promised = alignment.promise(expected.settings.values(kubelet.NAME))
    if seen.state.problem or not seen.state.entries:
        return
    found = list(alignment.misaligned(seen.state, expected.topology, seen.online, promised))
    found += alignment.remote(seen.tree, seen.pairs, expected.topology)
    for each in found:
        yield subject.differs(
            ALIGNMENT,
            "CP859",
            PATH,
            observed=each.found,
            expected=each.wanted,
            heals=Heals.RESTART,
            who=each.who,
            cpus=cpus_text(each.cpus),
        )
    if not found:
        yield subject.held(ALIGNMENT, PATH)
