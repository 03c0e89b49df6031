"""Runs in the agent's container on a guest: tries to write to the node by every way that is known.

Prints one JSON object: by the name of each way what came of it, `wrote ...` where it succeeded.
"""

import ctypes
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

HOST = Path("/host")
MARK = "cpuplan-was-here"
_LIBC = ctypes.CDLL(None, use_errno=True)
_MS_RDONLY, _MS_REMOUNT, _MS_BIND, _MS_MOVE = 1, 32, 4096, 8192
_CLONE_NEWUSER, _CLONE_NEWNS = 0x10000000, 0x00020000
_PTRACE_ATTACH, _PTRACE_SEIZE = 16, 0x4206
#: System calls of x86-64.
_VM_WRITEV, _MOUNT_SETATTR, _OPEN_TREE, _MOVE_MOUNT = 311, 442, 428, 429
_OPEN_BY_HANDLE, _INIT_MODULE, _BPF, _PIDFD_OPEN, _PIDFD_GETFD = 304, 175, 321, 434, 438
_CHOSEN = ("etc", "usr", "boot", "var/log/containers", "run/systemd/system", "etc/submount")


def _call(result: int) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def _folders() -> list[Path]:
    """All mounts below the host's root, and folders in which anybody may write."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    below = [Path(each) for each in points if each.startswith(str(HOST))]
    return [*below, *(HOST / each for each in _CHOSEN), HOST / "tmp", HOST / "dev/shm"]


def _numbers() -> list[str]:
    own = os.readlink("/host/proc/self")
    return [each for each in os.listdir(HOST / "proc") if each.isdecimal() and each != own]


def _first(tries: Iterator[Callable[[], str]]) -> str:
    """What the first of many tries wrote; raises the last error of all."""
    last: Exception = OSError("nothing to try")
    for trial in tries:
        try:
            return trial()
        except Exception as error:
            last = error
    raise last


def _did(call: Callable[..., object], *arguments: object) -> Callable[[], str]:
    """A try that has written something where it raises nothing."""

    def trial() -> str:
        call(*arguments)
        return f"wrote: {getattr(call, '__name__', call)} {arguments}"

    return trial


def _asked(name: str, *arguments: object) -> int:
    """A function of the C library, or `syscall`, which is -1 where it fails."""
    return _call(getattr(_LIBC, name)(*arguments))


def _put(path: Path, text: str = "", *, create: bool = True) -> Callable[[], str]:
    def trial() -> str:
        flags = os.O_WRONLY | (os.O_CREAT if create else 0)
        descriptor = os.open(path, flags, 0o666)
        os.write(descriptor, text.encode() or b"x\n")
        os.close(descriptor)
        return f"wrote {path}"

    return trial


def new_files() -> str:
    return _first(_put(folder / MARK) for folder in _folders() if folder.is_dir())


def old_files() -> str:
    names = ("etc/hostname", "etc/passwd", "etc/systemd/system.conf", "usr/bin/su")
    return _first(_put(HOST / name, "x", create=False) for name in names)


def attributes() -> str:
    path = HOST / "etc/hostname"
    tries = (
        _did(os.chmod, path, 0o600),
        _did(os.chown, path, os.getuid(), os.getgid()),
        _did(os.utime, path),
        _did(os.setxattr, path, "user.x", b"x"),
        _did(os.truncate, path, 0),
        _did(os.rename, path, path.with_name(MARK)),
        _did(os.link, path, path.with_name(MARK)),
        _did(os.unlink, path),
    )
    return _first(iter(tries))


def nodes_and_links() -> str:
    def made(folder: Path, kind: int) -> Callable[[], str]:
        def trial() -> str:
            os.mknod(folder / MARK, kind | 0o666, os.makedev(1, 1))
            return f"wrote {folder}"

        return trial

    kinds = (stat.S_IFIFO, stat.S_IFBLK, stat.S_IFCHR, stat.S_IFSOCK)
    return _first(made(folder, kind) for folder in _folders() for kind in kinds)


def sysctls() -> str:
    names = (
        "kernel/core_pattern",
        "kernel/modprobe",
        "vm/swappiness",
        "kernel/panic",
        "vm/compact_memory",
    )
    roots = (HOST / "proc/sys", Path("/proc/sys"))
    return _first(_put(root / name, "1", create=False) for root in roots for name in names)


def sysrq() -> str:
    places = (HOST / "proc/sysrq-trigger", Path("/proc/sysrq-trigger"))
    return _first(_put(place, "h", create=False) for place in places)


def interrupts() -> str:
    roots = (HOST / "proc/irq", Path("/proc/irq"))
    numbers = [each for root in roots for each in root.glob("*/smp_affinity")]
    return _first(
        _put(path, "1", create=False) for path in (HOST / "proc/irq/default_smp_affinity", *numbers)
    )


def roots_of_processes() -> str:
    folders = ("tmp", "etc", "run", "dev/shm", "var/tmp")
    return _first(
        _put(HOST / "proc" / pid / "root" / folder / MARK)
        for pid in _numbers()
        for folder in folders
    )


def working_folders_of_processes() -> str:
    return _first(_put(HOST / "proc" / pid / "cwd" / MARK) for pid in _numbers())


def descriptors_of_processes() -> str:
    def all_of() -> Iterator[Callable[[], str]]:
        for pid in _numbers():
            folder = HOST / "proc" / pid / "fd"
            try:
                names = os.listdir(folder)
            except OSError as error:
                yield _raising(error)
                continue
            yield from (_put(folder / name, "x", create=False) for name in names)

    return _first(all_of())


def _raising(error: Exception) -> Callable[[], str]:
    def trial() -> str:
        raise error

    return trial


def files_of_processes() -> str:
    names = (
        "mem",
        "comm",
        "oom_score_adj",
        "oom_adj",
        "coredump_filter",
        "clear_refs",
        "autogroup",
        *("timerslack_ns", "attr/current", "attr/exec", "sched", "setgroups", "uid_map", "exe"),
    )
    return _first(
        _put(HOST / "proc" / pid / name, "1", create=False) for pid in _numbers() for name in names
    )


def maps_of_processes() -> str:
    def all_of() -> Iterator[Callable[[], str]]:
        for pid in _numbers():
            folder = HOST / "proc" / pid / "map_files"
            try:
                names = os.listdir(folder)
            except OSError as error:
                yield _raising(error)
                continue
            yield from (_put(folder / name, "x", create=False) for name in names)

    return _first(all_of())


def namespaces_of_processes() -> str:
    def entered(pid: str, name: str) -> Callable[[], str]:
        def trial() -> str:
            descriptor = os.open(HOST / "proc" / pid / "ns" / name, os.O_RDONLY)
            _call(_LIBC.setns(descriptor, 0))
            return f"wrote: entered {name} of {pid}"

        return trial

    return _first(entered(pid, name) for pid in _numbers() for name in ("user", "mnt", "pid"))


def tracing() -> str:
    text = ctypes.create_string_buffer(8)
    own = (ctypes.c_uint64 * 2)(ctypes.addressof(text), 8)

    def of(pid: int) -> Iterator[Callable[[], str]]:
        for request in (_PTRACE_ATTACH, _PTRACE_SEIZE):
            yield _did(_asked, "ptrace", request, pid, 0, 0)
        yield _did(_asked, "syscall", _VM_WRITEV, pid, own, 1, own, 1, 0)

    return _first(trial for pid in _foreign() for trial in of(pid))


def _foreign() -> list[int]:
    """The numbers of processes of the host that none in this container has."""
    return [int(pid) for pid in _numbers() if not _is_own(int(pid))]


def _is_own(pid: int) -> bool:
    """Whether a number is that of a process of this container, which is no other's."""
    return Path(f"/proc/{pid}").exists()


