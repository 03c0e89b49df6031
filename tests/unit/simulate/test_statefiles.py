"""Plans whose kubelets refuse what the plan before left on the nodes."""

from pathlib import Path
from typing import Any

import pytest

from cpuplan.backends import state
from cpuplan.fleet import previous
from cpuplan.plan import ConfiguredPlan, Plan
from cpuplan.simulate import statefiles
from tests.machines.plans import no_position, plan, regular

SMT = regular(sockets=2, cores=4, threads=2)


def node(
    reserved: str = "0,8", *, offlined: str = "", platform: str = "kubernetes", **kubelet: Any
) -> ConfiguredPlan:
    version = "1.36" if platform == "kubernetes" else "4.20"
    return plan(
        SMT,
        reserved=reserved,
        offlined=offlined,
        platform=platform,
        version=version,
        spec={"kubelet": kubelet},
    )


def found(out: Path, old: ConfiguredPlan, new: ConfiguredPlan) -> list[str]:
    _write(out, old, state.render_plan(old).decode())
    return [
        problem.message
        for problem in statefiles.check(previous.read(out), Plan((new,)), no_position)
    ]


def _write(out: Path, old: ConfiguredPlan, text: str) -> None:
    path = out / previous.CLASSES / old.node_class.cluster / f"{old.node_class.name}.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)


STATIC_MEMORY = {"memoryManagerPolicy": "Static"}

REFUSED: list[tuple[ConfiguredPlan, ConfiguredPlan, list[str]]] = [
    (
        node(),
        node("0-1,8-9"),
        ["reservedSystemCPUs changed", "cpu_manager_state", "while pods have any of CPUs 1,9"],
    ),
    (
        node(cpuManagerPolicy="none"),
        node(),
        ["cpuManagerPolicy", "cpu_manager_state", "left: start cpu manager error"],
    ),
    (
        node(),
        node(cpuManagerPolicy="none"),
        ["cpuManagerPolicy", 'configured policy "none" differs'],
    ),
    (
        node(),
        node(cpuManagerPolicyOptions={"strict-cpu-reservation": "true"}),
        ["cpuManagerPolicyOptions changed", "some of strictly reserved cpus"],
    ),
    (
        node(),
        node(offlined="1,9"),
        ["the offlined CPUs changed", "doesn't match with CPUs in state"],
    ),
    (
        node(**STATIC_MEMORY),
        node(**STATIC_MEMORY, systemReserved={"memory": "1Gi"}),
        [
            "reservedMemory and systemReserved changed",
            "memory_manager_state",
            "the expected machine state is different",
        ],
    ),
]


@pytest.mark.parametrize(("old", "new", "words"), REFUSED, ids=range(len(REFUSED)))
def test_refused(
    tmp_path: Path, old: ConfiguredPlan, new: ConfiguredPlan, words: list[str]
) -> None:
    (message,) = found(tmp_path, old, new)
    for word in words:
        assert word in message


FINE: list[tuple[ConfiguredPlan, ConfiguredPlan]] = [
    (node(), node()),
    (node("0-1,8-9"), node()),
    (node(), node(cpuManagerPolicyOptions={"full-pcpus-only": "true"})),
    (node(), node(cpuManagerReconcilePeriod="10s")),
    (node(), node(systemReserved={"memory": "1Gi"})),
    # The unit of OpenShift's kubelet deletes the files at every start.
    (node(platform="openshift"), node("0-1,8-9", platform="openshift")),
]


@pytest.mark.parametrize(("old", "new"), FINE, ids=range(len(FINE)))
def test_taken(tmp_path: Path, old: ConfiguredPlan, new: ConfiguredPlan) -> None:
    assert found(tmp_path, old, new) == []


@pytest.mark.parametrize(
    "content",
    ["", "{}", '{"cluster": 4}', '{"cluster": "CLUSTER", "class": "CLASS"}', "[]", "[" * 100_000],
)
def test_what_is_no_plan_says_nothing(tmp_path: Path, content: str) -> None:
    own = node()
    names = {"CLUSTER": own.node_class.cluster, "CLASS": own.node_class.name}
    for word, name in names.items():
        content = content.replace(word, name)
    _write(tmp_path, own, content)
    assert statefiles.check(previous.read(tmp_path), Plan((own,)), no_position) == []


def test_a_first_plan_finds_no_files(tmp_path: Path) -> None:
    assert statefiles.check(previous.read(tmp_path), Plan((node(),)), no_position) == []
