"""What nodes of a class get from objects of others that contradicts their own plan."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from cpuplan.backends.openshift import kept, merged, objects, predicted
from cpuplan.backends.openshift.merged import Pool, Source
from cpuplan.components import cmdline
from cpuplan.components.openshift import pool as pools
from cpuplan.components.openshift import tuned
from cpuplan.components.openshift.machineconfig import WORKER
from cpuplan.plan import ConfiguredPlan
from cpuplan.upstream.mco.machineconfig import DEFAULT_KERNEL

#: Arguments that take CPUs away on which a plan counts (kernel-parameters.txt).
_FEWER_CPUS = frozenset({"maxcpus", "nosmp", "nosmt", "nr_cpus", "numa", "possible_cpus"})
#: Without a size before it, the number of pages of the default size.
_PAGES, _SIZED_PAGES = "hugepages", "hugepagesz="


class Inherited(NamedTuple):
    """Something that nodes of a class get from an object that is not their own.

    `what` names it; `place` is the key in a Cluster document, with its indexes.
    """

    source: Source
    what: str
    place: str


def inherited(pool: Pool) -> Iterator[Inherited]:
    """What contradicts a class's own plan: boot arguments, kernel, files, units, TuneD's profile.

    Of other classes everything counts that is not the same, of objects of a Cluster document only
    what the plan sets too. Of a file or unit with several objects, the last one counts.
    """
    own = [source for source in pool.sources if _is_own(source, pool.plan)]
    if len(own) < len(pool.sources):
        yield from _of_others(pool, own)
    yield from _tuned_profile(pool)


def _of_others(pool: Pool, own: Sequence[Source]) -> Iterator[Inherited]:
    """What comes from sources beside `own`."""
    arguments = _arguments(own)
    kernel_types = {source.config.kernel_type for source in own}
    written = {name: entry for source in own for _, name, entry in source.entries()}
    last = {name: source for source in pool.sources for _, name in source.writes()}
    for source in pool.sources:
        if source in own:
            continue
        yield from _contradicting_arguments(source, arguments)
        kernel_type = source.config.kernel_type
        if kernel_type not in ("", DEFAULT_KERNEL, *kernel_types):
            yield _inherited(source, f"kernelType {kernel_type}", "kernelType")
        for field, name, entry in source.entries():
            if last[name] is source and _differs(source, entry, written.get(name)):
                yield _inherited(source, name, field)


def _differs(source: Source, entry: Mapping[str, Any], own: Mapping[str, Any] | None) -> bool:
    """Whether a file or unit is not what the plan has at its place.

    Contents are known of the objects that classes write only.
    """
    if source.is_kubelet:
        return True
    return entry != own if source.plan else own is not None


def _inherited(source: Source, what: str, field: str) -> Inherited:
    return Inherited(source, what, source.place if source.is_kubelet else f"{source.place}.{field}")


def _is_own(source: Source, plan: ConfiguredPlan) -> bool:
    """Whether an object is of the same pool, or one that the class writes just as others do."""
    if source.plan is None:
        return False
    if source.plan.node_class.target.pool == plan.node_class.target.pool:
        return True
    return any(config == source.data for config in merged.machine_configs(plan))


def _arguments(sources: Sequence[Source]) -> dict[str, Any]:
    """The values of boot arguments, by key."""
    words = [word for source in sources for word in source.config.kernel_arguments]
    return _keyed(" ".join(words))


def _keyed(text: str) -> dict[str, Any]:
    return {cmdline.canonical(key): value for key, value in cmdline.keyed(text).items()}


def _contradicting_arguments(source: Source, own: Mapping[str, Any]) -> Iterator[Inherited]:
    for index, text in _phrases(source.config.kernel_arguments):
        if _contradicts(text, own, is_planned=source.plan is not None):
            yield _inherited(source, text, f"kernelArguments.{index}")


def _phrases(arguments: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Boot arguments with their indexes; a size of pages together with the number after it."""
    size: tuple[int, str] | None = None
    for index, argument in enumerate(arguments):
        if size and argument.startswith(f"{_PAGES}="):
            yield size[0], f"{size[1]} {argument}"
            size = None
            continue
        if size:
            yield size
        size = (index, argument) if argument.startswith(_SIZED_PAGES) else None
        if not size:
            yield index, argument
    if size:
        yield size


def _contradicts(argument: str, own: Mapping[str, Any], *, is_planned: bool) -> bool:
    """Whether a boot argument takes one of `own` back, or `is_planned` of another class."""
    if "--" in argument.split() or argument.count('"') % 2:
        return True  # the kernel reads nothing after it
    return any(
        own.get(key) != value and (is_planned or _matters(key, own))
        for key, value in _keyed(argument).items()
    )


def _matters(key: str, own: Mapping[str, Any]) -> bool:
    if key == _PAGES:
        return any(name.startswith(_SIZED_PAGES) for name in own)
    return key in own or key.partition("=")[0] in cmdline.CPU_LISTS | _FEWER_CPUS


def _tuned_profile(pool: Pool) -> Iterator[Inherited]:
    """The profile of workers, where the node tuning operator gives it the same priority.

    Of two with one priority, the operator may choose either (pkg/operator/profilecalculator.go).
    """
    if pool.plan.node_class.target.pool in pools.BUILT_IN:
        return
    for source in pool.sources:
        plan = source.plan
        if plan is None or source.is_kubelet or not plan.settings.of(tuned.NAME):
            continue
        target = plan.node_class.target
        if (
            target.pool == WORKER
            and kept.is_profile(plan)
            and _profile(plan) != _profile(pool.plan)
        ):
            name = objects.tuned_object(plan)["metadata"]["name"]
            yield Inherited(source, f"the profile {name} of TuneD", "")
            return


def _profile(plan: ConfiguredPlan) -> str:
    """The text of TuneD's profile; that of mode `mco` is never the operator's."""
    without = predicted.OWN_WORDS if plan.node_class.target.is_profile else ()
    made = kept.objects(plan, "Tuned") or [objects.tuned_object(plan, without)]
    profile: str = made[0]["spec"]["profile"][0]["data"]
    return profile
