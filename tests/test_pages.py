"""The pages of docs/ that are made from the code."""

import re

import pytest

from cpuplan.diagnostics.codes import CODES, DIVIDED, Code
from tests.pages import diagnostics


def test_diagnostics_has_every_code_once_and_ascending() -> None:
    assert re.findall(r"^### (CP\d{3,4})$", diagnostics.page(), re.MULTILINE) == sorted(
        {*CODES, *DIVIDED}, key=diagnostics.in_order
    )


def test_diagnostics(monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {
        "CP201": Code(
            "no pool",
            "{pool} is no pool",
            "write one of {pools}",
            "There are four pools.",
            "warning",
        ),
        "CP102": Code("same key", "key {key!r} is there twice", "keep one", "Readers differ."),
    }
    monkeypatch.setattr("tests.pages.diagnostics.CODES", codes)
    monkeypatch.setattr("tests.pages.diagnostics.DIVIDED", frozenset())
    assert (
        diagnostics.page()
        == """\
# Diagnostics

Every message has a code, and a code never changes its meaning.

`cpuplan explain CP102` prints an entry of this page. `<name>` stands for a value.

## Reading

### CP102

**same key** (error)

```text
error[CP102]: key <key> is there twice
  help: keep one
```

Readers differ.

## Intents and inventories

### CP201

**no pool** (warning)

```text
warning[CP201]: <pool> is no pool
  help: write one of <pools>
```

There are four pools.
"""
    )
