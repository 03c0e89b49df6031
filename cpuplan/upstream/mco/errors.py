"""How the machine config operator refuses: causes as data."""

from typing import Any, NamedTuple


class McoError(Exception):
    """A refusal; `cause` is the broken rule, `facts` are the values that break it."""

    def __init__(self, cause: str, **facts: Any) -> None:
        super().__init__(cause)
        self.cause, self.facts = cause, facts

    def __str__(self) -> str:
        listed = ", ".join(f"{name}={value}" for name, value in self.facts.items())
        return f"{self.cause} ({listed})" if listed else self.cause


class Problem(NamedTuple):
    """A broken rule of Ignition: the keys and indexes that lead to the value, and the rule."""

    place: tuple[str | int, ...]
    cause: str


class IgnitionError(McoError):
    """An Ignition config that is not valid."""

    def __init__(self, cause: str, problems: tuple[Problem, ...] = (), **facts: Any) -> None:
        super().__init__(cause, **facts)
        self.problems = problems

    def __str__(self) -> str:
        listed = "; ".join(
            f"{'.'.join(map(str, problem.place))}: {problem.cause}" for problem in self.problems
        )
        return f"{super().__str__()}: {listed}" if listed else super().__str__()


class ConversionError(IgnitionError):
    """A valid config of spec 2 that spec 3 cannot express: the operator sees that while merging."""


class RenderError(McoError):
    """A pool that cannot be rendered: its nodes keep what they have.

    `stage` is select, validate or merge; `machine_config` names the refused object, if there is
    one.
    """

    def __init__(self, stage: str, error: McoError, machine_config: str = "") -> None:
        super().__init__(error.cause, **error.facts)
        self.stage, self.machine_config, self.error = stage, machine_config, error

    def __str__(self) -> str:
        return f"{self.machine_config}: {self.error}" if self.machine_config else str(self.error)


class NodePoolError(McoError):
    """A node whose pool cannot be decided: it gets no updates."""
