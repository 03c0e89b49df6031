"""Objects inside others: each is found, at its own place in the file."""

import pytest

from cpuplan.diagnostics import Diagnostic
from cpuplan.language.read import yaml
from cpuplan.profiles import reader
from cpuplan.profiles import reader as openshift

PROFILE = """\
apiVersion: performance.openshift.io/v2
kind: PerformanceProfile
metadata:
  name: ran
spec:
  cpu:
    reserved: 0-1
    isolated: 1-7
  nodeSelector:
    node-role.kubernetes.io/cnf: ""
"""
JSON = (
    r"{\"apiVersion\": \"performance.openshift.io/v2\", "
    r"\"kind\": \"PerformanceProfile\", \"metadata\": {\"name\": "
    r"\"ran\"}, \"spec\": {\"cpu\": {\"reserved\": \"0\", \"isolated\": \"0-7\"}, "
    r"\"nodeSelector\": {\"a/cnf\": \"\"}}}\n"
)
CONFIG_MAP = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ran}\ndata:\n"


def indented(text: str, indent: str, first: str = "") -> str:
    lines = [indent + line for line in text.splitlines()]
    return "\n".join([(first or indent) + lines[0][len(indent) :], *lines[1:]]) + "\n"


@pytest.mark.parametrize(
    ("text", "places"),
    [
        (PROFILE, ["8:15"]),
        ("apiVersion: v1\nkind: List\nitems:\n" + indented(PROFILE, "  ", "- "), ["11:17"]),
        (
            "apiVersion: v1\nkind: List\nitems:\n- 3\n- kind: List\n  items:\n"
            + indented(PROFILE, "    ", "  - "),
            ["14:19"],
        ),
        (
            "apiVersion: performance.openshift.io/v2\nkind: PerformanceProfileList\nitems:\n"
            + indented(PROFILE, "  ", "- ")
            + indented(PROFILE, "  ", "- "),
            ["11:17", "21:17"],
        ),
        (CONFIG_MAP + "  tuning: |\n" + indented(PROFILE, "    "), ["13:19"]),
        (CONFIG_MAP + "  tuning: |-\n" + indented(PROFILE, "    "), ["13:19"]),
        (CONFIG_MAP + f'  tuning: "{JSON}"\n', ["5:11"]),
    ],
)
def test_problems_stand_where_the_profile_stands(text: str, places: list[str]) -> None:
    sources, problems = yaml.parse("f.yaml", text)
    assert not problems
    diagnostics = openshift.read(sources).diagnostics
    assert [
        f"{diagnostic.position.line}:{diagnostic.position.column}"
        for diagnostic in diagnostics
        if diagnostic.position
    ] == places


def test_yaml_that_is_none_inside_a_config_map() -> None:
    sources, _ = yaml.parse(
        "f.yaml", CONFIG_MAP + "  tuning: |\n    kind: PerformanceProfile\n    cpu: [\n"
    )
    problems: list[Diagnostic] = []
    list(reader.unbundled(sources, problems))
    assert [(problem.code, problem.position.line) for problem in problems if problem.position] == [
        ("CP101", 7)
    ]


def test_a_hosted_cluster_is_told_from_the_config_map() -> None:
    profile = PROFILE.replace("1-7", "2-7")
    other = profile.replace("name: ran", "name: other")
    texts = "---\n".join(
        CONFIG_MAP + "  tuning: |\n" + indented(text, "    ") for text in (profile, other)
    )
    read = openshift.read(yaml.parse("f.yaml", texts)[0])
    # Both select the workers of their own NodePools.
    assert not read.diagnostics
    targets = [intent.spec.targets[0] for intent in read.intents]
    assert {(target.control_plane_topology, target.mode) for target in targets} == {
        ("External", "performanceProfile")
    }


def test_a_config_map_without_a_profile_is_itself() -> None:
    sources, _ = yaml.parse("f.yaml", CONFIG_MAP + "  tuning: |\n    kind: Tuned\n")
    assert [unbundled.source for unbundled in reader.unbundled(sources, [])] == sources
