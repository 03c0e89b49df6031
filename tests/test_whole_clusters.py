"""Every node gets what its class gets alone, whatever else is in the cluster; or it is refused."""

import random
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from cpuplan.cli.main import run
from cpuplan.fleet import openshift
from tests.whole_clusters import (
    NODE_ROLE,
    ROLE,
    Member,
    Object,
    compiled,
    differences,
    gets,
    stated,
)

RELEASES = ("4.14", "4.15", "4.18", "4.21", "4.23", "5.1")
#: Older operators have no controller of profiles on hosted clusters (CP554).
HOSTED_RELEASES = ("4.17", "4.18", "4.21", "4.23", "5.1")
POOLS = ("worker", "master", "fast", "worker-cnf", "zeta")
ARGUMENTS = (
    ["quiet"],
    ["nohz_full=1-3"],
    ["isolcpus=2"],
    ["hugepagesz=1G", "hugepages=3"],
    ["skew-tick=0"],
)
FILES = ("/etc/motd", "/etc/crio/crio.conf.d/99-runtimes.conf", "/etc/kubernetes/kubelet.conf")
#: What refuses a cluster because of its pools.
REFUSALS = {"CP237", "CP238", "CP239", "CP255", "CP256", "CP257", "CP298"}


def _target(chance: random.Random, version: str, pool: str) -> dict[str, Any]:
    target: dict[str, Any] = {"platform": "openshift", "version": version, "pool": pool}
    if chance.random() < 0.3:
        target["mode"] = "performanceProfile"
    if chance.random() < 0.2 and pool not in ("worker", "master"):
        target["mixedHardware"] = "split"
        return target
    if chance.random() < 0.1:
        role = chance.choice(["worker", "fast", "own"])
        target["machineConfigLabel"] = {ROLE: role}
    if chance.random() < 0.1 and pool not in ("worker", "master"):
        target["machineConfigPoolSelector"] = {"team": "radio"}
    return target


def _member(
    chance: random.Random, name: str, target: Mapping[str, Any], of_cluster: Mapping[str, Any]
) -> Member:
    """A class with an intent; `of_cluster` is what targets say about all of the cluster."""
    cores = {"cores": chance.choice([1, 1, 2]), "per": "numaNode"}
    spec: dict[str, Any] = {"pools": {"reserved": cores, "isolated": "rest"}}
    if chance.random() < 0.3:
        spec["kernel"] = {"realTime": True}
    if chance.random() < 0.3:
        spec["hugePages"] = {"defaultSize": "1G", "pages": [{"size": "1G", "count": 4}]}
    return Member(name, {**target, **of_cluster}, spec)


def _profile(chance: random.Random, name: str, pool: str) -> Member:
    """A class whose document is a PerformanceProfile."""
    reserved, isolated = chance.choice(
        [("0,4,8,12", "1-3,5-7,9-11,13-15"), ("0-1,4,8-9,12", "2-3,5-7,10-11,13-15")]
    )
    spec: dict[str, Any] = {
        "cpu": {"reserved": reserved, "isolated": isolated},
        "nodeSelector": {f"{NODE_ROLE}{pool}": ""},
    }
    if chance.random() < 0.3:
        spec["realTimeKernel"] = {"enabled": True}
    target = {"platform": "openshift", "version": openshift.VERSION, "pool": pool}
    return Member(name, {**target, "mode": "performanceProfile"}, {}, spec)


def _of_cluster(chance: random.Random, pools: list[str]) -> dict[str, Any]:
    """What is so in all of a cluster."""
    if chance.random() < 0.8:
        return {}
    return {"cpuPartitioning": True, "pinnedPools": chance.choice([[], pools, ["infra"]])}


