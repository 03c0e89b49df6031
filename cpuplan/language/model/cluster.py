"""The document of what nodes of a cluster get from others than cpuplan: Cluster (pydantic)."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from cpuplan.language.model.base import (
    AbsolutePath,
    DocumentName,
    FeatureSet,
    Key,
    LabelKey,
    Labels,
    LabelValue,
    Line,
    Lines,
    Listed,
    Model,
    OciRuntime,
    Release,
    matching,
    problem,
)


class Requirement(Model):
    """A condition for a label."""

    key: LabelKey = Field(description="the label")
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"] = Field(
        description="how the value is compared"
    )
    values: Annotated[tuple[LabelValue, ...], Listed] = Field(
        default=(), description="the values, for In and NotIn"
    )

    @model_validator(mode="after")
    def _has_values(self) -> Self:
        """Whether the operator has the values that it needs, and no others."""
        if (self.operator in ("In", "NotIn")) != bool(self.values):
            text = "a mapping with values for In and NotIn, and without them for other operators"
            raise problem("requirement_values", text)
        return self


def meets(operator: str, key: str, values: Collection[object], labels: Mapping[str, str]) -> bool:
    """Whether labels meet a requirement; no labels do with an unknown operator."""
    is_present = key in labels
    match operator:
        case "In":
            return is_present and labels[key] in values
        case "NotIn":
            return not is_present or labels[key] not in values
        case "Exists":
            return is_present
        case "DoesNotExist":
            return not is_present
        case _:
            return False


class LabelSelector(Model):
    """Objects that match all of these conditions; without conditions, none."""

    match_labels: Labels = Field(default={}, description="labels with these values")
    match_expressions: Annotated[tuple[Requirement, ...], Listed] = Field(
        default=(), description="further conditions"
    )

    def selects(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels matches."""
        if not (self.match_labels or self.match_expressions):
            return False
        return self.match_labels.items() <= labels.items() and all(
            meets(expression.operator, expression.key, expression.values, labels)
            for expression in self.match_expressions
        )


class MachineConfigPool(Model):
    """A custom MachineConfigPool that cpuplan does not write."""

    name: DocumentName = Field(description="name of the object")
    labels: Labels = Field(default={}, description="labels of the object")
    machine_config_selector: LabelSelector = Field(
        description="the MachineConfigs of the pool, by their labels"
    )
    node_selector: LabelSelector = Field(description="the nodes of the pool, by their labels")


class MachineConfig(Model):
    """A MachineConfig that cpuplan does not write."""

    name: DocumentName = Field(description="name of the object; it decides about the order")
    labels: Labels = Field(
        description="labels of the object",
        examples=[{"machineconfiguration.openshift.io/role": "worker"}],
    )
    kernel_arguments: Annotated[tuple[Line, ...], Listed] = Field(
        default=(), description="boot arguments that it adds"
    )
    kernel_type: Literal["default", "realtime", "64k-pages"] = Field(
        default="default", description="kernel that it installs"
    )
    extensions: Annotated[tuple[Key, ...], Listed] = Field(
        default=(), description="extensions of the operating system that it installs"
    )
    files: Annotated[tuple[AbsolutePath, ...], Listed] = Field(
        default=(), description="paths of the files, links and directories that it writes"
    )
    units: Annotated[tuple[Line, ...], Listed] = Field(
        default=(), description="names of the systemd units and drop-ins that it writes"
    )


class KubeletConfig(Model):
    """A KubeletConfig that cpuplan does not write."""

    name: DocumentName = Field(description="name of the object")
    machine_config_pool_selector: LabelSelector = Field(
        description="the pools that get it, by their labels"
    )


class ContainerRuntimeConfig(Model):
    """A ContainerRuntimeConfig; cpuplan writes none."""

    name: DocumentName = Field(description="name of the object")
    machine_config_pool_selector: LabelSelector = Field(
        description="the pools that get it, by their labels"
    )
    default_runtime: OciRuntime | None = Field(
        default=None, description="the runtime of containers whose handler names none"
    )


class TunedProfile(Model):
    """A profile in a Tuned object."""

    name: Key = Field(description="name of the profile, which others include it by")
    data: Lines = Field(description="its text, tuned.conf(5)")


