"""PerformanceProfile (performance.openshift.io/v2): what OpenShift's node tuning operator is told, as an Intent.

The operator's defaults are written out where cpuplan's are others. Values that no Intent can hold are passed on as
they are, so that the Intent's own checks name them.
"""

import re
from collections.abc import Callable
from typing import Any, TypeVar

from cpuplan.cpuset import MAX_CPU, CpuSet
from cpuplan.document import API_VERSION

PROFILE_API = "performance.openshift.io/v2"
#: The release whose operator the translation follows; a profile does not tell its own.
VERSION = "5.1"
ROLE = "machineconfiguration.openshift.io/role"
NODE_ROLE = "node-role.kubernetes.io/"
#: Annotations that change what the operator writes. Others belong to whoever put them there.
ANNOTATIONS = ("performance.openshift.io/", "kubeletconfig.experimental")

_T = TypeVar("_T")


def intent(profile: dict[str, Any], *, version: str = VERSION) -> tuple[dict[str, Any], list[str]]:
    """The plain data of an Intent for OpenShift `version`, and the profile's fields that have no place in one yet.

    Raises ValueError, naming the field, for what is no PerformanceProfile v2 and CPU lists that the kubelet refuses.
    """
    if profile.get("kind") != "PerformanceProfile" or profile.get("apiVersion") != PROFILE_API:
        raise ValueError(f"apiVersion: this is no PerformanceProfile of {PROFILE_API}")
    metadata = _mapping(profile.get("metadata"), "metadata")
    fields = _Fields(_mapping(profile.get("spec"), "spec"), "spec")
    spec = {**_nodes(fields, version), **_cpus(fields), **_kubelet(fields), **_hints(fields)}
    if pages := _huge_pages(fields.section("hugepages")):
        spec["hugePages"] = pages
    if kernel := _kernel(fields):
        spec["kernel"] = kernel
    name = _text(metadata.get("name"), "metadata.name")
    data = {"apiVersion": API_VERSION, "kind": "Intent", "metadata": {"name": name}, "spec": spec}
    return data, sorted([*fields.left(), *_annotations(metadata)])


def parse_cpus(text: str) -> CpuSet:
    """A CPU list as the kubelet reads it (k8s.io/utils/cpuset, Parse): any order, repeats, leading zeros.

    Raises ValueError for anything else, and for numbers beyond MAX_CPU.
    """
    bits = 0
    for item in text.split(",") if text else ():
        # Go's Atoi takes a plus sign. A minus sign always separates the ends of a range.
        match = re.fullmatch(r"\+?([0-9]+)(?:-\+?([0-9]+))?", item)
        if not match:
            raise ValueError(f"{item!r} is no CPU number or range")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise ValueError(f"{item!r} runs backwards")
        if last > MAX_CPU:
            raise ValueError(f"{item!r} goes beyond CPU {MAX_CPU}")
        bits |= (1 << last + 1) - (1 << first)
    return CpuSet.from_bits(bits)


class _Fields:
    """A mapping of the profile, and which of its fields have not been translated."""

    def __init__(self, data: dict[str, Any], path: str) -> None:
        self._data = data
        self._path = path
        self._open = set(data)
        self._below: list[_Fields] = []

    def take(self, name: str, read: Callable[[Any, str], _T]) -> _T | None:
        """The value of a field as `read` takes it; None where it is absent."""
        value = self._data.get(name)
        self._open.discard(name)
        return None if value is None else read(value, f"{self._path}.{name}")

    def section(self, name: str) -> "_Fields":
        """The fields of a nested mapping; none where it is absent."""
        path = f"{self._path}.{name}"
        below = _Fields(self.take(name, _mapping) or {}, path)
        self._below.append(below)
        return below

    def left(self) -> list[str]:
        """The paths of fields, nested ones too, that ask for something and have not been taken."""
        own = [f"{self._path}.{name}" for name in self._open if self._data[name] not in (None, False, "", [], {})]
        return own + [path for each in self._below for path in each.left()]


def _nodes(fields: _Fields, version: str) -> dict[str, Any]:
    """The selector and the target. The operator takes the pool's role from the selector's key."""
    nodes = fields.take("nodeSelector", _labels)
    if not nodes:
        raise ValueError("spec.nodeSelector: it is missing")
    label = fields.take("machineConfigLabel", _labels)
    target = {
        "platform": "openshift",
        "version": version,
        "pool": _role(nodes) or (label or {}).get(ROLE),
        "nodeSelector": nodes,
        "machineConfigLabel": label,
        "machineConfigPoolSelector": fields.take("machineConfigPoolSelector", _labels),
    }
    return {"selector": {"matchLabels": nodes}, "targets": [_given(target)]}


