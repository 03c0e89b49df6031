"""What Linux 6.12 made of a command line and of cpusets, and systemd of lists (vectors/crio)."""

from typing import Any

from cpuplan.base.cpuset import CpuSet
from cpuplan.upstream.linux import bitmap_str, cpu_set_util
from cpuplan.upstream.linux.cpuset import Refused
from cpuplan.upstream.linux.cpuset_files import Tree
from cpuplan.upstream.linux.isolation import Booted, Hardware, Line, boot
from tests.conformance.kubelet import differ

Json = dict[str, Any]
#: Lines of a crash, with addresses.
_CRASH = ("WARNING: ", "RIP: ")


def bootargs(given: Json, expected: Json) -> str:
    """A boot of a machine with one NUMA node, whose siblings have neighbouring numbers."""
    cpus, threads = given["cpus"], given["threads_per_core"]
    every = (1 << cpus) - 1
    first = sum(1 << cpu for cpu in range(0, cpus, threads))
    booted = boot(Line(given["cmdline"]), Hardware(every, first, every))
    wanted = {
        **expected,
        "kernel_log": [line for line in expected["kernel_log"] if not line.startswith(_CRASH)],
    }
    return differ(wanted, _shown(booted), "")


def _shown(booted: Booted) -> Json:
    threads = booted.threads
    nohz_full = booted.nohz_full
    kworkers = list(map(_list, threads.unbound_kworkers))
    return {
        "online": _list(booted.online),
        "offline": _list(booted.possible & ~booted.online),
        "possible": _list(booted.possible),
        "isolated": _list(booted.isolated),
        "nohz_full": "(null)" if nohz_full is None else _list(nohz_full),
        "default_smp_affinity": _mask(booted.default_smp_affinity, booted),
        "workqueue_cpumask": _mask(booted.workqueue, booted),
        "watchdog_cpumask": _list(booted.watchdog),
        "cpuset_root_effective": _list(booted.online),
        "cpuset_root_isolated": _list(booted.isolated),
        "affinity": {
            "init": _list(threads.init),
            "kthreadd": _list(threads.kthreadd),
            "kswapd0": _list(threads.kswapd0),
            "rcu_preempt": _list(threads.rcu_preempt),
            "unbound_kworkers": kworkers[0] if len(kworkers) == 1 else sorted(kworkers),
            "rcuog": sorted(map(_list, threads.rcuog)),
            "rcuop_threads": list(CpuSet.from_bits(threads.rcuop)),
        },
        "kernel_log": list(booted.log),
    }


def _list(bits: int) -> str:
    return str(CpuSet.from_bits(bits))


def _mask(bits: int, booted: Booted) -> str:
    """Hexadecimal digits for all CPUs that the machine may have, at most 32 of them."""
    return f"{bits:0{-(-booted.possible.bit_length() // 4)}x}"


def cpusets(given: Json, expected: Json) -> str:
    """Operations on an empty tree, each whether the one before it was refused or not."""
    tree = Tree(bitmap_str.parse(given["online"], 8).bits)
    errors = [_do(tree, operation) for operation in given["ops"]]
    found: Json = {
        # That of the boot: partitions do not show in sysfs.
        "isolated": "",
        "online": _list(tree.system.active),
        "errors": errors,
        "cgroups": {path: _cgroup(tree, path) for path in tree.paths},
    }
    if tree.tasks:
        found["tasks"] = {name: _list(task.cpus) for name, (task, _) in tree.tasks.items()}
    if leaked := tree.leak():
        found["leak"] = _list(leaked)
    return differ(expected, found, "")


def _do(tree: Tree, operation: Json) -> str:
    path, task = operation.get("path", ""), operation.get("task", "")
    try:
        match operation["op"]:
            case "mkdir":
                tree.mkdir(path)
            case "rmdir":
                tree.rmdir(path)
            case "write":
                tree.write(path, operation["file"], operation["value"])
            case "spawn":
                tree.spawn(path, task)
            case "move":
                tree.move(path, task)
            case "affinity":
                tree.affinity(task, bitmap_str.parse(operation["value"], 8).bits)
            case "cpu":
                tree.switch(int(path.removeprefix("cpu")), online=operation["value"] == "1")
    except Refused as refused:
        return str(refused)
    return ""


def _cgroup(tree: Tree, path: str) -> Json:
    cpuset = tree.cpuset(path)
    if path == ".":
        isolated = _list(tree.system.isolated)
        return {"cpus.effective": _list(cpuset.effective), "cpus.isolated": isolated}
    return {
        "cpus": _list(cpuset.allowed),
        "cpus.effective": _list(cpuset.effective),
        "cpus.exclusive": _list(cpuset.exclusive),
        "cpus.exclusive.effective": _list(cpuset.effective_exclusive),
        "cpus.partition": tree.partition(path),
    }


def systemd_lists(given: Json, expected: Json) -> str:
    """The unit's own lines come first, then those of drop-ins by the name of the file."""
    fragments = dict(given["fragments"])
    lines = fragments.pop("unit")
    for name in sorted(fragments):
        lines += fragments[name] if name.endswith(".conf") else []
    cpus = cpu_set_util.allowed_cpus(lines)
    has_all = cpus < 1 << given["cpus"]
    found = {
        "allowed_cpus": _list(cpus).replace(",", " "),
        "cpuset_cpus": _list(cpus) if has_all else "",
    }
    return differ({key: expected[key] for key in found}, found, "")
