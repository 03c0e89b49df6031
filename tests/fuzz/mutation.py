"""Changes at random: of bytes, and of data."""

import json
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
