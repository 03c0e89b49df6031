"""The lines below a picture on what the kubelet sees otherwise."""

from typing import Any

import pytest

from cpuplan.fleet import hardware
from cpuplan.language.model.inventory import HardwareSpec
from cpuplan.render.map.drawing import kubelet_notes


@pytest.mark.parametrize(
    ("cores", "kubelet", "expected"),
    [
        ({"threads": ["0-3"]}, {}, []),
        (
            {"threads": ["0-3"], "ids": ["0-1,0-1"]},
            {},
            [
                (
                    "cores that the kubelet sees: 2; "
                    "it treats CPUs 0,2 as one core, but there are 2 (CP360)"
                )
            ],
        ),
        (
            {"threads": ["0-3"]},
            {"unlabelled": "2-3"},
            ["not seen by the kubelet: CPUs 2-3 (CP362)"],
        ),
    ],
)
def test_notes(cores: dict[str, Any], kubelet: dict[str, Any], expected: list[str]) -> None:
    spec = HardwareSpec.model_validate({"topology": {"cores": [cores], "kubelet": kubelet}})
    topology, problems = hardware.build(spec)
    assert topology is not None, problems
    assert list(kubelet_notes(topology)) == expected
