"""How the plugin refuses. Its crashes are PanicErrors."""


class NriError(Exception):
    """An error of the plugin; the message is its exact text."""


INDEX = "runtime error: index out of range"
