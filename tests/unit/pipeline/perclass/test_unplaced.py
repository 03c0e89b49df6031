"""Places are named by field until somebody knows their lines."""

from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.diagnostics.source import Position
from cpuplan.pipeline.perclass import unlocated

_NAMED = unlocated.locate_in({("Intent", "du")})


def test_places_of_known_documents_only() -> None:
    assert _NAMED("Intent/du:spec.pools")
    assert _NAMED("Intent/core:spec.pools") is None
    assert _NAMED("a built-in rule") is None


def test_lines_are_found_afterwards() -> None:
    place = _NAMED("Intent/du:spec.pools")
    assert place
    in_lock = Position("intents/plan.lock.yaml", 4, 1)
    found = Diagnostic("CP1", "", "", place, labels=(Label(place, "here"), Label(in_lock, "there")))
    line = Position("intents/du.yaml", 7, 3)
    (placed,) = unlocated.placed([found], {"Intent/du:spec.pools": line}.get)
    assert placed.position == line
    assert placed.labels == (Label(line, "here"), Label(in_lock, "there"))
    assert unlocated.has_lines(found)
    assert not unlocated.has_lines(found._replace(labels=()))
