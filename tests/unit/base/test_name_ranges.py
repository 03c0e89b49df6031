"""Ranges of node names."""

import pytest

from cpuplan.base.naming import expand_all, expand_names, fold_names


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("worker", ["worker"]),
        ("worker-[8-11]", ["worker-8", "worker-9", "worker-10", "worker-11"]),
        ("worker-[08-11]", ["worker-08", "worker-09", "worker-10", "worker-11"]),
        ("r[1-2]n[0-1].lab", ["r1n0.lab", "r1n1.lab", "r2n0.lab", "r2n1.lab"]),
    ],
)
def test_names_are_expanded(pattern: str, names: list[str]) -> None:
    assert expand_names(pattern) == names


@pytest.mark.parametrize("pattern", ["worker-[3-1]", "worker-[0-999999]", "r[0-999]n[0-999]"])
def test_ranges_have_limits(pattern: str) -> None:
    with pytest.raises(ValueError, match=r"backwards|100,000"):
        expand_names(pattern)


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("w[" + "0" * 5000 + "-9]", "253 digits"),
        ("w[0-" + "9" * 5000 + "]", "253 digits"),
        ("w[" + "0" * 253 + "-" + "9" * 5 + "]", "longer than 253"),
        ("[0-1]" + "w" * 300, "longer than 253"),
        ("[0-1]" * 40, "100,000"),
    ],
)
def test_ranges_are_judged_before_names_are_made(pattern: str, problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        expand_names(pattern)


def test_patterns_have_a_limit_together() -> None:
    assert len(expand_all(["a[0-49999]", "b[0-49999]"])) == 100_000
    with pytest.raises(ValueError, match="100,000"):
        expand_all(["a[0-49999]", "b[0-49999]", "c"])


@pytest.mark.parametrize(
    ("names", "folded"),
    [
        (["w1", "w0", "w2"], ["w[0-2]"]),
        (["w08", "w09", "w10"], ["w[08-10]"]),
        (["w9", "w10"], ["w[9-10]"]),
        (["w1", "w01"], ["w1", "w01"]),
        (["w1", "w3"], ["w1", "w3"]),
        (["a1.lab", "a2.lab", "a2.farm"], ["a2.farm", "a[1-2].lab"]),
        (
            ["ip-10-0-1-5.ec2.internal", "ip-10-0-1-6.ec2.internal"],
            ["ip-10-0-1-[5-6].ec2.internal"],
        ),
        (["rack1-node-a", "rack2-node-a"], ["rack[1-2]-node-a"]),
        (["master", "worker"], ["master", "worker"]),
    ],
)
def test_fold_names(names: list[str], folded: list[str]) -> None:
    assert fold_names(names) == folded
    assert sorted(name for pattern in folded for name in expand_names(pattern)) == sorted(names)
