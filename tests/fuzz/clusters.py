"""`check cluster` against a server that answers rightly but for a few changes: of values, of texts
in them, of statuses, of bytes, of pages; and with compiled objects that somebody edited.
"""

import json
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from unittest.mock import patch

from cpuplan import backends
from cpuplan.components.koordinator import node as koordinator
from cpuplan.plan import ConfiguredPlan, Plan
from tests.api_http import Api, Writer, answer, kubeconfig, serving
from tests.fuzz.limits import own_folder
from tests.fuzz.mutation import disturbed, mutate
from tests.live import Cluster
from tests.machines.plans import plan, regular

_STATUSES = (
    200,
    201,
    204,
    206,
    301,
    400,
    401,
    403,
    404,
    406,
    410,
    413,
    418,
    429,
    500,
    503,
    504,
    599,
)
_KINDS = ("application/json", "text/html", "application/yaml", "", "application/json;as=Table")
_LATER = ("0", "1", "100000", "-1", "9" * 30, "soon", "")
_FORMATS = ("text", "json", "junit", "sarif", "github", "gitlab", "jsonl", "prometheus")
_ENOUGH = ("1", "5", "80%", "100%")
_PAGES = (1, 2, 500)
_NODES = ("worker-0", "worker-1")
#: What lives as long as this process.
_FOR_ALL = ExitStack()


class World(NamedTuple):
    """A project with what was compiled, and the objects of a cluster that has it."""

    project: Path
    objects: tuple[dict[str, Any], ...]


@cache
def _worlds() -> tuple[World, ...]:
    machine = regular(sockets=2, cores=4, threads=2)
    pages = {"hugePages": {"pages": [{"size": "1G", "count": 2}]}}
    mixed = {"runtime": {"mixedCpus": True, "sharedNamespaces": ["du"]}}
    openshift = plan(
        machine,
        reserved="0,8",
        shared="1,9",
        version="4.20",
        target={"cpuPartitioning": True},
        spec={**pages, **mixed},
    )
    others = [
        plan(
            machine,
            reserved="0,8",
            platform="kubernetes",
            version="1.35",
            target={"mechanism": mechanism},
        )
        for mechanism in ("koordinator", "balloons", "dra")
    ]
    return tuple(map(_world, (openshift, *others)))


def _world(made: ConfiguredPlan) -> World:
    project = own_folder()
    for path, data in backends.tree(Plan((made,))).items():
        if "/expected/" in path:
            (project / "out" / path).parent.mkdir(parents=True, exist_ok=True)
            (project / "out" / path).write_bytes(data)
    listed = [*_of_mechanism(made), *Cluster(made).objects(), *_compiled(project)]
    return World(project, tuple({_identity(item): item for item in reversed(listed)}.values()))


def _identity(item: Mapping[str, Any]) -> tuple[str, str, str]:
    metadata = item["metadata"]
    return item["kind"], metadata.get("namespace", ""), metadata["name"]


def _compiled(project: Path) -> list[dict[str, Any]]:
    files = sorted(project.rglob("expected/objects/*.json"))
    return [json.loads(file.read_bytes())["object"] for file in files]


def _of_mechanism(made: ConfiguredPlan) -> list[dict[str, Any]]:
    """What the programs of a mechanism publish of the nodes."""
    from tests.unit.check.cluster.test_devices import published

    objects: list[dict[str, Any]] = []
    if given := made.settings.of(koordinator.NAME):
        metadata = koordinator.metadata(given)
        nodes = [node for node in Cluster(made).objects() if node["kind"] == "Node"]
        objects += [{**node, "metadata": {**node["metadata"], **metadata}} for node in nodes]
        objects += [_pod("a", "4-5"), _pod("b", "6"), _pod("c", "x")]
    if made.node_class.target.has_dra:
        for item in published(made):
            text = json.dumps(item)
            objects += [json.loads(text.replace("worker-0", name)) for name in _NODES]
    return objects


def _pod(name: str, cpus: str) -> dict[str, Any]:
    amounts = {"cpu": "2", "memory": "1Gi"}
    status = {"scheduling.koordinator.sh/resource-status": json.dumps({"cpuset": cpus})}
    resources = {"requests": amounts, "limits": amounts}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "default",
            "labels": {"koordinator.sh/qosClass": "LSR"},
            "annotations": status,
        },
        "spec": {
            "nodeName": "worker-0",
            "containers": [{"name": "main", "resources": resources}],
        },
        "status": {"phase": "Running"},
    }


@cache
def _server() -> tuple[Api, Path]:
    """One server for all runs, and a kubeconfig for it."""
    api, folder = Api([]), own_folder()
    return api, kubeconfig(folder / "config", _FOR_ALL.enter_context(serving(api)))


def check_cluster(data: bytes, ends: Callable[..., int], more: ExitStack) -> None:
    """Whatever a server says: an exit code of the manual, and 0 only where it said anything."""
    random = Random(data)  # noqa: S311 - no secret
    world = random.choice(_worlds())
    api, file = _server()
    api.objects = list(world.objects)
    api.page, api.refusals, api.hostile, api.unserved = random.choice(_PAGES), {}, {}, ()
    is_mute = random.random() < 1 / 20
    if is_mute:
        status = random.choice([status for status in _STATUSES if status != 200])
        api.hostile["/"] = answer(random.choice((b"", b"{}", b"[" * 3000)), status)
    else:
        for change in random.sample(_CHANGES, random.choice((1, 1, 2))):
            change(random, api)
    project = _edited(random, world, more) if random.random() < 1 / 10 else world.project
    words = ["check", "cluster", "--kubeconfig", str(file), "--timeout", "3s"]
    words += ["--format", random.choice(_FORMATS), "--min-verified", random.choice(_ENOUGH)]
    words += random.choice(([], ["--coverage"], ["-v"], ["--wait", "10ms"]))
    with patch("time.sleep", lambda _: None):
        code = ends(project, *words)
    assert not (is_mute and code == 0), "it holds, and nothing was told"


