"""Queues of network cards: as many as the plan wants, so that no isolated CPU serves one."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from cpuplan.check.interrupts.seen import named
from cpuplan.check.subject import Subject
from cpuplan.components.host import tuned
from cpuplan.plan.expected.answer import Answer
from cpuplan.plan.setting import Setting

FOLDER = "sys/class/net"
_CHANNELS, _REGEX = "channels", "devices_udev_regex"
_COUNT = re.compile(r"combined (\d+)\Z")


class _Card(NamedTuple):
    """A card: its name, its queues for receiving, and what TuneD's pattern is matched with."""

    name: str
    queues: int
    properties: str


def counted(subject: Subject) -> Iterator[Answer]:
    """CP8206 for cards with more queues than wanted; one with fewer has no more of them."""
    settings = {setting.key: setting for setting in subject.expected.settings.of(tuned.NAME)}
    wanted = [(key, each) for key, each in settings.items() if key.endswith(f".{_CHANNELS}")]
    cards = list(_cards(subject)) if wanted else []
    for key, setting in wanted:
        pattern = settings.get(f"{key.rpartition('.')[0]}.{_REGEX}")
        yield _answer(subject, setting, cards, str(pattern.value) if pattern else "")


def _answer(subject: Subject, setting: Setting, cards: list[_Card], pattern: str) -> Answer:
    match = _COUNT.match(str(setting.value))
    own = [card for card in cards if re.search(pattern, card.properties, re.MULTILINE)]
    if match is None or not own:
        reason = "no network card is shown here" if not cards else "no card is one of its devices"
        return subject.unverifiable(setting, FOLDER, reason)
    strays = [f"{card.name} has {card.queues}" for card in own if card.queues > int(match[1])]
    if not strays:
        return subject.held(setting, FOLDER)
    return subject.differs(
        setting,
        "CP8206",
        FOLDER,
        observed=named(strays),
        expected=str(setting.value),
        key=setting.key,
    )


def _cards(subject: Subject) -> Iterator[_Card]:
    """The network devices that are hardware: others have no folder `device`."""
    for name in subject.root.names(FOLDER):
        folder = f"{FOLDER}/{name}"
        if not subject.root.names(f"{folder}/device"):
            continue
        queues = [each for each in subject.root.names(f"{folder}/queues") if each[:3] == "rx-"]
        if queues:
            yield _Card(name, len(queues), _properties(subject, name))


def _properties(subject: Subject, name: str) -> str:
    """The properties of udev that a plan names, in the order of their names."""
    folder = f"{FOLDER}/{name}/device"
    model = (subject.root.read(f"{folder}/device") or "").strip()
    vendor = (subject.root.read(f"{folder}/vendor") or "").strip()
    return f"ID_MODEL_ID={model}\nID_VENDOR_ID={vendor}\nINTERFACE={name}\n"
