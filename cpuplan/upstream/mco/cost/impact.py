"""What a node does to go from one rendered MachineConfig to another (pkg/daemon/update.go)."""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from cpuplan.upstream.mco.cost import difference, kernelargs, legacy
from cpuplan.upstream.mco.cost.actions import DRAIN, NONE, REBOOT, SPECIAL, Action
from cpuplan.upstream.mco.cost.difference import Side
from cpuplan.upstream.mco.cost.policies import policies
from cpuplan.upstream.mco.cost.registries import is_safe
from cpuplan.upstream.mco.errors import McoError
from cpuplan.upstream.mco.fields import mapping, texts
from cpuplan.upstream.mco.ignition.parse import parse
from cpuplan.upstream.mco.machineconfig import read_machine_config
from cpuplan.upstream.mco.pools import Object
from cpuplan.upstream.mco.reconcile import check_configs, check_fips
from cpuplan.upstream.mco.releases import NEWEST, Release, has
from cpuplan.upstream.mco.render import check_modes


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
    sections = tuple(difference.sections(before, after, node.release, node.is_forced))
    files = difference.changed_files(before.config, after.config)
    units = difference.changed_units(before.config, after.config)
    try:
        _check(before, after, node)
    except McoError as error:
        return Impact(sections, files, units, error)
    commands: tuple[str, ...] = ()
    if "kernelArguments" in sections:
        arguments = before.fields.kernel_arguments, after.fields.kernel_arguments
        commands = kernelargs.commands(*arguments, node.release)
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
    if node.is_forced or sections & legacy.REBOOTING:
        return (REBOOT,)
    if not sections:
        return (NONE,)
    built = policies(node.configuration, node.release)
    return built.actions(changes.files, changes.units, "passwd" in sections)


def _legacy_update(changes: _Changes, node: Node) -> Update:
    chosen = legacy.action(changes.sections, changes.files, node.release)
    if node.is_forced:
        chosen = REBOOT
    before, after = changes.before.config, changes.after.config
    try:
        return Update((chosen,), legacy.drains(chosen, changes.files, before, after))
    except McoError as error:
        return Update((chosen,), None, error)
