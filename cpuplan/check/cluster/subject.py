"""A node, its class, and what the API of its cluster says."""

from collections.abc import Iterable
from typing import Any

from cpuplan.check.cluster.objects import Objects
from cpuplan.check.subject import Statements, name, origin
from cpuplan.diagnostics import Reason, diagnose
from cpuplan.diagnostics.source import Field, Locate, Position
from cpuplan.plan.expected.answer import Answer, Heals, Verdict
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting
from cpuplan.simulate.koordinatorfiles.objects import Object


class Place(Statements):
    """The objects of a cluster, and answers on them."""

    def __init__(self, objects: Objects, locate: Locate) -> None:
        super().__init__(locate)
        self.objects = objects

    def held(self, about: Setting | str, found: Object, value: str = "") -> Answer:
        """A fact that the object shows as it should be."""
        where = evidence(found)
        return Answer(name(about), Verdict.HELD, where, value, value, origin=origin(about))

    def unverifiable(
        self, about: Setting | str, reason: str, found: Object | None = None
    ) -> Answer:
        """A fact that no object shows, and why."""
        where = evidence(found) if found else ""
        verdict = Verdict.UNVERIFIABLE
        return Answer(name(about), verdict, where, reason=reason, origin=origin(about))

    def differs(
        self,
        about: Setting | str,
        code: str,
        at: tuple[Object, Field] | None,
        *,
        observed: str,
        expected: str,
        because: Iterable[Reason] = (),
        heals: Heals | None = None,
        **values: Any,
    ) -> Answer:
        """A fact that is otherwise: the finding `code`, with `found`, `wanted` and `values`.

        It is at a field of an object, or nowhere if there is none.
        """
        found = diagnose(
            code,
            position_of(*at) if at else None,
            labels=self.labels(because),
            found=observed,
            wanted=expected,
            **values,
        )
        return self.answered(about, found, observed=observed, expected=expected, heals=heals)


class Subject(Place):
    """Everything that the steps on one node read."""

    def __init__(self, node: str, expected: Expected, objects: Objects, locate: Locate) -> None:
        super().__init__(objects, locate)
        self.node = node
        self.expected = expected

    def because(self, component: str, key: str = "") -> tuple[Reason, ...]:
        """The reasons of a setting, or of the first of a component."""
        for setting in self.expected.settings.of(component):
            if setting.key == key or not key:
                return setting.reasons
        return ()


def evidence(found: Object) -> str:
    """The file of an object, or its path in the API."""
    return found.source.path


def position_of(found: Object, field: Field) -> Position:
    """The place of a field of an object; objects of an API have no lines."""
    return found.source.value_at((*found.at, *field))