def _facts(chance: random.Random, pools: list[str]) -> dict[str, Any]:
    """Objects of the cluster that cpuplan does not write."""
    roles = [*pools, "worker"]
    facts: dict[str, Any] = {}
    if chance.random() < 0.4:
        facts["machineConfigs"] = [
            {
                "name": f"{chance.choice([10, 60, 99])}-{role}-other",
                "labels": {ROLE: role},
                "kernelArguments": chance.choice(ARGUMENTS),
                "kernelType": chance.choice(["default", "default", "realtime"]),
                "files": [chance.choice(FILES)],
            }
            for role in [chance.choice(roles)]
        ]
    if chance.random() < 0.2:
        built_in = chance.choice(["worker", "master"])
        label = f"pools.operator.machineconfiguration.openshift.io/{built_in}"
        selector = {"matchLabels": {label: ""}}
        facts["kubeletConfigs"] = [{"name": "pods", "machineConfigPoolSelector": selector}]
    if chance.random() < 0.2:
        infra = {
            "machineConfigSelector": {"matchLabels": {ROLE: "worker"}},
            "nodeSelector": {"matchLabels": {f"{NODE_ROLE}infra": ""}},
        }
        facts["machineConfigPools"] = [{"name": "infra", **infra}]
    return facts


def _verdict(folder: Path, seed: int) -> set[str]:
    """The codes that refuse a random cluster; none where every node gets what it gets alone."""
    chance = random.Random(seed)  # noqa: S311 - the same clusters each time
    are_profiles = chance.random() < 0.3  # of which no object here has another release
    version = openshift.VERSION if are_profiles else chance.choice(RELEASES)
    pools = chance.sample(POOLS, chance.choice([2, 2, 3]))
    # Without an Infrastructure object, a profile is of a cluster without workload partitioning.
    stated_once = {} if are_profiles else _of_cluster(chance, pools)
    members = [
        _profile(chance, f"class-{number}", pool)
        if are_profiles and pool != "worker"
        else _member(chance, f"class-{number}", _target(chance, version, pool), stated_once)
        for number, pool in enumerate(pools)
    ]
    facts = _facts(chance, [member.pool for member in members])
    objects, codes = compiled(folder / "together", members, facts)
    if codes:
        return codes
    if chance.random() < 0.4:
        objects, codes = _with_a_pause(chance, folder / "together", members, facts)
        if codes:
            return codes
    everything = [*objects, *stated(facts)]
    for member in members:
        alone, wrong = compiled(folder / member.name, [member])
        assert not wrong
        differing = differences(gets(member, alone), gets(member, everything))
        assert not differing, (seed, member, facts)
    return set()


def _with_a_pause(
    chance: random.Random, root: Path, members: Sequence[Member], facts: Mapping[str, Any]
) -> tuple[list[Object], set[str]]:
    """The objects after one intent was paused and changed: its nodes keep what they have."""
    assert run(["-C", str(root), "-q", "compile"]) == 0
    which = chance.choice(range(len(members)))
    member = members[which]
    if member.profile:
        return compiled(root, members, facts)
    pools = {"reserved": {"cores": 3, "per": "numaNode"}, "isolated": "rest"}
    spec = {**member.spec, "pools": pools, "paused": True}
    now = [*members[:which], member._replace(spec=spec), *members[which + 1 :]]
    return compiled(root, now, facts)


@pytest.mark.parametrize("seed", range(3))
def test_random_hosted_clusters(tmp_path: Path, seed: int) -> None:
    """Each NodePool has its own ConfigMap, the same as alone."""
    chance = random.Random(seed)  # noqa: S311 - the same clusters each time
    hosted = {"mode": "performanceProfile", "controlPlaneTopology": "External"}
    version = chance.choice(HOSTED_RELEASES)
    members = []
    for number in range(chance.choice([2, 3])):
        target = {"platform": "openshift", "version": version, "pool": f"np-{number}"}
        members.append(_member(chance, f"class-{number}", target, hosted))
    objects, codes = compiled(tmp_path / "together", members)
    assert not codes
    assert len(objects) == len(members)
    for member in members:
        alone, _ = compiled(tmp_path / member.name, [member])
        assert alone[0] in objects


@pytest.mark.parametrize(
    "seeds",
    [range(4, 12), pytest.param(range(12, 72), marks=pytest.mark.slow)],
    ids=["some", "more"],
)
def test_random_clusters(tmp_path: Path, seeds: range) -> None:
    verdicts = {seed: _verdict(tmp_path / str(seed), seed) for seed in seeds}
    assert set().union(*verdicts.values()) <= REFUSALS
    accepted = [seed for seed in seeds if not verdicts[seed]]
    assert len(seeds) / 5 < len(accepted) < len(seeds) * 4 / 5
