"""Ignition and Butane: configurations that the first boot of a machine reads.

Butane's form is for people and merges; its program makes Ignition's of it, which is written too.
"""

from base64 import b64encode
from typing import Any

from cpuplan.backends.base import NodeTree, to_file
from cpuplan.base.emit import to_json
from cpuplan.language.model.intent import Target

#: The first version with kernel arguments.
VERSION = "3.3.0"
#: Versions of Butane's specifications that make this version of Ignition's.
_FLATCAR, _OTHERS = ("flatcar", "1.0.0"), ("fcos", "1.4.0")


def butane(tree: NodeTree, target: Target) -> bytes:
    """The configuration as `butane --strict` takes it."""
    variant, version = _FLATCAR if target.os_family == "flatcar" else _OTHERS
    files = [
        {"path": path, "mode": file.mode, "overwrite": True, "contents": {"inline": file.text}}
        for path, file in tree.files.items()
    ]
    config: dict[str, Any] = {
        "variant": variant,
        "version": version,
        "storage": {"files": files},
        **_units(tree),
    }
    if tree.arguments:
        config["kernel_arguments"] = {"should_exist": list(tree.arguments)}
    return to_file(config)


def ignition(tree: NodeTree, _target: Target) -> bytes:
    """The configuration as Ignition reads it."""
    files = [
        {
            "path": path,
            "mode": file.mode,
            "overwrite": True,
            "contents": {"source": _url(file.data)},
        }
        for path, file in tree.files.items()
    ]
    config: dict[str, Any] = {
        "ignition": {"version": VERSION},
        "storage": {"files": files},
        **_units(tree),
    }
    if tree.arguments:
        config["kernelArguments"] = {"shouldExist": list(tree.arguments)}
    return to_json(config).encode()


def _units(tree: NodeTree) -> dict[str, Any]:
    """Units that are enabled; their texts are among the files."""
    units = [{"name": name, "enabled": True} for name in tree.enabled]
    return {"systemd": {"units": units}} if units else {}


def _url(data: bytes) -> str:
    return "data:text/plain;charset=utf-8;base64," + b64encode(data).decode()
