"""What a claim asks for (resource.k8s.io/v1, DeviceClaim)."""

from typing import NamedTuple

from cpuplan.upstream.dra import opaque
from cpuplan.upstream.dra.claims import Result


class Request(NamedTuple):
    """Devices of a class; `number` is None for all of them.

    `class_selectors` are those of the class, None where its object is not known. With
    `alternatives` the request has nothing of its own: the first one that can be had is taken.
    """

    name: str
    device_class: str = ""
    selectors: tuple[str, ...] = ()
    number: int | None = 1
    capacity: tuple[tuple[str, str], ...] = ()
    class_selectors: tuple[str, ...] | None = None
    alternatives: tuple["Request", ...] = ()


class Constraint(NamedTuple):
    """An attribute that all devices of some requests, or of all, have in common, or differ in."""

    attribute: str
    requests: tuple[str, ...] = ()
    is_distinct: bool = False

    def is_for(self, request: str) -> bool:
        """Whether it is for a request, or an alternative of one."""
        base = request.partition("/")[0]
        return not self.requests or request in self.requests or base in self.requests


class Spec(NamedTuple):
    """A claim; `results` are there where something else has allocated it already."""

    requests: tuple[Request, ...]
    constraints: tuple[Constraint, ...] = ()
    configs: tuple[opaque.Config, ...] = ()
    results: tuple[Result, ...] | None = None
