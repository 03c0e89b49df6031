"""How often a file may still break a habit: numbers that only go down, in `allowed.yaml`."""

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import yaml

from tests.habits.finding import Finding, Rule

FILE = "tests/habits/allowed.yaml"
_HEAD = """\
# How often each file may break each habit (`python -m tests.habits`). The numbers only go down:
# after mending or moving something, `python -m tests.habits --accept` writes the lower ones.
"""
#: By rule and path.
Allowed = Counter[tuple[Rule, str]]


def read(root: Path) -> Allowed:
    """What is allowed in a repository; nothing where it has no such file."""
    file = root / FILE
    rules = (yaml.safe_load(file.read_text()) if file.exists() else None) or {}
    allowed = Allowed()
    for rule, paths in rules.items():
        allowed.update({(rule, path): count for path, count in paths.items()})
    return allowed


def count(findings: Iterable[Finding]) -> Allowed:
    """What would allow these findings and no more."""
    return Allowed((finding.rule, finding.path) for finding in findings)


def write(root: Path, counts: Allowed) -> None:
    """Allow this much."""
    rules: dict[Rule, dict[str, int]] = {}
    for (rule, path), number in sorted(counts.items()):
        rules.setdefault(rule, {})[path] = number
    (root / FILE).write_text(_HEAD + yaml.safe_dump(rules, sort_keys=True))


def grown(before: Allowed, now: Allowed) -> dict[Rule, tuple[int, int]]:
    """The rules that are broken more often in all: how often is allowed, and is so now.

    Between files a number may move, since modules are renamed, cut and merged.
    """
    old, new = _totals(before), _totals(now)
    return {rule: (old[rule], new[rule]) for rule in sorted(new) if new[rule] > old[rule]}


def _totals(counts: Allowed) -> Counter[Rule]:
    totals: Counter[Rule] = Counter()
    for (rule, _), number in counts.items():
        totals[rule] += number
    return totals


def judged(findings: Iterable[Finding], allowed: Allowed) -> list[Finding]:
    """What is red: findings of files with more than is allowed, and numbers that are too high.

    `allowed` has the numbers of the files that were looked at, and of those that are gone.
    """
    findings = list(findings)
    counts = count(findings)
    red = [
        finding
        for finding in findings
        if counts[finding.rule, finding.path] > allowed[finding.rule, finding.path]
    ]
    for (rule, path), number in allowed.items():
        if counts[rule, path] < number:
            what = f"{counts[rule, path]} are left where {FILE} allows {number}"
            advice = "write the lower number (python -m tests.habits --accept)"
            red.append(Finding(path, 1, 1, rule, f"{what}: {advice}"))
    return sorted(red)
