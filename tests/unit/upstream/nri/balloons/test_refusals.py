"""Configurations that the balloons policy refuses, and those that it does not."""

import pytest

from cpuplan.upstream.nri.api import NriError
from cpuplan.upstream.nri.balloons.balloons_policy import Policy
from cpuplan.upstream.nri.balloons.setup import decode
from tests.machines.nrifiles import policy, regular

SMALL = regular(1, 4)
_ONE = "reservedResources: {cpu: '1'}"
_REFUSED = "balloons: failed to create balloons policy: balloons: "
_REST = "0-7, namely 8-9"
_TOO_FEW = (
    "failed to choose a cpuset for allocating additional 9 CPUs: "
    "not enough free CPUs (7) to resize current CPU set from 0 to 9 CPUs"
)
_INVALID = f"{_REFUSED}invalid configuration: balloons: "


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (f"{_ONE}, balloonTypes: [{{}}]", f"{_INVALID}missing or empty name in a balloon type"),
        (
            f"{_ONE}, balloonTypes: [{{name: a}}, {{name: a}}]",
            f'{_INVALID}two balloon types with the same name: "a"',
        ),
        (
            f"{_ONE}, balloonTypes: [{{name: a, maxCPUs: -1}}]",
            f'{_INVALID}MinCpus (0) > MaxCpus (-1) in balloon type "a"',
        ),
        (
            f"{_ONE}, balloonTypes: [{{name: a, components: [{{balloonType: b}}]}}]",
            f'{_INVALID}balloon type "b" in composite balloon "a" is not defined in balloonTypes',
        ),
        (
            f"{_ONE}, availableResources: {{cpu: '4'}}",
            f"{_REFUSED}can't handle CPU resources given as resource.Quantity (4)",
        ),
        (
            "reservedResources: {cpu: 'cpuset:0-9'}",
            f"{_REFUSED}ReservedResources cpus 0-9 contains CPUs not in AllowedResources {_REST}",
        ),
        (
            f"{_ONE}, balloonTypes: [{{name: a, minCPUs: 9, minBalloons: 1}}]",
            f"{_REFUSED}resize/inflate: {_TOO_FEW}",
        ),
    ],
)
def test_refused_by_the_policy(spec: str, text: str) -> None:
    with pytest.raises(NriError) as caught:
        policy(SMALL, spec)
    assert str(caught.value) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "spec: {reservedResources: {cpu: 1}}",
            "BalloonsPolicySpec.spec.Config.reservedResources of type policy.Amount",
        ),
        ("spec: {balloonTypes: [{nosuch: 1}]}", 'unknown field "nosuch"'),
        ("spec: {balloonTypes: {}}", "cannot unmarshal object into Go struct field"),
        ("spec: {pinCPU: 1}", "cannot unmarshal number into Go struct field"),
    ],
)
def test_refused_by_the_decoder(text: str, message: str) -> None:
    with pytest.raises(NriError) as caught:
        decode(text)
    assert message in str(caught.value)


def test_letter_case_does_not_matter() -> None:
    assert decode("spec: {balloonTypes: [{name: a, minCpus: 2}]}").types[0].min_cpus == 2


def test_bug_too_many_balloons_are_reported_with_numbers_of_cpus() -> None:
    types = "balloonTypes: [{name: a, minBalloons: 3, maxBalloons: 2}]"
    with pytest.raises(NriError, match=r"MinBalloons \(0\) > MaxBalloons \(0\)"):
        policy(SMALL, f"{_ONE}, {types}")


def test_bug_there_is_one_reserved_balloon_whatever_is_asked_for() -> None:
    types = "balloonTypes: [{name: reserved, minBalloons: 2, maxBalloons: 2}]"
    running = policy(SMALL, f"{_ONE}, {types}")
    names = {balloon.name for balloon in running.state.balloons}
    assert names == {"default[0]", "reserved[0]"}
    assert len(running.state.balloons) == len(names)


@pytest.mark.parametrize("reserved", ["{cpus: '2'}", "{cpu: '0'}", "{cpu: '-1'}", "{}"])
def test_bug_nothing_reserved_is_accepted(reserved: str) -> None:
    running = Policy(SMALL, decode(f"spec: {{reservedResources: {reserved}}}"))
    assert not any(balloon.cpus for balloon in running.state.balloons)


@pytest.mark.parametrize(
    ("frequency", "message"),
    [
        ("'2.5 furlongs'", 'invalid frequency "2.5 furlongs": expected number'),
        ("-1", "invalid frequency: negative value -1"),
        ("0.0001k", "value too small to represent in kHz"),
        ("[1]", "expected string or number, got [1]"),
    ],
)
def test_refused_frequencies(frequency: str, message: str) -> None:
    with pytest.raises(NriError) as caught:
        decode(f"spec: {{cpuClasses: [{{name: a, minFreq: {frequency}}}]}}")
    assert message in str(caught.value)


def test_frequencies_with_units_and_names() -> None:
    given = "{name: a, minFreq: 3.2GHz, maxFreq: turbo, uncoreMinFreq: 2900000}"
    (known,) = decode(f"spec: {{cpuClasses: [{given}]}}").cpu_classes
    assert known["minFreq"] == 3_200_000
    assert known["uncoreMinFreq"] == 2_900_000
    assert known["maxFreq"] > 1 << 63


def test_nodes_as_near_to_others_as_to_themselves_stop_the_policy() -> None:
    nodes = tuple(node._replace(distances=(10, 10)) for node in regular(2, 2).nodes)
    with pytest.raises(NriError, match="shortest distance not to self #0"):
        policy(regular(2, 2)._replace(nodes=nodes), _ONE)
