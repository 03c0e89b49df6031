"""Nodes built from the files of their deliveries, by the programs that read them.

Each function gives a root what a delivery brings, and returns the arguments that the boot loader
would then give to the kernel.
"""

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from cpuplan.backends.deliveries import script
from tests.boot import base, qemu
from tests.boot.guests import CLUSTER
from tests.boot.node import Node

#: What an image has: a source of user data, and those of cloud-init's modules that we use.
_CLOUD = """\
datasource_list: [NoCloud]
cloud_init_modules: [write-files]
cloud_config_modules: [runcmd]
cloud_final_modules: [scripts-user, power-state-change]
"""
#: What an image for Kubernetes has: the folder of drop-ins, and containers in the slices of pods.
_CONTAINERD = """\
version = 3
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
runtime_type = 'io.containerd.runc.v2'

[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
SystemdCgroup = true
"""
#: The root is a folder, or in memory, which grub-probe finds on no disk.
_GRUB_PROBE = Path(__file__).parent / "room" / "grub-probe.sh"
_SEED = "var/lib/cloud/seed/nocloud"
#: Programs of a node that no guest has; each notes that it was called.
_NOTES = '#!/bin/sh\necho "${0##*/} $*" >>/var/log/calls\n'
#: Where the agent of NodeWright would put the package of our files.
_PACKAGE = "var/lib/nodewright/cpuplan"
#: Of the deployment that boots (ostree).
_ENTRY = "boot/loader/entries/ostree-1.conf"


def deliver(name: str, made: base.Base, folder: Path) -> tuple[Node, str]:
    """Make the root of a node; with it, the arguments of its kernel."""
    node = Node(name, made, folder)
    folder.mkdir(parents=True)
    # With devices as devices.
    subprocess.run(["cp", "--archive", made.root, node.root], check=True)
    qemu.lay_down(node.root, node.target.runtime)
    node.write("etc/hostname", f"{name}\n")
    node.write("usr/sbin/grub-probe", _GRUB_PROBE.read_bytes(), 0o755)
    for path, data in node.files.items():
        place = folder / "out" / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
    (delivery,) = node.target.delivery
    arguments = DELIVERIES[delivery](node)
    # It has done its work; each later boot would only make sure of that.
    (node.root / base.CLOUD_DISABLED).touch()
    return node, arguments


def _tree(node: Node) -> str:
    """As the documentation says: all files but one, and GRUB's configuration made anew."""
    start = f"{node.place}/"
    for path, data in node.files.items():
        if path.startswith(start) and path != start + script.CMDLINE:
            node.write(path.removeprefix(start), data)
    node.run("update-grub")
    return _of_grub(node.root)


def _ansible(node: Node) -> str:
    """The playbook on the root of a node that does not run; played again, it changes nothing."""
    words = (
        "ansible_connection=local",
        "ansible_python_interpreter=/usr/bin/python3",
        "cpuplan_root=/.",
    )
    options = [word for variable in words for word in ("-e", variable)]
    playbook, inventory = "/mnt/out/ansible/cpuplan.yaml", f"/mnt/out/ansible/{CLUSTER}"
    play = ("ansible-playbook", "-i", inventory, playbook, "--limit", node.name, *options)
    assert [_changed(node.run(*play)) > 0 for _ in range(2)] == [True, False]
    return _of_grub(node.root)


def _changed(said: str) -> int:
    found = re.search(r"changed=(\d+) .* failed=0 ", said)
    assert found, said
    return int(found[1])


def _cloud_init(node: Node) -> str:
    """The first boot of an instance, at the end of which cloud-init reboots it."""
    _seed(node, node.files[f"{node.place}.cloud-init.yaml"])
    first = node.folder / "first"
    qemu.start(node.made.kernel, node.root, "", first)
    qemu.bring_out(first, node.root)
    return _of_grub(node.root)


