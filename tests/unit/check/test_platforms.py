"""A node of each platform, with the files that the platform makes: it holds what was compiled."""

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from _pytest.mark import ParameterSet

from cpuplan.components import kubelet
from cpuplan.facts.platforms import PLATFORMS, Platform
from cpuplan.plan import ConfiguredPlan
from cpuplan.plan.expected.evidence import Verdict
from cpuplan.upstream.kubelet.cpumanager.state import CPUState, dump
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.kube_features import Gates
from tests import checked
from tests.hosts import make_root
from tests.machines.plans import plan
from tests.platform_nodes import FORMS, HEAD, Form

RELEASES = {"talos": "1.12"}
EACH = pytest.mark.parametrize("platform", FORMS)


class Node(NamedTuple):
    """A node as it was made, below its root."""

    plan: ConfiguredPlan
    root: Path

    def write(self, files: dict[str, str]) -> None:
        """Give it files."""
        for path, text in files.items():
            (self.root / path).parent.mkdir(parents=True, exist_ok=True)
            (self.root / path).write_text(text)

    def codes(self) -> list[str]:
        """The codes of what `check` says."""
        return [finding.code for finding in checked.findings(self.root, self.plan)]

    def verdicts(self) -> dict[str, Verdict]:
        """What it says of each fact."""
        return {answer.fact: answer.verdict for answer in checked.answers(self.root, self.plan)}


@cache
def planned(platform: str) -> ConfiguredPlan:
    version = RELEASES.get(platform, "1.35")
    spec = {"kubelet": {"topologyManagerPolicy": "restricted"}}
    return plan(platform=platform, version=version, target=dict(FORMS[platform].target), spec=spec)


def made(platform: str, root: Path) -> Node:
    """A node of a platform that has what was compiled."""
    form, node = FORMS[platform], planned(platform)
    make_root(node, root)
    if form.main != "var/lib/kubelet/config.yaml":
        (root / "var/lib/kubelet/config.yaml").unlink(missing_ok=True)
    result = Node(node, root)
    result.write(dict(form.files(node)))
    return result


def test_each_platform_tells_its_runtime() -> None:
    own = {name for name, platform in PLATFORMS.items() if platform.has_runtime_choice}
    assert own == {"kubernetes", "kubeadm", "kubespray"}
    assert {PLATFORMS[name].runtime for name in FORMS if name not in own} == {"containerd"}
    refused = {name for name, platform in PLATFORMS.items() if platform.cannot}
    assert {"openshift", "kubernetes", *FORMS, *refused} == set(PLATFORMS)


def _held(node: Node) -> set[Verdict]:
    """What is said of the planned keys of the kubelet."""
    verdicts = node.verdicts()
    facts = [f"kubelet {setting.key}" for setting in node.plan.settings.of(kubelet.NAME)]
    assert facts
    return {verdicts[fact] for fact in facts}


@EACH
def test_it_holds_its_plan(platform: str, tmp_path: Path) -> None:
    node = made(platform, tmp_path)
    assert node.codes() == []
    assert _held(node) == {Verdict.HELD}
    assert not any(fact.startswith("crio") for fact in node.verdicts())


def state_of(policy: str, cpus: str) -> str:
    """A state file of the CPU manager."""
    default = parse_cpus(cpus) if cpus else 0
    return dump(CPUState(default), policy, Gates({}, (1, 35)))


class Change(NamedTuple):
    """One thing that is done to a node, and the codes of which one must be said; none: nothing."""

    name: str
    of: Callable[[Node, Form, Platform], None]
    codes: frozenset[str] = frozenset()
    #: Only where files of the node are ours; where there is a file under the drop-in.
    of_files: bool = False
    of_main: bool = False


def _own(node: Node, form: Form) -> Path:
    """The file with what is planned."""
    drop_in = checked.expected(node.plan).release.kubelet_drop_in.lstrip("/")
    return node.root / (drop_in or form.main)


def _edit(old: str, new: str) -> Callable[[Node, Form, Platform], None]:
    def edit(node: Node, form: Form, _platform: Platform) -> None:
        path = _own(node, form)
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return edit


