"""What the CRI-O of a node, by the version that its Node has, is known to break of the plan."""

import re
from collections.abc import Iterator

from cpuplan.check.cluster.live_objects import Absent, Subject
from cpuplan.components import crio, derived
from cpuplan.facts.settings.crio import ALLOWED_ANNOTATIONS, EXEC_CPU_AFFINITY
from cpuplan.facts.versions import Version
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import Answer
from cpuplan.plan.expected.state import Expected
from cpuplan.upstream.crio import releases
from cpuplan.upstream.crio.releases import LOAD_BALANCING, Defect, Needs

_FACT = "release of CRI-O"
_FIELD = ("status", "nodeInfo", "containerRuntimeVersion")
_VERSION = re.compile(r"cri-o://(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?!\d)", re.ASCII)


def release(subject: Subject) -> Iterator[Answer]:
    """CP8361 for each defect that a later release of the node's branch is without."""
    expected = subject.expected
    if expected.release.runtime != crio.NAME:
        return
    planned = expected.release.kubernetes
    is_open = any(_defects(expected, planned)) if planned else False
    node = subject.objects.find("Node", subject.node)
    given = "" if isinstance(node, Absent) else str(value_of(node.data, _FIELD) or "")
    match = _VERSION.match(given)
    if isinstance(node, Absent) or match is None:
        if is_open:
            reason = node.reason if isinstance(node, Absent) else "the Node has no version of CRI-O"
            yield subject.unverifiable(_FACT, reason)
        return
    major, minor, patch = map(int, match.groups())
    told = [
        defect
        for defect in _defects(expected, (major, minor))
        if patch < int(defect.until.rpartition(".")[2])
    ]
    for defect in told:
        yield subject.differs(
            _FACT,
            "CP8361",
            (node, _FIELD),
            observed=f"{major}.{minor}.{patch}",
            expected=defect.until,
            node=subject.node,
            problem=defect.problem,
            annotation=defect.annotation,
            source=defect.source,
        )
    if is_open and not told:
        yield subject.held(_FACT, node, given)


def _defects(expected: Expected, branch: Version) -> Iterator[Defect]:
    """Defects of a branch that some release is without, and that pods of the plan can meet."""
    values = expected.settings.values(crio.NAME)
    allowed = [value for key, value in values.items() if key.endswith(ALLOWED_ANNOTATIONS.last)]
    hooks = {str(name) for names in allowed if isinstance(names, tuple) for name in names}
    has_affinity = any(key.endswith(EXEC_CPU_AFFINITY.last) for key in values)
    is_v1 = expected.facts.get(derived.CGROUPS) == "v1"
    for defect in releases.defects(branch):
        is_met = has_affinity or defect.needs is not Needs.EXEC_AFFINITY
        is_met = is_met and not (is_v1 and defect.annotation == LOAD_BALANCING)
        if defect.until and defect.annotation in hooks and is_met:
            yield defect
