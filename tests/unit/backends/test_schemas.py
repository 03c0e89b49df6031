"""Every emitted object against the schema of its kind, as the CRDs of operators have it.

An API server drops fields that a CRD does not have, in silence, so they are mistakes here. Each
object is also read back from its file, here and not at each compilation, which would take longer by
it.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from cpuplan.backends import configure, openshift
from cpuplan.backends.base import to_file
from cpuplan.plan import ConfiguredPlan, NodeClass, NodePlan
from tests.conformance import nto_render
from tests.projects import REPOSITORY, SHARED, needs_shared

VECTORS = SHARED / "vectors" / "nto"
CASES = sorted(path.parent for path in (VECTORS / "render").glob("*/case.yaml"))
KEPT = "x-kubernetes-preserve-unknown-fields"


@cache
def validators() -> dict[tuple[str, str], jsonschema.protocols.Validator]:
    """By API version and kind."""
    validators: dict[tuple[str, str], jsonschema.protocols.Validator] = {}
    for path in sorted((VECTORS / "crd").glob("*.schema.json")):
        data = json.loads(path.read_text())
        schema = strict(data["openAPIV3Schema"])
        schema["properties"]["metadata"] = {"type": "object"}
        validators[f"{data['group']}/{data['version']}", str(data["kind"])] = (
            jsonschema.Draft4Validator(schema)
        )
    return validators


def strict(schema: Any) -> Any:
    """The schema with the fields that an API server would drop refused."""
    if isinstance(schema, list):
        return [strict(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    made = {key: strict(value) for key, value in schema.items()}
    if isinstance(made.get("properties"), dict) and not made.get(KEPT):
        made.setdefault("additionalProperties", False)
    return made


def problems(data: dict[str, Any]) -> list[str]:
    """What is wrong with an object, and where; nothing for kinds without a recorded schema."""
    validator = validators().get((data["apiVersion"], data["kind"]))
    if validator is None:
        return []
    return [
        f"{data['kind']} {error.json_path}: {error.message}"
        for error in validator.iter_errors(data)
    ]


def objects(plan: ConfiguredPlan) -> Iterator[dict[str, Any]]:
    """What is written for a plan in both modes."""
    for mode in ("mco", "performanceProfile"):
        target = plan.node_class.target.model_copy(update={"mode": mode})
        of_mode = NodeClass(**{**vars(plan.node_class), "target": target})
        yield from (
            manifest.data
            for manifest in openshift.manifests(configure(NodePlan(of_mode, plan.pools, plan.sets)))
        )


@needs_shared
def test_objects_of_all_vectors() -> None:
    seen: set[str] = set()
    for case in CASES:
        try:
            compiled = nto_render._compile_all(case)
        except nto_render.RefusedError:
            continue
        for document in compiled:
            for data in objects(document.plan):
                assert not problems(data), case.name
                assert yaml.load(to_file(data), yaml.CSafeLoader) == data, case.name
                seen.add(data["kind"])
    assert seen >= {
        "KubeletConfig",
        "MachineConfig",
        "MachineConfigPool",
        "PerformanceProfile",
        "Tuned",
    }


@needs_shared
def test_objects_of_the_sample() -> None:
    paths = sorted((REPOSITORY / "out" / "clusters").rglob("manifests/*.yaml"))
    checked = [
        path
        for path in paths
        if (data := load(path)) and (data["apiVersion"], data["kind"]) in validators()
    ]
    assert checked
    assert not [problem for path in checked for problem in problems(load(path))]


def load(path: Path) -> dict[str, Any]:
    data: dict[str, Any] = yaml.safe_load(path.read_text())
    return data


@needs_shared
@pytest.mark.parametrize(
    "wrong",
    [
        {"machineConfigPoolSelecter": {}},
        {"kubeletConfig": ["maxPods"]},
        {"logLevel": "4"},
    ],
)
def test_a_wrong_object_is_found(wrong: dict[str, Any]) -> None:
    base = {
        "apiVersion": "machineconfiguration.openshift.io/v1",
        "kind": "KubeletConfig",
        "metadata": {},
    }
    assert not problems({**base, "spec": {}})
    assert problems({**base, "spec": wrong})
