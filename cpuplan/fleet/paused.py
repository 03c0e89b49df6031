"""Paused intents: the files of their classes in `out/` stay, byte for byte, until they resume.

Without the files, Argo CD would remove the objects, and the users' tools the files on nodes; files
from the present inputs would be rolled out. The class's file in `out/.cpuplan/classes/` lists the
kept files with their SHA-256, because nothing else could show an edit.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from cpuplan.base.files import Unreadable, is_plain, read_regular
from cpuplan.base.resources import resource
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate
from cpuplan.fleet import before, verification
from cpuplan.fleet.before import Before, Key
from cpuplan.fleet.lock import Lock
from cpuplan.plan import ConfiguredPlan, Kept, NodeClass, NodePlan
from cpuplan.plan.expected import topologies
from cpuplan.plan.expected.objects import FOLDER, file_of

#: In a class's file: SHA-256 by path below `out/`.
FIELD = "paused"
#: The kinds of a class's own objects, as their files call them.
_KINDS = (
    "configmap",
    "kubeletconfig",
    "machineconfig",
    "performanceprofile",
    "runtimeclass",
    "tuned",
)
#: The same of what the node tuning operator will make.
_PREDICTED = ("kubeletconfig", "machineconfig-50-performance", "runtimeclass", "tuned")
#: How the files beside the folder of a class end: its nodes, and their files in other forms.
_BESIDE = (
    ".bottlerocket.toml",
    ".butane.yaml",
    ".cloud-init.yaml",
    ".ign",
    ".json",
    ".schematic.yaml",
    ".talos.yaml",
)


def keep(
    out: Path, compiled: Before, lock: Lock, nodes: Iterable[ConfiguredPlan], locate: Locate
) -> tuple[dict[Key, Kept], list[Diagnostic]]:
    """What stays of each paused class, and why it cannot.

    CP565 for changed files, CP566 where nothing shows what they were.
    """
    kept: dict[Key, Kept] = {}
    problems: list[Diagnostic] = []
    for node in nodes:
        if not node.spec.paused:
            continue
        node_class = node.node_class
        record = compiled.get(node_class.key)
        if record is not None and _is_whole(record):
            files = {path: _read(out, path) for path in _paths(out, record, node)}
            problems += _changes(record, files, node_class, locate)
            present = {path: data for path, data in files.items() if data is not None}
            kept[node_class.key] = Kept(record, present)
        else:
            kept[node_class.key] = Kept({}, {})
            if node_class.key in lock:
                problems.append(_unrecorded(node_class, locate))
    return kept, problems


def _changes(
    record: dict[str, Any], files: dict[str, bytes | None], node_class: NodeClass, locate: Locate
) -> Iterator[Diagnostic]:
    digests = record.get(FIELD)
    if isinstance(digests, dict):
        place = locate(node_class.place("paused"))
        for path in sorted(digests):
            if _digest(files.get(path)) != digests[path]:
                yield diagnose("CP565", place, path=f"out/{path}", intent=node_class.intent)


def _unrecorded(node_class: NodeClass, locate: Locate) -> Diagnostic:
    cluster, name = node_class.key
    path = f"out/{before.CLASSES}/{cluster}/{name}.json"
    place = locate(node_class.place("paused"))
    return diagnose("CP566", place, intent=node_class.intent, path=path)


def _is_whole(record: dict[str, Any]) -> bool:
    """Whether the file of a class is valid: after a merge, it may be one that cannot be kept."""
    import jsonschema  # heavy, and only paused intents need it

    schema = json.loads(
        resource("schemas", "emitted", "class.schema.json").read_text(encoding="utf-8")
    )
    return jsonschema.Draft7Validator(schema).is_valid(record)


def noted(kept: Kept, current: dict[str, Any]) -> dict[str, Any]:
    """The content of a class's file: as before, else `current`, with digests of kept files."""
    digests = {path: sha256(data).hexdigest() for path, data in kept.files.items()}
    return {**(kept.record or current), FIELD: digests}


