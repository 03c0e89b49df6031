"""Fake secrets of every sort, all over a node: none is in its snapshot."""

import json
import tarfile
from pathlib import Path

import pytest

from tests.unit.check.roots.test_snapshot import shells, write, write_snapshot

#: Forms that tools know by their beginning, and words that nobody could know.
SHAPES = (
    "AKIAIOSFODNN7{}",
    "xoxb-1234-{}",
    "hf_{}",
    "SG.{}.abc",
    "ghp_{}",
    "glpat-{}",
    "sk-ant-{}",
    "eyJhbGciOiJub25lIn0.eyJh.{}",
    "{}",
    "hunter{}",
    "correct-horse-{}",
    "+{}/aGVsbG8=",
    "https://me:{}@example.com/x",
    "https://hooks.example.com/services/T0/{}",
    "https://x.blob.core.windows.net/c?sv=1&sig={}",
    "AccountKey={};EndpointSuffix=x",
)
_NAMES = (
    "GITHUB_PAT",
    "STRIPE_KEY",
    "DB_CREDENTIALS",
    "SENTRY_DSN",
    "SLACK_WEBHOOK",
    "JWT",
    "COOKIE",
    "LICENSE",
    "NPM_AUTH",
    "HF",
    "CONNECTION_STRING",
    "http_proxy",
    "VAULT",
    "wpa_psk",
    "PIN",
    "SEED",
)
_FLAGS = (
    "--apikey {}",
    "--auth-key={}",
    "-p {}",
    "-p{}",
    "--password '{}'",
    "--header 'Cookie: session={}'",
    "-H 'X-Auth: {}'",
    "--dsn=https://{}@sentry.example.com/1",
    "--url https://me:{}@example.com",
    "{}",
    "--psk={}",
    "--manifest-url-header=Authorization:{}",
    "--manifest-url=https://example.com/x?sig={}",
    "--license {} --more",
    "--env FOO={}",
    "--kubelet-arg=bearer={}",
)
_YAML = (
    "staticPodURLHeader:\n  Authorization:\n  - Bearer {}\n",
    "staticPodURLHeader: {{Cookie: [{}]}}\n",
    "staticPodURLHeader:\n- a\n  X-Auth:\n    - {}\n",
    "staticPodURL: https://me:{}@example.com\n",
    "token:\n  {}\n",
    "token: |\n  {}\n",
    "password: {}\n",
    "- {}\n",
    "# {}\n",
    "cpuManagerPolicy: static # {}\n",
    "{}: x\n",
    '"api-key": "{}"\n',
    "notes: >-\n  the word is\n  {}\n",
    "? {}\n: x\n",
    "<<: {{a: {}}}\n",
    "list:\n- {}\n- b\n",
)
_TOML = (
    'default_env = ["TOKEN={}"]\n',
    'default_env = [\n  "A={}",\n]\n',
    'conmon_env = ["A={}"]\n',
    'password = "{}"\n',
    '[plugins."io.containerd.grpc.v1.cri".registry.configs."r".auth]\nauth = "{}"\nuser = "u{}"\n',
    '[plugins."io.containerd.grpc.v1.cri".registry.headers]\nAuthorization = ["Bearer {}"]\n',
    'note = """\n{}\n"""\n',
    "# {}\n",
    'log_level = "info" # {}\n',
    'api = {{ key = "{}" }}\n',
    'options = {{ SystemdCgroup = true, Secret = "{}" }}\n',
    '[proxy_plugins.x]\naddress = "/run/{}.sock"\n',
    '[stream_processors.x]\nargs = ["--key", "{}"]\nenv = ["K={}"]\n',
    'crio.image.x = "{}"\n',
    '[crio.image]\ninsecure_registries = ["https://u:{}@r"]\n',
    "plain {}\n",
)
_KERNEL = (
    "password={}",
    "token={}",
    "rd.luks.key={}",
    "ks=https://me:{}@example.com/ks.cfg",
    "inst.ks=http://example.com/{}",
    "iscsi_password={}",
    "cloud-init.key={}",
    "systemd.set_credential=db:{}",
    "{}",
    "rd.znet={}",
    "nfsroot=https://x:{}@example.com",
    "x.secret={}",
    "root=https://me:{}@example.com",
    "root=nfs4:me:{}@example.com:/x",
    "root=iscsi:me:{}@10.0.0.1::::iqn.x",
    "-- --pw={}",
)


#: Beside the value of a variable that is known.
_BESIDE = (
    "4 TOKEN={}",
    "4; export PW={}",
    "4 # {}",
    '"4" # {}',
    "${{X:-{}}}",
    "$(echo {})",
    "`cat {}`",
    '"4;{}"',
    "4\\\\\n{}",
    "4|{}",
)


