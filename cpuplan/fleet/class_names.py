"""What classes of nodes are called: after their intent and hardware, as are folders and objects of
theirs.
"""

from collections.abc import Iterable, Iterator

from cpuplan import naming
from cpuplan.cpuset import CpuSet
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.plan import NodeClass
from cpuplan.read.documents import Document, Documents

#: Characters of a list of offline CPUs in the name of a class; of a longer one, a digest.
LONGEST_LIST = 80


def offline_part(offline: CpuSet) -> str:
    """What the CPUs that are offline on some nodes only add to the name of their class."""
    listed = str(offline).replace(",", ".")
    if len(listed) > LONGEST_LIST:
        import hashlib

        listed = hashlib.sha256(listed.encode()).hexdigest()[:8]
    return f"-offline-{listed}" if offline else ""


def too_long(name: str, intent: Document, machine: Document) -> Diagnostic | None:
    """CP234: a name that no folder can have."""
    if len(name) <= naming.LONGEST_NAME:
        return None
    place, other = (each.source.value_at(("metadata", "name")) for each in (intent, machine))
    labels = [Label(other, "the hardware")]
    return diagnose(
        "CP234",
        place,
        label="the intent",
        labels=labels,
        length=len(name),
        most=naming.LONGEST_NAME,
    )


def check(documents: Documents, classes: Iterable[NodeClass]) -> Iterator[Diagnostic]:
    """CP235: classes, or objects, of two origins that would be called alike: one would be written
    over the other.
    """
    first: dict[tuple[str, str, str], NodeClass] = {}
    for each in classes:
        for what, name in ("classes", each.name), ("sets of objects", each.profile):
            other = first.setdefault((what, each.cluster, name), each)
            if other is each or (what == "sets of objects" and other.intent == each.intent):
                continue
            documents_of = (documents.by_name["Intent", one.intent] for one in (each, other))
            place, before = (one.source.value_at(("metadata", "name")) for one in documents_of)
            yield diagnose(
                "CP235",
                place,
                labels=[Label(before, "the first one")],
                what=what,
                name=name,
                cluster=each.cluster,
                first=f"intent {other.intent} on hardware {other.hardware}",
                second=f"intent {each.intent} on hardware {each.hardware}",
            )
            break
