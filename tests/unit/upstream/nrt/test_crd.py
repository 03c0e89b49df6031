"""What an API server says of an object."""

from typing import Any

import pytest

from cpuplan.upstream.nrt.crd import DEFINITIONS, Admission, admit
from tests.unit.upstream.nrt.objects import Json, nrt, zone

BOTH = DEFINITIONS["noderesourcetopology-api"]


@pytest.mark.parametrize(
    ("name", "version", "is_served"),
    [
        ("noderesourcetopology-api", "v1alpha1", True),
        ("noderesourcetopology-api", "v1alpha2", True),
        ("noderesourcetopology-api", "v1beta1", False),
        ("scheduler-plugins", "v1alpha1", False),
        ("scheduler-plugins", "v1alpha2", True),
        ("koordinator-1.6", "v1alpha1", True),
        ("koordinator-1.6", "v1alpha2", False),
    ],
)
def test_what_is_served(name: str, version: str, is_served: bool) -> None:
    given = nrt() | {"apiVersion": f"topology.node.k8s.io/{version}", "topologyPolicies": []}
    admission = admit(given, DEFINITIONS[name])
    assert admission.errors == (() if is_served else ("no match for kind/version",))


@pytest.mark.parametrize(
    ("change", "errors", "pruned"),
    [
        pytest.param({"spec": {}}, (), ("spec",), id="unknown field"),
        pytest.param({"zones": None}, ("Invalid value: zones",), (), id="null"),
        pytest.param({"zones": {"a": {}}}, ("Invalid value: zones",), ("zones.a",), id="0.0 form"),
        pytest.param({"attributes": [{"name": "a"}]}, ("Required value: attributes[0].value",), ()),
        pytest.param({"topologyPolicies": [1]}, ("Invalid value: topologyPolicies[0]",), ()),
    ],
)
def test_fields(change: Json, errors: tuple[str, ...], pruned: tuple[str, ...]) -> None:
    assert admit(nrt(zone("node-0")) | change, BOTH) == Admission(errors, pruned)


def test_v1alpha1_has_no_attributes() -> None:
    given = nrt() | {"apiVersion": "topology.node.k8s.io/v1alpha1"}
    admission = admit(given, BOTH)
    assert admission == Admission(("Required value: topologyPolicies",), ("attributes",))


_PLACE = "Invalid value: zones[0].resources[0].available"
_NOWHERE = "Invalid value: <nil>"


@pytest.mark.parametrize(
    ("amount", "errors"),
    [
        ("4Gi", ()),
        ("-1", ()),
        (4, ()),
        (4.0, ()),
        ("4GB", (_PLACE,)),
        ("4\n", (_PLACE,)),
        (None, (_PLACE,)),
        (4.5, (_NOWHERE, _PLACE)),
        (True, (_NOWHERE, _PLACE)),
        (1e300, (_NOWHERE, _PLACE)),
    ],
)
def test_amounts(amount: Any, errors: tuple[str, ...]) -> None:
    given = nrt(zone("node-0", cpu=amount))
    for column in ("capacity", "allocatable"):
        given["zones"][0]["resources"][0][column] = "4"
    assert admit(given, BOTH).errors == errors


@pytest.mark.parametrize(
    ("cost", "errors"), [(10.0, 0), ("10", 1), (True, 1), (None, 1), (10.5, 2), (1 << 63, 2)]
)
def test_costs(cost: Any, errors: int) -> None:
    reported = admit(nrt(zone("node-0", costs=(cost,))), BOTH).errors
    assert reported == (_NOWHERE, "Invalid value: zones[0].costs[0].value")[2 - errors :]
