"""The agent on a booted node: it checks the node, and nothing that it tries changes it.

The containers are made of the emitted DaemonSet, by runc (`agent/containers.py`), and run what
tries to write by all ways that are known (`agent/attack.py`).
"""

import json
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

from cpuplan.backends.verify import daemonset
from cpuplan.language.model.rollout import Verify
from cpuplan.node.bundle import build
from tests.boot import base, delivering, guests, qemu
from tests.boot.agent import containers
from tests.test_captured import HELD

pytestmark = pytest.mark.boot_systemd
NAME = "plain"
_HERE = Path(__file__).parent / "agent"
_ATTACK = ("/usr/bin/python3", "/app/attack.py")
_PROGRAM = ("/usr/bin/python3", "/app/cpuplan.pyz")
_FROM = ("--root", "/host", "--state", "/state")
_ONCE = (*_PROGRAM, "agent", *_FROM, "--once", "--listen", "off")
_COVERAGE = (*_PROGRAM, "check", NAME, *_FROM, "--coverage", "--format", "json")


class Container(NamedTuple):
    """What a container runs, and with what access; `recursive`: the runtime has such mounts."""

    access: str
    words: tuple[str, ...]
    recursive: bool = True
    has_submount: bool = False


#: In the order in which they run: the last one succeeds, and changes the node.
CONTAINERS = {
    "1-agent": Container("user", _ONCE),
    "2-check": Container("user", _COVERAGE),
    "3-check-as-root": Container("root", _COVERAGE),
    "4-attack": Container("user", _ATTACK, has_submount=True),
    "5-attack-old-runtime": Container("user", _ATTACK, recursive=False),
    "6-attack-as-root": Container("root", _ATTACK, has_submount=True),
    "7-attack-tracing": Container("tracing", _ATTACK),
}


@pytest.fixture(scope="module")
def seen(made: base.Base, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that the guest brought out."""
    folder = tmp_path_factory.mktemp("agent")
    node, arguments = delivering.deliver(NAME, made, folder / NAME)
    packages = folder / "packages"
    packages.mkdir()
    download = ["apt-get", "download", "-qq", "-oAPT::Sandbox::User=root", "runc", "libseccomp2"]
    if subprocess.run(download, cwd=packages, check=False, capture_output=True).returncode:
        pytest.skip("Debian's runc cannot be downloaded")
    for package in packages.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, packages / "root"], check=True)
    # Its folders of links to /usr stay links.
    subprocess.run(["cp", "-a", f"{packages}/root/usr/.", node.root / "usr"], check=True)
    for library in (packages / "root/lib").rglob("*.so*"):
        target = node.root / "usr" / library.relative_to(packages / "root")
        shutil.copy2(library, target, follow_symlinks=False)
    state = f"clusters/{guests.CLUSTER}/expected/state/{guests.plan(NAME).node_class.name}.json"
    _furnish(node.root, made, node.files[state])
    qemu.start(made.kernel, node.root, f"{arguments} agent", node.folder)
    return qemu.bring_out(node.folder, node.folder / "seen")


def _furnish(root: Path, made: base.Base, state: bytes) -> None:
    """The bundles, what they mount, and what the node of an agent has."""
    agent = root / "agent"
    for folder in ("app", "bundles", "nothing", "state"):
        (agent / folder).mkdir(parents=True)
    for name in ("attack.py", "run.sh"):
        shutil.copy(_HERE / name, agent / ("app" if name == "attack.py" else "") / name)
    (agent / "app/cpuplan.pyz").write_bytes(build())
    shutil.copy(root / "usr/bin/id", agent / "app/suid")
    (agent / "app/suid").chmod(0o4755)
    plan = guests.plan(NAME)
    (agent / "state/state.json").write_bytes(state)
    for name, container in CONTAINERS.items():
        verify = Verify.model_validate({"image": "a", "access": container.access})
        document = daemonset.document(plan, verify)
        bundle = agent / "bundles" / name
        containers.write(bundle, document, container.words, recursive=container.recursive)
        if container.has_submount:
            (bundle / "submount").touch()
    [module] = (made.kernel.parent / "kernel/lib/modules").rglob("binfmt_misc.ko*")
    shutil.copy(module, agent / module.name)
    (root / "etc/submount").mkdir()
    for path in ("etc/kubernetes/pki/ca.key", "var/lib/kubelet/pki/kubelet.key"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("key\n")
        (root / path).chmod(0o600)
    for name in ("device-plugins", "plugins", "plugins_registry", "pod-resources"):
        (root / "var/lib/kubelet" / name).mkdir(parents=True, exist_ok=True)
    (root / "var/lib/kubelet/pods/1/volumes/kubernetes.io~secret/a").mkdir(parents=True)
    (root / "var/lib/kubelet/pods").chmod(0o750)
    unit = root / "etc/systemd/system/agent.service"
    shutil.copy(_HERE / "agent.service", unit)
    (unit.parent / "multi-user.target.wants/agent.service").symlink_to(f"../{unit.name}")


def printed(seen: Path, name: str) -> str:
    return (seen / f"{name}.out").read_text()


def told(seen: Path, name: str) -> Mapping[str, str]:
    """What came of each way."""
    found: Mapping[str, str] = json.loads(printed(seen, name) or "{}")
    error = (seen / f"{name}.err").read_text()
    assert len(found) >= 20, error
    return found


def wrote(seen: Path, name: str) -> dict[str, str]:
    return {way: text for way, text in told(seen, name).items() if text.startswith("wrote")}


def marks(seen: Path, name: str) -> str:
    return (seen / f"{name}.marks").read_text()


@pytest.mark.parametrize("name", ["4-attack", "5-attack-old-runtime"])
def test_an_agent_writes_by_no_way(seen: Path, name: str) -> None:
    assert wrote(seen, name) == {}
    assert marks(seen, name) == ""


def test_the_ways_lead_somewhere(seen: Path) -> None:
    """With SYS_PTRACE, which an intent can ask for, the same tries reach the node."""
    assert {"roots_of_processes", "working_folders_of_processes"} <= wrote(
        seen, "7-attack-tracing"
    ).keys()
    assert "/tmp/cpuplan-was-here" in marks(seen, "7-attack-tracing")


def test_root_without_capabilities_reads_keys_and_writes_nothing(seen: Path) -> None:
    assert wrote(seen, "6-attack-as-root").keys() == {"keys"}
    assert marks(seen, "6-attack-as-root") == ""


def answers(seen: Path, name: str) -> dict[str, str]:
    """The verdict on each fact."""
    found = json.loads(printed(seen, name))["answers"]
    return {answer["fact"]: answer["verdict"] for answer in found}


def test_an_agent_checks_its_node(seen: Path) -> None:
    assert (seen / "1-agent.code").read_text() == "0\n", (seen / "1-agent.err").read_text()
    metrics = printed(seen, "1-agent")
    assert re.search(r'^cpuplan_facts{.*verdict="differs"} 0$', metrics, re.MULTILINE)
    assert "cpuplan_check_current" in metrics
    verdicts = list(answers(seen, "2-check").values())
    assert "differs" not in verdicts
    # A snapshot also has the log of the kernel, and answers of systemd and of the runtime.
    assert verdicts.count("held") >= HELD[NAME] - 8


def test_what_only_root_reads_is_not_verified_and_nothing_else_is_lost(seen: Path) -> None:
    own, of_root = answers(seen, "2-check"), answers(seen, "3-check-as-root")
    assert "differs" not in of_root.values()
    lost = {fact for fact, verdict in of_root.items() if own.get(fact) != verdict}
    assert lost == {"next boot"}
