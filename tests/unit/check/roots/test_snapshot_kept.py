"""What the snapshot script leaves out changes no answer of a check."""

import os
import subprocess
from pathlib import Path

import pytest

from cpuplan.base.roots.archive import ArchiveReader, Index, pieces_of
from cpuplan.check import collected
from cpuplan.check.host import check
from cpuplan.check.roots.limits import KEEPING, LIMITS
from cpuplan.check.subject import nowhere
from cpuplan.plan.expected.evidence import Answer
from tests.mutation import cases
from tests.mutation.image import Content, Image
from tests.sampled import sampled
from tests.unit.check.roots.test_snapshot import SCRIPT, shells, write_snapshot


def unpack(image: Image, folder: Path) -> None:
    """All files, links and modes of an image, as a folder."""
    root = image.root()
    todo = [""]
    while todo:
        place = todo.pop()
        for name, is_folder in root.entries(place):
            path = f"{place}/{name}".lstrip("/")
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            link = root.link(path)
            if link is not None:
                target.symlink_to(link)
            elif is_folder:
                target.mkdir()
                todo.append(path)
            else:
                text = root.read(path)
                if text is None:
                    continue
                target.write_text(text)
                target.chmod(root.mode(path) or 0o644)
                time = root.mtime(path) or 0
                os.utime(target, (time, time))


def filtered(text: str, stream: str) -> str:
    """An output of a command as the script keeps it."""
    program = SCRIPT.read_text().partition("<<'AWK'\n")[2].partition("\nAWK\n")[0]
    done = subprocess.run(
        ["awk", "-v", f"stream={stream}", program],
        input=text,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **collected.tables(), "FORMS": ""},
    )
    return done.stdout


def told(answers: list[Answer]) -> dict[str, tuple[str, str, str, str]]:
    """What a check says of each fact, whatever the root is called."""
    return {
        answer.fact: (
            answer.verdict.value,
            answer.observed,
            answer.expected,
            answer.finding.message if answer.finding else "",
        )
        for answer in answers
    }


@pytest.mark.skipif(not shells(), reason="no shell to try is installed")
@pytest.mark.parametrize("name", sampled(cases.names(), 1))
def test_a_snapshot_of_a_node_gets_the_same_answers(name: str, tmp_path: Path) -> None:
    case = cases.case(name)
    node, out = tmp_path / "node", tmp_path / "out.tar.gz"
    node.mkdir()
    unpack(case.image, node)
    (node / "proc").mkdir(exist_ok=True)
    write_snapshot(shells()[0], node, out)
    outputs: dict[str, Content] = {
        f"cpuplan/{output}": case.image.text(f"cpuplan/{output}")
        for output in case.image.names("cpuplan")
    }
    outputs |= {
        path: case.image.text(path)
        for path in ("proc/interrupts", "etc/machine-config-daemon/currentconfig")
        if case.image.text(path)
    }
    for path in ("cpuplan/dmesg", "sos_commands/kernel/dmesg"):
        if said := case.image.text(path):
            outputs[path] = filtered(said, "dmesg")
    outputs |= {
        f"sos_commands/{place}": case.image.text(f"sos_commands/{place}")
        for place in ("systemd/systemctl_show_service_--all",)
        if case.image.text(f"sos_commands/{place}")
    }
    kind = case.image.root().kind
    taken = Image(ArchiveReader(Index(pieces_of(str(out)), KEEPING), LIMITS), kind).but(outputs)
    before = told(case.clean)
    after = told(check(taken.root(), case.expected, case.expected.nodes[0], nowhere))
    # The script looks a second time by itself.
    before.pop("counts of interrupts", None)
    lost = {
        fact: (seen, after.get(fact)) for fact, seen in before.items() if after.get(fact) != seen
    }
    assert not lost
