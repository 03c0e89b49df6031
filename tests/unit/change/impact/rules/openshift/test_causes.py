"""Why nodes of a pool change: arguments, fields of the kubelet, files and units."""

from collections.abc import Sequence
from typing import Any

import pytest

from cpuplan.change.impact.rule_table import RULES
from cpuplan.change.impact.rules.openshift import causes, pools
from cpuplan.change.impact.rules.openshift.causes import Cause, Fields
from cpuplan.change.impact.setting_rules import Changed
from cpuplan.facts.settings import costs
from cpuplan.upstream.mco.apihelpers import (
    DRAIN,
    NONE,
    REBOOT,
    RESTART_CRIO,
    SPECIAL,
    Action,
    Policies,
)
from cpuplan.upstream.mco.common import McoError
from cpuplan.upstream.mco.kubelet_config_controller import KUBELET_CONF
from cpuplan.upstream.mco.update import Change, Impact, Update

FILE = "/etc/crio/crio.conf.d/99-a.conf"
OF_A_FILE = Impact(("files",), (FILE,))


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (["a", "b"], ["b", "a"], "another order"),
        (["a", "b"], ["b", "c"], "-a +c"),
        (["a", "a"], ["a"], "-a"),
        (["a"], ["a", "a"], "+a"),
        ([], ["b", "a", "b"], "+b +a"),
    ],
)
def test_arguments_that_go_and_come(before: list[str], after: list[str], text: str) -> None:
    assert causes.arguments(before, after) == f"kernelArguments: {text}"


def config(**fields: Any) -> dict[str, Any]:
    kind = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    return {"kubeletConfig": kind | fields}


@pytest.mark.parametrize(
    ("before", "after", "fields"),
    [
        (None, None, Fields()),
        ({}, config(), Fields()),
        (config(maxPods=1), config(maxPods=1), Fields()),
        (config(maxPods=1), config(maxPods=2), Fields(("maxPods",), False)),
        # On one side only, and perhaps the operator's default on the other.
        (config(), config(maxPods=250), Fields(("maxPods",), True)),
        (config(maxPods=250), None, Fields(("maxPods",), True)),
        (config(), config(containerLogMaxSize="50Mi"), Fields(("containerLogMaxSize",), True)),
        (config(), config(containerLogMaxSize="51Mi"), Fields(("containerLogMaxSize",), False)),
        (config(), config(cpuManagerPolicy="static"), Fields(("cpuManagerPolicy",), False)),
        (
            config(),
            config(cpuManagerPolicy="static", maxPods=250),
            Fields(("cpuManagerPolicy", "maxPods"), False),
        ),
    ],
)
def test_fields_of_the_kubelet(before: Any, after: Any, fields: Fields) -> None:
    assert causes.fields(before, after) == fields


def of_files(impact: Impact, fields: Fields) -> list[tuple[str, str, str]]:
    settings = (
        Changed("kubelet", "maxPods", 1, 2, "i:kubelet"),
        Changed("units", "a.service", 1, 2, "i:units"),
    )
    return [
        (cause.rule.id, cause.because, cause.origin)
        for cause in causes._files(impact, Policies((), {}, ()), fields, settings, None)
    ]


@pytest.mark.parametrize(
    ("impact", "fields", "expected"),
    [
        (
            Impact((), (KUBELET_CONF,)),
            Fields(),
            [("mco-kubelet-config", f"KubeletConfig: {KUBELET_CONF}", "i:kubelet")],
        ),
        (
            Impact((), (KUBELET_CONF, FILE)),
            Fields(("maxPods",), True),
            [
                ("mco-kubelet-default", "KubeletConfig: maxPods", "i:kubelet"),
                ("mco-file", FILE, ""),
            ],
        ),
        (Impact((), (), ("a.service",)), Fields(), [("mco-unit", "a.service", "i:units")]),
        (Impact((), ()), Fields(), []),
    ],
)
def test_files_and_units(
    impact: Impact, fields: Fields, expected: list[tuple[str, str, str]]
) -> None:
    assert of_files(impact, fields) == expected


def steps(
    update: Update, known: Sequence[Cause] = (), impact: Impact = OF_A_FILE
) -> list[tuple[str, str, str, str]]:
    """Rule, impact, what a node does and why, of each step."""
    change = Change(None, None, impact._replace(update=update))
    return [
        (step.rule, step.impact.name, step.does, step.because)
        for step in pools.action_steps(change, known, "i:x")
    ]


@pytest.mark.parametrize(
    ("actions", "drain", "does"),
    [
        ((NONE,), False, [("LIVE", "nothing restarts: the files are written")]),
        ((SPECIAL,), True, [("DRAIN", "drain"), ("LIVE", "reload of crio.service")]),
        ((SPECIAL,), False, [("LIVE", "reload of crio.service")]),
        ((SPECIAL,), None, [("LIVE", "reload of crio.service")]),
        ((DRAIN, RESTART_CRIO), True, [("DRAIN", "drain"), ("RESTART", "restart of crio.service")]),
        ((Action("DaemonReload"),), False, [("LIVE", "systemctl daemon-reload")]),
        ((Action("Restart", "a.service"),), False, [("RESTART", "restart of a.service")]),
        ((Action("Reload", "a.service"),), False, [("LIVE", "reload of a.service")]),
        ((Action("reload crio"),), False, [("LIVE", "reload of crio.service")]),
        ((SPECIAL, SPECIAL), False, [("LIVE", "reload of crio.service")]),
    ],
)
def test_what_a_node_does_without_a_reboot(
    actions: tuple[Action, ...], drain: bool | None, does: list[tuple[str, str]]
) -> None:
    """A drain comes first, once."""
    expected = [("mco-policy", impact, words, FILE) for impact, words in does]
    assert steps(Update(actions, drain)) == expected


def test_a_reboot_is_one_step_with_all_its_causes() -> None:
    known = [
        Cause(RULES["mco-kernel-arguments"], "kernelArguments: +a", ""),
        Cause(RULES["mco-unit"], "a.service", "i:units"),
    ]
    [(rule, impact, _, because)] = steps(Update((REBOOT,), True), known)
    assert (rule, impact) == ("mco-kernel-arguments", costs.Impact.REBOOT.name)
    assert because == "kernelArguments: +a; a.service"
    [(rule, _, _, because)] = steps(Update((REBOOT,), True))
    assert (rule, because) == ("mco-file", FILE)


def test_an_update_that_fails_is_said_before_its_actions() -> None:
    rules = [rule for rule, *_ in steps(Update((NONE,), False, McoError("broken")))]
    assert rules == ["mco-node-stops", "mco-policy"]
    assert steps(Update((NONE,), False), impact=Impact(())) == []
