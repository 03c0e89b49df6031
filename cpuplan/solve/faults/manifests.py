"""Manifests of workloads that are no pods, or have no exclusive CPUs, and pods without number."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import At, Field, Position
from cpuplan.language.read.pods import problem_of, problems_of, template_of
from cpuplan.plan import NodeClass
from cpuplan.solve.rules import demand
from cpuplan.solve.rules.rule import Statements

#: The pods of one node that are simulated. Kubernetes is tested with 110 (Considerations for large
#: clusters).
_MOST_SIMULATED = 2000


class _Places(NamedTuple):
    """The places of a manifest that is written in the intent."""

    at: At
    field: str

    def value_at(self, field: Field) -> Position | None:
        return self.at(".".join([self.field, *map(str, field)]))


def wrong(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP720: manifests that cannot be simulated; CP314: those that need no room.

    CP4150: pods that need no room are bounded by nothing else.
    """
    for index, workload in enumerate(statements.node_class.spec.workloads):
        if workload.manifest is None:
            continue
        field = f"workloads.{index}.manifest"
        places, found = _Places(at, field), template_of(workload.manifest)
        if found is None:
            yield problem_of(places, (), "is of no pod")
            continue
        problems = list(problems_of(places, *found))
        yield from problems
        if not problems and not demand.exclusive_cpus(statements.node_class, workload):
            yield diagnose("CP314", at(field), workload=workload.name)
            most = _most_pods(statements.node_class)
            if workload.pods > most:
                place = at(f"workloads.{index}.pods")
                name, pods = workload.name, workload.pods
                yield diagnose("CP4150", place, workload=name, pods=pods, most=most)


def _most_pods(node_class: NodeClass) -> int:
    """The pods that a kubelet admits: maxPods, as far as it is simulated."""
    given = node_class.spec.kubelet.configuration.get("maxPods")
    most = given if isinstance(given, int) and given > 0 else node_class.platform.max_pods
    return min(most, _MOST_SIMULATED)
