"""Pools of nodes, and what pools are rendered to."""

from collections.abc import Iterator
from typing import Any

from cpuplan.upstream.mco import helpers
from cpuplan.upstream.mco.common import NEWEST, McoError, Release, RenderError
from cpuplan.upstream.mco.reconcile import refusal_against_current
from cpuplan.upstream.mco.render_controller import Rendered, render
from tests.conformance.comparing import differ
from tests.conformance.mco import effective as effective_room

Json = dict[str, Any]


def merge(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """Texts of errors are not compared, only their stage."""
    answer = _rendered(given, release)
    if release != NEWEST:
        answer = {key: value for key, value in answer.items() if key in ("spec", "stage")}
    refusal = "refused_against_current"
    wanted = {key: value for key, value in expected.items() if key not in ("error", refusal)}
    yield from differ("refused", refusal in expected, answer.pop(refusal, False))
    yield from _differences(wanted, answer)


def _rendered(given: Json, release: Release) -> Json:
    try:
        image = given.get("defaultOSImage", "")
        rendered = render(given["pool"], given["machineConfigs"], release, image)
    except RenderError as error:
        stage = f"validate:{error.machine_config}" if error.stage == "validate" else error.stage
        return {"stage": stage}
    if rendered is None:
        return {"selected": 0}
    answer = _shown(rendered)
    if rendered.is_os_image_overridden:
        answer["osImageURLOverridden"] = True
    if "current" in given and refusal_against_current(given["current"], rendered, release):
        answer["refused_against_current"] = True
    return answer


def _shown(rendered: Rendered) -> Json:
    return {"order": list(rendered.order), "spec": rendered.spec}


def pools_for_node(given: Json, expected: Json, _: Release) -> Iterator[str]:
    """A node that is not managed has no metric."""
    try:
        membership = helpers.pools_for_node(given["node"], given["pools"])
    except McoError as error:
        yield from differ("error", True, "error" in expected) if error.cause else ()
        return
    yield from _differences(expected, _membership(membership))


def _membership(membership: helpers.Membership) -> Json:
    answer: Json = {"pools": list(map(helpers.name_of, membership.pools))}
    if membership.pools:
        answer["custom_role_ignored"] = membership.is_custom_role_ignored
    return answer


def effective(given: Json, expected: Json, release: Release) -> Iterator[str]:
    """The pools of a node, and what it gets of the first."""
    try:
        answer = effective_room.effective(
            given["node"], given["pools"], given["machineConfigs"], release
        )
    except McoError as error:
        yield from differ("error", True, "error" in expected) if error.cause else ()
        return
    shown = _membership(answer.membership)
    if answer.rendered is not None:
        shown |= _shown(answer.rendered)
    yield from _differences(expected, shown)


def _differences(expected: Json, answer: Json) -> Iterator[str]:
    for key in sorted(expected.keys() | answer.keys()):
        yield from differ(key, expected.get(key), answer.get(key))