def _edited(random: Random, world: World, more: ExitStack) -> Path:
    """The project with an object that somebody edited, in a folder of its own."""
    import shutil

    folder = Path(more.enter_context(tempfile.TemporaryDirectory()), "project")
    shutil.copytree(world.project, folder)
    files = sorted(folder.rglob("expected/objects/*.json"))
    if files:
        file = random.choice(files)
        text = json.dumps(disturbed(random, json.loads(file.read_bytes()))).encode()
        file.write_bytes(text if random.random() < 1 / 2 else mutate(random, text))
    return folder


def _values(random: Random, api: Api) -> None:
    rate = random.choice((0.003, 0.03))
    changed = [disturbed(random, item, rate=rate) for item in api.objects]
    # What finds objects needs these; the hostile answers below do without.
    kept = zip(api.objects, changed, strict=True)
    api.objects = [
        {**new, **_typed(old), "metadata": {**_mapping(new.get("metadata")), **_named(old)}}
        for old, new in kept
        if isinstance(new, dict)
    ]


def _typed(item: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item[name] for name in ("apiVersion", "kind")}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _named(item: Mapping[str, Any]) -> dict[str, Any]:
    names = ("name", "namespace")
    return {name: item["metadata"][name] for name in names if name in item["metadata"]}


def _texts(random: Random, api: Api) -> None:
    """Texts in values: JSON in annotations, lists of CPUs, files of a MachineConfig."""
    api.objects = [_respelled(random, item, random.choice((0.02, 0.2))) for item in api.objects]


def _respelled(random: Random, value: Any, rate: float, key: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _respelled(random, item, rate, name) for name, item in value.items()}
    if isinstance(value, list):
        return [_respelled(random, item, rate) for item in value]
    if isinstance(value, str) and key not in ("kind", "name") and random.random() < rate:
        return mutate(random, value.encode()).decode("latin-1")
    return value


def _statuses(random: Random, api: Api) -> None:
    path = random.choice(_paths(api))
    body = random.choice((b"", b"[" * 3000, b"{}", b"null", b'{"message": [1]}', b'{"details": 3}'))
    status, kind = random.choice(_STATUSES), random.choice(_KINDS)
    more = {"Retry_After": random.choice(_LATER), "Location": "http://127.0.0.1:9/"}
    api.hostile[path] = answer(body, status, kind, **more)


def _bytes(random: Random, api: Api) -> None:
    """An answer with other bytes, in its body or anywhere."""
    path = random.choice(_paths(api))
    status, body = api.answer("GET", path, {})
    data = body.encode() if isinstance(body, str) else json.dumps(body).encode()
    if random.random() < 1 / 2:
        api.hostile[path] = answer(mutate(random, data), status)
        return
    whole: list[bytes] = []
    answer(data, status)(_Kept(whole))
    changed = mutate(random, whole[0][:200]) + whole[0][200:]
    api.hostile[path] = lambda file: file.write(changed)


class _Kept:
    """A file that keeps what is written."""

    def __init__(self, kept: list[bytes]) -> None:
        self._kept = kept

    def write(self, data: bytes) -> None:
        self._kept.append(data)

    def flush(self) -> None:
        """Nothing is held back."""


def _pages(random: Random, api: Api) -> None:
    """Lists that go on, in a circle or not at all."""
    path = random.choice(_paths(api))
    token: Any = random.choice(("same", "", None, 1, [], {}, "é", "x" * 10_000, "&limit=0#"))
    _, body = api.answer("GET", path, {})
    page = {**body, "metadata": {"continue": token}} if isinstance(body, dict) else body
    numbers = iter(range(10**9))
    is_counted = random.random() < 1 / 4

    def write(file: Writer) -> None:
        if is_counted:
            page["metadata"]["continue"] = str(next(numbers))
        answer(page)(file)

    api.hostile[path] = write


def _wholes(random: Random, api: Api) -> None:
    """A list, or an object, whose very frame has other values."""
    path = random.choice(_paths(api))
    _, body = api.answer("GET", path, {})
    api.hostile[path] = answer(disturbed(random, body, rate=random.choice((0.05, 0.3))))


def _paths(api: Api) -> list[str]:
    """The paths that are asked for, and the beginning of all."""
    from cpuplan.check.cluster.live_objects import KINDS
    from cpuplan.check.cluster.reading import Path as Where

    paths = ["/"]
    for item in api.objects:
        version = item["apiVersion"].rpartition("/")[2]
        where = Where(KINDS[item["kind"]], version, item["metadata"].get("namespace", ""))
        paths.append(where.text(item["metadata"]["name"]))
        paths.append(where._replace(namespace="").text())
    return sorted(set(paths))[1:]


_CHANGES: tuple[Callable[[Random, Api], None], ...] = (
    _values,
    _texts,
    _statuses,
    _bytes,
    _pages,
    _wholes,
)
