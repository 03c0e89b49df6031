"""Fuzzed commands: whatever stands in the files that they read, they end by themselves, and never
with a bug (70).
"""

import io
import json
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, chdir, contextmanager, redirect_stderr, redirect_stdout, suppress
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from cpuplan import pipeline
from cpuplan.base.files.cache import Sealed
from cpuplan.cli.main import run
from cpuplan.fleet.previous import MANIFEST
from cpuplan.language.read import yaml
from cpuplan.language.read.files import LOCK_PATH
from cpuplan.simulate.allocators.kubelet import KubeletAllocator
from cpuplan.simulate.planned import planned
from cpuplan.upstream.kubernetes.pod import read_pod
from cpuplan.write.format import NotFormattable, canonical
from cpuplan.write.manifest import OLD_MANIFEST
from tests.fuzz import clusters, seeds
from tests.fuzz.limits import bounded, own_folder
from tests.fuzz.mutation import disturbed, mutate
from tests.hosts import make_root
from tests.machines import trees
from tests.projects import make_project
from tests.unit.profiles.propose.gathers import CLUSTER, gather, node

NODE = "worker-0"
CACHE = ".cache"
STAGE = ".out.cpuplan-stage"
#: Commands about a project, and about a must-gather.
_OF_PROJECTS = (
    *(("validate",), ("compile", "--check"), ("fmt", "--check"), ("compile",), ("show", NODE)),
    *(
        ("show", "main-small", "--svg", "a.svg"),
        ("explain", NODE, "0"),
        ("explain", NODE, "isolated"),
        ("fmt",),
    ),
)
_PROPOSALS = (
    ("--list",),
    ("--list", "--json"),
    ("--pool", "worker-cnf", "--reserved", "2", "--stdout"),
    ("--pool", "worker-cnf", "--reserved", "2", "--disable-smt", "--offlined", "1"),
)
_TARGETS = (".", "..", "/", "/dev/zero", "/proc/self/mem", "/etc", "nowhere", "x" * 300)


def ends(folder: Path, *arguments: str) -> int:
    """Run a command in `folder`, where its cache is too; its exit code, which is one of those that
    the manual names.
    """
    printed = io.StringIO()
    cache = patch.dict(os.environ, {"XDG_CACHE_HOME": os.path.abspath(folder / CACHE)})
    tracebacks = patch("tempfile.tempdir", str(folder))
    with chdir(folder), redirect_stdout(printed), redirect_stderr(printed), tracebacks, cache:
        code = run(list(arguments))
    assert code in (0, 1, 2, 3, 7), (
        f"exit code {code} of {arguments}\n{printed.getvalue()[-3000:]}{_traceback(folder)}"
    )
    # No bug, and yet a find: readers are bounded, so that it does not come to this.
    told = printed.getvalue()
    # Only an expected state that somebody wrote is one with which nothing can be compared.
    assert "CP8175" not in told or "--state" in arguments, f"{arguments}\n{told[-3000:]}"
    assert "CP1175" not in told, f"{arguments}\n{told[-3000:]}"
    return code


def _traceback(folder: Path) -> str:
    told = ""
    for path in folder.glob("cpuplan-*.txt"):
        told += path.read_text()[-3000:]
        path.unlink()
    return told


@cache
def project_once() -> tuple[Path, pipeline.Project, Any, Path]:
    """A compiled project for all runs, its plan, and the root of a node that holds all of it."""
    folder = own_folder()
    made = make_project(folder / "project")
    (made / "intents/main.yaml").write_bytes(seeds.INTENT)
    assert ends(made, "compile") == 0
    loaded = pipeline.load(made)
    plan, _ = pipeline.solve(loaded)
    return made, loaded, plan, make_root(plan.by_node["lab", NODE], folder / "node")


@contextmanager
def _loaded() -> Iterator[None]:
    """The project as it was read and solved once: a run that only differs in other files takes a
    tenth of the time.
    """
    _, project, plan, _ = project_once()
    with patch("cpuplan.cli.nodes.load_plan", lambda _: (project, plan)):
        yield


