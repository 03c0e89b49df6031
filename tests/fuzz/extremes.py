"""Fuzzed files of other programs, and files that cpuplan reads again, in which one to three values
are extreme: a number that no machine has, one of thousands of digits, a value of another type.

Each command has ten seconds of the processor.
"""

import json
import re
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import yaml

from cpuplan.language.read.files import LOCK_PATH
from tests.fuzz import commands, seeds, wholes
from tests.fuzz.commands import NODE, ends
from tests.fuzz.limits import bounded
from tests.fuzz.mutation import places
from tests.machines import trees
from tests.unit.profiles.propose.gathers import CLUSTER, gather, node

SECONDS = 10
_DIGITS = "9" * 5000
NUMBERS: tuple[int, ...] = (-1, 0, 8193, 10**7, 10**12, 2**63 - 1, 2**63, 2**64, 10**30)
_OTHER: tuple[Any, ...] = (
    *(None, True, [], {}, "", "x", 1.5, 1e308, float("inf"), float("nan"), -0.0),
    *([[]], [None], {"a": None}, [1] * 300, "0-9223372036854775807", "0-8191:1/2", "1e30", "1E99"),
    *("9999999999Gi", "1" + "0" * 30 + "Ei", _DIGITS, "0x" + "f" * 5000, "\uff11", "512\x1c"),
)
_NUMBER = re.compile(r"[0-9]+")

Files = dict[str, bytes]


def extreme(random: Random, value: Any) -> Any:
    """`value` with one to three of its parts, or numbers in its texts, extreme."""
    made = json.loads(json.dumps(value))
    for _ in range(random.choice((1, 1, 2, 3))):
        known = list(places(made))
        if not known:
            return random.choice(_OTHER)
        container, key = random.choice(known)
        text = container[key]
        if isinstance(text, str) and _NUMBER.search(text) and random.random() < 2 / 3:
            container[key] = in_text(random, text)
        elif random.random() < 1 / 2:
            container[key] = random.choice(NUMBERS)
        else:
            container[key] = json.loads(json.dumps(random.choice(_OTHER)))
    return made


def in_text(random: Random, text: str) -> str:
    """A text with one of its numbers extreme; itself where it has none."""
    numbers = list(_NUMBER.finditer(text))
    if not numbers:
        return text
    number = random.choice(numbers)
    new = random.choice((*map(str, NUMBERS), _DIGITS, "1e30", ""))
    return text[: number.start()] + new + text[number.end() :]


def written(random: Random, documents: Sequence[Any], changed: int) -> bytes:
    """Documents as JSON, or as YAML, of which so many are extreme."""
    chosen = set(random.sample(range(len(documents)), min(changed, len(documents))))
    made = [
        extreme(random, document) if index in chosen else document
        for index, document in enumerate(documents)
    ]
    if random.random() < 1 / 2:
        return yaml.safe_dump_all(made, allow_unicode=True).encode()
    return "\n---\n".join(map(json.dumps, made)).encode()


def _text(random: Random, data: bytes) -> bytes:
    text = data.decode()
    for _ in range(random.choice((1, 1, 2, 3))):
        text = in_text(random, text)
    return text.encode()


def _within(files: Files, *words: str) -> int:
    """Run a command in a folder with these files."""
    with tempfile.TemporaryDirectory() as name, bounded(SECONDS):
        _write(Path(name), files)
        return ends(Path(name), *words)


def _write(folder: Path, files: Files) -> None:
    for path, data in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)


def profile_files(data: bytes) -> None:
    """PerformanceProfiles alone, with their snippet as text, and among objects of a cluster."""
    random = Random(data)  # noqa: S311 - no secret
    objects = [json.loads(json.dumps(item)) for item in seeds.PROFILE]
    if random.random() < 1 / 3:
        objects = objects[:1]
    notes = objects[0]["metadata"]["annotations"]
    snippet = extreme(random, notes[seeds.SNIPPET]) if random.random() < 1 / 2 else {}
    notes[seeds.SNIPPET] = json.dumps(snippet)
    files = {"a.yaml": written(random, objects, random.choice((0, 1, 1, 2)))}
    if random.random() < 1 / 3:
        _within(files, "import", "performanceprofile", "a.yaml", "--release", "4.20", "--stdout")
    else:
        _within(files, "validate", "a.yaml")


