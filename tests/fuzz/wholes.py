"""Fuzzed commands about whole projects: earlier output, branches, documents of every kind, nodes'
expected states, pods for every mechanism.

What a run changes is chosen by its bytes. Mostly it is a value, so that what is changed is read;
sometimes the bytes of a file, or what the file is.
"""

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

import yaml

from cpuplan import pipeline
from cpuplan.base.emit import to_json
from cpuplan.pipeline import Compiled, Project
from tests.fuzz import commands, seeds
from tests.fuzz.commands import ends
from tests.fuzz.limits import bounded, own_folder
from tests.fuzz.mutation import altered, mutate
from tests.git_projects import git
from tests.hosts import make_root

_FOLDER = Path(__file__).parent / "whole"
CLUSTERS = ("plain", "balloons", "aware", "claims", "koordinator", "edge", "profile")
_REFERENCE = "deploy"


class Whole(NamedTuple):
    """A project with every kind of document, compiled, and the same as it was before a change."""

    folder: Path
    project: Project
    compiled: Compiled
    before: Mapping[str, bytes]
    nodes: Mapping[str, Path]


@cache
def whole() -> Whole:
    """Made once for all runs."""
    top = own_folder()
    folder = top / "project"
    shutil.copytree(_FOLDER, folder)
    earlier = dict(pipeline.compile_project(pipeline.load(folder)).files)
    for path in sorted((folder / "intents").iterdir()):
        path.write_text(path.read_text().replace("cores: 1, per: numaNode", "cores: 2"))
    assert ends(folder, "compile") == 0
    loaded = pipeline.load(folder)
    compiled = pipeline.compile_project(loaded)
    nodes = {}
    for plan in compiled.plan.nodes:
        if plan.node_class.target.platform == "kubernetes":
            nodes[plan.node_class.cluster] = make_root(plan, top / plan.node_class.cluster)
    return Whole(folder, loaded, compiled, earlier, nodes)


@contextmanager
def compiled_once() -> Iterator[None]:
    """The project as it was read and compiled once."""
    known = whole()
    with (
        patch("cpuplan.pipeline.load", lambda *_, **__: known.project),
        patch("cpuplan.pipeline.compile_project", lambda *_, **__: known.compiled),
        patch("cpuplan.cli.nodes.load_plan", lambda _: (known.project, known.compiled.plan)),
    ):
        yield


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    for path, data in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


def _changed(random: Random, path: str, data: bytes) -> bytes:
    """A file with some of its values changed; seldom its bytes."""
    if random.random() < 1 / 5:
        return mutate(random, data)
    if random.random() < 1 / 10:
        return random.choice(seeds.merged(data, b"name", b"other"))
    try:
        documents = [json.loads(data)] if path.endswith(".json") else list(yaml.safe_load_all(data))
    except (ValueError, yaml.YAMLError):
        return mutate(random, data)
    made = [altered(random, document, random.choice((1, 1, 2, 4))) for document in documents]
    if path.endswith(".json"):
        return (
            to_json(made[0]).encode() if isinstance(made[0], dict) else json.dumps(made[0]).encode()
        )
    return yaml.safe_dump_all(made, sort_keys=False, allow_unicode=True).encode()


def _spoiled(random: Random, files: Mapping[str, bytes], paths: list[str]) -> dict[str, bytes]:
    """Files of which one to three are changed, missing, empty, or have what another one has."""
    made = dict(files)
    for path in random.sample(paths, random.choice((1, 1, 2, 3))):
        match random.randint(0, 9):
            case 0:
                made.pop(path, None)
            case 1:
                made[path] = made.get(random.choice(paths), b"")
            case 2:
                name = random.choice(("x", "../x", "a b", "%0a")).replace("/", "_")
                made[f"{path.rpartition('/')[0]}/{name}.{path.rpartition('.')[2]}"] = made.get(
                    path, b""
                )
            case _:
                made[path] = _changed(random, path, made.get(path, b""))
    return made


def _compared(files: Mapping[str, bytes]) -> list[str]:
    """The files of earlier output that a plan reads."""
    parts = (".cpuplan/", "/manifests/", "/expected/")
    return sorted(path for path in files if any(part in f"/{path}" for part in parts))


def plan(data: bytes) -> None:
    """`plan` against output that somebody changed since."""
    random, known = Random(data), whole()  # noqa: S311 - no secret
    with tempfile.TemporaryDirectory() as name, bounded(), compiled_once():
        out = Path(name, "out")
        _write(out, _spoiled(random, known.before, _compared(known.before)))
        words = ["plan", "--against-folder", str(out), *random.choice(_FORMS)]
        if random.random() < 1 / 4:
            words += ["--pods", str(_pods(random, Path(name)))]
        code = _exit(known.folder, *words)
        assert code in (0, 1, 2, 3, 4), code


_FORMS: tuple[list[str], ...] = (
    [],
    ["--format", "json"],
    ["--format", "markdown"],
    ["-v"],
    ["--max-impact", "live"],
)


