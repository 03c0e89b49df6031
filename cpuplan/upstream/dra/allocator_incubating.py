"""The scheduler's search for devices (Kubernetes 1.36).

Claims, requests and devices are taken in their order, and the first solution counts: there is no
best fit and no scoring. Combinations that cannot be the first solution are left out, so failing is
not as slow as in the scheduler, which gives up after ten seconds.

Upstream: kubernetes/kubernetes
  staging/src/k8s.io/dynamic-resource-allocation/structured/internal/incubating/allocator_incubating.go
  @ 24e2b02af5543d7910c2bb074c7264df5a8f0467
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cpuplan.upstream.dra import cel, opaque_config
from cpuplan.upstream.dra.api import CAPACITY
from cpuplan.upstream.dra.builder import Attribute, Device
from cpuplan.upstream.dra.cel import CelError
from cpuplan.upstream.dra.driver import Result
from cpuplan.upstream.kubernetes import quantity


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
    configs: tuple[opaque_config.Config, ...] = ()
    results: tuple[Result, ...] | None = None


class SchedulerError(Exception):
    """Why the scheduler does not even search, or stops; the message is its text."""


class Matching:
    """The devices of a node, by the selectors of requests and of DeviceClasses.

    Each selector is asked about a device when the search comes to that device, and once.
    """

    def __init__(self, devices: Sequence[Device], classes: Mapping[str, tuple[str, ...]]) -> None:
        self.devices, self._classes = devices, classes
        self._known: dict[tuple[tuple[str, ...], int], bool] = {}
        self._lists: dict[tuple[tuple[str, ...], str, Attribute], tuple[int, ...]] = {}

    def selectors(self, request: Request) -> tuple[str, ...]:
        """Those of the class, then those of the request; SchedulerError if there is no class."""
        own = request.class_selectors
        known = self._classes.get(request.device_class) if own is None else own
        if known is None:
            name = request.device_class
            raise SchedulerError(
                f"request {request.name}: could not retrieve device class {name}: "
                f'deviceclass.resource.k8s.io "{name}" not found'
            )
        return (*known, *request.selectors)

    def is_meant(self, request: Request, at: int) -> bool:
        """Whether a request means a device; SchedulerError where a selector fails on it."""
        key = (self.selectors(request), at)
        if key not in self._known:
            self._known[key] = self._selects(request, self.devices[at])
        return self._known[key]

    def _selects(self, request: Request, device: Device) -> bool:
        for number, selector in enumerate(self.selectors(request)):
            try:
                if not cel.matches(selector, device):
                    return False
            except (CelError, cel.SyntaxCelError) as error:
                problem = f"selector #{number}: CEL runtime error: {error}"
                raise SchedulerError(f"request {request.name}: {problem}") from None
        return True

    def meant(
        self, request: Request, attribute: str = "", value: Attribute = None
    ) -> tuple[int, ...]:
        """All devices that a request means, or those with an attribute."""
        key = (self.selectors(request), attribute, value)
        if key not in self._lists:
            self._lists[key] = tuple(self._find(request, attribute, value))
        return self._lists[key]

    def _find(self, request: Request, attribute: str, value: Attribute) -> list[int]:
        if not attribute:
            return [at for at in range(len(self.devices)) if self.is_meant(request, at)]
        own = self.meant(request)
        return [at for at in own if self.devices[at].attributes.get(attribute) == value]


#: Devices of one claim (AllocationResultsMaxSize).
MOST_DEVICES = 32
#: Devices that are tried for the claims of one pod.
_MOST_TRIED = 10_000


class StoppedError(SchedulerError):
    """The search took too long: nobody knows whether there is a solution."""


class Usage(NamedTuple):
    """What claims have: devices that one of them has alone, and billionths of capacities."""

    devices: frozenset[str] = frozenset()
    consumed: Mapping[str, int] = {}


class _Slot(NamedTuple):
    """A device that is chosen for a request of a claim."""

    claim: int
    request: str
    device: int
    capacity: str | None


class _Turn(NamedTuple):
    """A request that has some devices already, and the first device to look at for the next."""

    request: Request
    taken: int = 0
    start: int = 0


class Search:
    """One search: for all claims of one pod at once."""

    def __init__(
        self, devices: Sequence[Device], usage: Usage, classes: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._devices, self._matching = devices, Matching(devices, classes)
        self._used = set(usage.devices)
        self._consumed = dict(usage.consumed)
        self._slots: list[_Slot] = []
        self._tried = 0

    def allocate(self, specs: Sequence[Spec]) -> list[tuple[Result, ...]] | None:
        """The devices of each claim; None if there are not enough, SchedulerError as the text."""
        self._specs = specs
        for spec in specs:
            self._check(spec)
        try:
            is_solved = self._next(0, 0)
        except RecursionError:
            raise StoppedError("the claims of the pod have too many devices") from None
        if not is_solved:
            return None
        results: list[list[Result]] = [[] for _ in specs]
        for slot in self._slots:
            name = self._devices[slot.device].name
            results[slot.claim].append(Result(slot.request, name, slot.capacity))
        return [tuple(own) for own in results]

    def _check(self, spec: Spec) -> None:
        fewest = 0
        for request in spec.requests:
            kinds = request.alternatives or (request,)
            fewest += min(self._count(kind) for kind in kinds)
        if fewest > MOST_DEVICES:
            number = f"number of requested devices {fewest}"
            raise SchedulerError(f"{number} exceeds the claim limit of {MOST_DEVICES}")

    def _count(self, request: Request) -> int:
        self._matching.selectors(request)
        return len(self._matching.meant(request)) if request.number is None else request.number

    def _next(self, claim: int, position: int, of: _Turn | None = None) -> bool:
        """Choose one more device, and all that follow, for a request or for one that is begun."""
        while claim < len(self._specs):
            requests = self._specs[claim].requests
            if position == len(requests):
                claim, position = claim + 1, 0
                continue
            request = requests[position]
            if of is None and request.alternatives:
                turns = (_Turn(kind) for kind in _alternatives(request))
                return any(self._next(claim, position, turn) for turn in turns)
            of = of or _Turn(request, 0, self._first(claim, position))
            needed = self._count(of.request)
            if of.request.number is None and not needed:
                return False
            if of.taken < needed:
                return self._choose(claim, position, of, needed)
            position, of = position + 1, None
        return True

    def _has_enough(self, claim: int, position: int, of: _Turn, needed: int) -> bool:
        """Whether a row of equal requests, with nothing behind it, can have enough devices at all.

        Each takes its devices from those that have the attributes in common that it asks for.
        """
        spec, requests = self._specs[claim], self._specs[claim].requests
        following = range(position + 1, len(requests))
        if not all(_are_equal(spec, at - 1, at) for at in following):
            return True
        own = [
            constraint.attribute
            for constraint in spec.constraints
            if constraint.requests == (of.request.name,) and not constraint.is_distinct
        ]
        groups: Counter[tuple[Attribute, ...]] = Counter()
        for at in self._candidates(claim, of):
            device = self._devices[at]
            if device.capacity is not None:
                return True
            if device.name not in self._used:
                groups[tuple(device.attributes.get(name) for name in own)] += 1
        return sum(number // needed for number in groups.values()) >= len(requests) - position

    def _choose(self, claim: int, position: int, of: _Turn, needed: int) -> bool:
        """Try one device after the other; of all devices the next one must be free."""
        if sum(slot.claim == claim for slot in self._slots) + needed - of.taken > MOST_DEVICES:
            return False
        if of.request.number and not of.taken and not self._has_enough(claim, position, of, needed):
            return False
        for at in self._candidates(claim, of):
            if not self._take(claim, of.request, at):
                continue
            if self._next(claim, position, _Turn(of.request, of.taken + 1, at + 1)):
                return True
            self._give_back()
        return False

    def _candidates(self, claim: int, of: _Turn) -> Sequence[int]:
        """The devices to look at: those that are meant, with the attribute that the others have.

        All, where a selector fails on one of them: the scheduler stops when it comes to that one.
        """
        if of.request.number is None:
            return self._matching.meant(of.request)[of.taken : of.taken + 1]
        try:
            meant = self._matching.meant(of.request)
        except SchedulerError:
            return range(of.start, len(self._devices))
        for constraint in self._specs[claim].constraints:
            applies = constraint.is_for(of.request.name) and not constraint.is_distinct
            if applies and (values := self._values(claim, constraint)):
                meant = self._matching.meant(of.request, constraint.attribute, values[0])
                break
        return meant[bisect_left(meant, of.start) :]

    def _first(self, claim: int, position: int) -> int:
        """The first device to look at: of equal requests the first one has the first device.

        The scheduler looks at all, but finds no other first solution.
        """
        if not position or not _are_equal(self._specs[claim], position - 1, position):
            return 0
        before = self._specs[claim].requests[position - 1].name
        own = [slot for slot in self._slots if (slot.claim, slot.request) == (claim, before)]
        shared = own and self._devices[own[0].device].capacity is not None
        return (own[0].device + (not shared)) if own else 0

    def _take(self, claim: int, request: Request, at: int) -> bool:
        device = self._devices[at]
        if device.name in self._used or not self._matching.is_meant(request, at):
            return False
        self._tried += 1
        if self._tried > _MOST_TRIED:
            tried = f"after {_MOST_TRIED:,} devices were tried for the pod"
            raise StoppedError(f"the search was stopped {tried}; the scheduler gives up after 10 s")
        amount = _capacity(request, device)
        if amount is None or not self._has_room(device, amount):
            return False
        if not self._keeps_constraints(claim, request, at):
            return False
        if device.capacity is None:
            self._used.add(device.name)
        else:
            nano = quantity.parse(amount).nano
            self._consumed[device.name] = self._consumed.get(device.name, 0) + nano
        self._slots.append(_Slot(claim, request.name, at, amount or None))
        return True

    def _give_back(self) -> None:
        slot = self._slots.pop()
        name = self._devices[slot.device].name
        if slot.capacity is None:
            self._used.discard(name)
        else:
            self._consumed[name] -= quantity.parse(slot.capacity).nano

    def _has_room(self, device: Device, amount: str) -> bool:
        if device.capacity is None:
            return True
        wanted = self._consumed.get(device.name, 0) + quantity.parse(amount).nano
        return wanted <= quantity.of(device.capacity).nano

    def _keeps_constraints(self, claim: int, request: Request, at: int) -> bool:
        attributes = self._devices[at].attributes
        for constraint in self._specs[claim].constraints:
            if not constraint.is_for(request.name):
                continue
            value = attributes.get(constraint.attribute)
            if value is None:
                return False
            others = self._values(claim, constraint)
            if constraint.is_distinct and value in others:
                return False
            if not constraint.is_distinct and others and others[0] != value:
                return False
        return True

    def _values(self, claim: int, constraint: Constraint) -> list[Attribute]:
        """The attribute of the devices that a claim has so far; one is enough if all are equal."""
        values: list[Attribute] = []
        for slot in self._slots:
            if slot.claim == claim and constraint.is_for(slot.request):
                values.append(self._devices[slot.device].attributes.get(constraint.attribute))
                if not constraint.is_distinct:
                    break
        return values


def _alternatives(request: Request) -> list[Request]:
    return [kind._replace(name=f"{request.name}/{kind.name}") for kind in request.alternatives]


def _capacity(request: Request, device: Device) -> str | None:
    """What a request consumes of a device, empty of one without capacity; None: it has not that.

    Without an amount it is all that the device has, and nothing less.
    """
    asked = dict(request.capacity)
    if device.capacity is None:
        return None if asked else ""
    if set(asked) - {CAPACITY}:
        return None
    return asked.get(CAPACITY, str(device.capacity))


def _are_equal(spec: Spec, position: int, other: int) -> bool:
    """Whether two requests can be exchanged: they ask for the same, under the same constraints."""
    first, second = spec.requests[position], spec.requests[other]
    if first.alternatives or first.number is None or first._replace(name=second.name) != second:
        return False
    return _forms(spec, first.name) == _forms(spec, second.name)


def _forms(spec: Spec, request: str) -> list[tuple[str, bool, tuple[str, ...]]]:
    """The constraints of a request, its own ones without its name."""
    forms = []
    for constraint in spec.constraints:
        if constraint.is_for(request):
            others = tuple(name for name in constraint.requests if name != request)
            is_own = constraint.requests == (request,)
            shape = ("own",) if is_own else others and ("among", request, *others)
            forms.append((constraint.attribute, constraint.is_distinct, shape))
    return sorted(forms)