def _flag(flag: str) -> Callable[[Node, Form, Platform], None]:
    def add(node: Node, form: Form, _platform: Platform) -> None:
        path = node.root / form.flags
        before = path.read_text()
        path.write_text(form.flag(before, flag))
        assert flag in path.read_text() != before

    return add


def _later(text: str, name: str = "99-other.conf") -> Callable[[Node, Form, Platform], None]:
    def add(node: Node, _form: Form, platform: Platform) -> None:
        node.write({f"{platform.kubelet_folder.lstrip('/')}/{name}": f"{HEAD}{text}"})

    return add


def _state(name: str, text: str) -> Callable[[Node, Form, Platform], None]:
    def add(node: Node, _form: Form, platform: Platform) -> None:
        node.write({f"{platform.root_directory.lstrip('/')}/{name}": text})

    return add


def _main(old: str, new: str) -> Callable[[Node, Form, Platform], None]:
    def edit(node: Node, form: Form, _platform: Platform) -> None:
        path = node.root / form.main
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new, 1))

    return edit


def _gone(node: Node, form: Form, _platform: Platform) -> None:
    _own(node, form).unlink()


def _without_main(node: Node, form: Form, _platform: Platform) -> None:
    (node.root / form.main).unlink()


DIFFERS, FLAG, UNTAKEN = frozenset({"CP823"}), frozenset({"CP824"}), frozenset({"CP829"})
MISSING, BROKEN = frozenset({"CP820", "CP822"}), frozenset({"CP821"})
NO_FOLDER, STATE = frozenset({"CP876", "CP822"}), frozenset({"CP825", "CP826"})
CHANGES = (
    Change("policy", _edit("cpuManagerPolicy: static", "cpuManagerPolicy: none"), DIFFERS),
    Change("reserved", _edit("reservedSystemCPUs: 0-1", "reservedSystemCPUs: 0-2"), DIFFERS),
    Change("fewer", _edit("reservedSystemCPUs: 0-1", "reservedSystemCPUs: '0'"), DIFFERS),
    Change(
        "alignment",
        _edit("topologyManagerPolicy: restricted", "topologyManagerPolicy: none"),
        DIFFERS,
    ),
    Change("misspelt", _edit("reservedSystemCPUs:", "reservedCPUs:"), frozenset({"CP709"})),
    Change("kind", _edit("kind: Kube", "kind: Cube"), BROKEN),
    Change("no YAML", _edit("cpuManagerPolicy:", "cpuManagerPolicy: ["), BROKEN),
    Change("gone", _gone, MISSING),
    Change("later policy", _later("cpuManagerPolicy: none\n"), DIFFERS, of_files=True),
    Change("later CPUs", _later("reservedSystemCPUs: '0'\n"), DIFFERS, of_files=True),
    Change(
        "later option",
        _later('cpuManagerPolicyOptions: {full-pcpus-only: "true"}\n'),
        DIFFERS,
        of_files=True,
    ),
    Change(
        "later cgroup",
        _later("systemReservedCgroup: /system\n"),
        frozenset({"CP823", "CP703"}),
        of_files=True,
    ),
    Change("flag policy", _flag("--cpu-manager-policy=none"), FLAG),
    Change("flag CPUs", _flag("--reserved-cpus=0"), FLAG),
    Change("flag alignment", _flag("--topology-manager-policy=none"), FLAG),
    Change("no number", _flag("--max-pods=many"), UNTAKEN),
    Change("other folder", _flag("--config-dir=/etc/other"), NO_FOLDER, of_files=True),
    Change("other root", _flag("--root-dir=/data"), frozenset()),
    Change("state of no policy", _state("cpu_manager_state", state_of("none", "")), STATE),
    Change("state of other CPUs", _state("cpu_manager_state", state_of("static", "0-3")), STATE),
    Change("state that is damaged", _state("cpu_manager_state", "{}"), STATE),
    Change("main", _without_main, frozenset({"CP820", "CP821"}), of_main=True),
    Change("main that is broken", _main("KubeletConf", "Conf"), BROKEN, of_main=True),
    # Nothing that the plan is about.
    Change("state", _state("cpu_manager_state", state_of("static", "0-7"))),
    Change("a comment", _edit("kind: Kube", "# a comment\nkind: Kube")),
    Change("another flag", _flag("--max-pods=20")),
    Change("no drop-in", _later("cpuManagerPolicy: none\n", "99-other.yaml"), of_files=True),
    Change("other fields", _later("maxPods: 40\n"), of_files=True),
    Change("same flag", _flag("--reserved-cpus=0-1")),
)


