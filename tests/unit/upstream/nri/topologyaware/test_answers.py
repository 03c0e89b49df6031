"""The port against answers of the real program on small machines.

containers/nri-plugins at 0705acc8 (v0.14.0+30): its own policy code ran on sysfs trees of these
machines, twice each; cases whose answers differed between the two runs were left out.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from cpuplan.upstream.kubernetes.bits import to_text
from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.pods import Container, Pod, Resources, container
from cpuplan.upstream.nri.topologyaware.config import decode
from cpuplan.upstream.nri.topologyaware.topology_aware_policy import Policy
from tests.machines.nrifiles import isolated, regular

Json = dict[str, Any]
_MACHINES = {
    "dual": regular(2, 4),
    "caches": regular(1, 8, 2, 4),
    "four": regular(4, 2, 2),
    "isolated": isolated(regular(2, 4), "2-3,10-11"),
    "dualcaches": regular(2, 4, 2, 2),
}
_FILE = Path(__file__).with_name("answers.jsonl")
_CASES = [json.loads(line) for line in _FILE.read_text().splitlines()]


@pytest.mark.parametrize("number", range(len(_CASES)))
def test_the_program_says_the_same(number: int) -> None:
    case = _CASES[number]
    assert _answer(case) == case["expected"]


def _answer(case: Json) -> Json:
    try:
        policy = Policy(_MACHINES[case["machine"]], decode(case["config"]))
    except NriError as error:
        return {"configError": str(error)}
    pools = [
        [
            pool.name,
            pool.kind,
            pool.parent.name if pool.parent else "",
            *map(to_text, (pool.free_isolated, pool.reserved, pool.free_sharable)),
            to_text(pool.nodes(0b111)),
        ]
        for pool in policy.state.pools
    ]
    pods = {pod["name"]: pod for pod in case["pods"]}
    return {"pools": pools, "steps": [_step(policy, pods, step) for step in case["steps"]]}


def _step(policy: Policy, pods: Json, step: Json) -> Json:
    error_of: Json = {}
    try:
        if step["do"] == "create":
            policy.create(_container(pods[step["pod"]], step["container"]))
        elif step["do"] == "reconfigure":
            policy.reconfigure(decode(step["config"]))
        else:
            for container in [known for known in policy.containers if _is(known, step)]:
                policy.remove(container)
    except NriError as error:
        error_of["error"] = str(error)
    told = {
        f"{known.pod.name}/{known.name}": [known.cpus, known.mems, known.shares]
        for known in policy.containers
    }
    return {"containers": told, **error_of}


def _is(known: Container, step: Json) -> bool:
    return (known.pod.name, known.name) == (step["pod"], step["container"])


def _container(pod: Json, name: str) -> Container:
    known = Pod(pod["name"], pod["namespace"], pod["qos"], {}, pod.get("annotations", {}))
    given = next(row for row in pod["containers"] if row["name"] == name)
    resources = Resources(
        given["cpuShares"], given.get("cpuQuota", 0), given.get("cpuPeriod", 0), given["memory"]
    )
    return container(known, name, resources)
