"""The objects of a cluster: their kinds, those that were read, and a node among them.

Also what is known of objects that were not read: absent, or unknown.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from cpuplan.base.served import (
    AMOUNT,
    FLAG,
    MAPPING,
    TEXT,
    TEXTS,
    WHOLE,
    Entries,
    Items,
    Shape,
    misfit,
    path_of,
)
from cpuplan.check.subject import Statements, name, origin
from cpuplan.diagnostics import Diagnostic, Reason, diagnose
from cpuplan.diagnostics.source import Field, Locate, Position
from cpuplan.facts.settings.objects import NRT_POLICIES
from cpuplan.facts.settings.openshift import KERNEL_TYPE
from cpuplan.language.read.pods import value_of
from cpuplan.plan.expected.evidence import Answer, Heals, Verdict
from cpuplan.plan.expected.state import Expected
from cpuplan.plan.setting import Setting
from cpuplan.simulate.files.objects import Object

#: Groups of OpenShift's operators.
_MCO, _NTO = "machineconfiguration.openshift.io", "tuned.openshift.io"
_ADMISSION = "admissionregistration.k8s.io"


class Kind(NamedTuple):
    """The path of a kind in the API; `group` is empty for the core."""

    group: str
    plural: str
    is_namespaced: bool = False

    @property
    def resource(self) -> str:
        """As kubectl takes it: `runtimeclasses.node.k8s.io`."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


KINDS = {
    "Node": Kind("", "nodes"),
    "Namespace": Kind("", "namespaces"),
    "ConfigMap": Kind("", "configmaps", is_namespaced=True),
    "Pod": Kind("", "pods", is_namespaced=True),
    "RuntimeClass": Kind("node.k8s.io", "runtimeclasses"),
    "MutatingAdmissionPolicy": Kind(_ADMISSION, "mutatingadmissionpolicies"),
    "MutatingAdmissionPolicyBinding": Kind(_ADMISSION, "mutatingadmissionpolicybindings"),
    "ValidatingAdmissionPolicy": Kind(_ADMISSION, "validatingadmissionpolicies"),
    "ValidatingAdmissionPolicyBinding": Kind(_ADMISSION, "validatingadmissionpolicybindings"),
    "MachineConfig": Kind(_MCO, "machineconfigs"),
    "MachineConfigPool": Kind(_MCO, "machineconfigpools"),
    "KubeletConfig": Kind(_MCO, "kubeletconfigs"),
    "PerformanceProfile": Kind("performance.openshift.io", "performanceprofiles"),
    "Tuned": Kind(_NTO, "tuneds", is_namespaced=True),
    "BalloonsPolicy": Kind("config.nri", "balloonspolicies", is_namespaced=True),
    "DeviceClass": Kind("resource.k8s.io", "deviceclasses"),
    "ResourceSlice": Kind("resource.k8s.io", "resourceslices"),
    "TopologyAwarePolicy": Kind("config.nri", "topologyawarepolicies", is_namespaced=True),
    "ClusterColocationProfile": Kind("config.koordinator.sh", "clustercolocationprofiles"),
    "NodeResourceTopology": Kind("topology.node.k8s.io", "noderesourcetopologies"),
}


def plural_of(kind: str) -> str:
    """What a command or a message calls the objects of a kind."""
    return KINDS[kind].plural if kind in KINDS else f"objects of kind {kind}"


_METADATA: Shape = {
    "name": TEXT,
    "namespace": TEXT,
    "labels": TEXTS,
    "annotations": TEXTS,
    "generation": WHOLE,
}
_CONDITIONS: Shape = Items({"type": TEXT, "status": TEXT, "message": TEXT})
_CONFIGURATION: Shape = {"name": TEXT, "source": Items({"name": TEXT})}
_IGNITION: Shape = {
    "storage": {
        "files": Items(
            {"path": TEXT, "mode": WHOLE, "contents": {"source": TEXT, "compression": TEXT}}
        )
    },
    "systemd": {"units": Items({"name": TEXT, "enabled": FLAG, "mask": FLAG, "contents": TEXT})},
}
#: What is read of an object beside its metadata. Other kinds are compared value by value.
_SHAPES: Mapping[str, Mapping[str, Shape]] = {
    "Node": {"status": {"capacity": Entries(AMOUNT), "allocatable": Entries(AMOUNT)}},
    "Pod": {"spec": {"nodeName": TEXT}, "status": {"phase": TEXT}},
    "MachineConfig": {
        "spec": {"config": _IGNITION, "kernelArguments": Items(TEXT), KERNEL_TYPE.key: TEXT}
    },
    "MachineConfigPool": {
        "spec": {"paused": FLAG, "configuration": _CONFIGURATION},
        "status": {
            "conditions": _CONDITIONS,
            "configuration": {"name": TEXT},
            "observedGeneration": WHOLE,
            "machineCount": WHOLE,
            "updatedMachineCount": WHOLE,
        },
    },
    "KubeletConfig": {"status": {"conditions": _CONDITIONS}},
    "PerformanceProfile": {"status": {"conditions": _CONDITIONS}},
    "NodeResourceTopology": {
        "zones": Items({"name": TEXT}),
        "attributes": Items({"name": TEXT}),
        NRT_POLICIES.key: Items(TEXT),
    },
    "ResourceSlice": {
        "spec": {
            "driver": TEXT,
            "pool": {"name": TEXT, "generation": WHOLE, "resourceSliceCount": WHOLE},
            "devices": Items({"name": TEXT, "attributes": Entries(MAPPING)}),
        }
    },
}


