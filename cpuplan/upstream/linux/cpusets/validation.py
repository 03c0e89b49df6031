"""What no write may do to a cpuset (validate_change)."""

from cpuplan.upstream.linux.cpusets.state import Cpuset, Refused


def are_exclusive(first: Cpuset, second: Cpuset) -> bool:
    """Whether two cpusets could both have their CPUs alone."""
    return not first.wanted & second.wanted


def validate(current: Cpuset, trial: Cpuset) -> None:
    """Refused where the values of `trial` are not possible in the place of `current`."""
    parent = current.above()
    if current.is_populated and current.allowed and not trial.allowed:
        raise Refused("ENOSPC")
    # The CPUs' share for deadline tasks, which is taken from the CPUs that remain.
    if current.is_exclusive and current.balances and current.effective and not trial.wanted:
        raise Refused("EBUSY")
    for sibling in parent.children:
        if sibling is not current and _collide(trial, sibling):
            raise Refused("EINVAL")


def _collide(trial: Cpuset, sibling: Cpuset) -> bool:
    both = trial.exclusive and sibling.exclusive
    if trial.is_exclusive or sibling.is_exclusive or both:
        return not are_exclusive(trial, sibling)
    if trial.exclusive:
        exclusive, allowed = trial.exclusive, sibling.allowed
    else:
        exclusive, allowed = sibling.exclusive, trial.allowed
    # The other one would have no CPU left.
    return bool(exclusive and allowed and not allowed & ~exclusive)


def set_exclusive(cpuset: Cpuset, state: int) -> bool:
    """Mark that it shares no CPU with siblings, or does again; False where it does share some."""
    wanted = state > 0
    if wanted == cpuset.is_exclusive:
        return True
    trial = cpuset.trial()
    trial.is_exclusive = wanted
    try:
        validate(cpuset, trial)
    except Refused:
        return not wanted
    cpuset.is_exclusive = wanted
    return True
