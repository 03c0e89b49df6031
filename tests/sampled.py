"""Rows of tests that are many or long: some in every run, all of them in the slow one."""

from collections.abc import Iterable
from typing import Any

import pytest


def sampled(rows: Iterable[Any], plain: int = 2) -> list[Any]:
    """The first `plain` rows as they are, the others for slow tests only."""
    return [
        row if index < plain else pytest.param(row, marks=pytest.mark.slow)
        for index, row in enumerate(rows)
    ]