class TunedMatch(Model):
    """A label of a node or pod that a recommendation is for."""

    label: LabelKey | None = Field(default=None, description="key of the label; default: any")
    value: LabelValue | None = Field(default=None, description="its value; default: any")
    type: Literal["node", "pod"] = Field(default="node", description="what has the label")
    match: Annotated[tuple[dict[str, Any], ...], Listed] = Field(
        default=(), description="further labels of the same form, of which one must match too"
    )

    @model_validator(mode="after")
    def _matches_below(self) -> Self:
        """Whether the matches below have the same form."""
        for given in self.match:
            TunedMatch.read(given)
        return self


class TunedRecommendation(Model):
    """Which nodes get a profile."""

    profile: Key = Field(description="name of the profile")
    priority: Annotated[int, Field(ge=0, le=2**63 - 1)] = Field(
        description="of several for a node, the one with the lowest number counts"
    )
    match: Annotated[tuple[TunedMatch, ...] | None, Listed] = Field(
        default=None, description="labels of nodes or pods, of which one is enough"
    )
    machine_config_labels: Labels | None = Field(
        default=None,
        description="nodes of the pools that take MachineConfigs with these labels; the boot "
        "arguments of a profile become a MachineConfig with them, and of others nothing",
        examples=[{"machineconfiguration.openshift.io/role": "worker-cnf"}],
    )
    operand: dict[str, Any] = Field(default={}, description="how TuneD runs; no setting of nodes")


class Tuned(Model):
    """A Tuned object that cpuplan does not write."""

    name: DocumentName = Field(description="name of the object")
    profile: Annotated[tuple[TunedProfile, ...], Listed] = Field(
        default=(), description="profiles of TuneD, as in the object"
    )
    recommend: Annotated[tuple[TunedRecommendation, ...], Listed] = Field(
        default=(), description="which nodes get which profile, as in the object"
    )


_Unit = Annotated[
    str,
    matching(
        r"^[-A-Za-z0-9:_.\\]+(@[-A-Za-z0-9:_.\\]*)?"
        r"\.(service|socket|device|mount|automount|swap|target|path|timer|snapshot|slice|scope)$",
        "the name of a systemd unit, such as crio.service",
        "crio.service",
    ),
]
#: Actions that stand alone in a list.
_ALONE = ("None", "Reboot")


class Service(Model):
    """The unit that an action is about."""

    service_name: _Unit = Field(description="name of the systemd unit")


class DisruptionAction(Model):
    """One thing that a node does after a change."""

    type: Literal["DaemonReload", "Drain", "None", "Reboot", "Reload", "Restart"] = Field(
        description="what the node does"
    )
    reload: Service | None = Field(default=None, description="the unit, for Reload")
    restart: Service | None = Field(default=None, description="the unit, for Restart")

    @model_validator(mode="after")
    def _has_its_unit(self) -> Self:
        """Whether the unit is given for Reload and Restart, and for these alone."""
        given = {"Reload": self.reload, "Restart": self.restart}
        for name, unit in given.items():
            if (self.type == name) != (unit is not None):
                text = f"a mapping with {name.lower()} for {name}, and without it for other types"
                raise problem("disruption_unit", text)
        return self


class _Policy(Model):
    actions: Annotated[tuple[DisruptionAction, ...], Field(min_length=1), Listed] = Field(
        description="what the node does, in this order; None and Reboot stand alone"
    )

    @model_validator(mode="after")
    def _stands_alone(self) -> Self:
        """Whether None and Reboot are the only action of a list, as the API server asks for."""
        types = [action.type for action in self.actions]
        if len(types) > 1 and set(types) & set(_ALONE):
            raise problem("disruption_alone", "a mapping whose None or Reboot is the only action")
        return self


class FilePolicy(_Policy):
    """The policy of a file, or of all files of a folder."""

    path: AbsolutePath = Field(description="the file or folder; the longest path that fits counts")


class UnitPolicy(_Policy):
    """The policy of a systemd unit."""

    name: _Unit = Field(description="name of the unit")


class KeyPolicy(_Policy):
    """The policy of SSH keys."""


class NodeDisruptionPolicy(Model):
    """What nodes do after changes of files and units, in place of a reboot."""

    files: Annotated[tuple[FilePolicy, ...], Listed] = Field(
        default=(), description="policies of files"
    )
    units: Annotated[tuple[UnitPolicy, ...], Listed] = Field(
        default=(), description="policies of systemd units"
    )
    sshkey: KeyPolicy | None = Field(default=None, description="the policy of SSH keys")


