"""The root file system and the kernel that all guests share, made once from Debian's packages."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Of the installer; a running system has no other use for it.
IGNITION = "/usr/lib/dracut/modules.d/30ignition/ignition"
#: Programs that make and boot guests, and the packages of Debian that bring them.
PROGRAMS = {
    IGNITION: "ignition",
    "cpio": "cpio",
    "depmod": "kmod",
    "mmdebstrap": "mmdebstrap",
    "qemu-system-x86_64": "qemu-system-x86",
}
#: Those of a node, and the programs that deliveries run on one.
PACKAGES = (
    "ansible-core",
    "busybox-static",
    "cloud-init",
    "dbus",
    "grub2-common",
    "irqbalance",
    "kmod",
    "procps",
    "systemd",
    "systemd-sysv",
    "udev",
    "util-linux",
)
#: What no guest reads: each boot unpacks the whole root.
_UNUSED = (
    *("usr/share/doc", "usr/share/i18n", "usr/share/ieee-data"),
    *("usr/share/locale", "usr/share/man", "usr/share/zoneinfo", "var/cache", "var/lib/apt"),
)
_SMALL = '--aptopt=APT::Install-Recommends "false"'
#: cloud-init does nothing where this is.
CLOUD_DISABLED = "etc/cloud/cloud-init.disabled"
#: What a guest's devices need, with everything that these modules depend on.
MODULES = ("virtio_pci", "virtio_blk", "virtio_net")
#: The kernel of the stable release, 6.1, has no partitions of cgroups below a cgroup that is none.
_BACKPORTS = "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] {} {}-backports main\n"
_RELEASE = "bookworm"
#: What an earlier run made is used again if it has these packages.
CACHE = Path(os.environ.get("CPUPLAN_BOOT", "build/boot"))


class Base(NamedTuple):
    """The kernel's image, and the folder of the root file system."""

    kernel: Path
    root: Path


def missing() -> list[str]:
    """The packages of Debian without which no guest can be made."""
    return [package for program, package in PROGRAMS.items() if not shutil.which(program)]


def make(folder: Path = CACHE) -> Base:
    """The base in `folder`; made only where it is not there."""
    made = Base(folder / "vmlinuz", folder / "root")
    packages = ",".join(PACKAGES)
    complete = folder / "packages"
    if complete.exists() and complete.read_text() == packages:
        return made
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    options = ("--quiet", "--variant=minbase", f"--include={packages}", _SMALL)
    _run("mmdebstrap", *options, _RELEASE, made.root)
    for unused in _UNUSED:
        shutil.rmtree(made.root / unused, ignore_errors=True)
    shutil.copyfile(_kernel(folder / "kernel", made.root), made.kernel)
    _furnish(made.root)
    complete.write_text(packages)
    return made


def _furnish(root: Path) -> None:
    """What the installer of a machine leaves: an entry for the kernel, and no cloud of its own."""
    # The kernel starts it: a root that stays in memory needs no disk, and no module to mount it.
    (root / "init").symlink_to("/lib/systemd/systemd")
    shutil.copyfile(root / "usr/share/grub/default/grub", root / "etc/default/grub")
    (root / "boot/grub").mkdir(parents=True, exist_ok=True)
    # GRUB's configuration lists what is there by name.
    (root / "boot/vmlinuz-guest").touch()
    (root / CLOUD_DISABLED).touch()


def pack(root: Path, archive: Path) -> None:
    """Everything below `root` as an archive that the kernel unpacks over what it has."""
    paths = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    partial = archive.with_suffix(".part")
    with partial.open("wb") as out:
        subprocess.run(
            ["cpio", "--quiet", "--create", "--null", "--format=newc", "--owner=0:0"],
            input=b"".join(os.fsencode(path) + b"\0" for path in paths),
            cwd=root,
            stdout=out,
            check=True,
        )
    partial.rename(archive)


def _kernel(folder: Path, root: Path) -> Path:
    """Unpack the kernel's package, and give `root` the modules that guests load."""
    (folder / "lists/partial").mkdir(parents=True)
    (folder / "sources.list").write_text(_BACKPORTS.format(_mirror(), _RELEASE))
    options = (
        f"-oDir::Etc::sourcelist={folder.resolve() / 'sources.list'}",
        "-oDir::Etc::sourceparts=-",
        f"-oDir::State::lists={folder.resolve() / 'lists'}",
        "-oAPT::Sandbox::User=root",
    )
    _run("apt-get", "update", "-qq", *options)
    depends = _output("apt-cache", "depends", "--important", *options, "linux-image-amd64")
    package = depends.partition("Depends:")[2].split()[0]
    _run("apt-get", "download", "-qq", *options, package, at=folder)
    _run("dpkg", "-x", next(folder.glob("*.deb")), folder)
    modules = next((folder / "lib/modules").iterdir())
    target = root / "lib/modules" / modules.name
    for name in sorted(set(_needed(modules))):
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(modules / name, target / name)
    for listing in modules.glob("modules.*"):
        shutil.copyfile(listing, target / listing.name)
    _run("depmod", "-b", root, modules.name)
    return next((folder / "boot").glob("vmlinuz-*"))


def _mirror() -> str:
    """Where this machine gets the packages of the release from."""
    wanted = ("Created-By: Packages", f"Codename: {_RELEASE}")
    return _output("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted).split()[0]


def _needed(modules: Path) -> Iterator[str]:
    """The files of the modules that guests load, by `modules.dep` of the package."""
    order = modules / "modules.order"
    files = {Path(line).stem: line for line in order.read_text().split()}
    waiting = list(MODULES)
    while waiting:
        listed = files.get(waiting.pop())
        if listed:
            # Newer kernels' modules are compressed, and listed as if they were not.
            file = next((modules / listed).parent.glob(f"{Path(listed).name}*"))
            yield str(file.relative_to(modules))
            waiting += _dependencies(file)


def _dependencies(module: Path) -> list[str]:
    names = _output("modinfo", "--field", "depends", str(module))
    return [name for name in names.strip().split(",") if name]


def _run(*words: str | Path, at: Path | None = None) -> None:
    subprocess.run(words, cwd=at, check=True, stdout=subprocess.DEVNULL)


def _output(*words: str) -> str:
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout
