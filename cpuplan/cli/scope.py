"""The findings that `--cluster` and `--node` select.

They narrow what is printed, never what is checked.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from cpuplan.base.naming import expand_names
from cpuplan.base.text import did_you_mean
from cpuplan.diagnostics import CpuplanError, Diagnostic, diagnose
from cpuplan.language.read.documents import Document, FieldPlaces
from cpuplan.pipeline import Project
from cpuplan.plan import NodeClass

#: Cluster and name.
Node = tuple[str, str]


class Scope:
    """The wanted nodes of a project. Raises CpuplanError (CP293) for a name that nobody has."""

    def __init__(self, project: Project, clusters: tuple[str, ...], nodes: tuple[str, ...]) -> None:
        self.project, self.places = project, FieldPlaces(project.documents)
        self.all = frozenset(node for group in self._groups.values() for node in group)
        if not project.documents.may_define("Nodes"):
            self._check("--cluster", clusters, {cluster for cluster, _ in self.all})
            names = {name for _, name in self.all} | set(map("/".join, self.all))
            self._check("--node", nodes, names)
        self.wanted = frozenset(node for node in self.all if _fits(node, clusters, nodes))
        if not self.wanted and self.all and not project.documents.may_define("Nodes"):
            text = f"{', '.join(clusters)} --node {', '.join(nodes)}"
            hint = "give a node of this cluster, or only one of the two options"
            raise CpuplanError([diagnose("CP293", option="--cluster", name=text, hint=hint)])

    @staticmethod
    def _check(option: str, given: Iterable[str], known: set[str]) -> None:
        problems = [
            diagnose("CP293", option=option, name=name, hint=did_you_mean(name, known))
            for name in given
            if name not in known
        ]
        if problems:
            raise CpuplanError(problems)

    @cached_property
    def _groups(self) -> dict[tuple[str, int], list[Node]]:
        """The nodes of each group of each Nodes document."""
        groups = {}
        for document in self.project.documents.of_kind("Nodes"):
            for index, group in enumerate(document.spec.nodes):
                try:
                    names = expand_names(group.name)
                except ValueError:
                    names = []
                groups[document.name, index] = [(document.spec.cluster, name) for name in names]
        return groups

    def has(self, finding: Diagnostic) -> bool:
        """Whether a finding concerns a wanted node, or is not known to concern only other nodes."""
        nodes = self._concerned(finding)
        return nodes is None or bool(self.wanted & nodes)

    def wants(self, node_class: NodeClass) -> bool:
        """Whether a class has a wanted node."""
        return any((node_class.cluster, node) in self.wanted for node in node_class.nodes)

    def _concerned(self, finding: Diagnostic) -> frozenset[Node] | None:
        if finding.classes:
            return frozenset(
                (node_class.cluster, node)
                for node_class in self.project.classes
                if node_class.full_name in finding.classes
                for node in node_class.nodes
            )
        at = finding.position
        if at is None:
            return None
        if not at.line:
            return self._of_output(at.path.split("/"))
        document = self.places.document_at(at)
        return self._of_document(document, finding.field) if document else None

    def _of_output(self, parts: list[str]) -> frozenset[Node] | None:
        """The nodes that a file or folder of out/ is for."""
        match parts:
            case [_, "nodes", cluster, name, *_] if nodes := self._of_classes(
                cluster=cluster, name=name
            ):
                return nodes
            case [_, "clusters", cluster, "expected", "nrt", file]:
                name = file.removesuffix(".yaml")
                # Of releases before: the file of a node.
                return self._of_classes(cluster=cluster, name=name) or frozenset({(cluster, name)})
            case [_, "nodes" | "clusters", cluster, *_]:
                return frozenset(node for node in self.all if node[0] == cluster)
        return None

    def _of_document(self, document: Document, field: str) -> frozenset[Node] | None:
        name = document.name
        if document.kind == "Intent":
            # one that selects nothing is nobody else's
            return self._of_classes(intent=name) or None
        if document.kind == "Hardware":
            return frozenset(self._with_hardware(name)) or None
        if document.kind == "Nodes":
            _, _, index = field.partition(":spec.nodes.")
            of_group = index.partition(".")[0]
            wanted = [int(of_group)] if of_group.isdigit() else range(len(document.spec.nodes))
            return frozenset(node for index in wanted for node in self._groups[name, index])
        return None

    def _of_classes(self, **facts: str) -> frozenset[Node]:
        return frozenset(
            (node_class.cluster, node)
            for node_class in self.project.classes
            if _has(node_class, facts)
            for node in node_class.nodes
        )

    def _with_hardware(self, name: str) -> Iterator[Node]:
        for document in self.project.documents.of_kind("Nodes"):
            for index, group in enumerate(document.spec.nodes):
                if (group.hardware or document.spec.hardware) == name:
                    yield from self._groups[document.name, index]


def _has(node_class: NodeClass, facts: Mapping[str, str]) -> bool:
    return all(getattr(node_class, fact) == value for fact, value in facts.items())


def _fits(node: Node, clusters: tuple[str, ...], nodes: tuple[str, ...]) -> bool:
    if clusters and node[0] not in clusters:
        return False
    return not nodes or node[1] in nodes or "/".join(node) in nodes
