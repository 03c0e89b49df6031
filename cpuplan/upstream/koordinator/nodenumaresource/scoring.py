"""The plugin's arguments with their defaults and checks, and how well a pod would stand on a node.

Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/scoring.go
  @ a7a1b76bbf81abd26f9c377de1f31a60dd965f6e
Upstream: koordinator-sh/koordinator pkg/scheduler/plugins/nodenumaresource/least_allocated.go
  pkg/scheduler/plugins/nodenumaresource/most_allocated.go pkg/scheduler/apis/config/v1/defaults.go
  pkg/scheduler/apis/config/validation/validation_pluginargs.go
  @ 989ca85c62abcca92b303aa12fd2ccff2ed30fed
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.koordinator.extension.numa_aware import FULL_PCPUS, SPREAD_BY_PCPUS
from cpuplan.upstream.kubernetes.errors import AggregateError, KubeletError
from cpuplan.upstream.kubernetes.fit import EPHEMERAL_STORAGE, amount_of
from cpuplan.upstream.kubernetes.pod import CPU, MEMORY, Resources
from cpuplan.upstream.kubernetes.strconv import quote

MOST_ALLOCATED, LEAST_ALLOCATED = "MostAllocated", "LeastAllocated"

NOT_ENOUGH_CPUS = "not enough cpus available to satisfy request"


_MOST_WEIGHT = 100


class Scoring(NamedTuple):
    """A strategy, and (resource, weight) of what it looks at."""

    type: str = LEAST_ALLOCATED
    resources: tuple[tuple[str, int], ...] = ((CPU, 1), (MEMORY, 1))

    def as_json(self) -> dict[str, Any]:
        resources = [{"name": name, "weight": weight} for name, weight in self.resources]
        return {"type": self.type, "resources": resources}


class PluginArgs(NamedTuple):
    """The arguments; of `numa_scoring` nothing but the type has an effect."""

    default_bind_policy: str = FULL_PCPUS
    scoring: Scoring = Scoring()
    numa_scoring: Scoring = Scoring()

    @property
    def default_strategy(self) -> str:
        """For NUMA nodes of nodes without a label (GetDefaultNUMAAllocateStrategy)."""
        return MOST_ALLOCATED if self.numa_scoring.type == MOST_ALLOCATED else LEAST_ALLOCATED

    def as_json(self) -> dict[str, Any]:
        return {
            "defaultCPUBindPolicy": self.default_bind_policy,
            "scoringStrategy": self.scoring.as_json(),
            "numaScoringStrategy": self.numa_scoring.as_json(),
        }


def read_args(given: Mapping[str, Any]) -> PluginArgs:
    """The arguments with their defaults; KubeletError with the text of the failing start."""
    policy = given.get("defaultCPUBindPolicy")
    args = PluginArgs(
        FULL_PCPUS if policy is None else policy,
        _scoring(given.get("scoringStrategy")),
        _scoring(given.get("numaScoringStrategy")),
    )
    if mistakes := list(dict.fromkeys(_mistakes(args))):
        raise AggregateError(mistakes)
    for name, scoring in (("scoring", args.scoring), ("numa scoring", args.numa_scoring)):
        if scoring.type not in (LEAST_ALLOCATED, MOST_ALLOCATED):
            raise KubeletError(f"{name} strategy {scoring.type} is not supported")
    return args


def _scoring(given: Mapping[str, Any] | None) -> Scoring:
    """Only what is absent as a whole has defaults: a strategy without resources scores none."""
    if given is None:
        return Scoring()
    resources = given.get("resources") or ()
    return Scoring(
        given.get("type", ""),
        tuple((resource.get("name", ""), resource.get("weight", 0)) for resource in resources),
    )


def _mistakes(args: PluginArgs) -> Iterator[str]:
    if args.default_bind_policy not in ("", FULL_PCPUS, SPREAD_BY_PCPUS):
        rule = f"must specified CPU bind policy {FULL_PCPUS} or {SPREAD_BY_PCPUS}"
        yield f"defaultCPUBindPolicy: Invalid value: {quote(args.default_bind_policy)}: {rule}"
    for scoring in (args.scoring, args.numa_scoring):
        for index, (name, weight) in enumerate(scoring.resources):
            if not 0 < weight <= _MOST_WEIGHT:
                rule = f"resource weight of {name} not in valid range (0, {_MOST_WEIGHT}]"
                yield f"resources[{index}].weight: Invalid value: {weight}: {rule}"


MAX_SCORE = 100
_ALWAYS = (CPU, MEMORY, EPHEMERAL_STORAGE)


def score(
    scoring: Scoring, strategy: str, requested: Resources, allocatable: Resources, pod: Resources
) -> int:
    """The weighted mean of what is free, or of what is used for MostAllocated, from 0 to 100.

    CPUs, memory and ephemeral storage always count, others where the pod requests them.
    """
    total = weights = 0
    for name, weight in dict(scoring.resources).items():
        capacity, wanted = amount_of(name, allocatable), amount_of(name, pod)
        if not capacity or (not wanted and name not in _ALWAYS):
            continue
        used = amount_of(name, requested) + wanted
        total += weight * _share(strategy, used, capacity)
        weights += weight
    return total // weights if weights else 0


def _share(strategy: str, used: int, capacity: int) -> int:
    if strategy == MOST_ALLOCATED:
        return min(used, capacity) * MAX_SCORE // capacity
    return max(capacity - used, 0) * MAX_SCORE // capacity
