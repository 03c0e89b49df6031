"""Tuned objects of others on top of a plan: what nodes get, and what is wrong with them."""

from collections.abc import Mapping
from copy import copy
from typing import Any

import pytest

from cpuplan.backends import configure, state
from cpuplan.backends import of as backend_of
from cpuplan.backends.openshift import in_force, merged, objects, tuned_checks
from cpuplan.components import kernel
from cpuplan.components.derived import TUNED_PROFILE
from cpuplan.components.host import tuned
from cpuplan.components.openshift.machineconfig import ROLE
from cpuplan.diagnostics.source import Position
from cpuplan.language.model.cluster import ClusterSpec
from cpuplan.plan import ConfiguredPlan
from tests.machines.plans import plan

OWN = "openshift-node-performance-du"
ON_TOP = f"[main]\ninclude={OWN}\n"


def recommend(**changes: Any) -> dict[str, Any]:
    return {
        "profile": "site",
        "priority": 18,
        "machineConfigLabels": {ROLE: "du"},
        **changes,
    }


def without_labels(**changes: Any) -> dict[str, Any]:
    made = recommend(**changes)
    del made["machineConfigLabels"]
    return made


def item(
    data: str = ON_TOP, name: str = "site", profile: str = "site", **changes: Any
) -> dict[str, Any]:
    given = {
        "name": name,
        "profile": [{"name": profile, "data": data}],
        "recommend": [recommend(profile=profile)],
    }
    return {**given, **changes}


def of(*items: Mapping[str, Any], mode: str = "performanceProfile", **more: Any) -> ConfiguredPlan:
    made = plan(
        isolated="2-7",
        version="4.20",
        target={"pool": "du", "mode": mode},
        **more,
    )
    made.node_class.intent = "du"
    made.node_class.cpu_vendor = "GenuineIntel"
    made.node_class.cluster_facts = ClusterSpec.model_validate({"tuneds": items})
    return configure(made)


def told(*plans: ConfiguredPlan) -> list[tuple[str, str]]:
    """Code and place of each finding; of places in texts the part after the field."""

    def locate(origin: str) -> Position:
        return Position(origin, 1, 1)

    return [
        (finding.code, finding.position.path.partition(":spec.")[2] if finding.position else "")
        for finding in tuned_checks.check(plans, locate)
    ]


def arguments(made: ConfiguredPlan) -> list[str]:
    return kernel.arguments(made.settings.of(kernel.NAME))


DATA = "tuneds.0.profile.0.data#"


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("[scheduler]\ngroup.ice=0:f:10:*:ice.*\n", []),
        ("[bootloader]\ncmdline_site=nohz_full=2-7\n", []),
        ("[bootloader]\ncmdline_site=+audit=0 nohz_full=4-7\n", [("CP238", "4.23.36")]),
        ("[bootloader]\ncmdline_a=audit=0\n  nr_cpus=4\n", [("CP238", "5.3.12")]),
        ("[bootloader]\ncmdline_site=isolcpus=${isolated_cores}\n", [("CP5303", "4.1.40")]),
        ("[bootloader]\ncmdline_isolation=\n", [("CP238", "4.1.19")]),
        ("[bootloader]\ncmdline_site=-skew_tick=1\n", [("CP5380", "4.1.26")]),
        ("[bootloader]\ncmdline_site=skew_tick=0\n", [("CP5380", "4.14.25")]),
        ("[bootloader]\nenabled=false\n", None),
        ("[variables]\nisolated_cores=4-7\n", [("CP238", "4.1.19")]),
        ("[variables]\nisolated_cores=2-4,5-7\n", []),
        ("[sysctl]\nkernel.timer_migration=1\nvm.max_map_count=262145\n", []),
        ("[sysctl]\nvm.swappiness = 60  # more\n", [("CP5380", "4.1.19")]),
        ("[sysctl]\ndrop=vm.swappiness\n", [("CP5380", "4.1.19")]),
        ("[more]\ntype=sysctl\nvm.max_map_count=262145\n", []),
        ("[service]\nservice.stalld=stop,disable\n", [("CP5380", "4.1.28")]),
        ("[selinux]\nenabled=0\n", [("CP5380", "4.1.10")]),
        ("[sysfs]\n/sys/x=${f:exec:uname:-r}\n", [("CP5384", "4.1.26")]),
    ],
)
def test_a_profile_on_top(data: str, expected: list[tuple[str, str]] | None) -> None:
    findings = told(of(item(ON_TOP + data)))
    if expected is None:
        assert {code for code, _ in findings} == {"CP238", "CP5380"}
    else:
        assert findings == [(code, DATA + place) for code, place in expected]


