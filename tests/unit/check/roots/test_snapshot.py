"""The script that collects a node's files: what it takes and what it leaves out.

What it took is read back as the node itself is.
"""

import json
import os
import resource as resource_limits
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from cpuplan.base.program import resource
from cpuplan.check import collected
from cpuplan.check.host import check
from cpuplan.check.roots.root import Kind, Root
from cpuplan.check.subject import nowhere
from cpuplan.facts.platforms import PLATFORMS
from cpuplan.plan.expected.evidence import Verdict
from tests import checked
from tests.hosts import make_root, roots_at
from tests.machines.plans import plan
from tests.platform_nodes import FORMS
from tests.projects import run_in

SCRIPT = resource("templates", "snapshot", "cpuplan-snapshot.sh")
KUBECONFIG = "apiVersion: v1\nkind: Config\nusers:\n- user: {client-key-data: c2VjcmV0}\n"
#: Files of a node that are read back as they are.
PLAIN = {
    "proc/cmdline": "quiet nohz_full=4-7\n",
    "proc/interrupts": "           CPU0\n  7:  1  virtio\n",
    "proc/irq/default_smp_affinity": "f\n",
    "proc/irq/7/smp_affinity_list": "0-3\n",
    "proc/sys/kernel/sched_rt_runtime_us": "-1\n",
    "proc/1/stat": "1 (systemd) S\n",
    "proc/1/status": "Name:\tsystemd\nCpus_allowed_list:\t0-3\n",
    "proc/1/comm": "systemd\n",
    "proc/1/cgroup": "0::/init.scope\n",
    "proc/1/task/1/stat": "1 (systemd) S\n",
    "proc/1/task/1/status": "Name:\tsystemd\n",
    "proc/9/comm": "kubelet\n",
    "proc/9/status": "Name:\tkubelet\n",
    "sys/devices/system/cpu/online": "0-7\n",
    "sys/devices/system/cpu/isolated": "\n",
    "sys/devices/system/cpu/cpu4/topology/thread_siblings_list": "4-5\n",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages": "8\n",
    "sys/devices/pci0000:00/0000:00:03.0/numa_node": "1\n",
    "sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/queues/rx-0/rps_cpus": "0\n",
    "sys/devices/virtual/workqueue/cpumask": "f\n",
    "sys/fs/cgroup/system.slice/system-serial\\x2dgetty.slice/cpuset.cpus": "\n",
    "sys/fs/cgroup/system.slice/cgroup.procs": "",
    "sys/module/rcutree/parameters/kthread_prio": "11\n",
    "etc/hostname": "worker-0\n",
    "etc/systemd/system/a b.service": "[Service]\nCPUAffinity=0-3\n",
    "etc/tuned/active_profile": "cpuplan\n",
    "etc/crio/crio.conf.d/99-zz-cpuplan.conf": '[crio.runtime]\ninfra_ctr_cpuset = "0-3"\n',
    "var/lib/kubelet/cpu_manager_state": '{"policyName":"static"}',
    "var/lib/kubelet/config.yaml": (
        "kind: KubeletConfiguration\nauthentication:\n  x509: {clientCAFile: /etc/ca.crt}\n"
        "authorization:\n  mode: Webhook\n"
        "tlsPrivateKeyFile: /x\n"
    ),
    "boot/loader/entries/a.conf": "options quiet nohz_full=4-7\n",
    "usr/local/bin/isolate-cpus.sh": "#!/bin/sh\n",
}
#: Files with something that must not leave the node.
SECRETS = {
    "etc/shadow": "root:hidden1:1::::::\n",
    "etc/kubernetes/kubelet.conf": KUBECONFIG,
    "etc/kubernetes/admin.conf": KUBECONFIG,
    "etc/kubernetes/pki/ca.key": "hidden2",
    "etc/crio/tls.key": "hidden3",
    "etc/containerd/config.toml": 'version = 2\n  auth = "hidden4"\n  password = "hidden5"\n',
    "etc/containerd/certs.d/x/hosts.toml": '[host.x.header]\n  Authorization = "Basic hidden14"\n',
    "etc/default/kubelet": "HTTPS_PROXY=http://me:hidden6@proxy:1\nKUBELET_ARGS=--token hidden7\n",
    "etc/systemd/system/x.service": "[Service]\nEnvironment=DB_PASSWORD=hidden8\n",
    "etc/systemd/system/y.service": (
        '[Service]\nEnvironment="API_KEY=hidden15 hidden16" DB_PASS=hidden17 R_AUTH=hidden18\n'
        "SetCredential=db:hidden19 hidden20\nExecStart=/x --passphrase 'hidden21 hidden22'\n"
        "ExecStart=/bin/curl -u me:hidden23 -H 'Authorization: Bearer hidden24' https://x\n"
        "Environment=JWT=eyJhbGciOiJub25lIn0.eyJhIjoiaGlkZGVuMjUifQ.hidden25\n"
    ),
    "proc/sys/net/ipv4/tcp_fastopen_key": "hidden26",
    "var/lib/kubelet/instance-config.yaml": (
        '{"staticPodURLHeader": {"Authorization": ["Bearer hidden27"], "X-Token": ["a", "hidden28"]'
        '}, "featureGates": {"KubeletEnsureSecretPulledImages": true}, "password": "hidden29 x"}\n'
    ),
    "etc/rancher/k3s/config.yaml": (
        "token: 'hidden30 hidden31'\nkubelet-arg: [\"token=hidden32\"]\n"
    ),
    "boot/grub/grub.cfg": "password_pbkdf2 root hidden9\nlinux /vmlinuz quiet\n",
    "proc/9/environ": "AWS_SECRET=hidden10\0OPENSHIFT_SHARED_CPUS=2-3\0PATH=/bin\0",
    "proc/9/cmdline": "/usr/bin/kubelet\0--token\0hidden11\0--api-token=hidden12\0--v=2\0",
    "proc/1/environ": "TOKEN=hidden13\0",
}