def signals_and_schedules() -> str:
    def of(pid: int) -> Iterator[Callable[[], str]]:
        yield _did(os.kill, pid, signal.SIGCONT)
        yield _did(os.sched_setaffinity, pid, {0})
        yield _did(os.setpriority, os.PRIO_PROCESS, pid, 19)
        yield _did(_fetched, pid)

    return _first(trial for pid in _foreign() for trial in of(pid))


def _fetched(pid: int) -> int:
    descriptor = _call(_LIBC.syscall(_PIDFD_OPEN, pid, 0))
    return _call(_LIBC.syscall(_PIDFD_GETFD, descriptor, 0, 0))


def control_groups() -> str:
    def made(folder: Path) -> Callable[[], str]:
        def trial() -> str:
            folder.mkdir()
            return f"wrote {folder}"

        return trial

    def all_of() -> Iterator[Callable[[], str]]:
        for root in (HOST / "sys/fs/cgroup", Path("/sys/fs/cgroup")):
            yield made(root / MARK)
            for folder in (
                root,
                root / "system.slice",
                root / "init.scope",
                root / "kubepods.slice",
            ):
                for name in ("cgroup.procs", "cpuset.cpus", "cpu.weight", "cgroup.kill"):
                    yield _put(folder / name, "0", create=False)

    return _first(all_of())


