"""What the machine config operator does since which release of OpenShift.

Upstream: openshift/machine-config-operator pkg/controller/common/helpers.go
  pkg/controller/common/constants.go @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypeAlias

from cpuplan.facts.programs import OPENSHIFT
from cpuplan.facts.versions import from_text


class McoError(Exception):
    """A refusal; `cause` is the broken rule, `facts` are the values that break it."""

    def __init__(self, cause: str, **facts: Any) -> None:
        super().__init__(cause)
        self.cause, self.facts = cause, facts

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"{self.cause} ({listed})" if listed else self.cause


class Problem(NamedTuple):
    """A broken rule of Ignition: the keys and indexes that lead to the value, and the rule."""

    place: tuple[str | int, ...]
    cause: str


class IgnitionError(McoError):
    """An Ignition config that is not valid."""

    def __init__(self, cause: str, problems: tuple[Problem, ...] = (), **facts: Any) -> None:
        super().__init__(cause, **facts)
        self.problems = problems

    def __str__(self) -> str:
        listed = "; ".join(
            f"{'.'.join(map(str, problem.place))}: {problem.cause}" for problem in self.problems
        )
        return f"{super().__str__()}: {listed}" if listed else super().__str__()


class ConversionError(IgnitionError):
    """A valid config of spec 2 that spec 3 cannot express: the operator sees that while merging."""


class RenderError(McoError):
    """A pool that cannot be rendered: its nodes keep what they have.

    `stage` is select, validate or merge; `machine_config` names the refused object, if there is
    one.
    """

    def __init__(self, stage: str, error: McoError, machine_config: str = "") -> None:
        super().__init__(error.cause, **error.facts)
        self.stage, self.machine_config, self.error = stage, machine_config, error

    def __str__(self) -> str:
        return f"{self.machine_config}: {self.error}" if self.machine_config else str(self.error)


class NodePoolError(McoError):
    """A node whose pool cannot be decided: it gets no updates."""


Release: TypeAlias = tuple[int, int]

#: In order. 4.23 and 5.0 have the same text.
RELEASES: tuple[Release, ...] = tuple(map(from_text, OPENSHIFT.names))
NEWEST = RELEASES[-1]

#: First releases.
FEATURES: dict[str, Release] = {
    "merge.worker_first": (4, 15),  # before: all objects by name
    "merge.kernel_64k_pages": (4, 15),
    "merge.extensions_checked": (4, 16),
    "merge.reconciled": (4, 16),  # a step that no node can take is refused while rendering
    "merge.extensions_checked_with_config_only": (4, 18),
    "merge.ignition_3_5": (4, 19),
    "merge.compression_reset": (4, 20),
    "merge.generated_os_image_ignored": (4, 21),
    "cost.fips_compared": (4, 16),  # the objects, not only the node
    "cost.legacy_folders": (4, 16),
    "cost.policies": (4, 17),  # node disruption policies
    "cost.crio_policies": (4, 18),
    "cost.absent_arguments_tolerated": (4, 18),
    "cost.credential_providers": (4, 22),
    "cost.internal_registry": (4, 22),
    "cost.storage_overrides": (4, 23),
    "kubelet.defaults_for_every_pool": (4, 16),  # before: only with feature gates
    "kubelet.drop_ins": (4, 21),  # templates/worker/01-worker-kubelet
    "kubelet.drop_ins_of_every_role": (4, 23),  # master and arbiter too (36c7cead4)
    "kubelet.swap_refused": (4, 21),
    "kubelet.system_reserved_enforced": (4, 22),
    "kubelet.static_pods_by_pool": (4, 23),  # before: no pool takes a staticPodPath
    "merge.os_image_stream": (4, 22),
    "merge.special_mode_bits_kept": (4, 23),  # of Ignition configs before 3.4
}

#: Names of extensions: the first release that has it, and the first that does not.
EXTENSIONS: dict[str, tuple[Release, Release | None]] = {
    "ipsec": ((4, 14), None),
    "kerberos": ((4, 14), None),
    "kernel-devel": ((4, 14), None),
    "sandboxed-containers": ((4, 14), None),
    "sysstat": ((4, 18), None),
    "two-node-ha": ((4, 19), None),
    "usbguard": ((4, 14), None),
    "wasm": ((4, 14), (4, 22)),
}


def has(release: Release, feature: str) -> bool:
    """Whether the operator of a release does what the table calls `feature`."""
    return release >= FEATURES[feature]


def newest_ignition(release: Release) -> tuple[int, int]:
    """The newest Ignition spec that the operator of a release knows, the one of what it renders."""
    return (3, 5) if has(release, "merge.ignition_3_5") else (3, 4)


def extensions(release: Release) -> frozenset[str]:
    """The extensions that a release can install."""
    return frozenset(
        name
        for name, (first, end) in EXTENSIONS.items()
        if first <= release and (end is None or release < end)
    )


def mapping(item: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A section; empty where it is absent."""
    value = item.get(name)
    return {} if value is None else as_mapping(value, name)


def as_mapping(value: Any, name: str) -> Mapping[str, Any]:
    """The value itself."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise _wrong_type(name)
    return value


def mappings(item: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """The sections of a list."""
    return [as_mapping(entry, name) for entry in _list(item, name)]


def texts(item: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """The texts of a list."""
    entries = _list(item, name)
    if not all(isinstance(entry, str) for entry in entries):
        raise _wrong_type(name)
    return tuple(entries)


def text(item: Mapping[str, Any], name: str) -> str:
    """A text; "" where it is absent."""
    value = item.get(name)
    if value is not None and not isinstance(value, str):
        raise _wrong_type(name)
    return value or ""


def flag(item: Mapping[str, Any], name: str) -> bool:
    """A flag; false where it is absent."""
    value = item.get(name)
    if value is not None and not isinstance(value, bool):
        raise _wrong_type(name)
    return bool(value)


def number(item: Mapping[str, Any], name: str) -> int | None:
    """A whole number, if there is one."""
    value = item.get(name)
    if value is not None and type(value) is not int:
        raise _wrong_type(name)
    return value


def text_mapping(item: Mapping[str, Any], name: str) -> dict[str, str]:
    """Labels or annotations."""
    values = mapping(item, name)
    return {key: text(values, key) for key in values}


def _list(item: Mapping[str, Any], name: str) -> list[Any]:
    value = item.get(name)
    if value is not None and not isinstance(value, list):
        raise _wrong_type(name)
    return value or []


def _wrong_type(name: str) -> McoError:
    return McoError("wrong type", field=name)