def _can(platform: str, change: Change) -> bool:
    """Whether a platform has drop-ins of ours, and a file below them, where a change is of them."""
    takes_files = PLATFORMS[platform].takes_files
    if change.of_main:
        return takes_files and bool(FORMS[platform].main)
    return takes_files or not change.of_files


def _cases() -> Iterator[ParameterSet]:
    """Each change on each platform that can have it: a third of them unless all are asked for."""
    for turn, change in enumerate(CHANGES):
        platforms = [platform for platform in FORMS if _can(platform, change)]
        for number, platform in enumerate(platforms):
            is_plain = number % 3 == turn % min(3, len(platforms))
            marks = () if is_plain else pytest.mark.slow
            yield pytest.param(platform, change, id=f"{change.name}-{platform}", marks=marks)


@pytest.mark.parametrize(("platform", "change"), list(_cases()))
def test_a_change_is_found_and_no_other(platform: str, tmp_path: Path, change: Change) -> None:
    form, row = FORMS[platform], PLATFORMS[platform]
    node = made(platform, tmp_path)
    change.of(node, form, row)
    codes = set(node.codes())
    if change.name == "other folder" and row.folder_flag.command:
        assert not codes  # that of the compiled drop-in comes last
        return
    assert bool(codes & change.codes) == bool(change.codes), codes
    if not change.codes:
        # A drop-in with another comment, and a kubelet that runs without its other state file.
        assert codes <= {"CP871", "CP8225"}


@EACH
def test_flags_that_cannot_be_read_are_not_none(platform: str, tmp_path: Path) -> None:
    """Where nothing says how the kubelet is started, no setting is held."""
    node = made(platform, tmp_path)
    (tmp_path / FORMS[platform].start).unlink()
    assert Verdict.HELD not in _held(node)


UNIT = "etc/systemd/system/k3s-agent.service"
AGENT = "[Service]\nEnvironmentFile=-/etc/default/%N\nExecStart=/usr/local/bin/k3s agent"
SERVER = "[Service]\nExecStart=/usr/local/bin/k3s server --kubelet-arg=reserved-cpus=0\n"
RESERVED = "kubelet reservedSystemCPUs"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({UNIT: f"{AGENT} --kubelet-arg max-pods=20\n"}, []),
        ({UNIT: f"{AGENT} --kubelet-arg reserved-cpus=0\n"}, ["CP824"]),
        ({UNIT: f"{AGENT} '--kubelet-arg' 'cpu-manager-policy=none'\n"}, ["CP824"]),
        ({UNIT: f"{AGENT} --kubelet-arg=--reserved-cpus=0 \\\n"}, ["CP824"]),
        # The last one counts, and the unit comes after files.
        ({UNIT: f"{AGENT} --kubelet-arg=reserved-cpus=0 --kubelet-arg=reserved-cpus=0-1\n"}, []),
        (
            {
                UNIT: f"{AGENT} --kubelet-arg=reserved-cpus=0-1\n",
                "etc/rancher/k3s/config.yaml": "kubelet-arg: [reserved-cpus=0]\n",
            },
            [],
        ),
        ({"etc/rancher/k3s/config.yaml.d/1.yml": "kubelet-arg: reserved-cpus=0\n"}, ["CP824"]),
        (
            {
                UNIT: f"{AGENT} $FLAGS\n",
                "etc/default/k3s-agent": "FLAGS=--kubelet-arg=reserved-cpus=0\n",
            },
            ["CP824"],
        ),
        (
            {
                UNIT: f"{AGENT}\n",
                "etc/default/k3s-agent": "K3S_CONFIG_FILE=/etc/k3s.yaml\n",
                "etc/k3s.yaml": "kubelet-arg: [reserved-cpus=0]\n",
            },
            ["CP824"],
        ),
        (
            {
                UNIT: f"{AGENT} -c /etc/k3s.yaml\n",
                "etc/k3s.yaml": "kubelet-arg: [reserved-cpus=0]\n",
                "etc/rancher/k3s/config.yaml": "kubelet-arg: [cpu-manager-policy=none]\n",
            },
            ["CP824"],
        ),
        # Its data, and the folder of drop-ins with it, are somewhere else.
        ({UNIT: f"{AGENT} --data-dir /data\n"}, ["CP822"]),
        ({"etc/rancher/k3s/config.yaml": "data-dir: /data\n"}, ["CP822"]),
        ({UNIT: f"{AGENT} --kubelet-arg=config-dir=/data\n"}, ["CP822"]),
        ({UNIT: f"{AGENT} --kubelet-arg=reserved-cpu=0\n"}, []),
    ],
)
def test_flags_of_k3s(tmp_path: Path, files: dict[str, str], expected: list[str]) -> None:
    node = made("k3s", tmp_path)
    node.write(files)
    assert node.codes() == expected
    verdict = node.verdicts()[RESERVED]
    assert verdict is not Verdict.UNVERIFIABLE


