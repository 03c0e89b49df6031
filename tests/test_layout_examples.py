"""Every example of docs/layout.md, and of the pages about mechanisms, is a layout.

It is solved and verified, and no component finds an error.
"""

import re
from typing import Any

import pytest
import yaml

from cpuplan.backends import configure
from cpuplan.components import checks
from cpuplan.diagnostics import errors
from cpuplan.language.model.intent import RuleName
from cpuplan.language.model.inventory import Device
from cpuplan.language.model.pools import GoalName
from cpuplan.language.model.vocabulary import EXPERT_RULES
from cpuplan.plan import NodeClass
from cpuplan.simulate import startup
from cpuplan.solve import solver
from tests.projects import REPOSITORY
from tests.unit.solve.problems import locate, machine, node_class

PAGE = (REPOSITORY / "docs" / "layout.md").read_text()
_BLOCK = re.compile(r"^```yaml layout\n(.*?)^```", re.MULTILINE | re.DOTALL)
BLOCKS: list[str] = _BLOCK.findall(PAGE)
OF_MECHANISMS: list[str] = [
    block
    for page in ("mechanisms", "dra", "nri")
    for block in _BLOCK.findall((REPOSITORY / "docs" / f"{page}.md").read_text())
]
NIC = {
    "address": "0000:17:00.0",
    "class": "network",
    "driver": "ice",
    "name": "ens1f0",
    "numaNode": 1,
}
OTHERS = [("gpu", "nvidia", (0, 1)), ("storage", "nvme", (0, 0, 1))]
DEVICES = (
    Device.model_validate(NIC),
    *(
        Device.model_validate(
            {
                "address": f"0000:{kind[0].encode().hex()}:0{index}.0",
                "class": kind,
                "driver": driver,
                "numaNode": node,
            }
        )
        for kind, driver, nodes in OTHERS
        for index, node in enumerate(nodes)
    ),
)
PRACTICE = PAGE.partition("## Layouts from practice")[2]


def example(block: str) -> NodeClass:
    topology = machine(16, 2, sockets=2, numa_nodes=2, caches=4)
    spec: dict[str, Any] = yaml.safe_load(block)
    policy = "none" if "mechanism" in spec.get("targets", [{}])[0] else "static"
    spec["kubelet"] = {"cpuManagerPolicy": policy, **spec.get("kubelet", {})}
    return node_class(topology, spec.pop("pools"), devices=DEVICES, **spec)


@pytest.mark.parametrize(
    "block",
    [*BLOCKS, *dict.fromkeys(OF_MECHANISMS)],
    ids=lambda block: block.splitlines()[1].strip(),
)
def test_example(block: str) -> None:
    node = example(block)
    assert not solver.check_statements(node, locate)
    plan = solver.solve(node, locate)
    assert solver.verify(node, {pool.name: pool.cpus for pool in (*plan.pools, *plan.sets)})
    node_plan = configure(plan)
    assert not errors([*checks.check(node_plan, locate), *startup.check(node_plan, locate)])


def test_all_rules_and_goals_are_documented() -> None:
    rules = re.findall(r"^\| `([a-z0-9-]+)` \| .* \|$", PAGE.partition("## Rules")[2], re.MULTILINE)
    assert rules == list(EXPERT_RULES) == list(RuleName.__args__)  # type: ignore[attr-defined]
    goals = re.findall(r"^\d\. `([a-z-]+)`", PAGE, re.MULTILINE)
    assert goals == list(GoalName.__args__)  # type: ignore[attr-defined]


def test_there_are_examples() -> None:
    assert len(BLOCKS) > 10
    assert len(OF_MECHANISMS) >= 5


def test_each_layout_from_practice_is_explained_and_shown() -> None:
    """A paragraph with what operators want, then the block."""
    paragraphs = re.split(r"^```.*\n", PRACTICE, flags=re.MULTILINE)[::2]
    explained = [text for text in paragraphs if "**" in text]
    assert len(explained) == len(re.findall(r"^```yaml layout$", PRACTICE, re.MULTILINE)) == 15
