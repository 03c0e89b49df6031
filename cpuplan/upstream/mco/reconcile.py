"""Whether a node can go from one rendered MachineConfig to another.

Source: pkg/controller/common/reconcile.go.

Upstream: openshift/machine-config-operator pkg/controller/common/reconcile.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from collections.abc import Collection
from typing import Any

from cpuplan.upstream.mco.common import NEWEST, McoError, Release, flag, has, mapping
from cpuplan.upstream.mco.helpers import Object
from cpuplan.upstream.mco.ignition.config import parse
from cpuplan.upstream.mco.ignition.types import Config
from cpuplan.upstream.mco.render_controller import Rendered, check_modes

FORCE_FILE = "/run/machine-config-daemon-force"
CORE = "core"
#: Sections of storage that an override excepts, by the override's name.
_OVERRIDES = {"Disks": "disks", "FileSystems": "filesystems", "Raid": "raid"}


def refusal_against_current(
    current: Object,
    rendered: Rendered,
    release: Release = NEWEST,
    overrides: Collection[str] = (),
) -> McoError | None:
    """Why the operator refuses the step from what the pool has, while it renders.

    The pool becomes RenderDegraded, and no node is touched. Since 4.16.
    """
    if not has(release, "merge.reconciled"):
        return None
    try:
        spec = mapping(current, "spec")
        old, new = parse(spec.get("config"), release), parse(rendered.config, release)
        check_modes(new)
        check_configs(old, new, overrides)
        check_fips(flag(spec, "fips"), rendered.fips)
    except McoError as error:
        return error
    return None


def check_fips(old: bool, new: bool) -> None:
    """Raises McoError for a change of FIPS mode."""
    if old != new:
        raise McoError("FIPS changes", old=old, new=new)


def check_configs(old: Config, new: Config, overrides: Collection[str] = ()) -> None:
    """Raises McoError for a change of Ignition that no node makes.

    `overrides` are sections of storage whose changes reach only new nodes.
    """
    _check_passwd(old.get("passwd", {}), new.get("passwd", {}))
    if old.get("kernelArguments") != new.get("kernelArguments"):
        raise McoError("kernelArguments of Ignition change")
    old_storage, new_storage = old.get("storage", {}), new.get("storage", {})
    for name, section in _OVERRIDES.items():
        if name not in overrides:
            _check_section(section, old_storage, new_storage)
    _check_section("directories", old_storage, new_storage)
    if new_storage.get("links"):
        # That all links go is accepted; they stay on the node (MCO bug, bugzilla 1677198).
        _check_section("links", old_storage, new_storage)
    for file in new_storage.get("files") or ():
        _check_file(file)


def _check_section(section: str, old: Config, new: Config) -> None:
    if old.get(section) != new.get(section):
        raise McoError(f"{section} change")


def _check_file(file: Config) -> None:
    if file.get("append"):
        raise McoError("a file that appends", path=file["path"])
    if file["path"] == FORCE_FILE:
        raise McoError("the force file", path=file["path"])


def _check_passwd(old: Config, new: Config) -> None:
    if old.get("groups") != new.get("groups"):
        raise McoError("groups change")
    users = new.get("users") or []
    if old.get("users") == new.get("users") or not users:
        return
    for user in users:
        if user["name"] != CORE:
            raise McoError("a user other than core", user=user["name"])
    _check_core(users[-1])


def _check_core(user: dict[str, Any]) -> None:
    """Only keys and the password of `core` change on a node."""
    if "passwordHash" not in user and not user.get("sshAuthorizedKeys"):
        raise McoError("a user without keys and password", user=user["name"])
    others = set(user) - {"name", "passwordHash", "sshAuthorizedKeys"}
    if others:
        raise McoError("other fields of core", fields=tuple(sorted(others)))