def check(data: bytes) -> None:
    """`check` of a node whose root somebody prepared; it never holds what was compiled if a planned
    file is gone.
    """
    project, _, _, whole = project_once()
    with tempfile.TemporaryDirectory() as folder, bounded(), _loaded():
        root = Path(folder, "node")
        shutil.copytree(whole, root)
        random = Random(data)  # noqa: S311 - no secret
        if random.random() < 1 / 2:
            _lead_astray(root, random)
        if random.random() < 2 / 3:
            spoil(root, random)
        ends(project, "check", NODE, "--root", str(root))
        open_up(root)


def check_cluster(data: bytes) -> None:
    """`check cluster` with a server that says anything."""
    with ExitStack() as stack, bounded():
        clusters.check_cluster(data, ends, stack)


#: What is no number to the kernel, and is one to Python or to regular expressions; and numbers.
_NUMBERS: tuple[str, ...] = (
    "512\x1c",
    "1" * 5000,
    "\uff11\uff12",
    "\xb2",
    "1_0",
    "-0",
    "+5",
    " 7",
    "7\x85",
    "0x1f",
)
_NUMBERS = (
    *_NUMBERS,
    "1e9",
    "nan",
    "inf",
    "",
    "\n",
    "\u2028" * 3,
    "9" * 20,
    "8\u2029",
    "-1",
    "4294967296",
)
_COUNTED = (
    "proc/meminfo",
    "proc/uptime",
    "proc/stat",
    "proc/1/stat",
    "proc/1/task/1/stat",
    "proc/1/status",
    "proc/irq/7/smp_affinity_list",
    "proc/irq/7/effective_affinity",
    "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages",
    "sys/devices/system/node/node0/hugepages/hugepages-1048576kB/nr_hugepages",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/surplus_hugepages",
    "sys/devices/system/node/node0/meminfo",
    "sys/fs/cgroup/cpu.max",
    "sys/fs/cgroup/kubepods.slice/cpu.stat",
    "sys/fs/cgroup/kubepods.slice/hugetlb.2MB.current",
    "run/cpuplan-unmovable-interrupts",
    "etc/kernel/cmdline",
    "boot/loader/entries/a.conf",
)
_ROUND: tuple[str, ...] = (
    "sys/fs/cgroup",
    "sys/fs/cgroup/x",
    "proc/7",
    "proc/1/task",
    "proc/irq",
    "sys/class/net/a",
)
_ROUND = (*_ROUND, "sys/devices/system/node/node9", "etc/systemd/system/a.service.d", "etc/crio")
_ROUND = (*_ROUND, "etc/kubernetes/kubelet.conf.d", "run", "boot/loader", "var/lib/kubelet/pods")
_BACK = ("/", ".", "..", "../..", "/proc", "/sys", "/sys/fs/cgroup", "/etc", "/nowhere")


def _lead_astray(root: Path, random: Random) -> None:
    """Texts that are almost numbers, tables that end early, deep groups, and links around."""
    for name in random.sample(_COUNTED, random.randint(0, 4)):
        text = random.choice(
            ("{}", "{}\n", "btime {}\n", "MemTotal: {} kB\n", "nr_throttled {}", "{} {}")
        )
        _put(root / name, text.replace("{}", random.choice(_NUMBERS)))
    if random.random() < 1 / 2:
        _put(root / "proc/interrupts", _interrupts(random))
        _put(root / "cpuplan/interrupts.later", _interrupts(random))
        _put(root / "proc/irq/7/smp_affinity_list", "0-3\n")
    if random.random() < 1 / 4:
        depth = random.choice((3, 63, 64, 65, 300))
        name = "sys/fs/cgroup/" + "a/" * depth + "cpuset.cpus"
        _put(root / "sys/fs/cgroup/cgroup.controllers", "cpuset cpu memory pids\n")
        _put(root / name, random.choice(("0-3\n", *_NUMBERS)))
    for name in random.sample(_ROUND, random.randint(0, 3)):
        path = root / name
        if not _is_within(root, path.parent):
            continue
        if os.path.lexists(path):
            _take_away(path)
        with suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(random.choice(_BACK))


