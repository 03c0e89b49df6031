"""Devices in a line for each class of them at each NUMA node."""

from collections.abc import Iterable, Iterator, Sequence

from cpuplan.language.model.inventory import Device

_CLASSES = ("network", "gpu", "accelerator", "storage", "other")


def device_lines(devices: Iterable[Device]) -> dict[int | None, list[str]]:
    """By NUMA node, with None last: lines such as `network: 31:00.0-3 i40e, 4b:00.0-1 ice`."""
    by_node: dict[int | None, list[Device]] = {}
    for device in sorted(devices, key=_place):
        by_node.setdefault(device.numa_node, []).append(device)
    return {node: list(_lines(members)) for node, members in by_node.items()}


def _place(device: Device) -> tuple[bool, int, str]:
    """Devices at no NUMA node last."""
    return device.numa_node is None, device.numa_node or 0, device.address


def _lines(devices: Sequence[Device]) -> Iterator[str]:
    for name in _CLASSES:
        members = [device for device in devices if device.device_class == name]
        if members:
            yield f"{name}: {', '.join(_cards(members))}"


def _cards(devices: Iterable[Device]) -> Iterator[str]:
    """The functions of one card that have one driver together, with what drives them."""
    cards: dict[tuple[str, str], list[Device]] = {}
    for device in devices:
        card = device.address.rpartition(".")[0]
        cards.setdefault((card, _description(device)), []).append(device)
    for (card, description), functions in cards.items():
        yield f"{_addresses(card, functions)} {description}".rstrip()


def _description(device: Device) -> str:
    """Its driver, or its ids without one, and how many virtual functions it can have."""
    ids = ":".join(part.removeprefix("0x") for part in (device.vendor, device.device) if part)
    kind = device.driver or (f"[{ids}]" if ids else "")
    functions = f"up to {device.functions} VFs" if device.functions else ""
    return " ".join(filter(None, (device.name, kind, functions)))


def _addresses(card: str, devices: Sequence[Device]) -> str:
    """`31:00.0-3`: domain 0 is left out, as lspci does."""
    functions = [int(device.address[-1]) for device in devices]
    first, last = functions[0], functions[-1]
    numbers = ",".join(map(str, functions))
    if len(functions) > 1 and last - first == len(functions) - 1:
        numbers = f"{first}-{last}"
    return f"{card.removeprefix('0000:')}.{numbers}"
