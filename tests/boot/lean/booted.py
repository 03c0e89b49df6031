"""The lean guests: a kernel, busybox, bash for the compiled scripts, and what was compiled."""

import lzma
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from cpuplan.backends import kubernetes
from cpuplan.plan import ConfiguredPlan
from tests.boot import base, guests, qemu
from tests.boot.together import Guests

#: Those of `guest/inventories/lean.yaml`.
NODES = ("every-pool", "flat-domain", "flat-partition", "ticking")
#: What a guest brings out, beside its kernel's log.
SNAPSHOT = "snapshot.tar.gz"
#: In the order in which each finds what it needs.
_MODULES = ("failover", "net_failover", "virtio_net", "virtio_blk")
_INIT = Path(__file__).with_name("init.sh")
#: Of Debian's root, with the libraries that they need.
_PROGRAMS = ("usr/bin/bash", "usr/bin/taskset")


class Lean(Guests[Path]):
    """The lean guests of a run: the folder that each brought out, with a snapshot, its log,
    and units that failed.
    """

    def __init__(self, made: base.Base, folder: Path) -> None:
        super().__init__()
        self.made, self.folder = made, folder

    def prepared(self, name: str) -> Callable[[], Path]:
        """What boots a guest whose files are laid down."""
        plan, folder = guests.plan(name), self.folder / name
        _furnish(self.made.root, folder / "root", plan)
        (folder / "root/etc/hostname").write_text(f"{name}\n")
        arguments = " ".join(kubernetes.of(plan).arguments)
        threads = max(len(plan.topology.siblings(cpu)) for cpu in plan.topology.online)

        def boot() -> Path:
            qemu.start(self.made.kernel, folder / "root", arguments, folder, threads)
            return qemu.bring_out(folder, folder / "seen")

        return boot


def _furnish(debian: Path, root: Path, plan: ConfiguredPlan) -> None:
    """Everything below the root of a guest."""
    for name in ("bin", "dev", "etc", "proc", "run", "sys", "tmp", "usr/bin", "usr/local/bin"):
        (root / name).mkdir(parents=True)
    subprocess.run(["cp", "-a", debian / "usr/bin/busybox", root / "bin/busybox"], check=True)
    for applet in _applets(root):
        (root / "bin" / applet).symlink_to("busybox")
    for program in _PROGRAMS:
        _install(debian, root, program)
    modules = {file.name.partition(".")[0]: file for file in debian.rglob("lib/modules/**/*.ko*")}
    listed = [_module(root, modules[name]) for name in _MODULES if name in modules]
    (root / "etc/modules").write_text("".join(f"{name}\n" for name in listed))
    shutil.copy(_INIT, root / "init")
    (root / "init").chmod(0o755)
    shutil.copy(qemu.SNAPSHOT, root / "usr/local/bin" / qemu.SNAPSHOT.name)
    for path, file in kubernetes.of(plan).files.items():
        place = root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)
        place.chmod(file.mode)


def _applets(root: Path) -> list[str]:
    done = subprocess.run(
        [root / "bin/busybox", "--list"], check=True, capture_output=True, text=True
    )
    # The compiled scripts' own shell, and a taskset that takes lists, are Debian's.
    return sorted({*done.stdout.split()} - {"busybox", "bash", "taskset"})


def _install(debian: Path, root: Path, program: str) -> None:
    """A program and its libraries, as the loader of Debian's root lists them."""
    done = subprocess.run(
        ["chroot", debian, "ldd", f"/{program}"], check=True, capture_output=True, text=True
    )
    needed = [word.lstrip("/") for word in done.stdout.split() if word.startswith("/")]
    for path in (program, *needed):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(debian / path, root / path)
    link = root / "bin" / Path(program).name
    link.unlink(missing_ok=True)
    link.symlink_to(f"/{program}")


def _module(root: Path, file: Path) -> str:
    """The path of a module, which busybox reads only as it is when it is not compressed."""
    target = root / "lib/modules" / f"{file.name.partition('.')[0]}.ko"
    target.parent.mkdir(parents=True, exist_ok=True)
    data = file.read_bytes()
    target.write_bytes(lzma.decompress(data) if file.suffix == ".xz" else data)
    return f"/{target.relative_to(root)}"