def _exit(folder: Path, *words: str) -> int:
    """As `ends`, with the exit codes of plans."""
    try:
        return ends(folder, *words)
    except AssertionError as error:
        if str(error).startswith("exit code 4 "):
            return 4
        raise


def _pods(random: Random, folder: Path) -> Path:
    """A file of pods, some of whose values are odd."""
    chosen = random.sample(seeds.PODS + seeds.PODS_OF_MECHANISMS, random.randint(1, 4))
    changed = [altered(random, pod, random.choice((0, 1, 1, 2))) for pod in chosen]
    text = "\n---\n".join(map(json.dumps, changed)).encode()
    path = folder / "pods.yaml"
    path.write_bytes(mutate(random, text) if random.random() < 1 / 10 else text)
    return path


_MODES: tuple[list[str], ...] = (
    [],
    ["--each"],
    ["--any-order"],
    ["--policy", "dynamic"],
    ["--scheduler", "koordinator"],
    ["--scheduler", "both"],
    ["--scheduler", "topology-aware"],
    ["--with", "all"],
    ["--with", "all", "--adapt"],
    ["--with", "static,koordinator", "--adapt"],
    ["--with", "dra,balloons"],
)


def simulate_modes(data: bytes) -> None:
    """`simulate` of odd pods in every way that it can be asked."""
    random, known, states = Random(data), whole(), commands.states()  # noqa: S311
    with tempfile.TemporaryDirectory() as name, bounded(), compiled_once():
        folder = Path(name)
        node = f"{random.choice(CLUSTERS)}-0"
        words = ["simulate", node, str(_pods(random, folder)), *random.choice(_MODES)]
        if random.random() < 1 / 3:
            words += ["--format", "json"]
        for number, state in enumerate(states):
            if random.random() < 1 / 6:
                path = folder / f"state-{number}"
                changed = altered(random, state, random.choice((0, 1, 2)))
                path.write_bytes(json.dumps(changed).encode())
                words += ["--state", str(path)]
        ends(known.folder, *words)


def agent(data: bytes) -> None:
    """`agent --once` and `check --state` with a state that somebody wrote, its digest included."""
    random, known = Random(data), whole()  # noqa: S311
    cluster = random.choice(sorted(known.nodes))
    paths = [
        path
        for path in known.compiled.files
        if path.startswith(f"clusters/{cluster}/expected/state/")
    ]
    with tempfile.TemporaryDirectory() as name, bounded():
        path = Path(name, "state.json")
        text = known.compiled.files[random.choice(paths)]
        changed = altered(random, json.loads(text), random.choice((1, 1, 2, 3)))
        path.write_bytes(with_digest(changed).encode())
        root = str(known.nodes[cluster])
        words = ["--root", root, "--state", str(path), "--node", f"{cluster}-0"]
        textfile = ["--textfile", str(Path(name, "a.prom"))] if random.random() < 1 / 2 else []
        ends(Path(name), "agent", "--once", "--listen", "off", *words, *textfile)


def with_digest(data: Any) -> str:
    """A state as text, with the digest of what it says, so that it is read and not refused."""
    if isinstance(data, dict):
        try:
            wanted = {
                "class": [data["cluster"], data["class"]],
                "release": [data["release"]["platform"], data["release"]["version"]],
                "pools": {name: pool["cpus"] for name, pool in data["pools"].items()},
                "settings": [
                    [setting["component"], setting["key"], _plain(setting["value"])]
                    for setting in data["settings"]
                ],
                "files": {
                    file: [content["text"], content["executable"]]
                    for file, content in data["files"].items()
                },
            }
            data = {**data, "digest": sha256(to_json(wanted).encode()).hexdigest()}
        except (KeyError, TypeError, AttributeError, ValueError):
            pass
    return json.dumps(data)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if value.keys() == {"cpuset()"}:
            return value["cpuset()"]
        return {key: _plain(item) for key, item in value.items()}
    return list(map(_plain, value)) if isinstance(value, list) else value


_OF_DOCUMENTS = (
    ["validate"],
    ["validate", "--format", "json"],
    ["compile"],
    ["compile", "--check"],
    ["show"],
    ["show", "plain-0"],
    ["show", "main-small", "--svg", "a.svg"],
    ["show", "Hardware/small"],
    ["explain", "plain-0", "1"],
    ["explain", "edge-0", "isolated"],
    ["explain", "edge-0", "machineConfigs"],
    ["explain", "plain-0", "kernel"],
    ["explain", "plain-0", "reservedSystemCPUs", "--no-alternatives"],
    ["fmt"],
)


def documents(data: bytes) -> None:
    """Commands that read a project with Cluster, Delivery and Waivers documents."""
    random, known = Random(data), whole()  # noqa: S311
    with tempfile.TemporaryDirectory() as name, bounded():
        made = Path(name, "project")
        shutil.copytree(known.folder, made)
        files = {
            path.relative_to(made).as_posix(): path.read_bytes()
            for top in ("inventories", "intents")
            for path in sorted((made / top).glob("*.yaml"))
            if path.name != "plan.lock.yaml"
        }
        spoiled = _spoiled(random, files, sorted(files))
        for path in files.keys() - spoiled.keys():
            (made / path).unlink()
        _write(made, spoiled)
        for words in random.sample(_OF_DOCUMENTS, 2):
            ends(made, *words)


