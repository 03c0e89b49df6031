"""Where an intent says what a kubelet refuses at its start."""

import pytest

from cpuplan.diagnostics.source import Position
from cpuplan.simulate import startup
from tests.machines.plans import plan

PLACE = Position("intents/a.yaml", 7, 3)
CONFIGURED = plan(
    platform="kubernetes",
    version="1.34",
    spec={"kubelet": {"configuration": {"evictionHard": {"memory.available": "1Gi"}}}},
)


@pytest.mark.parametrize(
    ("field", "origin"),
    [
        (("evictionHard", "memory.available"), "Intent/ran:spec.kubelet.configuration"),
        (("evictionHard",), "Intent/ran:spec.kubelet.configuration"),
        # The field that it is in, where nothing says the field itself; never its last name alone.
        (("evictionHard", "unheard.of"), "Intent/ran:spec.kubelet.configuration"),
        (("unheardOf", "evictionHard"), None),
        ((), None),
    ],
)
def test_the_statement_of_a_field(field: tuple[str, ...], origin: str | None) -> None:
    asked: list[str] = []

    def locate(place: str) -> Position:
        asked.append(place)
        return PLACE

    assert startup._origin(CONFIGURED, locate, field) == (PLACE if origin else None)
    assert all(place.startswith(origin or "-") for place in asked)