def test_nodes_get_what_the_profile_on_top_says() -> None:
    made = of(
        item(
            f"{ON_TOP}[bootloader]\ncmdline_site=skew_tick=0 audit=0\n"
            "[sysctl]\nkernel.sched_rt_runtime_us=950000\nvm.max_map_count=262145\n"
            "vm.swappiness=>5\n[service]\nservice.chronyd=stop,disable\n"
        )
    )
    words = arguments(made)
    assert {"skew_tick=0", "audit=0", "nohz_full=2-7"} <= set(words)
    assert "skew_tick=1" not in words
    values = made.settings.values(tuned.NAME)
    assert values["sysctl.kernel.sched_rt_runtime_us"] == "950000"
    assert values["service.service.chronyd"] == "stop,disable"
    shown = {
        setting.key: setting.effect.evidence
        for setting in made.settings.of(tuned.NAME)
        if setting.effect
    }
    [evidence] = shown["sysctl.vm.max_map_count"]
    assert (evidence.path, evidence.value) == ("proc/sys/vm/max_map_count", "262145")
    [reason] = next(
        setting for setting in made.settings.of(kernel.NAME) if setting.key == "audit"
    ).reasons
    assert reason.origin == "Cluster/site-a:spec.tuneds.0.profile.0.data#4.26.33"
    predicted = {manifest.file: manifest.data for manifest in objects.predicted_manifests(made)}
    assert predicted["machineconfig-50-nto-du.yaml"]["spec"]["kernelArguments"] == words
    # That of the profile is as the operator makes it.
    own = predicted["tuned-du.yaml"]["spec"]["profile"][0]["data"]
    assert "kernel.sched_rt_runtime_us=-1" in own
    assert "chronyd" not in own
    assert merged.rendered_facts([made])[made.node_class.key][TUNED_PROFILE] == "site"
    expected = state.of(made, backend_of(made.node_class).on_node)
    assert expected.settings.values(kernel.NAME)["audit"] == "0"


def test_variables_of_others_change_what_follows_from_them() -> None:
    made = of(item(f"{ON_TOP}[variables]\nisolated_cores=4-7\n"))
    words = set(arguments(made))
    assert {
        "nohz_full=4-7",
        "rcu_nocbs=4-7",
        "isolcpus=managed_irq,4-7",
        "tuned.non_isolcpus=0000000f",
        "systemd.cpu_affinity=0,1,2,3",
    } <= words


@pytest.mark.parametrize("mode", ["performanceProfile", "mco"])
def test_without_objects_for_its_nodes_nothing_changes(mode: str) -> None:
    elsewhere = item(recommend=[recommend(machineConfigLabels={ROLE: "other"})])
    plain, made = of(mode=mode), of(elsewhere, mode=mode)
    assert tuple(made.settings) == tuple(plain.settings)
    assert told(made) == []


def test_arguments_beside_those_of_a_machineconfig() -> None:
    """In mode mco, 50-nto has those of others alone, and the object of the plan its own."""
    made = of(item(f"{ON_TOP}[bootloader]\ncmdline_site=audit=0\n"), mode="mco")
    own = objects.machine_config(made)["spec"]["kernelArguments"]
    assert "audit=0" not in own
    assert "audit=0" in arguments(made)
    [pool] = merged.of_cluster([made])
    assert pool.rendered.order[:2] == ("50-nto-du", "50-performance-du")
    assert pool.rendered.kernel_arguments == ("audit=0", *own)


