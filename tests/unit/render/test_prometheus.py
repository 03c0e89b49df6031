"""Metrics as text: escapes, numbers, and what is left out."""

from cpuplan.render.answers import prometheus
from cpuplan.render.answers.prometheus import Counts, counter, gauge


def test_every_verdict_is_there_so_that_rules_find_a_zero() -> None:
    counts = Counts({"held": 3}, {("CP812", "error"): 2, ("CP811", "error"): 1}, is_verified=True)
    assert prometheus.text(prometheus.of_answers([({"node": "n"}, counts)])) == (
        "# HELP cpuplan_facts Facts of the node's plan, by the verdict of the check.\n"
        "# TYPE cpuplan_facts gauge\n"
        'cpuplan_facts{node="n",verdict="held"} 3\n'
        'cpuplan_facts{node="n",verdict="differs"} 0\n'
        'cpuplan_facts{node="n",verdict="unverifiable"} 0\n'
        'cpuplan_facts{node="n",verdict="unshown"} 0\n'
        "# HELP cpuplan_verified Whether anything of the node's plan was looked at: 1, or 0.\n"
        "# TYPE cpuplan_verified gauge\n"
        'cpuplan_verified{node="n"} 1\n'
        "# HELP cpuplan_findings Differences from the node's plan, by code.\n"
        "# TYPE cpuplan_findings gauge\n"
        'cpuplan_findings{node="n",code="CP811",severity="error"} 1\n'
        'cpuplan_findings{node="n",code="CP812",severity="error"} 2\n'
    )


def test_a_family_without_samples_is_left_out() -> None:
    assert prometheus.text([gauge("a", "b", [])]) == ""


def test_escapes_and_numbers() -> None:
    family = counter("a_total", "x\\y\nz", [({"l": 'q"\\\n'}, 1.5), ({}, 2.0), ({}, 0.000001)])
    assert prometheus.text([family]) == (
        "# HELP a_total x\\\\y\\nz\n# TYPE a_total counter\n"
        'a_total{l="q\\"\\\\\\n"} 1.5\na_total 2\na_total 1e-06\n'
    )