def shells() -> list[list[str]]:
    known = [["dash"], ["busybox", "sh"], ["bash", "--posix"]]
    return [words for words in known if shutil.which(words[0])]


def write(root: Path, path: str, text: str) -> None:
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    (root / path).write_text(text)


@pytest.fixture
def node(tmp_path: Path) -> Path:
    root = tmp_path / "no de"
    for path, text in {**PLAIN, **SECRETS}.items():
        write(root, path, text)
    (root / "etc/systemd/system/masked.service").symlink_to("/dev/null")
    (root / "sys/class/net").mkdir(parents=True)
    (root / "sys/class/net/eth0").symlink_to(
        "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0"
    )
    (root / "usr/local/bin/isolate-cpus.sh").chmod(0o755)
    os.utime(root / "etc/default/kubelet", (5, 7))
    write(root, "usr/bin/runc", "ELF")
    (root / "usr/bin/runc").chmod(0o755)
    os.mkfifo(root / "etc/systemd/system/pipe.service")
    os.mkfifo(root / "proc/sys/kernel/pipe")
    os.mkfifo(root / "usr/bin/pipe")
    return root


def collect(words: list[str], node: Path, out: Path) -> Root:
    write_snapshot(words, node, out)
    (root,) = roots_at(out)
    return root


def write_snapshot(words: list[str], node: Path, out: Path) -> None:
    """What the script takes of a node."""
    environment = {"PATH": os.environ["PATH"], "TMPDIR": str(out.parent)}
    if words[0] == "busybox":
        applets = out.parent / "applets"
        applets.mkdir()
        program = str(shutil.which("busybox"))
        subprocess.run([program, "--install", "-s", str(applets)], check=True)
        environment["PATH"] = str(applets)
        words = [str(applets / "sh")]
    subprocess.run(
        [*words, str(SCRIPT), "-r", str(node), "-w", "0", "-o", str(out)],
        check=True,
        env=environment,
        timeout=60,
    )


@pytest.mark.parametrize("words", shells(), ids=lambda words: words[0])
def test_a_node_is_read_back(words: list[str], node: Path, tmp_path: Path) -> None:
    before = sorted(node.rglob("*"))
    out = tmp_path / "out.tar.gz"
    snapshot, live = collect(words, node, out), Root(node)
    assert sorted(node.rglob("*")) == before
    assert snapshot.kind is Kind.SNAPSHOT
    assert snapshot.host_names()[0] == "worker-0"
    for path, text in PLAIN.items():
        assert (path, snapshot.read(path)) == (path, text)
    for path in ("usr/local/bin/isolate-cpus.sh", "etc/tuned/active_profile"):
        assert (snapshot.mode(path), snapshot.mtime(path)) == (
            live.mode(path),
            int(live.mtime(path) or 0),
        )
    assert snapshot.read("cpuplan/interrupts.later") == PLAIN["proc/interrupts"]
    assert snapshot.link("etc/systemd/system/masked.service") == "/dev/null"
    assert snapshot.names("sys/class/net/eth0/queues/rx-0") == ["rps_cpus"]
    assert snapshot.is_file("usr/bin/runc")
    assert snapshot.mode("usr/bin/runc") == 0o755
    assert snapshot.names("usr/bin") == ["runc"]
    is_root = os.geteuid() == 0
    assert snapshot.covers("etc/tmpfiles.d/missing.conf") is is_root
    assert snapshot.covers("usr/local/bin/missing.sh")
    assert not snapshot.covers("home/missing")
    assert not snapshot.refused
    assert snapshot.read("usr/bin/runc") is None
    assert list(snapshot.refused.values()) == ["only its name was collected"]


