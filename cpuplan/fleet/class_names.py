"""The names of classes of nodes, of their folders, and of the objects that verify their nodes."""

from collections.abc import Iterable, Iterator
from hashlib import sha256

from cpuplan.base import naming
from cpuplan.base.cpuset import CpuSet
from cpuplan.base.naming import LONGEST_LABEL, shortened
from cpuplan.diagnostics import Diagnostic, Label, diagnose
from cpuplan.language.read.documents import Document, Documents
from cpuplan.plan import NodeClass

#: Characters of a list of offline CPUs in the name of a class; of a longer one, a digest.
LONGEST_LIST = 80


def offline_part(offline: CpuSet) -> str:
    """The suffix of a class whose nodes have CPUs offline; empty without any."""
    listed = str(offline).replace(",", ".")
    if len(listed) > LONGEST_LIST:
        listed = sha256(listed.encode()).hexdigest()[:8]
    return f"-offline-{listed}" if offline else ""


def too_long(name: str, intent: Document, machine: Document) -> Diagnostic | None:
    """CP234: a name that no folder can have."""
    if len(name) <= naming.LONGEST_NAME:
        return None
    place, other = (
        document.source.value_at(("metadata", "name")) for document in (intent, machine)
    )
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
    """CP235: classes, or objects, of different origins with the same name.

    One would overwrite the other.
    """
    first: dict[tuple[str, str, str], NodeClass] = {}
    for node_class in classes:
        for what, name in ("classes", node_class.name), ("sets of objects", node_class.profile):
            other = first.setdefault((what, node_class.cluster, name), node_class)
            if other is node_class or (
                what == "sets of objects" and other.intent == node_class.intent
            ):
                continue
            documents_of = (
                documents.by_name["Intent", member.intent] for member in (node_class, other)
            )
            place, before = (
                document.source.value_at(("metadata", "name")) for document in documents_of
            )
            yield diagnose(
                "CP235",
                place,
                labels=[Label(before, "the first one")],
                what=what,
                name=name,
                cluster=node_class.cluster,
                first=f"intent {other.intent} on hardware {other.hardware}",
                second=f"intent {node_class.intent} on hardware {node_class.hardware}",
            )
            break


AGENT = "cpuplan-agent"


def agent_name(name: str) -> str:
    """The name of the objects of class `name`: labels have room for 63 characters, and no dots."""
    return shortened(f"{AGENT}-{name}".replace(".", "-"), LONGEST_LABEL)
