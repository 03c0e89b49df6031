"""What a node does to go from one rendered MachineConfig to another (pkg/daemon/update.go).

Upstream: openshift/machine-config-operator pkg/daemon/update.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from posixpath import dirname
from typing import Any, NamedTuple

from cpuplan.upstream.mco.apihelpers import (
    DRAIN,
    NONE,
    REBOOT,
    REGISTRIES_CONF,
    RELOAD_CRIO,
    RESTART_CRIO,
    SPECIAL,
    Action,
    policies,
)
from cpuplan.upstream.mco.common import NEWEST, McoError, Release, has, mapping, texts
from cpuplan.upstream.mco.drain import is_safe
from cpuplan.upstream.mco.helpers import Object
from cpuplan.upstream.mco.ignition.config import parse
from cpuplan.upstream.mco.ignition.types import Config
from cpuplan.upstream.mco.machineconfig import (
    DEFAULT_KERNEL,
    LARGE_PAGES_KERNEL,
    REALTIME_KERNEL,
    MachineConfig,
    read_machine_config,
)
from cpuplan.upstream.mco.reconcile import check_configs, check_fips, refusal_against_current
from cpuplan.upstream.mco.render_controller import Rendered, check_modes, render


class Side(NamedTuple):
    """A rendered MachineConfig, and its Ignition config."""

    fields: MachineConfig
    config: Config


def differing_sections(
    old: Side, new: Side, release: Release, is_forced: bool = False
) -> Iterator[str]:
    """The names of the sections that differ, in the operator's order.

    Lists compare in order; a changed image of extensions does not count.
    """
    before, other = old.fields, new.fields
    if before.os_image != other.os_image or is_forced:
        yield "osUpdate"
    if before.kernel_arguments != other.kernel_arguments:
        yield "kernelArguments"
    if before.fips != other.fips:
        yield "fips"
    if old.config.get("passwd") != new.config.get("passwd"):
        yield "passwd"
    if _list(old.config, "storage", "files") != _list(new.config, "storage", "files"):
        yield "files"
    if _list(old.config, "systemd", "units") != _list(new.config, "systemd", "units"):
        yield "units"
    if _kernel(before.kernel_type, release) != _kernel(other.kernel_type, release):
        yield "kernelType"
    if before.extensions != other.extensions:
        yield "extensions"


def _kernel(name: str, release: Release) -> str:
    """Every unknown name is the default kernel."""
    if name == LARGE_PAGES_KERNEL and has(release, "merge.kernel_64k_pages"):
        return name
    return REALTIME_KERNEL if name == REALTIME_KERNEL else DEFAULT_KERNEL


def changed_files(old: Config, new: Config) -> tuple[str, ...]:
    """The paths of files that are added, removed or not equal as Ignition objects."""
    return _changed("path", _list(old, "storage", "files"), _list(new, "storage", "files"))


def changed_units(old: Config, new: Config) -> tuple[str, ...]:
    """The names of units that are added, removed or not equal."""
    return _changed("name", _list(old, "systemd", "units"), _list(new, "systemd", "units"))


def _list(config: Config, section: str, field: str) -> Any:
    return config.get(section, {}).get(field)


def _changed(key: str, old: list[Config] | None, new: list[Config] | None) -> tuple[str, ...]:
    before = {item[key]: item for item in old or ()}
    after = {item[key]: item for item in new or ()}
    names = before.keys() | after.keys()
    return tuple(sorted(name for name in names if before.get(name) != after.get(name)))


#: Quotes keep blanks together; nothing escapes a quote.
_ARGUMENT = re.compile(r'(?:[^ \f\n\r\t\v"]|"[^"]*(?:"|$))+')


def kernelargs_commands(
    old: Iterable[str], new: Iterable[str], release: Release = NEWEST
) -> tuple[str, ...]:
    """All of the old arguments are deleted, then all of the new ones appended."""
    kept_quiet = has(release, "cost.absent_arguments_tolerated")
    delete = "--delete-if-present" if kept_quiet else "--delete"
    deleted = [f"{delete}={argument}" for argument in _split(old)]
    return (*deleted, *(f"--append={argument}" for argument in _split(new)))


def _split(entries: Iterable[str]) -> Iterator[str]:
    for entry in entries:
        for argument in _ARGUMENT.findall(entry):
            yield argument.strip()


_FREE = ("/etc/kubernetes/kubelet-ca.crt", "/var/lib/kubelet/config.json")
_OLD_FREE = "/etc/mco/internal-registry-pull-secret.json"
_FREE_FOLDER = "/etc/nmstate/openshift"
_RELOADED = (
    REGISTRIES_CONF,
    "/etc/machine-config-daemon/no-reboot/containers-gpg.pub",
    "/etc/containers/policy.json",
)
_RELOADED_FOLDER = "/etc/containers/registries.d"
_RESTARTED = "/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt"
#: Sections that no file decides about.
REBOOTING = frozenset({"osUpdate", "kernelArguments", "fips", "kernelType", "extensions"})


def legacy_action(sections: Collection[str], files: Iterable[str], release: Release) -> Action:
    """The one action; until 4.15 the last file decides between a reload and a restart of CRI-O."""
    if {*sections} & REBOOTING or "units" in sections:
        return REBOOT
    chosen = NONE
    for path in files:
        own = _of_file(path, release)
        if own == REBOOT:
            return REBOOT
        keeps_restart = has(release, "cost.legacy_folders") and chosen == RESTART_CRIO
        if own != NONE and not keeps_restart:
            chosen = own
    return chosen


def _of_file(path: str, release: Release) -> Action:
    with_folders = has(release, "cost.legacy_folders")
    if path in _FREE or (path == _OLD_FREE and not with_folders):
        return NONE
    if path in _RELOADED or (with_folders and dirname(path) == _RELOADED_FOLDER):
        return RELOAD_CRIO
    if path == _RESTARTED:
        return RESTART_CRIO
    return NONE if with_folders and dirname(path) == _FREE_FOLDER else REBOOT


def legacy_drains(chosen: Action, files: Collection[str], old: Config, new: Config) -> bool:
    """Whether the node is drained first; McoError where registries.conf cannot be read."""
    if chosen in (RELOAD_CRIO, RESTART_CRIO) and REGISTRIES_CONF in files:
        return not is_safe(old, new)
    return chosen == REBOOT


class Update(NamedTuple):
    """What a node does, in order, and whether it is drained first.

    On single-node control planes it is never drained. With an `error` the node stops.
    """

    actions: tuple[Action, ...]
    drain: bool | None
    error: McoError | None = None


class Impact(NamedTuple):
    """The sections, files and units that differ, and what that costs.

    With a `refusal` the node becomes degraded, and changes nothing. `first_boot` is what counts on
    a node's first boot; `kernel_commands` are given to `rpm-ostree kargs`.
    """

    sections: tuple[str, ...]
    files: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    refusal: McoError | None = None
    update: Update | None = None
    first_boot: Update | None = None
    kernel_commands: tuple[str, ...] = ()


class Node(NamedTuple):
    """What counts beside the two objects.

    `configuration` is the MachineConfiguration of a user; `is_forced`: the force file is there;
    `fips` is that of the old object without another value.
    """

    release: Release = NEWEST
    configuration: Mapping[str, Any] = {}
    is_forced: bool = False
    fips: bool | None = None


#: A node of the newest release without a user's settings.
PLAIN = Node()


def impact(old: Object, new: Object, node: Node = PLAIN) -> Impact:
    """The cost of going from one rendered MachineConfig to another.

    McoError for a MachineConfiguration that the API server refuses.
    """
    try:
        before, after = _side(old, node.release), _side(new, node.release)
    except McoError as error:
        return Impact((), refusal=error)
    sections = tuple(differing_sections(before, after, node.release, node.is_forced))
    files = changed_files(before.config, after.config)
    units = changed_units(before.config, after.config)
    try:
        _check(before, after, node)
    except McoError as error:
        return Impact(sections, files, units, error)
    commands: tuple[str, ...] = ()
    if "kernelArguments" in sections:
        arguments = before.fields.kernel_arguments, after.fields.kernel_arguments
        commands = kernelargs_commands(*arguments, node.release)
    # A change of FIPS mode that is not refused is none: the node is there already.
    counting = tuple(name for name in sections if name != "fips")
    changes = _Changes(before, after, counting, files, units)
    first_boot = _legacy_update(changes, node)
    update = first_boot
    if has(node.release, "cost.policies"):
        update = _update(changes, node)
    return Impact(sections, files, units, None, update, first_boot, commands)


class _Changes(NamedTuple):
    before: Side
    after: Side
    sections: tuple[str, ...]
    files: tuple[str, ...]
    units: tuple[str, ...]


def _side(item: Object, release: Release) -> Side:
    fields = read_machine_config(item)
    return Side(fields, parse(fields.config, release))


def _check(before: Side, after: Side, node: Node) -> None:
    check_modes(after.config)
    check_configs(before.config, after.config, overrides(node.configuration, node.release))
    if has(node.release, "cost.fips_compared"):
        check_fips(before.fields.fips, after.fields.fips)
    check_fips(before.fields.fips if node.fips is None else node.fips, after.fields.fips)


def overrides(configuration: Mapping[str, Any], release: Release) -> Collection[str]:
    """The sections of storage whose changes reach only new nodes."""
    given = mapping(mapping(configuration, "spec"), "irreconcilableValidationOverrides")
    return texts(given, "storage") if has(release, "cost.storage_overrides") else ()


def _update(changes: _Changes, node: Node) -> Update:
    actions = _actions(changes, node)
    drain = bool({REBOOT, DRAIN} & {*actions})
    if not drain and SPECIAL in actions:
        try:
            drain = not is_safe(changes.before.config, changes.after.config)
        except McoError as error:
            return Update(actions, None, error)
    return Update(actions, drain)


def _actions(changes: _Changes, node: Node) -> tuple[Action, ...]:
    sections = {*changes.sections}
    if node.is_forced or sections & REBOOTING:
        return (REBOOT,)
    if not sections:
        return (NONE,)
    built = policies(node.configuration, node.release)
    return built.actions(changes.files, changes.units, "passwd" in sections)


def _legacy_update(changes: _Changes, node: Node) -> Update:
    chosen = legacy_action(changes.sections, changes.files, node.release)
    if node.is_forced:
        chosen = REBOOT
    before, after = changes.before.config, changes.after.config
    try:
        return Update((chosen,), legacy_drains(chosen, changes.files, before, after))
    except McoError as error:
        return Update((chosen,), None, error)


class Change(NamedTuple):
    """Both sides rendered, None for a pool that selects nothing, and the cost of the step.

    With a `refusal` the pool is not rendered anew, and no node sees the change.
    """

    before: Rendered | None
    after: Rendered | None
    impact: Impact | None
    refusal: McoError | None = None

    @property
    def is_same(self) -> bool:
        """Whether both sides have the same contents."""
        return _spec(self.before) == _spec(self.after)


def change(
    pool: Object,
    before: Sequence[Object],
    after: Sequence[Object] | None = None,
    pool_after: Object | None = None,
    node: Node = PLAIN,
) -> Change:
    """What it costs a node of `pool` that the objects change, or that it moves to another pool.

    RenderError where one side cannot be rendered.
    """
    old = render(pool, before, node.release)
    new = render(pool_after or pool, before if after is None else after, node.release)
    if old is None or new is None:
        return Change(old, new, None)
    current = _object("rendered-before", old)
    refusal = None
    if pool_after is None:
        allowed = overrides(node.configuration, node.release)
        refusal = refusal_against_current(current, new, node.release, allowed)
    return Change(old, new, impact(current, _object("rendered-after", new), node), refusal)


def _object(name: str, rendered: Rendered) -> Mapping[str, Any]:
    return {"metadata": {"name": name}, "spec": rendered.spec}


def _spec(rendered: Rendered | None) -> Mapping[str, Any] | None:
    return None if rendered is None else rendered.spec