def devices_in_sysfs() -> str:
    names = (
        *("sys/devices/system/cpu/cpu1/online", "sys/kernel/mm/transparent_hugepage/enabled"),
        *("sys/devices/system/cpu/smt/control", "sys/devices/virtual/workqueue/cpumask"),
    )
    paths = [HOST / name for name in names] + [Path("/", name) for name in names]
    paths += (HOST / "sys/module").glob("*/parameters/*")
    paths += (HOST / "sys/devices").glob("pci*/*/driver_override")
    paths += (HOST / "sys/bus").glob("*/drivers_probe")
    paths += (HOST / "sys/kernel/mm/hugepages").glob("*/nr_hugepages")
    return _first(_put(path, "1", create=False) for path in paths)


def formats_of_programs() -> str:
    """A program that the kernel starts for a format, as root, is anything."""
    text = ":x:M::CPUPLAN::/bin/sh:C"
    places = ("proc/sys/fs/binfmt_misc/register", "proc/sys/fs/binfmt_misc/status")
    return _first(
        _put(root / name, text, create=False) for root in (HOST, Path("/")) for name in places
    )


def tracing_of_the_kernel() -> str:
    names = (
        "sys/kernel/debug/sched/verbose",
        "sys/kernel/tracing/trace_marker",
        "sys/kernel/config",
        "sys/kernel/tracing/kprobe_events",
        "sys/kernel/security/apparmor/.replace",
        "sys/fs/bpf",
    )
    return _first(
        _put(root / name, "1", create=name.endswith(("bpf", "config")))
        for root in (HOST, Path("/"))
        for name in names
    )


def _mount(source: str, target: str, flags: int, kind: str = "none") -> int:
    return _call(
        _LIBC.mount(source.encode(), target.encode(), kind.encode(), ctypes.c_ulong(flags), None)
    )


def mounts() -> str:
    def all_of() -> Iterator[Callable[[], str]]:
        for place in ("/host/etc", "/host/proc", "/host/sys/fs/cgroup", "/host/usr", "/"):
            yield from _freed(place)
            yield _did(_mount, place, "/state", _MS_MOVE)
        yield _did(_mount, "proc", "/state", 0, "proc")
        yield _did(_mount, "cgroup2", "/state", 0, "cgroup2")
        yield _did(_asked, "chroot", b"/host")
        yield _did(_asked, "syscall", _OPEN_TREE, -100, b"/host/etc", 1)

    return _first(all_of())


def _freed(place: str) -> Iterator[Callable[[], str]]:
    """To make a mount writable, or to have what is below it."""
    yield _did(_mount, "none", place, _MS_REMOUNT | _MS_BIND)
    yield _did(_asked, "umount2", place.encode(), 2)
    yield _did(_set_writable, place)


def _set_writable(place: str) -> int:
    attributes = (ctypes.c_uint64 * 4)(0, _MS_RDONLY, 0, 0)
    return _call(
        _LIBC.syscall(_MOUNT_SETATTR, -100, place.encode(), 0x8000, attributes, ctypes.c_size_t(32))
    )


def user_namespaces() -> str:
    """Root of a user namespace of one's own may mount, but for what others have mounted."""
    if child := os.fork():
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code == 0:
            return "wrote: a namespace of its own"
        raise OSError(code, os.strerror(code) if code > 0 else "killed")
    try:
        uid = os.getuid()
        _call(_LIBC.unshare(_CLONE_NEWUSER | _CLONE_NEWNS))
        Path("/proc/self/setgroups").write_text("deny")
        Path("/proc/self/uid_map").write_text(f"0 {uid} 1")
        found = [new_files, old_files, mounts_inside, sysctls, control_groups, roots_of_processes]
        found += [formats_of_programs, sockets, namespaces_of_processes]
        _first(iter(found))
    except OSError as error:
        os._exit(error.errno or 1)
    except Exception:
        os._exit(1)
    os._exit(0)


def mounts_inside() -> str:
    places = ("/host/etc", "/host/usr", "/host/sys/fs/cgroup")
    return _first(trial for place in places for trial in _freed(place))


