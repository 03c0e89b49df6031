"""What a later file does to an earlier one, and what becomes of tables of an older version.

From containerd/containerd, mergeConfig of services/server/config (1.6, 1.7) and
cmd/containerd/server/config (2.0 on), and the migrations of plugins/cri.
"""

from typing import Any

from cpuplan.platforms import Version
from cpuplan.upstream.runtime.containerd.names import (
    CRI,
    MIGRATES_EACH_FILE,
    OLD_CRI,
    V2,
    Table,
    full_name,
    of_table,
)

#: Lists to which imported files add; all other lists are replaced.
APPENDED = ("disabled_plugins", "required_plugins", "imports")
#: Maps whose entries an imported file replaces whole.
_REPLACED = ("stream_processors", "proxy_plugins", "timeouts")


def migrated(tables: Table, release: Version, merged: Table) -> Table:
    """One file as it is merged: before 2.0 as it is, since 2.3 in the newest version.

    What 2.3 migrates includes the CRI table of version 2 in a file of version 3.
    """
    version = tables.get("version", 0)
    if release < V2:
        return dict(tables)
    target = int(merged["version"])
    own = _with_full_names(tables) if version < 2 else dict(tables)
    if release >= MIGRATES_EACH_FILE and version < target:
        own = _divided(own)
    if version < 2 or release >= MIGRATES_EACH_FILE:
        own["version"] = max(version, target)
    return own


def _with_full_names(tables: Table) -> Table:
    """Plugins of a file of version 1 (or of none) by their full names."""
    named = {full_name(name): table for name, table in tables.get("plugins", {}).items()}
    lists = {
        key: [full_name(str(name)) for name in tables.get(key, ())]
        for key in ("disabled_plugins", "required_plugins")
    }
    return {**tables, "plugins": named, **lists}


def _divided(tables: Table) -> Table:
    """The runtime's part of the CRI table of version 2; what the new table has wins."""
    plugins = dict(tables.get("plugins", {}))
    old = plugins.get(OLD_CRI)
    if isinstance(old, dict):
        new = of_table(plugins, CRI)
        inner = {**of_table(old, "containerd"), **of_table(new, "containerd")}
        plugins[CRI] = {**old, **new, **({"containerd": inner} if inner else {})}
    return {**tables, "plugins": plugins}


def merge(merged: Table, own: Table, release: Version) -> None:
    """Merges a file over the ones before it.

    Empty values (0, false, "") outside of plugins' tables never win. Before 2.0 the table of a
    plugin replaces the earlier one whole; since then tables are merged key by key.
    """
    for key, value in own.items():
        if key in APPENDED:
            known = merged.setdefault(key, [])
            known += [item for item in value if release < V2 or item not in known]
        elif key == "plugins" and release >= V2:
            _deep(merged.setdefault(key, {}), value)
        elif key == "plugins" or key in _REPLACED:
            merged.setdefault(key, {}).update(value)
        elif isinstance(value, dict):
            _deep(merged.setdefault(key, {}), _without_empty(value))
        elif value:
            merged[key] = value


def _deep(into: Table, own: Table) -> None:
    for key, value in own.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _deep(into[key], value)
        else:
            into[key] = _copy(value)


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return value


def _without_empty(table: Table) -> Table:
    return {key: value for key, value in table.items() if value}


def effective(merged: Table, release: Version) -> Table:
    """What plugins are given: by the names of the release, from the tables of older versions."""
    version = int(merged.get("version", 1))
    if release < V2:
        if version > 1:
            return merged
        # Of version 1, only tables by short names are looked at.
        by_short_name = {
            name: table for name, table in merged.get("plugins", {}).items() if "." not in name
        }
        return _with_full_names({**merged, "plugins": by_short_name})
    return _divided(merged) if version < 3 else merged