def problem_in(kind: str, data: Any) -> str:
    """What no API server says of an object of a kind; empty where nothing is wrong."""
    shape: Shape = {"metadata": _METADATA, **_SHAPES.get(kind, {})}
    if data is None:
        return "it is null"
    mismatch = misfit(data, shape)
    if mismatch:
        place, problem = mismatch
        return f"{path_of(place) or 'it'} is {problem}"
    return "" if (data.get("metadata") or {}).get("name") else "it has no name"


#: Kind, namespace and name of an object; without these two, all objects of the kind.
Key: TypeAlias = tuple[str, str, str]


class Absent(NamedTuple):
    """No object: because the cluster has none, or (`is_unknown`) because nobody looked.

    `reason` says which of these.
    """

    reason: str
    is_unknown: bool = True


class Objects:
    """Objects by kind, namespace and name; of several versions of one, the last.

    `unread` says why an object, or all of a kind, are not known, and `unserved` which kinds the API
    lacks. Of a kind without an object among them nothing is known either. `refusals` are findings
    about what the API did not tell.
    """

    def __init__(
        self,
        manifests: Iterable[Object] = (),
        unread: Mapping[Key, str] | None = None,
        unserved: Iterable[str] = (),
        *,
        listed: Iterable[str] = (),
        refusals: Iterable[Diagnostic] = (),
    ) -> None:
        self._objects = {
            (manifest.kind, namespace_of(manifest), manifest.name): manifest
            for manifest in manifests
        }
        self._unread = dict(unread or {})
        self._unserved = frozenset(unserved)
        self._listed = {kind for kind, _, _ in self._objects} | set(listed)
        self.refusals = tuple(refusals)

    def joined(self, other: "Objects") -> "Objects":
        """These and further ones, of kinds that are not among these."""
        made = Objects()
        made._objects = self._objects | other._objects
        made._unread = self._unread | other._unread
        made._unserved = self._unserved | other._unserved
        made._listed = self._listed | other._listed
        made.refusals = self.refusals + other.refusals
        return made

    def of_kind(self, kind: str) -> Iterator[Object]:
        """All objects of a kind."""
        return (listed for listed in self._objects.values() if listed.kind == kind)

    def is_known(self, kind: str) -> bool:
        """Whether all objects of a kind are here."""
        return kind in self._listed and (kind, "", "") not in self._unread

    def is_served(self, kind: str) -> bool:
        """Whether the API has such objects, as far as is known."""
        return kind not in self._unserved

    def find(self, kind: str, name: str, namespace: str = "") -> Object | Absent:
        """An object, or what is known of its absence."""
        if listed := self._objects.get((kind, namespace, name)):
            return listed
        if kind in self._unserved:
            return Absent(f"the cluster does not serve {plural_of(kind)}", is_unknown=False)
        for key in ((kind, namespace, name), (kind, "", "")):
            if key in self._unread:
                return Absent(self._unread[key])
        if kind in self._listed:
            return Absent(f"the cluster has no {kind} {name}", is_unknown=False)
        return Absent(f"no {kind} is among the objects that were given")


def namespace_of(listed: Object) -> str:
    """The namespace of an object; empty for one of the whole cluster."""
    namespace = value_of(listed.data, ("metadata", "namespace"))
    return namespace if isinstance(namespace, str) else ""


class Place(Statements):
    """The objects of a cluster, and answers on them."""

    def __init__(self, objects: Objects, locate: Locate) -> None:
        super().__init__(locate)
        self.objects = objects

    def held(self, about: Setting | str, listed: Object, value: str = "") -> Answer:
        """A fact that the object shows as it should be."""
        where = evidence(listed)
        return Answer(name(about), Verdict.HELD, where, value, value, origin=origin(about))

    def unverifiable(
        self, about: Setting | str, reason: str, listed: Object | None = None
    ) -> Answer:
        """A fact that no object shows, and why."""
        where = evidence(listed) if listed else ""
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
        finding = diagnose(
            code,
            position_of(*at) if at else None,
            labels=self.labels(because),
            found=observed,
            wanted=expected,
            **values,
        )
        return self.answered(about, finding, observed=observed, expected=expected, heals=heals)


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


def evidence(listed: Object) -> str:
    """The file of an object, or its path in the API."""
    return listed.source.path


def position_of(listed: Object, field: Field) -> Position:
    """The place of a field of an object; objects of an API have no lines."""
    return listed.source.value_at((*listed.at, *field))
