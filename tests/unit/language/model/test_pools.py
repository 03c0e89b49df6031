"""Short forms of the layout language."""

import pytest
from pydantic_core import ValidationError

from cpuplan.base.cpuset import CpuSet
from cpuplan.language.model.pools import Pool


@pytest.mark.parametrize("written", ["0,2", [0, 2], (2, 0)])
def test_numbers_are_a_list_or_text(written: object) -> None:
    assert Pool.model_validate({"cores": 1, "numaNodes": written}).numa_nodes == CpuSet.parse("0,2")


@pytest.mark.parametrize("written", [[], [-1], ["0"], [True], {}, "0 2", -1])
def test_no_numbers(written: object) -> None:
    with pytest.raises(ValidationError):
        Pool.model_validate({"cores": 1, "numaNodes": written})
