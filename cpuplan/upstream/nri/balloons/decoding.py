"""Reading a BalloonsPolicy."""

from typing import Any

from cpuplan.upstream.nri.balloons.config import Config, read_config
from cpuplan.upstream.nri.balloons.schema import EMBEDDED, STRUCTS
from cpuplan.upstream.nri.balloons.validation import validate_expressions
from cpuplan.upstream.nri.common.decoding import Decoder, Json
from cpuplan.upstream.nri.errors import NriError

_DECODER = Decoder("BalloonsPolicy", STRUCTS, EMBEDDED)


def decode(text: str) -> Config:
    """The configuration of a file; NriError with the program's text."""
    return _validated(_DECODER.text(text))


def decode_object(data: Any) -> Config:
    """The configuration of an object; NriError with the program's text."""
    return _validated(_DECODER.object(data))


def _validated(spec: Json) -> Config:
    config = read_config(spec)
    try:
        validate_expressions(config)
    except NriError as error:
        raise NriError(f"validate: {error}") from None
    return config
