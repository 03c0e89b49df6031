"""Every unit and drop-in that is emitted, judged by systemd itself.

`systemctl enable` and `systemd-analyze verify` work on a root of their own, in which what the
platform brings (the kubelet, CRI-O, Open vSwitch and their programs) is there by name only. All
that the two say counts, since systemd passes over a line that it does not know.
"""

import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

from cpuplan.plan import ConfiguredPlan
from tests import emitted
from tests.emitted import UNITS, File
from tests.projects import needs_shared

PROGRAM = "systemd-analyze"
VENDOR = "usr/lib/systemd/system"
#: What is in every root: the ends of default dependencies.
BASE = (
    "-.slice",
    "basic.target",
    "multi-user.target",
    "shutdown.target",
    "sysinit.target",
    "system.slice",
)
#: How the machine config operator's units follow each other (templates/common/_base/units of its
#: repository).
PLATFORM = {
    "crio.service": "After=network-online.target\n",
    "kubelet.service": (
        "Requires=crio.service\nWants=kubelet-dependencies.target\n"
        "After=crio.service kubelet-dependencies.target\n"
    ),
    "network-online.target": "After=network.target\n",
    "ovs-vswitchd.service": (
        "Requires=ovsdb-server.service\nAfter=ovsdb-server.service\nBefore=network.target\n"
    ),
}
_UNIT_NAME = re.compile(r"[\w@:.\\-]+\.(?:service|slice|target)\b")
_PROGRAM = re.compile(r"^Exec\w+=[-@:+!]*(\S+)", re.MULTILINE)
_SHELL_SCRIPT = re.compile(r"^Exec\w+=/bin/bash (\S+)", re.MULTILINE)

Files = Mapping[str, File]

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which(PROGRAM), reason=f"{PROGRAM} (Debian: systemd) is not installed"
    ),
]


def lay_down(root: Path, files: Files) -> None:
    """The files of a node, and by name what their units speak of and do not bring."""
    for path, file in files.items():
        _write(root / path[1:], file.data.decode(), file.mode)
    texts = [file.data.decode() for path, file in files.items() if path.startswith(UNITS)]
    dropped_into = {
        Path(path).parent.name.removesuffix(".d") for path in files if path.endswith(".conf")
    }
    names = {name for text in (*texts, *PLATFORM.values()) for name in _UNIT_NAME.findall(text)}
    for name in (
        names
        | {name for name in dropped_into if _UNIT_NAME.fullmatch(name)}
        | set(BASE)
        | set(PLATFORM)
    ):
        if f"{UNITS}/{name}" not in files:
            service = "[Service]\nExecStart=/usr/bin/true\n" if name.endswith(".service") else ""
            _write(
                root / VENDOR / name,
                f"[Unit]\nDescription={name}\n{PLATFORM.get(name, '')}{service}",
                0o644,
            )
    for program in {
        "/usr/bin/true",
        *(program for text in texts for program in _PROGRAM.findall(text)),
    }:
        if not program.startswith("/usr/local/") and program not in files:
            _write(root / program[1:], "#!/bin/sh\n", 0o755)


def _write(path: Path, text: str, mode: int) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def judge(root: Path, files: Files) -> list[str]:
    """What systemd says of the units of `files`, started with all that is enabled.

    It says nothing of those that are right.
    """
    lay_down(root, files)
    own = sorted(path for path in files if Path(path).parent == Path(UNITS))
    installed = [Path(path).name for path in own if b"[Install]" in files[path].data]
    said = _run("systemctl", f"--root={root}", "--quiet", "enable", *installed) if installed else []
    there = sorted(path for path in (root / VENDOR).iterdir() if path.suffix != ".slice")
    units = [str(root / path[1:]) for path in own] + [str(path) for path in there]
    said += _run(PROGRAM, "verify", "--man=no", f"--root={root}", *units)
    scripts = {
        script for path in own for script in _SHELL_SCRIPT.findall(files[path].data.decode())
    }
    return said + [f"{script} is started and not there" for script in sorted(scripts - set(files))]


