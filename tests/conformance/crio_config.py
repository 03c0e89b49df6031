"""CRI-O's configuration (vectors/crio, config.jsonl) against `cpuplan.upstream.crio`.

Texts of errors are compared as to whether there is one. Time zones are not looked up, and what pods
get by a configuration (`query`) is not asked.
"""

import json
from pathlib import Path
from typing import Any

from cpuplan.upstream.crio.config import (
    Loaded,
    Machine,
    NotStartedError,
    RefusedError,
    decode,
    load,
    order,
)
from cpuplan.upstream.kubernetes.bits import parse_cpus
from cpuplan.upstream.kubernetes.errors import KubeletError, PanicError
from tests.conformance.kubelet import differ

Json = dict[str, Any]
_DEFAULTS = (
    Path(__file__).parents[2].parent / "shared" / "vectors" / "crio" / "config-defaults.json"
)
_MACHINE = Machine({"crun": "/usr/bin/crun", "runc": "/usr/sbin/runc"}, (1 << 64) - 1, True)
_CONMON = "/usr/bin/conmon"
#: Of handlers and workloads; what a dump leaves out.
_NOT_DUMPED = ("no_sync_log",)


def compare(given: Json, expected: Json) -> str | None:
    """None for what is not repeated."""
    if any("timezone" in text for text in given["files"].values()):
        return None
    kept: Json = {
        key: expected[key]
        for key in ("verdict", "unknown_keys", "dropped_runtimes", "result")
        if key in expected
    }
    if "shared_cpuset_use_error" in expected:
        kept["shared_cpuset_use_error"] = True
    return differ(kept, _found(given["files"]), "")


def _found(files: Json) -> Json:
    try:
        decoded = {path: decode(path, files[path]) for path in order(files)}
    except RefusedError:
        return {"verdict": "load-error"}
    unknown = {path: list(file.unknown) for path, file in decoded.items() if file.unknown}
    found: Json = {"unknown_keys": unknown} if unknown else {}
    try:
        loaded = load(decoded, _MACHINE)
    except NotStartedError:
        return {**found, "verdict": "start-error"}
    except RefusedError:
        return {**found, "verdict": "validate-error"}
    if loaded.dropped:
        found["dropped_runtimes"] = sorted(loaded.dropped)
    if not _is_usable(loaded.runtime["shared_cpuset"]):
        found["shared_cpuset_use_error"] = True
    verdict = "handler-dropped" if loaded.dropped else "ok"
    return {**found, "verdict": verdict, "result": _result(loaded)}


def _is_usable(cpus: str) -> bool:
    try:
        parse_cpus(cpus)
    except (KubeletError, PanicError):
        return False
    return True


def _result(loaded: Loaded) -> Json:
    """What differs from the defaults, as the vectors dump it."""
    usual = json.loads(_DEFAULTS.read_text())
    mine = {
        **loaded.runtime,
        "runtimes": {name: _dumped(_monitored(entry)) for name, entry in loaded.handlers.items()},
        "workloads": {name: _workload(entry) for name, entry in loaded.workloads.items()},
        "nri": {**usual["nri"], **loaded.nri},
    }
    return {key: mine[key] for key in usual if mine[key] != usual[key]}


def _monitored(handler: Json) -> Json:
    return {**handler, "monitor_path": handler.get("monitor_path") or _CONMON}


def _dumped(entry: Json) -> Json:
    return {key: value for key, value in entry.items() if value and key not in _NOT_DUMPED}


def _workload(entry: Json) -> Json:
    made = {"allowed_annotations": None, "annotation_prefix": "", **_dumped(entry)}
    if "resources" in entry:
        made["resources"] = _dumped(entry["resources"])
    return made
