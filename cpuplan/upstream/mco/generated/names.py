"""The name of the MachineConfig that an object is written to.

Source: getManagedKubeletConfigKey (pkg/controller/kubelet-config/helpers.go) and
getManagedKeyCtrCfg.
"""

from collections.abc import Collection

from cpuplan.upstream.mco.errors import McoError
from cpuplan.upstream.mco.generated.objects import Source
from cpuplan.upstream.mco.pools import Object, name_of

PREFIX = "99"
_MOST = 9


def generated_name(prefix: str, pool: Object, kind: str) -> str:
    """The name without a number."""
    return f"{prefix}-{name_of(pool)}-generated-{kind}"


def managed_name(
    pool: Object,
    source: Source,
    sources: Collection[Source],
    written: Collection[str],
    kind: str,
) -> str:
    """The name for one pool: numbers follow the order of creation, and are kept.

    `sources` are all objects of the kind, `written` all MachineConfigs. McoError for the eleventh
    object of a pool.
    """
    first = generated_name(PREFIX, pool, kind)
    if source.suffix is not None:
        return f"{first}-{source.suffix}" if source.suffix else first
    rivals = [rival for rival in sources if rival.selects(pool)]
    if len(rivals) == 1:
        return first
    if any(rival.created > source.created for rival in rivals):
        earlier = _last_written(first, source, written)
        if earlier:
            return earlier
    number = max(int(rival.suffix or 0) for rival in rivals) + 1
    if number > _MOST:
        raise McoError("too many objects for a pool", pool=name_of(pool), most=_MOST + 1)
    return f"{first}-{number}"


def _last_written(first: str, source: Source, written: Collection[str]) -> str | None:
    """Of an object without annotation: the MachineConfig with the highest number."""
    names: dict[int, str] = {}
    for name in source.finalizers:
        end = name.rpartition("-")[2]
        if name in written and name.startswith(first) and (end.isdecimal() or name == first):
            names.setdefault(int(end) if end.isdecimal() else 0, name)
    return names[max(names)] if names else None


def suffix_of(name: str) -> str:
    """The number at the end of a name, "" without one."""
    end = name.rpartition("-")[2]
    return end if end.isdecimal() else ""
