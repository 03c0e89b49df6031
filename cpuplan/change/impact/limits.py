"""The most that a change may cost: of the command line, and of the rollouts of intents."""

from collections.abc import Iterable, Iterator

from cpuplan.base.text import counted
from cpuplan.change.impact import waves
from cpuplan.change.impact.comparison import Change, Comparison
from cpuplan.change.impact.impact import Impact
from cpuplan.diagnostics import Diagnostic, diagnose
from cpuplan.diagnostics.source import Locate, Position
from cpuplan.plan import Plan


def check(
    comparison: Comparison, plan: Plan, locate: Locate, asked: str | None
) -> Iterator[Diagnostic]:
    """CP683, for all nodes by the option, and for those of each intent by its rollout."""
    if asked:
        yield from _above(comparison.changes, asked, "--max-impact", None)
    by_key = {node.node_class.key: node for node in plan.nodes}
    intents: dict[tuple[str, str], list[Change]] = {}
    for change in comparison.changes:
        node = by_key.get(change.pair.after) if change.pair.after else None
        if node and (allowed := waves.of(node).max_impact):
            intents.setdefault((node.node_class.intent, allowed), []).append(change)
    for (intent, allowed), changes in sorted(intents.items()):
        limit = f"rollout.maxImpact of intent {intent}"
        place = locate(f"Intent/{intent}:spec.rollout.maxImpact")
        yield from _above(changes, allowed, limit, place)


def _above(
    changes: Iterable[Change], allowed: str, limit: str, place: Position | None
) -> Iterator[Diagnostic]:
    """The nodes with the worst impact, if that is more than is allowed."""
    above = [change for change in changes if change.impact > Impact[allowed.upper()]]
    if above:
        worst = max(change.impact for change in above)
        nodes = sum(len(change.pair.nodes) for change in above if change.impact == worst)
        yield diagnose(
            "CP683",
            place,
            nodes=counted(nodes, "node"),
            impact=worst.word,
            limit=limit,
            allowed=allowed,
        )
