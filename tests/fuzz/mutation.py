"""Changes at random: of bytes, and of data."""

import copy
import json
from collections.abc import Iterable, Iterator
from random import Random
from typing import Any

from tests.fuzz import seeds


def disturbed(random: Random, value: Any, key: str = "", rate: float = 1 / 30) -> Any:
    """The same with some values missing or odd; the snippet as the text that it is."""
    if random.random() < rate:
        return random.choice(seeds.ODD)
    if isinstance(value, dict):
        kept = {name: item for name, item in value.items() if random.random() > rate}
        made = {name: disturbed(random, item, name, rate) for name, item in kept.items()}
        return json.dumps(made) if key == seeds.SNIPPET else made
    return (
        [disturbed(random, item, rate=rate) for item in value] if isinstance(value, list) else value
    )


def mutate(random: Random, data: bytes) -> bytes:
    """`data` with a few changes: bits, words, pieces that are missing, doubled or swapped, an early
    end.
    """
    changed = bytearray(data)
    for _ in range(random.randint(1, 6)):
        at = random.randint(0, len(changed))
        end = min(len(changed), at + random.choice((1, 1, 4, 12, 100, 512, 1024)))
        match random.randint(0, 6):
            case 0 if at < len(changed):
                changed[at] ^= 1 << random.randint(0, 7)
            case 1:
                changed[at:at] = random.choice(seeds.TOKENS)
            case 2:
                changed[at:end] = random.choice(seeds.TOKENS)
            case 3:
                del changed[at:end]
            case 4:
                changed[at:at] = changed[at:end] * random.choice((1, 2, 50))
            case 5:
                del changed[at:]
            case _:
                changed[at:end] = random.randbytes(end - at)
    return bytes(changed)


def altered(random: Random, value: Any, changes: int) -> Any:
    """Data with so many of its parts replaced, missing, doubled, moved or called otherwise."""
    made = copy.deepcopy(value)
    for _ in range(changes):
        known = list(places(made))
        if not known:
            return random.choice(seeds.ODD)
        container, key = random.choice(known)
        match random.randint(0, 9):
            case 0:
                del container[key]
            case 1:
                container[key] = [container[key], container[key]]
            case 2:
                other, name = random.choice(known)
                container[key] = copy.deepcopy(other[name])
            case 3 if isinstance(container, dict):
                container[str(random.choice(seeds.ODD))] = container.pop(key)
            case 4:
                container[key] = copy.deepcopy(random.choice(seeds.ODDER))
            case _:
                container[key] = copy.deepcopy(random.choice(seeds.ODD))
    return made


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a value, with each of its keys or indexes."""
    open_containers = [value]
    while open_containers:
        container = open_containers.pop()
        keys: Iterable[Any] = ()
        if isinstance(container, dict):
            keys = list(container)
        elif isinstance(container, list):
            keys = range(len(container))
        for key in keys:
            yield container, key
            open_containers.append(container[key])
