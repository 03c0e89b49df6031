"""Which nodes are in which wave."""

from typing import Any

from cpuplan.fleet.groups import Claim, Group, waves_of_class
from cpuplan.language.model.intent import IntentSpec
from cpuplan.plan import Wave
from tests.machines.plans import plan

NAMES = ("w-0", "w-1", "w-2", "w-3")


def claims(labels: dict[str, str], *names: str, cluster: str = "lab") -> Claim:
    group = Group(None, 0, cluster, names, "small", labels, None, ())  # type: ignore[arg-type]
    return Claim(None, group, names)  # type: ignore[arg-type]


def spec(*waves: dict[str, Any]) -> IntentSpec:
    made: IntentSpec = plan(spec={"rollout": {"waves": list(waves)}}).spec
    return made


def test_a_node_is_in_the_first_wave_that_selects_it() -> None:
    alike = [claims({"rack": "a"}, "w-0", "w-1"), claims({"rack": "b"}, "w-2", "w-3")]
    canary = {"name": "canary", "nodes": ["w-[0-2]"]}
    of_rack = {"name": "rack-a", "matchLabels": {"rack": "b"}}
    assert waves_of_class(spec(canary, of_rack), alike) == (
        Wave(0, "canary", ("w-0", "w-1", "w-2")),
        Wave(1, "rack-a", ("w-3",)),
    )


def test_waves_of_clusters_are_no_waves_of_nodes() -> None:
    alike = [claims({}, *NAMES)]
    canary = {"name": "canary", "clusters": ["lab"]}
    wave = {"name": "one", "clusters": ["lab"], "nodes": ["w-3"]}
    elsewhere = {"name": "else", "clusters": ["other"], "nodes": ["w-0"]}
    assert waves_of_class(spec(canary, wave, elsewhere), alike) == (Wave(1, "one", ("w-3",)),)
