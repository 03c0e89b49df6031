"""What a step costs on a node.

Of older releases, actions, drain and refusals were recorded. The order of the actions of different
files is random in the operator.
"""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from cpuplan.upstream.kubernetes.strconv import parse_bool
from cpuplan.upstream.mco import update as change_room
from cpuplan.upstream.mco import update as impact_room
from cpuplan.upstream.mco.apihelpers import Action
from cpuplan.upstream.mco.common import NEWEST, Release, RenderError
from cpuplan.upstream.mco.update import Impact, Node, Update
from tests.conformance.comparing import differ

Json = dict[str, Any]
_OLDER = ("reconcilable", "actions", "drain", "error", "error_before", "error_after")


def impact(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """The step between two rendered objects."""
    node = _node(given, release)
    answer = _shown(impact_room.impact(given["old"], given["new"], node))
    yield from _differences(expected, answer, release)


def change(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """The step between the objects that a user edits."""
    node = _node(given, release)
    try:
        found = change_room.change(
            given["pool"], given["before"], given.get("after"), given.get("poolAfter"), node
        )
    except RenderError:
        is_expected = "error_before" in expected or "error_after" in expected
        yield from differ("error", is_expected, True)
        return
    answer: Json = {"same_spec": found.is_same}
    if found.impact is not None:
        answer |= _shown(found.impact)
    if found.refusal is not None:
        answer["render_error"] = True
    yield from _differences(expected, answer, release)


def _node(given: Json, release: Release) -> Node:
    return Node(
        release,
        given.get("machineConfiguration") or {},
        bool(given.get("forceFile")),
        parse_bool(given["nodeFIPS"]) if "nodeFIPS" in given else None,
    )


def _shown(found: Impact) -> Json:
    answer: Json = {"diff": list(found.sections), "reconcilable": found.refusal is None}
    if found.refusal is not None:
        return answer | {"error": True}
    if found.files:
        answer["files"] = list(found.files)
    if found.units:
        answer["units"] = list(found.units)
    if found.update is not None:
        answer |= _update(found.update)
    if found.first_boot is not None:
        answer["first_boot"] = _update(found.first_boot)
    if found.kernel_commands:
        answer["rpm_ostree_kargs"] = list(found.kernel_commands)
    return answer


def _update(update: Update) -> Json:
    answer: Json = {"actions": list(map(_action, update.actions))}
    if update.drain is not None:
        answer["drain"] = update.drain
    if update.error is not None:
        answer["node_error"] = True
    return answer


def _action(action: Action) -> Json:
    shown = {"type": action.type}
    return shown | {"service": action.service} if action.service else shown


def _differences(expected: Json, answer: Json, release: Release) -> Iterator[str]:
    for key in sorted(expected.keys() | answer.keys()):
        if release == NEWEST or key in _OLDER:
            yield from differ(key, _comparable(expected.get(key)), _comparable(answer.get(key)))


def _comparable(value: Any) -> Any:
    """Texts of errors do not count, nor does the order of several actions."""
    if isinstance(value, str):
        return True
    if isinstance(value, dict):
        return {key: _comparable(inner) for key, inner in value.items()}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return Counter(tuple(sorted(action.items())) for action in value)
    return value
