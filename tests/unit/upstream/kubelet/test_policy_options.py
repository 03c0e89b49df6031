"""Policy options: maturity by version, values, contradictions."""

import pytest

from cpuplan.upstream.kubelet.policy_options import (
    CPU_MANAGER,
    TOPOLOGY_MANAGER,
    Cause,
    StaticPolicyOptions,
    TopologyOptions,
    exclusive_pairs,
    max_numa_nodes,
    option_errors,
    static_policy_options,
    switched_on,
    topology_options,
)
from cpuplan.upstream.kubernetes.errors import KubeletError
from cpuplan.upstream.kubernetes.kube_features import Gates


@pytest.mark.parametrize(
    ("option", "version", "wanted"),
    [
        ("full-pcpus-only", (1, 32), "beta"),
        ("full-pcpus-only", (1, 33), "stable"),
        ("strict-cpu-reservation", (1, 31), None),
        ("strict-cpu-reservation", (1, 32), "alpha"),
        ("prefer-align-cpus-by-uncorecache", (1, 35), "beta"),
        ("align-by-socket", (1, 36), "alpha"),
    ],
)
def test_maturity(option: str, version: tuple[int, int], wanted: str | None) -> None:
    assert CPU_MANAGER.level(option, version) == wanted


_NEW = {"TopologyManagerPolicyAlphaOptions": True}


def test_options_for_full_numa_nodes_since_1_38() -> None:
    given = {"numa-allocation-strategy": "most-allocated", "numa-score-weights": "cpu=3, gpu=0,"}
    options = topology_options(given, Gates(_NEW, (1, 38)))
    assert options.numa_allocation_strategy == "most-allocated"
    assert options.numa_score_weights == {"cpu": 3, "gpu": 0}
    causes = [error.cause for error in option_errors(given, TOPOLOGY_MANAGER, Gates({}, (1, 38)))]
    assert causes == [Cause.GATE, Cause.GATE]
    causes = [error.cause for error in option_errors(given, TOPOLOGY_MANAGER, Gates({}, (1, 37)))]
    assert causes == [Cause.TOO_NEW, Cause.TOO_NEW]
    off = {"numa-allocation-strategy": "", "numa-score-weights": ""}
    assert topology_options(off, Gates(_NEW, (1, 38))) == TopologyOptions()


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        (
            "numa-allocation-strategy",
            "fullest",
            (
                'bad value for option "numa-allocation-strategy": "fullest" must be one of '
                '["least-allocated" "most-allocated" "none"]'
            ),
        ),
        (
            "numa-score-weights",
            "cpu",
            (
                'bad value for option "numa-score-weights": invalid weight entry "cpu": expected '
                "resource=weight"
            ),
        ),
        (
            "numa-score-weights",
            "=3",
            'bad value for option "numa-score-weights": empty resource name in weight entry "=3"',
        ),
        (
            "numa-score-weights",
            "cpu=101",
            (
                'bad value for option "numa-score-weights": weight for "cpu" must be in range '
                "[0, 100], got 101"
            ),
        ),
        (
            "numa-score-weights",
            "cpu=x",
            (
                'bad value for option "numa-score-weights": invalid weight value for "cpu": '
                'strconv.Atoi: parsing "x": invalid syntax'
            ),
        ),
    ],
)
def test_values_that_keep_the_kubelet_from_starting(option: str, value: str, message: str) -> None:
    with pytest.raises(KubeletError) as caught:
        topology_options({option: value}, Gates(_NEW, (1, 38)))
    assert str(caught.value) == message


def test_every_wrong_option_has_a_cause() -> None:
    given = {
        "align-by-socket": "yes",
        "full-cpus-only": "yes",
        "full-pcpus-only": "t",
        "strict-cpu-reservation": "true",
    }
    errors = list(option_errors(given, CPU_MANAGER, Gates({}, (1, 31))))
    assert [(error.option, error.cause) for error in errors] == [
        ("align-by-socket", Cause.GATE),
        ("align-by-socket", Cause.VALUE),
        ("full-cpus-only", Cause.UNKNOWN),
        ("strict-cpu-reservation", Cause.TOO_NEW),
    ]
    assert str(errors[0]).startswith("CPU Manager Policy Alpha-level Options not enabled")


def test_the_kubelet_stops_at_the_first_error() -> None:
    with pytest.raises(KubeletError, match="unknown CPU Manager Policy option"):
        static_policy_options({"full-pcpus-only": "maybe", "a": "true"}, Gates())


@pytest.mark.parametrize(
    ("value", "is_read"), [("8", True), ("+9", True), ("7", False), ("many", False)]
)
def test_max_allowable_numa_nodes(value: str, is_read: bool) -> None:
    given = {"max-allowable-numa-nodes": value}
    errors = list(option_errors(given, TOPOLOGY_MANAGER, Gates()))
    assert [error.cause for error in errors] == ([] if is_read else [Cause.VALUE])
    assert max_numa_nodes(given) == (int(value) if is_read else 8)


def test_pairs_that_are_both_true() -> None:
    given = {"full-pcpus-only": "1", "distribute-cpus-across-cores": "True"}
    assert exclusive_pairs(switched_on(given)) == [tuple(given)]
    assert exclusive_pairs(switched_on({**given, "full-pcpus-only": "false"})) == []


@pytest.mark.parametrize(
    ("version", "level"),
    [((1, 30), "unknown"), ((1, 31), "Alpha"), ((1, 34), "Beta"), ((1, 36), "")],
)
def test_an_option_grows_up(version: tuple[int, int], level: str) -> None:
    given = {"prefer-align-cpus-by-uncorecache": "true"}
    off = {"CPUManagerPolicyBetaOptions": False}
    if not level:
        assert static_policy_options(given, Gates(off, version)).prefer_align_cpus_by_uncorecache
        return
    with pytest.raises(KubeletError, match=level):
        static_policy_options(given, Gates(off, version))


def test_values_are_those_of_go() -> None:
    options = static_policy_options({"full-pcpus-only": "T"}, Gates())
    assert options == StaticPolicyOptions(full_pcpus_only=True)
    with pytest.raises(KubeletError) as caught:
        static_policy_options({"full-pcpus-only": "yes"}, Gates())
    text = (
        'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax'
    )
    assert str(caught.value) == text
