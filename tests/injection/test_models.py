"""Which hostile texts the fields of documents take: none, but for a few kinds of prose."""

import re
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from tests.injection.fields import texts
from tests.injection.payloads import PAYLOADS

FIELDS = dict(texts())
#: What no shell, template, unit, boot line, Markdown or CEL reads as more than a word.
WORD = re.compile(r"[A-Za-z0-9_.,:/+@%=!*^~?#()\[\]-]*")
#: Fields that hold prose, or what others called something: any visible text on one line. The tests
#: of outputs show where these go.
PROSE = re.compile(
    r".*\.((vendors|devices|drivers|names)\[\]|vendor|model|device|driver|name|because|reason|files|interfaceName"
    r"|kernelArguments\[\]|units\[\]|files\[\]|path|at|nodes\[\]|annotations\{\}\.value)"
)
#: Their values are checked by those that know what they are for: ranges of names by CP228, what
#: has no model by the schema of the kubelet and by the reader of pods, profiles by the port of
#: TuneD, and labels below labels by the model of those above.
ELSEWHERE = {
    "Nodes.spec.nodes[].name",
    "Cluster.spec.tuneds[].profile[].data",
    "Cluster.spec.tuneds[].recommend[].match[].match[]{}",
    "Cluster.spec.tuneds[].recommend[].match[].match[]{}.value",
    "Cluster.spec.tuneds[].recommend[].operand{}",
    "Cluster.spec.tuneds[].recommend[].operand{}.value",
    "Intent.spec.kubelet.configuration{}",
    "Intent.spec.kubelet.configuration{}.value",
    "Intent.spec.workloads[].manifest{}",
    "Intent.spec.workloads[].manifest{}.value",
}
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u200b\u202a-\u202e\u2028\u2029\u2066-\u2069\ufeff\ufffe]"
    "|[\U000e0000-\U000e0fff]"
)


def taken(given: Any, text: str) -> Any:
    """What a field makes of a text; None if it refuses it."""
    try:
        return TypeAdapter(given).validate_python(text)
    except ValidationError:
        return None


def test_fields_are_found() -> None:
    """The walk knows every shape that the models have."""
    assert {
        "Intent.spec.pools.isolated.partitions{}",
        "Intent.spec.rules[].because",
        "Intent.spec.kernel.extraArguments[]",
        "Intent.spec.verify.prometheus.runbooks",
        "Nodes.spec.nodes[].labels{}.value",
        "Hardware.spec.devices[].driver",
        "Cluster.spec.machineConfigs[].files[]",
        "Delivery.spec.revision",
        "Waivers.spec.waivers[].reason",
    } <= FIELDS.keys()
    assert {path for path in FIELDS if FIELDS[path] is Any or FIELDS[path] is str} <= ELSEWHERE


@pytest.mark.parametrize("path", sorted(FIELDS.keys() - ELSEWHERE))
def test_a_text_is_refused_or_a_word(path: str) -> None:
    for payload in PAYLOADS:
        value = taken(FIELDS[path], payload)
        if value is None:
            continue
        shown = str(value)
        assert not HIDDEN.search(shown), (path, payload)
        assert len(shown) < 5000, path
        if not PROSE.fullmatch(path):
            assert WORD.fullmatch(shown), (path, payload)
            assert not shown.startswith("-"), (path, payload)
        elif not path.endswith(("because", "reason", "annotations{}.value")):
            assert "\n" not in shown, (path, payload)
            assert "\t" not in shown, (path, payload)
