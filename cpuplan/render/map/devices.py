"""Devices in a line for each class of them at each NUMA node."""

from collections.abc import Iterable

from cpuplan.model.inventory import Device

_CLASSES = ("network", "gpu", "accelerator", "storage", "other")


def device_lines(devices: Iterable[Device]) -> dict[int | None, list[str]]:
    """Lines such as `network: 31:00.0-3 i40e, 4b:00.0-1 ice` by NUMA node, None last, for devices
    at none.
    """
    found: dict[int | None, dict[str, list[Device]]] = {}
    for device in sorted(devices, key=lambda device: (_order(device.numa_node), device.address)):
        found.setdefault(device.numa_node, {}).setdefault(device.device_class, []).append(device)
    return {
        node: [
            f"{name}: {', '.join(_items(classes[name]))}" for name in _CLASSES if name in classes
        ]
        for node, classes in found.items()
    }


def _order(node: int | None) -> int:
    """Devices at no NUMA node last."""
    return 1 << 62 if node is None else node


def _items(devices: list[Device]) -> list[str]:
    """The functions of one card that have one driver together, with what drives them."""
    cards: dict[tuple[str, str], list[Device]] = {}
    for device in devices:
        cards.setdefault((device.address.rpartition(".")[0], _words(device)), []).append(device)
    return [
        f"{_addresses(card, members)} {words}".rstrip() for (card, words), members in cards.items()
    ]


def _words(device: Device) -> str:
    """What drives it, or what it is where nothing does, and how many virtual functions it can
    have.
    """
    ids = ":".join(part.removeprefix("0x") for part in (device.vendor, device.device) if part)
    functions = f"up to {device.functions} VFs" if device.functions else ""
    return " ".join(filter(None, (device.name, device.driver or (ids and f"[{ids}]"), functions)))


def _addresses(card: str, members: list[Device]) -> str:
    """`31:00.0-3`: domain 0 is left out, as lspci does."""
    functions = [int(device.address[-1]) for device in members]
    first, last = functions[0], functions[-1]
    if len(functions) > 1 and last - first == len(functions) - 1:
        numbers = f"{first}-{last}"
    else:
        numbers = ",".join(map(str, functions))
    return f"{card.removeprefix('0000:')}.{numbers}"