_CRIO = b"""\
[crio.runtime]
pids_limit = 4096
log_size_max = 8192
infra_ctr_cpuset = "0-1"
shared_cpuset = "2-3"
ctr_stop_timeout = 30
[crio.runtime.runtimes.high]
runtime_path = "/bin/crun"
allowed_annotations = ["cpu-load-balancing.crio.io"]
[crio.runtime.workloads.management]
activation_annotation = "target.workload.openshift.io/management"
annotation_prefix = "resources.workload.openshift.io"
[crio.runtime.workloads.management.resources]
cpushares = 0
cpuset = "0-1"
"""
_CONTAINERD = b"""\
version = 3
root = "/var/lib/containerd"
oom_score = -999
[grpc]
max_recv_message_size = 16777216
[plugins."io.containerd.cri.v1.runtime"]
max_concurrent_downloads = 3
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
SystemdCgroup = true
[plugins."io.containerd.nri.v1.nri"]
plugin_registration_timeout = "5s"
[timeouts]
"io.containerd.timeout.shim.load" = "5s"
"""


def runtime_files(data: bytes) -> None:
    """Files of CRI-O, containerd and kubelets, with and without drop-ins."""
    random = Random(data)  # noqa: S311 - no secret
    match random.randint(0, 2):
        case 0:
            names = random.sample(("crio.conf", "crio.conf.d/10-a", "crio.conf.d/20-b.conf"), 2)
            _within({f"crio/{name}": _text(random, _CRIO) for name in names}, "validate", *_OF_CRIO)
        case 1:
            files = {"c/config.toml": _text(random, _CONTAINERD)}
            _within(files, "validate", "--containerd", "c")
        case _:
            known = [yaml.safe_load(seeds.KUBELET_HEAD + text) for text in seeds.KUBELET]
            whole = [mapping for mapping in known if isinstance(mapping, dict)]
            files = {"config.yaml": written(random, [random.choice(whole)], 1)}
            files["d/10-a.conf"] = written(random, [random.choice(whole)], 1)
            more = ("--config-dir", "d") if random.random() < 1 / 2 else ()
            _within(files, "validate", "config.yaml", *more)


_OF_CRIO = ("--crio", "crio")


@cache
def _objects() -> tuple[dict[str, Any], ...]:
    text = Path(__file__).with_name("objects.yaml").read_text()
    return tuple(yaml.safe_load_all(text))


def _with_json(random: Random, value: Any) -> Any:
    """Like `extreme`, inside of texts that are JSON."""
    holders = [
        (container, key)
        for container, key in places(value)
        if isinstance(container[key], str) and container[key][:1] in ("{", "[")
    ]
    for container, key in holders:
        if random.random() < 1 / 2:
            container[key] = json.dumps(extreme(random, json.loads(container[key])))
    return value


def objects(data: bytes) -> None:
    """Objects of Koordinator, pods, and NodeResourceTopologies: `validate`, and `check` of a node
    with them.
    """
    random = Random(data)  # noqa: S311 - no secret
    known = [*_objects(), *_objects(), *seeds.PODS_OF_MECHANISMS, *seeds.PODS]
    chosen = json.loads(json.dumps(random.sample(known, random.randint(1, 4))))
    changed = [_with_json(random, item) for item in chosen]
    files = {"a.yaml": written(random, changed, random.choice((0, 1, 2)))}
    if random.random() < 2 / 3:
        _within(files, "validate", "a.yaml")
        return
    project = wholes.whole()
    cluster = random.choice(sorted(project.nodes))
    with tempfile.TemporaryDirectory() as name, bounded(SECONDS):
        _write(Path(name), files)
        words = ["--state", str(project.folder / "out"), "--root", str(project.nodes[cluster])]
        ends(Path(name), "check", f"{cluster}-0", *words, "--objects", "a.yaml")


def states(data: bytes) -> None:
    """The state files of kubelets, from which `simulate` starts."""
    random = Random(data)  # noqa: S311 - no secret
    project, known = wholes.whole(), commands.states()
    with tempfile.TemporaryDirectory() as name, bounded(SECONDS), wholes.compiled_once():
        folder = Path(name)
        words = ["simulate", f"{random.choice(wholes.CLUSTERS)}-0", str(folder / "pods.yaml")]
        (folder / "pods.yaml").write_bytes(written(random, seeds.PODS[:2], random.choice((0, 1))))
        for number, state in enumerate(known):
            changed = extreme(random, state)
            if isinstance(changed, dict) and random.random() < 1 / 2:
                changed["checksum"] = 0
            path = folder / f"state-{number}"
            path.write_text(json.dumps(changed))
            words += ["--state", str(path)]
        words += random.choice(([], ["--any-order"], ["--policy", "dynamic"], ["--with", "all"]))
        ends(project.folder, *words)


