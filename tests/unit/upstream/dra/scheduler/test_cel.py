"""Expressions that select devices."""

import pytest

from cpuplan.upstream.dra import cel
from cpuplan.upstream.dra.builder import build
from cpuplan.upstream.dra.cel import CelError
from cpuplan.upstream.dra.cpuinfo import discover
from cpuplan.upstream.dra.driverconfig import Config
from tests.machines.nrifiles import regular

MACHINE = discover(regular(1, 4))
CPU = build(MACHINE, Config(cpu_device_mode="individual", reserved_cpus="0"))[0]  # CPU 1
NODE = build(MACHINE, Config())[0]
OWN = 'device.attributes["dra.cpu"]'


@pytest.mark.parametrize(
    "expression",
    [
        'device.driver == "dra.cpu"',
        f"{OWN}.cpuID == 1 && {OWN}.coreType == 'standard'",
        f"{OWN}.cpuID in [1, 2] && !({OWN}.cpuID in [])",
        'device.attributes["resource.kubernetes.io"].numaNode == 0',
        f'"cpuID" in {OWN} && {OWN}["cpuID"] < 2',
        f'!has({OWN}.none) && has({OWN}.smtEnabled) && !("none" in {OWN})',
        f"{OWN}.none == 1 || {OWN}.smtEnabled",  # what decides may stand after what fails
        f"{OWN}.smtEnabled ? {OWN}.coreID >= 1 : false",
        "1 + 2 * 3 - 7 / 2 == 4 && -7 / 2 == -3 && -7 % 2 == -1 && 'a' + 'b' == \"ab\"",
        f"{OWN}.cpuID != '1' && null == null",
        "!device.allowMultipleAllocations && !device.attributes['gpu'].exists == false || true",
    ],
)
def test_true_of_a_cpu(expression: str) -> None:
    assert cel.matches(expression, CPU)


def test_quantities_of_a_node() -> None:
    own = 'device.capacity["dra.cpu"].cpu'
    assert cel.matches(f"{own}.compareTo(quantity('8')) == 0", NODE)
    assert cel.matches(
        f"{own}.isGreaterThan(quantity('7500m')) && {own}.isLessThan(quantity('9'))", NODE
    )
    assert cel.matches("device.allowMultipleAllocations", NODE)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (f"{OWN}.none == 1", "no such key: none"),
        (f"{OWN}.cpuID < '1'", "no such overload"),
        (f"{OWN}.cpuID && true", "no such overload"),
        ("1 / 0 == 1", "division by zero"),
        ("quantity('x').compareTo(quantity('1')) == 0", "quantities must match"),
    ],
)
def test_failures(expression: str, message: str) -> None:
    with pytest.raises(CelError, match=message):
        cel.matches(expression, CPU)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("", "the expression ends too early"),
        ("true true", "unexpected 'true'"),
        ("device.driver.matches('x')", "cannot evaluate the function matches"),
        ("[1].exists(x, x == 1)", "cannot evaluate the function exists"),
        ("1.5 > 1", "cannot evaluate '1.5 > 1'"),
        ("'a\\n' == 'b'", "cannot evaluate"),
        ("(true", "expected ')' instead of 'the end'"),
        ("size([1]) == 1", "cannot evaluate the function size"),
        ("cpu == 1", "cannot evaluate 'cpu'"),
        ("(" * 60 + "true" + ")" * 60, "nested deeper than 50"),
        ("!" * 60 + "true", "nested deeper than 50"),
        ("1", "the result is neither true nor false"),
    ],
)
def test_what_is_not_evaluated(expression: str, message: str) -> None:
    with pytest.raises(cel.SyntaxCelError) as caught:
        cel.matches(expression, CPU)
    assert message in str(caught.value)