def sockets() -> str:
    """Programs of the host that listen do what they are told."""

    def connected(path: str) -> Callable[[], str]:
        def trial() -> str:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
                with socket.socket(socket.AF_UNIX, kind) as way:
                    if way.connect_ex(path) == 0:
                        return f"wrote: connected to {path}"
            raise PermissionError(path)

        return trial

    def all_of() -> Iterator[str]:
        for folder in HOST.iterdir():
            if folder.name not in ("proc", "sys", "usr"):
                for above, _, names in os.walk(folder):
                    paths = (os.path.join(above, name) for name in names)
                    yield from (each for each in paths if stat.S_ISSOCK(os.lstat(each).st_mode))
        yield from ("/host/run/systemd/private", "/host/run/systemd/journal/stdout")
        yield from ("/host/run/dbus/system_bus_socket", "/host/run/containerd/containerd.sock")
        for line in (HOST / "proc/1/net/unix").read_text().splitlines():
            if "@" in line:
                yield "\0" + line.partition("@")[2]

    return _first(connected(path) for path in all_of())


def network_of_the_host() -> str:
    """Services of the host that trust the local machine."""
    with socket.create_connection(("127.0.0.1", 10248), timeout=2) as way:
        return f"wrote: connected to {way.getpeername()}"


def devices() -> str:
    names = ("mem", "kmsg", "vda", "sda", "port", "kvm", "cpu_dma_latency", "fuse", "net/tun")
    roots = (Path("/dev"), HOST / "dev")
    return _first(_put(root / name, "x", create=False) for root in roots for name in names)


def files_by_handle() -> str:
    """CVE-less, and known from old containers: any file of a file system by its number."""
    descriptor = os.open("/host/etc", os.O_RDONLY)
    handle = (ctypes.c_uint32 * 6)(8, 1, 2, 0, 0, 0)
    opened = _call(_LIBC.syscall(_OPEN_BY_HANDLE, descriptor, handle, os.O_RDWR))
    return f"wrote: opened {opened}"


def programs_of_root() -> str:
    """A program with the bit of its owner, root, would be root."""
    done = subprocess.run(["/app/suid", "-u"], capture_output=True, text=True, check=False)
    if done.stdout.strip() == "0" and os.getuid():
        return "wrote: is root now"
    raise PermissionError(done.stdout.strip() or done.stderr.strip())


def becoming_another() -> str:
    def all_of() -> Iterator[Callable[[], str]]:
        for number in (0, 65532, 1000):
            if number != os.getuid():
                yield _did(os.setuid, number)
            yield _did(os.setgid, number)
        yield _did(os.setgroups, [0])

    return _first(all_of())


def the_machine() -> str:
    tries = (
        _did(_asked, "syscall", _INIT_MODULE, 0, 0, b""),
        _did(_asked, "reboot", 0),  # disables Ctrl-Alt-Del
        _did(_asked, "swapon", b"/host/etc/hostname", 0),
        _did(_asked, "sethostname", b"x", 1),
        _did(_asked, "syscall", _BPF, 0, (ctypes.c_uint32 * 32)(1, 4, 4, 1), 128),
        _did(time.clock_settime, time.CLOCK_REALTIME, 1.0),
    )
    return _first(iter(tries))


def keys() -> str:
    """Not a way to write, but the way to somebody who can."""

    def read(path: Path) -> Callable[[], str]:
        return lambda: f"wrote: has {path}: {len(path.read_bytes())}"

    names = (
        "etc/kubernetes/pki/ca.key",
        "etc/shadow",
        "var/lib/kubelet/pki/kubelet.key",
        "var/lib/kubelet/pods/1/volumes/kubernetes.io~secret/a/token",
    )
    return _first(read(HOST / name) for name in names)


WAYS = (
    *(new_files, old_files, attributes, nodes_and_links, sysctls, sysrq, interrupts),
    *(roots_of_processes, working_folders_of_processes, descriptors_of_processes),
    *(files_of_processes, maps_of_processes, namespaces_of_processes, tracing),
    *(signals_and_schedules, control_groups, devices_in_sysfs, formats_of_programs),
    *(tracing_of_the_kernel, mounts, user_namespaces, sockets, network_of_the_host, devices),
    *(files_by_handle, programs_of_root, becoming_another, the_machine, keys),
)


def main() -> None:
    """Try all ways."""
    told = {}
    for way in WAYS:
        try:
            told[way.__name__] = way()
        except Exception as error:
            told[way.__name__] = f"{type(error).__name__}: {error}"
    json.dump(told, sys.stdout)


main()
