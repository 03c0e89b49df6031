"""Every key of the drop-ins is known to the release of CRI-O, and of the right type.

CRI-O passes over keys that it does not know, and does not start with a value of another type
(pkg/config/config.go of its repository). No package of CRI-O is at hand, so that the table stands
for its loader.
"""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

import pytest

from cpuplan.backends import kubernetes
from cpuplan.backends.openshift import objects
from cpuplan.components.openshift import pinning
from cpuplan.facts import platforms
from tests.machines.plans import plan

#: Keys below [crio.runtime], `*` for a name: the type, and the first version with it (None: before
#: 1.27).
KNOWN: dict[str, tuple[type, tuple[int, int] | None]] = {
    "infra_ctr_cpuset": (str, None),
    "shared_cpuset": (str, (1, 29)),
    "irqbalance_config_file": (str, None),
    "irqbalance_config_restore_file": (str, None),
    "min_injected_gomaxprocs": (int, (1, 36)),
    "runtimes.*.runtime_path": (str, None),
    "runtimes.*.runtime_type": (str, None),
    "runtimes.*.runtime_root": (str, None),
    "runtimes.*.allowed_annotations": (list, None),
    "runtimes.*.inherit_default_runtime": (bool, (1, 32)),
    "runtimes.*.default_annotations.*": (str, (1, 32)),
    "runtimes.*.exec_cpu_affinity": (str, (1, 34)),
    "workloads.*.activation_annotation": (str, None),
    "workloads.*.annotation_prefix": (str, None),
    "workloads.*.resources.cpushares": (int, None),
    "workloads.*.resources.cpuset": (str, None),
    "nri.enable_nri": (bool, None),
    "nri.default_validator.nri_enable_default_validator": (bool, (1, 34)),
    "nri.default_validator.nri_validator_required_plugins": (list, (1, 34)),
    "nri.default_validator.nri_validator_tolerate_missing_plugins_annotation": (str, (1, 34)),
}
#: Annotations that a handler may allow, and since when; CRI-O drops a handler with any other.
ALLOWED: dict[str, tuple[int, int] | None] = {
    "cpu-load-balancing.crio.io": None,
    "cpu-quota.crio.io": None,
    "irq-load-balancing.crio.io": None,
    "cpu-c-states.crio.io": None,
    "cpu-freq-governor.crio.io": None,
    "cpu-shared.crio.io": (1, 29),
}
#: Without blanks, as the Go parser wants it; empty where nothing is pinned.
_CPU_LIST = re.compile(r"(\d+(-\d+)?(,\d+(-\d+)?)*)?")
_CPU_SETS = ("infra_ctr_cpuset", "shared_cpuset", "workloads.*.resources.cpuset")


def leaves(table: dict[str, Any], *parents: str) -> Iterator[tuple[str, Any]]:
    """(path, value) with `*` for the names that a user chooses."""
    for key, value in table.items():
        chosen = parents in {("runtimes",), ("workloads",)} or parents[-1:] == (
            "default_annotations",
        )
        path = (*parents, "*" if chosen else key)
        if isinstance(value, dict) and value:
            yield from leaves(value, *path)
        else:
            yield ".".join(path), value


def problems(text: str, version: tuple[int, int]) -> list[str]:
    """What CRI-O of a version would pass over, refuse or drop."""
    config = tomllib.loads(text)
    if set(config) != {"crio"} or not set(config["crio"]) <= {"runtime", "nri"}:
        return ["other tables than [crio.runtime] and [crio.nri]"]
    keys = [*leaves(config["crio"].get("runtime", {}))]
    keys += [(f"nri.{path}", value) for path, value in leaves(config["crio"].get("nri", {}))]
    return [f"{path} = {value!r}" for path, value in keys if _wrong(path, value, version)]


def _wrong(path: str, value: Any, version: tuple[int, int]) -> bool:
    kind, since = KNOWN.get(path, (None, None))
    if type(value) is not kind or (since and version < since):
        return True
    if isinstance(value, list) and path.startswith("runtimes"):
        return any(
            annotation not in ALLOWED or version < (ALLOWED[annotation] or version)
            for annotation in value
        )
    if path in _CPU_SETS:
        return not _CPU_LIST.fullmatch(str(value))
    return path.endswith("exec_cpu_affinity") and value not in ("", "first")


@pytest.mark.parametrize("release", platforms.OPENSHIFT.releases)
@pytest.mark.parametrize("shared", ["", "2-3"])
def test_openshift(release: str, shared: str) -> None:
    node = plan(shared=shared, version=release, target={"cpuPartitioning": True})
    texts = {
        path: text
        for path, (_, text) in objects.files(node).items()
        if path.startswith("/etc/crio/")
    }
    texts |= {
        path: text
        for path, (_, text) in pinning.default_files().items()
        if path.startswith("/etc/crio/")
    }
    assert len(texts) == 3
    assert not [
        problem
        for text in texts.values()
        for problem in problems(text, platforms.OPENSHIFT.releases[release])
    ]


@pytest.mark.parametrize("release", platforms.KUBERNETES.releases)
@pytest.mark.parametrize("shared", ["", "2-3"])
def test_kubernetes(release: str, shared: str) -> None:
    files = kubernetes.node_files(plan(shared=shared, platform="kubernetes", version=release))
    texts = [data.decode() for path, data in files.items() if path.startswith("etc/crio/")]
    assert len(texts) == 1
    assert not problems(texts[0], platforms.KUBERNETES.releases[release])


@pytest.mark.parametrize("release", platforms.KUBERNETES.releases)
def test_with_nri(release: str) -> None:
    node = plan(platform="kubernetes", version=release, target={"mechanism": "balloons"})
    (text,) = [
        data.decode()
        for path, data in kubernetes.node_files(node).items()
        if path.startswith("etc/crio/")
    ]
    assert "enable_nri = true" in text
    assert not problems(text, platforms.KUBERNETES.releases[release])


@pytest.mark.parametrize(
    "line",
    [
        'shared_cpusets = "2-3"',
        'infra_ctr_cpuset = "0 1"',
        "infra_ctr_cpuset = 0",
        'min_injected_gomaxprocs = "4"',
        'runtimes.a.inherit_default_runtime = "true"',
        'runtimes.a.exec_cpu_affinity = "last"',
        'runtimes.a.allowed_annotations = ["cpu-quota.crio.io/app"]',
        'workloads.a.resources.cpushares = "0"',
    ],
)
def test_a_wrong_key_is_found(line: str) -> None:
    assert problems(f"[crio.runtime]\n{line}\n", (1, 36))


def test_a_later_key_is_found() -> None:
    text = "[crio.runtime]\nmin_injected_gomaxprocs = 4\n"
    assert problems(text, (1, 35))
    assert not problems(text, (1, 36))
