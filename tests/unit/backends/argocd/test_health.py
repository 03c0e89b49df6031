"""The health checks, run by Lua 5.1 on objects as their operators leave them.

The folders in `tests/argocd/` have the form of Argo CD's own `resource_customizations`: a
`health_test.yaml` with inputs and the answers expected. Argo CD opens two libraries for scripts of
its users, and so do these tests.
"""

from pathlib import Path
from typing import Any

import lupa.lua51
import pytest
import yaml

from cpuplan import backends
from cpuplan.backends import argocd
from cpuplan.language.model.operations import DeliverySpec
from cpuplan.plan import ConfiguredPlan, Plan
from tests.machines.plans import plan
from tests.projects import REPOSITORY

FOLDER = REPOSITORY / "tests" / "argocd"
#: What gopher-lua has in `package`, `base` and `table` (argo-cd, util/lua/lua.go).
LIBRARIES = {
    "_G",
    "_VERSION",
    "assert",
    "error",
    "ipairs",
    "next",
    "pairs",
    "pcall",
    "rawequal",
    "rawget",
    "rawset",
    "select",
    "table",
    "tonumber",
    "tostring",
    "type",
    "unpack",
    "xpcall",
}


def cases() -> list[tuple[str, str, dict[str, str]]]:
    """(kind, path of the input, answer)."""
    examples: list[tuple[str, str, dict[str, str]]] = []
    for path in sorted(FOLDER.glob("*/health_test.yaml")):
        tests = yaml.safe_load(path.read_text())["tests"]
        examples += [(path.parent.name, test["inputPath"], test["healthStatus"]) for test in tests]
    return examples


def answer(kind: str, data: dict[str, Any]) -> dict[str, Any]:
    """What the check says of an object."""
    lua = lupa.lua51.LuaRuntime(unpack_returned_tuples=True, register_eval=False)
    names = lua.globals()
    for name in list(names):
        if name not in LIBRARIES:
            names[name] = None
    names.obj = table(lua, data)
    return dict(lua.execute(argocd.health_script(kind)))


def table(lua: Any, value: Any) -> Any:
    """Data as Argo CD gives it to a script: nulls are absent, lists begin at 1."""
    if isinstance(value, dict):
        return lua.table_from({key: table(lua, item) for key, item in value.items()})
    if isinstance(value, list):
        return lua.table_from([table(lua, item) for item in value])
    return value


@pytest.mark.parametrize(
    ("kind", "path", "expected"), cases(), ids=lambda value: str(value).replace("/", "-")
)
def test_health(kind: str, path: str, expected: dict[str, str]) -> None:
    data = yaml.safe_load((FOLDER / kind / path).read_text())
    assert data["kind"] == kind
    assert answer(kind, data) == expected


def test_each_check_is_tested_and_written() -> None:
    kinds = {kind for _, kind in argocd.HEALTH_CHECKED}
    assert {kind for kind, _, _ in cases()} == kinds
    scripts = REPOSITORY / "templates" / "argocd" / "health"
    assert {path.stem for path in scripts.iterdir()} == kinds


def test_every_input_is_used() -> None:
    used = {Path(kind, path) for kind, path, _ in cases()}
    assert used == {path.relative_to(FOLDER) for path in FOLDER.glob("*/testdata/*.yaml")}


@pytest.mark.parametrize("kind", [kind for _, kind in argocd.HEALTH_CHECKED])
@pytest.mark.parametrize("data", [{}, {"metadata": {}, "spec": {}, "status": {}}])
def test_an_object_without_anything_is_not_degraded(kind: str, data: dict[str, Any]) -> None:
    assert answer(kind, data)["status"] in ("Progressing", "Healthy")


OPENSHIFT: dict[str, Any] = {"target": {"pool": "worker-cnf"}}


def written(node: ConfiguredPlan, **given: Any) -> dict[str, Any]:
    """The patches for a plan, by path."""
    delivery = DeliverySpec(repository="https://git.example.com/a.git", **given)
    files = backends.tree(Plan((node,)), delivery)
    paths = ("argocd/argocd-cm.yaml", "argocd/argocd.yaml")
    return {path: yaml.safe_load(files[path]) for path in paths if path in files}


def test_only_kinds_that_are_compiled_are_checked() -> None:
    made = written(plan(**OPENSHIFT), health_checks=True)
    keys = set(made["argocd/argocd-cm.yaml"]["data"])
    group = "resource.customizations.health.machineconfiguration.openshift.io"
    assert keys == {
        f"{group}_KubeletConfig",
        f"{group}_MachineConfigPool",
        "resource.customizations.health.tuned.openshift.io_Tuned",
    }
    of_operator = made["argocd/argocd.yaml"]["spec"]["resourceHealthChecks"]
    assert {
        f"resource.customizations.health.{health['group']}_{health['kind']}"
        for health in of_operator
    } == keys
    checks = {health["kind"]: health["check"] for health in of_operator}
    assert checks["Tuned"] == argocd.health_script("Tuned")


def test_nothing_is_written_unless_it_is_asked_for() -> None:
    assert written(plan(**OPENSHIFT)) == {}


def test_tracking_by_a_label_has_a_label_of_its_own() -> None:
    """The agents' objects have app.kubernetes.io/instance for themselves."""
    made = written(plan(**OPENSHIFT), tracking="label")
    assert made["argocd/argocd-cm.yaml"]["data"] == {
        "application.instanceLabelKey": "argocd.argoproj.io/instance",
        "application.resourceTrackingMethod": "label",
    }
    assert made["argocd/argocd.yaml"]["spec"] == {
        "applicationInstanceLabelKey": "argocd.argoproj.io/instance",
        "resourceTrackingMethod": "label",
    }
