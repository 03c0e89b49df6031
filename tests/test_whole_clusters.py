"""Every node gets what its class gets alone, whatever else is in the cluster; or it is refused."""

import random
from pathlib import Path
from typing import Any

import pytest

from tests.whole_clusters import NODE_ROLE, ROLE, Member, compiled, differences, gets, stated

RELEASES = ("4.14", "4.15", "4.18", "4.21", "4.23", "5.1")
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


def _member(chance: random.Random, name: str, version: str, pool: str) -> Member:
    target: dict[str, Any] = {"platform": "openshift", "version": version, "pool": pool}
    if chance.random() < 0.3:
        target["mode"] = "performanceProfile"
    if chance.random() < 0.1:
        role = chance.choice(["worker", "fast", "own"])
        target["machineConfigLabel"] = {ROLE: role}
    if chance.random() < 0.1 and pool not in ("worker", "master"):
        target["machineConfigPoolSelector"] = {"team": "radio"}
    cores = {"cores": chance.choice([1, 1, 2]), "per": "numaNode"}
    spec: dict[str, Any] = {"pools": {"reserved": cores, "isolated": "rest"}}
    if chance.random() < 0.3:
        spec["kernel"] = {"realTime": True}
    if chance.random() < 0.3:
        spec["hugePages"] = {"defaultSize": "1G", "pages": [{"size": "1G", "count": 4}]}
    return Member(name, target, spec)


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
    version = chance.choice(RELEASES)
    pools = chance.sample(POOLS, chance.choice([2, 2, 3]))
    members = [
        _member(chance, f"class-{number}", version, pool) for number, pool in enumerate(pools)
    ]
    facts = _facts(chance, pools)
    objects, codes = compiled(folder / "together", members, facts)
    if codes:
        return codes
    everything = [*objects, *stated(facts)]
    for member in members:
        alone, wrong = compiled(folder / member.name, [member])
        assert not wrong
        differing = differences(gets(member, alone), gets(member, everything))
        assert not differing, (seed, member, facts)
    return set()


@pytest.mark.parametrize(
    "seeds",
    [range(6), pytest.param(range(6, 66), marks=pytest.mark.slow)],
    ids=["some", "more"],
)
def test_random_clusters(tmp_path: Path, seeds: range) -> None:
    verdicts = {seed: _verdict(tmp_path / str(seed), seed) for seed in seeds}
    assert set().union(*verdicts.values()) <= REFUSALS
    accepted = [seed for seed in seeds if not verdicts[seed]]
    assert len(seeds) / 5 < len(accepted) < len(seeds) * 4 / 5