def test_a_server_of_k3s_is_the_unit_that_is_enabled(tmp_path: Path) -> None:
    node = made("k3s", tmp_path)
    folder = tmp_path / "etc/systemd/system"
    node.write({"etc/systemd/system/k3s.service": SERVER})
    assert node.codes() == []
    (folder / "multi-user.target.wants").mkdir()
    (folder / "multi-user.target.wants/k3s.service").symlink_to("/etc/systemd/system/k3s.service")
    assert node.codes() == ["CP824"]


@pytest.mark.parametrize(
    "files",
    [
        {UNIT: "[Service]\nExecStart=/opt/start-k3s.sh\n"},
        {UNIT: f"{AGENT} --config=https://192.0.2.1/config.yaml\n"},
    ],
)
def test_flags_that_nobody_can_read_are_not_none(tmp_path: Path, files: dict[str, str]) -> None:
    node = made("k3s", tmp_path)
    node.write(files)
    assert node.codes() == []
    assert node.verdicts()[RESERVED] is Verdict.UNVERIFIABLE


ARGS = "var/snap/microk8s/current/args/kubelet"


def microk8s(root: Path) -> Node:
    """kubelite runs the kubelet with a file of flags."""
    node = Node(plan(platform="kubernetes", version="1.34"), root)
    make_root(node.plan, root)
    (root / "etc/systemd/system/kubelet.service.d/50-cpuplan.conf").unlink(missing_ok=True)
    return node


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ("--root-dir=${SNAP_COMMON}/var/lib/kubelet\n", {"CP876"}),
        ("# a comment\n--config-dir=/etc/kubernetes/kubelet.conf.d\n", set()),
        (
            "--config-dir=/etc/kubernetes/kubelet.conf.d\n--cpu-manager-policy='none'\n",
            {"CP824"},
        ),
        ("--config-dir=$SNAP_DATA/kubelet.conf.d\n--v=2\n", {"CP876"}),
    ],
)
def test_flags_of_microk8s(tmp_path: Path, flags: str, expected: set[str]) -> None:
    node = microk8s(tmp_path)
    node.write({ARGS: flags})
    of_flags = {"CP822", "CP824", "CP876"}
    assert of_flags & set(node.codes()) == expected
    held = node.verdicts()[RESERVED] is Verdict.HELD
    assert held == ("CP876" not in expected)


def test_the_file_that_kubelite_names(tmp_path: Path) -> None:
    node = microk8s(tmp_path)
    words = ("/snap/microk8s/8/kubelite", "--kubelet-args-file=/var/snap/microk8s/8/args/kubelet")
    node.write(
        {
            "proc/901/comm": "kubelite\n",
            "proc/901/cmdline": "\0".join((*words, "")),
            "var/snap/microk8s/8/args/kubelet": (
                "--config-dir=/etc/kubernetes/kubelet.conf.d\n--reserved-cpus=0\n"
            ),
        }
    )
    assert "CP824" in node.codes()