def _interrupts(random: Random) -> str:
    """Rows that may lack counts, or have odd ones."""
    cpus = random.choice((1, 4, 16))
    lines = ["   ".join(f"CPU{random.choice((cpu, 99999999, cpu))}" for cpu in range(cpus))]
    for number in (0, 7, 8, random.choice(_NUMBERS)):
        counts = [random.choice(("0", "3", "12", random.choice(_NUMBERS))) for _ in range(cpus)]
        row = " ".join(counts[: random.choice((cpus, cpus, random.randint(0, cpus)))])
        lines.append(f"{number}: {row}  {random.choice(('PCI-MSI 1-edge      eth0', '', 'x'))}")
    return "\n".join(lines)


def _put(path: Path, text: str) -> None:
    """A file, where the links that were made so far leave room for one."""
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def _is_within(root: Path, path: Path) -> bool:
    """Whether nothing on the way to a path leads out of a root: links are made, never followed."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


def project(data: bytes) -> None:
    """What reads a project, and writes `out/`, where somebody prepared its files."""
    whole, _, _, _ = project_once()
    with tempfile.TemporaryDirectory() as folder, bounded():
        made = Path(folder, "project")
        shutil.copytree(whole, made)
        random = Random(data)  # noqa: S311
        spoil(made, random)
        for words in random.sample(_OF_PROJECTS, 2):
            ends(made, *words)
        open_up(made)


def propose(data: bytes) -> None:
    """`propose`, and its list, of a must-gather whose files somebody prepared."""
    with tempfile.TemporaryDirectory() as name, bounded():
        folder, random = Path(name), Random(data)  # noqa: S311
        gather(
            folder / "mg", [*CLUSTER, node("w0", "worker", "worker-cnf")], {"w0": trees.server()}
        )
        spoil(folder / "mg", random)
        ends(folder, "propose", "mg", *random.choice(_PROPOSALS))
        open_up(folder)


def spoil(root: Path, random: Random) -> None:
    """One to three files changed, replaced by something that is none, linked elsewhere, closed or
    taken away.
    """
    files = sorted(path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    for path in random.sample(files, min(len(files), random.choice((1, 1, 2, 3)))):
        if not os.path.lexists(path):
            continue
        folder = path.parent if random.random() < 1 / 4 and path.parent != root else None
        match random.randint(0, 11):
            case 0 | 1 | 2 | 3 | 4:
                path.write_bytes(mutate(random, path.read_bytes()))
            case 5:
                path.write_bytes(random.choice(seeds.TOKENS) * random.choice((1, 1000)))
            case 6:
                _take_away(folder or path)
            case 7:
                (folder or path).chmod(0)
            case 8:
                _take_away(folder or path)
                os.mkfifo(folder or path)
            case 9:
                _take_away(folder or path)
                (folder or path).symlink_to(random.choice((*_TARGETS, path.name)))
            case 10:
                os.truncate(path, random.choice((0, 1, 1 << 20, 1 << 40)))
            case _:
                for name in ("a", "b"):
                    if not os.path.lexists(path.parent / name):
                        (path.parent / name).symlink_to(
                            random.choice((".", "..", path.name, "/dev/tty"))
                        )


def _take_away(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink()


def open_up(root: Path) -> None:
    """Let the temporary folder be deleted by whoever is not root."""
    for folder, _, _ in os.walk(root):
        os.chmod(folder, 0o700)


@cache
def states() -> tuple[dict[str, Any], ...]:
    """State files of a node of the project with a pod, as data."""
    _, _, plan, _ = project_once()
    allocator = KubeletAllocator(planned(plan.by_node["lab", NODE]))
    for pod in seeds.PODS[:2]:
        allocator.admit(read_pod(pod))
    left = allocator.kubelet.stop()
    return tuple(json.loads(text) for text in (left.cpu_state, left.memory_state) if text)


def simulate(data: bytes) -> None:
    """`simulate` of odd manifests, on a node with odd state files."""
    project, _, _, _ = project_once()
    random = Random(data)  # noqa: S311
    with tempfile.TemporaryDirectory() as name, bounded(), _loaded():
        folder = Path(name)
        rate = random.choice((0.003, 0.03))
        texts = [
            json.dumps(disturbed(random, pod, rate=rate))
            for pod in random.sample(seeds.PODS, random.randint(1, 3))
        ]
        text = "\n---\n".join(texts).encode()
        (folder / "pods.yaml").write_bytes(
            mutate(random, text) if random.random() < 1 / 5 else text
        )
        words = [
            "simulate",
            NODE,
            str(folder / "pods.yaml"),
            *random.choice(([], ["--format", "json"], ["--any-order"])),
        ]
        for number, state in enumerate(states()):
            if random.random() < 1 / 2:
                changed = json.dumps(
                    {**disturbed_mapping(random, state, rate), "checksum": 0}
                ).encode()
                path = folder / f"state-{number}"
                path.write_bytes(mutate(random, changed) if random.random() < 1 / 5 else changed)
                words += ["--state", str(path)]
        ends(project, *words)


def disturbed_mapping(random: Random, value: dict[str, Any], rate: float) -> dict[str, Any]:
    changed = disturbed(random, value, rate=rate)
    return changed if isinstance(changed, dict) else value


def fmt(data: bytes) -> None:
    """The canonical form: the same values, and again the same form."""
    text = data.decode("utf-8", "replace")
    before, problems = yaml.parse("a.yaml", text)
    if problems:
        return
    with bounded():
        try:
            once = canonical(text)
        except NotFormattable:
            return  # nothing is lost; tests of `write.format` say that it takes what people write
        after, problems = yaml.parse("a.yaml", once)
        assert not problems, (text, once, problems)
        assert [source.data for source in before] == [source.data for source in after], (text, once)
        assert canonical(once) == once, (text, once, canonical(once))


@cache
def _bookkeeping() -> dict[str, tuple[bytes, ...]]:
    """What cpuplan writes and reads again, by its place in the project: as it was written, or
    nearly.
    """
    whole, _, _, _ = project_once()
    paths = [path for path in sorted((whole / "out/.cpuplan").rglob("*")) if path.is_file()]
    found: dict[str, tuple[bytes, ...]] = {}
    for path in paths:
        found[path.relative_to(whole).as_posix()] = (path.read_bytes(),)
    manifest, lock = f"out/{MANIFEST}", LOCK_PATH
    text = (whole / lock).read_bytes()
    found[manifest] += tuple(seeds.merged(found[manifest][0], b"kubernetes", b"other"))
    found[lock] = (
        text,
        *seeds.merged(text, b"lab", b"site"),
        *seeds.merged(text, b"0-", b"1-"),
        text.replace(b"0,", b"1,", 1),
        seeds.OLD_LOCK,
    )
    found[f"out/{OLD_MANIFEST}"] = (b'{"files": {\n "kubernetes/x": "' + b"0" * 64 + b'"\n}}\n',)
    found[f"{STAGE}/journal"] = seeds.JOURNALS
    found[f"{STAGE}/old/planted"] = (b"planted",)
    return {place: (*texts, *seeds.DEEP) for place, texts in found.items()}


def bookkeeping(data: bytes) -> None:
    """`validate` and `compile` where one of cpuplan's own files, named by the first byte, holds
    anything.

    What `compile` then wrote, `compile --check` takes.
    """
    whole, _, _, _ = project_once()
    with tempfile.TemporaryDirectory() as name, bounded():
        made = Path(name, "project")
        shutil.copytree(whole, made)
        place = made / list(_bookkeeping())[data[0] % len(_bookkeeping()) if data else 0]
        if place.is_relative_to(made / STAGE):
            data = _staged(made, data)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data[1:])
        ends(made, "validate")
        if ends(made, "compile", *(("--force",) if len(data) % 2 else ())) == 0:
            assert ends(made, "compile", "--check") == 0
        assert not (made / "out/planted").exists()


def _staged(made: Path, data: bytes) -> bytes:
    """A stage as a killed run leaves it, with a file for the lock's place; `data` with the inodes
    of both trees.
    """
    stage = made / STAGE
    stage.mkdir()
    (stage / f"of-{stage.stat().st_ino}").mkdir()
    shutil.copytree(made / "out", stage / "tree")
    (stage / "tree/a").write_bytes(b"late")
    shutil.copyfile(made / LOCK_PATH, stage / "beside")
    inodes = {b"NEW": made / "out", b"OLD": stage / "tree"}
    for word, path in inodes.items():
        data = data.replace(word, b"%d" % path.stat().st_ino)
    return data


class _Kept(NamedTuple):
    """A project whose results are kept in a cache, and what it says without one."""

    project: Path
    environment: dict[str, str]
    sealed: dict[Path, Sealed]
    #: What each file holds, by its folder and its names.
    contents: list[tuple[Path, list[str], bytes]]


@cache
def _kept() -> _Kept:
    folder = own_folder()
    made = make_project(folder / "project")
    (made / "intents/main.yaml").write_bytes(seeds.INTENT)
    places = {"XDG_CACHE_HOME": str(folder / "cache"), "XDG_STATE_HOME": str(folder / "state")}
    environment = {**places, "CPUPLAN_NO_CACHE": ""}
    with _kept_in(environment):
        assert run(["-C", str(made), "-q", "compile"]) == 0
        records, classes = folder / "cache/cpuplan", folder / "cache/cpuplan/classes"
        contents = []
        for place in (records, classes):
            for path in sorted(filter(Path.is_file, place.iterdir())):
                head, _, content = path.read_bytes().partition(b"\n")
                if place == classes:
                    content = zlib.decompress(content)
                contents.append((place, head[65:].decode().split(), content))
    return _Kept(
        made, environment, {folder: Sealed(folder) for folder in (records, classes)}, contents
    )


@contextmanager
def _kept_in(environment: dict[str, str]) -> Iterator[None]:
    printed = io.StringIO()
    with patch.dict(os.environ, environment), redirect_stdout(printed), redirect_stderr(printed):
        yield


def kept(data: bytes) -> None:
    """`show` and `compile` where files of the cache hold anything, with the digests of who has the
    key: they end as they do without a cache, or as one whose findings are others.
    """
    whole, environment, sealed, contents = _kept()
    random = Random(data)  # noqa: S311 - no secret
    with bounded(), _kept_in(environment):
        for place, names, content in contents:
            changed = _changed(random, content)
            of_class = place.name == "classes"
            packed = zlib.compress(changed, 1) if of_class else changed
            if random.random() < 1 / 20:
                packed = mutate(random, packed)
            assert sealed[place].write(names, packed)
        if random.random() < 3 / 4:
            for path in sealed:
                for record in path.glob("*.json"):
                    record.unlink()
        code = run(["-C", str(whole), *random.choice(_WITH_CACHE)])
        assert code in (0, 1, 2, 3), code


#: Commands that take what earlier runs kept.
_WITH_CACHE = (["validate"], ["compile", "--force"], ["show", NODE], ["simulate", "--each"])


def _changed(random: Random, content: bytes) -> bytes:
    if random.random() < 1 / 2:
        return content
    if random.random() < 1 / 8:
        return mutate(random, content)
    rate = random.choice((0.0005, 0.003, 0.03))
    return json.dumps(disturbed(random, json.loads(content), rate=rate)).encode()


def kubelet_configuration(data: bytes) -> None:
    """`validate` of a KubeletConfiguration that somebody wrote."""
    with tempfile.TemporaryDirectory() as name, bounded():
        Path(name, "config.yaml").write_bytes(seeds.KUBELET_HEAD + data)
        ends(Path(name), "validate", "config.yaml")


COMMANDS: dict[str, Callable[[bytes], None]] = {
    "check": check,
    "check-cluster": check_cluster,
    "project": project,
    "propose": propose,
    "simulate": simulate,
    "fmt": fmt,
    "json": bookkeeping,
    "kept": kept,
    "kubelet": kubelet_configuration,
}


def seeds_of(name: str) -> tuple[bytes, ...]:
    """What a command is fed at first."""
    numbers = tuple(map(str.encode, map(str, range(40))))
    if name == "json":
        places = enumerate(_bookkeeping().values())
        return tuple(bytes((number,)) + text for number, texts in places for text in texts)
    if name == "check":
        numbers = (*numbers, b"\xc4\\*Q\x03\xf5\x00V")  # a command line of a million words
    if name == "project":
        numbers = (*numbers, b"\x97\xf4\x97g\x04X=\n", b"\xf8\xbci\x16\x9c\xa4\x14\xf8")
    others = {"fmt": (*seeds.documents(), *seeds.LAYOUTS), "kubelet": seeds.KUBELET}
    return others.get(name, numbers)