class NodeResourceTopology(Model):
    """What publishes NodeResourceTopology objects in a cluster, and what its API server takes."""

    exporter: (
        Literal["resource-topology-exporter", "node-feature-discovery", "koordlet", "nri-policy"]
        | None
    ) = Field(
        default=None,
        description="what writes the objects. nri-policy: the plugins of mechanisms balloons and "
        "topology-aware. Default: koordlet for nodes with mechanism koordinator, the "
        "resource-topology-exporter of the NUMA Resources Operator on openshift, else "
        "node-feature-discovery (its topology updater)",
    )
    crd: Literal["noderesourcetopology-api", "scheduler-plugins", "koordinator-1.6"] = Field(
        default="noderesourcetopology-api",
        description="whose CustomResourceDefinition is installed. noderesourcetopology-api serves "
        "v1alpha1 and v1alpha2, as those of both exporters and of Koordinator's charts from 1.7 on "
        "do; scheduler-plugins only v1alpha2; koordinator-1.6, as all of its charts up to then, "
        "only v1alpha1",
    )


class ClusterSpec(Model):
    """Facts about a cluster, and the objects in it that cpuplan does not write but nodes get."""

    version: Release | None = Field(
        default=None,
        description="release of the control plane (the API server), where it is newer than the "
        "nodes; default: the newest version of the cluster's targets",
    )
    feature_set: FeatureSet | None = Field(
        default=None,
        description="openshift: as in the FeatureGate object `cluster`. In mode "
        "performanceProfile, mixed CPUs need a set with the gate MixedCPUsAllocation. Default: "
        "what a target states, else Default",
    )
    enabled_feature_gates: Annotated[tuple[Key, ...], Listed] = Field(
        default=(),
        description="openshift: the gates that CustomNoUpgrade enables; without any, it is taken "
        "to enable what the intents need",
    )
    control_plane_feature_gates: Annotated[tuple[Key, ...], Listed] = Field(
        default=(),
        description="gates that are enabled in kube-apiserver, kube-scheduler and "
        "kube-controller-manager beside those that are on by default; mechanism dra needs some",
        examples=[["DRAConsumableCapacity"]],
    )
    cgroup_mode: Literal["v1", "v2"] | None = Field(
        default=None,
        description="version of the nodes' control groups; on openshift as in the Node object "
        "`cluster`. Default: v2; v1 on openshift before 4.16 with a PerformanceProfile, "
        "because the "
        "node tuning operator sets it unless the target has ignoreCgroupsVersion",
    )
    node_resource_topology: NodeResourceTopology = Field(
        default_factory=NodeResourceTopology.model_construct
    )
    machine_config_pools: Annotated[tuple[MachineConfigPool, ...], Listed] = Field(
        default=(), description="openshift: custom pools that cpuplan does not write"
    )
    machine_configs: Annotated[tuple[MachineConfig, ...], Listed] = Field(
        default=(), description="openshift: MachineConfigs that cpuplan does not write"
    )
    kubelet_configs: Annotated[tuple[KubeletConfig, ...], Listed] = Field(
        default=(),
        description="openshift: KubeletConfigs that cpuplan does not write, in order of creation",
    )
    container_runtime_configs: Annotated[tuple[ContainerRuntimeConfig, ...], Listed] = Field(
        default=(), description="openshift: ContainerRuntimeConfigs, in order of creation"
    )
    tuneds: Annotated[tuple[Tuned, ...], Listed] = Field(
        default=(),
        description="openshift: Tuned objects that cpuplan does not write, such as a profile on "
        "top of the planned one",
    )
    node_disruption_policy: NodeDisruptionPolicy | None = Field(
        default=None,
        description="openshift, from 4.17 on: as in the MachineConfiguration object `cluster`; "
        "`plan` tells by it which changes need no reboot",
    )

    @model_validator(mode="after")
    def _gates_are_custom(self) -> Self:
        """Whether single gates are enabled only where the feature set allows it."""
        if self.enabled_feature_gates and self.feature_set != "CustomNoUpgrade":
            text = "a mapping with enabledFeatureGates only for featureSet CustomNoUpgrade"
            raise problem("feature_gates", text)
        return self
