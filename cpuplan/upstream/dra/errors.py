"""How the driver refuses."""


class DraError(Exception):
    """An error of the driver; the message is its exact text."""