def _paths(out: Path, record: dict[str, Any], node: NodePlan) -> list[str]:
    """The paths that were kept before; at first, the files of the class that cpuplan wrote."""
    digests = record.get(FIELD)
    if isinstance(digests, dict):
        return sorted(path for path in digests if is_plain(path) and path[0] != ".")
    is_own = own(record, node.node_class)
    return [path for path in before.owned(out) if is_plain(path) and is_own(path)]


def own(record: dict[str, Any], node_class: NodeClass) -> Callable[[str], bool]:
    """Whether a path belongs to a class: its objects, files of its nodes, and expected objects."""
    cluster, node_files = (
        f"clusters/{node_class.cluster}",
        f"nodes/{node_class.cluster}/{node_class.name}",
    )
    pool = record.get("pool", node_class.target.pool)
    names = {f"{cluster}/node-labels/{node_class.name}.json"}
    names |= {node_files + end for end in _BESIDE}
    names |= {f"{cluster}/manifests/10-skyhook-{node_class.name}.yaml"}
    names |= {f"{cluster}/hosting/manifests/10-kubeadmconfigtemplate-{node_class.name}.yaml"}
    names |= {f"{cluster}/expected/state/{node_class.name}.json"}
    names |= {f"{cluster}/expected/dra/{node_class.name}.yaml"}
    agent = verification.agent(node_class.name)
    names |= {f"{cluster}/manifests/40-{kind}-{agent}.yaml" for kind in verification.KINDS}
    names |= {f"ansible/{node_class.cluster}/{node_class.name}.yaml"}
    names |= {topologies.file_of(*node_class.key)}
    # Releases before had a file for each node.
    names |= {topologies.file_of(node_class.cluster, name) for name in before.nodes(record)}
    names |= {f"{cluster}/manifests/20-node-{name}.yaml" for name in before.nodes(record)}
    for profile in _profiles(record, node_class):
        names.add(f"{cluster}/manifests/20-clustercolocationprofile-{profile}.yaml")
        names.add(f"{cluster}/koordinator/pods/{profile}.yaml")
    for kind in ("balloonspolicy", "topologyawarepolicy"):
        names.add(f"{cluster}/manifests/20-{kind}-{node_class.name}.yaml")
    names |= {
        f"{cluster}/manifests/20-deviceclass-{name}.yaml"
        for name in _keys(record, "device-classes")
    }
    names |= {f"{cluster}/manifests/00-machineconfigpool-{pool}.yaml"}
    names |= {f"{cluster}/expected/operator/machineconfig-50-nto-{pool}.yaml"}
    names |= {f"{cluster}/expected/pools/{pool}.json"}
    for profile in (node_class.profile, node_class.intent):
        names |= {f"{cluster}/manifests/10-{kind}-{profile}.yaml" for kind in _KINDS}
        names |= {f"{cluster}/expected/operator/{kind}-{profile}.yaml" for kind in _PREDICTED}
        names.add(f"{cluster}/hosting/manifests/10-configmap-{profile}.yaml")
    # The defaults of workload partitioning are the same for all intents of the cluster.
    starts = (
        f"{node_files}/",
        f"{cluster}/dra/{node_class.name}/",
        f"{cluster}/manifests/01-machineconfig-",
    )
    # What the API must have is listed by the names of manifests, and of what operators make.
    objects = f"{cluster}/{FOLDER}"
    for folder in ("manifests", "expected/operator"):
        made = [path for path in names if path.startswith(f"{cluster}/{folder}/")]
        names |= {f"{objects}/{file_of(path.rpartition('/')[2])}" for path in made}
    return lambda path: path in names or path.startswith(starts)


def _profiles(record: dict[str, Any], node_class: NodeClass) -> list[str]:
    """The names of the intent's ClusterColocationProfiles, as they were compiled."""
    return [f"{node_class.intent}-{name}" for name in _keys(record, "colocation")]


def _keys(record: dict[str, Any], component: str) -> list[str]:
    """The keys of a component's settings, as they were compiled."""
    settings = record["settings"]
    return [setting["key"] for setting in settings if setting["component"] == component]


def _read(out: Path, path: str) -> bytes | None:
    try:
        return read_regular(out / path, within=os.path.realpath(out))
    except Unreadable:
        return None


def _digest(data: bytes | None) -> str:
    return "" if data is None else sha256(data).hexdigest()
