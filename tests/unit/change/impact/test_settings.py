"""Settings that differ, and the statements that changed them."""

from typing import Any

from cpuplan.change.impact import changes as settings
from cpuplan.change.impact.changes import Cause, Causes, SettingChange
from cpuplan.diagnostics.source import Position

#: The only statement of today's documents that has a line.
SHARED = "Intent/du:spec.pools.shared"
LINES = {SHARED: Position("intents/a.yaml", 7, 3)}


def because(*reasons: tuple[str, str]) -> list[dict[str, str]]:
    return [{"text": text, "origin": origin} for text, origin in reasons]


def setting(key: str, value: Any, *reasons: tuple[str, str]) -> dict[str, Any]:
    return {"component": "kernel", "key": key, "value": value, "because": because(*reasons)}


def plan(shared: str, *of: dict[str, Any], intent: str = "du") -> dict[str, Any]:
    """A class whose pool `shared` has a reason with this text."""
    reason = (shared, f"Intent/{intent}:spec.pools.shared")
    pools = {"shared": {"cpus": "1", "because": because(reason)}}
    return {"intent": intent, "hardware": "small", "pools": pools, "settings": list(of)}


def changes(before: dict[str, Any], after: dict[str, Any]) -> tuple[SettingChange, ...]:
    return settings.setting_changes(before, after, Causes(before, after, LINES.get))


def test_a_changed_reason_is_the_cause() -> None:
    old = setting("audit", "0", ("asked for", "Intent/du:spec.kernel.extraArguments.0"))
    new = setting("audit", "1", ("asked for", "Intent/du:spec.kernel.extraArguments.1"))
    (change,) = changes(plan("2 cores", old), plan("2 cores", new))
    assert (change.before, change.after) == (("0",), ("1",))
    assert change.causes == (Cause("asked for", "Intent/du:spec.kernel.extraArguments.1", None),)


def test_the_rest_changes_because_of_the_pool_that_took_its_cpus() -> None:
    rest = ("isolated takes the rest", "Intent/du:spec.pools.isolated.rest")
    before = plan("2 cores", setting("isolcpus", "2-7", rest))
    after = plan("3 cores", setting("isolcpus", "3-7", rest))
    (change,) = changes(before, after)
    assert change.causes == (Cause("3 cores", SHARED, LINES[SHARED]),)


def test_a_removed_setting_has_the_cause_of_before() -> None:
    old = setting("audit", "0", ("asked for", "Intent/du:spec.kernel.extraArguments.0"))
    (change,) = changes(plan("2 cores", old), plan("2 cores"))
    assert (change.before, change.after) == (("0",), ())
    assert change.causes == (Cause("asked for", "Intent/du:spec.kernel.extraArguments.0", None),)


def test_a_key_that_is_written_twice_has_both_values() -> None:
    first, second = (
        setting("hugepages", 4, ("a", "default")),
        setting("hugepages", 8, ("a", "default")),
    )
    (change,) = changes(plan("2 cores", first), plan("2 cores", first, second))
    assert (change.before, change.after) == ((4,), (4, 8))


def test_the_intents_new_name_is_the_cause_of_what_it_alone_changes() -> None:
    name = ("the name of the intent", "default")
    before = plan("2 cores", setting("name", "du", name))
    after = plan("2 cores", setting("name", "ran", name), intent="ran")
    (change,) = changes(before, after)
    assert change.causes == (Cause("Intent/ran was Intent/du", "Intent/ran:metadata.name", None),)


def test_reasons_without_a_statement_are_told_if_there_is_no_other() -> None:
    default = ("as the operator does", "default")
    before = plan("2 cores", setting("nohz", "on", default))
    (change,) = changes(before, plan("2 cores", setting("nohz", "off", default)))
    assert change.causes == (Cause("as the operator does", "default", None),)


def test_equal_classes_have_no_changes() -> None:
    same = plan("2 cores", setting("isolcpus", "2-7", ("rest", SHARED)))
    assert changes(same, same) == ()


def test_the_reverse_names_the_same_settings() -> None:
    before = plan("2 cores", setting("a", 1, ("x", SHARED)), setting("b", 1, ("x", SHARED)))
    after = plan("2 cores", setting("b", 2, ("x", SHARED)), setting("c", 1, ("x", SHARED)))
    there = {(change.key, change.before, change.after) for change in changes(before, after)}
    back = {(change.key, change.after, change.before) for change in changes(after, before)}
    assert there == back
    assert {key for key, *_ in there} == {"a", "b", "c"}
