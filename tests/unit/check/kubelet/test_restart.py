"""What the kubelet would start with: the configuration in force, and the planned one over it."""

from pathlib import Path

from cpuplan.check.kubelet.statefiles import IN_FORCE, PLANNED, Starter, starter
from cpuplan.upstream.kubelet.kubelet import Configuration
from tests import checked
from tests.hosts import make_root
from tests.unit.check.kubelet.nodes import DROP_INS, HEAD, planned

SITE = f"{DROP_INS}/99-site.conf"


def started(root: Path, text: str) -> Starter:
    """The kubelet of a node with a drop-in of the site behind cpuplan's."""
    node = planned()
    made = make_root(node, root)
    (made / SITE).write_text(f"{HEAD}{text}\n")
    return starter(checked.subject(made, node))


def test_the_plan_stands_over_what_is_in_force(tmp_path: Path) -> None:
    """What the plan does not say stays as the site has it."""
    kubelet = started(tmp_path, "maxPods: 250\nreservedSystemCPUs: 0-3")
    config = kubelet.configs[PLANNED]
    assert not isinstance(config, Configuration)
    assert (config["maxPods"], config["reservedSystemCPUs"]) == (250, "0-1")


def test_without_a_configuration_the_plan_stands_alone(tmp_path: Path) -> None:
    kubelet = started(tmp_path, "maxPods: many")
    assert kubelet.configs.keys() == {PLANNED}
    config = kubelet.configs[PLANNED]
    assert not isinstance(config, Configuration)
    assert config["reservedSystemCPUs"] == "0-1"


def test_options_of_others_are_left_out_of_the_plan(tmp_path: Path) -> None:
    text = 'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "16"}'
    kubelet = started(tmp_path, text)
    assert IN_FORCE in kubelet.configs
    config = kubelet.configs[PLANNED]
    assert not isinstance(config, Configuration)
    assert "topologyManagerPolicyOptions" not in config
