"""Which devices requests mean, whether they are free or not."""

from collections.abc import Mapping, Sequence

from cpuplan.upstream.dra.devices import Attribute, Device
from cpuplan.upstream.dra.scheduler import cel
from cpuplan.upstream.dra.scheduler.nodes import CelError
from cpuplan.upstream.dra.scheduler.requests import Request


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
