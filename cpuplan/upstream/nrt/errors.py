"""How the programs around NodeResourceTopology refuse. Their crashes are PanicErrors."""


class NrtError(Exception):
    """An error of one of them; the message is its exact text."""


DIVIDE = "runtime error: integer divide by zero"
NIL_MAP = "assignment to entry in nil map"
