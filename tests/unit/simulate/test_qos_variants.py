"""The variants of KEP-30, Per-QoS-Class CPU Affinity Hints: the cases that docs/qos.md shows."""

import json
from typing import Any

import pytest
import yaml

from cpuplan.base.cpuset import CpuSet
from cpuplan.base.fits import compiled
from cpuplan.base.program import resource
from cpuplan.plan import ConfiguredPlan
from cpuplan.simulate import admission
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubernetes import quantity
from cpuplan.upstream.kubernetes.pod import Pod
from tests import named_cases
from tests.machines.pods import container, guaranteed, named, pod

AVX = "example.com/avx-cores"
BEST_EFFORT = named("be", pod(container()))
BURSTABLE = named("bu", pod(container("1", "")))
SHARED = named("gs", pod(container("500m", "1Gi")))
EXCLUSIVE = guaranteed("ge", 8)


def node_of(case: str, node: str = "worker-0") -> ConfiguredPlan:
    return named_cases.compiled(case).plan.by_node["site", node]


def run(node: ConfiguredPlan, *pods: Pod, **resources: int) -> dict[str, Any]:
    """Where the containers of pods run, by pod; why not for refused ones."""
    facts = planned(node)
    amounts = {name: quantity.of(amount) for name, amount in resources.items()}
    allocator = KubeletAllocator(facts._replace(resources=amounts))
    placed: dict[str, Any] = {}
    for outcome in admission.run(allocator, pods).outcomes:
        places = [CpuSet.from_bits(container.started.effective) for container in outcome.containers]
        placed[outcome.pod.uid] = outcome.refused.reason if outcome.refused else places[0]
        assert not any(container.started.outside for container in outcome.containers)
    return placed


def test_variant_1_best_effort_runs_on_its_cores_and_nobody_else_does() -> None:
    node = node_of("avx-batch")
    best_effort, other = node.pool("bestEffort").cpus, node.pool("other").cpus
    placed = run(node, BEST_EFFORT, BURSTABLE, SHARED, EXCLUSIVE)
    assert placed["be"] == best_effort
    for name in ("bu", "gs", "ge"):
        assert placed[name] <= other - node.pool("reserved").cpus
    assert best_effort | other | node.pool("isolcpus").cpus == node.topology.online


def test_variant_2_counts_cores_with_exclusive_cpus() -> None:
    simd = guaranteed("simd", 8)
    (main,) = simd.containers
    asking = main._replace(requests={**main.requests, AVX: quantity.of(8)})
    pods = [simd._replace(uid=f"simd-{number}", containers=(asking,)) for number in range(3)]
    placed = run(node_of("avx-exclusive"), *pods, **{AVX: 16})
    assert [len(placed[f"simd-{number}"]) for number in range(2)] == [8, 8]
    assert placed["simd-2"] == f"OutOf{AVX}"


def test_the_policy_of_variant_2_is_one_of_kubernetes() -> None:
    path = named_cases.FOLDER / "avx-exclusive/policies/avx-cores.yaml"
    for document in yaml.safe_load_all(path.read_text()):
        schema = resource("schemas", "emitted", f"{document['kind']}.schema.json").read_text()
        assert compiled(json.loads(schema))(document), document["kind"]


@pytest.mark.parametrize(("node", "is_tainted"), [("avx-0", True), ("scalar-0", False)])
def test_variant_3_taints_the_nodes_of_one_kind(node: str, is_tainted: bool) -> None:
    fields = node_of("avx-nodes", node).settings.values("kubelet")
    assert ("registerWithTaints" in fields) == is_tainted