def imports(data: bytes) -> None:
    """`import` over inventories that somebody changed, and `show --import`."""
    random, known = Random(data), whole()  # noqa: S311
    with tempfile.TemporaryDirectory() as name, bounded():
        made = Path(name, "project")
        shutil.copytree(known.folder / "inventories", made / "inventories")
        source = Path(name, "plain-0")
        source.write_bytes(random.choice((seeds.FORMATS["lscpu"], seeds.FORMATS["machineinfo"]))[0])
        assert ends(made, "import", str(source), "--cluster", "plain", "--force") in (0, 1, 2)
        files = {
            path.relative_to(made).as_posix(): path.read_bytes()
            for path in sorted((made / "inventories").glob("*.yaml"))
        }
        _write(made, _spoiled(random, files, sorted(files)))
        code = ends(made, "import", str(source), "--cluster", "plain")
        if code == 0:
            assert ends(made, "import", str(source), "--cluster", "plain", "--diff") == 0
        if random.random() < 1 / 4:
            source.write_bytes(mutate(random, source.read_bytes()))
            ends(made, "show", "--import", str(source))


@cache
def _repository() -> Path:
    """The whole project in Git, published to a branch."""
    folder = own_folder() / "project"
    shutil.copytree(whole().folder, folder, ignore=shutil.ignore_patterns(commands.CACHE))
    git(folder, "init", "-q")
    for name, value in (("user.name", "a"), ("user.email", "a@b"), ("gc.auto", "0")):
        git(folder, "config", name, value)
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", "all")
    return folder


_OF_BRANCHES = (
    ["plan", "--against", _REFERENCE],
    ["publish", "--branch", _REFERENCE],
    ["publish", "--branch", _REFERENCE, "--cluster", "edge", "--force"],
    ["publish", "--branch", _REFERENCE, "--force"],
    ["verify-output", "--ref", _REFERENCE],
    ["validate", "--against", _REFERENCE],
    ["merge-check", _REFERENCE],
)


def branches(data: bytes) -> None:
    """Commands about a branch that somebody else made: its `out/`, and its inputs."""
    random, known = Random(data), whole()  # noqa: S311
    repository = _repository()
    words = random.choice(_OF_BRANCHES)
    files = {f"out/{path}": content for path, content in known.before.items()}
    wanted = [f"out/{path}" for path in _compared(known.before)]
    if words[0] in ("validate", "merge-check"):
        inputs = {
            path.relative_to(repository).as_posix(): path.read_bytes()
            for top in ("inventories", "intents")
            for path in sorted((repository / top).glob("*.yaml"))
        }
        files |= inputs
        wanted = [*sorted(inputs) * 5, *(path for path in wanted if ".cpuplan" in path)]
        wanted = sorted(set(wanted))
    with bounded():
        _import(repository, _spoiled(random, files, wanted), random)
        cached = words[0] in ("plan", "publish")
        if cached:
            with compiled_once(), patch("cpuplan.cli.compilation.compile_again", _compile_again):
                _exit(repository, *words)
        else:
            ends(repository, *words)


def _compile_again(*_: Any, **__: Any) -> tuple[Project, Compiled]:
    project, compiled = whole().project, whole().compiled
    inputs = project.inputs._replace(root=_repository())
    return project._replace(root=_repository(), inputs=inputs), compiled


def _import(repository: Path, files: Mapping[str, bytes], random: Random) -> None:
    """Make the branch with these files, some of them links or executable, after the present one."""
    lines = [b"commit refs/heads/%s\n" % _REFERENCE.encode()]
    message = b"cpuplan: changes\n\nCpuplan-Folder: out\n" if random.random() < 1 / 2 else b"x"
    lines.append(
        b"committer a <a@b> 0 +0000\ndata %d\n%s\nfrom refs/heads/%s\ndeleteall\n"
        % (
            len(message),
            message,
            git(repository, "branch", "--show-current").stdout.strip().encode(),
        )
    )
    for path, content in files.items():
        mode = random.choice((b"100755", b"120000")) if random.random() < 1 / 500 else b"100644"
        name = json.dumps(path).encode()
        lines.append(b"M %s inline %s\ndata %d\n%s\n" % (mode, name, len(content), content))
    import subprocess

    subprocess.run(
        ["git", "fast-import", "--quiet", "--force"],
        cwd=repository,
        input=b"".join(lines),
        check=True,
        env={**os.environ, "GIT_CONFIG_GLOBAL": "/dev/null"},
    )


COMMANDS: dict[str, Callable[[bytes], None]] = {
    "plan": plan,
    "modes": simulate_modes,
    "agent": agent,
    "documents": documents,
    "inventories": imports,
    "branches": branches,
}
