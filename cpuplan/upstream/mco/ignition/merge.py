"""Merging two Ignition configs (ignition/v2/config/merge): by key, field by field.

The result of two valid configs can be invalid.

Upstream: openshift/machine-config-operator
  vendor/github.com/coreos/ignition/v2/config/merge/merge.go
  @ 7ff337a4ffac8e7562692181178ede61e4b2eec5
"""

from typing import Any

from cpuplan.upstream.mco.ignition.types import CONFIG, Config, Many, Scalar, Struct, key_of

#: Keys of the child's items by namespace: the list that holds the item, and the item.
_Items = dict[tuple[str, str], tuple[str, Any]]


def merge(parent: Config, child: Config) -> Config:
    """The child's values win."""
    return _struct(parent, child, CONFIG)


def _struct(parent: Config, child: Config, struct: Struct) -> Config:
    items = _items(child, struct)
    merged: Config = {}
    for name, field in struct.fields.items():
        if name in parent or name in child:
            value = _field(name, parent.get(name), child.get(name), field.kind, items)
            if value is not None:
                merged[name] = value
    return merged


def _field(name: str, parent: Any, child: Any, kind: Scalar | Many | Struct, items: _Items) -> Any:
    if isinstance(kind, Scalar):
        return parent if child is None else child
    if isinstance(kind, Struct):
        return _struct(parent, child, kind) if parent and child else child or parent
    if kind.joined:
        return [*(parent or ()), *(child or ())] or None
    return _list(name, parent or [], child or [], kind, items) if parent or child else None


def _list(name: str, parent: list[Any], child: list[Any], kind: Many, items: _Items) -> list[Any]:
    """The parent's items, merged with the child's of the same key, then the child's others.

    An item leaves the list where the child has its key in another list.
    """
    merged = []
    for item in parent:
        holder, other = items.get((kind.namespace or name, key_of(kind.item, item)), (name, None))
        if other is None:
            merged.append(item)
        elif holder == name and not _is_removed_header(kind, other):
            merged.append(_item(item, other, kind))
    keys = {key_of(kind.item, item) for item in parent}
    return merged + [item for item in child if key_of(kind.item, item) not in keys]


def _item(parent: Any, child: Any, kind: Many) -> Any:
    return _struct(parent, child, kind.item) if isinstance(kind.item, Struct) else child


def _is_removed_header(kind: Many, child: Any) -> bool:
    """A header without a value removes the parent's."""
    is_header = isinstance(kind.item, Struct) and kind.item.name == "HTTPHeader"
    return is_header and "value" not in child


def _items(child: Config, struct: Struct) -> _Items:
    items: _Items = {}
    for name, kind in struct.lists.items():
        for item in child.get(name) or ():
            items[kind.namespace or name, key_of(kind.item, item)] = (name, item)
    return items
