"""What a cluster has beside what was compiled for it: facts that no file of `out/` contains."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from cpuplan.backends.openshift import merged
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import NodeClass

Object = Mapping[str, Any]


class Cluster(NamedTuple):
    """MachineConfigs of others, and the MachineConfiguration with node disruption policies."""

    machine_configs: tuple[Object, ...] = ()
    configuration: Object = MappingProxyType({})


#: By the names of clusters; a cluster that is not in it has nothing of others.
Context = Mapping[str, Cluster]


def of(classes: Iterable[NodeClass]) -> Context:
    """What the Cluster documents of a project say."""
    return {each.cluster: _cluster(each.cluster_facts) for each in classes}


def _cluster(facts: ClusterSpec) -> Cluster:
    policy = facts.node_disruption_policy
    given = policy.model_dump(mode="json", by_alias=True, exclude_none=True) if policy else {}
    return Cluster(
        tuple(map(merged.foreign_object, facts.machine_configs)),
        {"spec": {"nodeDisruptionPolicy": given}},
    )
