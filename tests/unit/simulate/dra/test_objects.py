"""Claims, templates and classes in manifests."""

from typing import Any

import pytest
import yaml

from cpuplan.language.read import yaml as reader
from cpuplan.simulate import manifests
from cpuplan.simulate.manifests import Manifests
from cpuplan.upstream.dra.allocator_incubating import Constraint, Request, Spec
from cpuplan.upstream.dra.driver import Result

POD: dict[str, Any] = {
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {
        "resourceClaims": [{"name": "c", "resourceClaimTemplateName": "t"}],
        "containers": [{"name": "a", "resources": {"claims": [{"name": "c", "request": "r"}]}}],
    },
}


def read(*objects: Any, with_claims: bool = True) -> Manifests:
    text = "---\n".join(yaml.safe_dump(document) for document in objects)
    sources, problems = reader.decode("m.yaml", text.encode())
    assert not problems
    return manifests.read(sources, with_claims=with_claims)


def template(devices: Any, name: str = "t") -> Any:
    spec = {"spec": {"devices": devices}}
    return {"kind": "ResourceClaimTemplate", "metadata": {"name": name}, "spec": spec}


def request(**exactly: Any) -> Any:
    return {"name": "r", "exactly": {"deviceClassName": "dra.cpu", **exactly}}


def spec_of(made: Manifests) -> Any:
    assert not made.diagnostics
    return made.items[0].pod.claims[0].spec


def test_a_template_wherever_it_stands() -> None:
    capacity = {"requests": {"dra.cpu/cpu": 4}}
    selectors = [{"cel": {"expression": "true"}}]
    devices = {
        "requests": [request(capacity=capacity, selectors=selectors, count=2)],
        "constraints": [{"matchAttribute": "dra.cpu/coreID", "requests": ["r"]}],
    }
    known = Request("r", "dra.cpu", ("true",), 2, (("dra.cpu/cpu", "4"),))
    assert spec_of(read(POD, template(devices))) == Spec(
        (known,), (Constraint("dra.cpu/coreID", ("r",)),)
    )
    assert read(POD).items[0].pod.containers[0].claims == ("c",)


def test_alternatives_and_all_devices_of_a_class_of_the_files() -> None:
    fast = {"name": "fast", "deviceClassName": "fast"}
    whole = {"name": "all", "deviceClassName": "dra.cpu", "allocationMode": "All"}
    devices = {"requests": [{"name": "r", "firstAvailable": [fast, whole]}]}
    selector = {"cel": {"expression": "false"}}
    own = {"kind": "DeviceClass", "metadata": {"name": "fast"}, "spec": {"selectors": [selector]}}
    (known,) = spec_of(read(template(devices), own, POD)).requests
    first, second = known.alternatives
    assert (first.class_selectors, second.class_selectors) == (("false",), None)
    assert (first.number, second.number) == (1, None)


def test_a_claim_that_is_allocated_keeps_its_devices() -> None:
    parameters = {"apiVersion": "v1alpha1", "cpuConfig": {"cpuset": "3"}}
    config = {"opaque": {"driver": "dra.cpu", "parameters": parameters}, "source": "FromClaim"}
    result = {"request": "r", "driver": "dra.cpu", "pool": "node", "device": "cpudevmachine"}
    results = [{**result, "consumedCapacity": {"dra.cpu/cpu": "1"}}]
    claim = {
        "kind": "ResourceClaim",
        "metadata": {"name": "t", "namespace": "default"},
        "spec": {"devices": {"requests": [request()]}},
        "status": {"allocation": {"devices": {"results": results, "config": [config]}}},
    }
    entry = {"name": "c", "resourceClaimName": "t"}
    pod = {**POD, "spec": {**POD["spec"], "resourceClaims": [entry]}}
    spec = spec_of(read(pod, claim))
    assert spec.results == (Result("r", "cpudevmachine", "1"),)
    assert spec.configs[0].parameters == parameters


def test_of_another_namespace_or_of_no_file() -> None:
    elsewhere = template({"requests": [request()]})
    elsewhere["metadata"]["namespace"] = "other"
    assert spec_of(read(POD, elsewhere)) is None


def test_where_nobody_asks_for_claims_the_objects_are_passed_over() -> None:
    made = read(POD, template("wrong"), with_claims=False)
    assert (made.diagnostics, made.others) == ((), ("ResourceClaimTemplate",))


@pytest.mark.parametrize(
    ("devices", "problem"),
    [
        (None, "has no spec.spec.devices"),
        ([], "devices is not a mapping"),
        ({}, "has no requests, or two with one name"),
        ({"requests": {}}, "requests is not a list"),
        ({"requests": [request(), request()]}, "has no requests, or two with one name"),
        ({"requests": [{"name": "r", "exactly": {}}]}, "has no deviceClassName"),
        ({"requests": [request(count=0)]}, "count is 0, not a number from 1 on"),
        ({"requests": [request(allocationMode="Some")]}, "allocationMode 'Some' is unknown"),
        ({"requests": [request(adminAccess=True)]}, "asks for adminAccess, which is not simulated"),
        (
            {"requests": [request(capacity={"requests": {"dra.cpu/cpu": "x"}})]},
            "requests dra.cpu/cpu 'x', which is not a valid quantity",
        ),
        ({"requests": [request(selectors=[{"cel": {}}])]}, "has no expression"),
        (
            {"requests": [request()], "constraints": [{}]},
            "has a constraint without matchAttribute or distinctAttribute",
        ),
        (
            {"requests": [request()], "constraints": [{"matchAttribute": "coreID"}]},
            "coreID is not of the form domain/name",
        ),
        (
            {"requests": [request()], "constraints": [{"matchAttribute": "a/b", "requests": [1]}]},
            "requests has 1, which is not text",
        ),
    ],
)
def test_what_cannot_be_read(devices: Any, problem: str) -> None:
    (diagnostic,) = read(POD, template(devices)).diagnostics
    assert (diagnostic.code, diagnostic.message) == ("CP716", f"ResourceClaimTemplate t: {problem}")
    assert diagnostic.position is not None


def test_a_selector_that_is_not_evaluated() -> None:
    selectors = [{"cel": {"expression": "size(device.driver) > 1"}}]
    (diagnostic,) = read(template({"requests": [request(selectors=selectors)]})).diagnostics
    assert (diagnostic.code, "the function size" in diagnostic.message) == ("CP717", True)


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({"resourceClaims": {"a": 1}}, "resourceClaims is not a list"),
        ({"resourceClaims": [{}]}, "has a claim without a name"),
        ({"resourceClaims": [{"name": "c"}]}, "claim c names no object or template, or both"),
        (
            {"containers": [{"name": "a", "resources": {"claims": [{"name": "d"}]}}]},
            "uses claim d, which is not in resourceClaims of the pod",
        ),
        (
            {"containers": [{"name": "a", "resources": {"claims": {"a": 1}}}]},
            "claims is not a list",
        ),
    ],
)
def test_pods_that_cannot_be_read(spec: Any, problem: str) -> None:
    own = {**POD, "spec": {"containers": [{"name": "a"}], **spec}}
    if "containers" in spec:
        own["spec"]["resourceClaims"] = POD["spec"]["resourceClaims"]
    problems = [diagnostic.message for diagnostic in read(own).diagnostics]
    assert problems == [f"the manifest {problem}"]
