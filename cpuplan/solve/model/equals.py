"""Sets that nothing but their names distinguishes, in the order in which low cores go to them."""

from collections.abc import Iterable, Mapping, Sequence

from cpuplan.solve.constraints import Apart, Constraint


def equals(names: Sequence[str], constraints: Iterable[Constraint]) -> list[list[str]]:
    """Partitions of one pool by group: any two of a group can be exchanged.

    A statement on sets other than that they are apart makes these sets unlike all others.
    """
    said: dict[str, set[tuple[object, ...]]] = {name: set() for name in names if "." in name}
    apart: dict[str, set[tuple[str, object]]] = {name: set() for name in said}
    for constraint in constraints:
        if isinstance(constraint, Apart):
            _pair(apart, constraint)
            continue
        own = [value for value in _texts(constraint) if value in said]
        form = (type(constraint).__name__, *("" if value in own else value for value in constraint))
        for name in own:
            said[name].add(form if len(own) == 1 and own[0] in constraint else (name,))
    groups: list[list[str]] = []
    for name, own_said in said.items():
        for group in groups:
            other = group[0]
            is_like = own_said == said[other] and name.partition(".")[0] == other.partition(".")[0]
            if is_like and _others(apart, name, other) == _others(apart, other, name):
                group.append(name)
                break
        else:
            groups.append([name])
    return [group for group in groups if len(group) > 1]


def _pair(apart: Mapping[str, set[tuple[str, object]]], constraint: Apart) -> None:
    how = (constraint.scopes, constraint.cores)
    for one, other in ((constraint.name, constraint.other), (constraint.other, constraint.name)):
        if one in apart:
            apart[one].add((other, how))


def _others(
    apart: Mapping[str, set[tuple[str, object]]], name: str, without: str
) -> set[tuple[str, object]]:
    return {(other, how) for other, how in apart[name] if other != without}


def _texts(values: Iterable[object]) -> list[str]:
    """The strings among some values and in tuples of these."""
    found: list[str] = []
    for value in values:
        if isinstance(value, str):
            found.append(value)
        elif type(value) is tuple:
            found += [part for part in value if isinstance(part, str)]
    return found
