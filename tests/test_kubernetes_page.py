"""docs/kubernetes.md, word by word: from an inventory to a checked node."""

import os
import re
from pathlib import Path

import pytest

from cpuplan.backends import kubernetes
from tests import named_cases
from tests.projects import REPOSITORY
from tests.reader import Reader
from tests.unit.components.test_components import PLANS

PAGE, SECTION = "docs/kubernetes.md", "## From an inventory to a checked node"


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="the commands are for a shell")
def test_the_page(tmp_path: Path) -> None:
    told = Reader(tmp_path).follows(PAGE, SECTION)
    assert "worker-0 holds what was compiled for it" in told


def test_every_file_on_the_page_is_written() -> None:
    """By a case, or by a plan of tests/unit."""
    table = (REPOSITORY / PAGE).read_text().partition("| for | files |")[2].partition("\n\n")[0]
    columns = (line.split(" | ")[1] for line in table.splitlines()[2:])
    named = [name for column in columns for name in re.findall(r"`([^`\s]+\.\w+)`", column)]
    cases = [plan for name in named_cases.CASES for plan in named_cases.compiled(name).plan.nodes]
    plain = [
        plan
        for plan in (*PLANS.values(), *cases)
        if plan.node_class.target.platform == "kubernetes"
    ]
    paths = {f"/{path}" for plan in plain for path in kubernetes.node_files(plan)}
    assert len(named) > 15
    for name in named:
        assert any(_is_end(name, path) for path in paths), name


def _is_end(pattern: str, path: str) -> bool:
    """Whether a name on the page, with * for any text, is a path or a part of it up to its end."""
    ending = re.escape(pattern.lstrip("/")).replace(r"\*", ".*")
    return bool(re.search(rf"/{ending}(\.d/[^/]+)?\Z", path))