def _role(nodes: dict[str, str]) -> str | None:
    keys = sorted((key for key in nodes if "/" in key), key=lambda key: (not key.startswith(NODE_ROLE), key))
    return keys[0].partition("/")[2] if keys else None


def _cpus(fields: _Fields) -> dict[str, Any]:
    """Pools and isolation. The operator takes no CPU that the profile does not name, so empty lists stay."""
    if fields.take("cpu", _mapping) is None:
        raise ValueError("spec.cpu: it is missing")
    cpu = fields.section("cpu")
    lists = {name: cpu.take(name, _cpu_list) for name in ("reserved", "shared", "isolated", "offlined")}
    pools = {
        name: {"cpus": str(cpus or ""), "wholeCores": False}
        for name, cpus in lists.items()
        if cpus or name in ("reserved", "isolated")
    }
    return {"pools": pools, "isolation": {"domain": cpu.take("balanceIsolated", _flag) is False}}


def _kubelet(fields: _Fields) -> dict[str, Any]:
    policy = fields.section("numa").take("topologyPolicy", _text)
    if policy is None:
        return {}
    # An empty policy reaches the KubeletConfiguration as it is, and the kubelet's default is none.
    return {"kubelet": {"topologyManagerPolicy": policy or "none"}}


def _huge_pages(fields: _Fields) -> dict[str, Any]:
    pages = [
        _page(page, f"spec.hugepages.pages[{index}]") for index, page in enumerate(fields.take("pages", _list) or ())
    ]
    return _given({"defaultSize": fields.take("defaultHugepagesSize", _text), "pages": pages})


def _page(value: Any, path: str) -> dict[str, Any]:
    page = _mapping(value, path)
    if unknown := sorted(page.keys() - {"size", "count", "node"}):
        raise ValueError(f"{path}.{unknown[0]}: there is no such field")
    count, node = page.get("count"), page.get("node")
    found = {
        "size": _text(page.get("size"), f"{path}.size"),
        "count": _number(0 if count is None else count, f"{path}.count"),
    }
    return found if node is None else {**found, "numaNode": _number(node, f"{path}.node")}


def _kernel(fields: _Fields) -> dict[str, Any]:
    arguments = fields.take("additionalKernelArgs", _list) or []
    return _given(
        {
            "realTime": fields.section("realTimeKernel").take("enabled", _flag),
            "pageSize": fields.take("kernelPageSize", _text),
            "extraArguments": [
                _text(word, f"spec.additionalKernelArgs[{index}]") for index, word in enumerate(arguments)
            ],
        }
    )


def _hints(fields: _Fields) -> dict[str, Any]:
    hints = fields.section("workloadHints")
    found = {name: hints.take(name, _flag) for name in ("realTime", "highPowerConsumption", "perPodPowerManagement")}
    # An Intent mixes CPUs wherever there is a shared pool; the operator only where it is told to.
    runtime = {"mixedCpus": hints.take("mixedCpus", _flag) or False}
    given = _given(found)
    return {"workloadHints": given, "runtime": runtime} if given else {"runtime": runtime}


def _annotations(metadata: dict[str, Any]) -> list[str]:
    names = _mapping(metadata.get("annotations"), "metadata.annotations")
    return [f"metadata.annotations.{name}" for name in names if name.startswith(ANNOTATIONS)]


def _given(values: dict[str, Any]) -> dict[str, Any]:
    """Without what is absent or empty."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


def _cpu_list(value: Any, path: str) -> CpuSet:
    try:
        return parse_cpus(_text(value, path))
    except ValueError as error:
        raise ValueError(str(error) if str(error).startswith(path) else f"{path}: {error}") from None


def _text(value: Any, path: str) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{path}: {value!r} is no text")
    return value


def _flag(value: Any, path: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"{path}: {value!r} is neither true nor false")
    return value


def _number(value: Any, path: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{path}: {value!r} is no whole number")
    return value


def _list(value: Any, path: str) -> list[Any]:
    if not isinstance(value, list):
        raise ValueError(f"{path}: {value!r} is no list")
    return value


def _mapping(value: Any, path: str) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise ValueError(f"{path}: {value!r} is no mapping")
    if odd := [key for key in value if not isinstance(key, str)]:
        raise ValueError(f"{path}: the key {odd[0]!r} is no text")
    return value


def _labels(value: Any, path: str) -> dict[str, str]:
    return {name: _text(text, f"{path}.{name}") for name, text in _mapping(value, path).items()}
