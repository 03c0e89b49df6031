"""What the agent knows, as metrics; docs/checking.md lists them."""

from collections.abc import Iterator

from cpuplan import __version__
from cpuplan.node.agent.board import Plan, View
from cpuplan.render import prometheus
from cpuplan.render.prometheus import Family, Labels, counter, gauge


def text(view: View, plan: Plan | None, *, with_age: bool = True) -> str:
    """All metrics; facts and findings only of a check that still counts.

    In a file that somebody else reads later, an age would be wrong: it is left out there.
    """
    return prometheus.text(_families(view, plan, with_age=with_age))


def labels_of(plan: Plan) -> Labels:
    """The labels of each sample: a metric `cluster` of a scraper's own would hide ours."""
    return {"plan_cluster": plan.cluster, "plan_class": plan.name}


def _families(view: View, plan: Plan | None, *, with_age: bool) -> Iterator[Family]:
    labels = labels_of(plan) if plan else {}
    if view.checked:
        yield from prometheus.of_answers([(labels, view.checked.counts)])
    if plan:
        yield prometheus.plan_info([{**labels, "digest": plan.digest}])
    holds = float(view.checked is not None)
    yield gauge(
        "cpuplan_check_current", "Whether the last check counts: 1, or 0.", [(labels, holds)]
    )
    if view.ended is not None:
        yield gauge(
            "cpuplan_check_timestamp_seconds",
            "When the last check ended, in seconds since 1970.",
            [(labels, round(view.ended, 3))],
        )
        yield gauge(
            "cpuplan_check_duration_seconds",
            "How long the last check took.",
            [(labels, round(view.duration, 6))],
        )
        if with_age:
            yield gauge(
                "cpuplan_check_age_seconds",
                "Time since the last check ended.",
                [(labels, round(view.age, 3))],
            )
    yield counter(
        "cpuplan_checks_total",
        "Checks since the agent started.",
        [({"result": "done"}, view.done), ({"result": "failed"}, view.failed)],
    )
    yield gauge("cpuplan_build_info", "The agent's own version.", [({"version": __version__}, 1)])
