"""The emulated machine, started with a node's files and boot arguments, and what it showed."""

import os
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.boot import base

#: One thread emulates all CPUs. With one for each, QEMU before 8.1 runs code that another CPU has
#: just patched (qemu-project/qemu deba78709a), and Linux panics in early boot now and then.
_ACCELERATOR = "tcg,thread=single"
#: Two sockets of four cores, a NUMA node each, and a network card on node 1
#: (`guest/inventories/`).
_MACHINE = (
    *("-machine", "q35", "-accel", _ACCELERATOR, "-cpu", "Cascadelake-Server"),
    *("-m", "4096"),
    *("-object", "memory-backend-ram,id=m0,size=2048M"),
    *("-object", "memory-backend-ram,id=m1,size=2048M"),
    *("-device", "pxb-pcie,id=px1,bus=pcie.0,bus_nr=128,numa_node=1"),
    *("-device", "pcie-root-port,id=rp1,bus=px1,chassis=1"),
    *("-device", "virtio-net-pci,bus=rp1,netdev=n0,mq=on,vectors=10"),
    *("-nographic", "-no-reboot"),
)
#: By threads of each core.
_CPUS = {
    1: (
        *("-smp", "8,sockets=2,dies=1,cores=4,threads=1"),
        *("-numa", "node,nodeid=0,cpus=0-3,memdev=m0"),
        *("-numa", "node,nodeid=1,cpus=4-7,memdev=m1"),
        *("-numa", "dist,src=0,dst=1,val=21"),
    ),
    2: (
        *("-smp", "16,sockets=2,dies=1,cores=4,threads=2"),
        *("-numa", "node,nodeid=0,cpus=0-7,memdev=m0"),
        *("-numa", "node,nodeid=1,cpus=8-15,memdev=m1"),
        *("-numa", "dist,src=0,dst=1,val=21"),
    ),
}
#: Four pairs of queues for the card need a tap device, which is in a network of the machine's own.
_TUN = Path("/dev/net/tun")
_TAP = "tap,id=n0,ifname=tap0,script=no,downscript=no,queues=4"
_USER = "user,id=n0,restrict=on"
#: On a busy host, an emulated timer can be too late for the check that the kernel makes of it.
_CONSOLE = "console=ttyS0 quiet panic=-1 no_timer_check systemd.show_status=false"
_RESULT = 64 * 1024 * 1024
_SECONDS = 900
_PROBE = Path(__file__).parent / "probe"
#: What `cpuplan snapshot` writes.
SNAPSHOT = Path(__file__).parents[2] / "templates" / "snapshot" / "cpuplan-snapshot.sh"
_UNITS = "etc/systemd/system"
#: Programs of the handlers of a runtime, which a check looks for.
_HANDLERS = {"crio": ("conmon", "crun"), "containerd": ("containerd-shim-runc-v2", "runc")}


def has_queues() -> bool:
    """Whether the network card of guests has several queues."""
    return os.access(_TUN, os.W_OK)


def look(kernel: Path, root: Path, arguments: str, folder: Path) -> Path:
    """Boot a node that has the root; the folder with what the probe saw on it."""
    start(kernel, root, f"{arguments} probe", folder)
    seen = bring_out(folder, folder / "seen")
    _write_facts(seen)
    return seen


def start(kernel: Path, root: Path, arguments: str, folder: Path, threads: int = 2) -> None:
    """Run the machine until it is off or reboots; what was brought out is on its disk."""
    folder.mkdir(parents=True, exist_ok=True)
    initrd = folder / "initrd"
    base.pack(root, initrd)
    with (folder / "disk").open("wb") as out:
        out.truncate(_RESULT)
    network = ("unshare", "--net") if has_queues() else ()
    drive = f"if=none,id=d0,file={folder / 'disk'},format=raw"
    command = [
        *(*network, "qemu-system-x86_64", *_MACHINE, *_CPUS[threads]),
        *("-netdev", _TAP if network else _USER),
        *("-drive", drive, "-device", "virtio-blk-pci,drive=d0,bus=pcie.0"),
        *("-kernel", str(kernel), "-initrd", str(initrd)),
        *("-append", f"{_CONSOLE} {arguments}"),
    ]
    with (folder / "console").open("wb") as console, suppress(subprocess.TimeoutExpired):
        subprocess.run(
            command,
            check=True,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=console,
            timeout=_SECONDS,
        )
    initrd.unlink()


def bring_out(folder: Path, to: Path) -> Path:
    """Unpack what is on the disk of a machine that is off.

    Raises AssertionError, with the console's last lines, if it brought out nothing.
    """
    to.mkdir(exist_ok=True)
    # A root file system has absolute links, which the tarfile module refuses.
    command = ["tar", "-xvf", str(folder / "disk"), "-C", str(to)]
    names = subprocess.run(command, check=False, capture_output=True).stdout
    # A disk that nothing was written to reads as an empty archive.
    if not names:
        console = (folder / "console").read_text(errors="replace")
        raise AssertionError(f"the guest brought out nothing:\n{console[-4000:]}")
    return to


def _write_facts(seen: Path) -> None:
    """The files whose lines the probe has read, below `seen` as they were on the guest."""
    lines: dict[str, list[str]] = {}
    for fact in (seen / "facts").read_text(errors="replace").splitlines():
        path, _, line = fact.partition(":")
        lines.setdefault(path.lstrip("/"), []).append(line)
    for path, of_file in lines.items():
        (seen / path).parent.mkdir(parents=True, exist_ok=True)
        (seen / path).write_text("\n".join(of_file) + "\n")


def lay_down(root: Path, runtime: str) -> None:
    """The probe, the script of snapshots, and stand-ins for the kubelet and its runtime."""
    units = root / _UNITS
    wanted = units / "multi-user.target.wants"
    wanted.mkdir(parents=True, exist_ok=True)
    for unit in sorted(_PROBE.glob("*.service")):
        name = unit.name.replace("runtime", runtime)
        (units / name).write_bytes(unit.read_bytes())
        (wanted / name).symlink_to(f"/{_UNITS}/{name}")
    programs = root / "usr/local/bin"
    programs.mkdir(parents=True, exist_ok=True)
    for name, script in (("probe", _PROBE / "probe.sh"), (SNAPSHOT.name, SNAPSHOT)):
        (programs / name).write_bytes(script.read_bytes())
        (programs / name).chmod(0o755)
    for name in _HANDLERS[runtime]:
        program = root / "usr/bin" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