def _cluster_api(node: Node) -> str:
    """The user data that the provider of kubeadm makes of a template, with stand-ins to call."""
    template = node.manifest(f"clusters/{CLUSTER}/hosting/manifests/10-kubeadmconfig")
    spec = template["spec"]["template"]["spec"]
    commands = [*spec["preKubeadmCommands"], "kubeadm join", *spec["postKubeadmCommands"]]
    user_data = {"write_files": spec["files"], "runcmd": commands}
    _seed(node, b"#cloud-config\n" + yaml.safe_dump(user_data).encode())
    node.write("etc/containerd/config.toml", _CONTAINERD)
    programs = ("usr/local/sbin/kubeadm", "usr/local/sbin/shutdown")
    for program in programs:
        node.write(program, _NOTES, 0o755)
    modes = "cloud-init modules --mode=config && cloud-init modules --mode=final"
    node.run("sh", "-c", f"cloud-init init && {modes}")
    for program in programs:
        (node.root / program).unlink()
    calls = (node.root / "var/log/calls").read_text().splitlines()
    assert calls == ["kubeadm join", "shutdown -r +1"]
    return _of_grub(node.root)


def _seed(node: Node, user_data: bytes) -> None:
    (node.root / base.CLOUD_DISABLED).unlink()
    node.write("etc/cloud/cloud.cfg.d/90-guest.cfg", _CLOUD)
    node.write(f"{_SEED}/meta-data", f"instance-id: {node.name}\n")
    node.write(f"{_SEED}/user-data", user_data)


def _node_wright(node: Node) -> str:
    """The stages of the package until the reboot; `probe.sh` runs the one that comes after it."""
    skyhook = node.manifest(f"clusters/{CLUSTER}/manifests/10-skyhook")
    (package,) = skyhook["spec"]["packages"].values()
    for key, text in package["configMap"].items():
        node.write(f"{_PACKAGE}/configmaps/{key}", text)
    for stage in ("config.sh", "config_check.sh"):
        script = f"/{_PACKAGE}/configmaps/{stage}"
        node.run("bash", script, SKYHOOK_DIR=f"/{_PACKAGE}")
    return _of_grub(node.root)


def _ignition(node: Node) -> str:
    """Ignition's stages on a root that is not the running one; a helper notes the arguments."""
    config = node.folder / "out" / f"{node.place}.ign"
    noted = node.folder / "arguments"
    helper = node.folder / "bin" / "ignition-kargs-helper"
    helper.parent.mkdir()
    helper.write_text(f'#!/bin/sh\necho "$*" >{noted}\n')
    helper.chmod(0o755)
    # Ignition labels files, as Fedora CoreOS needs.
    (helper.parent / "setfiles").symlink_to("/bin/true")
    node.write("etc/selinux/config", "SELINUX=disabled\nSELINUXTYPE=targeted\n")
    for stage in ("fetch", "kargs", "files"):
        subprocess.run(
            [
                *(base.IGNITION, "-platform", "file", "-stage", stage, "-root", node.root),
                *("-config-cache", node.folder / "cache", "-neednet", node.folder / "neednet"),
                *("-state-file", node.folder / "state", "-log-to-stdout"),
            ],
            env={
                "PATH": f"{helper.parent}:{os.environ['PATH']}",
                "IGNITION_CONFIG_FILE": str(config),
            },
            check=True,
            capture_output=True,
        )
    arguments = noted.read_text().replace("--should-exist ", "").strip()
    # Its nodes have entries of the boot loader, which the helper writes, and no GRUB of Debian.
    (node.root / "etc/default/grub").unlink()
    node.write(_ENTRY, f"title guest\nlinux /vmlinuz-guest\noptions root=/dev/vda {arguments}\n")
    return arguments


def _of_grub(root: Path) -> str:
    """The arguments of the first entry of GRUB's configuration, without those of its own."""
    line = re.search(r"^\s*linux\s+\S+ root=\S+ ro (.*)$", _grub(root), re.MULTILINE)
    assert line, "GRUB's configuration has no entry"
    return line[1].removesuffix("quiet").strip()


def _grub(root: Path) -> str:
    return (root / "boot/grub/grub.cfg").read_text()


#: By the name in `delivery` of a target.
DELIVERIES: Mapping[str, Callable[[Node], str]] = {
    "tree": _tree,
    "ansible": _ansible,
    "cloudInit": _cloud_init,
    "clusterApi": _cluster_api,
    "ignition": _ignition,
    "nodeWright": _node_wright,
}
