"""Places are named by field until somebody knows their lines."""

from cpuplan.diagnostics import Diagnostic, Label
from cpuplan.diagnostics.source import Position
from cpuplan.pipeline import batch

_NAMED = batch.locate_in({("Intent", "du")})


def test_places_of_known_documents_only() -> None:
    assert _NAMED("Intent/du:spec.pools")
    assert _NAMED("Intent/core:spec.pools") is None
    assert _NAMED("a built-in rule") is None


def test_lines_are_found_afterwards() -> None:
    place = _NAMED("Intent/du:spec.pools")
    assert place
    in_lock = Position("intents/plan.lock.yaml", 4, 1)
    finding = Diagnostic(
        "CP1", "", "", place, labels=(Label(place, "here"), Label(in_lock, "there"))
    )
    line = Position("intents/du.yaml", 7, 3)
    (placed,) = batch.placed([finding], {"Intent/du:spec.pools": line}.get)
    assert placed.position == line
    assert placed.labels == (Label(line, "here"), Label(in_lock, "there"))
    assert batch.has_lines(finding)
    assert not batch.has_lines(finding._replace(labels=()))