PRIORITY, PROFILE = "tuneds.0.recommend.0.priority", "tuneds.0.recommend.0.profile"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (item("[main]\ninclude=openshift-node\n"), [("CP5381", PROFILE)]),
        (item("[main]\ninclude=openshift-node\n", recommend=[recommend(priority=21)]), []),
        (item("[main]\ninclude=-openshift-node-performance-old\n"), [("CP5381", PROFILE)]),
        (item("[main]\ninclude=openshift-node-performance-old\n"), [("CP5382", f"{DATA}2.9.39")]),
        (item(f"[main]\ninclude={OWN},\n  -gone ; missing\n"), [("CP5382", f"{DATA}3.11.18")]),
        (item("include=x\n"), [("CP5382", f"{DATA}1.1.2")]),
        (item("[main]\nx\n"), [("CP5382", f"{DATA}2.1.2")]),
        (item(recommend=[recommend(profile="gone")]), [("CP5382", PROFILE)]),
        (item(recommend=[recommend(priority=20)]), [("CP5383", PRIORITY), ("CP5386", PRIORITY)]),
        (item(name="a", recommend=[recommend(priority=20)]), [("CP5383", PRIORITY)]),
        (item(recommend=[recommend(priority=21)]), [("CP5386", PRIORITY)]),
        (item(recommend=[without_labels()]), [("CP5387", "tuneds.0.recommend.0.match")]),
        (
            item(recommend=[without_labels(match=[{"label": "node-role.kubernetes.io/du"}])]),
            [("CP5387", "tuneds.0.recommend.0.match")],
        ),
        (item(recommend=[without_labels(match=[{"label": "other"}])]), []),
        (
            item(recommend=[without_labels(match=[{"label": "app", "type": "pod"}])]),
            [("CP5384", "tuneds.0.recommend.0.match")],
        ),
        (item(f"[main]\ninclude={OWN},realtime\n"), [("CP5384", f"{DATA}2.39.47")]),
        (item(f"[main]\ninclude={OWN},cpu-partitioning\n"), []),
        (item(profile=OWN), [("CP5385", "tuneds.0.profile.0.name")]),
        (item(recommend=[recommend(machineConfigLabels={ROLE: "worker"})]), []),
    ],
)
def test_which_profile_counts(given: Mapping[str, Any], expected: list[tuple[str, str]]) -> None:
    assert told(of(given)) == expected


def test_two_objects() -> None:
    base = item(f"[main]\ninclude={OWN}\n[sysctl]\nvm.swappiness=1\n", "base", "base", recommend=[])
    top = item("[main]\ninclude=base\n[sysctl]\nvm.swappiness=2\n")
    made = of(top, base)
    assert made.settings.values(tuned.NAME)["sysctl.vm.swappiness"] == "2"
    assert told(made) == [("CP5380", f"{DATA}4.1.16")]
    same = item("[main]\ninclude=base\n", "z", "z")
    assert told(of(top, base, same))[0] == ("CP5383", PRIORITY)
    other = item("[main]\n", "other", "base", recommend=[])
    assert ("CP5385", "tuneds.2.profile.0.name") in told(of(top, base, other))


def test_the_profile_of_another_intent_is_no_missing_one() -> None:
    first = of(item("[main]\ninclude=openshift-node-performance-cu\n"))
    second = of()
    second.node_class.intent = second.node_class.name = "cu"
    assert told(first, second) == [("CP5382", f"{DATA}2.9.38")]


def test_labels_of_nodes_decide_about_a_match() -> None:
    given = item(recommend=[without_labels(match=[{"label": "rack", "value": "7"}])])
    assert told(of(given)) == []
    made = of(given)
    made.node_class = copy(made.node_class)
    made.node_class.labels = ({"rack": "7"}, {"rack": "8"})
    assert told(configure(made))[0][0] == "CP5387"


def test_levels_of_a_match() -> None:
    match = [{"label": "rack", "match": [{"label": "row", "value": "2"}]}]
    given = item(recommend=[without_labels(match=match)])
    made = of(given)
    for labels, number in (({"rack": "7"}, 0), ({"rack": "7", "row": "2"}, 1)):
        made.node_class = copy(made.node_class)
        made.node_class.labels = (labels,)
        assert len(told(configure(made))) == number


def test_own_objects_are_none_of_others() -> None:
    """The operator's object may stand among those of others."""
    made = of(item("[main]\n", name=OWN, profile=OWN))
    assert in_force.evaluated(made) is None
