"""How each kind of output file is read again, by its path: its schema's name, and the values."""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

from cpuplan.write import readback, system_files
from cpuplan.write.readback import Written

#: Reads the bytes of a file: the schema's name, and the values.
Reader = Callable[[bytes], tuple[str, Written]]


def reader_of(path: str) -> Reader | None:
    """The reader of a file below `out/`; None for what is shipped, and for boot arguments."""
    return next((reader for pattern, reader in _READERS if pattern.search(path)), None)


def inside(value: Any, *way: str) -> Any:
    """What mappings have under these keys, each in the one before; None if there is no such key."""
    for key in way:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _document(name: str) -> Reader:
    return lambda data: (name, readback.document(data))


def _talos(data: bytes) -> tuple[str, Written]:
    return "talos", readback.documents(data)


def _flux(data: bytes) -> tuple[str, Written]:
    return "flux", readback.documents(data)


def _cloud_init(data: bytes) -> tuple[str, Written]:
    if not data.startswith(b"#cloud-config\n"):
        raise ValueError("cloud-init would not know its format")
    return "cloud-init", readback.document(data)


def _object(data: bytes) -> tuple[str, Written]:
    written = readback.document(data)
    kind = inside(written.value, "kind")
    if not isinstance(kind, str) or not re.fullmatch(r"[A-Za-z]+", kind):
        raise ValueError("no object: it has no kind")
    return kind, written


def _read(name: str, read: Callable[[bytes], Any]) -> Reader:
    return lambda data: (name, Written(read(data), True))


def _json(name: str) -> Reader:
    return _read(name, json.loads)


def _toml(name: str) -> Reader:
    return _read(name, lambda data: tomllib.loads(data.decode()))


#: By paths below `out/`; other files are lines for a boot loader, scripts and what is shipped.
_READERS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(r"^nodes/[^/]+/[^/]+\.cloud-init\.yaml$"), _cloud_init),
    (re.compile(r"^nodes/[^/]+/[^/]+\.butane\.yaml$"), _document("butane")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.talos\.yaml$"), _talos),
    (re.compile(r"^nodes/[^/]+/[^/]+\.schematic\.yaml$"), _document("schematic")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.bottlerocket\.toml$"), _toml("bottlerocket")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.ign$"), _json("ignition")),
    (re.compile(r"^ansible/rollout-[^/]+\.yaml$"), _document("ansible-rollout")),
    (re.compile(r"^ansible/(?!roles/)[^/]+/[^/]+\.yaml$"), _document("ansible")),
    (re.compile(r"/20-node-[^/]+\.yaml$"), _document("koordinator-node")),
    (
        re.compile(r"/20-configmap-koord-scheduler-config\.yaml$"),
        _document("koord-scheduler-config"),
    ),
    (
        re.compile(r"/20-configmap-slo-controller-config\.yaml$"),
        _document("slo-controller-config"),
    ),
    (re.compile(r"/40-configmap-[^/]+\.yaml$"), _document("state-configmap")),
    (re.compile(r"^clusters/[^/]+/koordinator/argocd-cm\.yaml$"), _document("argocd-cm")),
    (re.compile(r"^clusters/[^/]+/expected/nrt/[^/]+\.yaml$"), _document("topologies")),
    (re.compile(r"^flux/[^/]+\.yaml$"), _flux),
    (re.compile(r"^argocd/argocd-cm\.yaml$"), _document("argocd-settings")),
    (re.compile(r"^clusters/[^/]+/koordinator/pods/[^/]+\.yaml$"), _document("pod-template")),
    (re.compile(r"^clusters/[^/]+/expected/dra/[^/]+\.yaml$"), _document("dra-devices")),
    (re.compile(r"^clusters/[^/]+/dra/[^/]+/values\.yaml$"), _document("dra-values")),
    (re.compile(r"^clusters/[^/]+/dra/[^/]+/config\.yaml$"), _document("dra-config")),
    (re.compile(r"^clusters/[^/]+/dra/[^/]+/pods/[^/]+\.yaml$"), _document("dra-pod")),
    (re.compile(r"^data\.resource\.exclusions$"), _document("argocd-exclusions")),
    (re.compile(r"^data\.[a-z-]+-config$"), _json("slo-config")),
    # The playbook, the role and the plugin are shipped as they are.
    (
        re.compile(r"^(?!ansible/(roles/|cpuplan\.yaml$)|argocd/plugin\.yaml$).*\.yaml$"),
        _object,
    ),
    (re.compile(r"/kubelet\.conf\.d/[^/]+$"), _object),
    (re.compile(r"/crio\.conf\.d/[^/]+$"), _toml("crio")),
    (re.compile(r"/containerd/conf\.d/[^/]+$"), _toml("containerd")),
    (re.compile(r"^clusters/[^/]+/cluster\.json$"), _json("cluster")),
    (re.compile(r"^clusters/[^/]+/node-labels/[^/]+\.json$"), _json("node-labels")),
    (re.compile(r"^clusters/[^/]+/expected/pools/[^/]+\.json$"), _json("pool")),
    (re.compile(r"^nodes/[^/]+/[^/]+\.json$"), _json("nodes")),
    (re.compile(r"^\.cpuplan/classes/[^/]+/[^/]+\.json$"), _json("class")),
    (re.compile(r"/openshift-workload-mixed-cpus$"), _json("openshift-workload-mixed-cpus")),
    (re.compile(r"/openshift-workload-pinning$"), _json("openshift-workload-pinning")),
    (re.compile(r"/etc/tuned/.+/tuned\.conf$"), _read("tuned", system_files.sections)),
    (re.compile(r"/recommend\.d/[^/]+$"), _read("tuned-recommend", system_files.sections)),
    (re.compile(r"/etc/sysctl\.d/[^/]+\.conf$"), _read("sysctl", system_files.pairs)),
    (re.compile(r"/etc/tmpfiles\.d/[^/]+\.conf$"), _read("tmpfiles", system_files.writes)),
    (re.compile(r"/etc/udev/rules\.d/[^/]+\.rules$"), _read("udev", system_files.rules)),
    (re.compile(r"/etc/cpuplan/irqbalance$"), _read("irqbalance", system_files.pairs)),
    (re.compile(r"/etc/systemd/.+\.(conf|service|slice)$"), _read("unit", system_files.sections)),
)