def _run(*command: str) -> list[str]:
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    said = (run.stdout + run.stderr).splitlines()
    return said or [f"exit code {run.returncode}"] * bool(run.returncode)


def judge_all(folder: Path, nodes: Iterable[tuple[str, Files]]) -> tuple[int, dict[str, list[str]]]:
    """How many different units and drop-ins there are, and what is said of nodes that are wrong.

    Nodes with the same ones are judged once.
    """
    seen: set[tuple[str, bytes]] = set()
    judged: set[frozenset[tuple[str, bytes]]] = set()
    wrong: dict[str, list[str]] = {}
    for where, files in nodes:
        texts = frozenset(
            (path, file.data) for path, file in files.items() if path.startswith(UNITS)
        )
        if texts and texts not in judged:
            if said := judge(folder / str(len(judged)), files):
                wrong[where] = said
            judged.add(texts)
            seen |= texts
    return len(seen), wrong


def on_openshift(plans: Iterable[tuple[str, ConfiguredPlan]]) -> Iterator[tuple[str, Files]]:
    for where, plan in plans:
        written: dict[str, File] = {}
        for data in emitted.machine_configs(plan):
            written |= emitted.ignition_files(data)
        yield where, written


def test_the_sample(tmp_path: Path) -> None:
    of_objects = [(where, emitted.ignition_files(data)) for where, data in emitted.sample()]
    count, wrong = judge_all(tmp_path, [*of_objects, *emitted.sample_nodes()])
    assert not wrong
    assert count


def test_cases_on_every_release(tmp_path: Path) -> None:
    count, wrong = judge_all(tmp_path, on_openshift(emitted.openshift_plans()))
    assert not wrong
    assert count >= 15


def test_cases_on_kubernetes(tmp_path: Path) -> None:
    nodes = [
        (name, emitted.node_files(plan))
        for name, plan in emitted.case_plans()
        if plan.node_class.target.platform == "kubernetes"
    ]
    count, wrong = judge_all(tmp_path, nodes)
    assert not wrong
    assert count


@needs_shared
def test_recorded_profiles(tmp_path: Path) -> None:
    plans = (
        (case.name, profile.plan) for case, compiled in emitted.recorded() for profile in compiled
    )
    count, wrong = judge_all(tmp_path, on_openshift(plans))
    assert not wrong
    assert count >= 20


SERVICE = "[Service]\nType=oneshot\nExecStart=/usr/bin/true\n"


@pytest.mark.parametrize(
    ("path", "text", "said"),
    [
        ("a.service", f"[Unit]\nBefor=kubelet.service\n{SERVICE}", "Unknown key"),
        ("a.service", f"[Unit]\nBefore=kubelet\n{SERVICE}", "kubelet"),
        ("a.service", "[Service]\nType=oneshot\n", "has no ExecStart="),
        (
            "a.service",
            "[Service]\nType=once\nExecStart=/usr/bin/true\n",
            "Failed to parse service type",
        ),
        (
            "a.service",
            "[Service]\nType=oneshot\nExecStart=/usr/local/bin/a.sh\n",
            "is not executable",
        ),
        (
            "a.service",
            f"[Unit]\nAfter=kubelet.service\nBefore=crio.service\n{SERVICE}",
            "ordering cycle",
        ),
        ("a.service", f"{SERVICE}[Install]\nWantedBy=multi user\n", "multi"),
        ("kubelet.service.d/50-a.conf", "[Unit]\nWant=a.service\n", "Unknown key"),
        ("crio.service.d/50-a.conf", "[Service]\nSlice=ovs\n", "ovs"),
    ],
)
def test_a_wrong_unit_is_refused(tmp_path: Path, path: str, text: str, said: str) -> None:
    told = judge(tmp_path, {f"{UNITS}/{path}": File(0o644, text.encode())})
    assert any(said in line for line in told), told
