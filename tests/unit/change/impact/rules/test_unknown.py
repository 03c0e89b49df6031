"""What the rules do not know counts as a reboot, and says that it is not certain."""

from dataclasses import replace

from cpuplan.change.impact.setting_rules import Changed, rule_of
from cpuplan.change.impact.snapshot import Snapshot
from cpuplan.facts.settings.costs import Impact
from cpuplan.plan.expected.state import NodeFile, render
from tests.unit.change.impact.rules.projects import compiled, costs

PLAIN = compiled("crio", "{}")[0]
STATE = "clusters/lab/expected/state/main-small.json"


def without_state(side: Snapshot) -> Snapshot:
    return Snapshot({path: data for path, data in side.files.items() if path != STATE})


def test_side_without_an_expected_state() -> None:
    steps = costs(without_state(PLAIN), PLAIN)
    assert [(step.impact, step.rule) for step in steps] == [(Impact.REBOOT, "unknown-before")]
    assert not steps[0].is_certain


def test_kind_of_object() -> None:
    path = "clusters/lab/manifests/90-gadget.yaml"
    gadget = b"apiVersion: example.com/v1\nkind: Gadget\nmetadata: {name: a}\n"
    steps = costs(PLAIN, Snapshot({**PLAIN.files, path: gadget}))
    assert [(step.impact, step.because) for step in steps] == [(Impact.REBOOT, "Gadget a")]
    assert not steps[0].is_certain


def test_component() -> None:
    assert rule_of(Changed("gadget", "key", 1, 2)) == "unknown-file"


def test_file_of_a_component_without_a_changed_setting() -> None:
    """A script that another release of cpuplan writes otherwise."""
    place = "/usr/local/bin/place-interrupts.sh"
    steps = costs(PLAIN, with_file(place, NodeFile("# another\n", component="interrupts")))
    assert [(step.rule, step.because) for step in steps] == [("interrupts", place)]


def test_file_of_an_unknown_component() -> None:
    steps = costs(PLAIN, with_file("/etc/gadget", NodeFile("a\n", component="gadget")))
    assert [(step.impact, step.rule) for step in steps] == [(Impact.REBOOT, "unknown-file")]


def with_file(path: str, file: NodeFile) -> Snapshot:
    """The compiled files with another file in the expected state."""
    state = PLAIN.state(("lab", "main-small"))
    assert state
    changed = replace(state, files={**state.files, path: file})
    return Snapshot({**PLAIN.files, STATE: render(changed).encode()})
