"""Rows of tests that are many or long: some in every run, the others in the slow one."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(rows: Iterable[Any], plain: int = 2) -> list[Any]:
    """The first `plain` rows as they are, the others for slow tests only."""
    return [
        row if index < plain else pytest.param(row, marks=pytest.mark.slow)
        for index, row in enumerate(rows)
    ]


def spread(rows: Iterable[Any], step: int) -> list[Any]:
    """Every `step`th row as it is, the others for slow tests only."""
    return [
        pytest.param(row, marks=pytest.mark.slow) if index % step else row
        for index, row in enumerate(rows)
    ]
