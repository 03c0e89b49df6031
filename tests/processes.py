"""Threads of a made-up node: /proc/<pid>/task/<tid>/{stat,status} and /proc/<pid>/cgroup."""

from pathlib import Path
from typing import NamedTuple

_PF_NO_SETAFFINITY, _PF_KTHREAD = 0x04000000, 0x00200000
#: Fields of stat between the flags and the last CPU, and behind the policy.
_BETWEEN, _BEHIND = ["0"] * 29, ["0"] * 11


class Thread(NamedTuple):
    """A thread; of a process itself where `tid` is 0."""

    pid: int
    name: str
    allowed: str
    cgroup: str = "/"
    is_kernel: bool = False
    is_bound: bool = False
    priority: int = 0
    tid: int = 0
    state: str = "S"

    @property
    def folder(self) -> str:
        """Its folder below the root."""
        return f"proc/{self.pid}/task/{self.tid or self.pid}"


def write(root: Path, *threads: Thread, with_stat: bool = True) -> None:
    """Add threads to a root."""
    for thread in threads:
        folder = root / thread.folder
        folder.mkdir(parents=True, exist_ok=True)
        parent = 2 if thread.is_kernel and thread.pid != 2 else 0
        (folder / "status").write_text(
            f"Name:\t{thread.name}\nState:\t{thread.state} (state)\nPid:\t{thread.pid}\n"
            f"PPid:\t{parent}\nCpus_allowed:\tff\nCpus_allowed_list:\t{thread.allowed}\n"
            "Mems_allowed_list:\t0\n"
        )
        if with_stat:
            (folder / "stat").write_text(_stat(thread, parent))
        (root / f"proc/{thread.pid}/cgroup").write_text(f"0::{thread.cgroup}\n")


def _stat(thread: Thread, parent: int) -> str:
    flags = _PF_KTHREAD * thread.is_kernel | _PF_NO_SETAFFINITY * thread.is_bound
    policy = 1 if thread.priority else 0
    head = [thread.state, str(parent), "0", "0", "0", "0", str(flags)]
    fields = [*head, *_BETWEEN, "0", str(thread.priority), str(policy), *_BEHIND]
    return f"{thread.tid or thread.pid} ({thread.name}) {' '.join(fields)}\n"