def secret(number: int) -> str:
    return f"zq{number:03}Xw8"


class Planted:
    """Files with secrets, each with a number of its own."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}
        self.secrets: list[str] = []

    def new(self) -> str:
        self.secrets.append(secret(len(self.secrets)))
        return self.secrets[-1]

    def add(self, path: str, text: str) -> None:
        self.files[path] = self.files.get(path, "") + text

    def each(self, path: str, line: str, forms: tuple[str, ...]) -> None:
        for form in forms:
            self.add(path, line.replace("@", form.replace("{}", self.new(), 1).replace("{}", "")))

    def kinds(self, path: str, head: str, forms: tuple[str, ...]) -> None:
        """Each form in a file of its own, since some end what is before or after."""
        stem, _, ending = path.rpartition(".")
        for number, form in enumerate(forms):
            name = f"{stem}{number}.{ending}"
            texts = [self.new() for _ in range(form.count("{}"))]
            self.add(name, head + form.format(*texts))


def planted() -> Planted:
    made = Planted()
    plant_variables_and_units(made)
    plant_configurations(made)
    plant_the_rest(made)
    return made


def plant_variables_and_units(made: Planted) -> None:
    made.add("proc/version", "Linux version 6.1\n")
    for name, shape in zip(_NAMES, SHAPES, strict=True):
        for path in ("etc/environment", "etc/default/kubelet", "etc/sysconfig/crio"):
            made.add(path, f"{name}={shape.format(made.new())}\n")
        made.add("etc/default/x", f'export {name}="{shape.format(made.new())}"\n')
        made.add("etc/default/grub", f"{name}='{shape.format(made.new())}'\n")
    made.each("etc/default/kubelet", "KUBELET_EXTRA_ARGS=@\n", _FLAGS)
    made.kinds("etc/default/beside.x", "GOMAXPROCS=", _BESIDE)
    unit = "etc/systemd/system/x.service"
    made.add(unit, "[Unit]\n")
    made.each(unit, "Description=@\n# @\n".replace("# @\n", ""), ("about {}",))
    made.each(unit, "# @\n", ("{}",))
    made.add(unit, "[Service]\n")
    made.each(unit, "ExecStart=/usr/bin/x @\n", _FLAGS)
    made.each(unit, "ExecStart=/usr/bin/x \\\n  --a \\\n  @ \\\n  --b\n", _FLAGS)
    made.each(unit, "ExecStartPre=/bin/sh -c 'curl @ | sh'\n", SHAPES)
    for name, shape in zip(_NAMES, SHAPES, strict=True):
        made.add(unit, f"Environment={name}={shape.format(made.new())}\n")
        made.add(unit, f'Environment="{name}=a {shape.format(made.new())}" B=1\n')
        made.add(unit, f"Environment='X_ARGS=--{name.lower()} {shape.format(made.new())}'\n")
    made.each(unit, "@\n", ("SetCredential=db:{}", "SetCredentialEncrypted=k: {}", "X-Note={}"))
    made.each("usr/lib/systemd/system/y.service", "Environment=@\n", SHAPES)
    made.each("run/systemd/transient/z.service", "ExecStart=/x @\n", _FLAGS)


def plant_configurations(made: Planted) -> None:
    kubelet = "kind: KubeletConfiguration\n"
    made.kinds("etc/kubernetes/kubelet.conf.d/a.conf", kubelet, _YAML)
    made.kinds("var/lib/kubelet/config.d/a.conf", kubelet, _YAML)
    made.kinds("etc/rancher/k3s/config.yaml.d/a.yaml", "", _YAML)
    made.kinds("etc/rancher/rke2/config.yaml.d/b.yaml", "kubelet-arg:\n- v=2\n", _YAML)
    made.kinds("run/k0s/kubelet/config.yaml", kubelet, _YAML)
    made.kinds("home/kubernetes/kubelet-config.yaml", kubelet, _YAML)
    made.each("var/snap/microk8s/current/args/kubelet", "--v=2\n@\n", _FLAGS)
    made.each("etc/kubernetes/kubelet.env", 'KUBELET_ARGS="--v=2 \\\n @ \\\n--a "\n', _FLAGS)
    made.add("etc/systemd/system/k3s.service.env", f"K3S_TOKEN={made.new()}\n")
    k0s = "etc/systemd/system/k0sworker.service"
    made.each(k0s, 'ExecStart=/usr/bin/k0s worker "--kubelet-extra-args=@ --v=2"\n', _FLAGS)
    text = json.dumps(
        {
            "kind": "KubeletConfiguration",
            "staticPodURLHeader": {"A": [made.new()], "B": {"c": made.new()}},
            "x": made.new(),
            "y": [made.new(), {"z": made.new()}],
            made.new(): 1,
        }
    )
    made.add("etc/kubernetes/kubelet/config.json", text)
    made.kinds("etc/crio/crio.conf.d/a.conf", "[crio.runtime]\n", _TOML)
    made.kinds("etc/containerd/conf.d/a.toml", "version = 2\n", _TOML)
    made.kinds("var/lib/rancher/k3s/agent/etc/containerd/config.toml", "version = 2\n", _TOML)
    made.each("proc/cmdline", "quiet @ ", _KERNEL)
    made.each("etc/kernel/cmdline", "quiet @ ", _KERNEL)
    made.each("boot/loader/entries/a.conf", "title A\noptions quiet @\n", _KERNEL)
    made.each("boot/grub2/grubenv", "kernelopts=root=/dev/sda1 @\nx=@\n", _KERNEL)
    made.each("boot/grub/grub.cfg", "menuentry 'a' {\n linux /vmlinuz quiet @\n}\n", _KERNEL)
    made.each("boot/grub/grub.cfg", "@\n", ("password root {}", "set x={}", "password_pbkdf2 a {}"))
    made.each("etc/default/grub", 'GRUB_CMDLINE_LINUX="quiet @"\n', _KERNEL)


def plant_the_rest(made: Planted) -> None:
    made.each("etc/sysctl.d/a.conf", "@\n", ("net.ipv4.tcp_fastopen_key = {}-1-2-3", "# {}"))
    made.each("etc/sysctl.d/a.conf", "kernel.x = @\n", SHAPES)
    made.each("proc/sys/net/ipv4/tcp_fastopen_key", "@\n", ("{}",))
    made.each("proc/sys/kernel/core_pattern", "@\n", ("|/usr/bin/dump --token {}",))
    made.each("sys/module/wifi/parameters/psk", "@\n", ("{}",))
    made.each("etc/tuned/site/tuned.conf", "[main]\nx=@\n", SHAPES)
    made.each("etc/tuned/site/tuned.conf", "[script]\n@\n", ("script=/x --token {}", "# {}"))
    made.each("etc/tuned/site/tuned.conf", "[bootloader]\ncmdline=+@\n", _KERNEL)
    device = {"containerEdits": {"env": [f"A={made.new()}"]}}
    made.add("run/cdi/x.json", json.dumps({"devices": [device]}))
    made.each("usr/local/bin/backup.sh", "#!/bin/sh\ncurl @\n", _FLAGS)
    made.each("etc/modprobe.d/a.conf", "options x @\n", ("key={}",))
    made.each("etc/udev/rules.d/10-a.rules", "@\n", ('RUN+="/x {}"',))
    made.each("etc/tmpfiles.d/a.conf", "@\n", ("f /x - - - - {}",))
    made.each("var/log/tuned/tuned.log", "@\n", ("2026 INFO     tuned.x: token {}",))
    made.each("proc/mounts", "@\n", ("//s /m cifs password={} 0 0",))
    made.each("etc/crio/auth.json", "@\n", ('{"auths": {"r": {"auth": "{}"}}}',))
    for number, (name, flag) in enumerate(zip(_NAMES, _FLAGS, strict=True)):
        folder = f"proc/{20 + number}"
        made.add(f"{folder}/comm", ("kubelet", "crio", "x")[number % 3] + "\n")
        made.add(f"{folder}/status", "Name:\tx\n")
        words = ["/usr/bin/kubelet", *flag.format(made.new()).split(" "), "--v=2"]
        made.add(f"{folder}/cmdline", "\0".join(words) + "\0")
        made.add(f"{folder}/environ", f"{name}={made.new()}\0OPENSHIFT_SHARED_CPUS=2\0")


@pytest.mark.parametrize("words", shells(), ids=lambda words: words[0])
def test_no_secret_comes_through(words: list[str], tmp_path: Path) -> None:
    made, node, out = planted(), tmp_path / "node", tmp_path / "out.tar.gz"
    assert len(made.secrets) > 500
    for path, text in made.files.items():
        write(node, path, text)
    write_snapshot(words, node, out)
    leaks: dict[str, list[str]] = {}
    with tarfile.open(out) as archive:
        members = archive.getmembers()
        for member in members:
            body = archive.extractfile(member) if member.isfile() else None
            text = (body.read() if body else b"").decode(errors="replace") + member.name
            for line in text.splitlines():
                if any(word in line for word in made.secrets):
                    leaks.setdefault(member.name, []).append(line)
    assert len(members) > 100
    assert not leaks