def lock(data: bytes) -> None:
    """The lock file: `validate`, `compile` and `show` with one that somebody edited."""
    random = Random(data)  # noqa: S311 - no secret
    whole, _, _, _ = commands.project_once()
    text = (whole / LOCK_PATH).read_bytes()
    with tempfile.TemporaryDirectory() as name, bounded(SECONDS):
        made = Path(name, "project")
        shutil.copytree(whole, made)
        documents = list(yaml.safe_load_all(text))
        changed = _text(random, text) if random.random() < 1 / 2 else written(random, documents, 1)
        (made / LOCK_PATH).write_bytes(changed)
        ends(made, *random.choice((["validate"], ["compile"], ["show", NODE], ["fmt"])))


_OF_PROPOSALS: tuple[list[str], ...] = (
    ["--list"],
    ["--list", "--json"],
    ["--pool", "worker-cnf", "--reserved", "2", "--stdout"],
    ["--pool", "worker-cnf", "--reserved", "2", "--split", "--stdout"],
    ["--pool", "worker-cnf", "--reserved", "2", "--offlined", "1", "--stdout"],
    ["--pool", "worker-cnf", "--reserved", "2", "--hardware-tuning", "3000", "2000", "--stdout"],
)


def proposals(data: bytes) -> None:
    """`propose` with extreme numbers: on its command line, in objects, and in a node's files."""
    random = Random(data)  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as name, bounded(SECONDS):
        folder, tree = Path(name), dict(trees.server())
        for path in random.sample(sorted(tree), random.choice((0, 1, 2, 5))):
            tree[path] = in_text(random, tree[path])
        known = [*CLUSTER, node("w0", "worker", "worker-cnf")]
        gather(folder / "mg", known, {"w0": tree})
        paths = sorted(path for path in (folder / "mg").rglob("*.yaml") if path.is_file())
        for file in random.sample(paths, random.choice((0, 1, 2))):
            file.write_bytes(written(random, list(yaml.safe_load_all(file.read_bytes())), 1))
        words = list(random.choice(_OF_PROPOSALS))
        if random.random() < 1 / 2:
            words = [in_text(random, word) if word.isdigit() else word for word in words]
        ends(folder, "propose", "mg", *words)


def expected(data: bytes) -> None:
    """`check` with an expected state that somebody made, its digest included."""
    random, known = Random(data), wholes.whole()  # noqa: S311 - no secret
    cluster = random.choice(sorted(known.nodes))
    folder = f"clusters/{cluster}/expected/state/"
    names = sorted(path for path in known.compiled.files if path.startswith(folder))
    with tempfile.TemporaryDirectory() as name, bounded(SECONDS):
        path = Path(name, "state.json")
        state = json.loads(known.compiled.files[random.choice(names)])
        changed = extreme(random, state)
        if random.random() < 1 / 4:
            changed = extreme(random, changed)
        path.write_text(wholes.with_digest(changed))
        words = ["--root", str(known.nodes[cluster]), "--state", str(path)]
        (Path(name) / "a.yaml").write_bytes(written(random, [*_objects(), *seeds.PODS], 0))
        forms: tuple[list[str], ...] = (
            [],
            ["--format", "json"],
            ["--coverage"],
            ["--objects", "a.yaml"],
        )
        ends(Path(name), "check", f"{cluster}-0", *words, *random.choice(forms))


def provenance(data: bytes) -> None:
    """`provenance` of a project in whose inputs, lock or `out/` something is otherwise."""
    random = Random(data)  # noqa: S311 - no secret
    whole, _, _, _ = commands.project_once()
    with tempfile.TemporaryDirectory() as name, bounded():
        made = Path(name, "project")
        shutil.copytree(whole, made, ignore=shutil.ignore_patterns(commands.CACHE))
        if random.random() < 1 / 2:
            commands.spoil(made, random)
        paths = sorted(path for path in made.rglob("*.yaml") if path.is_file())
        for path in random.sample(paths, min(len(paths), random.choice((0, 1, 1)))):
            try:
                documents = list(yaml.safe_load_all(path.read_bytes()))
            except (ValueError, OSError, RecursionError, yaml.YAMLError):
                continue
            path.write_bytes(written(random, documents, 1))
        code = ends(made, "provenance")
        if code == 0:
            assert ends(made, "compile", "--check") == 0
        commands.open_up(made)


COMMANDS: dict[str, Callable[[bytes], None]] = {
    "profile-files": profile_files,
    "runtime-files": runtime_files,
    "objects-files": objects,
    "states": states,
    "lock": lock,
    "proposals": proposals,
    "expected": expected,
    "provenance": provenance,
}
