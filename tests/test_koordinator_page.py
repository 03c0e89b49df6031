"""docs/koordinator.md, word by word: from nothing to a plan, its files, and its names."""

import os
import re
from pathlib import Path

import pytest

from cpuplan.facts import versions
from cpuplan.upstream.koordinator.extension import releases
from tests import named_cases
from tests.projects import REPOSITORY
from tests.reader import Reader, blocks, commands, shown

PAGE, SECTION = "docs/koordinator.md", "## From nothing to a plan"
TEXT = (REPOSITORY / PAGE).read_text()


def rows(head: str) -> list[list[str]]:
    """The rows of the table that begins so."""
    table = TEXT.partition(head)[2].partition("\n\n")[0]
    return [line.strip("| ").split(" | ") for line in table.splitlines()[2:]]


@pytest.mark.skipif(not os.path.exists("/bin/bash"), reason="the commands are for a shell")
def test_the_page(tmp_path: Path) -> None:
    reader = Reader(tmp_path)
    for block in blocks(PAGE, SECTION):
        if block.language == "yaml":
            reader.writes(block)
        if block.language == "console":
            said = "".join(map(reader.runs, commands(block)))
            assert [line for line in shown(block) if line.strip() not in said] == []
    assert (reader.project / "out/clusters/lab/manifests/20-node-worker-0.yaml").is_file()


def test_every_file_on_the_page_is_written() -> None:
    written = named_cases.compiled("koordinator").files
    named = [name for row in rows("| file in ") for name in re.findall(r"`([^`]+)`", row[0])]
    assert len(named) > 7
    for name in named:
        pattern = re.sub(r"<\w+>", "[^/]+", re.escape(name))
        assert [path for path in written if re.fullmatch(rf"clusters/site/{pattern}", path)], name


def test_names_came_with_the_releases_that_the_page_says() -> None:
    fields = {field: span for known in releases.FIELDS.values() for field, span in known.items()}
    spans = {**releases.NODE_NAMES, **releases.POD_NAMES, **releases.CONFIG_KEYS, **fields}
    named = [
        (name, since)
        for cells, _, since in rows("| name | of | since |")
        for name in re.findall(r"`([^`]+)`", cells)
    ]
    assert [(name, versions.to_text(spans[name].since)) for name, _ in named] == named
