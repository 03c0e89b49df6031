"""Manifests of workloads that are no pods, or have no exclusive CPUs."""

from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.read.pods import problem_of, problems_of, template_of
from cpuplan.solve.rules import demand
from cpuplan.solve.rules.rule import Statements
from cpuplan.source import At, Field, Position


class _Places(NamedTuple):
    """The places of a manifest that is written in the intent."""

    at: At
    field: str

    def value_at(self, field: Field) -> Position | None:
        return self.at(".".join([self.field, *map(str, field)]))


def wrong(statements: Statements, at: At) -> Iterator[Diagnostic]:
    """CP720: manifests that cannot be simulated; CP314: those that need no room."""
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