@pytest.mark.parametrize("words", shells(), ids=lambda words: words[0])
def test_secrets_stay(words: list[str], node: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.tar.gz"
    snapshot = collect(words, node, out)
    with tarfile.open(out) as archive:
        for member in filter(tarfile.TarInfo.isfile, archive.getmembers()):
            body = archive.extractfile(member)
            text = body.read() if body else b""
            assert b"hidden" not in text, (member.name, text)
            assert b"c2VjcmV0" not in text, member.name
    assert snapshot.read("etc/kubernetes/kubelet.conf") == "kind: Config\n"
    assert snapshot.read("etc/shadow") is None
    assert snapshot.read("proc/9/environ") == "OPENSHIFT_SHARED_CPUS=2-3\0"
    words_kept = "/usr/bin/kubelet\0--token\0REDACTED\0--api-token=REDACTED\0--v=2\0"
    assert snapshot.read("proc/9/cmdline") == words_kept
    assert snapshot.read("etc/default/kubelet") == (
        "HTTPS_PROXY=http://REDACTED@proxy:1\nKUBELET_ARGS=--token REDACTED\n"
    )
    assert snapshot.mtime("etc/default/kubelet") == 7
    # What was TOML, JSON or YAML still is.
    assert 'password = "REDACTED"' in (snapshot.read("etc/containerd/config.toml") or "")
    assert json.loads(snapshot.read("var/lib/kubelet/instance-config.yaml") or "") == {
        "staticPodURLHeader": {"Authorization": ["REDACTED"], "X-Token": ["REDACTED"]},
        "featureGates": {"KubeletEnsureSecretPulledImages": True},
        "password": "REDACTED",
    }
    assert snapshot.read("etc/rancher/k3s/config.yaml") == (
        "token: 'REDACTED'\nkubelet-arg: [\"token=REDACTED\"]\n"
    )
    assert snapshot.read("boot/grub/grub.cfg") == (
        "password_pbkdf2 REDACTED\nlinux /vmlinuz quiet\n"
    )


@pytest.mark.parametrize("platform", [name for name in FORMS if PLATFORMS[name].takes_files])
def test_a_snapshot_of_each_platform_holds_what_the_node_holds(
    platform: str, tmp_path: Path
) -> None:
    form = FORMS[platform]
    made = plan(platform=platform, version="1.35", target=dict(form.target))
    folder = PLATFORMS[platform].root_directory.lstrip("/")
    root = make_root(made, tmp_path / "node")
    states = {f"{folder}/cpu_manager_state": '{"policyName":"none"}'}
    for path, text in {**form.files(made), **states}.items():
        write(root, path, text)
    snapshot = collect(shells()[0], root, tmp_path / "out.tar.gz")
    assert snapshot.read(f"{folder}/cpu_manager_state")
    said = check(snapshot, checked.expected(made), "", nowhere)
    codes = {answer.finding.code for answer in said if answer.finding}
    assert codes == {"CP825"}
    held = {answer.fact for answer in said if answer.verdict is Verdict.HELD}
    assert {"kubelet cpuManagerPolicy", "kubelet reservedSystemCPUs"} <= held


@pytest.mark.parametrize("words", shells(), ids=lambda words: words[0])
def test_what_is_no_secret_is_kept(words: list[str], node: Path, tmp_path: Path) -> None:
    unit = (
        "ExecStart=/bin/kubelet --authentication-token-webhook \\\n"
        " --authentication-token-webhook-cache-ttl=2m0s --authentication-token-webhook=true\n"
    )
    write(node, "etc/systemd/system/kubelet.service", unit)
    line = "/usr/bin/kubelet\0--authentication-token-webhook\0--config\0/x\0"
    write(node, "proc/9/cmdline", line)
    snapshot = collect(words, node, tmp_path / "out.tar.gz")
    assert snapshot.read("etc/systemd/system/kubelet.service") == unit
    assert snapshot.read("proc/9/cmdline") == line


def test_no_compiled_file_has_words_that_are_replaced(tmp_path: Path) -> None:
    """Or else `check` would say that a clean node differs."""
    out = Path(__file__).parents[4] / "out"
    script = SCRIPT.read_text()
    rules = script[script.index("WORD=") : script.index("# Below: list_")]
    files = [path for path in sorted(out.rglob("*")) if path.is_file()]
    assert files
    text = b"".join(path.read_bytes() for path in files)
    run = subprocess.run(
        ["sh", "-c", f"{rules}\nredact"], input=text, capture_output=True, check=True
    )
    changed = [
        pair
        for pair in zip(text.split(b"\n"), run.stdout.split(b"\n"), strict=True)
        if pair[0] != pair[1]
    ]
    assert not changed


def _limit() -> None:
    """As on a full disk: no file can have more than 16 KiB."""
    resource_limits.setrlimit(resource_limits.RLIMIT_FSIZE, (16384, 16384))


@pytest.mark.parametrize("words", shells(), ids=lambda words: words[0])
def test_a_full_disk(words: list[str], node: Path, tmp_path: Path) -> None:
    """Files that found no room would look like files that the node lacks."""
    run = subprocess.run(
        [*words, str(SCRIPT), "-r", str(node), "-w", "0"],
        capture_output=True,
        env={"PATH": os.environ["PATH"], "TMPDIR": str(tmp_path)},
        preexec_fn=_limit,
        check=False,
    )
    assert (run.returncode, run.stdout) == (1, b"")
    assert b"no space is left" in run.stderr
    assert not list(tmp_path.glob("cpuplan-snapshot.*"))


@pytest.mark.parametrize("words", shells(), ids=lambda words: words[0])
def test_an_archive_that_cannot_be_written(words: list[str], node: Path) -> None:
    start = [*words, str(SCRIPT), "-r", str(node), "-w", "0", "-o"]
    run = subprocess.run([*start, "/dev/full"], capture_output=True, check=False)
    assert run.returncode == 1
    assert b"the archive is not complete" in run.stderr
    run = subprocess.run([*start, str(node / "no/such")], capture_output=True, check=False)
    assert run.returncode == 2


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["-w", "x"], "-w takes a number"),
        (["-r", "/etc"], "/etc has no proc/"),
        (["-q"], "llegal option"),
    ],
)
@pytest.mark.skipif(not shutil.which("dash"), reason="dash is not installed")
def test_wrong_arguments(arguments: list[str], said: str) -> None:
    run = subprocess.run(
        ["dash", str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )
    assert run.returncode == 2
    assert said in run.stderr
    assert not run.stdout


def test_the_command_prints_the_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_in(tmp_path, ["snapshot"], capsys)
    assert (code, out) == (0, SCRIPT.read_text())
    assert run_in(tmp_path, ["snapshot", "-o", "s.sh"], capsys)[0] == 0
    assert (tmp_path / "s.sh").read_text() == out


def test_what_is_collected_is_listed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run_in(tmp_path, ["snapshot", "--list"], capsys)
    assert code == 0
    for said in ("/etc/environment", "fields of the KubeletConfiguration", "GOMAXPROCS"):
        assert said in out
    for name in ("staticPodURLHeader", "default_env", "manifest-url"):
        assert name not in " ".join(collected.tables().values()).split()
    done = subprocess.run(
        [*shells()[0], str(SCRIPT), "-l"], capture_output=True, text=True, check=True
    )
    assert "variables etc/environment\n" in done.stdout
    assert "GOMAXPROCS" in done.stdout


def test_the_script_has_the_list() -> None:
    """`python -m tests.generate` writes it there."""
    assert collected.rendered(SCRIPT.read_text()) == SCRIPT.read_text()
    assert collected.block() in SCRIPT.read_text()


@pytest.mark.skipif(not shutil.which("shellcheck"), reason="shellcheck is not installed")
def test_any_shell_can_read_the_script() -> None:
    assert "\t" not in SCRIPT.read_text()
    run = subprocess.run(
        ["shellcheck", "-s", "sh", str(SCRIPT)], capture_output=True, text=True, check=False
    )
    assert run.stdout == ""


@pytest.mark.slow
@pytest.mark.parametrize("words", shells(), ids=lambda words: words[0])
def test_the_running_host(words: list[str], tmp_path: Path) -> None:
    snapshot, live = collect(words, Path("/"), tmp_path / "out.tar.gz"), Root(Path("/"))
    for path in ("proc/version", "sys/devices/system/cpu/online"):
        assert snapshot.read(path) == live.read(path)
    # Which boot arguments a machine has is its own matter: unknown ones lose their values.
    kept, given = snapshot.read("proc/cmdline"), live.read("proc/cmdline")
    assert kept
    assert given
    pairs = list(zip(kept.split(), given.split(), strict=True))
    assert all(line in (other, _without_value(other)) for line, other in pairs)
    assert snapshot.read("proc/1/status")


def _without_value(word: str) -> str:
    name, equals, _ = word.partition("=")
    return f"{name}=REDACTED" if equals else "REDACTED"
